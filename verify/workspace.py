"""The workspace of an operator, and the folder in it where tileport keeps its state."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tomllib
from pathlib import Path

import msgspec

from tileport.verify.errors import TileportError

STATE_FOLDER = ".tileport"


class StateFolder(msgspec.Struct, frozen=True, kw_only=True):
    """Where the state of a workspace is kept.

    `notice` says why it is not in the workspace; empty where it is.
    """

    root: Path
    notice: str = ""

    @property
    def blobs(self) -> Path:
        """Files named by the SHA-256 of what they hold."""
        return self.root / "blobs"

    @property
    def results(self) -> Path:
        """Cached results of stages."""
        return self.root / "results"

    @property
    def sessions(self) -> Path:
        """One folder for each operator: its journal and its unsaved text."""
        return self.root / "sessions"

    @property
    def locks(self) -> Path:
        """Who has which port open for writing."""
        return self.root / "locks"

    @property
    def recordings(self) -> Path:
        """What `tileport capture -- COMMAND` saw."""
        return self.root / "recordings"

    @property
    def logs(self) -> Path:
        """What child processes print."""
        return self.root / "logs"

    @property
    def check(self) -> Path:
        """The generated crates that `cargo check` runs on."""
        return self.root / "check"


def find_workspace(folder: Path) -> Path:
    """The workspace root for `folder`.

    That is the nearest of `folder` and its parents that holds `.tileport`, a pyproject.toml with
    `[tool.tileport]`, or `.git`; else `folder` itself.
    """
    folder = folder.resolve()
    for candidate in (folder, *folder.parents):
        if (
            (candidate / STATE_FOLDER).is_dir()
            or _configures_tileport(candidate / "pyproject.toml")
            or (candidate / ".git").exists()
        ):
            return candidate
    return folder


def _configures_tileport(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except OSError:
        return False
    if b"tileport" not in content:
        return False
    try:
        tool = tomllib.loads(content.decode()).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        # A file that names tileport and cannot be read is still meant; load_config tells its line.
        return b"[tool.tileport" in content
    return isinstance(tool, dict) and "tileport" in tool


def open_state(workspace: str | Path) -> StateFolder:
    """The state folder of a workspace, made if need be.

    Where the workspace cannot be written, a folder of this user's cache is used and `notice`
    says so.

    Raises:
        TileportError: neither can be written.
    """
    inside = Path(workspace) / STATE_FOLDER
    failure = _prepare(inside)
    if failure is None:
        return StateFolder(root=inside)
    name = hashlib.sha256(os.fsencode(Path(workspace).resolve())).hexdigest()[:16]
    outside = cache_home() / "tileport" / "workspaces" / name
    second = _prepare(outside)
    if second is not None:
        raise TileportError(
            f"no place for tileport's state: {failure.strerror}, nor in the cache folder"
            f" ({second.strerror})",
            where=str(inside),
            todo="make one of them writable, or set XDG_CACHE_HOME",
        )
    return StateFolder(
        root=outside,
        notice=f"{inside} cannot be written ({failure.strerror}); state is kept in {outside}",
    )


def cache_home() -> Path:
    """The user's cache folder: XDG_CACHE_HOME where that is an absolute path, else ~/.cache."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):  # noqa: PTH117  # the variable may be empty
        return Path(given)
    with contextlib.suppress(RuntimeError):  # no home folder
        return Path.home() / ".cache"
    return Path("/tmp") / f"tileport-{os.getuid()}"


def build_home() -> Path:
    """Where cargo keeps what it built for checking ports, for all workspaces of this user.

    Building cutile takes a minute and some hundred megabytes: once is enough.
    """
    return cache_home() / "tileport" / "cargo-check"


def _prepare(root: Path) -> OSError | None:
    """Makes the folder ready to write; the error where that cannot be done."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        if not os.access(root, os.W_OK | os.X_OK):
            return PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        ignore = root / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        # A full disk takes the caches away, not the session.
        return None if error.errno in DISK_FULL and root.is_dir() else error
    return None


#: Errors that mean there is no room to write.
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
