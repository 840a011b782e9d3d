"""Runs workers: forks them, reads what they report, ends them at their deadlines.

A worker that dies or hangs in one case costs that case: another worker goes on with the next.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tileport.verify.capture import worker
from tileport.verify.capture.faults import UserFiles
from tileport.verify.capture.outcome import Outcome
from tileport.verify.capture.request import (
    CaseDone,
    CaseStarted,
    Event,
    Exiting,
    Failed,
    Finished,
    Loaded,
)
from tileport.verify.model import Finding, Place, Severity
from tileport.verify.safe_text import visible
from tileport.verify.supervise import kill_all, reap_descendants

#: Times another worker takes over, and how many of those after a hang.
_TAKEOVERS = 8
_HANGS = 2
#: Seconds a hanging worker has to write down where it is.
_WHERE_GRACE = 0.5
_OUTPUT_KEPT = 64 * 1024
_OUTPUT_LOGGED = 16 * 1024
_FRAME_LIMIT = 64 * 1024 * 1024
_READ_AT_ONCE = 1 << 20
#: Seconds between looks at a worker whose end cannot be waited for.
_POLL = 0.05

_STACK_LINE = re.compile(r'^  File "(.+)", line (\d+) in ')


class Job:
    """One task, over as many workers as it takes."""

    def __init__(self, task: worker.Task) -> None:
        request = task.request
        self.task = task
        self.outcome = Outcome(target=task.target, real=task.real)
        self.attempt: Attempt | None = None
        self._step = request.deadline / 4
        self._ends: float | None = None
        self._takeovers = 0
        self._hangs = 0
        named = [f for f in (request.operator.source, request.operator.cases) if f]
        self._users = UserFiles([request.workspace, *(str(Path(f).parent) for f in named)], named)

    def start(self) -> Attempt:
        """Forks a worker for what is left to do."""
        self._begun = time.monotonic()
        if self._ends is None:
            self._ends = self._begun + self.task.request.deadline
        self._loaded = False
        self._finished = False
        self._case: int | None = None
        self._last = self.task.first - 1
        self._exiting: Exiting | None = None
        self.outcome.begin_process()
        self.attempt = Attempt(self.task)
        return self.attempt

    def deadline(self) -> float:
        """When the step that runs must have ended, on the monotonic clock."""
        return min(self._begun + self._step, self._ends or 0.0)

    def take(self, event: Event) -> None:
        """Notes what the worker reports."""
        outcome = self.outcome
        match event:
            case Loaded():
                outcome.source = event.source
                self._loaded = True
                self._begun = time.monotonic()
            case CaseStarted():
                outcome.cases[event.index] = event.name
                self._case = self._last = event.index
                self._begun = time.monotonic()
            case CaseDone():
                self._case = None
                self._begun = time.monotonic()
            case Exiting():
                self._exiting = event
            case Finished():
                self._finished = True
                outcome.files |= set(event.files)
                outcome.kernels_defined = event.kernels_defined
            case _:
                outcome.take(event)

    def ended(self, code: int, *, hung: bool) -> bool:
        """Notes how the worker ended; whether another one has to go on."""
        attempt, self.attempt = self.attempt, None
        assert attempt is not None
        attempt.log()
        if self._finished or self.outcome.failed is not None:
            return False
        how = self._how(code, hung)
        place = self._place(attempt)
        if not self._loaded:
            self.outcome.failed = Failed(
                what=f"importing it {how}",
                where=str(place) if place else self._named(),
                todo="correct it, or see the log for what it printed",
                code=2,
            )
            return False
        if self._case is None:
            message = f"tileport_cases {how}"
            remedy = "correct it; only the cases before it were captured"
        else:
            message = f"case {self.outcome.cases[self._case]!r} {how}"
            remedy = "correct the operator or the case; the other cases were captured"
        finding = Finding(
            kind="case-failed",
            severity=Severity.WRONG,
            message=message,
            stage="capture",
            python=place,
            remedy=remedy,
        )
        self.outcome.findings.append((self._last if self._case is not None else -1, finding))
        self._takeovers += 1
        self._hangs += hung
        exhausted = self._takeovers > _TAKEOVERS or self._hangs >= _HANGS
        if self._case is None or exhausted or time.monotonic() >= (self._ends or 0.0):
            if self._case is not None:
                self._not_run()
            return False
        self.task = msgspec.structs.replace(self.task, first=self._case + 1)
        return True

    def _not_run(self) -> None:
        finding = Finding(
            kind="case-failed",
            severity=Severity.WRONG,
            message="the cases after it were not run: too many ended or hung",
            stage="capture",
            remedy="correct those first",
        )
        self.outcome.findings.append((-1, finding))

    def _how(self, code: int, hung: bool) -> str:
        if hung:
            return f"did not end within {self._step:g} s"
        if self._exiting is not None:
            return f"called os._exit({self._exiting.code})"
        if code > 128:
            try:
                return f"ended the process by {signal.Signals(code - 128).name}"
            except ValueError:
                pass
        return f"ended the process with exit code {code}"

    def _place(self, attempt: Attempt) -> Place | None:
        if self._exiting is not None and self._exiting.file:
            return Place(self._exiting.file, self._exiting.line)
        # What faulthandler wrote, innermost frame first.
        for line in attempt.last_stack():
            found = _STACK_LINE.match(line)
            if found and found[1] in self._users:
                return Place(found[1], int(found[2]))
        return None

    def _named(self) -> str:
        return self.task.request.operator.source or self.task.request.operator.name


class Attempt:
    """One worker, with the pipes from it."""

    def __init__(self, task: worker.Task) -> None:
        self._task = task
        self.events, events = os.pipe()
        self.output, output = os.pipe()
        self._data = bytearray()
        self._printed: deque[bytes] = deque()
        self._printed_size = 0
        self._decoder = msgspec.msgpack.Decoder(Event)
        sys.stdout.flush()
        sys.stderr.flush()
        server = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            worker.run(task, events, output, server)
        # The worker does so itself as well; whoever is later finds it done.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(self.pid, self.pid)
        os.close(events)
        os.close(output)
        os.set_blocking(self.events, False)
        os.set_blocking(self.output, False)
        #: What can still bring something: the pipes, and a descriptor that tells its end.
        self.open = {self.events, self.output}
        self._ended: int | None = None
        with contextlib.suppress(OSError):  # a kernel without it: the end is polled for
            self._ended = os.pidfd_open(self.pid)
            self.open.add(self._ended)

    @property
    def polled(self) -> bool:
        """Whether nothing but asking tells that the worker ended."""
        return self._ended is None

    def read_events(self) -> list[Event]:
        """The events that have come since the last time."""
        self._data += self._read(self.events)
        events = []
        size = worker.LENGTH.size
        while len(self._data) >= size:
            (length,) = worker.LENGTH.unpack_from(self._data)
            if length > _FRAME_LIMIT:
                self._data.clear()  # something else wrote to the pipe
                break
            if len(self._data) < size + length:
                break
            body = bytes(self._data[size : size + length])
            del self._data[: size + length]
            try:
                events.append(self._decoder.decode(body))
            except msgspec.MsgspecError:
                self._data.clear()
                break
        return events

    def read_output(self) -> None:
        """Keeps the end of what the user's Python printed."""
        data = self._read(self.output)
        if data:
            self._printed.append(data)
            self._printed_size += len(data)
            while self._printed_size - len(self._printed[0]) > _OUTPUT_KEPT:
                self._printed_size -= len(self._printed.popleft())

    def printed(self) -> str:
        """The end of what was printed."""
        return b"".join(self._printed)[-_OUTPUT_KEPT:].decode(errors="replace")

    def last_stack(self) -> list[str]:
        """The lines of the last stack that faulthandler wrote, if it wrote one."""
        _, mark, stack = self.printed().rpartition("(most recent call first):\n")
        return stack.splitlines() if mark else []

    def ask_where(self) -> None:
        """Has the worker write its stack to its output."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, worker.WHERE_SIGNAL)

    def is_over(self) -> bool:
        """Whether the worker has ended."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def collect(self) -> int:
        """Kills the worker and its group, unless it ended; its exit code, 128 + a signal's number.

        What left the group is killed when all tasks are through.
        """
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _read(self, descriptor: int) -> bytes:
        data = bytearray()
        # Bounded, so that a worker that never stops printing does not hold the server.
        while descriptor in self.open and len(data) < _READ_AT_ONCE:
            try:
                chunk = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                break
            if not chunk:
                self.open.discard(descriptor)
            data += chunk
        return bytes(data)

    def log(self) -> None:
        """Writes the end of the output to the server's log, and lets go of the pipes."""
        for descriptor in (self.events, self.output, self._ended):
            if descriptor is not None:
                os.close(descriptor)
        text = self.printed()[-_OUTPUT_LOGGED:]
        if text.strip():
            name = self._task.request.operator.name
            sys.stderr.write(f"-- printed by {name} ({self._task.target}) --\n{visible(text)}\n")
            sys.stderr.flush()


def run_tasks(tasks: Sequence[worker.Task], parallel: int) -> list[Outcome]:
    """Runs tasks, at most `parallel` at once; their outcomes in order.

    Nothing that they started is left when it returns.
    """
    reap_descendants()
    jobs = [Job(task) for task in tasks]
    waiting = deque(jobs)
    running: set[Job] = set()
    while waiting or running:
        while waiting and len(running) < parallel:
            job = waiting.popleft()
            job.start()
            running.add(job)
        for job in _step(running):
            running.discard(job)
            waiting.appendleft(job)
        running = {job for job in running if job.attempt is not None}
    kill_all()
    return [job.outcome for job in jobs]


def _step(running: set[Job]) -> list[Job]:
    """Waits for something to happen in one of the jobs; those that need another worker."""
    again: list[Job] = []
    with selectors.DefaultSelector() as selector:
        for job in running:
            attempt = job.attempt
            assert attempt is not None
            for descriptor in attempt.open:
                selector.register(descriptor, selectors.EVENT_READ, job)
        timeout = min(job.deadline() for job in running) - time.monotonic()
        if any(job.attempt is not None and job.attempt.polled for job in running):
            timeout = min(timeout, _POLL)
        ready = {key.data for key, _ in selector.select(max(timeout, 0.0))}
    for job in list(running):
        attempt = job.attempt
        assert attempt is not None
        hung = False
        if job in ready:
            attempt.read_output()
            for event in attempt.read_events():
                job.take(event)
        if time.monotonic() >= job.deadline():
            hung = True
            _let_say_where(attempt)
        if hung or attempt.is_over():
            code = attempt.collect()
            attempt.read_output()
            for event in attempt.read_events():
                job.take(event)
            if job.ended(code, hung=hung):
                again.append(job)
    return again


def _let_say_where(attempt: Attempt) -> None:
    attempt.ask_where()
    ends = time.monotonic() + _WHERE_GRACE
    before = attempt.printed().count("(most recent call first)")
    while time.monotonic() < ends and not attempt.is_over():
        time.sleep(0.01)
        attempt.read_output()
        if attempt.printed().count("(most recent call first)") > before:
            time.sleep(0.02)
            attempt.read_output()
            return
