"""What the keys of the live session do. The registry in `tileport.tui.actions` names them all."""

from __future__ import annotations

import os
from typing import Protocol, cast

from textual import on, work
from textual.widget import Widget

from tileport.tui import view
from tileport.tui.actions import Place
from tileport.tui.external import editor_command
from tileport.tui.keymap import letter_action
from tileport.tui.layout import Layout
from tileport.tui.screens import later
from tileport.tui.screens.board import IR_MODES, Board
from tileport.tui.widgets.bars import TabLine
from tileport.tui.widgets.panes import RustEditor
from tileport.tui.widgets.rows import RowList
from tileport.tui.widgets.search_bar import SearchBar
from tileport.verify.errors import TileportError
from tileport.verify.model import Severity

_NAMES = ("Python", "Rust", "IR", "findings")


class Terminal(Protocol):
    """What the app does with the terminal."""

    async def run_outside(self, command: list[str]) -> str:
        """Give the terminal to a command; "" or what went wrong."""
        ...

    def redraw(self) -> None:
        """Paint everything again."""
        ...


class LiveScreen(Board):
    """The main screen."""

    #: Whether a finding was gone to yet; the first `next` goes to the first one.
    _visited = False

    # ------------------------------------------------------------ the file

    @work(group="save", exclusive=True)
    async def action_save(self) -> None:
        """Save the Rust file."""
        self._flush()
        await self.desk.save()

    @work(group="save", exclusive=True)
    async def action_undo_save(self) -> None:
        """Undo the last save."""
        self._flush()
        await self.desk.undo_save()

    @work(group="quit", exclusive=True)
    async def action_quit(self) -> None:
        """Leave; unsaved text is asked about."""
        self._flush()
        if await self.desk.may_quit():
            await self.close_session()
            self.app.exit()

    @work(group="open", exclusive=True)
    async def action_open(self) -> None:
        """Open the file of the focused pane in the person's own editor."""
        python = self.focused is self.source
        path = self.source_path if python else self.port_path
        if path is None:
            self.say("there is no file to open here", Severity.SLOW)
            return
        area = self.source if python else self.editor
        if not python and self.desk.buffer.missing and not self.desk.buffer.unsaved:
            self.say("the port file does not exist yet", Severity.NOTE)
        try:
            command = editor_command(path, area.cursor_location[0] + 1, os.environ)
        except TileportError as error:
            self.say(error.line(), Severity.SLOW)
            return
        self._flush()
        trouble = await cast(Terminal, self.app).run_outside(command)
        if trouble:
            self.say(trouble, Severity.SLOW)
        if python:
            self.guide.show_source(path)

    # ------------------------------------------------------------ findings and variants

    def action_next(self) -> None:
        """The next finding, around the end."""
        if not self.entries:
            self.say("no findings")
            return
        start = self.findings.cursor
        order = [*range(start + 1, len(self.entries)), *range(start + 1)]
        at = order[0] if self._visited else start
        self._visited = True
        self.findings.move_to(at, tell=False)
        self.painter.detail()
        self.guide.go_to_chosen()

    def action_explain(self) -> None:
        """The chosen finding in full."""
        entry = self.chosen
        if entry is None:
            self.say("no finding is chosen")
        elif entry.finding is not None:
            variants = self.session.variants if self.session is not None else ()
            rows = view.full_text(entry.finding, variants)
            self.app.push_screen(later.pager("a finding", rows))
        elif entry.result is not None:
            title = f"{entry.result.stage} {entry.result.state.value}"
            self.app.push_screen(later.pager(title, [[(entry.result.reason, "")]]))

    @on(RowList.Chosen, "#findings")
    def _finding_chosen(self) -> None:
        """Enter on a finding goes to its place and into the editor."""
        self.guide.go_to_chosen()
        if self.chosen is not None and self.chosen.finding is not None:
            self.show_pane(1)

    @on(RowList.Chosen, "#ir")
    def _row_chosen(self, event: RowList.Chosen) -> None:
        """Enter on an IR row goes to its lines."""
        python, rust = self.links.from_ir(event.row)
        if python:
            self.source.go_to(min(python))
        if rust:
            self.editor.go_to(min(rust))
            self.show_pane(1)

    def action_variants(self) -> None:
        """Choose the variant in view."""
        if self.session is not None:
            self.app.push_screen(later.variants(self.session), self._variant_chosen)

    def _variant_chosen(self, chosen: str | None) -> None:
        if chosen and self.session is not None:
            self.session.look_at(chosen)
            self.guide.follow_view()
            self.painter.all()

    def action_facts(self) -> None:
        """The specialization of the variant in view."""
        if self.session is None:
            return
        variant = view.variant_in_view(self.session)
        facts = self.session.facts(variant.id) if variant is not None else ()
        self.app.push_screen(later.specialization(variant, facts), self._fact_chosen)

    def _fact_chosen(self, line: int | None) -> None:
        if line:
            self.editor.go_to(self.links.rust_row(line))
            self.show_pane(1)

    def action_ir_view(self) -> None:
        """The next view of the IR."""
        self.ir_mode = IR_MODES[(IR_MODES.index(self.ir_mode) + 1) % len(IR_MODES)]
        self.ir_pane.show_rows([], "")
        if self.ir_mode == "canonical":
            self.painter.all()
        else:
            self.load_raw()
            self.painter.titles()

    # ------------------------------------------------------------ where the keys go

    def action_edit(self) -> None:
        """Go to the editor."""
        self.show_pane(1)

    def action_pane_1(self) -> None:
        """Go to the Python source."""
        self.show_pane(0)

    def action_pane_2(self) -> None:
        """Go to the Rust port."""
        self.show_pane(1)

    def action_pane_3(self) -> None:
        """Go to the IR."""
        self.show_pane(2)

    def action_pane_4(self) -> None:
        """Go to the findings."""
        self.show_pane(3)

    @on(TabLine.Picked)
    def _tab_picked(self, event: TabLine.Picked) -> None:
        self.show_pane(event.index)

    @on(RustEditor.Leave)
    async def _left(self, event: RustEditor.Leave) -> None:
        """Esc in the editor; with a letter, that letter acts as well."""
        if self.layout_now is Layout.SMALL:
            self.set_focus(None)
        else:
            self.set_focus(self.findings)
        if event.key:
            action = letter_action(Place.LIVE, event.key)
            if action is not None:
                await self.run_action(action.name)

    def action_redraw(self) -> None:
        """Draw the whole screen again."""
        cast(Terminal, self.app).redraw()

    def action_help(self) -> None:
        """All keys."""
        self.app.push_screen(later.help_screen())

    # ------------------------------------------------------------ search

    def action_search(self) -> None:
        """Search in the focused pane."""
        if self.search_bar.is_open:
            return
        index = self.pane_index
        self.finder.begin(self.panes[index])
        self.key_bar.display = False
        self.search_bar.open(_NAMES[index])

    @on(SearchBar.Sought)
    def _sought(self, event: SearchBar.Sought) -> None:
        self.search_bar.tell(self.finder.seek(event.text))

    @on(SearchBar.Step)
    def _stepped(self, event: SearchBar.Step) -> None:
        self.finder.step(backwards=event.backwards)

    @on(SearchBar.Closed)
    def _search_closed(self) -> None:
        self.search_bar.close()
        self.key_bar.display = True
        self.finder.end()
        pane: Widget = self.finder.pane or self.editor
        self.set_focus(pane)
