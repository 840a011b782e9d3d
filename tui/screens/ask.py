"""A question with a few answers, above what is asked about."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tileport.tui.answers import Answer
from tileport.tui.text.parts import Line
from tileport.tui.widgets.dialog import Dialog
from tileport.tui.widgets.rows import RowList


class AskScreen(ModalScreen[str]):
    """Arrows and Enter choose; Esc takes the last answer, which changes nothing."""

    DEFAULT_CSS = """
    AskScreen { align: center middle; }
    AskScreen Dialog { width: 76; max-width: 94%; }
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
        """Text and answers."""
        with Dialog():
            yield RowList(id="question", has_cursor=False)
            yield RowList(id="answers")

    def on_mount(self) -> None:
        """Fill in the words."""
        self.query_one(Dialog).name_it(self._title)
        question = self.query_one("#question", RowList)
        question.can_focus = False
        question.raised = True
        text = [Line([(f" {line}", "")]) for line in self._text]
        question.set_rows([*text, Line()])
        question.styles.height = len(text) + 1
        answers = self.query_one("#answers", RowList)
        answers.set_rows(
            [
                Line([(f" {answer.words}", "")], [(f"{answer.shown} ", "ui.key")])
                for answer in self._answers
            ]
        )
        answers.styles.height = len(self._answers)
        answers.raised = True
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
