"""Jobs: shared, in order of rank, dropped when nobody wants them any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tileport.verify.ladder.jobs import Jobs


class Bench:
    """Works that start and end when the test says so."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.ended: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}

    def finish(self, *names: str) -> None:
        for name in names:
            self._gates[name].set()

    def work(self, name: str) -> Callable[[], Awaitable[str]]:
        self._gates[name] = asyncio.Event()

        async def run() -> str:
            self.started.append(name)
            try:
                await self._gates[name].wait()
            except asyncio.CancelledError:
                self.ended.append(f"{name} cancelled")
                raise
            self.ended.append(name)
            return f"result of {name}"

        return run


async def _ticks(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def _submit(jobs: Jobs, bench: Bench, name: str, *rank: int) -> asyncio.Task[str]:
    return asyncio.create_task(jobs.run(name, lambda: rank, bench.work(name)))


async def test_no_more_jobs_run_than_there_are_slots_and_the_best_rank_goes_next() -> None:
    jobs, bench = Jobs(1), Bench()
    tasks = [_submit(jobs, bench, "a", 1)]
    await _ticks()
    tasks += [_submit(jobs, bench, "b", 2), _submit(jobs, bench, "c", 0)]
    await _ticks()
    assert bench.started == ["a"]
    bench.finish("a")
    await _ticks()
    assert bench.started == ["a", "c"]
    bench.finish("b", "c")
    assert await asyncio.gather(*tasks) == [f"result of {name}" for name in "abc"]


async def test_ranks_are_asked_when_a_slot_is_free() -> None:
    jobs, bench = Jobs(1), Bench()
    view = "b"
    running = _submit(jobs, bench, "a", 0)
    await _ticks()
    waiting = [
        asyncio.create_task(jobs.run(name, lambda n=name: (int(n != view),), bench.work(name)))
        for name in "bc"
    ]
    await _ticks()
    view = "c"
    bench.finish("a")
    await running
    await _ticks()
    assert bench.started == ["a", "c"]
    bench.finish("b", "c")
    await asyncio.gather(*waiting)


async def test_a_spare_slot_is_for_the_first_rank_only() -> None:
    jobs, bench = Jobs(2, spare=1), Bench()
    for name, rank in (("a", 1), ("b", 1), ("c", 0)):
        _submit(jobs, bench, name, rank)
    await _ticks()
    assert sorted(bench.started) == ["a", "c"]
    bench.finish("a")
    await _ticks()
    assert bench.started[-1] == "b"
    await jobs.close()


async def test_one_slot_is_never_spared() -> None:
    jobs, bench = Jobs(1, spare=1), Bench()
    task = _submit(jobs, bench, "a", 1)
    await _ticks()
    bench.finish("a")
    assert await task == "result of a"


async def test_a_job_without_a_rank_waits_until_it_has_one() -> None:
    jobs, bench = Jobs(1), Bench()
    rank: tuple[int, ...] | None = None
    task = asyncio.create_task(jobs.run("a", lambda: rank, bench.work("a")))
    await _ticks()
    assert bench.started == []
    rank = (0,)
    jobs.poke()
    await _ticks()
    bench.finish("a")
    assert await task == "result of a"


async def test_equal_keys_share_one_job() -> None:
    jobs, bench = Jobs(2), Bench()
    first = _submit(jobs, bench, "a", 0)
    await _ticks()
    second = asyncio.create_task(jobs.run("a", lambda: (0,), bench.work("never")))
    await _ticks()
    bench.finish("a")
    assert await first == await second == "result of a"
    assert bench.started == ["a"]


async def test_a_waiting_job_that_nobody_wants_never_starts() -> None:
    jobs, bench = Jobs(1), Bench()
    running = _submit(jobs, bench, "a", 0)
    await _ticks()
    unwanted = _submit(jobs, bench, "b", 0)
    await _ticks()
    unwanted.cancel()
    await _ticks()
    bench.finish("a")
    await running
    await _ticks()
    assert bench.started == ["a"]
    again = _submit(jobs, bench, "b", 0)
    await _ticks()
    bench.finish("b")
    assert await again == "result of b"


async def test_a_job_cancelled_in_the_tick_it_was_made_leaves_nothing() -> None:
    jobs, bench = Jobs(1), Bench()
    for _ in range(3):
        task = _submit(jobs, bench, "a", 0)
        await asyncio.sleep(0)
        task.cancel()
        await _ticks()
    after = _submit(jobs, bench, "b", 0)
    await _ticks()
    bench.finish("b")
    assert await after == "result of b"


async def test_a_running_job_that_nobody_wants_goes_on_for_its_grace() -> None:
    jobs, bench = Jobs(1, grace=0.05), Bench()
    unwanted = _submit(jobs, bench, "a", 0)
    await _ticks()
    unwanted.cancel()
    waiting = _submit(jobs, bench, "b", 0)
    await _ticks()
    assert bench.ended == []
    await asyncio.sleep(0.1)
    assert bench.ended == ["a cancelled"]
    assert bench.started == ["a", "b"]
    bench.finish("b")
    await waiting


async def test_a_job_wanted_again_within_its_grace_is_kept() -> None:
    jobs, bench = Jobs(1, grace=0.05), Bench()
    first = _submit(jobs, bench, "a", 0)
    await _ticks()
    first.cancel()
    await _ticks()
    second = asyncio.create_task(jobs.run("a", lambda: (0,), bench.work("never")))
    await asyncio.sleep(0.1)
    assert bench.ended == []
    bench.finish("a")
    assert await second == "result of a"
    assert bench.started == ["a"]


async def test_what_a_job_raises_reaches_all_and_frees_the_slot() -> None:
    jobs, bench = Jobs(1), Bench()

    async def broken() -> str:
        await asyncio.sleep(0)
        raise ValueError("broken")

    both = [asyncio.create_task(jobs.run("a", lambda: (0,), broken)) for _ in range(2)]
    for task in both:
        with pytest.raises(ValueError, match="broken"):
            await task
    after = _submit(jobs, bench, "b", 0)
    await _ticks()
    bench.finish("b")
    assert await after == "result of b"


async def test_close_ends_all() -> None:
    jobs, bench = Jobs(1), Bench()
    tasks = [_submit(jobs, bench, "a", 0), _submit(jobs, bench, "b", 0)]
    await _ticks()
    await jobs.close()
    assert bench.ended == ["a cancelled"]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
