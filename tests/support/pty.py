"""Runs a program in a pseudo-terminal, as a person at a terminal would: keys in, screen out."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte

_TAIL = 1 << 18
_KITTY = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]")

#: Bytes of keys that are not characters.
KEYS: dict[str, bytes] = {
    "enter": b"\r",
    "escape": b"\x1b",
    "tab": b"\t",
    "backspace": b"\x7f",
    "delete": b"\x1b[3~",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "pageup": b"\x1b[5~",
    "pagedown": b"\x1b[6~",
    "f1": b"\x1bOP",
    "f2": b"\x1bOQ",
    "f3": b"\x1bOR",
    "f4": b"\x1bOS",
    "f5": b"\x1b[15~",
    "f6": b"\x1b[17~",
    "ctrl+end": b"\x1b[1;5F",
    "ctrl+home": b"\x1b[1;5H",
    **{f"ctrl+{chr(code + 96)}": bytes([code]) for code in range(1, 27)},
}


class Terminal:
    """A program in a pseudo-terminal; use it as a context manager.

    Args:
        command: The program and its arguments.
        size: Columns and rows.
        cwd: Its folder.
        env: Variables to set; None removes one. TERM and COLORTERM have defaults.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (180, 50),
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> None:
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        #: How many bytes the program wrote, and the last of them.
        self.written = 0
        self.tail = bytearray()
        self.exit_code: int | None = None
        environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        environ.pop("NO_COLOR", None)
        environ.pop("TMUX", None)
        for name, value in (env or {}).items():
            if value is None:
                environ.pop(name, None)
            else:
                environ[name] = value
        self.started = time.monotonic()
        self.pid, self._fd = os.forkpty()
        if self.pid == 0:
            try:
                if cwd is not None:
                    os.chdir(cwd)
                os.execvpe(command[0], list(command), environ)
            finally:
                os._exit(127)
        self.resize(*size)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size, as dragging a window does."""
        self.screen.resize(rows, columns)
        packed = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, packed)

    # ------------------------------------------------------------ in

    def type(self, text: str) -> None:
        """Type characters."""
        os.write(self._fd, text.encode())

    def press(self, *keys: str) -> None:
        """Press keys by name (`f2`, `ctrl+s`, `enter`), or single characters."""
        for key in keys:
            os.write(self._fd, KEYS.get(key, key.encode()))

    def paste(self, text: str) -> None:
        """Paste, as terminals that bracket pastes do."""
        os.write(self._fd, b"\x1b[200~" + text.replace("\n", "\r").encode() + b"\x1b[201~")

    # ------------------------------------------------------------ out

    def pump(self, seconds: float) -> int:
        """Take in what the program writes for some time; how many bytes it was."""
        before = self.written
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if left <= 0 or not self._read(left):
                break
        return self.written - before

    def _read(self, timeout: float) -> bool:
        """Take in once; False when the program has ended or nothing came."""
        ready, _, _ = select.select([self._fd], [], [], timeout)
        if not ready:
            return False
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            data = b""
        if not data:
            time.sleep(min(timeout, 0.01))
            return self.exit_code is None and not self._reap()
        self._take(data)
        return True

    def _take(self, data: bytes) -> None:
        """Put bytes of the program on the screen."""
        self.written += len(data)
        self.tail += data
        del self.tail[:-_TAIL]
        # pyte would print the end of what it does not know.
        self._stream.feed(_KITTY.sub(b"", data))

    @property
    def text(self) -> str:
        """What the screen shows."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(
        self, wanted: str | Callable[[str], bool], *, timeout: float = 60.0, what: str = ""
    ) -> float:
        """Wait until the screen shows a text (or satisfies a test); seconds since the start.

        Raises:
            AssertionError: it did not come; with the screen as it is.
        """
        test = (lambda text: wanted in text) if isinstance(wanted, str) else wanted
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if test(self.text):
                return time.monotonic() - self.started
            self._read(0.05)
            if self.exit_code is not None:
                break
        state = f"ended with {self.exit_code}" if self.exit_code is not None else "runs"
        raise AssertionError(f"no {what or wanted!r} on the screen ({state}):\n{self.text}")

    def wait_for_change(self, wanted: str, *, timeout: float = 30.0) -> float:
        """Wait until a line that changed on the screen holds a text; the clock's time then.

        For timing: only lines that were written to are looked at, as soon as they were.

        Raises:
            AssertionError: it did not come.
        """
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.screen.dirty.clear()
            if not self._read(0.05):
                if self.exit_code is not None:
                    break
                continue
            for number in sorted(self.screen.dirty):
                line = self.screen.buffer[number]
                if wanted in "".join(line[x].data for x in range(self.screen.columns)):
                    return time.monotonic()
        raise AssertionError(f"{wanted!r} was not shown in {timeout} s:\n{self.text}")

    # ------------------------------------------------------------ the end

    def _reap(self) -> bool:
        if self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code is not None

    def wait(self, timeout: float = 10.0) -> int:
        """Wait until the program ends; its exit code."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self._reap():
                return self.exit_code or 0
            self._read(0.02)
        raise AssertionError(f"still running after {timeout} s:\n{self.text}")

    def wait_end(self, timeout: float = 10.0) -> int:
        """Wait for the end of a program whose terminal was closed; its exit code."""
        end = time.monotonic() + timeout
        while not self._reap():
            if time.monotonic() > end:
                raise AssertionError(f"still running after {timeout} s")
            time.sleep(0.02)
        return self.exit_code or 0

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the program."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Close the terminal, as a lost SSH connection does."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._reap():
            self.kill()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        self.hang_up()
