"""Errors as a person reads them, and the exit codes of every tileport command."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a tileport command ends with."""

    CLEAN = 0
    FINDINGS = 1
    USAGE = 2
    TOOL_MISSING = 3
    INTERNAL = 4
    INTERRUPTED = 130


class TileportError(Exception):
    """One line that says what is wrong, where, and what to do.

    Args:
        what: What is wrong, without a full stop.
        where: `file:line`, or None where there is no place.
        todo: What the person can do about it.
        code: What a command ends with when this reaches its top.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        todo: str | None = None,
        code: ExitCode = ExitCode.USAGE,
    ) -> None:
        self.what = what
        self.where = where
        self.todo = todo
        self.code = code
        super().__init__(self.line())

    def line(self) -> str:
        """The one line."""
        place = f"{self.where}: " if self.where else ""
        advice = f"; {self.todo}" if self.todo else ""
        return f"{place}{self.what}{advice}"
