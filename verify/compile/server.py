"""The compile server: a pool of workers, and the queue in front of them.

A worker that crashes or goes over its deadline costs one job and is started again; one whose
memory has grown is replaced between jobs. The asking process never loads the native helper.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tileport.verify.children import Child, ChildError
from tileport.verify.compile.model import (
    CompileRequest,
    CompileResult,
    Diagnostic,
    DiagnosticSeverity,
    DiagnosticSource,
    DiffRequest,
)
from tileport.verify.diff.model import Comparison
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.model import Place

R = TypeVar("R")

#: Seconds. The slowest kernel known, attention with a backward pass, compiles in under one.
COMPILE_DEADLINE = 20.0
DIFF_DEADLINE = 30.0
#: Bytes. A warm worker has about 100 MB; a compile leaves some of its memory behind.
MEMORY_LIMIT = 700 * 1024 * 1024
#: Seconds a job that nobody waits for any more may have run before it is killed. Most end
#: sooner, and then the worker stays warm.
ABANDONED_LIMIT = 1.0


class SupersededError(Exception):
    """A newer request with the same key took the place of this one."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Job:
    """One call on its way to a worker."""

    method: str
    payload: msgspec.Struct
    result_type: type[Any]
    deadline: float
    key: str
    #: Lower goes first.
    rank: tuple[bool, int]
    answer: asyncio.Future[Any]
    #: When it was started, and by which worker; None while it waits.
    started: float | None = None
    child: Child | None = None


class PortServer:
    """Compiles and compares ports in worker processes; one event loop uses it.

    Args:
        workers: How many processes; as many as this process may use processors, at most 4.
        compile_deadline: Seconds one compile may take.
        diff_deadline: Seconds one comparison may take.
        memory_limit: Resident bytes above which a worker is replaced between jobs.
        log: File that gets what the workers print.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        compile_deadline: float = COMPILE_DEADLINE,
        diff_deadline: float = DIFF_DEADLINE,
        memory_limit: int = MEMORY_LIMIT,
        log: Path | None = None,
    ) -> None:
        count = workers or min(4, len(os.sched_getaffinity(0)))
        self._children = [
            Child("tileport.verify.compile.worker", name="the compile worker", log=log)
            for _ in range(count)
        ]
        self._compile_deadline = compile_deadline
        self._diff_deadline = diff_deadline
        self._memory_limit = memory_limit
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: list[_Job] = []
        self._running: set[_Job] = set()
        self._changed = asyncio.Event()
        self._arrivals = 0
        self._closed = False
        #: Text and entry of the last compile that took too long: its other variants would too.
        self._endless: tuple[str, str] | None = None

    async def start(self) -> None:
        """Starts all workers and waits until they serve; a first call does so, without waiting.

        Raises:
            TileportError: a worker does not start.
        """
        self._begin()
        try:
            await asyncio.gather(*(child.start() for child in self._children))
        except ChildError as error:
            raise _internal(error) from None

    async def compile(
        self, request: CompileRequest, *, key: str = "", first: bool = False
    ) -> CompileResult:
        """Compiles one entry of a port.

        A compile that takes too long or crashes the worker is a result like any other, with a
        diagnostic at the entry. Once one took too long, no other of the same text and entry is
        tried: each would cost the deadline again.

        Args:
            request: What to compile.
            key: A newer request with the same key replaces this one; empty: none does.
            first: Goes before all waiting requests that do not say so.

        Raises:
            SupersededError: a newer request with this key came.
            TileportError: the native helper or the disassembler is missing.
        """
        entry = request.text, request.entry
        try:
            if self._endless == entry:
                raise ChildError("deadline", "another variant took too long")
            return await self._ask(
                request, CompileResult, deadline=self._compile_deadline, key=key, first=first
            )
        except ChildError as error:
            if error.kind == "deadline":
                self._endless = entry
            messages = {
                "deadline": f"compile took longer than {self._compile_deadline:g} s",
                "crashed": f"the compiler crashed on this text ({error.message})",
            }
            if error.kind not in messages:
                raise _internal(error) from None
            diagnostic = Diagnostic(
                severity=DiagnosticSeverity.ERROR,
                message=messages[error.kind],
                source=DiagnosticSource.FRONTEND,
                place=_entry_place(request),
            )
            return CompileResult(bytecode=None, diagnostics=(diagnostic,))

    async def diff(self, request: DiffRequest, *, key: str = "", first: bool = False) -> Comparison:
        """Compares reference and port; `key` and `first` as in `compile`.

        Raises:
            SupersededError: a newer request with this key came.
            TileportError: the disassembler is missing, rejects one of the two, or the comparison
                takes too long or crashes.
        """
        try:
            return await self._ask(
                request, Comparison, deadline=self._diff_deadline, key=key, first=first
            )
        except ChildError as error:
            raise _internal(error) from None

    async def close(self) -> None:
        """Ends all workers and whatever they do; calls that wait are cancelled. May be repeated."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        for job in [*self._waiting, *self._running]:
            job.answer.cancel()
        self._waiting.clear()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(child.close() for child in self._children))

    def _begin(self) -> None:
        if self._closed:
            raise TileportError("the compile server was closed", code=ExitCode.INTERNAL)
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._serve(child)) for child in self._children]

    async def _ask(
        self,
        payload: CompileRequest | DiffRequest,
        result_type: type[R],
        *,
        deadline: float,
        key: str,
        first: bool,
    ) -> R:
        self._begin()
        self._arrivals += 1
        method = "compile" if isinstance(payload, CompileRequest) else "diff"
        job = _Job(
            method=method,
            payload=payload,
            result_type=result_type,
            deadline=deadline,
            key=f"{method} {key}" if key else "",
            rank=(not first, self._arrivals),
            answer=asyncio.get_running_loop().create_future(),
        )
        if key:
            self._supersede(job.key)
        self._waiting.append(job)
        self._changed.set()
        try:
            answer: R = await job.answer
            return answer
        finally:
            self._abandon(job)

    def _supersede(self, key: str) -> None:
        for job in [*self._waiting, *self._running]:
            if job.key == key and not job.answer.done():
                job.answer.set_exception(SupersededError())

    def _abandon(self, job: _Job) -> None:
        """Nobody waits for the job any more: it is dropped, or killed if it runs for long."""
        if job in self._waiting:
            self._waiting.remove(job)
        if job.started is not None and job in self._running:
            left = job.started + ABANDONED_LIMIT - time.monotonic()
            asyncio.get_running_loop().call_later(max(left, 0.0), self._kill, job)

    def _kill(self, job: _Job) -> None:
        if job in self._running and job.child is not None:
            job.child.cancel()

    async def _next(self) -> _Job:
        while not self._waiting:
            self._changed.clear()
            await self._changed.wait()
        job = min(self._waiting, key=lambda waiting: waiting.rank)
        self._waiting.remove(job)
        return job

    async def _serve(self, child: Child) -> None:
        """Hands jobs to one worker, for ever."""
        with contextlib.suppress(ChildError):
            await child.start()  # if it cannot, the first job tells
        while True:
            job = await self._next()
            self._running.add(job)
            try:
                await self._run(child, job)
            finally:
                self._running.discard(job)
            if child.rss_bytes() > self._memory_limit:
                await child.restart()
                with contextlib.suppress(ChildError):
                    await child.start()

    async def _run(self, child: Child, job: _Job) -> None:
        job.child = child
        # A worker that someone else ended is no fault of the text: once more, with a fresh one.
        for last in (False, True):
            job.started = time.monotonic()
            try:
                result = await child.call(
                    job.method, job.payload, job.result_type, deadline=job.deadline
                )
            except Exception as error:  # whatever it is, the worker's queue must go on
                again = isinstance(error, ChildError) and error.kind == "crashed" and not last
                if again and not job.answer.done():
                    continue
                if not job.answer.done():
                    job.answer.set_exception(error)
                return
            if not job.answer.done():
                job.answer.set_result(result)
            return


def _internal(error: ChildError) -> TileportError:
    return TileportError(error.message, todo="see the log (`--log-file`)", code=ExitCode.INTERNAL)


def _entry_place(request: CompileRequest) -> Place:
    """Where the entry is, as far as can be told without parsing what crashed a parser."""
    found = re.search(rf"\bfn\s+({re.escape(request.entry)})\b", request.text)
    start = found.start(1) if found else 0
    line = request.text.count("\n", 0, start) + 1
    column = start - (request.text.rfind("\n", 0, start) + 1) + 1
    return Place(request.path, line, column)
