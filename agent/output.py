"""Where commands write: results to standard output, what a person should know to standard error."""

from __future__ import annotations

import sys

from tileport.verify.safe_text import one_line


def write(text: str) -> None:
    """Write a result. The text is already safe to show (see `tileport.verify.safe_text`)."""
    sys.stdout.write(text)
    sys.stdout.flush()


def say(line: str) -> None:
    """Tell the person one line, on standard error."""
    sys.stderr.write(one_line(line, 2000) + "\n")
    sys.stderr.flush()


class Progress:
    """One line on a terminal that is rewritten while work goes on; silent elsewhere."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled and sys.stderr.isatty()
        self._shown = False

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._enabled:
            sys.stderr.write(f"\r\x1b[2K{one_line(text, 100)}")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._shown = False
