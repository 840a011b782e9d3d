"""The line that takes what to search for, in place of the key bar."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from tileport.tui.text.parts import Line
from tileport.tui.widgets.painted import Bar


class SearchLabel(Bar):
    """A few words beside the field."""

    DEFAULT_CSS = "SearchLabel { width: 24; }"


class SearchBar(Horizontal):
    """Enter: next match; Up: previous; Esc: close."""

    DEFAULT_CSS = """
    SearchBar { height: 1; display: none; background: $surface; }
    SearchBar.-open { display: block; }
    SearchBar Input, SearchBar Input:focus { border: none; height: 1; padding: 0; width: 1fr;
                                             background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", show=False),
        Binding("up", "step(True)", show=False, priority=True),
        Binding("down", "step(False)", show=False, priority=True),
    ]

    class Sought(Message):
        """The words changed."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class Step(Message):
        """Go to the next or the previous match."""

        def __init__(self, backwards: bool) -> None:
            self.backwards = backwards
            super().__init__()

    class Closed(Message):
        """The search is over."""

    def compose(self) -> ComposeResult:
        """Label, field, count."""
        yield SearchLabel(id="search-where")
        yield Input(compact=True, id="search-field", select_on_focus=True)
        yield SearchLabel(id="search-count")

    def on_mount(self) -> None:
        """No blinking."""
        self.query_one(Input).cursor_blink = False

    @property
    def is_open(self) -> bool:
        """Whether it is shown."""
        return self.has_class("-open")

    def open(self, where: str) -> None:
        """Show it and take the keys; `where` names the pane searched."""
        label = f" search {where}: "
        shown = self.query_one("#search-where", SearchLabel)
        shown.styles.width = len(label)
        shown.show(Line([(label, "ui.key")]))
        self.add_class("-open")
        field = self.query_one(Input)
        field.focus()
        self.post_message(self.Sought(field.value))

    def close(self) -> None:
        """Hide it."""
        self.remove_class("-open")

    def tell(self, words: str) -> None:
        """Say how many matches there are."""
        self.query_one("#search-count", SearchLabel).show(Line((), [(f"{words} ", "ui.muted")]))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search as one types."""
        event.stop()
        if self.is_open:
            self.post_message(self.Sought(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        self.post_message(self.Step(False))

    def action_step(self, backwards: bool) -> None:
        """Up or Down."""
        self.post_message(self.Step(backwards))

    def action_close(self) -> None:
        """Esc."""
        self.post_message(self.Closed())
