"""What all widgets here are painted with: one line from styled parts, and one-line bars."""

from __future__ import annotations

from typing import Protocol, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tileport.tui.text.glyphs import glyphs
from tileport.tui.text.parts import Line, fit, width_of
from tileport.tui.themes import Palette


class HasPalette(Protocol):
    """The app, as far as painting goes."""

    @property
    def palette(self) -> Palette:
        """The styles of the theme in use."""
        ...


def palette_of(widget: Widget) -> Palette:
    """The palette of the app `widget` is in."""
    return cast(HasPalette, widget.app).palette


def paint(
    content: Line, width: int, palette: Palette, base: Style, over: Style | None = None
) -> Strip:
    """One line of `width` cells; its right parts are never cut, the left ones are.

    `over` is laid over the whole line, below what the parts say of their own foreground.
    """
    parts, right, fill = content
    line = base if over is None else base + over
    if fill:
        line = line + palette[fill]
    right_width = min(width_of(right), width)
    room = width - right_width
    segments: list[Segment] = []
    for text, name in parts:
        if room <= 0:
            break
        shown = glyphs(text).replace("\t", " ").replace("\n", " ")
        size = cell_len(shown)
        if size > room:
            shown = fit(shown.rstrip(), room)
            size = room
        segments.append(Segment(shown, line + palette[name] if name else line))
        room -= size
    if room > 0:
        segments.append(Segment(" " * room, line))
    for text, name in right:
        segments.append(Segment(glyphs(text), line + palette[name] if name else line))
    return Strip(segments).crop(0, width).extend_cell_length(width, line)


class Bar(Widget, can_focus=False):
    """A widget of a few fixed lines, each painted from parts; repaints only what changed."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: list[Line] = []

    def show(self, *lines: Line) -> None:
        """Show these lines."""
        if list(lines) != self._lines:
            self._lines = list(lines)
            self.refresh()

    def style(self, palette: Palette) -> Style:
        """The style below all parts."""
        return palette.chrome

    def render_line(self, y: int) -> Strip:
        """Paint one line."""
        palette = palette_of(self)
        base = self.style(palette)
        if y >= len(self._lines):
            return Strip.blank(self.size.width, base)
        return paint(self._lines[y], self.size.width, palette, base)
