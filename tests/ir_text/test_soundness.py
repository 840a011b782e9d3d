"""Damaged text: never another error than IRTextError, never a program equal to the original."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.ir_text import support
from tileport.verify.ir.model import Module, walk
from tileport.verify.ir.print import print_module
from tileport.verify.ir.text import IRTextError, parse_module

#: Characters that occur in Tile IR, and some that do not.
_ALPHABET = 'abeflmnorstx0123456789_%#@<>()[]{},:=->?."\\/ é\x00\n'

_SSA = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_DEFINED = re.compile(
    r"^\s*(?P<results>(?:%[\w.\-]+(?::\d+)?(?:, )?)+)(?= = )"
    r"|(?P<argument>%[\w.\-]+)(?=: )|(?P<loop>%[\w.\-]+)(?= in \()|(?P<iter>%[\w.\-]+)(?= ?= ?%)"
)


@cache
def _small() -> str:
    """The folds, the control flow and some memory of the fixture: short enough to read often."""
    whole = support.module("every_op")
    names = ("folds", "control-flow", "grid", "constants")
    part = Module(tuple(whole.entry(name) for name in names), whole.globals, "")
    return print_module(part)


@cache
def _lines(text: str) -> list[str]:
    return text.split("\n")


@cache
def _fingerprint(text: str) -> object:
    return support.fingerprint(parse_module(text))


def _is_definition(line: str, start: int, end: int) -> bool:
    """Whether an edit touches a name where it is defined, which may be a mere renaming."""
    return any(found.start() <= end and start <= found.end() for found in _DEFINED.finditer(line))


@st.composite
def _edits(draw: st.DrawFn) -> tuple[int, str]:
    """A line of the program and what an edit makes of it."""
    lines = _lines(_small())
    number = draw(st.integers(0, len(lines) - 2))
    line = lines[number]
    start = draw(st.integers(0, len(line)))
    kind = draw(st.sampled_from(["delete", "insert", "replace", "swap", "token"]))
    if kind == "token":
        words = [found.span() for found in re.finditer(r"[\w%.#]+", line)]
        if not words:
            return number, line
        a, b = draw(st.sampled_from(words)), draw(st.sampled_from(words))
        start, end = a
        new = line[b[0] : b[1]]
    else:
        end = start if kind == "insert" else min(len(line), start + draw(st.integers(1, 3)))
        new = "" if kind == "delete" else draw(st.text(_ALPHABET, min_size=1, max_size=3))
        if kind == "swap":
            new = line[start:end][::-1]
    if _is_definition(line, start, end):
        return number, line
    return number, line[:start] + new + line[end:]


@settings(max_examples=300, deadline=None)
@given(_edits())
def test_a_damaged_line_is_refused_or_read_as_another_program(edit: tuple[int, str]) -> None:
    number, changed = edit
    text = _small()
    lines = list(_lines(text))
    before = lines[number]
    lines[number] = changed
    if "".join(changed.split()) == "".join(before.split()):
        # Spaces alone are not damage.
        return
    try:
        module = parse_module("\n".join(lines))
    except IRTextError:
        return
    assert support.fingerprint(module) != _fingerprint(text)


def _entries() -> list[tuple[str, str]]:
    """Each entry of the fixtures as a program of its own."""
    programs = []
    for name in support.NAMES:
        for entry in support.module(name).entries:
            programs.append((entry.name, print_module(Module((entry,), (), ""))))
    return programs


@pytest.mark.parametrize(("name", "text"), _entries(), ids=[name for name, _ in _entries()])
def test_no_word_of_an_op_can_be_left_out(name: str, text: str) -> None:
    """Every word of some twelve ops of each entry, taken away one at a time."""
    body = text.split("\n")
    original = support.fingerprint(parse_module(text))
    places = [at for at, line in enumerate(body) if line.startswith("  ")]
    tried = 0
    for at in places[:: len(places) // 12 + 1]:
        for found in re.finditer(r"[\w.#?]+", body[at]):
            if _is_definition(body[at], *found.span()):
                continue
            shorter = body[at][: found.start()] + body[at][found.end() :]
            tried += 1
            try:
                module = parse_module("\n".join([*body[:at], shorter, *body[at + 1 :]]))
            except IRTextError:
                continue
            assert support.fingerprint(module) != original, shorter
    assert tried > 20, name


@settings(max_examples=200, deadline=None)
@given(st.text(_ALPHABET, max_size=200))
@example("entry @k() {\n}\n")
@example("entry @k(%a: tile<i32>) {\n}")
@example("%0 = a\n")
@example("a {\n")
@example("a\n(b {\n}\n")
@example("a {\n} {\n} {\n")
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        module = parse_module(text)
    except IRTextError:
        return
    for entry in module.entries:
        for op in walk(entry.body):
            assert len(op.roles) == len(op.operands)
    print_module(module)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(_lines(_small())), max_size=30))
def test_any_order_of_lines_is_read_or_refused(lines: list[str]) -> None:
    try:
        parse_module("\n".join(lines))
    except IRTextError:
        return


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_text_cut_anywhere_is_read_or_refused(at: int) -> None:
    text = support.text("attend_rs")
    try:
        module = parse_module(text[: at * len(text) // 10_000])
    except IRTextError:
        return
    assert module.entries
