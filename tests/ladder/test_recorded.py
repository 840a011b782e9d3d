"""Recordings of commands: a second source of variants, as long as no file changed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.ladder.fakes import TARGET, variant, write_operator
from tileport.verify.capture.inputs import hash_inputs
from tileport.verify.ladder.recorded import (
    keep_recording,
    recorded_blobs,
    recordings,
    with_recordings,
)
from tileport.verify.model import CaptureReport, Finding, Severity
from tileport.verify.operator import Operator
from tileport.verify.store import Store
from tileport.verify.workspace import StateFolder, open_state

COMMAND = ("pytest", "-k", "f16")


class Bench:
    def __init__(self, folder: Path) -> None:
        self.operator: Operator = write_operator(folder, ("a", 1))
        self.state: StateFolder = open_state(folder)
        self.store = Store(self.state, limit=1 << 30)
        self.blob = self.store.put_blob(b"reference")

    def report(self, *numbers: int, source: str | None = None, **fields: object) -> CaptureReport:
        where = source or self.operator.source
        report = CaptureReport(
            operator="op",
            source=where,
            variants=tuple(variant("a", number, where, self.blob) for number in numbers),
            findings=(),
            cases=("case",),
            inputs=hash_inputs([where]),
            files=(where,),
            versions={},
            milliseconds=1.0,
            mode="fake",
        )
        return msgspec.structs.replace(report, **fields)

    def joined(self, report: CaptureReport) -> CaptureReport:
        return with_recordings(report, self.operator, self.state, self.store, (TARGET,))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_recorded_variants_join_those_of_the_cases(bench: Bench) -> None:
    keep_recording(bench.state, COMMAND, bench.report(0, 1, cases=("test_x",)))
    joined = bench.joined(bench.report(0))
    assert [v.id for v in joined.variants] == ["a-0", "a-1"]
    assert joined.cases == ("case", "test_x")
    assert joined.inputs == hash_inputs(joined.files)


def test_a_recording_stands_in_for_cases(bench: Bench) -> None:
    keep_recording(bench.state, COMMAND, bench.report(0))
    nothing = Finding(kind="no-cases", severity=Severity.WRONG, message="m", stage="capture")
    joined = bench.joined(bench.report(findings=(nothing,)))
    assert [v.id for v in joined.variants] == ["a-0"]
    assert joined.findings == ()


def test_kernels_of_other_files_and_other_targets_are_left_out(
    bench: Bench, tmp_path: Path
) -> None:
    other = tmp_path / "other.py"
    other.write_text("")
    keep_recording(bench.state, COMMAND, bench.report(1, source=str(other)))
    foreign = bench.report(2)
    moved = tuple(msgspec.structs.replace(v, target="sm_100") for v in foreign.variants)
    keep_recording(bench.state, ("x",), msgspec.structs.replace(foreign, variants=moved))
    assert bench.joined(bench.report(0)) == bench.report(0)


def test_a_recording_of_other_files_is_not_used_and_said(bench: Bench) -> None:
    keep_recording(bench.state, COMMAND, bench.report(1))
    Path(bench.operator.source).write_text("# []\n# edited\n")
    joined = bench.joined(bench.report(0))
    assert [v.id for v in joined.variants] == ["a-0"]
    (finding,) = joined.findings
    assert (finding.kind, finding.severity) == ("recording-stale", Severity.NOTE)
    assert finding.remedy == "tileport capture -- pytest -k f16"


def test_a_recording_without_its_bytecode_is_not_used(bench: Bench) -> None:
    keep_recording(bench.state, COMMAND, bench.report(1))
    (bench.state.blobs / bench.blob).unlink()
    bench.store = Store(bench.state, limit=1 << 30)
    assert [v.id for v in bench.joined(bench.report()).variants] == []


def test_a_recording_of_the_same_command_takes_the_place_of_the_older(bench: Bench) -> None:
    keep_recording(bench.state, COMMAND, bench.report(0))
    keep_recording(bench.state, COMMAND, bench.report(1))
    (kept,) = recordings(bench.state)
    assert [v.id for v in kept.report.variants] == ["a-1"]
    assert set(recorded_blobs(bench.state)) == {bench.blob}


def test_a_file_that_is_no_recording_is_passed_over(bench: Bench) -> None:
    path = keep_recording(bench.state, COMMAND, bench.report(0))
    path.with_name("torn.json").write_text('{"command": ["x"')
    assert len(list(recordings(bench.state))) == 1
