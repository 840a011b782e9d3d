"""Child servers survive whatever their work does, and nothing of them survives their end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.native.child_module import Add
from tileport.verify.children import Child, ChildError
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.supervised import run_command

ROOT = Path(__file__).resolve().parents[2]
ENV = {"PYTHONPATH": str(ROOT)}
MODULE = "tests.native.child_module"


@pytest.fixture
async def child() -> AsyncIterator[Child]:
    child = Child(MODULE, name="test child", env=ENV)
    yield child
    await child.close()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def all_gone(pids: list[int], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        await asyncio.sleep(0.02)
    return not any(map(alive, pids))


def pids_in(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().splitlines()]


async def test_a_call_returns_what_the_function_returns(child: Child) -> None:
    assert await child.call("add", Add(2, 3), int, deadline=10) == 5


async def test_large_payloads_go_both_ways(child: Child) -> None:
    data = os.urandom(5_000_000)
    assert await child.call("echo", {"data": data}, dict[str, bytes], deadline=20) == {"data": data}


async def test_what_the_child_prints_stays_out_of_the_frames(child: Child, tmp_path: Path) -> None:
    assert await child.call("noise", {}, int, deadline=10) == 7
    assert await child.call("add", Add(1, 1), int, deadline=10) == 2
    assert "to stderr" in child.printed()
    assert len(child.printed()) <= 65536


async def test_the_log_gets_what_the_child_prints(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    child = Child(MODULE, env=ENV, log=log)
    await child.call("noise", {}, int, deadline=10)
    await child.close()
    assert b"to stderr" in log.read_bytes()


@pytest.mark.parametrize("method, words", [("crash", "SIGSEGV"), ("leave", "exit code 5")])
async def test_a_crash_is_reported_and_the_next_call_works(
    child: Child, method: str, words: str
) -> None:
    before = await child.call("pid", {}, int, deadline=10)
    with pytest.raises(ChildError, match=words) as caught:
        await child.call(method, {"code": 5}, int, deadline=10)
    assert caught.value.kind == "crashed"
    assert caught.value.message.startswith("test child ")
    assert await child.call("pid", {}, int, deadline=10) != before


async def test_a_crash_tells_the_last_line_that_was_printed(child: Child) -> None:
    with pytest.raises(ChildError, match="last words"):
        await child.call("leave", {"code": 1}, int, deadline=10)


async def test_a_child_killed_between_calls_is_started_again(child: Child) -> None:
    os.kill(await child.call("pid", {}, int, deadline=10), signal.SIGKILL)
    await asyncio.sleep(0.3)
    assert await child.call("add", Add(1, 2), int, deadline=10) == 3


async def test_errors_for_a_person_keep_their_parts(child: Child) -> None:
    with pytest.raises(TileportError) as caught:
        await child.call("bad_input", {}, int, deadline=10)
    error = caught.value
    assert (error.what, error.where, error.todo) == ("no kernel", "x.py:3", "add one")
    assert error.code is ExitCode.TOOL_MISSING


async def test_an_unforeseen_exception_fails_the_call_and_not_the_child(child: Child) -> None:
    before = await child.call("pid", {}, int, deadline=10)
    with pytest.raises(ChildError, match="ZeroDivisionError") as caught:
        await child.call("surprise", {}, int, deadline=10)
    assert caught.value.kind == "failed"
    assert "\x1b" not in caught.value.message
    assert await child.call("pid", {}, int, deadline=10) == before


@pytest.mark.parametrize("payload", [Add(1, 2), {"left": "x"}])
async def test_a_wrong_method_or_payload_fails_only_the_call(child: Child, payload: Any) -> None:
    method = "nosuch" if isinstance(payload, msgspec.Struct) else "add"
    with pytest.raises(ChildError) as caught:
        await child.call(method, payload, int, deadline=10)
    assert caught.value.kind == "failed"
    assert await child.call("add", Add(1, 2), int, deadline=10) == 3


async def test_an_unexpected_result_type_fails_only_the_call(child: Child) -> None:
    with pytest.raises(ChildError) as caught:
        await child.call("add", Add(1, 2), str, deadline=10)
    assert caught.value.kind == "failed"


async def test_nonsense_in_the_frame_channel_costs_one_call(child: Child) -> None:
    with pytest.raises(ChildError) as caught:
        await child.call("foul", {}, int, deadline=10)
    assert caught.value.kind == "crashed"
    assert await child.call("add", Add(1, 2), int, deadline=10) == 3


@pytest.mark.parametrize("method", ["slow", "spin"])
async def test_a_runaway_is_killed_at_its_deadline(child: Child, method: str) -> None:
    pid = await child.call("pid", {}, int, deadline=10)
    start = time.monotonic()
    with pytest.raises(ChildError, match=r"took longer than 0\.3 s") as caught:
        await child.call(method, {"seconds": 60, "word": ""}, str, deadline=0.3)
    assert caught.value.kind == "deadline"
    assert time.monotonic() - start < 5
    assert await all_gone([pid])
    assert await child.call("add", Add(1, 2), int, deadline=10) == 3


@pytest.mark.parametrize("then", ["sleep", "crash", "return"])
async def test_descendants_end_with_the_child_however_it_ends(
    child: Child, tmp_path: Path, then: str
) -> None:
    pids = tmp_path / "pids"
    payload = {"pids": str(pids), "then": then}
    with contextlib.suppress(ChildError):
        await child.call("family", payload, list[int], deadline=1.5)
    await child.close()
    assert len(pids_in(pids)) == 3
    assert await all_gone(pids_in(pids))


@pytest.mark.parametrize("then", ["sleep", "return"])
async def test_nothing_survives_when_the_asking_process_is_killed(
    tmp_path: Path, then: str
) -> None:
    pids = tmp_path / "pids"
    script = f"""
import asyncio, os
from tileport.verify.children import Child
async def main():
    child = Child({MODULE!r})
    print(await child.call("pid", {{}}, int, deadline=10), flush=True)
    await child.call("family", dict(pids={str(pids)!r}, then={then!r}), list[int], deadline=60)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    asking = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, **ENV},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert asking.stdout is not None
    server = int(asking.stdout.readline())
    while not pids.exists() or len(pids_in(pids)) < 3:
        await asyncio.sleep(0.02)
    everyone = [server, *pids_in(pids)]
    assert all(map(alive, everyone))
    asking.kill()
    asking.wait()
    asking.stdout.close()
    assert await all_gone(everyone)


async def test_concurrent_calls_are_queued_in_order(child: Child) -> None:
    words = ["a", "b", "c"]
    results = await asyncio.gather(
        *(child.call("slow", {"seconds": 0.1, "word": w}, str, deadline=10) for w in words)
    )
    assert results == words


async def test_a_deadline_does_not_count_the_wait_for_a_turn(child: Child) -> None:
    await child.start()
    first = asyncio.create_task(child.call("slow", {"seconds": 0.6, "word": "a"}, str, deadline=10))
    await asyncio.sleep(0)
    assert await child.call("slow", {"seconds": 0.1, "word": "b"}, str, deadline=0.5) == "b"
    assert await first == "a"


async def test_a_cancelled_await_leaves_the_child_usable_and_warm(child: Child) -> None:
    before = await child.call("pid", {}, int, deadline=10)
    running = asyncio.create_task(
        child.call("slow", {"seconds": 0.3, "word": "old"}, str, deadline=10)
    )
    await asyncio.sleep(0.1)
    queued = asyncio.create_task(child.call("slow", {"seconds": 60, "word": ""}, str, deadline=90))
    await asyncio.sleep(0.05)
    for task in (running, queued):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    start = time.monotonic()
    assert await child.call("pid", {}, int, deadline=10) == before
    assert time.monotonic() - start < 5  # the queued call never ran


async def test_cancel_kills_the_running_call_only(child: Child) -> None:
    await child.start()
    child.cancel()  # nothing runs: nothing happens
    running = asyncio.create_task(child.call("slow", {"seconds": 60, "word": ""}, str, deadline=90))
    await asyncio.sleep(0.2)
    queued = asyncio.create_task(child.call("add", Add(1, 2), int, deadline=10))
    child.cancel()
    with pytest.raises(ChildError) as caught:
        await running
    assert caught.value.kind == "cancelled"
    assert await queued == 3


async def test_close_may_be_repeated_and_ends_a_running_call(child: Child) -> None:
    await child.start()
    running = asyncio.create_task(child.call("slow", {"seconds": 60, "word": ""}, str, deadline=90))
    await asyncio.sleep(0.2)
    pid = child.pid
    await asyncio.gather(child.close(), child.close())
    await child.close()
    with pytest.raises(ChildError):
        await running
    assert pid is not None and not alive(pid)
    with pytest.raises(ChildError) as caught:
        await child.call("add", Add(1, 2), int, deadline=10)
    assert caught.value.kind == "cancelled"


async def test_closing_a_child_that_never_ran_is_fine() -> None:
    await Child(MODULE, env=ENV).close()


async def test_a_child_that_cannot_start_says_why() -> None:
    child = Child(MODULE, arguments=("--dies-early",), env=ENV)
    with pytest.raises(ChildError, match="nothing to start with"):
        await child.start()
    await child.close()


async def test_a_child_that_never_serves_misses_its_start_deadline() -> None:
    child = Child(MODULE, arguments=("--never-serves",), env=ENV, start_deadline=0.5)
    with pytest.raises(ChildError, match="did not start"):
        await child.start()
    await child.close()


async def test_restart_gives_a_fresh_process_and_waits_for_the_running_call(child: Child) -> None:
    before = await child.call("pid", {}, int, deadline=10)
    running = asyncio.create_task(
        child.call("slow", {"seconds": 0.2, "word": "done"}, str, deadline=10)
    )
    await asyncio.sleep(0)
    await child.restart()
    assert await running == "done"
    assert await child.call("pid", {}, int, deadline=10) != before


async def test_memory_of_the_child_is_seen(child: Child) -> None:
    assert child.rss_bytes() == 0
    await child.start()
    assert 5e6 < child.rss_bytes() < 1e9


async def test_no_descriptor_is_left_behind() -> None:
    async def once() -> None:
        child = Child(MODULE, env=ENV)
        await child.call("add", Add(1, 2), int, deadline=10)
        with pytest.raises(ChildError):
            await child.call("leave", {"code": 1}, int, deadline=10)
        await child.call("add", Add(1, 2), int, deadline=10)
        await child.close()

    await once()
    before = len(list(Path("/proc/self/fd").iterdir()))
    await once()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_ctrl_c_in_the_terminal_reaches_the_app_and_not_the_child() -> None:
    script = f"""
import asyncio, os, signal
from tileport.verify.children import Child
async def main():
    child = Child({MODULE!r})
    await child.start()
    print("ready", flush=True)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: print("app", flush=True))
    print(await child.call("slow", dict(seconds=1, word="done"), str, deadline=10), flush=True)
    print(repr(child.printed()), flush=True)
    await child.close()
asyncio.run(main())
"""
    app = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, **ENV},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert app.stdout is not None
    assert app.stdout.readline() == "ready\n"
    time.sleep(0.3)
    os.killpg(app.pid, signal.SIGINT)  # as the terminal does with its foreground group
    output, _ = app.communicate(timeout=20)
    assert output == "app\ndone\n''\n"


async def test_a_command_gives_its_code_and_output_and_lines_as_they_come() -> None:
    lines: list[str] = []
    done = await run_command(
        ["sh", "-c", "echo out; echo one >&2; printf 'two\\033[1m\\n' >&2; exit 3"],
        deadline=10,
        on_line=lines.append,
    )
    assert (done.code, done.stdout, done.truncated) == (3, b"out\n", False)
    assert lines == ["one", "two␛[1m"]


async def test_the_output_of_a_command_is_bounded() -> None:
    done = await run_command(
        ["sh", "-c", "head -c 3000000 /dev/zero"], deadline=20, stdout_limit=1000
    )
    assert (len(done.stdout), done.truncated) == (1000, True)


async def test_a_command_is_killed_with_its_descendants_at_its_deadline(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with pytest.raises(TimeoutError):
        await run_command(
            [
                "sh",
                "-c",
                f"sleep 600 & echo $! >> {pids}; setsid sleep 600 & echo $! >> {pids};wait",
            ],
            deadline=0.5,
        )
    assert await all_gone(pids_in(pids), 1)


async def test_a_cancelled_command_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = asyncio.create_task(
        run_command(["sh", "-c", f"echo $$ > {pids}; exec sleep 600"], deadline=60)
    )
    while not pids.exists() or not pids.read_text():
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pids_in(pids)[0])


async def test_a_command_that_does_not_exist_says_so() -> None:
    done = await run_command(["no-such-program"], deadline=10)
    assert done.code == 127
    assert "no-such-program" in done.stderr
