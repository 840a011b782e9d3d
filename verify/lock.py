"""Who has a port open for writing: one session at a time, and the next one is told who."""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import hashlib
import os
import socket
import time
from pathlib import Path

import msgspec

from tileport.verify.workspace import StateFolder

#: What `flock` says on file systems that have no locks (some network ones).
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


class LockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """The session that has a port open for writing."""

    pid: int
    host: str
    #: When it was opened, ISO 8601 in local time.
    since: str
    #: When the process began, in clock ticks since boot; tells a pid that was given out again.
    started: int = 0

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class PortLock:
    """The lock on one port file, held through a lock file that the kernel releases with us.

    Args:
        state: The state folder of the workspace.
        port: The port file; links are followed, so that two names of one file share a lock.
    """

    def __init__(self, state: StateFolder, port: str) -> None:
        name = hashlib.sha256(os.fsencode(os.path.realpath(port))).hexdigest()[:24]
        self.path = state.locks / name
        self._descriptor = -1

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor >= 0

    def take(self) -> LockHolder | None:
        """Take the lock; None where that worked, else who has it.

        A lock left by a dead process is taken over. Where no lock file can be written at all
        (disk full, read-only), nobody else can hold one either, and there is no lock.
        """
        if self.held:
            return None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            there = _holder(descriptor)
            locked = error.errno not in _NO_LOCKS
            if locked or (there is not None and _lives(there)):
                os.close(descriptor)
                return there or LockHolder(pid=0, host="unknown", since="unknown")
        self._descriptor = descriptor
        self._sign()
        return None

    def release(self) -> None:
        """Let go of the lock; may be repeated."""
        if self.held:
            # The file stays: to remove it would let two sessions lock two files of one name.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1

    def _sign(self) -> None:
        me = LockHolder(
            pid=os.getpid(),
            host=socket.gethostname(),
            since=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            started=_process_start(os.getpid()),
        )
        with contextlib.suppress(OSError):  # a full disk: locked all the same, only nameless
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, msgspec.json.encode(me), 0)


def _holder(descriptor: int) -> LockHolder | None:
    # It signs right after it locks; a session opened at the same moment waits for that.
    for _ in range(10):
        try:
            return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=LockHolder)
        except (OSError, msgspec.MsgspecError):
            time.sleep(0.005)
    return None


def _lives(holder: LockHolder) -> bool:
    """Whether the process that signed is still there; asked only where the kernel cannot tell."""
    if holder.host != socket.gethostname():
        return True
    return holder.started != 0 and _process_start(holder.pid) == holder.started


def _process_start(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
