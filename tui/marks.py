"""The marks in the gutters: severities of findings, and what a specialization fixes where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from tileport.tui.widgets.code_area import GutterMark
from tileport.verify.model import Finding

if TYPE_CHECKING:
    from tileport.tui.session_like import SessionLike


class Mark(NamedTuple):
    """What a specialization fixes at one line: `kind` is declared, implicit or missing."""

    line: int
    kind: str


_SYMBOLS = {
    "declared": ("mark.declared", "\u25c6"),
    "implicit": ("mark.implicit", "\u25c7"),
    "missing": ("mark.missing", "\u25c7"),
}
_ORDER = ("missing", "declared", "implicit")


def gutter(
    findings: Iterable[tuple[int, Finding]],
    marks: Iterable[Mark],
    row_of: Callable[[int], int],
) -> dict[int, GutterMark]:
    """Marks by row (0-based) of one pane.

    Args:
        findings: Line (1-based) in this pane, and the finding.
        marks: Specialization marks of this pane.
        row_of: The row of the pane for a line.
    """
    rows: dict[int, GutterMark] = {}
    worst: dict[int, int] = {}
    for line, finding in findings:
        if finding.allowed is not None or line <= 0:
            continue
        row = row_of(line)
        severity = finding.severity
        if severity.rank < worst.get(row, len(_ORDER) + 1):
            worst[row] = severity.rank
            rows[row] = GutterMark(f"severity.{severity.value}", severity.letter)
    for mark in sorted(marks, key=lambda m: -_ORDER.index(m.kind)):
        style, symbol = _SYMBOLS[mark.kind]
        row = row_of(mark.line)
        rows[row] = rows.get(row, GutterMark())._replace(declared=style, symbol=symbol)
    return rows


def specialization_marks(session: SessionLike) -> tuple[list[Mark], list[Mark]]:
    """Marks of the Python source and of the Rust port for the variant in view."""
    python: list[Mark] = []
    rust: list[Mark] = []
    variant = next((v for v in session.variants if v.id == session.view), None)
    if variant is None:
        return python, rust
    for fact in session.facts(variant.id):
        if fact.line:
            kinds = {"declared": "declared", "inferred": "implicit"}
            rust.append(Mark(fact.line, kinds.get(fact.state, "missing")))
    for parameter in variant.parameters:
        kind = "declared" if parameter.annotation else "implicit"
        python.append(Mark(parameter.place.line, kind))
    return python, rust
