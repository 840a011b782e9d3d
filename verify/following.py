"""The files an operator consists of, watched, each in its role."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from tileport.verify.errors import TileportError
from tileport.verify.files import decode, read_bytes
from tileport.verify.operator import Operator, sidecar
from tileport.verify.session_events import FileRole
from tileport.verify.watch import Watcher

#: Seconds that changes of the Python side are gathered for: a checkout changes many files.
_GATHER = 0.03


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A watched file holds something else; both are None where it is gone."""

    role: FileRole
    path: str
    content: bytes | None
    text: str | None


class Following:
    """Follows port, source, case file and imports of one operator.

    Args:
        operator: Whose files; `operator.cases` of this object is kept current.
        on_change: Called on the event loop with each change.
        on_python: Called a moment after one or more files of the Python side changed.
        told: Called with a line where a file cannot be read, or watching works badly.
    """

    def __init__(
        self,
        operator: Operator,
        *,
        on_change: Callable[[Change], None],
        on_python: Callable[[], None],
        told: Callable[[str], None],
    ) -> None:
        self.operator = operator
        self._on_change = on_change
        self._on_python = on_python
        self._told = told
        self._roles: dict[str, FileRole] = {}
        self._watcher = Watcher(self._changed, told)
        self._soon: asyncio.TimerHandle | None = None

    def start(self, port: bytes | None, source: bytes | None) -> None:
        """Begin; the arguments are what the caller has read of the two files."""
        self._add(self.operator.port, "port", port)
        self._add(self.operator.source, "source", source)
        cases = self.operator.cases or str(self._sidecar)
        self._add(cases, "cases", read_or_none(cases))
        self._watcher.start()

    def set_imports(self, files: Iterable[str]) -> None:
        """These are the files whose change makes the capture stale."""
        files = frozenset(files)
        gone = {path for path, role in self._roles.items() if role == "import"} - files
        for path in gone:
            del self._roles[path]
        self._watcher.forget(gone)
        for path in files:
            self._add(path, "import", read_or_none(path))

    def pause(self) -> None:
        """Look away from the port while the caller writes it."""
        self._watcher.pause(self.operator.port)

    def resume(self, content: bytes | None) -> None:
        """Look again; `content` is what the caller left in the port."""
        self._watcher.resume(self.operator.port, content)

    async def close(self) -> None:
        """Stop; nothing is called after this."""
        if self._soon is not None:
            self._soon.cancel()
        self._roles.clear()
        await self._watcher.close()

    @property
    def _sidecar(self) -> Path:
        return sidecar(Path(self.operator.source))

    def _add(self, path: str, role: FileRole, content: bytes | None) -> None:
        if path not in self._roles:
            self._roles[path] = role
            self._watcher.watch(path, content)

    def _changed(self, path: str, found: bytes | TileportError | None) -> None:
        role = self._roles.get(path)
        if role is None:
            return
        content = text = None
        try:
            if isinstance(found, TileportError):
                raise found
            content = found
            text = None if content is None else decode(content, Path(path))
        except TileportError as error:
            self._told(error.line())
            if role == "port":
                # What it held is still what there is to work on.
                return
        if role == "cases":
            self._cases_changed(path, there=content is not None)
        if role != "port" and self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(_GATHER, self._python)
        self._on_change(Change(role=role, path=path, content=content, text=text))

    def _cases_changed(self, path: str, *, there: bool) -> None:
        """A case file beside the operator may come and go; one that was named may not."""
        if path == str(self._sidecar):
            cases = path if there else None
            self.operator = msgspec.structs.replace(self.operator, cases=cases)

    def _python(self) -> None:
        self._soon = None
        self._on_python()


def read_or_none(path: str) -> bytes | None:
    """What a file holds; None where it is not there or cannot be read."""
    try:
        return read_bytes(Path(path), what="the file")
    except (FileNotFoundError, TileportError):
        return None
