"""A session: one operator, its port, and everything known about the two, kept current."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tileport.verify.config import Config
from tileport.verify.diff.model import Comparison
from tileport.verify.errors import TileportError
from tileport.verify.files import decode
from tileport.verify.following import Change, Following, read_or_none
from tileport.verify.journal import pinned_blobs
from tileport.verify.keeper import PortKeeper, PortMoved, Recovered
from tileport.verify.ladder.engine import Ladder
from tileport.verify.ladder.listing import listing
from tileport.verify.ladder.passes import HEADLESS, LIVE, Pace
from tileport.verify.ladder.recorded import recorded_blobs
from tileport.verify.ladder.servers import Servers
from tileport.verify.ladder.stages import StageSpec, stages_until
from tileport.verify.ladder.verdict import Verdict
from tileport.verify.lock import LockHolder
from tileport.verify.model import CaptureReport, Finding, Severity, StageResult, Variant
from tileport.verify.operator import Operator
from tileport.verify.port import FactRow
from tileport.verify.session_events import (
    CaptureDone,
    Event,
    FileChanged,
    GenerationDone,
    Notice,
)
from tileport.verify.store import Store, is_disk_full
from tileport.verify.workspace import StateFolder, open_state

__all__ = ["LockHolder", "PortMoved", "Recovered", "Session"]

_LOG = logging.getLogger(__name__)

#: Seconds that the end of a session waits for a save.
_LAST_SAVE = 0.5


class Session:
    """Keeps the ladder of one operator current and tells what changes.

    All methods are called on one event loop; events are given to `notify` on it.

    Args:
        operator: From `resolve_operator`.
        config: From `load_config`; replace fields for command line options.
        notify: Called with each event.
        servers: Servers shared with other sessions, which the caller closes; else own ones.
        live: Watch files, take the lock, keep the journal; False for one check, which reads only.
        until: Name of the last stage to run; None for all.
        pace: When to do what; None for what suits `live`.
    """

    def __init__(
        self,
        operator: Operator,
        config: Config,
        *,
        notify: Callable[[Event], None] = lambda event: None,
        servers: Servers | None = None,
        live: bool = True,
        until: str | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.operator = operator
        self.config = config
        self._notify = notify
        self._own_servers = servers is None
        self._servers = servers
        self._live = live
        self._stages = stages_until(until)
        self._pace = pace or (LIVE if live else HEADLESS)
        self._source_text: str | None = None
        self._opened: _Opened | None = None
        self._idle: asyncio.Task[None] | None = None
        self._warmed = False
        self._turn = asyncio.Lock()
        self._closed = False

    # ------------------------------------------------------------ what is known

    @property
    def stages(self) -> tuple[StageSpec, ...]:
        """The stages this session runs, in order."""
        return self._stages

    @property
    def generation(self) -> int:
        """Grows by one with every change of the port or of the Python side."""
        return self._opened.ladder.generation if self._opened else 0

    @property
    def text(self) -> str | None:
        """The Rust text of the current generation; None where there is no port."""
        return self._opened.ladder.text if self._opened else None

    @property
    def disk_text(self) -> str | None:
        """What the port file held when the session last saw it; None where there was none."""
        return self._opened.keeper.text if self._opened else None

    @property
    def source_text(self) -> str | None:
        """The operator's Python source as last seen."""
        return self._source_text

    @property
    def unsaved(self) -> bool:
        """Whether `text` is not what the port file holds."""
        return self.text != self.disk_text

    @property
    def read_only(self) -> bool:
        """Whether saving raises: another session has the port, or this is a check."""
        return self._opened.keeper.read_only if self._opened else not self._live

    @property
    def lock_holder(self) -> LockHolder | None:
        """Who has the port, where this session is read-only for that."""
        return self._opened.keeper.holder if self._opened else None

    @property
    def state(self) -> StateFolder | None:
        """Where the state of the workspace is kept; None before `start`."""
        return self._opened.state if self._opened else None

    @property
    def report(self) -> CaptureReport | None:
        """The last capture that worked."""
        return self._opened.ladder.report if self._opened else None

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants of `report`, in its order."""
        return self._opened.ladder.board.variants if self._opened else ()

    @property
    def view(self) -> str:
        """Id of the variant in view; empty while there are none."""
        return self._opened.ladder.view if self._opened else ""

    def result(self, variant: str, stage: str) -> StageResult | None:
        """The last result of a stage, state `stale` where it is of an older generation.

        `variant` is ignored for stages of the whole operator. None where it never ran.
        """
        return self._opened.ladder.board.result(variant, stage) if self._opened else None

    def results(self) -> tuple[StageResult, ...]:
        """All results there are, by variant and stage in order."""
        return self._opened.ladder.board.results() if self._opened else ()

    def findings(self, *, stale: bool = False) -> tuple[Finding, ...]:
        """Findings merged over the variants, worst first; allowed ones have their reason.

        With `stale` those of stages that are not done yet are taken from the generation before,
        for a screen that would else go blank at every key.
        """
        return self._opened.ladder.findings(stale=stale) if self._opened else ()

    def verdict(self) -> Verdict:
        """The answer over all variants, of the current generation only."""
        return self._opened.ladder.verdict() if self._opened else Verdict(text="STARTING")

    def comparison(self, variant: str) -> Comparison | None:
        """The last comparison of a variant.

        It is of the current generation only where `result(variant, "diff")` is `ok` or
        `findings`; else it is older.
        """
        return self._opened.ladder.comparison(variant) if self._opened else None

    def facts(self, variant: str) -> tuple[FactRow, ...]:
        """What Python fixed for a variant and how the port declares it; also without a port."""
        return self._opened.ladder.facts(variant) if self._opened else ()

    async def ir(
        self, variant: str, side: Literal["reference", "port"], *, canonical: bool = False
    ) -> str:
        """The Tile IR of one side as text.

        Raises:
            TileportError: there is none (no such variant, the port does not compile), or no
                disassembler.
        """
        opened = self._require_opened()
        return await listing(opened.ladder, opened.store, variant, side, canonical=canonical)

    # ------------------------------------------------------------ start and end

    async def start(self, *, fresh: bool = False) -> None:
        """Open the port, start the servers and the first pass; returns without waiting for it.

        Args:
            fresh: Capture anew, whatever the cache holds.

        Raises:
            TileportError: the port or the source cannot be read, or there is no place for state.
        """
        if self._closed:
            raise TileportError("the session was closed")
        state = open_state(self.operator.workspace)
        if state.notice:
            self._say(Severity.NOTE, state.notice)
        store = Store(state, limit=self.config.cache_size, trouble=_on_this_loop(self._no_cache))
        keeper = PortKeeper(self.operator, state, store, writable=self._live, told=self._warn)
        source = read_or_none(self.operator.source)
        if source is not None:
            self._source_text = decode(source, Path(self.operator.source))
        keeper.open()
        try:
            servers = self._servers or Servers(self.config, log=_log_file(state))
            self._servers = servers
            servers.warm(servers.port)
            ladder = Ladder(
                self.operator,
                self.config,
                state,
                store,
                servers,
                emit=self._emit,
                stages=self._stages,
                pace=self._pace,
            )
            following = Following(
                self.operator,
                on_change=self._changed,
                on_python=self._python_changed,
                told=self._warn,
            )
            self._opened = _Opened(state, store, keeper, ladder, following)
            if keeper.holder is not None:
                self._warn(f"read-only: the port is open in {keeper.holder}")
            ladder.start(keeper.text, fresh=fresh)
            if self._live:
                following.start(keeper.content, source)
        except BaseException:
            await self.close()
            keeper.close()
            raise

    async def close(self) -> None:
        """End all that runs and keep what is unsaved; takes less than a second. May be repeated."""
        self._closed = True
        opened = self._opened
        if opened is None:
            return
        if self._idle is not None:
            self._idle.cancel()
        with contextlib.suppress(TimeoutError):
            # A save that is under way ends first; a disk that hangs does not hold us.
            async with asyncio.timeout(_LAST_SAVE), self._turn:
                pass
        await asyncio.to_thread(opened.keeper.close)
        await asyncio.gather(opened.following.close(), opened.ladder.close())
        if self._own_servers and self._servers is not None:
            await self._servers.close()

    async def settle(self) -> None:
        """Wait until every stage of the current generation is done."""
        await self._require_opened().ladder.settle()

    # ------------------------------------------------------------ what can be done

    def submit(self, text: str, *, saved: bool = False) -> int:
        """Take `text` as the Rust from now on and start a generation; returns its number.

        Text equal to the present one starts none. Text that is not what the file holds is also
        kept aside, so that it survives a crash.
        """
        opened = self._require_opened()
        opened.keeper.keep(text)
        return opened.ladder.submit(text, saved=saved or text == opened.keeper.text)

    def look_at(self, variant: str) -> None:
        """Have this variant done first."""
        self._require_opened().ladder.look_at(variant)

    async def save(self, text: str) -> None:
        """Write `text` to the port file, atomically, and submit it.

        Raises:
            PortMoved: the file holds something this session has not seen.
            TileportError: it cannot be written (read-only, disk full); the file is as it was.
        """
        opened = self._require_opened()
        async with self._writing(opened):
            await opened.keeper.save(text)
        opened.ladder.submit(text, saved=True)

    async def undo_save(self) -> str | None:
        """Put back the exact bytes from before the last save, also of an earlier session.

        Text that is not saved is given up for it and goes to the journal. Returns the text now
        in the file; None where the save had created it.

        Raises:
            PortMoved: the file is not what the last save left.
            TileportError: there is no save to undo, or the file cannot be written.
        """
        opened = self._require_opened()
        async with self._writing(opened):
            await opened.keeper.undo_save(self.text if self.unsaved else None)
        opened.ladder.submit(opened.keeper.text, saved=True)
        return opened.keeper.text

    @contextlib.asynccontextmanager
    async def _writing(self, opened: _Opened) -> AsyncIterator[None]:
        """One write of the port at a time, and the watcher looks away meanwhile."""
        async with self._turn:
            opened.following.pause()
            try:
                yield
            finally:
                opened.following.resume(opened.keeper.content)

    def recovered(self) -> Recovered | None:
        """Text of an earlier session that was never saved, if there is any."""
        return self._opened.keeper.recovered() if self._opened else None

    def discard_recovered(self) -> None:
        """Forget the recovered text; its content stays in the journal."""
        self._require_opened().keeper.discard_recovered()

    async def recapture(self) -> None:
        """Capture again, whatever the cache holds; `settle` waits for it."""
        self._require_opened().ladder.recapture(fresh=True)

    # ------------------------------------------------------------ files

    def _changed(self, change: Change) -> None:
        """A watched file holds something else."""
        opened = self._require_opened()
        if change.role == "port":
            self._port_changed(opened, change)
        elif change.role == "source":
            self._source_text = change.text
        self._emit(FileChanged(change.role, change.path, change.text))

    def _port_changed(self, opened: _Opened, change: Change) -> None:
        # After a while without the file, what is typed is still compared with what it held.
        untouched = self.text is None or self.text == opened.keeper.last_text
        opened.keeper.see(change.content)
        if change.text is None:
            if self.text is not None:
                opened.keeper.keep(self.text)
            self._warn(f"{change.path} is gone; saving writes it anew")
        elif untouched or self.text == change.text:
            opened.keeper.keep(change.text)
            opened.ladder.submit(change.text, saved=True)

    def _python_changed(self) -> None:
        opened = self._require_opened()
        self.operator = opened.following.operator
        opened.ladder.recapture(self.operator)

    # ------------------------------------------------------------ events

    def _emit(self, event: Event) -> None:
        if isinstance(event, CaptureDone) and self._live:
            self._require_opened().following.set_imports(event.report.files)
        if isinstance(event, GenerationDone) and (self._idle is None or self._idle.done()):
            self._idle = asyncio.create_task(self._when_idle())
        if self._closed:
            return
        try:
            self._notify(event)
        except Exception:  # a fault of the listener must not end the pass that told it
            _LOG.exception("a listener failed at %s", type(event).__name__)

    async def _when_idle(self) -> None:
        """What can wait until results are there."""
        opened = self._require_opened()
        if self._live and self._servers is not None and not self._warmed:
            # Where the capture came from the cache, its server is not up yet.
            self._warmed = True
            self._servers.warm(self._servers.capture)

        def pinned() -> set[str]:
            return {*pinned_blobs(opened.state), *recorded_blobs(opened.state)}

        await asyncio.to_thread(opened.store.evict_if_large, pinned)

    def _say(self, severity: Severity, text: str) -> None:
        self._emit(Notice(severity, text))

    def _warn(self, text: str) -> None:
        self._say(Severity.UNSAFE, text)

    def _no_cache(self, error: OSError) -> None:
        why = "the disk is full" if is_disk_full(error) else f"{error.strerror}"
        self._say(Severity.NOTE, f"results are not kept on disk ({why}); all else goes on")

    def _require_opened(self) -> _Opened:
        if self._opened is None:
            raise TileportError("the session is not started")
        return self._opened


@dataclass(frozen=True, slots=True)
class _Opened:
    """What a started session consists of."""

    state: StateFolder
    store: Store
    keeper: PortKeeper
    ladder: Ladder
    following: Following


def _on_this_loop(tell: Callable[[OSError], None]) -> Callable[[OSError], None]:
    """`tell`, called on this thread's event loop whatever thread it is called from."""
    loop = asyncio.get_running_loop()

    def called(error: OSError) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(tell, error)

    return called


def _log_file(state: StateFolder) -> Path | None:
    """Where child processes print to; None where no folder for it can be made."""
    try:
        state.logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _LOG.warning("no log of child processes: %s", error)
        return None
    return state.logs / "children.log"
