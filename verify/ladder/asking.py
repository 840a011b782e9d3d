"""How a stage comes by its result: from memory, from the disk, or from a server at its turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from tileport.verify.ladder.jobs import Jobs, Rank
from tileport.verify.store import Store

P = TypeVar("P", bound=msgspec.Struct)


class Asking:
    """Finds results or has them made, each once.

    Args:
        store: Where results are kept.
        jobs: The line in front of the servers.
    """

    def __init__(self, store: Store, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs
        #: Writes to the disk, off the event loop's thread.
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="store")
        #: What is made and not yet in the store.
        self._fresh: dict[str, Any] = {}

    async def get(
        self,
        key: str,
        result_type: type[P],
        rank: Rank,
        work: Callable[[], Awaitable[P]],
        *,
        worth_keeping: Callable[[P], bool] = lambda value: True,
    ) -> tuple[P, float, bool]:
        """A result, the milliseconds it took to make (or to find), and whether it was found.

        Args:
            key: From `result_key`.
            result_type: What the result is.
            rank: Its place in the line, asked whenever a slot is free.
            work: Asks the server; what it raises is raised here.
            worth_keeping: Whether a result is to be kept.
        """
        started = time.perf_counter()
        found = self._recall(key, result_type)
        if found is None:
            found = await asyncio.to_thread(self._store.result, key, result_type)
        if found is None:
            # It may have been made while the disk was read.
            found = self._recall(key, result_type)
        if found is not None:
            return found, _since(started), True

        async def timed() -> tuple[P, float]:
            began = time.perf_counter()
            value = await work()
            taken = _since(began)
            if worth_keeping(value):
                self._keep(key, value)
            return value, taken

        value, taken = await self._jobs.run(key, rank, timed)
        return value, taken, False

    def _recall(self, key: str, result_type: type[P]) -> P | None:
        fresh = self._fresh.get(key)
        if isinstance(fresh, result_type):
            return fresh
        return self._store.recall(key, result_type)

    def _keep(self, key: str, value: msgspec.Struct) -> None:
        self._fresh[key] = value
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(self._disk, self._store.put_result, key, value)
        writing.add_done_callback(lambda done: self._fresh.pop(key, None))

    def close(self) -> None:
        """Write nothing more."""
        self._disk.shutdown(wait=False, cancel_futures=True)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
