"""The panes of the live session."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets.text_area import EditResult, Selection

from tileport.tui.text.irview import IRRow, LineMap
from tileport.tui.text.merge import RowMap, replacement
from tileport.tui.widgets.bars import PaneTitle, VerticalRule
from tileport.tui.widgets.code_area import CodeArea
from tileport.tui.widgets.rows import RowList

_INDENT = "    "


class Pane(Horizontal):
    """A pane: a rule at its left (not for the leftmost), a title, and what it shows."""

    DEFAULT_CSS = """
    Pane { height: 1fr; width: 1fr; }
    Pane > Vertical { height: 1fr; width: 1fr; }
    """

    def __init__(self, content: Widget, *, id: str) -> None:
        super().__init__(id=id)
        self.title = PaneTitle()
        self.content = content

    def compose(self) -> ComposeResult:
        """Rule, title, content."""
        yield VerticalRule()
        with Vertical():
            yield self.title
            yield self.content


class SourcePane(CodeArea):
    """The Python source, to read."""

    def __init__(self) -> None:
        super().__init__("python", read_only=True, id="python")


class RustEditor(CodeArea):
    """The Rust port, to edit."""

    class Leave(Message):
        """Esc: the keys are to go elsewhere. `key` is a letter typed right after, or ""."""

        def __init__(self, key: str = "") -> None:
            self.key = key
            super().__init__()

    def __init__(self) -> None:
        super().__init__("rust", read_only=False, id="rust")

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            event.prevent_default()
            self.post_message(self.Leave())
        elif event.key.startswith("alt+") and len(event.key) == 5:
            # Esc and a letter in quick succession arrive as Alt and that letter.
            event.stop()
            event.prevent_default()
            self.post_message(self.Leave(event.key[-1]))
        elif event.key == "enter" and not self.read_only:
            event.stop()
            event.prevent_default()
            row, column = min(self.selection)
            line = self.document[row][:column]
            indent = line[: len(line) - len(line.lstrip())]
            if line.rstrip().endswith(("{", "(", "[")):
                indent += _INDENT
            self._replace_via_keyboard("\n" + indent, *self.selection)

    def _replace_via_keyboard(
        self, insert: str, start: tuple[int, int], end: tuple[int, int]
    ) -> EditResult | None:
        # Terminals end the lines of a paste with a carriage return.
        text = insert.replace("\r\n", "\n").replace("\r", "\n")
        return super()._replace_via_keyboard(text, start, end)

    def take_outside(self, text: str) -> bool:
        """Make the text `text` by one undoable edit, the cursor and the view staying in place.

        Returns False where that cannot be (the line ends of the whole file changed), after
        showing the text afresh, without its undo history.
        """
        if text == self.text:
            return True
        old = list(self.lines)
        new = text.split(self.code.newline)
        if self.code.newline == "\r\n" and any("\n" in line for line in new):
            self.show_text(text)
            return False
        change = replacement(old, new)
        if change is None:
            return True
        rows = RowMap(old, new)
        start, end = self.selection
        top = self.scroll_offset.y
        self.history.checkpoint()
        self.replace(change.text, change.start, change.end, maintain_selection_offset=False)
        self.history.checkpoint()
        self.selection = Selection(
            self.clamp_visitable((rows.forward(start[0]), start[1])),
            self.clamp_visitable((rows.forward(end[0]), end[1])),
        )
        self.record_cursor_width()
        # At the top of the file the view stays there, so that lines put first are seen.
        self.scroll_to(y=rows.forward(top) if top else 0, animate=False)
        return True


class IRPane(RowList):
    """The IR difference, or the IR of one side."""

    def __init__(self) -> None:
        super().__init__(id="ir")
        self.map = LineMap([])

    def show_rows(self, rows: list[IRRow], empty: str) -> None:
        """Show rows; `empty` is said where there are none."""
        self.say_when_empty(empty)
        if rows != self.map.rows:
            self.map = LineMap(rows)
            self.set_rows([row.line for row in rows])


class FindingsList(RowList):
    """The findings, worst first."""

    def __init__(self) -> None:
        super().__init__(id="findings")
