"""The engine: order, caching, supersession, and nothing stale shown as current."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from tests.ladder.fakes import FakeServers, port_text, soon, source_text, write_operator
from tileport.verify.compile.model import Diagnostic, DiagnosticSeverity, DiagnosticSource
from tileport.verify.config import Config
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.ladder.engine import Ladder
from tileport.verify.ladder.passes import HEADLESS, LIVE, Pace
from tileport.verify.ladder.stages import stages_until
from tileport.verify.model import Place, Severity, StageState
from tileport.verify.operator import Operator
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
from tileport.verify.workspace import open_state

#: Like a session of a person, without its pauses.
QUICK = msgspec.structs.replace(LIVE, rest=0.0, build_rest=0.0)


class Bench:
    """A ladder, its fakes, and the events it told."""

    def __init__(self, operator: Operator, workers: int = 2) -> None:
        self.operator = operator
        self.config = Config(targets=("sm_90",), workers=workers)
        self.fakes = FakeServers()
        self.events: list[Event] = []
        self.state = open_state(operator.workspace)
        self.store = Store(self.state, limit=1 << 30)
        self._ladders: list[Ladder] = []

    def ladder(self, *, pace: Pace = QUICK, until: str | None = "diff") -> Ladder:
        ladder = Ladder(
            self.operator,
            self.config,
            self.state,
            self.store,
            self.fakes.make(self.config),
            emit=self.events.append,
            stages=stages_until(until),
            pace=pace,
        )
        self._ladders.append(ladder)
        return ladder

    async def close(self) -> None:
        for ladder in self._ladders:
            await ladder.close()

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    def ended(self, *, generation: int | None = None) -> list[tuple[str, str]]:
        """Stages that ended, in order, with their variants."""
        return [
            (event.result.stage, event.result.variant)
            for event in self.events
            if isinstance(event, StageChanged)
            and event.result.state is not StageState.RUNNING
            and generation in (None, event.generation)
        ]


MakeBench = Callable[..., Bench]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[MakeBench]:
    benches: list[Bench] = []

    def make(*kernels: tuple[str, int], workers: int = 2) -> Bench:
        benches.append(Bench(write_operator(tmp_path, *kernels), workers))
        return benches[-1]

    yield make
    for bench in benches:
        await bench.close()


async def test_all_stages_of_all_variants_run_and_the_verdict_says_so(make: MakeBench) -> None:
    bench = make(("a", 2), ("b", 1))
    ladder = bench.ladder()
    ladder.start(port_text("a", "b"))
    async with soon():
        await ladder.settle()
    verdict = ladder.verdict()
    assert (verdict.same, verdict.total, verdict.pending) == (3, 3, 0)
    assert verdict.text == "SAME IR 3/3"
    assert verdict.worst is None
    assert [type(event) for event in bench.events[:2]] == [GenerationStarted, CaptureStarted]
    assert len(bench.of(CaptureDone)) == len(bench.of(GenerationDone)) == 1
    for variant in ("a-0", "a-1", "b-0"):
        stages = [stage for stage, of in bench.ended() if of == variant]
        assert stages == ["declare", "compile", "diff"]


async def test_the_variant_in_view_is_done_before_the_others_begin(make: MakeBench) -> None:
    bench = make(("a", 3), ("b", 1))
    bench.fakes.port.gate.hold("diff a 0")
    ladder = bench.ladder()
    ladder.start(port_text("a", "b"))
    await bench.fakes.port.gate.reached("diff a 0")
    await asyncio.sleep(0.02)
    assert bench.ended() == [("capture", ""), ("declare", "a-0"), ("compile", "a-0")]
    bench.fakes.port.gate.let_go("diff a 0")
    async with soon():
        await ladder.settle()
    assert ladder.verdict().same == 4


async def test_variants_of_the_kernel_in_view_go_before_others(make: MakeBench) -> None:
    bench = make(("a", 1), ("b", 2), workers=1)
    ladder = bench.ladder()
    bench.fakes.port.gate.hold("diff a 0")
    ladder.start(port_text("a", "b"))
    await bench.fakes.port.gate.reached("diff a 0")
    ladder.look_at("b-1")
    bench.fakes.port.gate.let_go("diff a 0")
    async with soon():
        await ladder.settle()
    assert [of for stage, of in bench.ended() if stage == "diff"] == ["a-0", "b-1", "b-0"]


async def test_looking_at_another_variant_starts_it_at_once(make: MakeBench) -> None:
    bench = make(("a", 1), ("b", 1))
    bench.fakes.port.gate.hold("compile a")
    ladder = bench.ladder()
    ladder.start(port_text("a", "b"))
    await bench.fakes.port.gate.reached("compile a")
    ladder.look_at("b-0")
    await bench.fakes.port.gate.reached("diff b")
    assert ladder.view == "b-0"
    bench.fakes.port.gate.let_go("compile a")
    async with soon():
        await ladder.settle()


async def test_looking_at_what_is_not_there_changes_nothing(make: MakeBench) -> None:
    ladder = make(("a", 1)).ladder()
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    ladder.look_at("nowhere")
    assert ladder.view == "a-0"


async def test_an_unchanged_text_starts_no_generation(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder()
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    assert ladder.submit(port_text("a"), saved=True) == 1
    assert ladder.generation == 1


async def test_a_newer_text_makes_every_result_stale_at_once(make: MakeBench) -> None:
    bench = make(("a", 2))
    ladder = bench.ladder()
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    bench.fakes.port.gate.hold("newer")
    assert ladder.submit(port_text("a", note="newer slow"), saved=True) == 2
    assert {r.state for r in ladder.board.results() if r.variant} == {StageState.STALE}
    assert ladder.verdict().pending == 2
    assert ladder.findings() == ()
    await bench.fakes.port.gate.reached("compile a // newer")
    assert ladder.board.result("a-0", "compile").state is StageState.RUNNING  # type: ignore[union-attr] # it ran
    assert ladder.comparison("a-0") is not None
    bench.fakes.port.gate.let_go("newer")
    async with soon():
        await ladder.settle()
    assert {r.state for r in ladder.board.results()} == {StageState.OK, StageState.FINDINGS}


async def test_a_superseded_result_is_never_shown(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder()
    bench.fakes.port.gate.hold("older")
    ladder.start(port_text("a", note="older wrong"))
    await bench.fakes.port.gate.reached("older")
    ladder.submit(port_text("a", note="newer"), saved=False)
    bench.fakes.port.gate.let_go("older")
    async with soon():
        await ladder.settle()
    await asyncio.sleep(0.02)
    assert ladder.verdict().text == "SAME IR 1/1"
    assert [e.generation for e in bench.of(StageChanged) if e.result.stage == "diff"] == [2, 2]  # type: ignore[union-attr] # of that kind
    assert [e.generation for e in bench.of(GenerationDone)] == [2]  # type: ignore[union-attr] # of that kind


async def test_events_of_a_generation_never_come_after_the_next_one_began(make: MakeBench) -> None:
    bench = make(("a", 3), ("b", 2))
    ladder = bench.ladder()
    ladder.start(port_text("a", "b"))
    for number in range(30):
        ladder.submit(port_text("a", "b", note=f"text {number}"), saved=number % 3 == 0)
        await asyncio.sleep(0.002 * (number % 5))
    async with soon():
        await ladder.settle()
    current = 0
    for event in bench.events:
        if isinstance(event, GenerationStarted):
            current = event.generation
        elif isinstance(event, StageChanged | GenerationDone):
            assert event.generation == current
    assert current == 31
    assert ladder.verdict().same == 5


async def test_queued_work_of_an_older_text_is_dropped(make: MakeBench) -> None:
    bench = make(("a", 1), ("b", 1), workers=1)
    ladder = bench.ladder()
    bench.fakes.port.gate.hold("older")
    ladder.start(port_text("a", "b", note="older"))
    await bench.fakes.port.gate.reached("compile a // older")
    ladder.look_at("b-0")  # queued behind the only slot
    await asyncio.sleep(0.01)
    ladder.submit(port_text("a", "b", note="newer"), saved=True)
    bench.fakes.port.gate.let_go("older")
    async with soon():
        await ladder.settle()
    assert "compile b // older" not in bench.fakes.port.gate.entered
    assert ladder.verdict().same == 2


async def test_running_work_of_an_older_text_ends_and_is_kept(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder()
    bench.fakes.port.gate.hold("compile a // older")
    older = port_text("a", note="older")
    ladder.start(older)
    await bench.fakes.port.gate.reached("older")
    ladder.submit(port_text("a", note="newer"), saved=True)
    async with soon():
        await ladder.settle()
    bench.fakes.port.gate.let_go("compile a // older")
    await asyncio.sleep(0.02)
    ladder.submit(older, saved=True)
    async with soon():
        await ladder.settle()
    entered = bench.fakes.port.gate.entered
    assert entered.count("compile a // older") == 1
    assert bench.fakes.port.gate.cancelled == []


async def test_going_back_to_a_text_asks_no_server(make: MakeBench) -> None:
    bench = make(("a", 2))
    ladder = bench.ladder()
    first = port_text("a", note="first")
    ladder.start(first)
    async with soon():
        await ladder.settle()
        ladder.submit(port_text("a", note="second"), saved=True)
        await ladder.settle()
        asked = len(bench.fakes.port.gate.entered)
        ladder.submit(first, saved=True)
        await ladder.settle()
    assert len(bench.fakes.port.gate.entered) == asked
    result = ladder.board.result("a-0", "diff")
    assert result is not None
    assert result.cached
    assert result.state is StageState.OK


async def test_a_new_process_finds_the_results_on_disk(make: MakeBench) -> None:
    bench = make(("a", 2))
    text = port_text("a")
    ladder = bench.ladder()
    ladder.start(text)
    async with soon():
        await ladder.settle()
    await ladder.close()
    asked = len(bench.fakes.port.gate.entered), len(bench.fakes.capture.gate.entered)
    bench.store = Store(bench.state, limit=1 << 30)
    again = bench.ladder()
    again.start(text)
    async with soon():
        await again.settle()
    assert again.verdict().same == 2
    assert (len(bench.fakes.port.gate.entered), len(bench.fakes.capture.gate.entered)) == asked
    assert all(r.cached for r in again.board.results() if r.stage != "declare")


async def test_variants_with_equal_requests_are_compiled_once(make: MakeBench) -> None:
    bench = make(("a", 4))
    ladder = bench.ladder(pace=HEADLESS)
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    assert bench.fakes.port.gate.entered.count("compile a // ") == 1
    assert ladder.verdict().same == 4


# ---------------------------------------------------------------- what goes wrong


async def test_no_port_is_one_finding_and_the_facts_are_there(make: MakeBench) -> None:
    bench = make(("a", 2), ("b", 1))
    ladder = bench.ladder()
    ladder.start(None)
    async with soon():
        await ladder.settle()
    (finding,) = ladder.findings()
    assert (finding.kind, finding.severity) == ("port-missing", Severity.WRONG)
    assert finding.variants == ("a-0", "a-1", "b-0")
    assert ladder.verdict().text == "SAME IR 0/3 · 3 not compared · 1 finding"
    assert isinstance(ladder.facts("a-0"), tuple)
    skipped = ladder.board.result("a-0", "diff")
    assert skipped is not None
    assert (skipped.state, skipped.reason) == (StageState.SKIPPED, "there is no port")


async def test_a_kernel_without_an_entry_is_a_finding(make: MakeBench) -> None:
    bench = make(("a", 1), ("b", 2))
    ladder = bench.ladder()
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    (finding,) = ladder.findings()
    assert finding.kind == "entry-missing"
    assert finding.variants == ("b-0", "b-1")
    assert (ladder.verdict().same, ladder.verdict().failed) == (1, 2)


async def test_equal_findings_are_merged_and_the_worst_comes_first(make: MakeBench) -> None:
    bench = make(("a", 3))
    ladder = bench.ladder()
    ladder.start(port_text("a", note="slow and wrong"))
    async with soon():
        await ladder.settle()
    found = ladder.findings()
    assert [f.kind for f in found] == ["made-wrong", "made-slow"]
    assert all(f.variants == ("a-0", "a-1", "a-2") for f in found)
    verdict = ladder.verdict()
    assert (verdict.different, verdict.wrong, verdict.slow) == (3, 1, 1)
    assert verdict.worst is Severity.WRONG
    assert verdict.reaches(Severity.SLOW)
    assert verdict.text == "SAME IR 0/3 · 2 findings"


async def test_same_under_an_assumption_is_said(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder()
    ladder.start(port_text("a", note="assume"))
    async with soon():
        await ladder.settle()
    assert ladder.verdict().same_if == 1
    assert ladder.verdict().text == "SAME IR 1/1 · 1 under assumptions"


async def test_a_compile_error_is_a_finding_with_its_place(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder()
    ladder.start(port_text("a", note="syntax"))
    async with soon():
        await ladder.settle()
    (finding,) = ladder.findings()
    assert (finding.kind, finding.stage) == ("compile-error", "compile")
    assert finding.rust == Place(bench.operator.port, 3, 4)
    diff = ladder.board.result("a-0", "diff")
    assert diff is not None
    assert (diff.state, diff.reason) == (StageState.SKIPPED, "the port does not compile")


async def test_a_crash_is_a_failed_stage_and_the_next_text_is_judged(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder()
    ladder.start(port_text("a", note="crash"))
    async with soon():
        await ladder.settle()
    crashed = ladder.board.result("a-0", "compile")
    assert crashed is not None
    assert crashed.state is StageState.FAILED
    assert crashed.reason == "the compile worker was ended by SIGSEGV"
    assert ladder.verdict().failed == 1
    ladder.submit(port_text("a"), saved=True)
    async with soon():
        await ladder.settle()
    assert ladder.verdict().same == 1


async def test_a_failed_stage_is_tried_again_and_not_cached(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder()
    ladder.start(port_text("a", note="verify"))
    async with soon():
        await ladder.settle()
        ladder.submit(port_text("a"), saved=True)
        await ladder.settle()
        ladder.submit(port_text("a", note="verify"), saved=True)
        await ladder.settle()
    asked = [
        about for about in bench.fakes.port.gate.entered if about.startswith("diff a 0 // verify")
    ]
    assert len(asked) == 2
    failed = ladder.board.result("a-0", "diff")
    assert failed is not None
    assert failed.state is StageState.FAILED


async def test_a_reference_removed_from_the_cache_is_captured_again(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder()
    ladder.start(port_text("a", note="syntax"))
    async with soon():
        await ladder.settle()
    bench.store.clean(frozenset())
    ladder.submit(port_text("a"), saved=True)
    async with soon():
        while ladder.verdict().same != 1:
            await asyncio.sleep(0.005)
    assert len(bench.fakes.capture.gate.entered) == 2


# ---------------------------------------------------------------- capture


async def test_a_capture_that_fails_says_why_and_the_next_one_helps(make: MakeBench) -> None:
    bench = make(("a", 1))
    source = Path(bench.operator.source)
    good = source.read_text()
    source.write_text("# broken\n")
    ladder = bench.ladder()
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    (event,) = bench.of(CaptureFailed)
    assert isinstance(event, CaptureFailed)
    assert event.line == f"{source}:1: not valid Python"
    assert ladder.verdict().text == "NOT CAPTURED"
    assert ladder.report is None
    source.write_text(good)
    ladder.recapture()
    async with soon():
        await ladder.settle()
    assert ladder.verdict().text == "SAME IR 1/1"


async def test_after_a_capture_that_fails_the_old_results_are_stale(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder()
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
        Path(bench.operator.source).write_text("# broken\n")
        ladder.recapture()
        await ladder.settle()
    diff = ladder.board.result("a-0", "diff")
    assert diff is not None
    assert diff.state is StageState.STALE
    assert ladder.verdict().failed == 1
    assert ladder.verdict().text == "NOT CAPTURED"
    ladder.submit(port_text("a", note="typed"), saved=False)
    async with soon():
        await ladder.settle()
    assert ladder.verdict().text == "NOT CAPTURED"
    assert len(bench.of(CaptureFailed)) == 1


async def test_a_capture_is_found_again_when_a_file_is_edited_back(make: MakeBench) -> None:
    bench = make(("a", 1))
    source = Path(bench.operator.source)
    good = source.read_text()
    ladder = bench.ladder()
    ladder.start(port_text("a", "b"))
    async with soon():
        await ladder.settle()
        source.write_text(source_text(("b", 2)))
        ladder.recapture()
        await ladder.settle()
        assert [v.id for v in ladder.board.variants] == ["b-0", "b-1"]
        assert ladder.view == "b-0"
        source.write_text(good)
        ladder.recapture()
        await ladder.settle()
    assert [v.id for v in ladder.board.variants] == ["a-0"]
    assert len(bench.fakes.capture.gate.entered) == 2
    capture = ladder.board.result("", "capture")
    assert capture is not None
    assert capture.cached


async def test_fresh_captures_whatever_the_cache_holds(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder()
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
        ladder.recapture(fresh=True)
        await ladder.settle()
    assert len(bench.fakes.capture.gate.entered) == 2


async def test_the_view_stays_where_a_capture_still_has_it(make: MakeBench) -> None:
    bench = make(("a", 2))
    ladder = bench.ladder()
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    ladder.look_at("a-1")
    Path(bench.operator.source).write_text(source_text(("a", 3), note="edited"))
    ladder.recapture()
    async with soon():
        await ladder.settle()
    assert ladder.view == "a-1"
    assert ladder.verdict().same == 3


async def test_typing_while_a_capture_runs_waits_for_it_once(make: MakeBench) -> None:
    bench = make(("a", 1))
    bench.fakes.capture.gate.hold("capture")
    ladder = bench.ladder()
    ladder.start(port_text("a", note="one"))
    await bench.fakes.capture.gate.reached("capture")
    for note in ("two", "three"):
        ladder.submit(port_text("a", note=note), saved=False)
        await asyncio.sleep(0.005)
    bench.fakes.capture.gate.let_go("capture")
    async with soon():
        await ladder.settle()
    assert len(bench.fakes.capture.gate.entered) == 1
    assert [about for about in bench.fakes.port.gate.entered if "compile" in about] == [
        "compile a // three"
    ]


async def test_a_superseded_capture_never_shows(make: MakeBench) -> None:
    bench = make(("a", 1))
    source = Path(bench.operator.source)
    bench.fakes.capture.gate.hold("capture")
    ladder = bench.ladder()
    ladder.start(port_text("a", "b"))
    await bench.fakes.capture.gate.reached("capture")
    source.write_text(source_text(("b", 1)))
    ladder.recapture()
    await asyncio.sleep(0.01)
    bench.fakes.capture.gate.let_go("capture")
    async with soon():
        await ladder.settle()
    (done,) = bench.of(CaptureDone)
    assert isinstance(done, CaptureDone)
    assert [v.id for v in done.report.variants] == ["b-0"]
    assert bench.fakes.capture.killed == 0


async def test_a_superseded_capture_that_hangs_is_ended(
    make: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tileport.verify.ladder.capturing._GRACE", 0.05)
    bench = make(("hang", 1))
    source = Path(bench.operator.source)
    bench.fakes.capture.gate.hold("hang")
    ladder = bench.ladder()
    ladder.start(port_text("a"))
    await bench.fakes.capture.gate.reached("hang")
    source.write_text(source_text(("a", 1)))
    ladder.recapture()
    async with soon():
        await ladder.settle()
    assert bench.fakes.capture.killed == 1
    assert ladder.verdict().text == "SAME IR 1/1"


async def test_no_variants_is_an_answer(make: MakeBench) -> None:
    ladder = make().ladder()
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    assert ladder.verdict().text == "NO VARIANTS"
    assert ladder.view == ""


# ---------------------------------------------------------------- build, until, pace


def _rustc(line: int, message: str) -> Diagnostic:
    return Diagnostic(
        severity=DiagnosticSeverity.ERROR,
        message=message,
        source=DiagnosticSource.RUSTC,
        place=Place("op.rs", line),
    )


async def test_rustc_comes_behind_and_does_not_repeat_the_frontend(make: MakeBench) -> None:
    bench = make(("a", 1))
    port = bench.operator.port
    bench.fakes.messages = tuple(
        msgspec.structs.replace(d, place=Place(port, line))
        for line, d in ((3, _rustc(3, "again")), (5, _rustc(5, "mismatched types")))
    )
    ladder = bench.ladder(until=None)
    ladder.start(port_text("a", note="syntax"))
    async with soon():
        await ladder.settle()
    assert [(f.stage, f.message) for f in ladder.findings()] == [
        ("compile", "expected `;`"),
        ("build", "mismatched types"),
    ]
    order = [stage for stage, _ in bench.ended()]
    assert order[-1] == "build"
    kinds = [type(event) for event in bench.events]
    assert kinds.index(GenerationDone) < len(kinds) - 1
    assert any(
        isinstance(e, StageChanged) and e.result.reason == "building cutile" for e in bench.events
    )


async def test_without_cargo_the_build_is_skipped_with_the_reason(make: MakeBench) -> None:
    bench = make(("a", 1))
    bench.fakes.error = TileportError("no cargo", todo="install it", code=ExitCode.TOOL_MISSING)
    ladder = bench.ladder(until=None)
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    build = ladder.board.result("", "build")
    assert build is not None
    assert (build.state, build.reason) == (StageState.SKIPPED, "no cargo; install it")
    assert ladder.verdict().text == "SAME IR 1/1"


async def test_a_newer_text_ends_the_build(make: MakeBench) -> None:
    bench = make(("a", 1))
    ladder = bench.ladder(until=None)
    (check,) = bench.fakes.checks
    check.gate.hold("older")
    ladder.start(port_text("a", note="older"))
    await check.gate.reached("older")
    ladder.submit(port_text("a", note="newer"), saved=True)
    async with soon():
        await ladder.settle()
    assert check.gate.cancelled == ["check // older"]
    build = ladder.board.result("", "build")
    assert build is not None
    assert build.state is StageState.OK


@pytest.mark.parametrize(
    ("until", "stages", "text"),
    [
        ("capture", {"capture"}, "2 VARIANTS"),
        ("declare", {"capture", "declare"}, "2 VARIANTS"),
        ("compile", {"capture", "declare", "compile"}, "2 VARIANTS"),
        ("diff", {"capture", "declare", "compile", "diff"}, "SAME IR 2/2"),
    ],
)
async def test_until_ends_the_climb(
    make: MakeBench, until: str, stages: set[str], text: str
) -> None:
    bench = make(("a", 2))
    ladder = bench.ladder(pace=HEADLESS, until=until)
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    assert {stage for stage, _ in bench.ended()} == stages
    assert ladder.verdict().text == text
    assert ladder.verdict().pending == 0


async def test_typed_text_does_the_others_only_after_a_rest(make: MakeBench) -> None:
    bench = make(("a", 2))
    ladder = bench.ladder(pace=msgspec.structs.replace(QUICK, rest=0.15))
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    for number in range(5):
        ladder.submit(port_text("a", note=f"typed {number}"), saved=False)
        await asyncio.sleep(0.03)
    assert [of for stage, of in bench.ended() if stage == "diff"][2:] == ["a-0"] * 5
    async with soon():
        await ladder.settle()
    assert ladder.verdict().same == 2
    ladder.submit(port_text("a", note="typed"), saved=False)
    await asyncio.sleep(0.03)
    ladder.submit(port_text("a", note="typed"), saved=True)
    await asyncio.sleep(0.05)
    assert ladder.verdict().same == 2


async def test_close_is_prompt_in_the_middle_of_everything(make: MakeBench) -> None:
    bench = make(("a", 2))
    bench.fakes.port.gate.hold("compile")
    ladder = bench.ladder(until=None)
    ladder.start(port_text("a"))
    await bench.fakes.port.gate.reached("compile")
    async with asyncio.timeout(0.5):
        await ladder.close()
    assert bench.fakes.port.gate.cancelled
    assert bench.fakes.checks[0].closed


async def test_a_long_port_does_not_hold_the_event_loop(make: MakeBench) -> None:
    bench = make(("a", 1))
    filler = "".join(f"fn f{n}() {{ let x: i32 = {n}; }}\n" for n in range(20_000))
    ladder = bench.ladder()
    ladder.start(port_text("a"))
    async with soon():
        await ladder.settle()
    gaps: list[float] = []

    async def watch() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            gaps.append(time.perf_counter() - last)
            last = time.perf_counter()

    watching = asyncio.create_task(watch())
    started = time.perf_counter()
    for number in range(6):
        ladder.submit(port_text("a", note=f"long {number}") + filler, saved=False)
        await asyncio.sleep(0.01)
    async with asyncio.timeout(60):
        await ladder.settle()
    taken = time.perf_counter() - started
    watching.cancel()
    assert ladder.verdict().same == 1
    # Read on the loop's thread, one gap would be as long as a reading: most of the whole.
    assert max(gaps) < taken / 3
