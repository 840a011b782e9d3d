"""The `tileport:` comment lines of a port.

    /// tileport: cutile = 0.5                  the crate version the port is for (file header)
    /// tileport: kernel = NAME                 the Python kernel this entry ports
    /// tileport: RUST = PYTHON                 a parameter or generic of another name in Python
    /// tileport: RUST = x.shape[0]             or a part of it: .ptr .shape[i] .stride[i] .len
    /// tileport: launch occupancy = 2          the launcher passes this option
    /// tileport: launch sm_90 occupancy        on this target only; without a value: Python's
    // tileport: allow(kind, kind) because why  findings that are as they should be

Lines for an entry stand in the comments right above it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LINE = re.compile(r"^\s*//[/!]?\s*tileport:\s*(.*?)\s*$")
_ALLOW = re.compile(r"//[/!]?\s*tileport:\s*allow\b\s*(.*?)\s*$")
_ALLOW_BODY = re.compile(r"\(([^)]*)\)\s*(?:because\b[\s:]*(.*))?$", re.DOTALL)
_ASSIGN = re.compile(r"([A-Za-z_]\w*)\s*=\s*(\S.*)")
_LAUNCH = re.compile(r"launch\s+(?:(default|sm_\w+)\s+)?([a-z_]\w*)(?:\s*=\s*(\d+))?")
_KIND = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(slots=True)
class EntryLines:
    """What the comments above one entry say; lines are 1-based."""

    kernel: str | None = None
    aliases: dict[str, str] = field(default_factory=dict)
    alias_lines: dict[str, int] = field(default_factory=dict)
    launch: dict[str, dict[str, int | None]] = field(default_factory=dict)
    cutile: tuple[str, int] | None = None
    #: Lines that say nothing this reader knows: text and line.
    unreadable: list[tuple[str, int]] = field(default_factory=list)


def directive(line: str) -> str | None:
    """What follows `tileport:` on a comment line of its own, or None."""
    found = _LINE.match(line)
    return found[1] if found else None


def read_entry_lines(lines: list[tuple[int, str]], own: frozenset[str]) -> EntryLines:
    """Reads the comment lines above an entry.

    Args:
        lines: 1-based numbers and texts.
        own: Names of the entry's parameters and generics; these win over keywords.
    """
    read = EntryLines()
    for number, line in lines:
        said = directive(line)
        if said is None or said.startswith("allow"):
            continue
        launch = _LAUNCH.fullmatch(said)
        if launch is not None:
            options = read.launch.setdefault(launch[1] or "default", {})
            options[launch[2]] = int(launch[3]) if launch[3] else None
            continue
        assign = _ASSIGN.fullmatch(said)
        if assign is None:
            read.unreadable.append((said, number))
        elif assign[1] == "kernel" and assign[1] not in own:
            read.kernel = assign[2]
        elif assign[1] == "cutile" and assign[1] not in own:
            read.cutile = (assign[2], number)
        else:
            read.aliases[assign[1]] = assign[2]
            read.alias_lines[assign[1]] = number
    return read


def read_allow(comment: str) -> tuple[tuple[str, ...], str] | None:
    """Kinds and reason of an allow comment; None where the comment is none.

    Kinds are empty where they cannot be read, the reason is "" where there is none.
    """
    found = _ALLOW.search(comment)
    if found is None:
        return None
    body = _ALLOW_BODY.fullmatch(found[1])
    if body is None:
        return (), ""
    kinds = tuple(part.strip() for part in body[1].split(","))
    if not all(_KIND.fullmatch(kind) for kind in kinds):
        return (), ""
    return kinds, (body[2] or "").strip()
