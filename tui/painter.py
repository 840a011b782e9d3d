"""Brings the live screen's widgets up to date with the session: one pass for any change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tileport.tui import keymap, view
from tileport.tui.actions import Place
from tileport.tui.layout import Layout
from tileport.tui.marks import gutter, of_python, of_rust
from tileport.tui.text.irview import IRRow, canonical_rows
from tileport.tui.text.parts import Line, Parts
from tileport.verify.model import Finding, StageState
from tileport.verify.safe_text import one_line

if TYPE_CHECKING:
    from tileport.tui.screens.board import Board
    from tileport.verify.port import Mark


class Painter:
    """Shows the session on a live screen. Widgets repaint only where what they show changed."""

    def __init__(self, screen: Board) -> None:
        self._screen = screen
        self._canonical: tuple[object, list[IRRow]] = (None, [])
        self._width = 0

    def all(self) -> None:
        """Everything."""
        screen = self._screen
        if not screen.is_mounted:
            return
        self.bars()
        self.findings()
        self.ir()
        self.marks()
        self.links()

    # ------------------------------------------------------------ bars

    def bars(self) -> None:
        """Header, strip, titles, tabs, keys."""
        screen = self._screen
        width = screen.size.width
        if screen.session is not None:
            screen.header.show(view.header(screen.session, width))
            screen.strip.show(view.strip(screen.session, width))
        else:
            name = one_line(screen.given)
            screen.header.show(Line([(" tileport ", "ui.brand"), (f" {name}", "ui.strong")]))
            screen.strip.show(Line([(" starting the session", "ui.faint")]))
        self.titles()
        self.keys()

    def titles(self) -> None:
        """The names and states of the panes, and the tabs."""
        screen = self._screen
        source = Path(screen.source_path).name if screen.source_path else "Python source"
        screen.pane("python").title.show(source, screen.source_note)
        words, style = screen.desk.note
        screen.pane("rust").title.show(Path(screen.port_path).name, [(words, style)])
        screen.pane("ir").title.show(f"Tile IR \u00b7 {screen.ir_mode_name}", self._ir_note())
        for name in ("python", "rust", "ir"):
            screen.pane(name).title.set_focused(screen.focused is screen.pane(name).content)
        if screen.layout_now is Layout.SMALL:
            edited = "*" if screen.desk.buffer.unsaved else ""
            count = len(screen.entries)
            titles = ["Python", f"Rust{edited}", "IR", f"Findings {count}" if count else "Findings"]
            screen.tabs.show_tabs(titles, screen.pane_index)

    def _ir_note(self) -> Parts:
        session = self._screen.session
        if session is None or not session.view:
            return ()
        comparison = session.comparison(session.view)
        if comparison is None:
            return ()
        result = session.result(session.view, "diff")
        if result is not None and result.state in {StageState.FAILED, StageState.SKIPPED}:
            return [("of the text before", "ui.faint")]
        words = {"same": "same", "same-if": "same if", "different": "different"}
        verdict = comparison.verdict.value
        return [(words[verdict], f"verdict.{verdict.replace('-', '_')}")]

    def keys(self) -> None:
        """The key bar, with the last notice at its right."""
        screen = self._screen
        notice, severity = screen.notice
        right: Parts = []
        width = screen.size.width
        if notice:
            style = "ui.notice" if severity.rank < 3 else "ui.strong"
            text = one_line(notice, max(20, width - 2))
            right = [(f" {text} ", style)]
        in_editor = screen.focused is screen.editor
        room = width - sum(len(text) for text, _ in right)
        screen.key_bar.show(Line(keymap.bar(Place.LIVE, in_editor=in_editor, width=room), right))

    # ------------------------------------------------------------ findings

    def findings(self) -> None:
        """The list and the detail beside it; the chosen entry stays chosen."""
        screen = self._screen
        if screen.session is None:
            return
        chosen = screen.chosen
        entries = view.entries(screen.session, screen.trouble)
        total = len(screen.session.variants)
        screen.entries = entries
        listing = screen.findings
        listing.say_when_empty("no findings" if screen.session.verdict().total else "")
        listing.set_rows([view.entry_line(entry, total) for entry in entries])
        if chosen is not None:
            same = [i for i, entry in enumerate(entries) if entry.key == chosen.key]
            if same and same[0] != listing.cursor:
                listing.move_to(same[0], tell=False)
        self.detail()

    def detail(self) -> None:
        """The chosen finding's two sides and remedy."""
        screen = self._screen
        height = max(1, screen.detail.size.height)
        screen.detail.show(*view.detail_lines(screen.chosen, height))

    # ------------------------------------------------------------ panes

    def ir(self) -> None:
        """The rows of the IR pane."""
        screen = self._screen
        if screen.session is None:
            screen.ir_pane.show_rows([], "")
            return
        if screen.ir_mode != "canonical":
            return  # Raw text comes by itself; see `Board.load_raw`.
        comparison = screen.session.comparison(screen.session.view)
        width = screen.ir_pane.size.width or screen.size.width
        if comparison is not self._canonical[0] or width != self._width:
            rows = canonical_rows(comparison, width) if comparison is not None else []
            self._canonical, self._width = (comparison, rows), width
        screen.ir_pane.show_rows(self._canonical[1], self._why_empty())
        screen.links.set_rows(self._canonical[1])

    def _why_empty(self) -> str:
        session = self._screen.session
        if session is None or session.report is None:
            return "" if not self._screen.trouble else "no capture, so nothing to compare with"
        for stage in session.stages:
            result = session.result(session.view, stage.name)
            if result is not None and result.state.value in {"failed", "skipped"}:
                return f"nothing to compare: {stage.name} {result.state.value}"
        return "comparing"

    def marks(self) -> None:
        """The gutters of both code panes."""
        screen = self._screen
        session = screen.session
        if session is None:
            return
        screen.links.set_texts(screen.judged_lines(), screen.editor.lines)
        found = session.findings(stale=True)
        variant = view.variant_in_view(session)
        python: Sequence[Mark] = ()
        rust: Sequence[Mark] = ()
        if variant is not None:
            if _is(variant.kernel.place.file, screen.source_path):
                python = of_python(variant, screen.source.text)
            rust = of_rust(session, variant, screen.judged)
        here = screen.source_path
        in_python = [(f.python.line, f) for f in found if f.python and _is(f.python.file, here)]
        in_rust = [(f.rust.line, f) for f in found if f.rust]
        screen.source.set_marks(gutter(in_python, python, lambda line: line - 1))
        screen.editor.set_marks(gutter(in_rust, rust, screen.links.rust_row))

    def links(self) -> None:
        """Light up what belongs to the line of the cursor in the focused pane."""
        screen = self._screen
        python: frozenset[int] = frozenset()
        rust: frozenset[int] = frozenset()
        rows: frozenset[int] = frozenset()
        focused = screen.finder.pane if screen.search_bar.is_open else screen.focused
        if focused is screen.source:
            rust, rows = screen.links.from_python(screen.source.cursor_location[0])
        elif focused is screen.editor:
            python, rows = screen.links.from_rust(screen.editor.cursor_location[0])
        elif focused is screen.ir_pane:
            python, rust = screen.links.from_ir(screen.ir_pane.cursor)
        elif screen.chosen is not None and screen.chosen.finding is not None:
            python, rust, rows = self._finding_lines(screen.chosen.finding)
        screen.source.set_linked(python)
        screen.editor.set_linked(rust)
        screen.ir_pane.set_linked(rows)

    def _finding_lines(
        self, finding: Finding
    ) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
        screen = self._screen
        session = screen.session
        comparison = session.comparison(session.view) if session is not None else None
        python = finding.python
        return (
            frozenset({python.line - 1})
            if python and _is(python.file, screen.source_path)
            else frozenset(),
            frozenset({screen.links.rust_row(finding.rust.line)}) if finding.rust else frozenset(),
            frozenset(screen.links.ir_rows_of(finding, comparison)),
        )


def _is(file: str, path: str | None) -> bool:
    """Whether a finding's file is the one shown, however it is written."""
    if path is None:
        return False
    return file == path or Path(path).parts[-len(Path(file).parts) :] == Path(file).parts
