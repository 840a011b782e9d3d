"""A list of rows with a cursor, painted one line at a time: any length costs what is in view."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tileport.tui.text.parts import Line, width_of
from tileport.tui.themes import Palette
from tileport.tui.widgets.painted import paint, palette_of


class RowList(ScrollView, can_focus=True):
    """Rows of parts. The cursor is one row; Enter or a click on it chooses it.

    With `has_cursor` false it is a pager: the keys scroll.
    """

    DEFAULT_CSS = """
    RowList {
        height: 1fr; width: 1fr;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0;
        overflow-x: hidden; overflow-y: auto;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "row(-1)", show=False),
        Binding("down", "row(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "edge(0)", show=False),
        Binding("end", "edge(1)", show=False),
        Binding("left", "sideways(-8)", show=False),
        Binding("right", "sideways(8)", show=False),
        Binding("enter", "choose", show=False),
        Binding("ctrl+c", "copy", show=False),
    ]

    class Moved(Message):
        """The cursor is on another row."""

        def __init__(self, rows: RowList, row: int) -> None:
            self.rows = rows
            self.row = row
            super().__init__()

        @property
        def control(self) -> RowList:
            """The list."""
            return self.rows

    class Chosen(Moved):
        """The row under the cursor was chosen."""

    def __init__(self, *, id: str | None = None, has_cursor: bool = True) -> None:
        super().__init__(id=id)
        self._rows: list[Line] = []
        self.cursor = 0
        self.has_cursor = has_cursor
        #: Rows lit up because the cursor of another pane is on their line.
        self.linked: frozenset[int] = frozenset()
        self.matches: frozenset[int] = frozenset()
        self.empty = ""
        #: Show the cursor as chosen though the keys go to another widget, a filter say.
        self.led = False
        #: Painted on the background of the bars, in a box above the panes.
        self.raised = False

    def __len__(self) -> int:
        return len(self._rows)

    def set_rows(self, rows: list[Line]) -> None:
        """Show these rows."""
        if rows == self._rows:
            return
        self._rows = rows
        self.cursor = max(0, min(self.cursor, len(rows) - 1))
        self._measure()
        self.refresh()

    def say_when_empty(self, text: str) -> None:
        """What stands there while there are no rows."""
        if text != self.empty:
            self.empty = text
            self.refresh()

    def row_text(self, row: int) -> str:
        """What a row says, as plain text."""
        line = self._rows[row]
        return "".join(text for text, _ in [*line.parts, *line.right]).rstrip()

    def set_linked(self, rows: frozenset[int]) -> None:
        """Light up these rows."""
        if rows != self.linked:
            self.linked = rows
            self.refresh()

    def set_matches(self, rows: frozenset[int]) -> None:
        """Mark these rows as matches of a search."""
        if rows != self.matches:
            self.matches = rows
            self.refresh()

    def move_to(self, row: int, *, tell: bool = True, center: bool = False) -> None:
        """Put the cursor on `row` and bring it into view; `tell` posts `Moved`."""
        if not self._rows:
            return
        row = max(0, min(row, len(self._rows) - 1))
        changed = row != self.cursor
        self.cursor = row
        self.reveal(row, center=center)
        if changed:
            self.refresh()
            if tell:
                self.post_message(self.Moved(self, row))

    def shows_any(self, rows: frozenset[int]) -> bool:
        """Whether one of these rows is in view."""
        top = self.scroll_offset.y
        return any(top <= row < top + self.scrollable_content_region.height for row in rows)

    def reveal(self, row: int, *, center: bool = False) -> None:
        """Scroll as little as needed to show `row`, or so that it is in the middle."""
        height = self.scrollable_content_region.height
        top = self.scroll_offset.y
        if center and not top + 1 <= row < top + height - 2:
            self.scroll_to(y=max(0, row - height // 2), animate=False)
        elif row < top:
            self.scroll_to(y=row, animate=False)
        elif height and row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False)

    # ------------------------------------------------------------ painting

    def style(self, palette: Palette) -> Style:
        """The style below all rows."""
        return palette.chrome if self.raised else palette.base

    def _measure(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._rows))

    def _sideways_limit(self) -> int:
        width = max((width_of(row.parts) for row in self._rows), default=0)
        return max(0, width - self.size.width + 4)

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._measure()
        if self.has_cursor:
            self.reveal(self.cursor)

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that the keys go elsewhere."""
        self.refresh()

    _shift = 0

    def render_line(self, y: int) -> Strip:
        """Paint one line."""
        palette = palette_of(self)
        base = self.style(palette)
        width = self.scrollable_content_region.width
        row = y + self.scroll_offset.y
        if row >= len(self._rows):
            words = Line([(f" {self.empty}", "ui.faint")]) if row == 0 and self.empty else Line()
            return paint(words, width, palette, base)
        over: Style | None = None
        if self.has_cursor and row == self.cursor and (self.has_focus or self.led):
            over = palette["ui.chosen"]
        elif row in self.linked:
            over = palette["ui.linked"]
        elif row in self.matches:
            over = palette["ui.match"]
        elif self.has_cursor and row == self.cursor:
            over = palette["ui.cursor_line"]
        if not self._shift:
            return paint(self._rows[row], width, palette, base, over)
        shifted = self._rows[row]._replace(right=())
        whole = paint(shifted, width + self._shift, palette, base, over)
        return whole.crop(self._shift, self._shift + width)

    # ------------------------------------------------------------ keys and mouse

    def action_row(self, by: int) -> None:
        """Move by rows."""
        if self.has_cursor:
            self.move_to(self.cursor + by)
        else:
            self.scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        """Move by pages."""
        self.action_row(by * max(1, self.scrollable_content_region.height - 1))

    def action_edge(self, end: int) -> None:
        """Go to the first or the last row."""
        if self.has_cursor:
            self.move_to(len(self._rows) - 1 if end else 0)
        else:
            self.scroll_to(y=self.max_scroll_y if end else 0, animate=False)

    def action_sideways(self, by: int) -> None:
        """Move the view sideways over long rows."""
        shift = max(0, min(self._shift + by, self._sideways_limit()))
        if shift != self._shift:
            self._shift = shift
            self.refresh()

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self._rows:
            self.post_message(self.Chosen(self, self.cursor))

    def action_copy(self) -> None:
        """Copy the text of the row under the cursor."""
        if self._rows and self.has_cursor:
            self.app.copy_to_clipboard(self.row_text(self.cursor).strip())

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; a second one on the same row chooses it."""
        row = event.y + self.scroll_offset.y
        if not self.has_cursor or not 0 <= row < len(self._rows):
            return
        if event.chain == 2:
            self.action_choose()
        else:
            self.move_to(row)

    def refresh_row(self, row: int) -> None:
        """Repaint one row."""
        self.refresh(Region(0, row - self.scroll_offset.y, self.size.width, 1))
