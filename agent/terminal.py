"""What the terminal around us can do, as far as its environment tells."""

from __future__ import annotations

import locale
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

import msgspec


class Ability(msgspec.Struct, frozen=True, kw_only=True):
    """One ability; `advice` is empty where nothing is to be done."""

    name: str
    value: str
    advice: str = ""


def _colours(environment: Mapping[str, str]) -> Ability:
    term = environment.get("TERM", "")
    if "NO_COLOR" in environment:
        return Ability(name="colours", value="none (NO_COLOR is set)")
    if term in ("", "dumb"):
        return Ability(
            name="colours",
            value=f"none (TERM is {term or 'not set'})",
            advice="set TERM, for example to xterm-256color",
        )
    if environment.get("COLORTERM", "") in ("truecolor", "24bit"):
        return Ability(name="colours", value="16 million")
    if "256color" in term or term.startswith(("tmux", "screen-256")):
        advice = ""
        if "TMUX" in environment:
            advice = "tmux can pass true colour: set -as terminal-features ',*:RGB'"
        return Ability(name="colours", value="256", advice=advice)
    return Ability(name="colours", value="16", advice="--theme terminal suits 16 colours")


def _multiplexer(environment: Mapping[str, str]) -> Ability:
    if "TMUX" not in environment:
        inside = "screen" if environment.get("STY") else "none"
        return Ability(name="multiplexer", value=inside)
    program = shutil.which("tmux")
    version, advice = "tmux", ""
    if program is not None:
        version = _ask(program, "-V") or version
        clipboard = _ask(program, "show-options", "-gv", "set-clipboard")
        if clipboard != "on":
            advice = "copying to your clipboard needs: tmux set -g set-clipboard on"
    return Ability(name="multiplexer", value=version, advice=advice)


def _ask(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=3, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _encoding() -> Ability:
    name = locale.getpreferredencoding(do_setlocale=False)
    advice = "" if name.upper().replace("-", "") == "UTF8" else "set LANG to a UTF-8 locale"
    return Ability(name="encoding", value=name, advice=advice)


def _size() -> Ability:
    if not sys.stdout.isatty():
        return Ability(
            name="size", value="no terminal", advice="the app needs one; `tileport check` does not"
        )
    columns, lines = shutil.get_terminal_size()
    small = columns < 80 or lines < 24
    return Ability(
        name="size",
        value=f"{columns}x{lines}",
        advice="80x24 is the least the app fits in" if small else "",
    )


def abilities(environment: Mapping[str, str] | None = None) -> tuple[Ability, ...]:
    """Size, colours, encoding, multiplexer and the way here."""
    env = os.environ if environment is None else environment
    remote = "ssh" if env.get("SSH_CONNECTION") or env.get("SSH_TTY") else "local"
    editor = env.get("VISUAL") or env.get("EDITOR") or ""
    return (
        _size(),
        _colours(env),
        _encoding(),
        _multiplexer(env),
        Ability(name="connection", value=remote),
        Ability(
            name="editor",
            value=editor or "none",
            advice="" if editor else "set EDITOR to open files with `o`",
        ),
    )
