"""Single ops of the text: templates, the formats that account for them, and what is left over."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tileport.verify.ir.grammar import Shape, normalise
from tileport.verify.ir.grammar_ops import FORMATS, GLOBAL, IMPLIED_TERMINATOR, TERMINATORS
from tileport.verify.ir.grammar_types import split_list
from tileport.verify.ir.model import Location, Op, Region, Value

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
SSA = re.compile(r"(%[\w$.\-]+(?:#\d+)?)", re.ASCII)

#: Stands for a region in the `verbatim` of an op without a format.
REGION_MARK = "{...}"


@dataclass(frozen=True, slots=True)
class Known:
    """A template that a format accounts for."""

    shape: Shape
    verbatim: str


@dataclass(frozen=True, slots=True)
class Head:
    """The first line of an op with regions; `arguments` is the line of their own they may have."""

    name: str
    template: str
    strings: tuple[str, ...]
    names: list[str]
    arguments: str | None
    number: int


#: What each (op, template, number of results) says; None where no format accounts for it.
#: Templates repeat within a program and between programs, so this is where the speed is.
_MEMO: dict[tuple[str, str, int], Known | None] = {}
_MEMO_SIZE = 20_000


def lookup(
    name: str, template: str, strings: tuple[str, ...], results: int, *, top: bool
) -> Known | None:
    """What a format reads from the op's text; None where no format accounts for all of it.

    Args:
        name: Of the op.
        template: The text after it, names as `%` and strings as their numbers.
        strings: The strings.
        results: How many results the op has.
        top: Whether the op stands at module level, outside of all entries.
    """
    key = (name, template, results)
    if not strings and not top and key in _MEMO:
        return _MEMO[key]
    normal = normalise(template)
    formats = ((GLOBAL,) if name == "global" else ()) if top else FORMATS.get(name, ())
    known: Known | None = None
    for each in formats:
        shape = each.match(normal, strings, results)
        if shape is not None:
            known = Known(shape, restore(f"{name} {normal}".rstrip(), strings))
            break
    if not strings and not top:
        if len(_MEMO) >= _MEMO_SIZE:
            _MEMO.clear()
        _MEMO[key] = known
    return known


def join_regions(head: Head, normal: str, connectors: list[str]) -> tuple[str, list[str]]:
    """The `verbatim` of an op without a format that has regions, and names used between them."""
    parts = [head.name, restore(normal, head.strings)]
    if head.arguments is not None:
        parts.append(normalise(SSA.sub("%!", head.arguments)))
    names: list[str] = []
    for connector in connectors:
        text, strings = take_strings(connector)
        pieces = SSA.split(text)
        names += pieces[1::2]
        parts += [REGION_MARK, restore(normalise("%".join(pieces[0::2])), strings)]
    return " ".join(part for part in parts if part), names


def known_op(
    known: Known,
    name: str,
    operands: tuple[Value, ...],
    *,
    regions: tuple[Region, ...],
    location: Location,
    number: int,
) -> Op:
    """An op that a format accounts for; its results are added after it."""
    shape = known.shape
    attributes = dict(shape.attributes)
    verbatim = known.verbatim
    return Op(name, operands, shape.roles, (), attributes, regions, location, verbatim, number)


def types_agree(operands: tuple[Value, ...], types: tuple[str | None, ...]) -> bool:
    """Whether the printed types of operands are the types they have."""
    for operand, printed in zip(operands, types, strict=True):
        if printed is not None and operand.type != printed:
            if operand.type:
                return False
            # The result of an op without a format: this is where its type is first told.
            operand.type = printed
    return True


def guess_types(template: str, results: int) -> tuple[str, ...]:
    """Result types of an op without a format: what follows the last arrow or colon, if it fits."""
    _, arrow, tail = template.rpartition("-> ")
    if not arrow:
        _, _, tail = template.rpartition(" : ")
    types = split_list(tail)
    if len(types) == results:
        return types
    return (types[0],) * results if len(types) == 1 else ("",) * results


def take_strings(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each string literal replaced by its number in quotes, and the strings."""
    strings: list[str] = []

    def number(found: re.Match[str]) -> str:
        strings.append(found[0])
        return f'"{len(strings) - 1}"'

    return STRING.sub(number, text), tuple(strings)


def restore(text: str, strings: tuple[str, ...]) -> str:
    """The inverse of `take_strings`."""
    if not strings:
        return text
    return re.sub(r'"(\d+)"', lambda found: strings[int(found[1])], text)


def add_terminator(name: str, region: Region, number: int) -> None:
    """Gives a region the terminator that its op implies, where the text leaves it out."""
    implied = IMPLIED_TERMINATOR.get(name)
    if implied and not (region.ops and region.ops[-1].name in TERMINATORS):
        region.ops.append(Op(implied, (), (), (), {}, (), (), "", number))
