"""The command that opens a file in the person's own editor."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import PurePath

from tileport.verify.errors import TileportError

_PLUS_LINE = frozenset(
    {
        *("vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient"),
        *("micro", "kak", "joe", "mg", "ne", "ed", "jed", "mcedit"),
    }
)
_COLON_LINE = frozenset({"hx", "helix", "subl", "zed"})
_GOTO = frozenset({"code", "codium", "cursor"})


def editor_command(path: str, line: int, environ: Mapping[str, str]) -> list[str]:
    """`$VISUAL` or `$EDITOR` as a command for `path`, at `line` (1-based) where it knows how.

    Raises:
        TileportError: neither is set, or its value is no command line.
    """
    value = environ.get("VISUAL") or environ.get("EDITOR")
    if not value:
        raise TileportError("neither $VISUAL nor $EDITOR is set", todo="export EDITOR=vim, say")
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise TileportError(f"$EDITOR is no command line: {error}") from error
    if not words:
        raise TileportError("$EDITOR is blank", todo="export EDITOR=vim, say")
    name = PurePath(words[0]).name
    if name in _PLUS_LINE:
        return [*words, f"+{line}", path]
    if name in _COLON_LINE:
        return [*words, f"{path}:{line}"]
    if name in _GOTO:
        waits = [] if {"--wait", "-w"} & set(words) else ["--wait"]
        return [*words, *waits, "--goto", f"{path}:{line}"]
    return [*words, path]
