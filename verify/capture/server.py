"""The capture server: warm, with torch and cuda.tile loaded, and forked from for every capture.

Run as a child of `client.CaptureServer`. It runs none of the user's Python itself, so it stays
as it was, and a fork of it costs milliseconds.
"""

from __future__ import annotations

import gc
import os
import time
import warnings

from tileport.verify.capture.request import ServerRequest, Warmed
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.model import CaptureReport
from tileport.verify.serving import serve


def _clean_environment() -> None:
    """Takes out what changes the bytecode or writes beside it, set by whoever for other work."""
    for name in list(os.environ):
        if name.startswith(("CUDA_TILE_", "EXPERIMENTAL_CUDA_TILE_")):
            del os.environ[name]
    # A fork has only the thread that forks: no pool of threads may have been started before.
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"


def _warm_up() -> None:
    """Imports torch, cuda.tile and the worker, and runs each once, so that forks find it done."""
    warnings.simplefilter("ignore")
    import torch  # noqa: PLC0415 - the client's requests are refused in one line without it

    from tileport.verify.capture import light_tile, light_torch  # noqa: PLC0415

    light_torch.load()
    light_tile.load()
    from tileport.verify.capture import rehearsal, report  # noqa: PLC0415

    torch.set_num_threads(1)
    rehearsal.run()
    report.versions()
    # What is there now stays: the collector must not touch, and so copy, its pages in a fork.
    gc.collect()
    gc.freeze()


class Server:
    """The functions the client calls."""

    def __init__(self) -> None:
        self._warmed: Warmed | None = None

    def warm(self, _: dict[str, str]) -> Warmed:
        """Gets warm, unless it is.

        Raises:
            TileportError: torch or cuda-tile does not import.
        """
        if self._warmed is None:
            begun = time.perf_counter()
            try:
                _warm_up()
            except ImportError as error:
                raise TileportError(
                    f"capture needs torch and cuda-tile: {error}",
                    todo="install them beside tileport: pip install torch cuda-tile",
                    code=ExitCode.TOOL_MISSING,
                ) from error
            self._warmed = Warmed(milliseconds=(time.perf_counter() - begun) * 1e3)
        return self._warmed

    def capture(self, call: ServerRequest) -> CaptureReport:
        """Captures an operator on all targets asked for, as many at once as there are cores.

        Raises:
            TileportError: nothing could be captured on any target.
        """
        self.warm({})
        from tileport.verify.capture.run import run_request  # noqa: PLC0415 - needs torch

        return run_request(call.request, call.local_target)


if __name__ == "__main__":
    _clean_environment()
    server = Server()
    serve({"warm": server.warm, "capture": server.capture})
