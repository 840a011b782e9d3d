"""Prints the IR model as text: the raw view, with the names the bytecode gives.

The formats are the ones that are parsed with (`tileport.verify.ir.grammar_ops`), so printing
what was parsed gives the same text back, apart from spaces and the location table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tileport.verify.ir.grammar_ops import FORMATS, GLOBAL, OWN_LINE
from tileport.verify.ir.grammar_types import format_hints
from tileport.verify.ir.model import Entry, Location, Module, Op, Region, Value
from tileport.verify.ir.text_op import REGION_MARK

_STRING = re.compile(r'("(?:[^"\\]|\\.)*")')
_MARK = re.compile(r"%!?")
_SYMBOL = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
_INDENT = "  "


def print_module(module: Module, *, locations: bool = False) -> str:
    """The module as text, one op a line, ending in a newline.

    Args:
        module: What to print.
        locations: Print each op's place behind it, spelled out (`loc("f.py":3:4)`).
    """
    lines: list[str] = []
    for op in module.globals:
        lines += _op(op, "", locations, top=True)
    for entry in module.entries:
        lines += print_entry(entry, locations=locations)
    return "\n".join(lines) + "\n"


def print_entry(entry: Entry, *, locations: bool = False) -> list[str]:
    """The lines of one entry, without newlines."""
    parameters = ", ".join(f"{value.name}: {value.type}" for value in entry.parameters)
    hints = f" optimization_hints=<{format_hints(entry.hints)}>" if entry.hints else ""
    lines = [f"entry @{_symbol(entry.name)}({parameters}){hints} {{"]
    lines += _region(entry.body, _INDENT, locations)
    lines.append("}" + _location(entry.location, locations))
    return lines


def print_op(op: Op) -> list[str]:
    """The lines of one op with what is in its regions, without newlines or locations."""
    return list(_op(op, "", False))


def _symbol(name: str) -> str:
    return name if _SYMBOL.fullmatch(name) else f'"{_escape(name)}"'


def _escape(text: str) -> str:
    out: list[str] = []
    for byte in text.encode("utf-8", "replace"):
        char = chr(byte)
        if char == "\\":
            out.append("\\\\")
        elif char == '"' or not 0x20 <= byte < 0x7F:
            out.append(f"\\{byte:02X}")
        else:
            out.append(char)
    return "".join(out)


def _location(location: Location, wanted: bool) -> str:
    if not wanted or not location:
        return ""
    text = ""
    for frame in reversed(location):
        own = f'"{_escape(frame.file)}":{frame.line}:{frame.column}'
        text = f"callsite({own} at {text})" if text else own
    return f" loc({text})"


def _name(value: object) -> str:
    assert isinstance(value, Value)
    return value.name


def _results(op: Op) -> str:
    """`%a, %b:3 = `: results that share a base name are printed as one."""
    names: list[str] = []
    counts: list[int] = []
    for value in op.results:
        base, number, _ = value.name.partition("#")
        if number and names and names[-1] == base:
            counts[-1] += 1
        else:
            names.append(base)
            counts.append(1)
    if not names:
        return ""
    shown = (n if c == 1 else f"{n}:{c}" for n, c in zip(names, counts, strict=True))
    return ", ".join(shown) + " = "


def _op(op: Op, indent: str, locations: bool, *, top: bool = False) -> Iterator[str]:
    if op.known and not op.verbatim:
        # A terminator that the text left out.
        return
    place = _location(op.location, locations)
    heads = _known(op, top=top) if op.known else _verbatim(op)
    start = indent + _results(op) + heads[0]
    for region, head in zip(op.regions, heads[1:], strict=True):
        if start.endswith("\n"):
            # The arguments of a reduce or scan region stand on a line of their own.
            yield start[:-1]
            arguments = ", ".join(f"{v.name}: {v.type}" for v in region.arguments)
            start = f"{indent}({arguments})"
        yield start + " {"
        yield from _region(region, indent + _INDENT, locations)
        start = f"{indent}}} {head}".rstrip()
    yield start + place


def _region(region: Region, indent: str, locations: bool) -> Iterator[str]:
    for op in region.ops:
        yield from _op(op, indent, locations)


def _known(op: Op, *, top: bool) -> list[str]:
    """What stands before each region and behind the last; only that where there is none."""
    formats = (GLOBAL,) if top else FORMATS[op.name]
    chosen = next((each for each in formats if each.fits(op)), formats[0])
    text = f"{op.name} {chosen.render(op, _name)}".rstrip()
    if op.name in OWN_LINE:
        text += "\n"
    return [text, *["else"] * (len(op.regions) - 1), ""][: len(op.regions) + 1]


def _verbatim(op: Op) -> list[str]:
    """The same for an op without a format, with the names put back."""
    operands = iter(op.operands)
    arguments = iter(op.regions[0].arguments if op.regions else ())

    def name(found: re.Match[str]) -> str:
        value = next(arguments if found[0] == "%!" else operands, None)
        return value.name if value is not None else found[0]

    parts = _STRING.split(op.verbatim)
    parts[0::2] = [_MARK.sub(name, part) for part in parts[0::2]]
    heads = [head.strip() for head in "".join(parts).split(REGION_MARK)]
    return (heads + [""] * len(op.regions))[: len(op.regions) + 1]
