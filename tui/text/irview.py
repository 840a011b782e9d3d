"""The IR pane's rows: the canonical difference of both sides, or the raw IR of one."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Literal, NamedTuple

from tileport.tui.text.parts import Line, Part, Parts
from tileport.verify.diff.model import Comparison, DiffRow, RowKind
from tileport.verify.safe_text import one_line, visible

_LINE = 5
#: Characters of a shared begin that are always shown.
_KEEP = 24
_BREAKS = frozenset(" ,()[]{}<>:=")
_RAW_LOCATION = re.compile(r"\s+loc\((.*)\)(\s*\{)?\s*$")


class IRRow(NamedTuple):
    """A row as painted, and the source lines (1-based, 0: none) and finding (-1: none) of it."""

    line: Line
    python: int = 0
    rust: int = 0
    finding: int = -1


def canonical_rows(comparison: Comparison, width: int = 200) -> list[IRRow]:
    """The rows of a comparison; an op that changed takes two, what differs set off in both.

    Where such a row is longer than `width` cells, what both sides share before the difference is
    shortened, so that the difference is seen.
    """
    rows: list[IRRow] = [
        IRRow(Line([("  same if  ", "verdict.same_if"), (one_line(a.condition), "")]), *_places(a))
        for a in comparison.assumptions
    ]
    if rows:
        rows.append(IRRow(Line()))
    before = (0, 0)
    for row in comparison.rows:
        made = _rows(row, comparison, width, (row.python, row.rust) != before)
        rows += made
        before = (row.python, row.rust) if made else before
    # One tag for a run of rows about one finding, at its end.
    return [
        row._replace(line=row.line._replace(right=()))
        if row.finding >= 0 and after is not None and after.finding == row.finding
        else row
        for row, after in zip_longest(rows, rows[1:])
    ]


def raw_rows(text: str, side: Literal["reference", "port"]) -> list[IRRow]:
    """One side's IR as the disassembler prints it, with source lines in place of locations."""
    from tileport.verify.ir.text_locations import Locations  # noqa: PLC0415  # after first paint

    lines = text.split("\n")
    table = Locations(line for line in lines if line.startswith("#"))
    rows: list[IRRow] = []
    before = 0
    for line in lines:
        if line.startswith("#"):
            continue
        found = _RAW_LOCATION.search(line)
        chain = table.chain(found[1]) if found else ()
        at = chain[0].line if chain else 0
        body = line[: found.start()] + (found[2] or "") if found else line
        number = str(at) if at and at != before else ""
        parts: Parts = [(f"{number:>{_LINE}}  ", "ui.line_number"), (visible(body), "diff.same")]
        python, rust = (at, 0) if side == "reference" else (0, at)
        rows.append(IRRow(Line(parts), python, rust))
        before = at or before
    while rows and not rows[-1].line.parts[1][0].strip():
        rows.pop()
    return rows


def _places(assumption: object) -> tuple[int, int]:
    python = getattr(assumption, "python", None)
    rust = getattr(assumption, "rust", None)
    return (python.line if python else 0, rust.line if rust else 0)


def _rows(row: DiffRow, comparison: Comparison, width: int, numbered: bool) -> list[IRRow]:
    finding = row.finding if 0 <= row.finding < len(comparison.findings) else -1
    indent = "  " * min(row.depth, 8)
    text = one_line(row.reference or row.port)
    ops = f"{row.count} op" if row.count == 1 else f"{row.count} ops"
    if row.kind is RowKind.FOLD:
        words: list[Part] = [(f"  {indent}{text}  " if text else f"  {indent}", "diff.same")]
        return [_row(row, [*words, (f"{ops} same", "diff.fold")], -1, numbered)]
    if row.kind is RowKind.HEADER:
        if not text:
            return []  # The rows below it say their lines themselves.
        count: list[Part] = [(f"  {ops}", "diff.fold")] if row.count else []
        return [_row(row, [(f"  {indent}{text}", "diff.header"), *count], finding, numbered)]
    lines: list[IRRow] = []
    if row.kind is RowKind.SAME:
        lines.append(_row(row, [(f"  {indent}{text}", "diff.same")], finding, numbered))
    else:
        kind = comparison.findings[finding].kind if finding >= 0 else ""
        room = width - 2 * _LINE - 4 - len(indent) - (len(kind) + 4 if kind else 0)
        one, other = one_line(row.reference), one_line(row.port)
        shared = _shared(one, other) if one and other else (0, 0)
        sides = (("-", one, RowKind.ADDED, "removed"), ("+", other, RowKind.REMOVED, "added"))
        for sign, side, unlike, name in sides:
            if side and row.kind is not unlike:
                parts = [(f"{sign} {indent}", ""), *_set_off(side, shared, room)]
                lines.append(_row(row, parts, finding, numbered and not lines, f"diff.{name}"))
    if lines and finding >= 0:
        found = comparison.findings[finding]
        tag = [(f" {found.severity.letter} {found.kind} ", f"severity.{found.severity.value}")]
        lines[-1] = lines[-1]._replace(line=lines[-1].line._replace(right=tag))
    return lines


def _shared(one: str, other: str) -> tuple[int, int]:
    """How many characters both begin and end with, in whole words."""
    shorter = min(len(one), len(other))
    head = 0
    while head < shorter and one[head] == other[head]:
        head += 1
    while head and one[head - 1] not in _BREAKS:
        head -= 1
    tail = 0
    while tail < shorter - head and one[-1 - tail] == other[-1 - tail]:
        tail += 1
    while tail and one[len(one) - tail] not in _BREAKS:
        tail -= 1
    return head, tail


def _set_off(text: str, shared: tuple[int, int], room: int) -> list[Part]:
    """`text` with what is between its shared ends set off, and its begin shortened to fit."""
    head, tail = shared
    before, middle, after = text[:head], text[head : len(text) - tail], text[len(text) - tail :]
    over = len(text) - room
    if over > 0 and len(before) > _KEEP:
        keep = max(len(before) - over - 1, _KEEP) - _KEEP // 2
        before = f"{before[:keep]}\u2026{before[len(before) - _KEEP // 2 :]}"
    return [(before, ""), (middle, "ui.strong"), (after, "")]


def _row(row: DiffRow, parts: list[Part], finding: int, numbered: bool, fill: str = "") -> IRRow:
    python = str(row.python) if row.python and numbered else ""
    rust = str(row.rust) if row.rust and numbered else ""
    numbers: Part = (f"{python:>{_LINE}}{rust:>{_LINE}}  ", "ui.line_number")
    return IRRow(Line([numbers, *parts], (), fill), row.python, row.rust, finding)


class LineMap:
    """Which lines of Python, of Rust and which IR rows belong together."""

    def __init__(self, rows: list[IRRow]) -> None:
        self.rows = rows
        self._python: dict[int, set[int]] = {}
        self._rust: dict[int, set[int]] = {}
        for index, row in enumerate(rows):
            if row.python:
                self._python.setdefault(row.python, set()).add(index)
            if row.rust:
                self._rust.setdefault(row.rust, set()).add(index)

    def of_python(self, line: int) -> tuple[frozenset[int], frozenset[int]]:
        """Rust lines and IR rows that came from a Python line."""
        rows = frozenset(self._python.get(line, ()))
        return frozenset(self.rows[i].rust for i in rows if self.rows[i].rust), rows

    def of_rust(self, line: int) -> tuple[frozenset[int], frozenset[int]]:
        """Python lines and IR rows that belong to a Rust line."""
        rows = frozenset(self._rust.get(line, ()))
        return frozenset(self.rows[i].python for i in rows if self.rows[i].python), rows

    def of_row(self, index: int) -> tuple[int, int]:
        """The Python and the Rust line of an IR row; 0 for none."""
        if not 0 <= index < len(self.rows):
            return (0, 0)
        return self.rows[index].python, self.rows[index].rust
