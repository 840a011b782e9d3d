"""A process between the server and one worker, so that nothing of a worker is left behind.

It is the subreaper of all that the worker starts, waits for it, and then kills whatever of it is
still there; also when it is told to, or when the server is gone. It never runs the user's Python.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tileport.verify.supervise import die_with_parent, kill_all, reap_descendants

#: Written to the control pipe: have the worker say where it is.
ASK_WHERE = b"w"


def guard(
    control: int, keep: tuple[int, ...], worker: Callable[[], NoReturn], where_signal: int
) -> NoReturn:
    """Forks the worker and outlives it; called right after the fork from the server.

    Ends with the worker's exit code, 128 plus a signal's number if one ended it.

    Args:
        control: One end of a socket pair. `ASK_WHERE` is passed on to the worker as
            `where_signal`, the end of the stream is the order to kill; and the other side sees
            the end when the guard is through.
        keep: Descriptors that are the worker's.
        worker: What the worker does; never returns.
    """
    code = 1
    try:
        _close_all_but({0, 1, 2, control, *keep})
        reap_descendants()
        for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(ignored, signal.SIG_IGN)
        own = os.getpid()
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            # The guard cleans up after the worker; should the guard be killed, at least it goes.
            die_with_parent(own)
            os.close(control)
            worker()
        for descriptor in keep:
            os.close(descriptor)
        code = _watch(pid, control, where_signal)
        kill_all(pid)
    finally:
        os._exit(code)


def _watch(pid: int, control: int, where_signal: int) -> int:
    wake, waker = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    poll.register(control, select.POLLIN)
    while True:
        # Left uncollected until all is killed, so that its group's number stays its own.
        status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if status is not None:
            exited = status.si_code == os.CLD_EXITED
            return status.si_status if exited else 128 + status.si_status
        ready = {descriptor for descriptor, _ in poll.poll()}
        if wake in ready:
            os.read(wake, 4096)
        if control in ready:
            if os.read(control, 1) != ASK_WHERE:
                return 128 + signal.SIGKILL
            os.kill(pid, where_signal)


def _close_all_but(kept: set[int]) -> None:
    for link in list(Path("/proc/self/fd").iterdir()):
        descriptor = int(link.name)
        if descriptor not in kept:
            with contextlib.suppress(OSError):  # the one the listing itself used
                os.close(descriptor)
