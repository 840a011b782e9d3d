"""Every output format tells the same findings, and nothing of them can act as markup."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tileport.agent.report import github, jsonout, sarif, text
from tileport.agent.report.model import (
    CheckReport,
    FactReport,
    OperatorReport,
    StageReport,
    VariantReport,
)
from tileport.agent.report.style import Style
from tileport.verify.model import Finding, Kernel, Place, Severity, StageState
from tileport.verify.safe_text import one_line, visible

PLAIN = Style(enabled=False)


def finding(**changes: object) -> Finding:
    base: dict[str, object] = {
        "kind": "rounding-lost",
        "severity": Severity.WRONG,
        "message": "`/` truncates, Python floors.",
        "stage": "diff",
        "python": Place("op.py", 12, 5),
        "rust": Place("op.rs", 34, 9),
        "reference": "divi signed rounding<negative_inf>",
        "port": "divi signed",
        "remedy": "Use floor_div.",
        "variants": ("v1", "v2"),
    }
    return Finding(**{**base, **changes})  # type: ignore[arg-type] # a test's free-form keywords


def report(*findings: Finding, port_exists: bool = True, exit_code: int = 1) -> CheckReport:
    operator = OperatorReport(
        operator="op",
        source="op.py",
        port="op.rs",
        port_exists=port_exists,
        kernels=(Kernel(name="k", qualname="k", place=Place("op.py", 3), end_line=20),),
        variants=(
            VariantReport(
                id="v1",
                kernel="k",
                label="f16 N=128",
                target="sm_90",
                cases=("one",),
                verdict="different",
                assumptions=(),
                stages={
                    "compile": StageReport(state=StageState.OK, milliseconds=71.2, cached=False),
                    "diff": StageReport(state=StageState.FINDINGS, milliseconds=9.0, cached=True),
                },
                candidates=3,
            ),
        ),
        findings=findings,
        facts=(
            FactReport(
                kernel="k",
                variant="v1",
                parameter="x",
                fact="f16, rank 2",
                origin="the launch",
                declared_as="",
                state="missing",
            ),
        ),
        verdict="SAME IR 0/1",
        milliseconds=1234.0,
        exit_code=exit_code,
    )
    return CheckReport(
        tileport="0.1.0",
        versions={"cuda-tile": "1.7.0"},
        threshold=Severity.SLOW,
        targets=("sm_90",),
        operators=(operator,),
        exit_code=exit_code,
    )


def test_text_shows_both_places_both_sides_and_the_remedy() -> None:
    shown = text.render(report(finding()), PLAIN)
    for piece in ("op.rs:34", "op.py:12", "- divi signed rounding", "+ divi signed", "floor_div"):
        assert piece in shown
    assert "W rounding-lost" in shown
    assert "in 2 variants" in shown
    assert "71 ms" in shown and "cached" in shown and "+3 candidates" in shown


def test_notes_are_counted_and_shown_only_when_asked_for() -> None:
    note = finding(kind="pad-note", severity=Severity.NOTE)
    assert "pad-note" not in text.render(report(note), PLAIN)
    assert "1 note" in text.render(report(note), PLAIN)
    assert "pad-note" in text.render(report(note), PLAIN, verbose=True)


def test_an_allowed_finding_is_shown_with_its_reason() -> None:
    shown = text.render(report(finding(allowed="measured slower with it")), PLAIN)
    assert "allowed: measured slower with it" in shown


def test_without_a_port_the_facts_are_listed() -> None:
    shown = text.render(report(port_exists=False), PLAIN)
    assert "no port" in shown
    assert "f16, rank 2" in shown


def test_colour_only_when_enabled() -> None:
    assert "\x1b" not in text.render(report(finding()), PLAIN)
    assert "\x1b[" in text.render(report(finding()), Style(enabled=True))


def test_github_annotation_points_at_the_rust_line() -> None:
    (line,) = github.render(report(finding())).splitlines()
    assert line.startswith("::error file=op.rs,line=34,col=9,title=tileport rounding-lost::")
    assert "op.py:12" in line


def test_github_says_notice_below_the_threshold_and_where_allowed() -> None:
    mild = finding(severity=Severity.NOTE)
    allowed = finding(allowed="reason")
    lines = github.render(report(mild, allowed)).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::notice", "::notice"]


@given(st.text(), st.text())
def test_github_message_cannot_start_a_second_command(message: str, path: str) -> None:
    shown = github.render(report(finding(message=message, rust=Place(path or "x", 1))))
    assert shown.count("\n") == 1
    assert "\r" not in shown
    properties = shown.partition(" ")[2].partition("::")[0]
    assert properties.count(",") == 2


def test_sarif_has_rule_place_related_place_and_suppression() -> None:
    log = json.loads(sarif.render(report(finding(), finding(kind="other", allowed="why"))))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == ["other", "rounding-lost"]
    first, second = run["results"]
    assert first["level"] == "error"
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "rounding-lost"
    assert first["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 34,
        "startColumn": 9,
    }
    related = first["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"] == "op.py"
    assert second["suppressions"] == [{"kind": "inSource", "justification": "why"}]


def test_json_carries_everything() -> None:
    data = json.loads(jsonout.render(report(finding())))
    assert data["operators"][0]["findings"][0]["rust"] == {"file": "op.rs", "line": 34, "column": 9}
    assert data["operators"][0]["variants"][0]["stages"]["compile"]["milliseconds"] == 71.2
    assert data["exit_code"] == 1


@given(st.text())
def test_visible_text_holds_no_control_or_direction_character(raw: str) -> None:
    shown = visible(raw)
    forbidden = set(map(chr, [*range(9), *range(11, 32), *range(0x7F, 0xA0)]))
    forbidden |= set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")
    assert not forbidden & set(shown)


@given(st.text(alphabet=st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"])))
def test_visible_leaves_plain_text_alone(raw: str) -> None:
    assert visible(raw) == raw


@given(st.text())
def test_one_line_is_one_line(raw: str) -> None:
    assert "\n" not in one_line(raw)
    assert len(one_line(raw, 20)) <= 20
