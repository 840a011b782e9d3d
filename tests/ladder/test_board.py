"""The board: merged findings, what is stale, and the verdict in words."""

from __future__ import annotations

import msgspec
import pytest

from tests.ladder.fakes import variant
from tileport.verify.diff.model import Comparison, DiffVerdict
from tileport.verify.ladder.board import Board, by_weight, merge, without_echoes
from tileport.verify.ladder.climb import Outcome
from tileport.verify.ladder.stages import STAGE_NAMES, STAGES, stage_named, stages_until
from tileport.verify.ladder.verdict import Verdict, verdict_text
from tileport.verify.model import Finding, Place, Severity, StageResult, StageState

ONE, TWO = (variant("a", number, "/op.py", "0" * 64) for number in range(2))


def _finding(kind: str = "k", severity: Severity = Severity.SLOW, line: int = 3) -> Finding:
    return Finding(
        kind=kind, severity=severity, message="m", stage="diff", rust=Place("/op.rs", line)
    )


def _put(
    board: Board, of: str, stage: str, *findings: Finding, verdict: DiffVerdict | None = None
) -> None:
    state = StageState.FINDINGS if findings else StageState.OK
    result = StageResult(stage=stage, variant=of, state=state, findings=findings)
    product = Comparison(verdict=verdict) if verdict else None
    board.put(Outcome(result, product))


@pytest.fixture
def board() -> Board:
    board = Board(stages_until("diff"))
    board.begin(1)
    board.set_variants((ONE, TWO))
    _put(board, "", "capture")
    return board


def test_the_table_of_stages_is_in_order_of_what_needs_what() -> None:
    seen: set[str] = set()
    for stage in STAGES:
        assert set(stage.after) <= seen
        seen.add(stage.name)
    assert STAGE_NAMES == ("capture", "declare", "compile", "diff", "build")
    assert stage_named("diff").short == "diff"
    with pytest.raises(KeyError):
        stages_until("assemble")


def test_equal_findings_of_several_variants_are_one(board: Board) -> None:
    _put(board, "a-1", "diff", _finding(), verdict=DiffVerdict.DIFFERENT)
    _put(board, "a-0", "diff", _finding(), _finding("other"), verdict=DiffVerdict.DIFFERENT)
    found = {f.kind: f.variants for f in board.findings()}
    assert found == {"k": ("a-0", "a-1"), "other": ("a-0",)}


def test_findings_that_differ_anywhere_are_not_merged() -> None:
    first = _finding()
    others = [
        msgspec.structs.replace(first, rust=Place("/op.rs", 4)),
        msgspec.structs.replace(first, severity=Severity.NOTE),
        msgspec.structs.replace(first, reference="x"),
        msgspec.structs.replace(first, allowed="because"),
    ]
    assert len(merge([first, *others, first])) == 5


def test_variants_a_finding_names_itself_are_kept() -> None:
    named = msgspec.structs.replace(_finding(), variants=("x", "y"))
    (merged,) = merge([named, msgspec.structs.replace(_finding(), variants=("y", "z"))])
    assert merged.variants == ("x", "y", "z")


def test_a_new_generation_makes_results_stale_until_they_are_replaced(board: Board) -> None:
    _put(board, "a-0", "diff", _finding(), verdict=DiffVerdict.DIFFERENT)
    board.begin(2)
    stale = board.result("a-0", "diff")
    assert stale is not None
    assert stale.state is StageState.STALE
    assert board.findings() == ()
    assert len(board.findings(stale=True)) == 1
    assert board.current("a-0", "diff") is None
    board.run("a-0", "diff")
    running = board.result("a-0", "diff")
    assert running is not None
    assert running.state is StageState.RUNNING
    assert len(board.findings(stale=True)) == 1
    _put(board, "a-0", "diff", verdict=DiffVerdict.SAME)
    assert board.findings(stale=True) == ()


def test_variants_that_are_gone_leave_nothing(board: Board) -> None:
    _put(board, "a-0", "diff", _finding(), verdict=DiffVerdict.DIFFERENT)
    board.set_variants((TWO,))
    assert board.findings(stale=True) == ()
    assert board.product("a-0", "diff") is None
    assert board.result("", "capture") is not None


def test_a_stage_that_never_ran_has_no_result(board: Board) -> None:
    assert board.result("a-0", "compile") is None


def test_the_verdict_counts_variants_and_findings(board: Board) -> None:
    _put(board, "a-0", "diff", verdict=DiffVerdict.SAME)
    assert board.verdict(board.findings()).text == "SAME IR 1/2 · 1 pending"
    _put(board, "a-1", "diff", _finding(), verdict=DiffVerdict.DIFFERENT)
    found = board.findings()
    assert board.verdict(found).text == "SAME IR 1/2 · 1 finding"
    allowed = tuple(msgspec.structs.replace(f, allowed="because") for f in found)
    verdict = board.verdict(allowed)
    assert (verdict.allowed, verdict.slow, verdict.worst) == (1, 0, None)
    assert verdict.text == "SAME IR 1/2"
    assert not verdict.reaches(Severity.NOTE)


@pytest.mark.parametrize(
    ("verdict", "captured", "compared", "text"),
    [
        (Verdict(), None, True, "CAPTURING"),
        (Verdict(total=3, failed=3), False, True, "NOT CAPTURED"),
        (Verdict(), True, True, "NO VARIANTS"),
        (Verdict(wrong=1), True, True, "NO VARIANTS · 1 finding"),
        (Verdict(total=1), True, False, "1 VARIANT"),
        (
            Verdict(total=8, same=6, different=2, wrong=1, slow=1, note=5),
            True,
            True,
            "SAME IR 6/8 · 2 findings",
        ),
        (
            Verdict(total=8, same=5, same_if=1, failed=1, pending=1),
            True,
            True,
            "SAME IR 6/8 · 1 under assumptions · 1 not compared · 1 pending",
        ),
    ],
)
def test_the_verdict_in_words(
    verdict: Verdict, captured: bool | None, compared: bool, text: str
) -> None:
    assert verdict_text(verdict, captured=captured, compared=compared) == text


def test_the_worst_finding_that_is_not_allowed_comes_first() -> None:
    wrong, slow = _finding("w", Severity.WRONG), _finding("s", Severity.SLOW)
    allowed = msgspec.structs.replace(wrong, allowed="because")
    earlier = _finding("w", Severity.WRONG, line=1)
    nowhere = msgspec.structs.replace(wrong, rust=None)
    ordered = sorted([allowed, slow, nowhere, wrong, earlier], key=by_weight)
    assert ordered == [earlier, wrong, nowhere, slow, allowed]


def test_echoes_are_left_out() -> None:
    syntax = msgspec.structs.replace(_finding("rust-syntax", Severity.WRONG), stage="declare")
    error = msgspec.structs.replace(_finding("compile-error", Severity.WRONG), stage="compile")
    again = msgspec.structs.replace(_finding("compile-error", Severity.WRONG), stage="build")
    more = msgspec.structs.replace(again, rust=Place("/op.rs", 9))
    assert without_echoes((syntax, error, again, more), compiled=True) == (error, more)
    assert without_echoes((syntax,), compiled=False) == (syntax,)
