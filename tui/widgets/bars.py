"""The fixed lines around the panes: header, stages, keys, tabs, pane titles, rules."""

from __future__ import annotations

from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tileport.tui.text.parts import Line, Part, Parts, fit, width_of
from tileport.tui.themes import Palette
from tileport.tui.widgets.painted import Bar, paint, palette_of


class Header(Bar):
    """What is open at the left, the verdict at the right."""


class StageStrip(Bar):
    """One cell of fixed width per stage."""


class KeyBar(Bar):
    """The keys that act now, or a notice."""


class DetailLines(Bar):
    """The chosen finding, in some lines."""

    DEFAULT_CSS = "DetailLines { height: 1fr; width: 1fr; }"

    def style(self, palette: Palette) -> Style:
        """As the panes."""
        return palette.base


class TabLine(Bar):
    """The panes as tabs, where only one fits."""

    class Picked(Message):
        """A tab was clicked; `index` counts from 0."""

        def __init__(self, index: int) -> None:
            self.index = index
            super().__init__()

    _ends: tuple[int, ...] = ()

    def show_tabs(self, titles: list[str], current: int) -> None:
        """Show titles; the current one is marked by brackets as well as by colour."""
        parts: list[Part] = []
        ends: list[int] = []
        for index, title in enumerate(titles):
            chosen = index == current
            text = f"[{index + 1} {title}]" if chosen else f" {index + 1} {title} "
            parts.append((f" {text}", "ui.title_focused" if chosen else "ui.title"))
            ends.append(width_of(parts))
        self._ends = tuple(ends)
        self.show(Line(parts))

    def on_click(self, event: events.Click) -> None:
        """Pick the tab under the mouse."""
        for index, end in enumerate(self._ends):
            if event.x < end:
                self.post_message(self.Picked(index))
                return


class PaneTitle(Widget, can_focus=False):
    """A rule with the name of the pane at its left and its state at its right."""

    DEFAULT_CSS = "PaneTitle { height: 1; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._words = ""
        self._note: Parts = ()
        self._focused = False

    def show(self, name: str, note: Parts = ()) -> None:
        """Show the name, and the state as parts."""
        if (name, note) != (self._words, self._note):
            self._words, self._note = name, note
            self.refresh()

    def set_focused(self, focused: bool) -> None:
        """Show whether the keys go to this pane."""
        if focused != self._focused:
            self._focused = focused
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint the title."""
        palette = palette_of(self)
        width = self.size.width
        name = "ui.title_focused" if self._focused else "ui.title"
        rule = "ui.link_bar" if self._focused else "ui.rule"
        left: list[Part] = [("\u2500 ", rule), (self._words, name), (" ", "")]
        right: list[Part] = []
        if self._note:
            room = max(8, width - width_of(left) - 4)
            note = [
                (fit(text, min(room, width_of([(text, "")]))), style) for text, style in self._note
            ]
            right = [(" ", ""), *note, (" \u2500", rule)]
        gap = max(0, width - width_of(left) - width_of(right))
        left.append(("\u2500" * gap, rule))
        return paint(Line(left, right), width, palette, palette.base)


class VerticalRule(Widget, can_focus=False):
    """A thin line between two panes."""

    DEFAULT_CSS = "VerticalRule { width: 1; height: 1fr; }"

    def render_line(self, y: int) -> Strip:
        """Paint one cell."""
        palette = palette_of(self)
        return paint(Line([("\u2502", "ui.rule")]), 1, palette, palette.base)
