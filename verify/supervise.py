"""Runs one command and makes sure that nothing of it outlives the process that asked for it.

Run as a program, by path and with the standard library alone (`python -I -S supervise.py`), so
that it starts in milliseconds and stays small:

    supervise.py LIFELINE_FD NICE COMMAND [ARGUMENT...]

It holds the read end of a pipe whose only write end is in the process that asked. When that end
is closed, by intent or because the process was killed with SIGKILL, the command and everything it
started are killed; also when the command itself ends. A process that moves to another group or
session, or whose parent ends, stays a descendant, because this process is the subreaper of all
of them. It ends with the command's exit code, or 128 plus the signal that ended it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

#: What it ends with when the command cannot be started, as shells do.
NOT_FOUND = 127
#: What it ends with when its asker went away.
ORPHANED = 128 + signal.SIGKILL


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def reap_descendants() -> None:
    """Makes this process the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Has this process killed when its parent is; ends it at once if that is no longer `parent`."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(ORPHANED)


def _parents() -> dict[int, int]:
    """The parent of every process that can be seen."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to load
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                # The command name in brackets may hold spaces and brackets itself.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # ended meanwhile
        parents[int(name)] = int(fields[1])
    return parents


def _descendants(root: int) -> list[int]:
    parents = _parents()
    found: list[int] = []
    level = {root}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level}
        found.extend(level)
    return found


def _exit_code(child: int) -> int | None:
    """The command's exit code if it ended, else None; other ended descendants are collected."""
    while True:
        # Only looked at here: while the command is not collected, its group cannot be reused.
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        if ended.si_pid == child:
            return ended.si_status if ended.si_code == os.CLD_EXITED else 128 + ended.si_status
        os.waitpid(ended.si_pid, 0)


def kill_all(group: int | None = None) -> None:
    """Kills every descendant of this process, until none is left; `group` at one stroke first.

    Needs `reap_descendants` before, so that what moved elsewhere is still a descendant.
    """
    while True:
        if group is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _start(command: list[str], nice: int, lifeline: int) -> int:
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        # It does so itself as well, and may have gone on to its command or ended by now.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)
        return pid
    try:
        os.setpgid(0, 0)
        # Only for the case that the supervisor itself is killed; its own way is thorough.
        die_with_parent(supervisor)
        os.close(lifeline)
        if nice:
            os.nice(nice)
        signal.set_wakeup_fd(-1)
        # What Python changed for itself is not for the command.
        for changed in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(changed, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_FOUND)


def main(arguments: list[str]) -> int:
    """Runs the command until it ends or its asker goes away; the exit code."""
    lifeline, nice, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    # A terminal's Ctrl-C is for the app, which decides what becomes of its children.
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTSTP, signal.SIGTTOU, signal.SIGTTIN):
        signal.signal(ignored, signal.SIG_IGN)
    wake, waker = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    reap_descendants()
    child = _start(command, nice, lifeline)
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(wake, select.POLLIN)
    while True:
        events = dict(poll.poll())
        if wake in events:
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 4096)
            code = _exit_code(child)
            if code is not None:
                kill_all(child)
                return code
        if lifeline in events:
            kill_all(child)
            return ORPHANED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
