"""What a cached result depends on besides its inputs: the programs that made it."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import platform
from pathlib import Path

_TOOLS = ("cuda-tile", "nvidia-cuda-tileiras", "torch", "msgspec", "tree-sitter-rust")


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
def program_fingerprint() -> str:
    """A hash that changes with tileport's own code and that of its native helper.

    A version number would do for a release only: who changes a rule of the diff must not be shown
    what the rule before said.
    """
    digest = hashlib.sha256(repr(sorted(tool_versions().items())).encode())
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    native = importlib.util.find_spec("tileport_native")
    if native is not None and native.origin is not None:
        files.append(Path(native.origin))
        files.extend(sorted(Path(native.origin).parent.glob("*.so")))
    for path in files:
        try:
            status = path.stat()
        except OSError:
            continue
        digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
