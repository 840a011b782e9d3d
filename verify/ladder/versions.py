"""What a cached result depends on besides its inputs: the programs that made it."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import platform
from pathlib import Path

_TOOLS = ("cuda-tile", "nvidia-cuda-tileiras", "torch", "msgspec")

#: Folders beside this one whose code takes no part in a stage; all other code of `verify` does.
ELSEWHERE: dict[str, frozenset[str]] = {
    "capture": frozenset({"ladder", "port", "ir", "diff"}),
    "compile": frozenset({"ladder", "port", "capture", "diff"}),
    "diff": frozenset({"ladder", "port", "capture"}),
    "build": frozenset({"ladder", "port", "capture", "diff", "ir"}),
}


@functools.cache
def tool_versions() -> dict[str, str]:
    """Versions of the packages that captures, compiles and comparisons go through.

    Read from the packages' metadata: nothing is imported.
    """
    versions = {"python": platform.python_version()}
    for name in _TOOLS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = ""
    return versions


@functools.cache
def fingerprint(stage: str) -> str:
    """A hash that changes with the code of a stage, its native helper, and its tools.

    A version number would do for a release only: who changes a rule of the diff must not be shown
    what the rule before said.
    """
    digest = hashlib.sha256(repr(sorted(tool_versions().items())).encode())
    for path in [*code_of(stage), *_native_files()]:
        try:
            status = path.stat()
        except OSError:
            continue
        digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def read_fingerprints() -> None:
    """Take all fingerprints, so that asking for one later costs nothing; reads some 150 files."""
    for stage in ELSEWHERE:
        fingerprint(stage)


def code_of(stage: str) -> list[Path]:
    """The Python files that take part in a stage."""
    root = Path(__file__).parents[1]
    elsewhere = ELSEWHERE[stage]
    return [
        path
        for path in sorted(root.rglob("*.py"))
        if path.relative_to(root).parts[0] not in elsewhere
    ]


def _native_files() -> list[Path]:
    native = importlib.util.find_spec("tileport_native")
    if native is None or native.origin is None:
        return []
    folder = Path(native.origin).parent
    return sorted([*folder.glob("*.py"), *folder.glob("*.so")])
