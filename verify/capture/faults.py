"""From an exception of the user's Python to one line with the user's own place."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from tileport.verify.model import Finding, Place, Severity
from tileport.verify.safe_text import one_line

_OWN = str(Path(__file__).resolve().parents[1]) + os.sep
_STANDARD = tuple(
    str(Path(path).resolve()) + os.sep
    for name in ("stdlib", "platstdlib")
    if (path := sysconfig.get_path(name))
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

#: What drivers and torch say when a program goes past the recorder to a device that is not there.
_DRIVER_WORDS = (
    "Found no NVIDIA driver",
    "No CUDA GPUs are available",
    "CUDA driver version is insufficient",
    "libcuda.so",
    "this capture has no GPU",
    "no CUDA-capable device",
    "cudaErrorNoDevice",
    "0 active drivers",
    "NVML",
)

NEEDS_DATA_REMEDY = (
    "give cases that do not need it (tileport_cases), or capture on a machine with such a GPU"
)


class UserFiles:
    """Which files are the user's: those of the workspace and the operator's own folder.

    Args:
        folders: Folders whose files are the user's; installed packages in them are not.
        files: Files that are the user's wherever they lie.
    """

    def __init__(self, folders: Iterable[str], files: Iterable[str]) -> None:
        self._folders = tuple(str(Path(folder).resolve()) + os.sep for folder in folders)
        self._files = {str(Path(file).resolve()) for file in files}

    def __contains__(self, file: str) -> bool:
        if not file.startswith(os.sep):  # `<string>`, or what a library made up
            return False
        path = _real(file)
        if path.startswith(_OWN):  # also where the workspace is tileport's own tree
            return False
        if path in self._files:
            return True
        for folder in self._folders:
            if path.startswith(folder):
                inside = path[len(folder) - 1 :]
                return not any(mark in inside for mark in _INSTALLED)
        return False


@functools.lru_cache(maxsize=4096)
def _real(file: str) -> str:
    return os.path.realpath(file)


def imported_files(before: frozenset[str], users: UserFiles) -> set[str]:
    """Source files of the user's among the modules imported since `before`."""
    files = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name not in before and isinstance(file, str) and file.endswith(".py") and file in users:
            files.add(file)
    return files


def _is_foreign(file: str) -> bool:
    """Ours, Python's own, or an installed library's."""
    path = _real(file)
    return (
        file.startswith("<")
        or path.startswith((_OWN, *_STANDARD))
        or any(mark in path for mark in _INSTALLED)
    )


def user_place(trace: TracebackType | None, users: UserFiles) -> Place | None:
    """The innermost frame in a file of the user's, else in one that is at least no library."""
    frames = traceback.extract_tb(trace)
    own = [frame for frame in frames if frame.filename in users]
    own = own or [frame for frame in frames if not _is_foreign(frame.filename)]
    return Place(own[-1].filename, own[-1].lineno or 0) if own else None


def describe(error: BaseException) -> str:
    """An exception as one line: its type and what it says."""
    try:
        text = str(error)
    except Exception:  # the user's own __str__ may raise
        text = ""
    first = next((line for line in text.splitlines() if line.strip()), "")
    name = type(error).__name__
    return one_line(f"{name}: {first}" if first else name)


def syntax_place(error: SyntaxError) -> Place | None:
    """Where a file does not parse."""
    if not error.filename:
        return None
    return Place(error.filename, error.lineno or 1, error.offset or 0)


def place_of(error: BaseException, users: UserFiles) -> Place | None:
    """The user's line that an exception is about."""
    if isinstance(error, SyntaxError) and error.filename:
        return syntax_place(error)
    place = user_place(error.__traceback__, users)
    if place is None and error.__cause__ is not None:
        return place_of(error.__cause__, users)
    return place


def is_driver_query(error: BaseException) -> bool:
    """Whether an exception comes from asking for a device that is not there."""
    try:
        text = str(error)
    except Exception:  # as above
        return False
    return any(word in text for word in _DRIVER_WORDS)


def needed(error: BaseException) -> str:
    """What host code wanted that only a GPU has, in words."""
    op = str(getattr(error, "func", ""))
    if "_local_scalar_dense" in op or "item" in op:
        return "the value of a GPU tensor (item(), tolist(), bool() or the like)"
    if type(error).__name__ == "DynamicOutputShapeException":
        return f"a result whose shape depends on data ({op})"
    if type(error).__name__ == "UnsupportedOperatorException":
        return f"an operator that cannot run without a GPU ({op})"
    return describe(error)


def case_failed(case: str, error: BaseException, users: UserFiles, *, needs_data: bool) -> Finding:
    """The finding for a case that raised.

    Args:
        needs_data: It asked for data of a GPU tensor, or for the device itself.
    """
    place = place_of(error, users)
    if needs_data:
        return Finding(
            kind="capture-needs-data",
            severity=Severity.WRONG,
            message=f"case {case!r} needs the GPU's data, and a capture without one has none: "
            f"{needed(error)}",
            stage="capture",
            python=place,
            remedy=NEEDS_DATA_REMEDY,
        )
    return Finding(
        kind="case-failed",
        severity=Severity.WRONG,
        message=f"case {case!r} raised {describe(error)}",
        stage="capture",
        python=place,
        remedy="correct the operator or the case; the other cases were captured",
    )


def not_exportable(case: str, kernel: str, error: BaseException, place: Place | None) -> Finding:
    """The finding for a launch whose kernel does not compile to Tile IR."""
    return Finding(
        kind="launch-not-exportable",
        severity=Severity.WRONG,
        message=f"case {case!r} launches {kernel}, which cuda.tile does not compile: "
        f"{describe(error)}",
        stage="capture",
        python=place,
        remedy="the launch fails on a GPU as well; correct the kernel or the case",
    )
