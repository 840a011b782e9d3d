"""Reading and writing files of the user: exact bytes, whole or not at all, errors as one line."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from pathlib import Path

from tileport.verify.errors import TileportError
from tileport.verify.workspace import DISK_FULL

#: Far above any program that is written by hand; what is larger is another kind of file.
TEXT_LIMIT = 16 * 1024 * 1024


def content_hash(content: bytes) -> str:
    """SHA-256 as 64 hex digits."""
    return hashlib.sha256(content).hexdigest()


def read_text(path: Path, *, what: str) -> str:
    """The text of a file, bytes decoded as UTF-8 and line ends left as they are.

    Args:
        path: The file.
        what: What it is to the person, for messages: `the operator`, `the port`.

    Raises:
        FileNotFoundError: there is none.
        TileportError: it is no regular file, cannot be read, is larger than 16 MB or not UTF-8.
    """
    return decode(read_bytes(path, what=what), path)


def read_bytes(path: Path, *, what: str) -> bytes:
    """The bytes of a file; raises what `read_text` raises, except for the UTF-8."""
    try:
        # Nonblocking, so that a FIFO in place of the file is refused and not waited for.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError
            if not stat.S_ISREG(mode):
                raise TileportError(f"{what} is not a regular file", where=str(path))
            content = file.read(TEXT_LIMIT + 1)
    except FileNotFoundError:
        raise
    except IsADirectoryError:
        raise TileportError(
            f"{what} is a folder", where=str(path), todo="name a file in it"
        ) from None
    except OSError as error:
        raise TileportError(
            f"{what} cannot be read ({error.strerror})", where=str(path), todo="check its rights"
        ) from error
    if len(content) > TEXT_LIMIT:
        raise TileportError(
            f"{what} is larger than {TEXT_LIMIT >> 20} MB", where=str(path), todo="is it the one?"
        )
    return content


def decode(content: bytes, path: Path) -> str:
    """UTF-8 to text; raises a TileportError with the line of the first byte that is none."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - (content.rfind(b"\n", 0, error.start) + 1) + 1
        raise TileportError(
            f"byte 0x{content[error.start]:02x} at column {column} is not UTF-8",
            where=f"{path}:{line}",
            todo="save the file as UTF-8",
        ) from None


def write_atomically(path: Path, content: bytes, *, what: str, durable: bool = True) -> None:
    """Replace the content of a file, whole or not at all.

    A link is followed, so that it stays a link; mode and, where allowed, owner are kept.

    Args:
        path: The file; its folder is made if there is none.
        content: All of it.
        what: What it is to the person, for messages.
        durable: Wait until it is on the disk.

    Raises:
        TileportError: it cannot be written; then it is as it was.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        before = target.stat() if target.exists() else None
        if before is not None and not os.access(target, os.W_OK):
            raise PermissionError(13, os.strerror(13))
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                if before is not None:
                    os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
                    with contextlib.suppress(OSError):
                        os.fchown(file.fileno(), before.st_uid, before.st_gid)
                if durable:
                    os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        if durable:
            _sync_folder(target.parent)
    except OSError as error:
        raise write_error(path, error, what=what) from error


def write_error(path: Path, error: OSError, *, what: str) -> TileportError:
    """What to tell where a file could not be written; it is as it was."""
    if error.errno in DISK_FULL:
        return TileportError(
            f"the disk is full, {what} was not written",
            where=str(path),
            todo="free some space and save again; nothing is lost",
        )
    return TileportError(
        f"{what} cannot be written ({error.strerror})",
        where=str(path),
        todo="make the file and its folder writable, then save again; nothing is lost",
    )


def remove(path: Path, *, what: str) -> None:
    """Remove a file; raises a TileportError where it cannot be. None there is fine."""
    try:
        Path(os.path.realpath(path)).unlink(missing_ok=True)
    except OSError as error:
        raise write_error(path, error, what=what) from error


def _sync_folder(folder: Path) -> None:
    # Some file systems cannot sync a folder; the file itself is on the disk by now.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
