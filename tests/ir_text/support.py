"""What the tests of this folder share: the fixtures, and two ways to hold modules together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tileport.verify.ir.model import Module, Op, Region, Value, walk
from tileport.verify.ir.text import parse_module

FIXTURES = Path(__file__).parent / "fixtures"
NAMES = ("every_op", "attend_py", "attend_rs")

_STRING = re.compile(r'("(?:[^"\\]|\\.)*")')
_LOCATION = re.compile(r" loc\((?:#\w+|unknown)\)$")


@cache
def text(name: str) -> str:
    return (FIXTURES / f"{name}.txt").read_text("utf-8")


@cache
def module(name: str) -> Module:
    return parse_module(text(name))


def ops(of: Module) -> Iterator[Op]:
    for entry in of.entries:
        yield from walk(entry.body)


def normal_line(line: str) -> str:
    """A line without its location and indentation, spaces and `=` normalised outside strings."""
    parts = _STRING.split(_LOCATION.sub("", line.strip()))
    parts[0::2] = [re.sub(r" *= *", "=", re.sub(r" +", " ", part)) for part in parts[0::2]]
    return "".join(parts).strip()


def normal_lines(of: str) -> list[str]:
    """The ops of a text; without the location table, without blank lines."""
    lines = (line for line in of.split("\n") if line.strip() and not line.startswith("#"))
    return [normal_line(line) for line in lines]


def fingerprint(of: Module) -> object:
    """Everything a module means, with values numbered by definition instead of named."""
    numbers: dict[int, int] = {}

    def define(value: Value) -> tuple[int, str]:
        numbers[id(value)] = len(numbers)
        return numbers[id(value)], value.type

    def use(value: Value) -> int:
        return numbers[id(value)]

    def region(each: Region) -> object:
        return tuple(define(v) for v in each.arguments), tuple(op(one) for one in each.ops)

    def op(each: Op) -> object:
        return (
            each.name,
            tuple(use(value) for value in each.operands),
            each.roles,
            tuple(sorted(each.attributes.items())),
            each.known or each.verbatim,
            tuple(region(inner) for inner in each.regions),
            tuple(define(value) for value in each.results),
        )

    return (
        tuple(op(each) for each in of.globals),
        tuple(
            (entry.name, tuple(sorted((k, tuple(v.items())) for k, v in entry.hints.items())),
             region(entry.body))
            for entry in of.entries
        ),
    )  # fmt: skip
