"""The widgets of the live session and what keeps them current; what keys do is in `live`."""

from __future__ import annotations

from typing import Literal

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import TextArea

from tileport.tui import keymap, view
from tileport.tui.actions import Place
from tileport.tui.answers import Answer
from tileport.tui.desk import Desk
from tileport.tui.files import Opened
from tileport.tui.finder import Finder
from tileport.tui.guide import Guide
from tileport.tui.layout import Layout, choose_layout, findings_height
from tileport.tui.links import Links
from tileport.tui.messages import Feed, SessionTold
from tileport.tui.painter import Painter
from tileport.tui.screens import later
from tileport.tui.session_like import MakeSession, SessionLike
from tileport.tui.text.irview import raw_rows
from tileport.tui.text.parts import Parts
from tileport.tui.widgets.bars import DetailLines, Header, KeyBar, StageStrip, TabLine
from tileport.tui.widgets.panes import FindingsList, IRPane, Pane, RustEditor, SourcePane
from tileport.tui.widgets.rows import RowList
from tileport.tui.widgets.search_bar import SearchBar
from tileport.verify import session_events as told
from tileport.verify.errors import TileportError
from tileport.verify.model import Severity
from tileport.verify.operator import Operator

#: Seconds after the last key until the session gets the text.
REST = 0.12
_NOTICE_SECONDS = 8.0
_RAW_NAMES = {
    "canonical": "canonical, by line",
    "reference": "raw, of Python",
    "port": "raw, of the port",
}
IRMode = Literal["canonical", "reference", "port"]
IR_MODES: tuple[IRMode, ...] = ("canonical", "reference", "port")


class Board(Screen[None]):
    """The main screen without its actions.

    Args:
        operator: What is open.
        source: The Python source as read before the app opened.
        port: The Rust port, likewise.
        make_session: Makes the session once the first paint is out.
    """

    DEFAULT_CSS = """
    Board { background: $background; layout: vertical; }
    #body { height: 1fr; layout: horizontal; }
    #pane-python VerticalRule { display: none; }
    #bottom { layout: horizontal; }
    #bottom FindingsList { width: 3fr; }
    #bottom DetailLines { width: 2fr; }
    TabLine { display: none; }
    Board.-medium #body { layout: grid; grid-size: 2 2; grid-rows: 3fr 2fr; }
    Board.-medium #pane-ir { column-span: 2; }
    Board.-medium #pane-ir VerticalRule { display: none; }
    Board.-medium DetailLines { display: none; }
    Board.-small TabLine { display: block; }
    Board.-small VerticalRule { display: none; }
    Board.-small PaneTitle { display: none; }
    Board.-small DetailLines { display: none; }
    """

    AUTO_FOCUS = ""

    def __init__(
        self, operator: Operator, source: Opened, port: Opened, make_session: MakeSession
    ) -> None:
        super().__init__()
        self.operator = operator
        self._make_session = make_session
        self._opened = (source, port)
        self.session: SessionLike | None = None
        self.header = Header(id="header")
        self.tabs = TabLine(id="tabs")
        self.strip = StageStrip(id="strip")
        self.key_bar = KeyBar(id="keys")
        self.search_bar = SearchBar(id="search")
        self.source = SourcePane()
        self.editor = RustEditor()
        self.ir_pane = IRPane()
        self.findings = FindingsList()
        self.detail = DetailLines(id="detail")
        self.desk = Desk(self.editor, self)
        self.links = Links()
        self.painter = Painter(self)
        self.finder = Finder()
        self.guide = Guide(self)
        self.layout_now = Layout.WIDE
        self.pane_index = 1
        self.entries: list[view.Entry] = []
        self.trouble = ""
        #: Whether a question is open.
        self.asking = False
        self.notice: tuple[str, Severity] = ("", Severity.NOTE)
        self.source_path = operator.source
        self.source_note: Parts = ()
        self.ir_mode: IRMode = "canonical"
        #: The Rust text that the results are about.
        self.judged = ""
        self._line_count = 0
        self._resting: Timer | None = None
        self._notice_timer: Timer | None = None
        for binding in keymap.bindings(Place.LIVE):
            self._bindings.key_to_bindings.setdefault(binding.key, []).append(binding)

    def compose(self) -> ComposeResult:
        """All widgets; which of them show depends on the size."""
        yield self.header
        yield self.tabs
        with Container(id="body"):
            yield Pane(self.source, id="pane-python")
            yield Pane(self.editor, id="pane-rust")
            yield Pane(self.ir_pane, id="pane-ir")
        yield self.strip
        with Horizontal(id="bottom"):
            yield self.findings
            yield self.detail
        yield self.search_bar
        yield self.key_bar

    # ------------------------------------------------------------ life

    def on_mount(self) -> None:
        """Show the files; everything else comes by events."""
        source, port = self._opened
        self.source.show_text(source.text or "")
        self.editor.show_text(port.text or "")
        self.desk.buffer.opened(port.text)
        if source.problem:
            self.source_note = [(source.problem, "ui.notice")]
        if not port.exact:
            self.desk.frozen = port.problem
            self.editor.read_only = True
        (self.findings if self.editor.read_only else self.editor).focus()
        self._arrange()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.source.start_highlighting()
        self.editor.start_highlighting()
        self._run_session()

    @work(group="session")
    async def _run_session(self) -> None:
        """Start the session; what it finds comes as events."""
        feed = Feed(self)
        try:
            session = self._make_session(feed.notify)
            self.session = session
            await session.start()
        except TileportError as error:
            self.trouble = error.line()
            # Without a session nothing can be judged or saved.
            self.desk.frozen = self.desk.frozen or "no session: read-only"
            self.editor.read_only = True
            self.say(error.line(), Severity.WRONG)
            self.painter.all()
            return
        if session.read_only and not self.desk.frozen:
            holder = session.lock_holder
            who = f"pid {holder.pid}" if holder else "another session"
            where = f" on {holder.host} since {holder.since}" if holder else ""
            self.desk.frozen = f"read-only: {who} has it"
            self.editor.read_only = True
            self.say(f"{who}{where} has the port open; nothing is saved here", Severity.SLOW)
        self.desk.session = session
        text = session.disk_text
        if not self.desk.frozen and text != self.desk.buffer.base:
            await self.desk.changed_outside(text)
        elif self.desk.buffer.unsaved:
            self.desk.typed()  # What was typed while the session started.
        self.painter.all()
        await self.desk.recover()

    async def close_session(self) -> None:
        """End the session; what is unsaved is kept in its journal."""
        if self._resting is not None:
            self._resting.stop()
            self._flush()
        if self.session is not None:
            await self.session.close()

    @on(SessionTold)
    async def _told(self, message: SessionTold) -> None:
        for event in message.events:
            await self._hear(event)
        self.painter.all()

    async def _hear(self, event: told.Event) -> None:
        session = self.session
        if session is None:
            return
        match event:
            case told.CaptureDone():
                self.trouble = ""
                self.guide.follow_view(untouched=True)
            case told.CaptureFailed():
                self.trouble = event.line
            case told.GenerationStarted():
                self.desk.generations.setdefault(event.generation, session.text or "")
                for old in [g for g in self.desk.generations if g < event.generation - 4]:
                    del self.desk.generations[old]
            case told.StageChanged():
                if event.result.stage in {"compile", "diff"} and event.result.milliseconds:
                    self.judged = self.desk.generations.get(event.generation, self.judged)
            case told.GenerationDone():
                self.judged = self.desk.generations.get(event.generation, self.judged)
                if self.ir_mode != "canonical":
                    self.load_raw()
            case told.FileChanged(role="port"):
                # Asking may take long; events must go on meanwhile.
                self._port_changed(event.text)
            case told.FileChanged(role="source"):
                if event.path == self.source_path:
                    self.guide.show_source(event.path)
            case told.Notice():
                self.say(event.text, event.severity)
            case _:
                pass

    @work(group="file")
    async def _port_changed(self, text: str | None) -> None:
        await self.desk.changed_outside(text)

    def judged_lines(self) -> list[str]:
        """The lines of the Rust text the results are about."""
        return self.judged.split(self.editor.code.newline)

    # ------------------------------------------------------------ what the desk and others ask

    @property
    def given(self) -> str:
        """The operator as it was typed."""
        return self.operator.given

    @property
    def port_path(self) -> str:
        """The Rust file."""
        return self.operator.port

    @property
    def ir_mode_name(self) -> str:
        """What the IR pane shows, in words."""
        return _RAW_NAMES[self.ir_mode]

    @property
    def chosen(self) -> view.Entry | None:
        """The entry under the cursor of the findings list."""
        at = self.findings.cursor
        return self.entries[at] if 0 <= at < len(self.entries) else None

    def pane(self, name: str) -> Pane:
        """A pane by name: python, rust, ir."""
        return self.query_one(f"#pane-{name}", Pane)

    def say(self, text: str, severity: Severity = Severity.NOTE) -> None:
        """Show a line in the key bar for some seconds."""
        self.notice = (text, severity)
        if self._notice_timer is not None:
            self._notice_timer.stop()
        self._notice_timer = self.set_timer(_NOTICE_SECONDS, self._unsay)
        self.painter.keys()

    def _unsay(self) -> None:
        self.notice = ("", Severity.NOTE)
        self.painter.keys()

    async def ask(self, title: str, lines: list[str], answers: list[Answer]) -> str:
        """Ask a question above this screen."""
        self.asking = True
        try:
            return await self.app.push_screen_wait(later.ask(title, lines, answers)) or ""
        finally:
            self.asking = False

    async def read(self, title: str, rows: list[Parts]) -> None:
        """Show text until it is closed."""
        await self.app.push_screen_wait(later.pager(title, rows, fold=False))

    def changed(self) -> None:
        """The state of the text changed."""
        self.painter.all()

    # ------------------------------------------------------------ typing

    @on(TextArea.Changed)
    def _typed(self, event: TextArea.Changed) -> None:
        if event.text_area is not self.editor:
            return
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(REST, self._rested)
        self.painter.titles()
        if len(self.editor.lines) != self._line_count:
            # Marks move with their lines; the rest can wait for the rest.
            self._line_count = len(self.editor.lines)
            self.painter.marks()

    def _rested(self) -> None:
        self._flush()
        self.painter.all()

    def _flush(self) -> None:
        """Hand what was typed to the session now."""
        if self._resting is not None:
            self._resting.stop()
            self._resting = None
            self.desk.typed()

    @on(TextArea.SelectionChanged)
    def _cursor_moved(self, event: TextArea.SelectionChanged) -> None:
        if event.text_area is self.focused:
            self.guide.follow(event.text_area)

    @on(RowList.Moved)
    def _row_moved(self, event: RowList.Moved) -> None:
        if event.rows is self.findings:
            self.painter.detail()
            self.guide.go_to_chosen()
        elif event.rows is self.focused:
            self.guide.follow(event.rows)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Titles, keys and links follow the focus."""
        if event.widget in self.panes:
            self.pane_index = self.panes.index(event.widget)
            self._arrange()
        self.painter.titles()
        self.painter.keys()
        self.painter.links()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """The focus may go to no widget at all."""
        self.painter.titles()
        self.painter.keys()

    @work(exclusive=True, group="raw")
    async def load_raw(self) -> None:
        """Show the raw IR of one side; what there is not is said in its place."""
        session, mode = self.session, self.ir_mode
        if session is None or mode == "canonical":
            return
        try:
            rows = raw_rows(await session.ir(session.view, mode), mode)
            empty = ""
        except TileportError as error:
            rows, empty = [], error.line()
        if self.ir_mode == mode:
            self.ir_pane.show_rows(rows, empty)
            self.links.set_rows(rows)

    # ------------------------------------------------------------ arrangement

    def on_resize(self, event: events.Resize) -> None:
        """Arrange for the new size."""
        self._arrange()
        self.painter.all()

    def _arrange(self) -> None:
        size = self.size or self.app.size
        self.layout_now = choose_layout(size.width, size.height)
        for layout in Layout:
            self.set_class(layout is self.layout_now, layout.value)
        small = self.layout_now is Layout.SMALL
        for index, name in enumerate(("python", "rust", "ir")):
            self.pane(name).display = not small or index == self.pane_index
        body, bottom = self.query_one("#body"), self.query_one("#bottom")
        listing = small and self.pane_index == 3
        body.display = not listing
        if listing:
            bottom.styles.height = "1fr"
        else:
            bottom.styles.height = 1 if small else findings_height(size.height)

    @property
    def panes(self) -> tuple[Widget, ...]:
        """The four places the keys can go to, in the order of their numbers."""
        return (self.source, self.editor, self.ir_pane, self.findings)

    def show_pane(self, index: int) -> None:
        """Give the keys to a pane; in the small arrangement it is the one shown."""
        self.pane_index = index
        self._arrange()
        self.set_focus(self.panes[index])
        self.painter.titles()
