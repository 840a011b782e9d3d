"""The process in which the user's Python runs: forked from the server, for one target, once.

It reports events to a pipe as they happen, so that what was captured before a crash or a hang is
not lost. The user's Python may do anything to this process; what it prints goes to the log, and
`jobs.py` sees to it that the process and all it started end.
"""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import os
import resource
import signal
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import cuda.tile as ct
import msgspec

from tileport.verify.capture import backward, device, driver, fake_tensors, faults
from tileport.verify.capture.cases import Cases, example, public_function
from tileport.verify.capture.faults import UserFiles
from tileport.verify.capture.loader import load_operator
from tileport.verify.capture.recorder import REFUSED, Recorder
from tileport.verify.capture.request import (
    CaptureRequest,
    CaseDone,
    CaseStarted,
    Event,
    Exiting,
    Failed,
    Finished,
    Loaded,
    Reported,
)
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.model import Finding, Place, Severity
from tileport.verify.supervise import die_with_parent

LENGTH = struct.Struct(">I")
#: Has the process write where it is, even if it hangs in C code.
WHERE_SIGNAL = signal.SIGRTMIN + 7


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker does: the cases from number `first` on, or those in `only`, on a target."""

    request: CaptureRequest
    target: str
    real: bool
    first: int = 0
    only: tuple[int, ...] | None = None


class Reporter:
    """Writes events to a pipe, whole, from whichever thread; silent in processes forked later."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._encoder = msgspec.msgpack.Encoder()
        os.register_at_fork(after_in_child=self._hang_up)

    def __call__(self, event: Event) -> None:
        """Sends one event."""
        body = self._encoder.encode(event)
        data = memoryview(LENGTH.pack(len(body)) + body)
        with self._lock:
            while data and self._descriptor >= 0:
                data = data[os.write(self._descriptor, data) :]

    def _hang_up(self) -> None:
        self._lock = threading.Lock()  # another thread may have held the old one
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
        self._descriptor = -1


def run(task: Task, events: int, output: int, server: int) -> NoReturn:
    """Runs the task and ends the process; called right after the fork.

    Args:
        events: Write end of the pipe for events.
        output: Write end of the pipe for what the user's Python prints.
        server: Process that forked this one; if it ends, so does this one.
    """
    leave = os._exit
    try:
        os.setpgid(0, 0)
        die_with_parent(server)
        reporter = _set_up(events, output)
        try:
            _enter_workspace(task)
            _Worker(task, reporter).run()
        except TileportError as error:
            reporter(
                Failed(what=error.what, where=error.where, todo=error.todo, code=int(error.code))
            )
        except Exception as error:
            traceback.print_exc()
            reporter(
                Failed(
                    what=f"the capture itself failed: {faults.describe(error)}",
                    where=None,
                    todo="see the log for the traceback and report it",
                    code=int(ExitCode.INTERNAL),
                )
            )
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the user may have replaced or closed them
                stream.flush()
    finally:
        # Not through the interpreter's end: the user's threads and exit handlers may hang.
        leave(0)


def _set_up(events: int, output: int) -> Reporter:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # Out of the way of user code that closes or counts low descriptors; others are not its.
    pipe = 200
    os.dup2(events, pipe, inheritable=False)
    os.closerange(3, pipe)
    os.closerange(pipe + 1, pipe + 100)
    sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stdout, sys.stderr = (
        open(d, "w", buffering=1, closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115
        for d in (1, 2)
    )
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for handled in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP):
        signal.signal(handled, signal.SIG_DFL)
    faulthandler.enable(file=2)
    faulthandler.register(WHERE_SIGNAL, file=2, all_threads=False)
    return Reporter(pipe)


def _enter_workspace(task: Task) -> None:
    if not task.real:
        # Also on a machine with a GPU: not seeing it, torch leaves it alone.
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    try:
        os.chdir(task.request.workspace)
    except OSError as error:
        raise TileportError(
            f"the workspace cannot be entered: {error.strerror}", where=task.request.workspace
        ) from None


class _Worker:
    def __init__(self, task: Task, report: Reporter) -> None:
        self._task = task
        self._report = report
        self._pid = os.getpid()
        self._before = frozenset(sys.modules)
        self._case = ""
        request = task.request
        source = request.operator.source
        named = [file for file in (source, request.operator.cases) if file]
        self._users = UserFiles([request.workspace, *(str(Path(f).parent) for f in named)], named)
        self._recorder = Recorder(
            target=task.target,
            bytecode_version=request.bytecode_version,
            blobs=request.blobs,
            emit=report,
            case=lambda: self._case,
            all_candidates=request.all_candidates,
            real=task.real,
        )

    def run(self) -> None:
        """Imports the operator, runs its cases, and reports all of it.

        Raises:
            TileportError: there is nothing to run.
        """
        self._watch_exit()
        self._recorder.install()
        with contextlib.ExitStack() as stack:
            if not self._task.real:
                driver.install(self._task.target)
                fake_tensors.install()
                device.install(self._task.target)
                backward.install()
                stack.enter_context(fake_tensors.GpuTensorMode())
            operator, case_module = load_operator(
                self._task.request.operator, self._task.request.workspace, self._users
            )
            source = str(getattr(operator, "__file__", "") or "")
            cases = Cases(operator, case_module)
            self._report(
                Loaded(source=source, cases_file=cases.file if case_module is not None else None)
            )
            kernels = [v for v in vars(operator).values() if isinstance(v, ct.kernel)]
            if cases.exist:
                self._run_cases(cases)
            else:
                self._no_cases(operator, cases, source, bool(kernels))
        self._report(Finished(files=self._files(source), kernels_defined=len(kernels)))

    # -------------------------------------------------------- cases

    def _run_cases(self, cases: Cases) -> None:
        iterator = iter(cases)
        for index in itertools.count():
            try:
                name, case = next(iterator)
            except StopIteration:
                return
            except BaseException as error:  # the user's generator may raise anything
                self._end_if_forked()
                self._report(Reported(finding=self._discovery_failed(error, cases)))
                return
            self._end_if_forked()
            if self._wanted(index):
                self._run_case(index, name, case)

    def _wanted(self, index: int) -> bool:
        if self._task.only is not None:
            return index in self._task.only
        return index >= self._task.first

    def _run_case(self, index: int, name: str, case: Callable[[], object]) -> None:
        self._report(CaseStarted(index=index, name=name))
        self._case = name
        try:
            case()
            self._recorder.end_case()
        except TileportError:
            raise  # the bytecode cannot be written: no other case can go better
        except BaseException as error:  # SystemExit and KeyboardInterrupt of the case as well
            self._end_if_forked()
            self._report(Reported(finding=self._case_failed(name, error), index=index))
        self._end_if_forked()
        self._report(CaseDone(index=index))

    def _case_failed(self, name: str, error: BaseException) -> Finding:
        refused = getattr(error, REFUSED, None)
        if refused is not None:
            function = refused._pyfunc
            place = _kernel_line(error) or Place(
                function.__code__.co_filename, function.__code__.co_firstlineno
            )
            return faults.not_exportable(name, function.__name__, error, place)
        needs = isinstance(error, fake_tensors.NEEDS_DATA) or faults.is_driver_query(error)
        return faults.case_failed(
            name, error, self._users, needs_data=needs and not self._task.real
        )

    def _discovery_failed(self, error: BaseException, cases: Cases) -> Finding:
        if isinstance(error, TileportError):
            file, _, line = (error.where or "").rpartition(":")
            place = Place(file, int(line)) if file and line.isdigit() else None
            message, remedy = error.what, error.todo or ""
        else:
            place = faults.place_of(error, self._users)
            message = f"tileport_cases raised {faults.describe(error)}"
            remedy = "correct it; only the cases before it were captured"
        return Finding(
            kind="case-failed",
            severity=Severity.WRONG,
            message=message,
            stage="capture",
            python=place or Place(cases.file, 1),
            remedy=remedy,
        )

    def _no_cases(self, operator: Any, cases: Cases, source: str, has_kernels: bool) -> None:
        request = self._task.request.operator
        if request.cases is not None:
            kind, message = "no-cases", "the case file has no function tileport_cases"
            remedy = "add to it"
        elif not has_kernels:
            kind, message = "no-kernel", "no kernel (@ct.kernel) and no tileport_cases here"
            remedy = "add to it, or to a case file beside it"
        else:
            kind, message = "no-cases", "there are no cases: no function tileport_cases"
            remedy = "add to it, or to a case file beside it"
        if request.kind == "module" and request.cases is None:
            remedy = "put in a file, and name that with --cases or in [tool.tileport.operators]"
        lines = example(
            public_function(operator),
            in_case_file=request.cases is not None or request.kind == "module",
        )
        finding = Finding(
            kind=kind,
            severity=Severity.WRONG,
            message=message,
            stage="capture",
            python=Place(cases.file or source, 1),
            remedy=f"{remedy}:\n{lines}",
        )
        self._report(Reported(finding=finding))

    # -------------------------------------------------------- what the user's Python may do

    def _watch_exit(self) -> None:
        """Reports the user's line before `os._exit` ends the process."""
        leave = os._exit

        def leave_told(status: int) -> NoReturn:
            frame = self._user_frame(sys._getframe(1))
            if os.getpid() == self._pid:
                file = frame.f_code.co_filename if frame else ""
                line = frame.f_lineno if frame else 0
                self._report(Exiting(code=int(status), file=file, line=line))
            leave(status)

        os._exit = leave_told

    def _user_frame(self, frame: FrameType | None) -> FrameType | None:
        while frame is not None and frame.f_code.co_filename not in self._users:
            frame = frame.f_back
        return frame

    def _end_if_forked(self) -> None:
        """The user's Python forked, and this is the copy: it must not go on as the worker."""
        if os.getpid() != self._pid:
            os._exit(0)

    # -------------------------------------------------------- files

    def _files(self, source: str) -> tuple[str, ...]:
        named = {source, self._task.request.operator.cases or ""}
        return tuple(sorted(faults.imported_files(self._before, self._users) | named - {""}))


def _kernel_line(error: BaseException) -> Place | None:
    """Where cuda.tile says the kernel is wrong: the innermost line it names."""
    location = getattr(error, "loc", None)
    file, line = getattr(location, "filename", None), getattr(location, "line", 0)
    if not isinstance(file, str) or not line:
        return None
    return Place(file, int(line), int(getattr(location, "col", -1)) + 1)
