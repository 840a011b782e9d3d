"""The processes of one program under test, found by a mark in their environment."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from pathlib import Path

MARK = "TILEPORT_TEST_MARK"


def new_mark() -> str:
    """A value for `MARK` that no other process has."""
    return uuid.uuid4().hex


@dataclass(frozen=True)
class Process:
    """One process: `rss` is in bytes, `command` its words."""

    pid: int
    rss: int
    command: str


def marked(mark: str) -> list[Process]:
    """All living processes that were started with this mark, children of children included."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if wanted not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if fields[0] == "Z":
                continue
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            pages = int((folder / "statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            continue  # It ended while we looked.
        found.append(Process(int(folder.name), pages * 4096, command))
    return sorted(found, key=lambda p: p.pid)


def wait_gone(mark: str, timeout: float = 5.0) -> list[Process]:
    """Wait until no marked process lives; those that still do at the end."""
    end = time.monotonic() + timeout
    while True:
        left = marked(mark)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)
