"""What a GPU adds, as far as it can be tested without one; the rest is in tests/gpu."""

from __future__ import annotations

import pytest

from tests.capture.conftest import Capture
from tests.capture.support import ADD
from tileport.verify.capture.outcome import Launch, Outcome
from tileport.verify.capture.request import LaunchRecord, RepeatedLaunch, Reported
from tileport.verify.capture.targets import local_targets
from tileport.verify.capture.variants import build_variants
from tileport.verify.gpus import gpus
from tileport.verify.model import Finding, Hints, Kernel, Place, Severity

pytestmark = pytest.mark.asyncio(loop_scope="session")


def record(reference: str, case: str) -> LaunchRecord:
    return LaunchRecord(
        kernel=Kernel(name="k", qualname="k", place=Place("op.py", 1), end_line=2),
        parameters=(),
        hints=Hints(),
        folded=(),
        grid=(1,),
        case=case,
        via="launch",
        symbol="k",
        reference=reference,
    )


def needs_data(case: str) -> Finding:
    return Finding(
        kind="capture-needs-data", severity=Severity.WRONG, message=case, stage="capture"
    )


async def test_cases_run_again_on_the_gpu_take_the_place_of_their_first_run() -> None:
    fake = Outcome(target="sm_90", cases={0: "plain", 1: "needs", 2: "other"})
    fake.take(record("both", "plain"))
    fake.take(RepeatedLaunch(launch=0, case="needs", via="launch"))
    fake.take(record("only-needs", "needs"))
    fake.take(Reported(finding=needs_data("needs"), index=1))
    fake.take(Reported(finding=needs_data("kept"), index=2))
    real = Outcome(target="sm_90", real=True, cases={1: "needs"})
    for reference in ("both", "only-needs", "after"):
        real.take(record(reference, "needs"))
    joined = fake.with_cases_of(real, {1})
    assert joined.real
    assert [finding.message for _, finding in joined.findings] == ["kept"]
    variants = build_variants(joined.launches, "sm_90", "13.4")
    assert {v.reference: v.cases for v in variants} == {
        "both": ("plain", "needs"),
        "only-needs": ("needs",),
        "after": ("needs",),
    }


async def test_launches_of_several_processes_are_counted_apart() -> None:
    outcome = Outcome(target="sm_90")
    for process in ("a", "b"):
        outcome.begin_process()
        outcome.take(record(process, "first"))
        outcome.take(RepeatedLaunch(launch=0, case="second", via="launch", candidates=3))
    assert [(launch.record.reference, launch.cases) for launch in outcome.launches] == [
        ("a", ["first", "second"]),
        ("b", ["first", "second"]),
    ]
    assert all(isinstance(launch, Launch) and launch.candidates == 3 for launch in outcome.launches)


# A recorder as on a machine with a GPU, made inside a worker; what would run there is noted.
REAL = (
    ADD
    + """
from tileport.verify.capture import recorder as module

def check(tmp):
    events, calls = [], []
    def launch(stream, grid, kernel, args, **options):
        assert events, "recorded before it is launched"
        calls.append(("launch", grid, options))
    def search(space, stream, grid_fn, kernel, args_fn, hints_fn=None, **options):
        calls.append(("search", list(space), options))
        measured = [
            module._tune.Measurement(config=c, mean_us=t, num_samples=5, error_margin_us=0.1)
            for c, t in zip(space, (9.0, 4.0, 6.0))
        ]
        return module._tune.TuningResult(
            best=min(measured, key=lambda m: m.mean_us), successes=measured, failures=()
        )
    module.real_launch, module.real_search = launch, search
    real = module.Recorder(
        target="sm_90", bytecode_version="13.4", blobs=tmp, emit=events.append,
        case=lambda: "case", real=True,
    )
    real.install()
    x = vector()
    out = torch.empty_like(x)
    result = ct.tune.exhaustive_search(
        [64, 128, 256], 0, lambda t: (1024 // t,), add, lambda t: (x, x, out, t), quiet=True
    )
    assert result.best.config == 128, "the one measured fastest"
    ct.launch(0, (8,), add, (x, x, out, 128), programmatic_dependent_launch=True)
    assert calls == [
        ("search", [64, 128, 256], {"quiet": True}),
        ("launch", (8,), {"programmatic_dependent_launch": True}),
    ], calls
    (event,) = events
    assert (event.via, event.candidates, event.grid) == ("launch", 2, (8,))
    assert event.parameters[-1].spec.value == 128

def tileport_cases():
    yield "real", lambda: check("blobs")
"""
)


async def test_with_a_gpu_launches_and_tuning_run_after_they_are_recorded(
    capture: Capture,
) -> None:
    report = await capture(REAL)
    assert [f.message for f in report.findings if f.kind != "no-kernel"] == []


async def test_local_targets_are_those_of_the_gpus() -> None:
    assert await local_targets() == tuple(gpu.target for gpu in gpus())
