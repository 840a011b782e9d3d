"""What is done with the Rust text: typing, saving, merging, undoing, leaving.

One place for the rules by which nothing is lost. It asks through `Desk.ask` and speaks through
`Desk.say`, both given by the screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from tileport.tui.answers import Answer
from tileport.tui.port_buffer import Editor, Outcome, PortBuffer
from tileport.tui.session_like import SessionLike
from tileport.tui.text.parts import Parts
from tileport.verify.errors import TileportError
from tileport.verify.model import Severity
from tileport.verify.safe_text import visible

_SAVE = Answer("save", "Save, then quit", "ctrl+s", "^S")
_DISCARD = Answer("discard", "Quit without saving; the journal keeps the text")
_STAY = Answer("stay", "Stay", "", "Esc")

_MINE = Answer("mine", "Keep mine; saving then overwrites the file")
_THEIRS = Answer("theirs", "Take the file's text; ^Z brings mine back")
_VIEW = Answer("view", "Look at both")
_LATER = Answer("later", "Decide later", "", "Esc")

_RESTORE = Answer("restore", "Restore it into the editor")
_FORGET = Answer("forget", "Forget it; the journal keeps the text")


class Front(Protocol):
    """What the desk needs of the screen."""

    def say(self, text: str, severity: Severity = Severity.NOTE) -> None:
        """Show a line."""
        ...

    def ask(self, title: str, lines: list[str], answers: list[Answer]) -> Awaitable[str]:
        """Ask a question; the value of the answer."""
        ...

    def read(self, title: str, rows: list[Parts]) -> Awaitable[None]:
        """Show text until it is closed."""
        ...

    def changed(self) -> None:
        """Something about the text is different; show it."""
        ...


class Desk:
    """The Rust text of one session.

    Args:
        editor: Holds the text.
        front: The screen.
        session: The session; set once there is one.
    """

    def __init__(self, editor: Editor, front: Front) -> None:
        self._editor = editor
        self._front = front
        self.session: SessionLike | None = None
        self.buffer = PortBuffer(editor, self._submit)
        #: Why the text cannot be edited, as it stands in the title; "" where it can.
        self.frozen = ""
        self._asking = False
        #: One save or undo of a save at a time.
        self._writing = asyncio.Lock()
        #: The texts of recent generations, to know which text a result is about.
        self.generations: dict[int, str] = {}

    def _submit(self, text: str, saved: bool) -> None:
        if self.session is not None and not self.frozen:
            self.generations[self.session.submit(text, saved=saved)] = text

    @property
    def note(self) -> tuple[str, str]:
        """State of the file in a word or two, and its style."""
        if self.frozen:
            return self.frozen, "ui.notice"
        if self.buffer.conflict is not None:
            return "conflict with the file", "severity.wrong"
        if self.buffer.missing:
            return (
                ("not saved", "ui.notice") if self.buffer.unsaved else ("no file yet", "ui.muted")
            )
        return ("edited", "ui.notice") if self.buffer.unsaved else ("saved", "ui.muted")

    def typed(self) -> None:
        """The editor rested after typing: hand the text to the session."""
        text = self._editor.text
        self._submit(text, text == self.buffer.base)

    # ------------------------------------------------------------ the file

    async def changed_outside(self, text: str | None) -> None:
        """The file changed on disk."""
        outcome = self.buffer.changed_outside(text)
        if outcome is Outcome.TAKEN:
            self._front.say("the file changed outside; taken over (^Z undoes)")
        elif outcome is Outcome.MERGED:
            self._front.say("the file changed outside; merged with your edits (^Z undoes)")
        elif outcome is Outcome.GONE:
            self._front.say("the file was deleted; the text is kept, ^S writes it again")
        self._front.changed()
        if outcome is Outcome.CONFLICT:
            await self._settle_conflict()

    async def _settle_conflict(self) -> None:
        if self._asking:
            return
        self._asking = True
        try:
            while (conflict := self.buffer.conflict) is not None:
                answer = await self._front.ask(
                    "both changed",
                    [
                        "The file changed on disk, in lines that you changed here as well.",
                        "Nothing was merged and nothing is lost.",
                    ],
                    [_MINE, _THEIRS, _VIEW, _LATER],
                )
                if answer == "mine":
                    self.buffer.keep_mine()
                elif answer == "theirs":
                    self.buffer.take_theirs()
                elif answer == "view":
                    rows = difference(self._editor.text, conflict.theirs)
                    await self._front.read("yours (-) and the file's (+)", rows)
                else:
                    break
        finally:
            self._asking = False
        self._front.changed()

    async def save(self) -> bool:
        """Save; whether the file now holds the text."""
        async with self._writing:
            return await self._save()

    async def _save(self) -> bool:
        if self.session is None:
            self._front.say("the session is still starting", Severity.SLOW)
            return False
        if self.frozen:
            self._front.say(f"not saved: {self.frozen}", Severity.SLOW)
            return False
        if self.buffer.conflict is not None:
            await self._settle_conflict()
            if self.buffer.conflict is not None:
                return False
        from tileport.verify.session import PortMoved  # noqa: PLC0415  # after the first paint

        text = self._editor.text
        try:
            await self.session.save(text)
        except PortMoved as moved:
            await self.changed_outside(moved.text)
            if moved.text is not None and self.buffer.conflict is None:
                self._front.say("the file had changed; merged, save again to write", Severity.SLOW)
            return False
        except TileportError as error:
            self._front.say(f"not saved: {error.line()}", Severity.WRONG)
            return False
        self.buffer.saved(text)
        self._front.say("saved")
        self._front.changed()
        return True

    async def undo_save(self) -> None:
        """Put the file back to what it was before the last save."""
        async with self._writing:
            await self._undo_save()

    async def _undo_save(self) -> None:
        if self.session is None:
            return
        if self.frozen:
            self._front.say(f"nothing undone: {self.frozen}", Severity.SLOW)
            return
        from tileport.verify.session import PortMoved  # noqa: PLC0415  # after the first paint

        try:
            text = await self.session.undo_save()
        except PortMoved as moved:
            await self.changed_outside(moved.text)
            self._front.say("the file had changed since the save; nothing undone", Severity.SLOW)
            return
        except TileportError as error:
            self._front.say(error.line(), Severity.SLOW)
            return
        outcome = self.buffer.changed_outside(text)
        if text is None:
            self._front.say("the save had made the file: it is gone again, the text is kept")
        elif outcome is Outcome.CONFLICT:
            await self._settle_conflict()
        else:
            self._front.say("the last save is undone")
        self._front.changed()

    async def recover(self) -> None:
        """Offer text of an earlier session that was never saved."""
        if self.session is None or self.frozen:
            return
        found = self.session.recovered()
        if found is None:
            return
        moved = ["The file has changed since."] if found.moved else []
        answer = await self._front.ask(
            "unsaved text",
            [f"Text typed at {found.when} was never saved.", *moved],
            [_RESTORE, _FORGET, _LATER],
        )
        if answer == "restore":
            self._editor.take_outside(found.text)
            self.typed()
            self._front.say("restored (^Z undoes); ^S saves")
        if answer in {"restore", "forget"}:
            self.session.discard_recovered()
        self._front.changed()

    async def may_quit(self) -> bool:
        """Whether the app may end: nothing unsaved, or the person said so."""
        async with self._writing:
            pass  # A save that is under way may settle it.
        if self.frozen or not self.buffer.unsaved:
            return True
        answer = await self._front.ask(
            "quit", ["The Rust text is not saved."], [_SAVE, _DISCARD, _STAY]
        )
        if answer == "save":
            return await self.save()
        if answer == "discard":
            # The journal has what was typed; the next session should not offer it.
            self._submit(self._editor.text, False)
            if self.buffer.base is not None:
                self._submit(self.buffer.base, True)
            return True
        return False


def difference(mine: str, theirs: str) -> list[Parts]:
    """A unified difference as rows."""
    import difflib  # noqa: PLC0415  # seldom needed

    rows: list[Parts] = []
    lines = difflib.unified_diff(
        visible(mine).split("\n"), visible(theirs).split("\n"), lineterm="", n=3
    )
    for line in list(lines)[2:]:
        style = {"-": "diff.removed", "+": "diff.added", "@": "ui.faint"}.get(line[:1], "")
        rows.append([(line, style)])
    return rows
