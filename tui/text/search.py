"""Searching lines: plain text, case ignored unless the pattern has capitals."""

from __future__ import annotations

import re
from collections.abc import Sequence


def pattern_for(text: str) -> re.Pattern[str] | None:
    """The pattern for what was typed; None for nothing."""
    if not text:
        return None
    return re.compile(re.escape(text), 0 if text != text.lower() else re.IGNORECASE)


def find(
    lines: Sequence[str],
    pattern: re.Pattern[str],
    start: tuple[int, int],
    *,
    backwards: bool = False,
) -> tuple[int, int, int] | None:
    """The next match from `start` (row, column) on, around the end: row, first, last column.

    Backwards, the last match that begins before `start`.
    """
    row, column = start
    count = len(lines)
    for step in range(count + 1):
        at = (row - step if backwards else row + step) % count
        spans = [match.span() for match in pattern.finditer(lines[at])]
        if step == 0:
            spans = [s for s in spans if (s[0] < column if backwards else s[0] >= column)]
        elif step == count:
            spans = [s for s in spans if (s[0] >= column if backwards else s[0] < column)]
        if spans:
            low, high = spans[-1] if backwards else spans[0]
            return at, low, high
    return None
