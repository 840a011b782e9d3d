"""Brings the panes of the live screen to a place: a finding, a kernel, a line of another pane."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tileport.tui import view
from tileport.tui.files import open_text

if TYPE_CHECKING:
    from tileport.tui.screens.board import Board
    from tileport.verify.model import Place
    from tileport.verify.operator import Operator


class Guide:
    """Moves cursors and views; the painter then shows what belongs together."""

    def __init__(self, screen: Board) -> None:
        self._screen = screen

    def go_to_chosen(self) -> None:
        """All panes go to the place of the chosen finding, in a variant that has it."""
        screen = self._screen
        session = screen.session
        finding = screen.chosen.finding if screen.chosen is not None else None
        if finding is None or session is None:
            return
        if finding.variants and session.view not in finding.variants:
            session.look_at(finding.variants[0])
            self.follow_view()
            screen.painter.all()
        if finding.python is not None and finding.python.line:
            self._go_to_python(finding.python)
        if finding.rust is not None and finding.rust.line:
            row = screen.links.rust_row(finding.rust.line)
            screen.editor.go_to(row, max(0, finding.rust.column - 1))
        rows = screen.links.ir_rows_of(finding, session.comparison(session.view))
        if rows and screen.ir_mode == "canonical":
            screen.ir_pane.move_to(rows[0], tell=False, center=True)
        screen.painter.links()

    def _go_to_python(self, place: Place) -> None:
        path = resolve(place.file, self._screen.operator)
        if path != self._screen.source_path:
            self.show_source(path)
        self._screen.source.go_to(place.line - 1, max(0, place.column - 1))

    def show_source(self, path: str) -> None:
        """Show a Python file; what cannot be shown is said in the title."""
        screen = self._screen
        opened = open_text(path)
        if opened.text is None:
            screen.source_note = [("deleted on disk", "ui.notice")]
            return
        row = screen.source.cursor_location[0] if path == screen.source_path else 0
        screen.source_path = path
        screen.source_note = [(opened.problem, "ui.notice")] if opened.problem else []
        if opened.text != screen.source.text:
            screen.source.show_text(opened.text)
            screen.source.go_to(row)

    def follow_view(self, *, untouched: bool = False) -> None:
        """The source pane shows the kernel of the variant in view.

        With `untouched` it stays where the person has moved it.
        """
        screen = self._screen
        variant = view.variant_in_view(screen.session) if screen.session is not None else None
        if variant is None:
            return
        path = resolve(variant.kernel.place.file, screen.operator)
        other = path != screen.source_path
        if other:
            self.show_source(path)
        at = screen.source.cursor_location[0] + 1
        inside = variant.kernel.place.line <= at <= variant.kernel.end_line
        if not inside and (other or at == 1 or not untouched):
            screen.source.go_to(variant.kernel.place.line - 1)
        if screen.ir_mode != "canonical":
            screen.load_raw()

    def follow(self, pane: object) -> None:
        """Light up the lines that belong to the cursor of `pane`, and bring one into view."""
        screen = self._screen
        screen.painter.links()
        for area in (screen.source, screen.editor):
            if area is not pane and area.linked and not area.shows_any(area.linked):
                area.reveal(min(area.linked))
        rows = screen.ir_pane.linked
        if screen.ir_pane is not pane and rows and not screen.ir_pane.shows_any(rows):
            screen.ir_pane.reveal(min(rows), center=True)


def resolve(file: str, operator: Operator) -> str:
    """The path of a file named in a place: as it is, or from the workspace root."""
    path = Path(file)
    return str(path if path.is_absolute() else Path(operator.workspace) / path)
