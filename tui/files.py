"""Files as the panes show them: exact text, or a readable stand-in and the reason."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_MOST_BYTES = 16 << 20


class Opened(NamedTuple):
    """A file's text; `exact` is false where it is not what saving would write back.

    `text` is None where there is no file. `problem` says in a few words what is wrong.
    """

    text: str | None
    exact: bool = True
    problem: str = ""


def open_text(path: str | None) -> Opened:
    """Read a file for showing; never raises for what is on disk."""
    if path is None:
        return Opened(None, problem="no source file")
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return Opened(None)
    except OSError as error:
        return Opened(None, exact=False, problem=(error.strerror or "cannot be read").lower())
    if len(data) > _MOST_BYTES:
        return Opened("", exact=False, problem="larger than 16 MiB: not shown")
    try:
        return Opened(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        text = data.decode("utf-8", "replace")
        return Opened(text, exact=False, problem=f"not UTF-8 (line {line}): read-only")
