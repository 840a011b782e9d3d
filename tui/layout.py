"""How the panes are arranged at a given size of the terminal."""

from __future__ import annotations

from enum import StrEnum


class Layout(StrEnum):
    """The three arrangements; the value is the class name on the screen."""

    #: Source, port and IR side by side.
    WIDE = "-wide"
    #: Source and port side by side, the IR below both.
    MEDIUM = "-medium"
    #: One pane at a time, with a line of tabs.
    SMALL = "-small"


def choose_layout(width: int, height: int) -> Layout:
    """The arrangement for a terminal of `width` columns and `height` rows."""
    if width >= 156 and height >= 16:
        return Layout.WIDE
    if width >= 118 and height >= 30:
        return Layout.MEDIUM
    return Layout.SMALL


def findings_height(height: int) -> int:
    """Rows for the findings list beside three panes."""
    return max(4, min(9, height // 6))
