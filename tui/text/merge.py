"""Line differences, three-way merging and what becomes of a cursor, for edits made elsewhere.

Texts are split at `\\n` only, so every byte of a line is kept and joining gives the text back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

#: Between anchors, ranges up to this many line pairs are matched in full; larger ones are taken as
#: changed, so that a 20,000-line file costs milliseconds.
_FULL_MATCH_PAIRS = 250_000
_MAX_DEPTH = 40


class Hunk(NamedTuple):
    """Lines `low:high` of the old text became `lines`, which start at `new_low` in the new text."""

    low: int
    high: int
    new_low: int
    lines: tuple[str, ...]


class Merge(NamedTuple):
    """A three-way merge: the text, or None where both sides changed the same or adjoining lines.

    `conflicts` are the line ranges of the base (0-based, end excluded) that both sides changed.
    """

    text: str | None
    conflicts: tuple[tuple[int, int], ...]


class Replacement(NamedTuple):
    """Replace `start:end` (row and column, 0-based) by `text`."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def split_lines(text: str) -> list[str]:
    """The lines of `text` without their `\\n`; a trailing newline gives a last empty line."""
    return text.split("\n")


def hunks(old: list[str], new: list[str]) -> list[Hunk]:
    """What changed from `old` to `new`, in order; hunks never touch each other."""
    result: list[Hunk] = []
    low = new_low = 0
    for block in [*_matches(old, new), _Block(len(old), len(new), 0)]:
        if block.old > low or block.new > new_low:
            result.append(Hunk(low, block.old, new_low, tuple(new[new_low : block.new])))
        low, new_low = block.old + block.length, block.new + block.length
    return result


def merge(base: str, mine: str, theirs: str) -> Merge:
    """Bring the changes of `mine` and `theirs` together, both made to `base`.

    Changes of different lines are taken from both; equal changes once. Where changed ranges
    overlap or touch, nothing is guessed: the result has conflicts and no text.
    """
    if theirs in (mine, base):
        return Merge(mine, ())
    if mine == base:
        return Merge(theirs, ())
    base_lines = split_lines(base)
    ours = hunks(base_lines, split_lines(mine))
    other = hunks(base_lines, split_lines(theirs))
    conflicts: list[tuple[int, int]] = []
    taken: list[Hunk] = []
    i = j = 0
    while i < len(ours) or j < len(other):
        if j >= len(other) or (i < len(ours) and ours[i].high < other[j].low):
            taken.append(ours[i])
            i += 1
        elif i >= len(ours) or other[j].high < ours[i].low:
            taken.append(other[j])
            j += 1
        else:
            a, b = ours[i], other[j]
            if (a.low, a.high, a.lines) == (b.low, b.high, b.lines):
                taken.append(a)
                i, j = i + 1, j + 1
                continue
            low, high = min(a.low, b.low), max(a.high, b.high)
            while True:
                if i < len(ours) and ours[i].low <= high:
                    high = max(high, ours[i].high)
                    i += 1
                elif j < len(other) and other[j].low <= high:
                    high = max(high, other[j].high)
                    j += 1
                else:
                    break
            conflicts.append((low, high))
    if conflicts:
        return Merge(None, tuple(conflicts))
    lines = base_lines
    for hunk in reversed(taken):
        lines[hunk.low : hunk.high] = hunk.lines
    return Merge("\n".join(lines), ())


def replacement(old: list[str], new: list[str]) -> Replacement | None:
    """The one smallest run of lines to replace so that `old` becomes `new`; None where equal."""
    if old == new:
        return None
    shorter = min(len(old), len(new))
    prefix = 0
    while prefix < shorter - 1 and old[prefix] == new[prefix]:
        prefix += 1
    suffix = 0
    while suffix < shorter - prefix - 1 and old[-1 - suffix] == new[-1 - suffix]:
        suffix += 1
    last_old, last_new = len(old) - suffix, len(new) - suffix
    return Replacement(
        (prefix, 0), (last_old - 1, len(old[last_old - 1])), "\n".join(new[prefix:last_new])
    )


class RowMap:
    """Where rows of an old text are in a new one."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        self._hunks = hunks(old, new)
        self._lows = [hunk.low for hunk in self._hunks]
        self._new_lows = [hunk.new_low for hunk in self._hunks]
        self.last = len(new) - 1

    @property
    def identical(self) -> bool:
        """Whether nothing changed."""
        return not self._hunks

    def forward(self, row: int) -> int:
        """The row of the new text for a row of the old; inside a change, the nearest there."""
        index = bisect_right(self._lows, row) - 1
        if index < 0:
            return row
        hunk = self._hunks[index]
        if row < hunk.high:
            inside = min(row - hunk.low, max(len(hunk.lines) - 1, 0))
            return min(hunk.new_low + inside, self.last)
        return min(row - hunk.high + hunk.new_low + len(hunk.lines), self.last)

    def survives(self, row: int) -> bool:
        """Whether the row of the old text is unchanged in the new one."""
        index = bisect_right(self._lows, row) - 1
        return index < 0 or row >= self._hunks[index].high

    def back(self, row: int) -> int:
        """The row of the old text for a row of the new, -1 for a row that is new or changed."""
        index = bisect_right(self._new_lows, row) - 1
        if index < 0:
            return row
        hunk = self._hunks[index]
        if row < hunk.new_low + len(hunk.lines):
            return -1
        return row - hunk.new_low - len(hunk.lines) + hunk.high


class _Block(NamedTuple):
    old: int
    new: int
    length: int


class _Area(NamedTuple):
    """Rows `low:high` of the old text and `new_low:new_high` of the new."""

    low: int
    high: int
    new_low: int
    new_high: int


def _matches(old: list[str], new: list[str]) -> list[_Block]:
    """Maximal runs of equal lines, increasing in both texts."""
    joined: list[_Block] = []
    for block in _match(old, new, _Area(0, len(old), 0, len(new)), 0):
        last = joined[-1] if joined else None
        if last and last.old + last.length == block.old and last.new + last.length == block.new:
            joined[-1] = _Block(last.old, last.new, last.length + block.length)
        else:
            joined.append(block)
    return joined


def _match(old: list[str], new: list[str], area: _Area, depth: int) -> Iterator[_Block]:
    low, high, new_low, new_high = area
    while low < high and new_low < new_high and old[low] == new[new_low]:
        low, new_low = low + 1, new_low + 1
    if low > area.low:
        yield _Block(area.low, area.new_low, low - area.low)
    while low < high and new_low < new_high and old[high - 1] == new[new_high - 1]:
        high, new_high = high - 1, new_high - 1
    if low < high and new_low < new_high:
        inner = _Area(low, high, new_low, new_high)
        anchors = _anchors(old, new, inner) if depth < _MAX_DEPTH else []
        if anchors:
            at, new_at = low, new_low
            for row, new_row in anchors:
                yield from _match(old, new, _Area(at, row, new_at, new_row), depth + 1)
                yield _Block(row, new_row, 1)
                at, new_at = row + 1, new_row + 1
            yield from _match(old, new, _Area(at, high, new_at, new_high), depth + 1)
        elif (high - low) * (new_high - new_low) <= _FULL_MATCH_PAIRS:
            matcher = SequenceMatcher(None, old[low:high], new[new_low:new_high], autojunk=False)
            for row, new_row, size in matcher.get_matching_blocks():
                if size:
                    yield _Block(low + row, new_low + new_row, size)
    if high < area.high:
        yield _Block(high, new_high, area.high - high)


def _anchors(old: list[str], new: list[str], area: _Area) -> list[tuple[int, int]]:
    """Lines that occur once on each side, the longest chain that increases on both sides."""
    once = _once(old, area.low, area.high)
    new_once = _once(new, area.new_low, area.new_high)
    pairs = [(row, new_once[line]) for line, row in once.items() if line in new_once]
    pairs.sort()
    tops: list[int] = []
    ends: list[int] = []
    previous: list[int] = [-1] * len(pairs)
    for index, (_, new_row) in enumerate(pairs):
        at = bisect_left(tops, new_row)
        previous[index] = ends[at - 1] if at else -1
        tops[at : at + 1] = [new_row]
        ends[at : at + 1] = [index]
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    chain.reverse()
    return chain


def _once(lines: list[str], low: int, high: int) -> dict[str, int]:
    seen: dict[str, int] = {}
    twice: set[str] = set()
    for row in range(low, high):
        line = lines[row]
        if line in seen:
            twice.add(line)
        seen[line] = row
    return {line: row for line, row in seen.items() if line not in twice}
