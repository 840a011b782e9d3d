"""`tileport cache`: how much is kept under `.tileport`, and taking it away."""

from __future__ import annotations

import argparse
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
from tileport.verify.workspace import StateFolder, find_workspace, open_state

EXAMPLES = """\
  tileport cache info
  tileport cache clean      all cached results; saved texts and recordings stay
  tileport cache trim       only what is over the size limit of [tool.tileport]
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("info", "clean", "trim"))
    parser.add_argument(
        "--workspace", metavar="DIR", default=".", help="a folder of the workspace (this one)"
    )


def _kept(state: StateFolder) -> Iterator[str]:
    """Blobs that undo and recordings need; no clean takes them."""
    yield from pinned_blobs(state)
    yield from recorded_blobs(state)


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
    if options.json:
        write(
            jsonout.render(
                {
                    "folder": str(state.root),
                    "limit": config.cache_size,
                    **msgspec.to_builtins(done),
                }
            )
        )
        return 0
    if options.action != "info":
        write(f"removed {done.files} files, {megabytes(done.bytes)}\n")
    write(
        f"{state.root}: {done.left_files} files, {megabytes(done.left_bytes)}"
        f" of {megabytes(config.cache_size)}\n"
    )
    return 0


COMMAND = Command(
    name="cache",
    summary="show or clean what is cached under .tileport",
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)
