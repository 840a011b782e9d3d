"""Calls to servers, shared by all who want the same result, the most wanted one first.

A job is named by the key of its result. Two variants, or two generations, that want the same
result wait for one job. A job nobody waits for any more is dropped if it did not start; one that
runs is left to finish, since its result is worth keeping (an undo wants it next) and a warm server
is worth more than the rest of a short call; only one that goes on for long is ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")

#: Where a job stands in the line: smaller goes first, None does not go now.
Rank = Callable[[], tuple[int, ...] | None]


class _Job:
    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        self.waiters = 0
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[Any] | None = None
        #: Whether it was started from behind, that is with a rank that does not begin with 0.
        self.behind = False


class Jobs:
    """Runs at most `slots` jobs at a time.

    Args:
        slots: How many calls the servers take at once.
        spare: How many of the slots are kept free for jobs of rank `(0, ...)`.
        grace: Seconds that a job nobody waits for may go on.
    """

    def __init__(self, slots: int, *, spare: int = 0, grace: float = 1.0) -> None:
        self._slots = slots
        self._spare = min(spare, slots - 1)
        self._grace = grace
        self._jobs: dict[str, _Job] = {}
        self._waiting: list[_Job] = []
        self._running = 0
        self._behind = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, key: str, rank: Rank, work: Callable[[], Awaitable[T]]) -> T:
        """The result of `work`, run when its turn comes; raises what it raises.

        Args:
            key: Names the result; while a job of this key is there, `work` is not used.
            rank: Asked whenever a slot is free.
            work: Makes the call.
        """
        job = self._jobs.get(key)
        if job is None:
            job = self._jobs[key] = _Job(rank)
            self._waiting.append(job)
            job.task = asyncio.create_task(self._do(job, work))
            job.task.add_done_callback(lambda task: self._done(key, job, task))
            self._tasks.add(job.task)
        job.rank = rank
        job.waiters += 1
        self.poke()
        assert job.task is not None
        try:
            return cast(T, await asyncio.shield(job.task))
        finally:
            job.waiters -= 1
            if job.waiters == 0 and not job.task.done():
                self._unwanted(key, job)

    def poke(self) -> None:
        """Look again who goes next; to be called when what ranks depend on has changed."""
        while self._running < self._slots and self._waiting:
            ranked = [(rank, job) for job in self._waiting if (rank := job.rank()) is not None]
            if not ranked:
                return
            rank, job = min(ranked, key=lambda pair: pair[0])
            job.behind = rank[0] > 0
            if job.behind and self._behind >= self._slots - self._spare:
                return
            self._waiting.remove(job)
            self._running += 1
            self._behind += job.behind
            job.turn.set_result(None)

    async def close(self) -> None:
        """End all jobs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @staticmethod
    async def _do(job: _Job, work: Callable[[], Awaitable[T]]) -> T:
        await job.turn
        return await work()

    def _done(self, key: str, job: _Job, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # its waiters may be gone; then nobody else asks for it
        if job in self._waiting:
            self._waiting.remove(job)
        else:
            self._running -= 1
            self._behind -= job.behind
        if self._jobs.get(key) is job:
            del self._jobs[key]
        self.poke()

    def _unwanted(self, key: str, job: _Job) -> None:
        assert job.task is not None
        if job.turn.done():
            asyncio.get_running_loop().call_later(self._grace, self._end, key, job)
        else:
            self._end(key, job)

    def _end(self, key: str, job: _Job) -> None:
        if job.waiters == 0 and job.task is not None and not job.task.done():
            # Another call for the key must not join a job that is being ended.
            if self._jobs.get(key) is job:
                del self._jobs[key]
            job.task.cancel()
