"""What Python fixed for the variant in view, and where the Rust declares it (F3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from tileport.tui import keymap
from tileport.tui.actions import Place
from tileport.tui.screens.pager import HelpScreen, PagerScreen
from tileport.tui.text.parts import Line, Part, Parts, fit
from tileport.tui.widgets.bars import KeyBar, PaneTitle
from tileport.tui.widgets.rows import RowList
from tileport.verify.model import Variant
from tileport.verify.safe_text import one_line

if TYPE_CHECKING:
    from tileport.verify.port import FactRow

_HEADS = ("parameter", "Python fixed", "from", "Rust declares", "where", "state")
_MOST = (18, 44, 18, 40, 7, 14)
_MARKS = {
    "declared": ("\u25c6", "mark.declared"),
    "inferred": ("\u25c7", "mark.implicit"),
    "missing": ("\u25c7", "mark.missing"),
    "contradicted": ("\u2716", "mark.missing"),
}


class SpecializationScreen(ModalScreen[int]):
    """A table of facts; Enter goes to the Rust line of one. Returns it, or 0."""

    DEFAULT_CSS = """
    SpecializationScreen { background: $background; }
    SpecializationScreen > Vertical { height: 1fr; background: $background; }
    SpecializationScreen #heads { height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

    def __init__(self, variant: Variant | None, facts: tuple[FactRow, ...]) -> None:
        super().__init__()
        self._variant = variant
        self._facts = facts
        for binding in keymap.bindings(Place.FACTS):
            self._bindings.key_to_bindings.setdefault(binding.key, []).append(binding)

    def compose(self) -> ComposeResult:
        """Title, heads, table, keys."""
        with Vertical():
            yield PaneTitle()
            heads = RowList(id="heads", has_cursor=False)
            heads.can_focus = False
            yield heads
            yield RowList(id="facts")
        yield KeyBar()

    def on_mount(self) -> None:
        """Fill in the title."""
        title = self.query_one(PaneTitle)
        name = "specialization"
        if self._variant is not None:
            name += f" of {one_line(self._variant.kernel.name)}  {one_line(self._variant.label)}"
            name += f" \u00b7 {self._variant.target}"
        missing = sum(fact.state in {"missing", "contradicted"} for fact in self._facts)
        note: Parts = [(f"{missing} not declared", "mark.missing")] if missing else []
        title.show(name, note)
        title.set_focused(True)
        table = self.query_one("#facts", RowList)
        table.say_when_empty("nothing captured yet")
        table.focus()
        self._lay_out()

    def on_resize(self, event: events.Resize) -> None:
        """Columns follow the width."""
        self._lay_out()

    def _lay_out(self) -> None:
        cells = [self._cells(fact) for fact in self._facts]
        widths = [
            min(most, max([len(head), *(len(row[i]) for row in cells)])) + 2
            for i, (head, most) in enumerate(zip(_HEADS, _MOST, strict=True))
        ]
        # Where the table is too wide, the long columns give way, never the state.
        while sum(widths) + 4 > self.size.width and max(widths[1], widths[3]) > 14:
            widths[1 if widths[1] >= widths[3] else 3] -= 1
        heads: list[Part] = [("    ", "")]
        heads += [(fit(h, w), "ui.muted") for h, w in zip(_HEADS, widths, strict=True)]
        self.query_one("#heads", RowList).set_rows([Line(heads)])
        rows: list[Line] = []
        for fact, row in zip(self._facts, cells, strict=True):
            mark, style = _MARKS[fact.state]
            letter = fact.severity.letter if fact.severity else " "
            severity = f"severity.{fact.severity.value}" if fact.severity else ""
            parts: list[Part] = [(f" {letter}", severity), (f"{mark} ", style)]
            for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
                parts.append((fit(cell, width), style if i == 5 else "ui.muted" if i == 2 else ""))
            rows.append(Line(parts))
        self.query_one("#facts", RowList).set_rows(rows)
        keys = keymap.bar(Place.FACTS, in_editor=False, width=self.size.width)
        self.query_one(KeyBar).show(
            Line(
                [
                    (" Esc", "ui.key"),
                    (" close  ", "ui.muted"),
                    (" Enter", "ui.key"),
                    (" go to the Rust line  ", "ui.muted"),
                    *keys,
                ]
            )
        )

    def _cells(self, fact: FactRow) -> tuple[str, ...]:
        return (
            one_line(fact.parameter),
            one_line(fact.fact),
            one_line(fact.origin),
            one_line(fact.declared_as) or "-",
            f"rs {fact.line}" if fact.line else "-",
            fact.state,
        )

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Go to the Rust line of the fact."""
        self.dismiss(self._facts[event.row].line or 0)

    def action_next(self) -> None:
        """The next fact that is not declared."""
        table = self.query_one("#facts", RowList)
        order = [*range(table.cursor + 1, len(self._facts)), *range(table.cursor + 1)]
        for at in order:
            if self._facts[at].severity is not None:
                table.move_to(at)
                return

    def action_explain(self) -> None:
        """The fact in full."""
        table = self.query_one("#facts", RowList)
        if not self._facts:
            return
        names = ("parameter", "Python fixed", "from", "Rust declares", "where", "state")
        cells = self._cells(self._facts[table.cursor])
        rows: list[Parts] = [
            [(f"{name:<14}", "ui.muted"), (cell, "")]
            for name, cell in zip(names, cells, strict=True)
        ]
        self.app.push_screen(PagerScreen("a fact of the specialization", rows))

    def action_help(self) -> None:
        """All keys."""
        self.app.push_screen(HelpScreen())

    def action_facts(self) -> None:
        """The key that opened it closes it."""
        self.dismiss(0)

    def action_close(self) -> None:
        """Esc."""
        self.dismiss(0)
