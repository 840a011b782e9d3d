"""Which lines of both sources hold a fact of the specialization, for the marks in the panes.

In the Python source a fact is "declared" where it is written (a hint of the decorator) and
"implicit" where the launch fixes it silently: parameters, and uses of folded globals. In the Rust
it is "declared" where it is written, "implicit" where the launcher finds it, and "must-declare"
where it is missing or said otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from tileport.verify.model import ArraySpec, ConstantSpec, ListSpec, ScalarSpec, Variant
from tileport.verify.port.facts import HINTS, array_text
from tileport.verify.port.model import FactRow, PortEntry
from tileport.verify.port.names import Leaf, leaves
from tileport.verify.port.python_source import hint_lines, uses_in

MarkKind = Literal["implicit", "declared", "must-declare"]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One fact at one 1-based line of a source."""

    line: int
    kind: MarkKind
    fact: str
    parameter: str


def python_marks(source: str, variant: Variant) -> tuple[Mark, ...]:
    """Marks for the Python source of a variant's kernel, in the order of the lines.

    Args:
        source: The text of the file the kernel is in; it need not parse.
        variant: The specialization in view.
    """
    text = source.encode("utf-8", "surrogatepass")
    marks = [_leaf_mark(leaf) for leaf in leaves(variant).values()]
    marks += _hint_marks(text, variant)
    marks += _folded_marks(text, variant)
    return tuple(sorted(marks, key=lambda mark: mark.line))


def _leaf_mark(leaf: Leaf) -> Mark:
    match leaf.spec:
        case ArraySpec() as spec:
            fact = array_text(spec)
        case ListSpec(element=element):
            fact = f"a list of arrays of {array_text(element)}"
        case ScalarSpec(dtype=dtype):
            fact = dtype
        case ConstantSpec(value=value):
            fact = f"{value}"
    return Mark(line=leaf.place.line, kind="implicit", fact=fact, parameter=leaf.name)


def _hint_marks(source: bytes, variant: Variant) -> Iterator[Mark]:
    kernel = variant.kernel
    lines = hint_lines(source, kernel.name, kernel.place.line)
    for name in (*(name for name, _ in HINTS), "opt_level"):
        value = getattr(variant.hints, name)
        if value is not None:
            line = lines.get(name) or lines.get("") or kernel.place.line
            yield Mark(line=line, kind="declared", fact=f"{value}", parameter=name)


def _folded_marks(source: bytes, variant: Variant) -> Iterator[Mark]:
    kernel = variant.kernel
    uses = uses_in(source, kernel.name, kernel.place.line) or {}
    for folded in variant.folded:
        lines = set(uses.get(folded.name, ()))
        if folded.place is not None and folded.place.file == kernel.place.file:
            lines.add(folded.place.line)
        for line in sorted(lines):
            yield Mark(line=line, kind="implicit", fact=folded.value, parameter=folded.name)


def rust_marks(entry: PortEntry | None, facts: Sequence[FactRow]) -> tuple[Mark, ...]:
    """Marks for the Rust text, in the order of the lines.

    Args:
        entry: The entry of the kernel in view; what is missing is marked at its name.
        facts: The rows of its binding.
    """
    marks: list[Mark] = []
    for row in facts:
        fault = row.state == "contradicted" or (row.state == "missing" and row.severity is not None)
        line = row.line or (entry.line if fault and entry is not None else None)
        if line is None:
            continue
        kind: MarkKind = "implicit"
        if fault:
            kind = "must-declare"
        elif row.state == "declared":
            kind = "declared"
        marks.append(Mark(line=line, kind=kind, fact=row.fact, parameter=row.parameter))
    return tuple(sorted(marks, key=lambda mark: mark.line))
