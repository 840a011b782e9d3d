"""Commands run so that nothing of them outlives this process, with bounded output.

Every process that tileport starts goes through here and `supervise.py`: a kill takes all
descendants along, also those that moved to another group, and so does the end of this process,
even by SIGKILL. Nothing that is started prints to the terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from tileport.verify.safe_text import one_line

_RING_BYTES = 64 * 1024
_LOG_BYTES = 8 * 1024 * 1024
_END_GRACE = 3.0


class Ring:
    """The last 64 KB of what a process printed, also written to a log of at most 8 MB.

    Args:
        descriptor: Read end of the pipe the process prints to; owned by the ring.
        log: File to append to, or None.
        on_line: Called with every whole line as it comes, control characters made visible.
    """

    def __init__(
        self, descriptor: int, log: Path | None, on_line: Callable[[str], None] | None
    ) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._log = log
        self._on_line = on_line
        self._kept = bytearray()
        self._partial = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._read)

    def text(self) -> str:
        """What is kept, decoded; undecodable bytes are replaced."""
        return self._kept.decode(errors="replace")

    def last_line(self) -> str:
        """The last line that is not blank, fit to show; empty if there is none."""
        lines = [line for line in self.text().splitlines() if line.strip()]
        return one_line(lines[-1], 300) if lines else ""

    def close(self) -> None:
        """Reads what is left and lets go of the pipe; may be called twice."""
        if self._descriptor >= 0:
            self._read()
        self._release()

    def _release(self) -> None:
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        # Bounded, so that a process that never stops printing does not hold the event loop.
        for _ in range(16):
            try:
                data = os.read(self._descriptor, 65536)
            except BlockingIOError:
                return
            if not data:
                self._release()
                return
            self._keep(data)

    def _keep(self, data: bytes) -> None:
        self._kept += data
        del self._kept[:-_RING_BYTES]
        if self._log is not None:
            # A full disk or a log folder that went away must not stop the child.
            with contextlib.suppress(OSError):
                if not self._log.exists() or self._log.stat().st_size < _LOG_BYTES:
                    with self._log.open("ab") as file:
                        file.write(data)
        if self._on_line is not None:
            *lines, self._partial = (self._partial + data).split(b"\n")
            self._partial = self._partial[-_RING_BYTES:]
            for line in lines:
                self._on_line(one_line(line.decode(errors="replace")))


class Supervised:
    """A command running under the supervisor; a coroutine must be running when it is made.

    Args:
        command: Program and arguments; the program is looked up on PATH.
        cwd: Its working directory.
        env: Its whole environment, or None for this process's own.
        nice: Added to the niceness of the command.
        pass_fds: Descriptors the command inherits.
        own_stdout: Leaves stdout to be read from the descriptor `stdout`; else it joins stderr
            in the ring.
        log: A file that gets what the ring gets.
        on_line: Called with each line that goes to the ring.

    Raises:
        OSError: the process could not be started (no such `cwd`, out of processes).
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        nice: int = 0,
        pass_fds: Sequence[int] = (),
        own_stdout: bool = False,
        log: Path | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        supervisor = Path(__file__).with_name("supervise.py")
        watched, lifeline = os.pipe()
        output, printed = os.pipe()
        try:
            self._process = subprocess.Popen(
                # Isolated and without site: it must start fast and not run anything of the user.
                [sys.executable, "-I", "-S", str(supervisor), str(watched), str(nice), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if own_stdout else printed,
                stderr=printed,
                cwd=cwd,
                env=env,
                pass_fds=(watched, *pass_fds),
                start_new_session=True,
            )
        except BaseException:
            os.close(lifeline)
            os.close(output)
            raise
        finally:
            os.close(watched)
            os.close(printed)
        self._lifeline = lifeline
        self.ring = Ring(output, log, on_line)
        self.stdout: IO[bytes] | None = self._process.stdout

    def kill(self) -> None:
        """Has everything it started killed; returns at once and may be called twice."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    async def ended(self) -> int:
        """Waits until it has ended, however long; its exit code, 128 + signal if killed."""
        pause = 0.001
        while (code := self._process.poll()) is None:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        self.kill()
        self.ring.close()
        if self.stdout is not None:
            self.stdout.close()
        return code if code >= 0 else 128 - code

    async def end(self) -> int:
        """Kills it and waits until nothing of it is left; its exit code."""
        self.kill()
        try:
            async with asyncio.timeout(_END_GRACE):
                return await self.ended()
        except TimeoutError:
            # The supervisor cannot finish (something hangs in the kernel); leave no more behind.
            self._process.kill()
            return await self.ended()


class Completed(msgspec.Struct, frozen=True):
    """How a command ended: exit code, stdout (cut at the limit), and the last lines of stderr."""

    code: int
    stdout: bytes
    truncated: bool
    stderr: str


async def run_command(
    command: Sequence[str],
    *,
    deadline: float,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    nice: int = 0,
    stdout_limit: int = 16 * 1024 * 1024,
    on_line: Callable[[str], None] | None = None,
) -> Completed:
    """Runs a command to its end; when the await is cancelled, everything it started is killed.

    Args:
        command: Program and arguments.
        deadline: Seconds it may take.
        cwd: Its working directory.
        env: Its whole environment, or None for this process's own.
        nice: Added to its niceness.
        stdout_limit: Bytes of stdout kept; the rest is read and dropped.
        on_line: Called with each line of stderr as it comes, fit to show.

    Raises:
        TimeoutError: it took longer than `deadline`.
        OSError: it could not be started.
    """
    running = Supervised(command, cwd=cwd, env=env, nice=nice, own_stdout=True, on_line=on_line)
    try:
        async with asyncio.timeout(deadline):
            stdout, truncated = await _drain(running.stdout, stdout_limit)
            code = await running.ended()
    finally:
        await asyncio.shield(running.end())
    return Completed(code, stdout, truncated, running.ring.text())


async def _drain(stream: IO[bytes] | None, limit: int) -> tuple[bytes, bool]:
    """Reads to the end, which comes with the last descendant, and keeps the first `limit` bytes."""
    assert stream is not None
    loop = asyncio.get_running_loop()
    descriptor = stream.fileno()
    os.set_blocking(descriptor, False)
    finished = asyncio.Event()
    kept = bytearray()
    truncated = False

    def read() -> None:
        nonlocal truncated
        try:
            data = os.read(descriptor, 65536)
        except BlockingIOError:
            return
        if not data:
            loop.remove_reader(descriptor)
            finished.set()
        room = limit - len(kept)
        truncated = truncated or len(data) > room
        kept.extend(data[:room])

    loop.add_reader(descriptor, read)
    try:
        await finished.wait()
    finally:
        loop.remove_reader(descriptor)
    return bytes(kept), truncated
