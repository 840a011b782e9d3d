"""Which lines of the three panes belong together, also while the Rust text is being edited."""

from __future__ import annotations

from tileport.tui.text.irview import IRRow, LineMap
from tileport.tui.text.merge import RowMap
from tileport.verify.diff.model import Comparison
from tileport.verify.model import Finding

_NO_ROWS: frozenset[int] = frozenset()


class Links:
    """Line relations of one comparison.

    The comparison speaks of the Rust text it was made from; rows of the text in the editor are
    found by what changed since. Rows count from 0 here, lines from 1.
    """

    def __init__(self) -> None:
        self._map = LineMap([])
        self._judged: list[str] = []
        self._current: list[str] = []
        self._rows = RowMap([], [])

    def set_rows(self, rows: list[IRRow]) -> None:
        """The rows of the IR pane."""
        if rows is not self._map.rows:
            self._map = LineMap(rows)

    def set_texts(self, judged: list[str], current: list[str]) -> None:
        """The Rust text the results are about, and the one in the editor."""
        if judged != self._judged or current != self._current:
            self._judged, self._current = judged, list(current)
            self._rows = RowMap(judged, current)

    def rust_row(self, line: int) -> int:
        """The editor's row for a Rust line of the results."""
        return max(0, self._rows.forward(line - 1))

    def _rust_rows(self, lines: frozenset[int]) -> frozenset[int]:
        return frozenset(
            self._rows.forward(line - 1) for line in lines if self._rows.survives(line - 1)
        )

    def from_python(self, row: int) -> tuple[frozenset[int], frozenset[int]]:
        """Editor rows and IR rows for a row of the Python source."""
        lines, rows = self._map.of_python(row + 1)
        return self._rust_rows(lines), rows

    def from_rust(self, row: int) -> tuple[frozenset[int], frozenset[int]]:
        """Python rows and IR rows for a row of the editor."""
        judged = self._rows.back(row)
        if judged < 0:
            return _NO_ROWS, _NO_ROWS
        lines, rows = self._map.of_rust(judged + 1)
        return frozenset(line - 1 for line in lines), rows

    def from_ir(self, row: int) -> tuple[frozenset[int], frozenset[int]]:
        """Python rows and editor rows for a row of the IR pane."""
        python, rust = self._map.of_row(row)
        return (
            frozenset({python - 1}) if python else _NO_ROWS,
            self._rust_rows(frozenset({rust})) if rust else _NO_ROWS,
        )

    def ir_rows_of(self, finding: Finding, comparison: Comparison | None) -> list[int]:
        """The IR rows that show a finding, else those of its lines."""
        rows = self._map.rows
        if comparison is not None:
            same = {
                index
                for index, found in enumerate(comparison.findings)
                if (found.kind, found.python, found.rust)
                == (finding.kind, finding.python, finding.rust)
            }
            exact = [index for index, row in enumerate(rows) if row.finding in same]
            if exact:
                return exact
        rust = finding.rust.line if finding.rust else 0
        python = finding.python.line if finding.python else 0
        found_rows = self._map.of_rust(rust)[1] if rust else _NO_ROWS
        return sorted(found_rows or (self._map.of_python(python)[1] if python else _NO_ROWS))
