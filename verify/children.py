"""Child servers: a Python module run in its own process and called in frames.

A `Child` is the asking half; the module that runs as the child calls `serving.serve`. Calls and
answers are frames (`frames.py`); what the child prints goes to a bounded ring and the log, never
into a frame or to the terminal. A crash, a missed deadline or `cancel` costs one call; the next
one starts a fresh process. See `supervised.py` for why nothing of a child survives this process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.frames import CHANNEL, LENGTH, LIMIT, Hello, Reply, Request, frame
from tileport.verify.supervised import Supervised

T = TypeVar("T")

ChildErrorKind = Literal["crashed", "deadline", "cancelled", "failed"]


class ChildError(Exception):
    """A call to a child that gave no result.

    Args:
        kind: `crashed` (the process ended), `deadline`, `cancelled` (by `Child.cancel` or
            `Child.close`), or `failed` (the function raised; the process lives on).
        message: One line for a person.
    """

    def __init__(self, kind: ChildErrorKind, message: str) -> None:
        self.kind: ChildErrorKind = kind
        self.message = message
        super().__init__(message)


class _Process:
    """One life of a child: the supervised command and this side of its frame channel."""

    def __init__(
        self, command: list[str], env: Mapping[str, str], nice: int, log: Path | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        try:
            self.supervised = Supervised(
                command,
                env={**env, CHANNEL: str(theirs.fileno())},
                nice=nice,
                pass_fds=(theirs.fileno(),),
                log=log,
            )
        except BaseException:
            self._socket.close()
            raise
        finally:
            theirs.close()
        self.pid = 0

    async def send(self, message: msgspec.Struct) -> None:
        await self._loop.sock_sendall(self._socket, frame(message))

    async def receive(self, result_type: type[T]) -> T:
        """The next frame.

        Raises:
            ConnectionError: the child ended, or something else than a frame came.
        """
        (length,) = LENGTH.unpack(await self._exactly(LENGTH.size))
        if length > LIMIT:
            raise ConnectionError("not a frame")
        try:
            return msgspec.msgpack.decode(await self._exactly(length), type=result_type)
        except msgspec.MsgspecError as error:
            raise ConnectionError("not a frame") from error

    async def _exactly(self, size: int) -> bytes:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            got = await self._loop.sock_recv_into(self._socket, view)
            if got == 0:
                raise ConnectionError("the child ended")
            view = view[got:]
        return bytes(data)

    def gone(self) -> bool:
        """Whether the other side hung up since the last call."""
        try:
            return self._socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    async def ended_by_itself(self) -> int | None:
        """The exit code if it ends within a second of hanging up, else None."""
        try:
            async with asyncio.timeout(1.0):
                return await self.supervised.ended()
        except TimeoutError:
            return None

    async def end(self) -> None:
        await self.supervised.end()
        self._socket.close()


class Child:
    """A module run as a server in a process of its own, started at the first call or by `start`.

    Calls run one at a time, in the order they came. A call whose await is cancelled while it is
    running is left to finish and its result is dropped, so that the process stays warm; use
    `cancel` to have it killed. One event loop uses it.

    Args:
        module: Module to run; it must end in a call of `serve`.
        arguments: Command line arguments for it.
        name: How messages speak of it (`capture server`); the module's name if empty.
        env: Environment variables on top of this process's.
        nice: Added to its niceness.
        log: File that gets what it prints.
        start_deadline: Seconds from its start until it serves.
    """

    def __init__(
        self,
        module: str,
        *,
        arguments: tuple[str, ...] = (),
        name: str = "",
        env: Mapping[str, str] | None = None,
        nice: int = 0,
        log: Path | None = None,
        start_deadline: float = 60.0,
    ) -> None:
        # -P: a file in the working directory must not stand in for a module of the same name.
        self._command = [sys.executable, "-P", "-m", module, *arguments]
        self.name = name or module
        self._env = dict(env or {})
        self._nice = nice
        self._log = log
        self._start_deadline = start_deadline
        self._process: _Process | None = None
        self._turn = asyncio.Lock()
        self._calls: set[asyncio.Task[Any]] = set()
        self._running = False
        self._cancelled = False
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The pid of the serving process, or None while there is none."""
        return self._process.pid if self._process and self._process.pid else None

    def rss_bytes(self) -> int:
        """Resident memory of the serving process in bytes, 0 while there is none."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_bytes().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0

    def printed(self) -> str:
        """The last 64 KB of what the living process printed."""
        return self._process.supervised.ring.text() if self._process else ""

    async def start(self) -> None:
        """Starts the process unless it runs, and waits until it serves.

        Raises:
            ChildError: it ended before it served, or took longer than `start_deadline`.
        """
        async with self._turn:
            await self._alive()

    async def call(
        self,
        method: str,
        payload: msgspec.Struct | dict[str, Any],
        result_type: type[T],
        *,
        deadline: float,
    ) -> T:
        """Runs `method` of the child on `payload`; waits for its turn first.

        Args:
            method: A name the module gave to `serve`.
            payload: What its function takes.
            result_type: What the result is decoded to.
            deadline: Seconds the call may run, its wait for a turn and a start apart; after that
                the process and all it started are killed.

        Raises:
            ChildError: there is no result.
            TileportError: the function raised it; passed on as it was.
        """
        started = asyncio.Event()
        task = asyncio.create_task(
            self._in_turn(Request(method, _raw(payload)), result_type, deadline, started)
        )
        self._calls.add(task)
        task.add_done_callback(self._forget)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not started.is_set():
                task.cancel()
            raise

    def cancel(self) -> None:
        """Has the running call killed, and the process with it; it raises `ChildError`."""
        if self._running and self._process is not None:
            self._cancelled = True
            self._process.supervised.kill()

    async def close(self) -> None:
        """Ends the process and whatever call is running; later calls fail. May be repeated."""
        self._closed = True
        self.cancel()
        async with self._turn:
            await self._end()

    async def restart(self) -> None:
        """Ends the process once it is idle; the next call, or `start`, begins a fresh one."""
        async with self._turn:
            await self._end()

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            task.exception()  # its waiter may be gone; then nobody else asks for it

    async def _in_turn(
        self, request: Request, result_type: type[T], deadline: float, started: asyncio.Event
    ) -> T:
        async with self._turn:
            started.set()
            process = await self._alive()
            self._running = True
            try:
                async with asyncio.timeout(deadline):
                    await process.send(request)
                    reply = await process.receive(Reply)
            except TimeoutError:
                await self._end()
                raise ChildError(
                    "deadline", f"{self.name} took longer than {deadline:g} s"
                ) from None
            except OSError as error:
                raise await self._broken(str(error)) from None
            finally:
                self._running = False
                self._cancelled = False
        return _result(reply, result_type, self.name)

    async def _alive(self) -> _Process:
        if self._closed:
            raise ChildError("cancelled", f"{self.name} was closed")
        if self._process is not None and self._process.gone():
            await self._end()
        if self._process is None:
            env = {**os.environ, **self._env}
            try:
                self._process = _Process(self._command, env, self._nice, self._log)
            except OSError as error:
                raise ChildError(
                    "crashed", f"{self.name} cannot be started: {error.strerror}"
                ) from None
            self._running = True
            try:
                async with asyncio.timeout(self._start_deadline):
                    self._process.pid = (await self._process.receive(Hello)).pid
            except TimeoutError:
                await self._end()
                raise ChildError(
                    "deadline", f"{self.name} did not start within {self._start_deadline:g} s"
                ) from None
            except OSError as error:
                raise await self._broken(str(error)) from None
            finally:
                self._running = False
        return self._process

    async def _broken(self, why: str) -> ChildError:
        process, self._process = self._process, None
        assert process is not None
        code = await process.ended_by_itself()
        await process.end()
        if self._cancelled or self._closed:
            return ChildError("cancelled", f"{self.name} was stopped")
        last = process.supervised.ring.last_line()
        how = f"broke off ({why})" if code is None else _how_it_ended(code)
        return ChildError("crashed", f"{self.name} {how}" + (f": {last}" if last else ""))

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.end()


def _raw(payload: msgspec.Struct | dict[str, Any]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.msgpack.encode(payload))


def _how_it_ended(code: int) -> str:
    if code > 128:
        try:
            return f"was ended by {signal.Signals(code - 128).name}"
        except ValueError:
            pass
    return f"ended with exit code {code}"


def _result(reply: Reply, result_type: type[T], name: str) -> T:
    fault = reply.fault
    if fault is not None:
        if fault.code < 0:
            raise ChildError("failed", fault.what)
        raise TileportError(
            fault.what, where=fault.where, todo=fault.todo, code=ExitCode(fault.code)
        )
    try:
        return msgspec.msgpack.decode(reply.result, type=result_type)
    except msgspec.MsgspecError as error:
        raise ChildError("failed", f"{name}: unexpected result: {error}") from None
