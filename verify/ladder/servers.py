"""The servers the ladder asks: what it needs of them, and the real ones, started when needed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tileport.verify.capture.client import CaptureServer
from tileport.verify.capture.request import CaptureRequest
from tileport.verify.compile.cargo import CargoCheck
from tileport.verify.compile.model import CompileRequest, CompileResult, Diagnostic, DiffRequest
from tileport.verify.compile.server import PortServer
from tileport.verify.config import Config
from tileport.verify.diff.model import Comparison
from tileport.verify.errors import TileportError
from tileport.verify.model import CaptureReport
from tileport.verify.workspace import build_home

#: More workers than this take more memory than they save time.
_MOST_WORKERS = 8


class CaptureServing(Protocol):
    """Runs the user's Python; see `tileport.verify.capture.client.CaptureServer`."""

    async def start(self) -> object:
        """Start its processes and wait until they are warm."""
        ...

    async def capture(self, request: CaptureRequest) -> CaptureReport:
        """Capture an operator; a call that is cancelled runs on, and the next one waits for it."""
        ...

    def cancel(self) -> None:
        """End the capture that runs, at the cost of a cold start."""
        ...

    async def close(self) -> None:
        """End all processes."""
        ...


class PortServing(Protocol):
    """Compiles and compares ports; see `tileport.verify.compile.server.PortServer`."""

    async def start(self) -> None:
        """Start its processes and wait until they serve."""
        ...

    async def compile(self, request: CompileRequest) -> CompileResult:
        """Rust text to Tile IR."""
        ...

    async def diff(self, request: DiffRequest) -> Comparison:
        """Compare both sides."""
        ...

    async def close(self) -> None:
        """End all processes."""
        ...


class CargoChecking(Protocol):
    """What rustc says of a port; see `tileport.verify.compile.cargo.CargoCheck`."""

    async def check(self, text: str, path: str) -> tuple[Diagnostic, ...]:
        """All messages of rustc for the port; cancelling the call ends cargo."""
        ...

    async def close(self) -> None:
        """End all processes."""
        ...


#: From a folder for its crate and a callback for progress to a `cargo check`.
MakeCargo = Callable[[Path, Callable[[str], None]], CargoChecking]


class Servers:
    """The servers of one session, or of all that one command runs. One event loop uses them.

    Args:
        config: Settings; number of workers and deadlines are taken from it.
        capture: In place of the real capture server.
        port: In place of the real compile server.
        cargo: In place of the real `cargo check`; gets the folder for the generated crate, and
            what to call with a line on what it is doing.
        log: File that gets what child processes print.
    """

    def __init__(
        self,
        config: Config,
        *,
        capture: CaptureServing | None = None,
        port: PortServing | None = None,
        cargo: MakeCargo | None = None,
        log: Path | None = None,
    ) -> None:
        self.capture = capture or CaptureServer(log=log)
        self.port = port or PortServer(
            workers=worker_count(config),
            compile_deadline=config.deadlines.compile,
            diff_deadline=config.deadlines.diff,
            log=log,
        )
        #: Makes a `cargo check` for one operator; whoever makes one closes it.
        self.cargo: MakeCargo = cargo or (
            lambda folder, progress: CargoCheck(
                folder,
                builds=build_home(),
                deadline=config.deadlines.build,
                progress=progress,
            )
        )
        self._warming: set[asyncio.Task[object]] = set()

    def warm(self, server: CaptureServing | PortServing) -> None:
        """Start one of the servers in the background; what goes wrong, the first call tells."""

        async def start() -> None:
            with contextlib.suppress(TileportError):
                await server.start()

        task: asyncio.Task[object] = asyncio.create_task(start())
        self._warming.add(task)
        task.add_done_callback(self._warming.discard)

    async def close(self) -> None:
        """End all processes; may be repeated."""
        for task in self._warming:
            task.cancel()
        await asyncio.gather(
            self.capture.close(), self.port.close(), *self._warming, return_exceptions=True
        )


def worker_count(config: Config) -> int:
    """How many compile workers there are."""
    return config.workers or min(len(os.sched_getaffinity(0)), _MOST_WORKERS)
