"""Findings allowed in the Rust with a reason."""

from __future__ import annotations

import pytest

from tests.port import support
from tileport.verify.model import Finding, Place, Severity
from tileport.verify.port import apply_allows, parse_port


def finding(kind: str, line: int, file: str = "ops/op.rs") -> Finding:
    return Finding(
        kind=kind,
        severity=Severity.SLOW,
        message="m",
        stage="diff",
        python=Place("op.py", 1),
        rust=Place(file, line),
    )


_TEXT = """\
#[cutile::module]
pub mod op {
    // tileport: allow(hint-lost, hint-changed) because it was measured
    #[cutile::entry(optimization_hints = (sm_90 = (
        occupancy = 1,
    ),))]
    pub fn op(
        x: f32, // tileport: allow(dtype-changed) because x is small
    ) {
        // tileport: allow(rounding-lost) because i is never negative
        for i in 0..3 {
            let a: i32 = i / 2;
        }
    }
}
"""


def test_an_allowed_finding_has_the_reason() -> None:
    port = parse_port(_TEXT, "op.rs")
    given = [finding("dtype-changed", 8), finding("other", 8), finding("dtype-changed", 7)]
    marked = apply_allows(given, port)
    assert [f.allowed for f in marked] == ["x is small", None, None]
    assert marked[1:] == tuple(given[1:])


@pytest.mark.parametrize("line", [4, 5, 7])
def test_an_allow_above_an_entry_covers_its_attributes_and_name(line: int) -> None:
    port = parse_port(_TEXT, "op.rs")
    assert apply_allows([finding("hint-changed", line)], port)[0].allowed == "it was measured"


def test_an_allow_above_a_block_covers_its_first_line_only() -> None:
    port = parse_port(_TEXT, "op.rs")
    marked = apply_allows([finding("rounding-lost", 11), finding("rounding-lost", 12)], port)
    assert [f.allowed for f in marked] == ["i is never negative", None]


def test_findings_of_another_file_or_without_a_place_are_not_allowed() -> None:
    port = parse_port(_TEXT, "op.rs")
    elsewhere = finding("dtype-changed", 8, "other.rs")
    nowhere = Finding(kind="dtype-changed", severity=Severity.SLOW, message="m", stage="diff")
    assert [f.allowed for f in apply_allows([elsewhere, nowhere], port)] == [None, None]


def test_an_allow_nothing_needs_is_a_note_once_all_is_known() -> None:
    port = parse_port(_TEXT, "op.rs")
    given = [finding("dtype-changed", 8), finding("hint-lost", 4)]
    assert len(apply_allows(given, port)) == 2
    unused = apply_allows(given, port, complete=True)[2:]
    assert [(f.kind, f.severity) for f in unused] == [("allow-unused", Severity.NOTE)]
    assert unused[0].rust == Place("op.rs", 10)


@pytest.mark.parametrize(
    ("comment", "kind"),
    [
        ("allow(hint-lost)", "allow-without-reason"),
        ("allow(hint-lost) because", "allow-without-reason"),
        ("allow(hint-lost) because   ", "allow-without-reason"),
        ("allow(hint-lost) since it is right", "line-unreadable"),
        ("allow hint-lost because it is right", "line-unreadable"),
        ("allow() because it is right", "line-unreadable"),
        ("allow(Hint Lost) because it is right", "line-unreadable"),
    ],
)
def test_an_allow_without_a_reason_allows_nothing(comment: str, kind: str) -> None:
    text = support.text("scale(x: f32)").replace(
        "program_id(0);", f"program_id(0); // tileport: {comment}"
    )
    port = parse_port(text, "op.rs")
    assert port.allows == ()
    assert [e.kind for e in port.errors] == [kind]
    assert port.errors[0].rust is not None and port.errors[0].rust.line == 6
