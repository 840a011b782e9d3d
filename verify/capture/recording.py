"""Recording inside a command's own Python processes, started by `bootstrap/sitecustomize.py`.

Nothing of torch or cuda.tile is imported here: that happens when, and if, the command imports
them. Each process writes its events to a file of its own in the recording's folder.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from tileport.verify.capture.faults import UserFiles, imported_files, needed
from tileport.verify.capture.recording_settings import EVENTS, SETTINGS, Settings
from tileport.verify.capture.request import Event, Finished, Reported
from tileport.verify.model import Finding, Place, Severity

if TYPE_CHECKING:
    from tileport.verify.capture.recorder import Recorder

#: Places that ask for data are reported up to this many per process.
_MOST_NEEDS = 20


def start(folder: str) -> None:
    """Has this process record, from its first import of torch and cuda.tile on."""
    settings = msgspec.json.decode(Path(folder, SETTINGS).read_bytes(), type=Settings)
    recording = _Recording(settings, Path(folder))
    if not settings.real:
        # Before any use of CUDA: on a machine with a GPU it must not be touched.
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        from tileport.verify.capture import driver  # noqa: PLC0415 - not needed with a GPU

        driver.install(settings.target)
        _after_import("torch", recording.have_no_gpu)
    _after_import("cuda.tile", recording.record_launches)


class _Recording:
    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._users = UserFiles(settings.folders, ())
        self._encoder = msgspec.json.Encoder()
        self._pid = os.getpid()
        self._needs: set[tuple[str, int]] = set()
        self._before = frozenset(sys.modules)
        self._recorder: Recorder | None = None
        self._event(None)

    # -------------------------------------------------------- after the imports

    def have_no_gpu(self) -> None:
        """Fake tensors and a fake device for the rest of this process."""
        from tileport.verify.capture import light_torch  # noqa: PLC0415 - torch is there only now

        light_torch.load()
        from tileport.verify.capture import backward, device, fake_tensors  # noqa: PLC0415

        fake_tensors.install()
        device.install(self._settings.target)
        backward.install()
        fake_tensors.GpuTensorMode(self._needs_data).__enter__()

    def record_launches(self) -> None:
        """The recorder in the place of `ct.launch`."""
        # It has to have what it records with before it replaces what that imports.
        from tileport.verify.capture.recorder import Recorder  # noqa: PLC0415 - as above

        settings = self._settings
        self._recorder = Recorder(
            target=settings.target,
            bytecode_version=settings.bytecode_version,
            blobs=settings.blobs,
            emit=self._event,
            case=_running,
            all_candidates=settings.all_candidates,
            real=settings.real,
        )
        self._recorder.install()
        atexit.register(self._finish)
        os.register_at_fork(after_in_child=self._in_fork)

    # -------------------------------------------------------- events

    def _event(self, event: Event | None) -> None:
        """Appends a line; None only makes the file, which says that this process recorded."""
        line = self._encoder.encode(event) + b"\n" if event is not None else b""
        with (self._folder / f"{os.getpid()}{EVENTS}").open("ab") as file:
            file.write(line)

    def _in_fork(self) -> None:
        if self._recorder is not None:
            self._recorder.start_over()
        with contextlib.suppress(OSError):
            self._event(None)

    def _needs_data(self, error: BaseException) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename not in self._users:
            frame = frame.f_back
        place = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
        if place in self._needs or len(self._needs) >= _MOST_NEEDS:
            return
        self._needs.add(place)
        finding = Finding(
            kind="capture-needs-data",
            severity=Severity.NOTE,
            message=f"{_running()!r} needs the GPU's data, so launches after it may be missing: "
            f"{needed(error)}",
            stage="capture",
            python=Place(*place) if place[0] else None,
            remedy="record on a machine with such a GPU, or give cases that do not need it",
        )
        self._event(Reported(finding=finding))

    def _finish(self) -> None:
        with contextlib.suppress(Exception):  # the process is about to end; what counts is there
            if self._recorder is not None:
                self._recorder.end_case()
            files = imported_files(self._before, self._users)
            # Python takes `__file__` off a script's module before it ends.
            program = os.path.abspath(sys.argv[0])  # noqa: PTH100 - links stay as given
            if program in self._users and program.endswith(".py"):
                files.add(program)
            self._event(Finished(files=tuple(sorted(files)), kernels_defined=0))


def _running() -> str:
    """The test that runs, else the program, as a name for what launched a kernel."""
    test = os.environ.get("PYTEST_CURRENT_TEST")
    if test:
        return test.rpartition(" (")[0] or test
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"


# ---------------------------------------------------------------- import hooks


def _after_import(name: str, then: Callable[[], None]) -> None:
    """Calls `then` right after module `name` was imported for the first time."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Finder(name, then))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, and does something after that."""

    def __init__(self, loader: Any, then: Callable[[], None]) -> None:
        self._loader = loader
        self._then = then

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then()
