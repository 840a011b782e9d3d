"""The variant picker: every specialization that was captured, to filter and choose from."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from tileport.tui import keymap
from tileport.tui.actions import Place
from tileport.tui.session_like import SessionLike
from tileport.tui.text.parts import Line, Part, fit
from tileport.tui.widgets.dialog import Dialog
from tileport.tui.widgets.rows import RowList
from tileport.verify.model import StageState, Variant
from tileport.verify.safe_text import one_line


class VariantsScreen(ModalScreen[str]):
    """Typing filters; arrows and Enter choose; returns the id, or "" for none."""

    DEFAULT_CSS = """
    VariantsScreen { align: center top; }
    VariantsScreen Dialog { width: 124; max-width: 98%; max-height: 80%; margin-top: 1; }
    VariantsScreen Input, VariantsScreen Input:focus { border: none; height: 1; padding: 0 1;
                                                       background: $panel; }
    VariantsScreen RowList { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", show=False),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("pageup", "move(-10)", show=False, priority=True),
        Binding("pagedown", "move(10)", show=False, priority=True),
    ]

    def __init__(self, session: SessionLike) -> None:
        super().__init__()
        self._session = session
        self._shown: list[Variant] = []
        for binding in keymap.bindings(Place.VARIANTS):
            self._bindings.key_to_bindings.setdefault(binding.key, []).append(binding)

    def compose(self) -> ComposeResult:
        """Filter and list."""
        with Dialog():
            yield Input(placeholder="filter: words of kernel, label, target, state", compact=True)
            yield RowList()

    def on_mount(self) -> None:
        """List all, the one in view chosen."""
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        rows = self.query_one(RowList)
        rows.can_focus = False
        rows.led = rows.raised = True
        self._list("")
        at = next((i for i, v in enumerate(self._shown) if v.id == self._session.view), 0)
        rows.move_to(at, tell=False)

    def on_resize(self, event: events.Resize) -> None:
        """Columns follow the width."""
        self._list(self.query_one(Input).value)

    def _list(self, words: str) -> None:
        wanted = words.lower().split()
        self._shown = [v for v in self._session.variants if self._has(v, wanted)]
        total = len(self._session.variants)
        self.query_one(Dialog).name_it("variants", f"{len(self._shown)} of {total}")
        rows = self.query_one(RowList)
        rows.say_when_empty("no variant has these words" if total else "nothing captured yet")
        made = [self._row(v) for v in self._shown]
        rows.set_rows(made)
        rows.styles.height = min(max(len(made), 1), max(3, int(self.size.height * 0.8) - 4))

    def _has(self, variant: Variant, wanted: list[str]) -> bool:
        text = " ".join(
            (
                variant.kernel.name,
                variant.label,
                variant.target,
                self._state(variant)[0],
                *variant.cases,
            )
        ).lower()
        return all(word in text for word in wanted)

    def _state(self, variant: Variant) -> tuple[str, str]:
        """The state of a variant in words, and its style."""
        for stage in ("declare", "compile"):
            result = self._session.result(variant.id, stage)
            if result is not None and result.state is StageState.FAILED:
                return f"{stage} failed", "state.failed"
        comparison = self._session.comparison(variant.id)
        result = self._session.result(variant.id, "diff")
        if comparison is None or result is None:
            return "pending", "verdict.pending"
        words = {"same": "same IR", "same-if": "same if", "different": "different"}
        word = words[comparison.verdict.value]
        style = f"verdict.{comparison.verdict.value.replace('-', '_')}"
        return word, "state.stale" if result.state is StageState.STALE else style

    def _row(self, variant: Variant) -> Line:
        word, style = self._state(variant)
        here = variant.id == self._session.view
        parts: list[Part] = [
            (" \u25b8 " if here else "   ", "ui.key"),
            (fit(one_line(variant.kernel.name), 24), "ui.strong" if here else ""),
            (fit(variant.target, 9), "ui.muted"),
            (one_line(variant.label), ""),
        ]
        if variant.via == "tune":
            parts.append(("  tuning candidate", "ui.faint"))
        if variant.candidates:
            parts.append((f"  +{variant.candidates} candidates", "ui.faint"))
        return Line(parts, [(f" {word} ", style)])

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as one types."""
        self._list(event.value)

    def on_input_submitted(self) -> None:
        """Enter chooses."""
        rows = self.query_one(RowList)
        self.dismiss(self._shown[rows.cursor].id if self._shown else "")

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A double click chooses."""
        self.dismiss(self._shown[event.row].id)

    def action_move(self, by: int) -> None:
        """Move in the list while the keys go to the filter."""
        rows = self.query_one(RowList)
        rows.move_to(rows.cursor + by, tell=False)

    def action_variants(self) -> None:
        """The key that opened it closes it."""
        self.dismiss("")

    def action_close(self) -> None:
        """Esc."""
        self.dismiss("")
