"""`tileport cache`: how much is kept under `.tileport`, and taking it away."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tileport.agent.commands.base import Command
from tileport.agent.output import write
from tileport.agent.report import jsonout
from tileport.verify.config import load_config
from tileport.verify.journal import pinned_blobs
from tileport.verify.ladder.recorded import recorded_blobs
from tileport.verify.store import Cleaned, Store
from tileport.verify.workspace import StateFolder, build_home, find_workspace, open_state

EXAMPLES = """\
  tileport cache info
  tileport cache clean      all cached results; saved texts and recordings stay
  tileport cache clean --builds   also what cargo built to check ports with rustc
  tileport cache trim       only what is over the size limit of [tool.tileport]
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("info", "clean", "trim"))
    parser.add_argument(
        "--builds", action="store_true", help="clean: cargo's builds too, of all workspaces"
    )
    parser.add_argument(
        "--workspace", metavar="DIR", default=".", help="a folder of the workspace (this one)"
    )


def _kept(state: StateFolder) -> Iterator[str]:
    """Blobs that undo and recordings need; no clean takes them."""
    yield from pinned_blobs(state)
    yield from recorded_blobs(state)


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # it went away meanwhile
                total += (Path(place) / name).lstat().st_size
    return total


def megabytes(size: int) -> str:
    """`size` bytes for people."""
    return f"{size / 1e6:.1f} MB"


def _run(options: argparse.Namespace) -> int:
    workspace = find_workspace(Path(options.workspace))
    config = load_config(str(workspace))
    state = open_state(workspace)
    keep = frozenset(_kept(state))
    store = Store(state, limit=config.cache_size)
    done: Cleaned
    if options.action == "clean":
        done = store.clean(keep)
    elif options.action == "trim":
        done = store.evict(keep)
    else:
        done = store.usage(keep)
    builds = [state.check, build_home()]
    freed = 0
    if options.action == "clean" and options.builds:
        freed = sum(map(_size, builds))
        for folder in builds:
            shutil.rmtree(folder, ignore_errors=True)
    built = sum(map(_size, builds))
    if options.json:
        write(
            jsonout.render(
                {
                    "folder": str(state.root),
                    "limit": config.cache_size,
                    "builds": [str(folder) for folder in builds],
                    "builds_bytes": built,
                    **msgspec.to_builtins(done),
                }
            )
        )
        return 0
    if options.action != "info":
        write(f"removed {done.files} files, {megabytes(done.bytes + freed)}\n")
    write(
        f"{state.root}: {done.left_files} files, {megabytes(done.left_bytes)}"
        f" of {megabytes(config.cache_size)}\n"
        f"cargo's builds: {megabytes(built)} in {build_home()}\n"
    )
    return 0


COMMAND = Command(
    name="cache",
    summary="show or clean what is cached under .tileport",
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)
