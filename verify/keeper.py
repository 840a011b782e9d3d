"""The port file of a session: read, written whole, undone exactly, and never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from tileport.verify.errors import TileportError
from tileport.verify.files import content_hash, decode, read_bytes, remove, write_atomically
from tileport.verify.journal import Journal, UnsavedText
from tileport.verify.lock import LockHolder, PortLock
from tileport.verify.operator import Operator
from tileport.verify.store import Store
from tileport.verify.workspace import StateFolder


class PortMoved(TileportError):  # noqa: N818  # an event of the editor, not a fault
    """The port file holds something the session has not seen; nothing was written.

    `text` is what it holds now, None where the file is gone.
    """

    def __init__(self, path: str, text: str | None) -> None:
        super().__init__(
            "the file changed since it was last read, nothing was written",
            where=path,
            todo="look at the change, then save again",
        )
        self.text = text


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """Text typed in an earlier session that never reached the port file."""

    text: str
    #: When it was typed, ISO 8601 in local time.
    when: str
    #: Whether the port file changed since the text was typed on top of it.
    moved: bool


class PortKeeper:
    """Owns the port file for one session. One event loop uses it.

    Args:
        operator: Whose port.
        state: Where lock and journal lie.
        store: Where the journal keeps contents.
        writable: Take the lock, so that the file can be written; else it is only read.
        told: Called on the event loop with a line where something is kept worse than it should.
    """

    def __init__(
        self,
        operator: Operator,
        state: StateFolder,
        store: Store,
        *,
        writable: bool,
        told: Callable[[str], None],
    ) -> None:
        self.path = operator.port
        #: What the file held when it was last seen; None for no file.
        self.content: bytes | None = None
        self.text: str | None = None
        #: The last text it held that was not None.
        self.last_text: str | None = None
        self.holder: LockHolder | None = None
        self._state = state
        self._key = operator.key
        self._store = store
        self._writable = writable
        self._told = told
        self._lock = PortLock(state, operator.port)
        self._journal = Journal(state, operator.key, store)
        self._unsaved: UnsavedText | None = None
        self._recovered: Recovered | None = None
        self._turn = asyncio.Lock()

    @property
    def read_only(self) -> bool:
        """Whether the file cannot be saved in this session as it stands."""
        return not self._writable or self.holder is not None

    def open(self) -> None:
        """Read the file and take the lock.

        Raises:
            TileportError: the file is there and cannot be read as text.
        """
        self.see(_content(self.path))
        if self._writable:
            self.holder = self._lock.take()
            if self.holder is None:
                self._own()

    def see(self, content: bytes | None) -> None:
        """The file holds this now; raises a TileportError where that is not UTF-8."""
        text = None if content is None else decode(content, Path(self.path))
        self.content, self.text = content, text
        if text is not None:
            self.last_text = text

    def _own(self) -> None:
        """The lock is ours: journal and unsaved text are, too."""
        loop = asyncio.get_running_loop()

        def trouble(error: OSError) -> None:
            line = f"text that is not saved cannot be kept aside ({error.strerror}); save it soon"
            loop.call_soon_threadsafe(self._told, line)

        self._journal = Journal(self._state, self._key, self._store)
        self._unsaved = UnsavedText(self._journal, trouble)
        given_up, left = self._unsaved.given_up(), self._unsaved.read()
        # Kept for good before anything that is typed takes the place of either.
        if given_up is not None and self._remember(given_up.text):
            self._unsaved.clear_given_up()
        if left is None or left.text == self.text:
            return
        moved = left.base != _hash(self.content)
        self._recovered = Recovered(text=left.text, when=left.when, moved=moved)
        self._remember(left.text)

    def _remember(self, text: str) -> bool:
        """Put text that is given up, or might be, into the journal; whether it is there."""
        content = text.encode("utf-8", "surrogatepass")
        entries = self._journal.entries
        if entries and entries[-1].kind == "unsaved" and entries[-1].after == content_hash(content):
            return True
        try:
            self._journal.record("unsaved", self.path, self.content, content)
        except OSError as error:
            self._told(f"the journal cannot be written ({error.strerror})")
            return False
        return True

    # ------------------------------------------------------------ text that is not saved

    def keep(self, text: str) -> None:
        """Keep text that is typed until it is saved; a no-op where the file is not ours.

        The text of the file itself means that what was typed is given up: it goes to the journal
        when the next session opens.
        """
        if self._unsaved is None:
            return
        if text == self.text:
            self._unsaved.give_up()
        else:
            self._unsaved.keep(text, _hash(self.content), self.path)

    def recovered(self) -> Recovered | None:
        """What an earlier session left unsaved."""
        return self._recovered

    def discard_recovered(self) -> None:
        """Forget it; the journal has it still."""
        if self._recovered is not None and self._unsaved is not None:
            left = self._unsaved.read()
            if left is not None and left.text == self._recovered.text:
                self._unsaved.clear()
        self._recovered = None

    # ------------------------------------------------------------ saving

    async def save(self, text: str) -> bool:
        """Write the file; False where it held the text already.

        Raises:
            PortMoved: the file holds something that `see` was not told.
            TileportError: it cannot be written; it is as it was.
        """
        async with self._turn:
            self._require_lock()
            try:
                content = text.encode("utf-8")
            except UnicodeEncodeError:
                raise TileportError(
                    "the text has characters that are not valid Unicode", where=self.path
                ) from None
            before = await self._unmoved()
            if content != before:
                await self._journaled(before, content)
            self.see(content)
            self._recovered = None
            if self._unsaved is not None:
                await asyncio.to_thread(self._unsaved.clear)
            return content != before

    async def undo_save(self, unsaved: str | None) -> None:
        """Put back what the file held before the last save that was not taken back.

        Args:
            unsaved: Text of the editor that this gives up, if there is any; goes to the journal.

        Raises:
            PortMoved: the file is not what that save left.
            TileportError: there is no such save, or the file cannot be written.
        """
        async with self._turn:
            self._require_lock()
            current = await self._unmoved()
            while True:
                last = self._journal.last_save()
                if last is None:
                    raise TileportError("no save to undo", where=self.path)
                if _hash(current) == last.after or _hash(current) != last.before:
                    break
                # That save never reached the file: the session was cut off between journal and
                # file. There is nothing of it to take back.
                await self._record("undo", current, current, last.number)
            if _hash(current) != last.after:
                raise PortMoved(self.path, self.text)
            before = None if last.before is None else self._journal.content(last.before)
            if last.before is not None and before is None:
                raise TileportError("what the file held before is lost", where=self.path)
            if unsaved is not None:
                self._remember(unsaved)
            await self._write(before)
            await self._record("undo", current, before, last.number)
            self.see(before)
            if self._unsaved is not None:
                await asyncio.to_thread(self._unsaved.clear)

    def _require_lock(self) -> None:
        if not self._writable:
            raise TileportError("this session only reads", where=self.path)
        if self.holder is not None:
            # The other session may be over by now.
            self.holder = self._lock.take()
            if self.holder is not None:
                raise TileportError(
                    f"the port is open in another session ({self.holder})",
                    where=self.path,
                    todo="close that one, then save again",
                )
            self._own()

    async def _unmoved(self) -> bytes | None:
        """What the file holds, as long as it is what was last seen."""
        current = await asyncio.to_thread(_content, self.path)
        if current != self.content:
            text = None if current is None else current.decode("utf-8", "replace")
            raise PortMoved(self.path, text)
        return current

    async def _journaled(self, before: bytes | None, content: bytes) -> None:
        # First the journal, then the file: whatever cuts this off, the bytes before are kept.
        number = await self._record("save", before, content)
        try:
            await self._write(content)
        except TileportError:
            if number:
                await self._record("undo", before, before, number)
            raise

    async def _record(
        self,
        kind: Literal["save", "undo"],
        before: bytes | None,
        after: bytes | None,
        undone: int = 0,
    ) -> int:
        """The entry's number; 0, and a line to the person, where it could not be written."""
        try:
            entry = await asyncio.to_thread(
                self._journal.record, kind, self.path, before, after, undone
            )
        except OSError as error:
            # A save that somebody asked for is worth more than its undo.
            self._told(f"the journal cannot be written ({error.strerror}); no undo of this save")
            return 0
        return entry.number

    async def _write(self, content: bytes | None) -> None:
        path = Path(self.path)
        if content is None:
            await asyncio.to_thread(remove, path, what="the port")
        else:
            await asyncio.to_thread(write_atomically, path, content, what="the port")

    def close(self) -> None:
        """Keep what is unsaved and let go of the lock."""
        if self._unsaved is not None:
            self._unsaved.close()
        self._lock.release()


def _content(path: str) -> bytes | None:
    try:
        return read_bytes(Path(path), what="the port")
    except FileNotFoundError:
        return None


def _hash(content: bytes | None) -> str | None:
    return None if content is None else content_hash(content)
