"""A question with a few answers, above what is asked about."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from tileport.tui.answers import Answer
from tileport.tui.text.parts import Line
from tileport.tui.widgets.bars import PaneTitle
from tileport.tui.widgets.rows import RowList


class AskScreen(ModalScreen[str]):
    """Arrows and Enter choose; Esc takes the last answer, which changes nothing."""

    DEFAULT_CSS = """
    AskScreen { align: center middle; }
    AskScreen > Vertical { width: 76; max-width: 94%; height: auto; background: $background; }
    AskScreen RowList { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "last", show=False)]

    def __init__(self, title: str, lines: list[str], answers: list[Answer]) -> None:
        super().__init__()
        self._title = title
        self._text = lines
        self._answers = answers
        for answer in answers:
            if answer.key:
                self._bindings.bind(answer.key, f"take('{answer.value}')", show=False)

    def compose(self) -> ComposeResult:
        """Title, text, answers."""
        with Vertical():
            yield PaneTitle()
            yield RowList(id="question", has_cursor=False)
            yield RowList(id="answers")

    def on_mount(self) -> None:
        """Fill in the words."""
        title = self.query_one(PaneTitle)
        title.show(self._title)
        title.set_focused(True)
        question = self.query_one("#question", RowList)
        question.can_focus = False
        text = [Line([(f"  {line}", "")]) for line in self._text]
        question.set_rows([Line(), *text, Line()])
        question.styles.height = len(text) + 2
        answers = self.query_one("#answers", RowList)
        answers.set_rows(
            [
                Line([(f"  {answer.words}", "")], [(f"{answer.shown}  ", "ui.key")])
                for answer in self._answers
            ]
        )
        answers.styles.height = len(self._answers) + 1
        answers.focus()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """An answer was chosen."""
        event.stop()
        self.dismiss(self._answers[event.row].value)

    def action_take(self, value: str) -> None:
        """An answer's own key."""
        self.dismiss(value)

    def action_last(self) -> None:
        """Esc."""
        self.dismiss(self._answers[-1].value)
