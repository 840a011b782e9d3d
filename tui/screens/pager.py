"""Text to read above the live screen: a finding in full, the help, two texts that conflict."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tileport.tui import keymap
from tileport.tui.actions import ACTIONS, Place, is_letter
from tileport.tui.text.parts import Line, Part, Parts
from tileport.tui.widgets.dialog import Dialog
from tileport.tui.widgets.rows import RowList


class PagerScreen(ModalScreen[None]):
    """Rows of parts, wrapped to the width, scrolled by the keys; Esc closes."""

    DEFAULT_CSS = """
    PagerScreen { align: center middle; }
    PagerScreen Dialog { width: 104; max-width: 98%; max-height: 96%; }
    PagerScreen RowList { height: auto; max-height: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]
    place = Place.TEXT

    def __init__(self, title: str, rows: list[Parts], *, fold: bool = True) -> None:
        super().__init__()
        self._title = title
        self._given = rows
        self._fold = fold
        for binding in keymap.bindings(self.place):
            self._bindings.key_to_bindings.setdefault(binding.key, []).append(binding)

    def compose(self) -> ComposeResult:
        """The text."""
        with Dialog():
            yield RowList(id="text", has_cursor=False)

    def on_mount(self) -> None:
        """Fill in the title."""
        self.query_one(Dialog).name_it(self._title, "Esc closes")
        text = self.query_one(RowList)
        text.raised = True
        text.focus()
        self._lay_out()

    def on_resize(self) -> None:
        """Fold to the new width."""
        self._lay_out()

    def _lay_out(self) -> None:
        text = self.query_one(RowList)
        width = min(104, int(self.size.width * 0.98)) - 6
        rows: list[Line] = []
        for row in self._given:
            rows += [
                Line([(" ", ""), *line]) for line in (fold(row, width) if self._fold else [row])
            ]
        text.set_rows(rows)
        text.styles.height = max(1, min(len(rows), int(self.size.height * 0.96) - 2))

    def action_close(self) -> None:
        """Esc."""
        self.dismiss(None)

    def action_help(self) -> None:
        """Help above this text."""
        self.app.push_screen(HelpScreen())


class HelpScreen(PagerScreen):
    """All keys, from the registry."""

    place = Place.HELP

    def __init__(self) -> None:
        super().__init__("keys", help_rows())

    def action_help(self) -> None:
        """The key that opened it closes it."""
        self.dismiss(None)


def help_rows() -> list[Parts]:
    """The help text, made from the registry of actions."""
    rows: list[Parts] = [
        [("These act everywhere", "ui.title_focused")],
    ]
    everywhere = [a for a in ACTIONS if not all(is_letter(key) for key in a.keys)]
    letters = [a for a in ACTIONS if all(is_letter(key) for key in a.keys)]
    rows += [_help_row(a.shown, a.help) for a in everywhere]
    rows += ([], [("These act outside the editor (Esc leaves it)", "ui.title_focused")])
    rows += [_help_row(a.shown, a.help) for a in letters]
    rows += ([], [("In the editor", "ui.title_focused")])
    rows += [
        _help_row(keys, words)
        for keys, words in (
            ("^Z ^Y", "Undo and redo, changes made outside included."),
            ("^C ^X ^V", "Copy, cut and paste; in tmux the text also goes to its buffer."),
            ("Esc n", "Esc and a letter in quick succession do both: leave, then the letter."),
        )
    ]
    rows += ([], [("Marks", "ui.title_focused")])
    for letter, style, words in (
        ("W", "severity.wrong", "wrong: results can differ"),
        ("U", "severity.unsafe", "unsafe: memory or a race"),
        ("S", "severity.slow", "slow: costs time"),
        ("n", "severity.note", "note: harmless, explained"),
        ("\u25c6", "mark.declared", "what Python fixed is declared here"),
        ("\u25c7", "mark.implicit", "Python fixes something here without saying so"),
        ("\u25c7", "mark.missing", "it must be declared here (red)"),
    ):
        rows.append([(f"{letter:<12}", style), (words, "")])
    return rows


def _help_row(keys: str, words: str) -> Parts:
    return [(f"{keys:<12}", "ui.key"), (words, "")]


def fold(row: Parts, width: int) -> list[Parts]:
    """A row as several of at most `width` cells, broken at spaces where there are some."""
    lines: list[list[Part]] = [[]]
    used = 0
    for text, style in row:
        for word in _words(text):
            if used and used + cell_len(word.rstrip()) > width:
                lines.append([])
                used = 0
            pieces = [word[at : at + width] for at in range(0, len(word), width)] or [""]
            for piece in pieces[:-1]:
                lines[-1].append((piece, style))
                lines.append([])
                used = 0
            lines[-1].append((pieces[-1], style))
            used += cell_len(pieces[-1])
    return list(lines)


def _words(text: str) -> list[str]:
    words: list[str] = []
    start = 0
    for at, char in enumerate(text):
        if char == " " and at + 1 < len(text) and text[at + 1] != " ":
            words.append(text[start : at + 1])
            start = at + 1
    words.append(text[start:])
    return words
