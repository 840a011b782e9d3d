"""A capture leaves no process behind, and the server outlives what it is given."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.capture.conftest import Capture
from tests.capture.support import with_cases
from tileport.verify.capture.client import CaptureServer
from tileport.verify.capture.request import CaptureRequest, OperatorSource
from tileport.verify.errors import ExitCode, TileportError

pytestmark = pytest.mark.asyncio(loop_scope="session")

GOOD = 'yield "good", lambda: op(vector(), vector())'

# Starts a process that leaves its parent, its group and its session, and writes its pid.
DAEMON = """
import os, sys, time, pathlib
def daemon(name):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            pathlib.Path(name).write_text(str(os.getpid()))
            time.sleep(1000)
        os._exit(0)
    while not pathlib.Path(name).exists():
        time.sleep(0.01)
    time.sleep(0.05)
"""


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("end", ["pass", "os._exit(1)", "time.sleep(1000)"])
async def test_no_process_of_a_case_outlives_the_capture(
    capture: Capture, workspace: Path, end: str
) -> None:
    text = DAEMON + with_cases(
        GOOD, "def bad():", "    daemon('pid')", f"    {end}", 'yield "bad", bad'
    )
    await capture(text, deadline=8.0)
    pid = int((workspace / "pid").read_text())
    ends = time.monotonic() + 2
    while alive(pid) and time.monotonic() < ends:
        await asyncio.sleep(0.01)
    assert not alive(pid)


async def test_captures_asked_for_at_once_run_one_after_the_other(capture: Capture) -> None:
    text = with_cases(GOOD)
    reports = await asyncio.gather(*(capture(text, name=f"op{i}") for i in range(3)))
    assert [len(report.variants) for report in reports] == [1, 1, 1]


async def test_the_server_does_not_grow(capture: Capture, server: CaptureServer) -> None:
    text = with_cases(GOOD)
    await capture(text)
    before = server.rss_bytes()
    for _ in range(15):
        await capture(text)
    assert server.rss_bytes() - before < 8 << 20


async def test_a_capture_can_be_cancelled_and_the_next_one_works(
    workspace: Path, tmp_path: Path
) -> None:
    own = CaptureServer(log=tmp_path / "log")
    source = workspace / "op.py"
    source.write_text("import time\n" + with_cases('yield "slow", lambda: time.sleep(1000)'))
    request = CaptureRequest(
        operator=OperatorSource(kind="path", name="op", source=str(source)),
        workspace=str(workspace),
        targets=("sm_90",),
        blobs=str(tmp_path / "blobs"),
    )
    try:
        assert await own.start() > 0
        running = asyncio.create_task(own.capture(request))
        await asyncio.sleep(1.0)
        own.cancel()
        with pytest.raises(TileportError) as caught:
            await running
        assert caught.value.code == ExitCode.INTERRUPTED
        source.write_text(with_cases(GOOD))
        assert len((await own.capture(request)).variants) == 1
    finally:
        await own.close()
    with pytest.raises(TileportError):
        await own.capture(request)


@pytest.mark.slow
async def test_the_user_s_environment_for_tracing_does_not_reach_the_reference(
    capture: Capture, tmp_path: Path
) -> None:
    text = with_cases(
        "import os", "assert not [n for n in os.environ if n[:9] == 'CUDA_TILE']", GOOD
    )
    os.environ["CUDA_TILE_TESTING_DISABLE_DIV"] = "1"
    own = CaptureServer(log=tmp_path / "log")
    workspace = tmp_path / "own"
    workspace.mkdir()
    (workspace / "op.py").write_text(text)
    request = CaptureRequest(
        operator=OperatorSource(kind="path", name="op", source=str(workspace / "op.py")),
        workspace=str(workspace),
        targets=("sm_90",),
        blobs=str(tmp_path / "blobs"),
    )
    try:
        traced = await own.capture(request)
    finally:
        del os.environ["CUDA_TILE_TESTING_DISABLE_DIV"]
        await own.close()
    assert not traced.findings, traced.findings
    plain = await capture(workspace / "op.py")
    assert traced.variants[0].reference == plain.variants[0].reference
