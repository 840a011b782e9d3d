"""The memory of a session: every save, so that any can be undone, and text not saved yet.

`sessions/<operator>/journal.jsonl` is only ever appended to, a line per entry. What the port file
held before and after each save is in the blob store under its SHA-256, and never evicted while the
journal speaks of it. `unsaved` beside it is the text being typed; it is there only while that text
is not in the port file.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from tileport.verify.store import Store
from tileport.verify.workspace import StateFolder

EntryKind = Literal["save", "undo", "unsaved"]

#: Seconds between two writes of the unsaved text while someone types.
AUTOSAVE_PAUSE = 0.1


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the journal.

    `save`: the port file went from `before` to `after`. `undo`: a save (number `undone`) was
    taken back, `before` and `after` again say what the file held. `unsaved`: text of an earlier
    session that was never saved was found; `after` is its hash, `before` what the file held.
    Hashes are SHA-256 of bytes, None where there was no file.
    """

    number: int
    kind: EntryKind
    #: ISO 8601 in local time.
    when: str
    path: str
    before: str | None
    after: str | None
    undone: int = 0


class Unsaved(msgspec.Struct, frozen=True, kw_only=True):
    """Text of the editor that is not in the port file; `base` is the hash it was typed on."""

    text: str
    base: str | None
    when: str
    path: str


class Journal:
    """The journal of one operator's port.

    Only the session that holds the lock of the port may write; all methods are called from one
    thread.

    Args:
        state: The state folder of the workspace.
        key: `Operator.key`.
        store: Where contents are kept.
    """

    def __init__(self, state: StateFolder, key: str, store: Store) -> None:
        self.folder = state.sessions / key
        self.path = self.folder / "journal.jsonl"
        self._store = store
        self._entries = tuple(_entries(self.path))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, oldest first."""
        return self._entries

    def last_save(self) -> Entry | None:
        """The newest save that was not taken back."""
        undone = {entry.undone for entry in self._entries if entry.kind == "undo"}
        for entry in reversed(self._entries):
            if entry.kind == "save" and entry.number not in undone:
                return entry
        return None

    def content(self, key: str) -> bytes | None:
        """What had this hash, or None where the blob store has lost it."""
        return self._store.blob(key)

    def record(
        self, kind: EntryKind, path: str, before: bytes | None, after: bytes | None, undone: int = 0
    ) -> Entry:
        """Append an entry; it and both contents are on the disk when this returns.

        Raises:
            OSError: they could not be written; the journal is as it was.
        """
        entry = Entry(
            number=self._entries[-1].number + 1 if self._entries else 1,
            kind=kind,
            when=_now(),
            path=path,
            before=self._keep(before),
            after=self._keep(after),
            undone=undone,
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        _append(self.path, msgspec.json.encode(entry))
        self._entries = (*self._entries, entry)
        return entry

    def _keep(self, content: bytes | None) -> str | None:
        return None if content is None else self._store.put_blob(content, durable=True)


class UnsavedText:
    """Keeps the text being typed on disk, at once or a moment later, off the event loop's thread.

    Args:
        journal: Whose folder it is kept in.
        trouble: Called from another thread when a write fails after one that did not.
    """

    def __init__(
        self, journal: Journal, trouble: Callable[[OSError], None] = lambda error: None
    ) -> None:
        self.path = journal.folder / "unsaved"
        self._given_up = journal.folder / "given-up"
        self._trouble = trouble
        self._guard = threading.Condition()
        self._latest: Unsaved | None = None
        self._dirty = False
        self._busy = False
        self._thread: threading.Thread | None = None
        self._closed = False
        self._failing = False

    def read(self) -> Unsaved | None:
        """What an earlier session left, or None."""
        return _read_unsaved(self.path)

    def given_up(self) -> Unsaved | None:
        """What an earlier session gave up last, or None."""
        return _read_unsaved(self._given_up)

    def keep(self, text: str, base: str | None, path: str) -> None:
        """Have `text` written; a later one may take its place before it is."""
        with self._guard:
            self._latest = Unsaved(text=text, base=base, when=_now(), path=path)
            self._dirty = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="unsaved", daemon=True)
                self._thread.start()
            self._guard.notify_all()

    def give_up(self) -> None:
        """The text is not wanted: set it aside, where `given_up` of the next session finds it."""
        with self._guard:
            latest, dirty = self._latest, self._dirty
            self._rest()
            with contextlib.suppress(OSError):
                if latest is not None and dirty:
                    _write_unsaved(self.path, latest)
                self.path.replace(self._given_up)

    def clear(self) -> None:
        """The text is in the port file, or in the journal: remove what is kept."""
        with self._guard:
            self._rest()
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)

    def clear_given_up(self) -> None:
        """What was given up is in the journal: remove it."""
        with contextlib.suppress(OSError):
            self._given_up.unlink(missing_ok=True)

    def _rest(self) -> None:
        """Write nothing more of what was handed over, and wait for what is being written."""
        self._latest = None
        self._dirty = False
        while self._busy:
            self._guard.wait()

    def close(self) -> None:
        """Write what is not written yet and stop."""
        with self._guard:
            self._closed = True
            self._guard.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._guard:
                while not self._dirty and not self._closed:
                    self._guard.wait()
                if not self._dirty:
                    return
                latest, self._dirty, self._busy = self._latest, False, True
            try:
                if latest is not None:
                    _write_unsaved(self.path, latest)
                self._failing = False
            except OSError as error:
                if not self._failing:
                    self._trouble(error)
                self._failing = True
            with self._guard:
                self._busy = False
                self._guard.notify_all()
                if not self._closed:
                    self._guard.wait_for(lambda: self._closed, AUTOSAVE_PAUSE)


def _read_unsaved(path: Path) -> Unsaved | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Unsaved)
    except (OSError, msgspec.MsgspecError):
        return None


def _write_unsaved(path: Path, unsaved: Unsaved) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    # No fsync: what was written survives the death of this process, and a cut of the power costs
    # some seconds of typing, never the port file.
    temporary.write_bytes(msgspec.json.encode(unsaved))
    temporary.replace(path)


def pinned_blobs(state: StateFolder) -> Iterator[str]:
    """Hashes of all contents that any journal of the workspace speaks of."""
    for path in state.sessions.glob("*/journal.jsonl"):
        for entry in _entries(path):
            for key in (entry.before, entry.after):
                if key is not None:
                    yield key


def _entries(path: Path) -> Iterator[Entry]:
    """The entries that are whole: a line that was cut off by a crash is no entry."""
    try:
        content = path.read_bytes()
    except OSError:
        return
    for line in content.split(b"\n"):
        with contextlib.suppress(msgspec.MsgspecError):
            yield msgspec.json.decode(line, type=Entry)


def _append(path: Path, line: bytes) -> None:
    with path.open("ab+") as file:
        end = file.seek(0, os.SEEK_END)
        torn = False
        if end:
            file.seek(end - 1)
            torn = file.read(1) != b"\n"
        try:
            file.write((b"\n" if torn else b"") + line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                file.truncate(end)
            raise


def _now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
