"""What building cutile's crates needs, found in the packages of a virtual environment.

The CUDA headers, libclang and curand come from PyPI (`pip install tileport[native-build]`), so
that nobody installs a CUDA toolkit. Only the standard library is used here.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

#: What brings each missing thing.
_PACKAGES = "run: pip install 'tileport[native-build]'"
_COMPILER = "install gcc or clang"


class BuildToolMissingError(Exception):
    """Something the build needs is not here.

    Args:
        what: What is missing.
        todo: What brings it.
    """

    def __init__(self, what: str, todo: str) -> None:
        self.what = what
        self.todo = todo
        super().__init__(f"{what}; {todo}")


def _site_packages() -> list[Path]:
    paths = sysconfig.get_paths()
    return [Path(path) for path in dict.fromkeys((paths["purelib"], paths["platlib"]))]


def _find(relative: str) -> Path:
    for root in _site_packages():
        if (root / relative).exists():
            return root / relative
    raise BuildToolMissingError(f"{Path(relative).name} is missing", _PACKAGES)


def build_environment() -> dict[str, str]:
    """The variables to set for `cargo` when it builds or checks anything that uses cutile.

    Raises:
        BuildToolMissingError: a C compiler or one of the packages is not installed.
    """
    compiler = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        raise BuildToolMissingError("a C compiler is missing", _COMPILER)
    # bindgen's libclang comes without the compiler's own headers (stddef.h and so on).
    try:
        printed = subprocess.run(
            [*shlex.split(compiler), "-print-file-name=include"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
    except OSError as error:
        raise BuildToolMissingError(
            f"the C compiler {compiler} does not start ({error.strerror})", _COMPILER
        ) from None
    if not (Path(printed) / "stddef.h").is_file():
        raise BuildToolMissingError(f"{compiler} has no headers of its own", _COMPILER)
    header = _find("nvidia/cu13/include/cuda.h")
    _find("nvidia/cu13/include/curand.h")
    return {
        "CUDA_TOOLKIT_PATH": str(header.parents[1]),
        "LIBCLANG_PATH": str(_find("clang/native/libclang.so").parent),
        "BINDGEN_EXTRA_CLANG_ARGS": f"-isystem {printed}",
    }
