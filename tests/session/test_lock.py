"""One writer for each port; the next one is told who it is."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tileport.verify.lock import LockHolder, PortLock
from tileport.verify.workspace import StateFolder

_HOLDER = (
    "import sys, time\n"
    "from pathlib import Path\n"
    "from tileport.verify.lock import PortLock\n"
    "from tileport.verify.workspace import StateFolder\n"
    "lock = PortLock(StateFolder(root=Path(sys.argv[1])), sys.argv[2])\n"
    "print(lock.take(), flush=True)\n"
    "time.sleep(60)\n"
)


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(root=tmp_path / ".tileport")


def test_the_second_taker_is_told_who_has_it(state: StateFolder) -> None:
    first, second = PortLock(state, "/x.rs"), PortLock(state, "/x.rs")
    assert first.take() is None
    holder = second.take()
    assert holder is not None
    assert (holder.pid, holder.host) == (os.getpid(), socket.gethostname())
    assert str(holder).startswith(f"process {os.getpid()} on {socket.gethostname()}, since 20")
    assert first.held
    assert not second.held


def test_other_ports_have_other_locks(state: StateFolder) -> None:
    assert PortLock(state, "/x.rs").take() is None
    kept = PortLock(state, "/y.rs")
    assert kept.take() is None


def test_two_names_of_one_file_share_a_lock(state: StateFolder, tmp_path: Path) -> None:
    (tmp_path / "x.rs").write_text("")
    (tmp_path / "y.rs").symlink_to("x.rs")
    kept = PortLock(state, str(tmp_path / "x.rs"))
    assert kept.take() is None
    assert PortLock(state, str(tmp_path / "y.rs")).take() is not None


def test_release_lets_the_next_one_in(state: StateFolder) -> None:
    first, second = PortLock(state, "/x.rs"), PortLock(state, "/x.rs")
    first.take()
    assert second.take() is not None
    first.release()
    first.release()
    assert second.take() is None


def test_the_lock_of_a_killed_process_is_taken_over(state: StateFolder) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(state.root), "/x.rs"], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "None\n"
        lock = PortLock(state, "/x.rs")
        holder = lock.take()
        assert holder is not None
        assert holder.pid == other.pid
        other.send_signal(signal.SIGKILL)
    assert lock.take() is None


def _without_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)


def test_without_kernel_locks_a_living_process_is_believed(
    state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without_flock(monkeypatch)
    first, second = PortLock(state, "/x.rs"), PortLock(state, "/x.rs")
    assert first.take() is None
    assert second.take() is not None


def test_without_kernel_locks_a_dead_or_recycled_pid_is_not(
    state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import msgspec

    _without_flock(monkeypatch)
    lock = PortLock(state, "/x.rs")
    lock.path.parent.mkdir(parents=True)
    recycled = LockHolder(pid=os.getpid(), host=socket.gethostname(), since="then", started=1)
    lock.path.write_bytes(msgspec.json.encode(recycled))
    assert lock.take() is None


def test_where_no_lock_file_can_be_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    lock = PortLock(StateFolder(root=tmp_path / "file"), "/x.rs")
    assert lock.take() is None
    assert not lock.held
    lock.release()
