"""The marks in the gutters: severities of findings, and what a specialization fixes where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tileport.tui.widgets.code_area import GutterMark
from tileport.verify.model import Finding, Severity

if TYPE_CHECKING:
    from tileport.tui.session_like import SessionLike
    from tileport.verify.model import Variant
    from tileport.verify.port import Mark, PortFile

_SYMBOLS = {
    "must-declare": ("mark.missing", "\u25c7"),
    "declared": ("mark.declared", "\u25c6"),
    "implicit": ("mark.implicit", "\u25c7"),
}
#: Of several marks on one line the first of these is shown.
_ORDER = tuple(_SYMBOLS)
#: Texts longer than this many characters are not read for marks, which would be felt in typing.
_MOST = 400_000


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
    worst: dict[int, Severity] = {}
    for line, finding in findings:
        if finding.allowed is not None or line <= 0:
            continue
        row = row_of(line)
        severity = finding.severity
        if row not in worst or severity.rank < worst[row].rank:
            worst[row] = severity
            rows[row] = GutterMark(f"severity.{severity.value}", severity.letter)
    for mark in sorted(marks, key=lambda m: -_ORDER.index(m.kind)):
        style, symbol = _SYMBOLS[mark.kind]
        row = row_of(mark.line)
        rows[row] = rows.get(row, GutterMark())._replace(declared=style, symbol=symbol)
    return rows


def of_python(variant: Variant, source: str) -> Sequence[Mark]:
    """Marks of the Python source for a variant."""
    return _python_marks(source, variant) if len(source) <= _MOST else ()


def of_rust(session: SessionLike, variant: Variant, text: str) -> Sequence[Mark]:
    """Marks of the Rust text that the facts of the variant are about."""
    from tileport.verify.port import rust_marks  # noqa: PLC0415  # after the first paint

    entries = _read(text).entries if len(text) <= _MOST else ()
    entry = next((e for e in entries if e.kernel == variant.kernel.name), None)
    return rust_marks(entry, session.facts(variant.id))


@lru_cache(maxsize=8)
def _python_marks(source: str, variant: Variant) -> tuple[Mark, ...]:
    from tileport.verify.port import python_marks  # noqa: PLC0415  # after the first paint

    return python_marks(source, variant)


@lru_cache(maxsize=2)
def _read(text: str) -> PortFile:
    from tileport.verify.port import parse_port  # noqa: PLC0415  # after the first paint

    return parse_port(text, "")
