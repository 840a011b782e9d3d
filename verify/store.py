"""What tileport keeps on disk: blobs named by their content, and the cached results of stages.

Both are shared by all sessions of a workspace, in one process or several. Files are written whole
or not at all and checked when they are read, so that a torn, rotten or foreign file counts as
none. A disk that is full or read-only costs the cache, nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tileport.verify.files import content_hash
from tileport.verify.workspace import DISK_FULL, StateFolder

T = TypeVar("T")

_MAGIC = b"TPR1"
_DIGEST = 32
#: Results and blobs kept in memory, in bytes; enough for the last edits of some ten variants.
_MEMORY = 48 * 1024 * 1024
#: A file used within this many seconds is not evicted: another process may be about to read it.
_IN_USE = 60.0
#: Temporary files older than this are of a process that died.
_TORN = 3600.0


class Cleaned(msgspec.Struct, frozen=True):
    """What a clean or an eviction removed, and what is left."""

    files: int
    bytes: int
    left_files: int
    left_bytes: int


class _Memory:
    """Values by key, the longest unused ones dropped beyond a size."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._values: OrderedDict[str, tuple[object, int]] = OrderedDict()

    def get(self, key: str) -> object:
        value = self._values.get(key)
        if value is None:
            return None
        self._values.move_to_end(key)
        return value[0]

    def put(self, key: str, value: object, size: int) -> None:
        self.drop(key)
        if size > self._limit:
            return
        self._values[key] = (value, size)
        self._size += size
        while self._size > self._limit:
            _, (_, gone) = self._values.popitem(last=False)
            self._size -= gone

    def drop(self, key: str) -> None:
        old = self._values.pop(key, None)
        if old is not None:
            self._size -= old[1]

    def clear(self) -> None:
        self._values.clear()
        self._size = 0


class Store:
    """Blobs and results under one state folder. Every method may be called from any thread.

    Args:
        state: From `open_state`.
        limit: Bytes on disk after an eviction.
        memory: Bytes kept in memory.
        trouble: Called once, from the thread that met it, when the disk stops taking writes.
    """

    def __init__(
        self,
        state: StateFolder,
        *,
        limit: int,
        memory: int = _MEMORY,
        trouble: Callable[[OSError], None] = lambda error: None,
    ) -> None:
        self._state = state
        self._limit = limit
        self._memory = _Memory(memory)
        self._guard = threading.Lock()
        self._trouble = trouble
        self._broken = False
        #: Written since the last look at the size of the whole, in bytes; None before the first.
        self._written: int | None = None

    # ------------------------------------------------------------ blobs

    def put_blob(self, content: bytes, *, durable: bool = False) -> str:
        """Keep `content`; returns its SHA-256.

        Raises:
            OSError: only with `durable`, where it did not reach the disk.
        """
        key = content_hash(content)
        with self._guard:
            self._memory.put(f"blob {key}", content, len(content))
        path = self._state.blobs / key
        if _read(path) != content:
            self._write(path, content, durable=durable)
        else:
            _touch(path)
        return key

    def blob(self, key: str) -> bytes | None:
        """What has this SHA-256, or None where it is not kept (any more)."""
        with self._guard:
            kept = self._memory.get(f"blob {key}")
        if isinstance(kept, bytes):
            return kept
        path = self._state.blobs / key
        content = _read(path)
        if content is None:
            return None
        if content_hash(content) != key:
            _unlink(path)
            return None
        _touch(path)
        with self._guard:
            self._memory.put(f"blob {key}", content, len(content))
        return content

    def has_blob(self, key: str) -> bool:
        """Whether there is such a blob, whole or not."""
        with self._guard:
            kept = self._memory.get(f"blob {key}")
        return kept is not None or (self._state.blobs / key).is_file()

    # ------------------------------------------------------------ results

    def put_result(self, key: str, value: object, *, persist: bool = True) -> None:
        """Keep a result under a key from `result_key`; a struct or builtins."""
        body = msgspec.msgpack.encode(value)
        with self._guard:
            self._memory.put(f"result {key}", value, len(body) * 4)
        if persist:
            # Comparisons are mostly text: this takes them to a fifth for a millisecond or two.
            body = zlib.compress(body, 1)
            digest = hashlib.sha256(key.encode() + body).digest()
            self._write(self._path(key), _MAGIC + digest + body)

    def recall(self, key: str, result_type: type[T]) -> T | None:
        """The result kept under `key` in memory; does not read the disk."""
        with self._guard:
            value = self._memory.get(f"result {key}")
        return value if isinstance(value, result_type) else None

    def result(self, key: str, result_type: type[T]) -> T | None:
        """The result kept under `key`, or None where there is none that is whole."""
        recalled = self.recall(key, result_type)
        if recalled is not None:
            return recalled
        path = self._path(key)
        content = _read(path)
        if content is None:
            return None
        body = content[len(_MAGIC) + _DIGEST :]
        digest = content[len(_MAGIC) : len(_MAGIC) + _DIGEST]
        sound = content.startswith(_MAGIC) and (
            hashlib.sha256(key.encode() + body).digest() == digest
        )
        try:
            if not sound:
                raise msgspec.DecodeError
            body = zlib.decompress(body)
            decoded = msgspec.msgpack.decode(body, type=result_type)
        except (msgspec.MsgspecError, zlib.error):
            # Rotten, or written by a version that kept something else there.
            _unlink(path)
            return None
        _touch(path)
        with self._guard:
            self._memory.put(f"result {key}", decoded, len(body) * 4)
        return decoded

    def drop_result(self, key: str) -> None:
        """Forget a result."""
        with self._guard:
            self._memory.drop(f"result {key}")
        _unlink(self._path(key))

    def _path(self, key: str) -> Path:
        return self._state.results / key[:2] / key

    # ------------------------------------------------------------ size

    def evict_if_large(self, keep: Callable[[], Iterable[str]]) -> Cleaned | None:
        """Evict if much was written since the last time, or nothing was looked at yet.

        Args:
            keep: Gives the hashes of blobs that must stay, whatever their age.
        """
        with self._guard:
            if self._written is not None and self._written <= self._limit // 16:
                return None
            self._written = 0
        return self.evict(frozenset(keep()))

    def evict(self, keep: frozenset[str]) -> Cleaned:
        """Remove what was unused longest until the rest fits the limit.

        Args:
            keep: Hashes of blobs that must stay; they count towards the size.
        """
        files = self._files(keep)
        size = sum(entry.size for entry in files)
        count = len(files)
        removed = freed = 0
        now = time.time()
        for entry in sorted(files, key=lambda entry: entry.used):
            if size - freed <= self._limit or entry.used > now - _IN_USE:
                break
            if not entry.pinned and _unlink(entry.path):
                removed += 1
                freed += entry.size
        return Cleaned(removed, freed, count - removed, size - freed)

    def usage(self, keep: frozenset[str] = frozenset()) -> Cleaned:
        """How much there is; nothing is removed."""
        files = self._files(keep)
        return Cleaned(0, 0, len(files), sum(entry.size for entry in files))

    def clean(self, keep: frozenset[str]) -> Cleaned:
        """Remove all results and blobs but the blobs in `keep`, and what dead processes left."""
        with self._guard:
            self._memory.clear()
        files = self._files(keep)
        gone = [entry for entry in files if not entry.pinned and _unlink(entry.path)]
        freed = sum(entry.size for entry in gone)
        size = sum(entry.size for entry in files)
        return Cleaned(len(gone), freed, len(files) - len(gone), size - freed)

    def _files(self, keep: frozenset[str]) -> list[_File]:
        found = []
        now = time.time()
        for root in (self._state.blobs, self._state.results):
            for folder, _, names in os.walk(root):
                for name in names:
                    path = Path(folder) / name
                    try:
                        status = path.lstat()
                    except OSError:
                        continue
                    if name.startswith("."):
                        if status.st_mtime < now - _TORN:
                            _unlink(path)
                        continue
                    pinned = root == self._state.blobs and name in keep
                    found.append(_File(path, status.st_size, status.st_mtime, pinned))
        return found

    # ------------------------------------------------------------ disk

    def _write(self, path: Path, content: bytes, *, durable: bool = False) -> None:
        if self._broken and not durable:
            return
        temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with temporary.open("xb") as file:
                    file.write(content)
                    if durable:
                        file.flush()
                        os.fsync(file.fileno())
                temporary.replace(path)
            except BaseException:
                _unlink(temporary)
                raise
        except OSError as error:
            if durable:
                raise
            self._gave_up(error)
            return
        with self._guard:
            if self._written is not None:
                self._written += len(content)

    def _gave_up(self, error: OSError) -> None:
        """The cache is a convenience: without room or rights it lives in memory only."""
        first = not self._broken
        self._broken = True
        if first:
            self._trouble(error)


class _File(msgspec.Struct, frozen=True):
    path: Path
    size: int
    used: float
    pinned: bool


def result_key(stage: str, *inputs: msgspec.Struct | dict[str, Any] | str | bytes) -> str:
    """The key of a stage's result: SHA-256 over the stage's name and all its inputs.

    Args:
        stage: The stage's name.
        inputs: Versions of the tools and everything else the result depends on.
    """
    digest = hashlib.sha256()
    for value in (stage, *inputs):
        if isinstance(value, str):
            data = b"s" + value.encode("utf-8", "surrogatepass")
        elif isinstance(value, bytes):
            data = b"b" + value
        else:
            data = b"m" + msgspec.msgpack.encode(value, order="deterministic")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def is_disk_full(error: OSError) -> bool:
    """Whether the disk (or the quota) has no room left."""
    return error.errno in DISK_FULL


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _touch(path: Path) -> None:
    """Note the use of a file; atime is not kept on many disks."""
    with contextlib.suppress(OSError):
        os.utime(path)


def _unlink(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
