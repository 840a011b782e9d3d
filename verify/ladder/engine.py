"""The engine: takes an operator up the ladder again with every change, the newest text first.

Each change starts a generation. A pass belongs to one generation and only the pass of the current
one writes on the board, so that no result of older work can show as new. The variant in view goes
first and has a slot of the servers kept for it; the others follow once it is done.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tileport.verify.compile.model import CompileResult
from tileport.verify.config import Config
from tileport.verify.diff.model import Comparison
from tileport.verify.ladder import climb
from tileport.verify.ladder.asking import Asking
from tileport.verify.ladder.board import Board, by_weight
from tileport.verify.ladder.capturing import Capturing
from tileport.verify.ladder.climb import Outcome
from tileport.verify.ladder.jobs import Jobs
from tileport.verify.ladder.passes import LIVE, Pace, Pass
from tileport.verify.ladder.route import Route
from tileport.verify.ladder.servers import Servers, worker_count
from tileport.verify.ladder.stages import StageSpec
from tileport.verify.ladder.verdict import Verdict
from tileport.verify.model import CaptureReport, Finding, StageResult, Variant
from tileport.verify.operator import Operator
from tileport.verify.port import Binding, FactRow, PortFile, apply_allows, facts_of, parse_port
from tileport.verify.session_events import (
    CaptureDone,
    CaptureFailed,
    CaptureStarted,
    Event,
    GenerationStarted,
    StageChanged,
)
from tileport.verify.store import Store
from tileport.verify.workspace import StateFolder

_LOG = logging.getLogger(__name__)

#: Characters of a port up to which reading it takes no longer than a frame of the screen.
_SHORT = 20_000


class Ladder:
    """The ladder of one operator. One event loop uses it.

    Args:
        operator: What to check.
        config: Settings of its workspace.
        state: Where state is kept.
        store: The caches in it.
        servers: Who does the work; closed by whoever made them.
        emit: Gets the events.
        stages: The stages to run, in order.
        pace: When to do what.
    """

    def __init__(
        self,
        operator: Operator,
        config: Config,
        state: StateFolder,
        store: Store,
        servers: Servers,
        *,
        emit: Callable[[Event], None],
        stages: tuple[StageSpec, ...],
        pace: Pace = LIVE,
    ) -> None:
        self.operator = operator
        self.board = Board(stages)
        self.report: CaptureReport | None = None
        self.view = ""
        self._names = frozenset(stage.name for stage in stages)
        self._store = store
        self._emit = emit
        self._pace = pace
        self._jobs = Jobs(worker_count(config), spare=pace.spare)
        self._asking = Asking(store, self._jobs)
        self._route = Route(operator, stages, store, servers.port, self._asking, lost=self._lost)
        self._cargo = servers.cargo(state.check, self._cargo_says)
        self._capturing = Capturing(operator, config, state, store, servers)
        self._capture: asyncio.Task[CaptureReport | None] | None = None
        self._noted: StageResult | None = None
        self._pass: Pass | None = None
        self._sorted: tuple[tuple[int, bool], tuple[Finding, ...]] | None = None
        #: The text that was read last, and what it declares.
        self._port: PortFile | None = None
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="port")

    # ------------------------------------------------------------ what is known

    @property
    def generation(self) -> int:
        """Number of the current generation, 0 before the first."""
        return self.board.generation

    @property
    def text(self) -> str | None:
        """The Rust text of the current generation."""
        return self._pass.text if self._pass else None

    def findings(self, *, stale: bool = False) -> tuple[Finding, ...]:
        """Findings over all variants, allowed ones marked, worst first."""
        key = (self.board.revision, stale)
        if self._sorted is None or self._sorted[0] != key:
            found = self.board.findings(stale=stale)
            if self._port is not None and self.text is not None:
                found = apply_allows(found, self._port, complete=self._complete() and not stale)
            self._sorted = (key, tuple(sorted(found, key=by_weight)))
        return self._sorted[1]

    def _complete(self) -> bool:
        """Whether there will be no more findings in this generation, but for the stages behind."""
        return "diff" in self._names and all(
            self.board.current(variant.id, "diff") is not None for variant in self.board.variants
        )

    def verdict(self) -> Verdict:
        """The answer of the current generation."""
        return self.board.verdict(self.findings())

    def comparison(self, variant: str) -> Comparison | None:
        """The last comparison of a variant."""
        found = self.board.product(variant, "diff")
        return found if isinstance(found, Comparison) else None

    def compiled(self, variant: str) -> CompileResult | None:
        """What the current text compiled to for a variant."""
        if self.board.current(variant, "compile") is None:
            return None
        found = self.board.product(variant, "compile")
        return found if isinstance(found, CompileResult) else None

    def binding(self, variant: str) -> Binding | None:
        """How the current text declares a variant."""
        if self.board.current(variant, "declare") is None:
            return None
        found = self.board.product(variant, "declare")
        return found if isinstance(found, Binding) else None

    def facts(self, variant: str) -> tuple[FactRow, ...]:
        """What Python fixed for a variant, and how the port declares it."""
        known = self.board.by_id.get(variant)
        found = self.board.product(variant, "declare")
        if isinstance(found, Binding) and self.text is not None:
            return found.facts
        return facts_of(known) if known is not None else ()

    # ------------------------------------------------------------ what can be done

    def start(self, text: str | None, *, fresh: bool = False) -> None:
        """Begin with the text of the port, None where there is none.

        Args:
            text: The text.
            fresh: Capture anew, whatever the cache holds.
        """
        self._recapture(fresh=fresh)
        self._begin(text, saved=True)

    def submit(self, text: str | None, *, saved: bool) -> int:
        """Go on with another text; the number of its generation."""
        if self._pass is None or text != self._pass.text:
            self._begin(text, saved=saved)
        elif saved and not self._pass.saved:
            self._pass.saved = True
            self._pass.open(self.view)
        return self.generation

    def recapture(self, operator: Operator | None = None, *, fresh: bool = False) -> None:
        """The Python side changed: capture again.

        Args:
            operator: With another case file than before.
            fresh: Whatever the cache holds.
        """
        if operator is not None:
            self.operator = operator
            self._capturing.operator = operator
        self._recapture(fresh=fresh)
        self._begin(self.text, saved=self._pass.saved if self._pass else True)

    def look_at(self, variant: str) -> None:
        """Do this variant first from now on."""
        if variant not in self.board.by_id:
            return
        self.view = variant
        if self._pass is not None:
            self._pass.open(variant)
        self._jobs.poke()

    async def settle(self) -> None:
        """Wait until all stages of the current generation are done; raises a fault of ours."""
        while self._pass is not None and self._pass.task is not None:
            this, task = self._pass, self._pass.task
            await asyncio.wait({task})
            if this is self._pass:
                if not task.cancelled() and (error := task.exception()) is not None:
                    raise error
                return

    async def close(self) -> None:
        """End all work."""
        if self._pass is not None:
            self._pass.end()
        if self._capture is not None:
            self._capture.cancel()
        tasks = [t for t in (self._pass.task if self._pass else None, self._capture) if t]
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._capturing.close()
        await self._jobs.close()
        await self._cargo.close()
        await self._asking.close()
        self._reader.shutdown(wait=False, cancel_futures=True)

    # ------------------------------------------------------------ passes

    def _begin(self, text: str | None, *, saved: bool) -> None:
        if self._pass is not None:
            self._pass.end()
        generation = self.generation + 1
        self._pass = Pass(generation, text, saved=saved, board=self.board, emit=self._emit)
        self.board.begin(generation)
        self._emit(GenerationStarted(generation, saved))
        if self._capture is not None and self._capture.done():
            self._note_capture()
        self._pass.task = asyncio.create_task(self._run(self._pass))
        self._pass.task.add_done_callback(_log_fault)

    async def _run(self, this: Pass) -> None:
        assert self._capture is not None
        if not self._capture.done():
            this.run("", "capture")
        report = await asyncio.shield(self._capture)
        if self.board.current("", "capture") is None:
            self._note_capture()
        if report is None:
            this.tell_done()
            return
        port = await self._read_port(this.text)
        this.expect(self.board.by_id)
        if not self._pace.view_first:
            this.open_all()
        this.open(self.view)
        try:
            async with asyncio.TaskGroup() as group:
                # The one in view is started first, and so asks first.
                for variant in sorted(self.board.variants, key=lambda v: v.id != self.view):
                    group.create_task(self._climb(this, port, variant))
        except ExceptionGroup as errors:
            # Stages give results, not exceptions: this is a fault of the engine itself.
            raise errors.exceptions[0] from errors
        this.tell_done()
        if "build" in self._names and this.text is not None:
            await asyncio.sleep(self._pace.build_rest)
            this.run("", "build")
            this.put(await climb.build(this.text, self.operator.port, self._cargo, self._store))

    async def _climb(self, this: Pass, port: PortFile | None, variant: Variant) -> None:
        await this.turn(variant.id)
        try:
            await self._route.climb(
                port,
                variant,
                self.board.kin(variant),
                functools.partial(self._rank, variant),
                this,
                at_once=variant.id == self.view,
            )
        finally:
            this.finish(variant.id)
            if variant.id == self.view:
                rest = 0.0 if this.saved else self._pace.rest
                asyncio.get_running_loop().call_later(rest, this.open_all)

    def _rank(self, variant: Variant, stages_left: int) -> tuple[int, ...]:
        """Where a job of this variant stands in the line."""
        in_view = self.board.by_id.get(self.view)
        akin = in_view is not None and in_view.kernel == variant.kernel
        return (int(variant.id != self.view), int(not akin), stages_left)

    def _lost(self) -> None:
        """A reference is gone: somebody cleaned the cache. Captured anew, it is back."""
        asyncio.get_running_loop().call_soon(self.recapture)

    def _cargo_says(self, doing: str) -> None:
        """The first check of a workspace takes minutes: tell what it is at."""
        if self._pass is not None and self.board.is_running("", "build"):
            self._pass.run("", "build", doing)

    async def _read_port(self, text: str | None) -> PortFile | None:
        """What a text declares; a long one is read off the event loop's thread."""
        if text is None:
            return None
        if self._port is None or self._port.text != text:
            if len(text) <= _SHORT:
                self._port = parse_port(text, self.operator.port)
            else:
                loop = asyncio.get_running_loop()
                self._port = await loop.run_in_executor(
                    self._reader, parse_port, text, self.operator.port
                )
        return self._port

    # ------------------------------------------------------------ capture

    def _recapture(self, *, fresh: bool) -> None:
        self._capture = asyncio.create_task(self._captured(self._capture, fresh=fresh))

    async def _captured(
        self, before: asyncio.Task[CaptureReport | None] | None, *, fresh: bool
    ) -> CaptureReport | None:
        if before is not None:
            before.cancel()
            await asyncio.gather(before, return_exceptions=True)
        self._emit(CaptureStarted(self.generation))
        return await self._capturing.run(fresh=fresh)

    def _note_capture(self) -> None:
        """Put what the capture came to on the board of this generation."""
        assert self._capture is not None
        report = self._capture.result()
        result = self._capturing.result
        news, self._noted = result is not self._noted, result
        if report is not None and news:
            self.report = report
            self.board.set_variants(report.variants)
            if self.view not in self.board.by_id:
                self.view = next(iter(self.board.by_id), "")
        self.board.put(Outcome(result))
        if not news:
            return
        self._emit(StageChanged(self.generation, result))
        if report is None:
            self._emit(CaptureFailed(self.generation, result.reason))
        else:
            self._emit(CaptureDone(self.generation, report, result.milliseconds, result.cached))


def _log_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.error("the ladder broke", exc_info=error)
