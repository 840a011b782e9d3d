"""The one place that finds the programs and libraries tileport works with, and their versions.

NVIDIA's tools come from PyPI into the environment tileport runs in, so they are looked for beside
the running Python first (`<site-packages>/nvidia/cu13/bin`) and on PATH second. Nothing here
imports torch or loads a driver into this process: a GPU is asked about through `nvidia-smi`, or
where there is none, by a short-lived child.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import msgspec

from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.gpus import Gpu, gpus
from tileport.verify.short_command import output_of

#: Oldest release of the Tile IR tools whose text and bytecode tileport reads (version 13.4 of
#: bytecode is what both front ends are asked for).
TILE_IR_MINIMUM = (13, 4)
#: What the cutile 0.5.0 crates state as `rust-version`.
RUST_MINIMUM = (1, 89)

_CUDA_FOLDER = Path("nvidia", "cu13")


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One program, library or header, found or not.

    `ok` is whether it can be used: it is there and, where tileport needs a version, new enough.
    `problem` says in a few words why not. `needed` is the version rule, "" where any will do.
    """

    name: str
    used_for: str
    path: str | None = None
    version: str | None = None
    needed: str = ""
    how_to_get: str = ""
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether it is there and new enough."""
        return not self.problem


class _Program(msgspec.Struct, frozen=True):
    """How one program is found: where from, from which version on, and how its version reads."""

    used_for: str
    minimum: tuple[int, int] | None
    how_to_get: str
    version: str
    cuda: bool = True


_RELEASE = r"release \d+\.\d+, V(\d+\.\d+(?:\.\d+)?)"
_RUSTUP = "rustup toolchain install stable"
_PROGRAMS: dict[str, _Program] = {
    "tileiras": _Program(
        "machine code from Tile IR",
        TILE_IR_MINIMUM,
        "pip install 'nvidia-cuda-tileiras==13.5.*' 'nvidia-nvvm==13.5.*'",
        _RELEASE,
    ),
    "tileirdisasm": _Program(
        "reading Tile IR, and so every comparison",
        TILE_IR_MINIMUM,
        "pip install 'nvidia-cuda-tileiras==13.5.*'",
        _RELEASE,
    ),
    "nvdisasm": _Program(
        "comparing machine code",
        (13, 0),
        "pip install 'nvidia-cuda-nvdisasm==13.5.*'",
        _RELEASE,
    ),
    "ptxas": _Program(
        "machine code (called by tileiras)",
        (13, 0),
        "pip install 'nvidia-cuda-nvcc==13.5.*'",
        _RELEASE,
    ),
    "cargo": _Program(
        "cargo check of a port, and building it", RUST_MINIMUM, _RUSTUP, r"cargo (\S+)", cuda=False
    ),
    "rustc": _Program(
        "cargo check of a port, and building it",
        RUST_MINIMUM,
        _RUSTUP,
        r"rustc (\S+)",
        cuda=False,
    ),
}


def find(name: str) -> Tool:
    """The program called `name`: tileiras, tileirdisasm, nvdisasm, ptxas, cargo or rustc.

    The answer is kept as long as the file stays the same.

    Raises:
        KeyError: tileport knows no such program.
    """
    program = _PROGRAMS[name]
    path = _locate(name, program)
    needed = f"{_dotted(program.minimum)} or newer" if program.minimum else ""
    if path is None:
        return Tool(
            name=name,
            used_for=program.used_for,
            needed=needed,
            how_to_get=program.how_to_get,
            problem="not found",
        )
    version = _version(path, program.version, _identity(path))
    problem = ""
    if version is None:
        problem = "does not run"
    elif program.minimum and _numbers(version) < program.minimum:
        problem = f"too old, {needed} is needed"
    return Tool(
        name=name,
        used_for=program.used_for,
        path=str(path),
        version=version,
        needed=needed,
        how_to_get=program.how_to_get,
        problem=problem,
    )


def require(name: str) -> Path:
    """The path of a program that can be used.

    Raises:
        TileportError: it is missing, does not run or is too old; says how to get it, and carries
            `ExitCode.TOOL_MISSING`.
    """
    tool = find(name)
    if tool.path is None or tool.problem:
        found = f" ({tool.version})" if tool.version else ""
        raise TileportError(
            f"{name}{found}: {tool.problem}",
            where=tool.path,
            todo=f"get it with: {tool.how_to_get}",
            code=ExitCode.TOOL_MISSING,
        )
    return Path(tool.path)


def survey() -> tuple[Tool, ...]:
    """Everything `tileport doctor` tells about, in the order it is told."""
    tools = [find(name) for name in _PROGRAMS]
    tools += [_c_compiler(), _header("cuda.h"), _header("curand.h"), _libclang(), _gpu_tool()]
    return tuple(tools)


def cuda_home() -> Path | None:
    """The folder with `bin`, `include` and `lib` of the CUDA packages of this Python, if any."""
    for folder in _cuda_folders():
        if folder.is_dir():
            return folder
    return None


# ---------------------------------------------------------------- programs


def _cuda_folders() -> list[Path]:
    folders = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    folders += [Path(entry) for entry in sys.path if entry]
    return [folder / _CUDA_FOLDER for folder in dict.fromkeys(folders)]


def _locate(name: str, program: _Program) -> Path | None:
    if program.cuda:
        for folder in _cuda_folders():
            candidate = folder / "bin" / name
            if _is_program(candidate):
                return candidate
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path)
    if not program.cuda:
        # rustup puts them here, and not every shell has it on PATH.
        home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
        if _is_program(home / "bin" / name):
            return home / "bin" / name
    return None


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _identity(path: Path) -> tuple[int, int]:
    """What changes when the file does."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=64)
def _version(path: Path, pattern: str, _file: tuple[int, int]) -> str | None:
    """What the program at `path` calls its version; None where it does not say."""
    output = output_of([str(path), "--version"])
    match = re.search(pattern, output) if output is not None else None
    return match[1] if match else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


# ---------------------------------------------------------------- what the native build needs


def _c_compiler() -> Tool:
    used_for = "building the native helper and the ports' libraries"
    for name in ("cc", "gcc", "clang"):
        path = shutil.which(name)
        if path:
            output = output_of([path, "--version"])
            version = re.search(r"\d+\.\d+(?:\.\d+)?", output) if output else None
            return Tool(
                name="C compiler",
                used_for=used_for,
                path=path,
                version=version[0] if version else None,
            )
    return Tool(
        name="C compiler",
        used_for=used_for,
        how_to_get="apt-get install gcc",
        problem="not found",
    )


def _header(name: str) -> Tool:
    package = "nvidia-curand" if name == "curand.h" else "nvidia-cuda-runtime"
    used_for = "building the native helper"
    for folder in [
        *_cuda_folders(),
        Path(os.environ.get("CUDA_TOOLKIT_PATH") or "/usr/local/cuda"),
    ]:
        path = folder / "include" / name
        if path.is_file():
            return Tool(name=name, used_for=used_for, path=str(path), version=_header_version(path))
    return Tool(
        name=name,
        used_for=used_for,
        how_to_get=f"pip install {package}",
        problem="not found",
    )


def _header_version(path: Path) -> str | None:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return None
    match = re.search(r"#define\s+(?:CUDA_VERSION|CURAND_VERSION)\s+(\d+)", text)
    if match is None:
        return None
    number = int(match[1])
    return f"{number // 1000}.{number % 1000 // 10}"


def _libclang() -> Tool:
    used_for = "building the native helper"
    folders = [Path(folder.parents[1], "clang", "native") for folder in _cuda_folders()]
    chosen = os.environ.get("LIBCLANG_PATH")
    if chosen:
        folders.insert(0, Path(chosen))
    folders += sorted(Path("/usr/lib").glob("llvm-*/lib"), reverse=True)
    for folder in folders:
        for path in sorted(folder.glob("libclang*.so*")):
            return Tool(name="libclang", used_for=used_for, path=str(path))
    return Tool(
        name="libclang",
        used_for=used_for,
        how_to_get="pip install 'libclang==18.*'",
        problem="not found",
    )


def _gpu_tool(ask: Callable[[], tuple[Gpu, ...]] = gpus) -> Tool:
    used_for = "running and timing ports (all else works without)"
    found = ask()
    if not found:
        return Tool(
            name="GPU",
            used_for=used_for,
            how_to_get="an NVIDIA GPU and its driver",
            problem="not found",
        )
    first = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return Tool(
        name="GPU",
        used_for=used_for,
        path=f"{first.name} ({first.target}){more}",
        version=first.driver,
    )
