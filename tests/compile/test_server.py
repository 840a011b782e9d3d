"""The pool in front of the compile workers: deadlines, crashes, superseding, memory, the end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.compile.kernels import RUNAWAY, TWICE, place_of, request
from tileport.verify.compile.server import PortServer, SupersededError
from tileport.verify.errors import ExitCode, TileportError


@pytest.fixture
async def server() -> AsyncIterator[PortServer]:
    server = PortServer(workers=1, compile_deadline=10)
    yield server
    await server.close()


def pids(server: PortServer) -> list[int]:
    return [child.pid or 0 for child in server._children]


async def ends(pid: int, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        await asyncio.sleep(0.02)
    return not Path(f"/proc/{pid}").exists()


async def test_a_runaway_compile_is_killed_and_told_at_the_entry() -> None:
    server = PortServer(workers=1, compile_deadline=1.5)
    await server.start()
    (pid,) = pids(server)
    start = time.monotonic()
    result = await server.compile(request(RUNAWAY))
    assert time.monotonic() - start < 6
    assert result.bytecode is None
    (diagnostic,) = result.diagnostics
    assert diagnostic.message == "compile took longer than 1.5 s"
    assert diagnostic.place is not None
    assert (diagnostic.place.line, diagnostic.place.column) == place_of(RUNAWAY, "twice<")
    assert await ends(pid)
    server._compile_deadline = 10
    assert (await server.compile(request())).bytecode is not None
    await server.close()


async def test_one_runaway_variant_is_enough_to_know_the_others_of_its_text() -> None:
    server = PortServer(workers=1, compile_deadline=1.5)
    await server.start()
    await server.compile(request(RUNAWAY))
    start = time.monotonic()
    result = await server.compile(request(RUNAWAY))
    assert time.monotonic() - start < 0.5
    assert result.diagnostics[0].message == "compile took longer than 1.5 s"
    server._compile_deadline = 10
    assert (await server.compile(request())).bytecode is not None
    await server.close()


async def test_a_worker_that_someone_killed_costs_no_result(server: PortServer) -> None:
    await server.start()
    os.kill(pids(server)[0], signal.SIGKILL)
    assert (await server.compile(request())).bytecode is not None


async def test_a_text_that_crashes_the_compiler_is_told_at_the_entry() -> None:
    server = PortServer(workers=1, compile_deadline=60)
    # Deeper than any stack: unary operators nest without brackets.
    text = TWICE.replace("tile + tile", "!" * 500_000 + "tile")
    result = await server.compile(request(text))
    assert result.bytecode is None
    (diagnostic,) = result.diagnostics
    assert "crashed" in diagnostic.message
    assert diagnostic.place is not None
    assert diagnostic.place.line == place_of(text, "twice<")[0]
    assert (await server.compile(request())).bytecode is not None
    await server.close()


async def test_a_newer_request_replaces_the_waiting_one_of_its_key(server: PortServer) -> None:
    await server.start()
    busy = asyncio.create_task(server.compile(request(), key="other"))
    old = asyncio.create_task(server.compile(request("old"), key="k"))
    unrelated = asyncio.create_task(server.compile(request(), key="l"))
    await asyncio.sleep(0)
    new = asyncio.create_task(server.compile(request(), key="k"))
    with pytest.raises(SupersededError):
        await old
    for task in (busy, unrelated, new):
        assert (await task).bytecode is not None


async def test_a_superseded_runaway_does_not_hold_up_its_successor(server: PortServer) -> None:
    await server.start()
    old = asyncio.create_task(server.compile(request(RUNAWAY), key="k"))
    await asyncio.sleep(0.3)
    start = time.monotonic()
    result = await server.compile(request(), key="k")
    assert result.bytecode is not None
    assert time.monotonic() - start < 6
    with pytest.raises(SupersededError):
        await old


async def test_a_cancelled_runaway_is_killed_soon(server: PortServer) -> None:
    await server.start()
    (pid,) = pids(server)
    task = asyncio.create_task(server.compile(request(RUNAWAY)))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await ends(pid)


async def test_a_cancelled_quick_compile_leaves_the_worker_warm(server: PortServer) -> None:
    await server.start()
    before = pids(server)
    task = asyncio.create_task(server.compile(request()))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.sleep(1.5)
    assert (await server.compile(request())).bytecode is not None
    assert pids(server) == before


async def test_what_is_in_view_goes_first(server: PortServer) -> None:
    done: list[str] = []

    async def compile(name: str, **how: Any) -> None:
        await server.compile(request(), **how)
        done.append(name)

    await server.start()
    tasks = [asyncio.create_task(compile(name)) for name in ("running", "second")]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(compile("in view", first=True)))
    await asyncio.gather(*tasks)
    assert done.index("in view") < done.index("second")


async def test_workers_share_the_work() -> None:
    server = PortServer(workers=2)
    await server.start()
    assert len(set(pids(server))) == 2
    results = await asyncio.gather(*(server.compile(request()) for _ in range(6)))
    assert len({result.bytecode for result in results}) == 1
    await server.close()


async def test_a_worker_above_its_memory_is_replaced_between_jobs() -> None:
    server = PortServer(workers=1, memory_limit=1)
    await server.start()
    for _ in range(3):
        (before,) = pids(server)
        assert (await server.compile(request())).bytecode is not None
        assert await ends(before)
        while pids(server) == [0]:
            await asyncio.sleep(0.02)
    await server.close()


async def test_close_ends_the_workers_and_what_waits(server: PortServer) -> None:
    await server.start()
    (pid,) = pids(server)
    running = asyncio.create_task(server.compile(request(RUNAWAY)))
    waiting = asyncio.create_task(server.compile(request()))
    await asyncio.sleep(0.2)
    await server.close()
    await server.close()
    for task in (running, waiting):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await ends(pid, 0.5)
    with pytest.raises(TileportError):
        await server.compile(request())


async def test_a_server_that_was_never_asked_closes() -> None:
    await PortServer().close()


async def test_a_missing_helper_says_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tileport_native.py").write_text("raise ModuleNotFoundError('gone')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = PortServer(workers=1)
    with pytest.raises(TileportError, match=r"build\.py") as caught:
        await server.compile(request())
    assert caught.value.code is ExitCode.TOOL_MISSING
    await server.close()


async def test_another_version_of_the_helper_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tileport_native.py").write_text("__version__ = '9.9.9'")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = PortServer(workers=1)
    with pytest.raises(TileportError, match=r"9\.9\.9") as caught:
        await server.compile(request())
    assert caught.value.code is ExitCode.TOOL_MISSING
    await server.close()
