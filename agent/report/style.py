"""Colour for a terminal, and none where nobody asked for it."""

from __future__ import annotations

import os
import sys

from tileport.verify.model import Severity

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "magenta": "35",
    "cyan": "36",
}

SEVERITY_COLOUR = {
    Severity.WRONG: "red",
    Severity.UNSAFE: "magenta",
    Severity.SLOW: "yellow",
    Severity.NOTE: "dim",
}


class Style:
    """Wraps text in SGR codes when `enabled`."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __call__(self, text: str, *names: str) -> str:
        """`text` in the named styles."""
        if not self.enabled or not names:
            return text
        codes = ";".join(_CODES[name] for name in names)
        return f"\x1b[{codes}m{text}\x1b[0m"


def style_for(choice: str) -> Style:
    """The style for `--color auto|always|never` and standard output.

    `NO_COLOR` (no-color.org) and a `dumb` terminal turn `auto` off.
    """
    if choice == "auto":
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        return Style(sys.stdout.isatty() and not plain)
    return Style(choice == "always")
