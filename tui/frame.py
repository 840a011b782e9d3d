"""Writes to the terminal only the cells that changed.

Textual repaints whole widgets: about 50 KB for one key in a highlighted editor, which is what
floods tmux and slow SSH links. Here each update is compared with what the terminal already shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.cells import get_character_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

#: A character (or "" for the right half of a wide one) and its style.
Cell = tuple[str, Style | None]
#: Unchanged cells between two changed ones that are cheaper to write again than to jump over.
_GAP = 4


class Frame:
    """What the terminal shows, as far as this process wrote it."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[int, Cell]] = {}
        self._strips: dict[int, dict[int, Strip]] = {}

    def reset(self) -> None:
        """Forget everything: the next update is written in full."""
        self._rows.clear()
        self._strips.clear()

    def lean(self, update: object) -> object:
        """`update` such that only changed cells are written; other renderables as they are."""
        if isinstance(update, LayoutUpdate | ChopsUpdate):
            return _LeanUpdate(self, update)
        return update

    def changes(self, update: LayoutUpdate | ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
        """Column, row and content of each run of changed cells; they count as written."""
        pieces = _layout(update) if isinstance(update, LayoutUpdate) else _chops(update)
        for x, y, strip in pieces:
            line = self._strips.setdefault(y, {})
            if line.get(x) == strip:
                continue
            right = x + strip.cell_length
            for at in [at for at, old in line.items() if at < right and x < at + old.cell_length]:
                del line[at]
            line[x] = strip
            yield from self._runs(x, y, strip)

    def _runs(self, x: int, y: int, strip: Strip) -> Iterator[tuple[int, int, Strip]]:
        row = self._rows.setdefault(y, {})
        cells = _cells(strip)
        changed = [at for at, cell in enumerate(cells, x) if row.get(at) != cell]
        row.update(enumerate(cells, x))
        if not changed:
            return
        start = last = changed[0]
        for at in [*changed[1:], None]:
            if at is not None and at - last <= _GAP:
                last = at
                continue
            while start > x and not cells[start - x][0]:
                start -= 1
            while last + 1 - x < len(cells) and not cells[last + 1 - x][0]:
                last += 1
            yield start, y, _strip(cells[start - x : last + 1 - x])
            if at is not None:
                start = last = at


class _LeanUpdate(CompositorUpdate):
    """An update whose cells are compared when it is really written, not before."""

    def __init__(self, frame: Frame, update: LayoutUpdate | ChopsUpdate) -> None:
        self.frame = frame
        self.update = update

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.update

    def render_segments(self, console: Console) -> str:
        """The bytes to write, empty when nothing changed."""
        parts: list[str] = []
        for x, y, strip in self.frame.changes(self.update):
            parts += (Control.move_to(x, y).segment.text, strip.render(console))
        return "".join(parts)


def _layout(update: LayoutUpdate) -> Iterator[tuple[int, int, Strip]]:
    for y, line in enumerate(update.strips, update.region.y):
        x = update.region.x
        for strip in line:
            yield x, y, strip
            x += strip.cell_length


def _chops(update: ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    for y, low, high in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is None or x >= high or end <= low:
                continue
            left, right = max(x, low), min(end, high)
            if (left, right) == (x, end):
                yield x, y, strip
            else:
                yield left, y, strip.crop(left - x, right - x)


def _cells(strip: Strip) -> list[Cell]:
    cells: list[Cell] = []
    for text, style, control in strip:
        if control:
            continue
        if text.isascii():
            cells.extend((char, style) for char in text)
            continue
        for char in text:
            size = get_character_cell_size(char)
            if size == 0 and cells:
                cells[-1] = (cells[-1][0] + char, cells[-1][1])
            else:
                cells.append((char, style))
                cells.extend(("", style) for _ in range(size - 1))
    return cells


def _strip(cells: list[Cell]) -> Strip:
    return Strip(
        [
            Segment("".join(char for char, _ in group), style)
            for style, group in groupby(cells, key=lambda cell: cell[1])
        ],
        len(cells),
    )
