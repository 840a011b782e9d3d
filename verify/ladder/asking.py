"""How a stage comes by its result: from memory, from the disk, or from a server at its turn."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from tileport.verify.ladder.jobs import Jobs, Rank
from tileport.verify.store import Store

P = TypeVar("P", bound=msgspec.Struct)

_LOG = logging.getLogger(__name__)

#: Seconds that writing results may hold up the end of a session.
_LAST_WRITES = 0.5


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
        self._writing: set[asyncio.Future[None]] = set()

    async def get(
        self,
        key: str,
        result_type: type[P],
        rank: Rank,
        work: Callable[[], Awaitable[P]],
        *,
        begun: Callable[[], None],
        worth_keeping: Callable[[P], bool] = lambda value: True,
    ) -> tuple[P, float, bool]:
        """A result, the milliseconds it took to make (or to find), and whether it was found.

        Args:
            key: From `result_key`.
            result_type: What the result is.
            rank: Its place in the line, asked whenever a slot is free.
            work: Asks the server; what it raises is raised here.
            begun: Called when its turn has come.
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
            begun()
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
        self._writing.add(writing)

        def written(done: asyncio.Future[None]) -> None:
            self._writing.discard(done)
            self._fresh.pop(key, None)
            if not done.cancelled() and (error := done.exception()) is not None:
                _LOG.error("a result was not kept", exc_info=error)

        writing.add_done_callback(written)

    async def close(self) -> None:
        """Finish writing, for half a second at most."""
        if self._writing:
            await asyncio.wait(self._writing, timeout=_LAST_WRITES)
        self._disk.shutdown(wait=False, cancel_futures=True)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
