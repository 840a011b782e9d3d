"""Recording what any Python command launches: a script, a module, a test run."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tileport.verify.capture.outcome import Outcome
from tileport.verify.capture.recording_settings import EVENTS, REFUSED, Settings, write_settings
from tileport.verify.capture.report import build_report
from tileport.verify.capture.request import CommandRequest, Event, Finished
from tileport.verify.capture.targets import check_targets, local_targets
from tileport.verify.errors import TileportError
from tileport.verify.model import CaptureReport, Finding, Severity
from tileport.verify.supervised import Supervised

_BOOTSTRAP = Path(__file__).with_name("bootstrap")


async def capture_command(
    argv: Sequence[str],
    request: CommandRequest,
    *,
    on_line: Callable[[str], None] | None = None,
) -> CaptureReport:
    """Runs a command once per target and records every launch of its Python processes.

    No file is changed for it. Bare program names are looked up beside the Python that runs
    tileport first, then on PATH. A target whose GPU is here gets real launches (unless the mode
    is "fake"), any other one the stand-in device.

    Args:
        argv: Program and arguments.
        request: Targets and where the bytecode goes; `deadline` holds for each run.
        on_line: Called with each line the command prints, fit to show.

    Raises:
        TileportError: the command cannot be run, is not Python, or runs a Python that tileport
            is not installed for.
    """
    check_targets(request.targets)
    program = _program(argv)
    local = await local_targets() if request.mode != "fake" else ()
    began, begun = time.time_ns(), time.perf_counter()
    outcomes = []
    for target in request.targets:
        real = target in local
        if request.mode == "gpu" and not real:
            raise TileportError(f"no GPU of {target} here to record on")
        run = _Run([program, *argv[1:]], request, target, real, on_line)
        outcomes.append(await run.outcome())
    milliseconds = (time.perf_counter() - begun) * 1e3
    name = shlex.join(argv)
    return build_report(
        name, request.bytecode_version, outcomes, began=began, milliseconds=milliseconds
    )


def _program(argv: Sequence[str]) -> str:
    if not argv or not argv[0]:
        raise TileportError("no command given", todo="put one after --, such as -- pytest tests")
    name = argv[0]
    # The programs of tileport's own environment go first: `python` on PATH may be another's.
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])
    found = shutil.which(name, path=path)
    if found is None:
        raise TileportError(f"no program {name!r}", todo="give one that is on PATH, or its path")
    return found


class _Run:
    """One run of the command, for one target."""

    def __init__(
        self,
        command: list[str],
        request: CommandRequest,
        target: str,
        real: bool,
        on_line: Callable[[str], None] | None,
    ) -> None:
        self._command = command
        self._request = request
        self._target = target
        self._real = real
        self._on_line = on_line

    async def outcome(self) -> Outcome:
        """Runs it to its end or deadline; what it launched, also if it failed."""
        with tempfile.TemporaryDirectory(prefix="tileport-") as name:
            folder = Path(name)
            request = self._request
            settings = Settings(
                target=self._target,
                real=self._real,
                blobs=request.blobs,
                bytecode_version=request.bytecode_version,
                all_candidates=request.all_candidates,
                folders=tuple({request.workspace, str(Path.cwd())}),
            )
            write_settings(folder, settings)
            code, last = await self._run(folder)
            return self._read(folder, code, last)

    async def _run(self, folder: Path) -> tuple[int | None, str]:
        """The exit code, None after the deadline, and the last line it printed."""
        try:
            running = Supervised(
                self._command, cwd=Path.cwd(), env=_environment(folder), on_line=self._on_line
            )
        except OSError as error:
            raise TileportError(f"{self._command[0]} does not start: {error.strerror}") from error
        code: int | None
        try:
            async with asyncio.timeout(self._request.deadline):
                code = await running.ended()
        except TimeoutError:
            code = None
        finally:
            await asyncio.shield(running.end())
        return code, running.ring.last_line()

    def _read(self, folder: Path, code: int | None, last: str) -> Outcome:
        outcome = Outcome(target=self._target, real=self._real)
        decoder = msgspec.json.Decoder(Event)
        recorded = sorted(folder.glob(f"*{EVENTS}"))
        for file in recorded:
            outcome.begin_process()
            for line in file.read_bytes().splitlines():
                try:
                    event = decoder.decode(line)
                except msgspec.MsgspecError:
                    continue  # cut off by a kill
                outcome.take(event)
                if isinstance(event, Finished):
                    outcome.files |= set(event.files)
        if not recorded:
            raise self._not_recorded(folder)
        outcome.files |= {launch.record.kernel.place.file for launch in outcome.launches}
        names = dict.fromkeys(case for launch in outcome.launches for case in launch.cases)
        outcome.cases = dict(enumerate(names))
        self._judge(outcome, code, last)
        return outcome

    def _not_recorded(self, folder: Path) -> TileportError:
        for file in folder.glob(f"*{REFUSED}"):
            python = file.read_text(encoding="utf-8").splitlines()[0]
            return TileportError(
                f"tileport is not installed for {python}",
                todo=f"install it there, or run the command with {sys.executable}",
            )
        return TileportError(
            f"{Path(self._command[0]).name} ran no Python that could be recorded",
            todo="give a Python command (not python -I, -E or -S), such as -- python script.py",
        )

    def _judge(self, outcome: Outcome, code: int | None, last: str) -> None:
        if code == 0 and outcome.launches:
            return
        if code is None:
            how = f"did not end within {self._request.deadline:g} s"
        elif code > 0:
            how = f"ended with exit code {code}" + (f": {last}" if last else "")
        else:
            how = "ran"
        if outcome.launches:
            message = f"the command {how}; what it launched before is recorded"
        else:
            message = f"the command {how}, and launched no kernel (cuda.tile.launch)"
        finding = Finding(
            kind="command-failed" if outcome.launches else "no-kernel",
            severity=Severity.NOTE if outcome.launches else Severity.WRONG,
            message=message,
            stage="capture",
            remedy="run it by itself to see what it prints",
        )
        outcome.findings.append((-1, finding))


def _environment(folder: Path) -> dict[str, str]:
    # Settings of cuda.tile change the bytecode; a test that runs tileport is not the command's.
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CUDA_TILE_") and name != "PYTEST_CURRENT_TEST"
    }
    paths = [str(_BOOTSTRAP), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(paths),
        "TILEPORT_RECORDING": str(folder),
        "PYTHONUNBUFFERED": "1",
    }
