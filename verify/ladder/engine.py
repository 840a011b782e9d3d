"""The engine: takes an operator up the ladder again with every change, the newest text first.

Each change starts a generation. A pass belongs to one generation and only the pass of the current
one writes on the board, so that no result of older work can show as new. The variant in view goes
first and has a slot of the servers kept for it; the others follow once it is done.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from tileport.verify.compile.model import CompileResult, DiffRequest
from tileport.verify.config import Config
from tileport.verify.diff.model import Comparison
from tileport.verify.ladder import climb
from tileport.verify.ladder.asking import Asking
from tileport.verify.ladder.board import Board, by_weight
from tileport.verify.ladder.capturing import Capturing
from tileport.verify.ladder.climb import Outcome
from tileport.verify.ladder.jobs import Jobs
from tileport.verify.ladder.servers import Servers, worker_count
from tileport.verify.ladder.stages import StageSpec
from tileport.verify.ladder.verdict import Verdict
from tileport.verify.model import CaptureReport, Finding, StageResult, StageState, Variant
from tileport.verify.operator import Operator
from tileport.verify.port import Binding, FactRow, PortFile, apply_allows, facts_of, parse_port
from tileport.verify.session_events import (
    CaptureDone,
    CaptureFailed,
    CaptureStarted,
    Event,
    GenerationDone,
    GenerationStarted,
    StageChanged,
)
from tileport.verify.store import Store
from tileport.verify.workspace import StateFolder

_LOG = logging.getLogger(__name__)

T = TypeVar("T")


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """When the engine does what.

    `spare` slots are kept for the variant in view. `rest` is how long typed text must rest before
    the other variants are done, `build_rest` before rustc is asked; both in seconds.
    `view_first` holds the others back until the variant in view is done.
    """

    spare: int = 0
    rest: float = 0.0
    build_rest: float = 0.0
    view_first: bool = False


#: For a person who types and looks.
LIVE = Pace(spare=1, rest=0.25, build_rest=1.0, view_first=True)
#: For a check that wants all results as soon as possible.
HEADLESS = Pace()


class _Pass:
    """One generation on its way up."""

    def __init__(self, generation: int, text: str | None, *, saved: bool) -> None:
        self.generation = generation
        self.text = text
        self.saved = saved
        self.started = time.perf_counter()
        self.task: asyncio.Task[None] | None = None
        #: Set when a variant may start.
        self.gates: dict[str, asyncio.Event] = {}
        self.done: set[str] = set()

    def open(self, variant: str) -> None:
        if variant in self.gates:
            self.gates[variant].set()

    def open_all(self) -> None:
        for gate in self.gates.values():
            gate.set()


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
        self._servers = servers
        self._emit = emit
        self._pace = pace
        self._jobs = Jobs(worker_count(config), spare=pace.spare)
        self._asking = Asking(store, self._jobs)
        self._cargo = servers.cargo(state.check, self._cargo_says)
        self._capturing = Capturing(operator, config, state, store, servers)
        self._capture: asyncio.Task[CaptureReport | None] | None = None
        self._noted: StageResult | None = None
        self._pass: _Pass | None = None
        #: One at a time, so that the event loop gets its turns between them.
        self._declaring = asyncio.Lock()
        self._sorted: tuple[tuple[int, bool], tuple[Finding, ...]] | None = None
        self._read: tuple[str, PortFile] | None = None

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
            port = self._port(self.text)
            if port is not None:
                found = apply_allows(found, port, complete=self._complete() and not stale)
            self._sorted = (key, tuple(sorted(found, key=by_weight)))
        return self._sorted[1]

    def _complete(self) -> bool:
        """Whether there will be no more findings in this generation, but for the stages behind."""
        last = [s.name for s in self.board.stages if s.scope == "variant" and not s.behind][-1:]
        return last == ["diff"] and all(
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
        known = self._variant(variant)
        found = self.board.product(variant, "declare")
        if isinstance(found, Binding) and self.text is not None:
            return found.facts
        return facts_of(known) if known is not None else ()

    def _variant(self, key: str) -> Variant | None:
        return next((v for v in self.board.variants if v.id == key), None)

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
            self._pass.open_all()
        return self.generation

    def recapture(self, operator: Operator | None = None, *, fresh: bool = False) -> None:
        """The Python side changed: capture again.

        Args:
            operator: With other files, where they are others now.
            fresh: Whatever the cache holds.
        """
        if operator is not None:
            self.operator = operator
            self._capturing.operator = operator
        self._recapture(fresh=fresh)
        self._begin(self.text, saved=self._pass.saved if self._pass else True)

    def look_at(self, variant: str) -> None:
        """Do this variant first from now on."""
        if self._variant(variant) is None:
            return
        self.view = variant
        if self._pass is not None:
            self._pass.open(variant)
            if variant in self._pass.done:
                self._pass.open_all()
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
        tasks = [t for t in (self._pass.task if self._pass else None, self._capture) if t]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._capturing.close()
        await self._jobs.close()
        await self._cargo.close()
        await self._asking.close()

    # ------------------------------------------------------------ passes

    def _begin(self, text: str | None, *, saved: bool) -> None:
        if self._pass is not None and self._pass.task is not None:
            self._pass.task.cancel()
        this = self._pass = _Pass(self.generation + 1, text, saved=saved)
        self.board.begin(this.generation)
        self._emit(GenerationStarted(this.generation, saved))
        if self._capture is not None and self._capture.done():
            self._note_capture()
        this.task = asyncio.create_task(self._run(this))
        this.task.add_done_callback(_log_fault)

    async def _run(self, this: _Pass) -> None:
        assert self._capture is not None
        if not self._capture.done():
            self._emit(StageChanged(this.generation, self.board.run("", "capture")))
        report = await asyncio.shield(self._capture)
        if self.board.current("", "capture") is None:
            self._note_capture()
        if report is None:
            self._emit(GenerationDone(this.generation, _since(this.started)))
            return
        variants = self.board.variants
        this.gates = {variant.id: asyncio.Event() for variant in variants}
        if not self._pace.view_first or not variants:
            this.open_all()
        this.open(self.view)
        try:
            async with asyncio.TaskGroup() as group:
                # The one in view is started first, and so asks first.
                for variant in sorted(variants, key=lambda v: v.id != self.view):
                    group.create_task(self._climb(this, variant))
        except ExceptionGroup as errors:
            # Stages give results, not exceptions: this is a fault of the engine itself.
            raise errors.exceptions[0] from errors
        self._emit(GenerationDone(this.generation, _since(this.started)))
        if "build" in self._names and this.text is not None:
            await asyncio.sleep(self._pace.build_rest)
            self._tell(this, self._running(this, "", "build"))
            outcome = await climb.build(this.text, self.operator.port, self._cargo, self._store)
            self._put(this, outcome)

    async def _climb(self, this: _Pass, variant: Variant) -> None:
        await this.gates[variant.id].wait()
        try:
            await self._stages(this, variant)
        finally:
            this.done.add(variant.id)
            if variant.id == self.view and this is self._pass:
                rest = 0.0 if this.saved else self._pace.rest
                asyncio.get_running_loop().call_later(rest, this.open_all)

    async def _stages(self, this: _Pass, variant: Variant) -> None:
        """Declare, compile and compare one variant, as far as it gets."""
        if "declare" not in self._names:
            return
        port = self._port(this.text)
        siblings = tuple(
            v for v in self.board.variants if v.kernel == variant.kernel and v is not variant
        )
        if variant.id == self.view:
            declared = climb.declare(port, variant, self.operator, siblings)
        else:
            async with self._declaring:
                await asyncio.sleep(0)
                declared = climb.declare(port, variant, self.operator, siblings)
        self._put(this, declared)
        binding = declared.product
        if "compile" not in self._names:
            return
        if binding is None or binding.request is None:
            reason = "there is no port" if port is None else "the port does not declare the entry"
            self._skip(this, variant, ("compile", "diff"), reason)
            return
        self._tell(this, self._running(this, variant.id, "compile"))
        compiled = await climb.compile_port(
            binding.request,
            variant.id,
            self._servers.port,
            self._asking,
            functools.partial(self._rank, variant, 1),
        )
        self._put(this, compiled)
        if "diff" not in self._names:
            return
        if compiled.product is None or compiled.product.bytecode is None:
            self._skip(this, variant, ("diff",), "the port does not compile")
            return
        self._tell(this, self._running(this, variant.id, "diff"))
        reference = await asyncio.to_thread(self._store.blob, variant.reference)
        if reference is None:
            self._put(this, Outcome(self._lost(variant)))
            return
        request = DiffRequest(
            reference=reference,
            port=compiled.product.bytecode,
            target=variant.target,
            reference_parameters=binding.reference_parameters,
            port_parameters=binding.port_parameters,
            constants=binding.constants,
            python_source=variant.kernel.place.file,
            rust_source=self.operator.port,
        )
        compared = await climb.compare(
            request,
            variant.id,
            self._servers.port,
            self._asking,
            functools.partial(self._rank, variant, 0),
        )
        self._put(this, compared)

    def _rank(self, variant: Variant, stages_left: int) -> tuple[int, ...]:
        """Where a job of this variant stands in the line."""
        looked_at = self._variant(self.view)
        akin = looked_at is not None and looked_at.kernel == variant.kernel
        return (int(variant.id != self.view), int(not akin), stages_left)

    def _lost(self, variant: Variant) -> StageResult:
        """The reference bytecode is gone: somebody cleaned the cache. Captured anew, it is back."""
        asyncio.get_running_loop().call_soon(self.recapture)
        return StageResult(
            stage="diff",
            variant=variant.id,
            state=StageState.FAILED,
            reason="the reference was removed from the cache; it is captured again",
        )

    def _cargo_says(self, doing: str) -> None:
        """The first check of a workspace takes minutes: tell what it is at."""
        if self._pass is not None and self.board.is_running("", "build"):
            self._tell(self._pass, self.board.run("", "build", doing))

    # ------------------------------------------------------------ capture

    def _recapture(self, *, fresh: bool) -> None:
        before = self._capture
        self._capture = asyncio.create_task(self._captured(before, fresh=fresh))

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
            if self._variant(self.view) is None:
                self.view = report.variants[0].id if report.variants else ""
        self.board.put(Outcome(result))
        if not news:
            return
        self._emit(StageChanged(self.generation, result))
        if report is None:
            self._emit(CaptureFailed(self.generation, result.reason))
        else:
            self._emit(CaptureDone(self.generation, report, result.milliseconds, result.cached))

    # ------------------------------------------------------------ small things

    def _port(self, text: str | None) -> PortFile | None:
        """A text of the port, read; at most once in a row."""
        if text is None:
            return None
        if self._read is None or self._read[0] != text:
            self._read = (text, parse_port(text, self.operator.port))
        return self._read[1]

    def _running(self, this: _Pass, variant: str, stage: str) -> StageResult | None:
        return self.board.run(variant, stage) if this is self._pass else None

    def _put(self, this: _Pass, outcome: Outcome[Any]) -> None:
        if this is self._pass:
            self._tell(this, self.board.put(outcome))

    def _skip(self, this: _Pass, variant: Variant, stages: tuple[str, ...], reason: str) -> None:
        for stage in stages:
            if stage in self._names:
                self._put(this, Outcome(climb.skipped(stage, variant.id, reason)))

    def _tell(self, this: _Pass, result: StageResult | None) -> None:
        if result is not None:
            self._emit(StageChanged(this.generation, result))


def _log_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.error("the ladder broke", exc_info=error)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
