"""Searching in the pane that had the focus."""

from __future__ import annotations

import re

from textual.widget import Widget
from textual.widgets.text_area import Selection

from tileport.tui.text.search import find, pattern_for
from tileport.tui.widgets.code_area import CodeArea
from tileport.tui.widgets.rows import RowList


class Finder:
    """One search: where, for what, and from where."""

    def __init__(self) -> None:
        self.pane: Widget | None = None
        self._pattern: re.Pattern[str] | None = None
        self._origin = (0, 0)

    def begin(self, pane: Widget) -> None:
        """Search in this pane, from its cursor on."""
        self.end()
        self.pane = pane
        if isinstance(pane, CodeArea):
            self._origin = min(pane.selection)
        elif isinstance(pane, RowList):
            self._origin = (pane.cursor if pane.has_cursor else pane.scroll_offset.y, 0)

    def end(self) -> None:
        """Take the marks away."""
        if isinstance(self.pane, CodeArea):
            self.pane.set_pattern(None)
        elif isinstance(self.pane, RowList):
            self.pane.set_matches(frozenset())

    def seek(self, text: str) -> str:
        """Search for `text` from where the search began; how many matches, in words."""
        self._pattern = pattern_for(text)
        pane = self.pane
        if isinstance(pane, CodeArea):
            pane.set_pattern(self._pattern)
        elif isinstance(pane, RowList) and self._pattern is not None:
            lines = self._lines()
            pane.set_matches(
                frozenset(i for i, line in enumerate(lines) if self._pattern.search(line))
            )
        if self._pattern is None:
            self.end()
            return ""
        count = sum(len(self._pattern.findall(line)) for line in self._lines())
        if count:
            self._go(self._origin, backwards=False)
        return f"{count} found" if count else "not found"

    def step(self, *, backwards: bool) -> None:
        """Go to the next or the previous match."""
        pane = self.pane
        if isinstance(pane, CodeArea):
            low, high = sorted(pane.selection)
            self._go(low if backwards else high, backwards=backwards)
        elif isinstance(pane, RowList):
            row = pane.cursor
            self._go((row, 0) if backwards else (row + 1, 0), backwards=backwards)

    def _lines(self) -> list[str]:
        pane = self.pane
        if isinstance(pane, CodeArea):
            return pane.lines
        if isinstance(pane, RowList):
            return [pane.row_text(row) for row in range(len(pane))]
        return []

    def _go(self, start: tuple[int, int], *, backwards: bool) -> None:
        lines = self._lines()
        if self._pattern is None or not lines:
            return
        start = (min(start[0], len(lines)) % len(lines), start[1])
        match = find(lines, self._pattern, start, backwards=backwards)
        if match is None:
            return
        row, low, high = match
        if isinstance(self.pane, CodeArea):
            self.pane.selection = Selection((row, low), (row, high))
            self.pane.reveal(row)
        elif isinstance(self.pane, RowList):
            self.pane.move_to(row, center=True)
