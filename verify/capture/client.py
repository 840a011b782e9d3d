"""Asking for captures: `CaptureServer` for an operator, `capture_command` for any command."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tileport.verify.capture.request import (
    CaptureRequest,
    OperatorSource,
    ServerRequest,
    Warmed,
)
from tileport.verify.capture.targets import check_targets, local_targets
from tileport.verify.children import Child, ChildError
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.model import CaptureReport

__all__ = ["CaptureRequest", "CaptureServer", "OperatorSource"]

#: Seconds to import torch on a slow, cold disk.
_WARM_DEADLINE = 180.0
#: Seconds beyond the workers' own deadlines.
_SLACK = 30.0


class CaptureServer:
    """A warm process that captures operators; started by `start` or the first capture.

    Captures run one after the other, each in fresh processes. One event loop uses it.

    Args:
        log: File that gets what the server and the user's Python print.
    """

    def __init__(self, *, log: Path | None = None) -> None:
        self._child = Child("tileport.verify.capture.server", name="capture server", log=log)

    async def start(self) -> float:
        """Starts it and waits until it is warm; how long it took to get warm, in milliseconds.

        Raises:
            TileportError: torch or cuda-tile is missing or does not import.
        """
        try:
            warmed = await self._child.call("warm", {}, Warmed, deadline=_WARM_DEADLINE)
        except ChildError as error:
            raise _told(error) from None
        return warmed.milliseconds

    async def capture(self, request: CaptureRequest) -> CaptureReport:
        """Captures an operator; faults of single cases are findings of the report.

        Raises:
            TileportError: nothing could be captured: the operator does not import, a target is
                not known, torch is missing, the blobs cannot be written, it was closed or
                cancelled.
        """
        check_targets(request.targets)
        local = await local_targets() if request.mode != "fake" else ()
        if request.mode == "gpu":
            _check_gpu(request.targets, local)
        await self.start()
        rounds = -(-len(request.targets) // len(os.sched_getaffinity(0)))
        call = ServerRequest(request=request, local_target=local[0] if local else "")
        # One round more for the cases that are run again on the GPU.
        deadline = request.deadline * (rounds + 1) + _SLACK
        try:
            return await self._child.call("capture", call, CaptureReport, deadline=deadline)
        except ChildError as error:
            raise _told(error) from None

    def cancel(self) -> None:
        """Has the running capture killed; the next one starts a server anew, cold."""
        self._child.cancel()

    def rss_bytes(self) -> int:
        """Resident memory of the server in bytes, 0 while there is none."""
        return self._child.rss_bytes()

    def printed(self) -> str:
        """The last 64 KB of what the user's Python and the server printed."""
        return self._child.printed()

    async def close(self) -> None:
        """Ends the server and whatever it runs. May be repeated."""
        await asyncio.shield(self._child.close())


def _check_gpu(targets: tuple[str, ...], local: tuple[str, ...]) -> None:
    if not local:
        raise TileportError(
            "no GPU here to capture on", todo="leave the capture mode at auto or fake"
        )
    missing = [target for target in targets if target not in local]
    if missing:
        raise TileportError(
            f"the GPU here is {local[0]}, not {missing[0]}",
            todo="capture on the GPU for its own target only",
        )


def _told(error: ChildError) -> TileportError:
    code = ExitCode.INTERRUPTED if error.kind == "cancelled" else ExitCode.INTERNAL
    return TileportError(error.message, todo="see the log", code=code)
