"""The Rust buffer between the editor, the file and the session: what is unsaved, what to merge.

It decides; the screen asks the person and shows. The editor is only asked for its text and told
to take another one.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple, Protocol

from tileport.tui.text.merge import merge


class Editor(Protocol):
    """The part of the editor used here."""

    @property
    def text(self) -> str:
        """What it holds."""
        ...

    def take_outside(self, text: str) -> bool:
        """Make it hold `text`, by one undoable edit."""
        ...


class Outcome(Enum):
    """What became of a change made outside."""

    NOTHING = auto()
    TAKEN = auto()
    MERGED = auto()
    CONFLICT = auto()
    GONE = auto()


class Conflict(NamedTuple):
    """Both sides changed the same lines: `base` is what both started from."""

    base: str
    theirs: str


class PortBuffer:
    """Follows one file: `base` is what it held when the buffer last agreed with it.

    Args:
        editor: Holds the text.
        submit: Hands a text to the session; `saved` says whether the file holds it.
    """

    def __init__(self, editor: Editor, submit: Callable[[str, bool], object]) -> None:
        self._editor = editor
        self._submit = submit
        self.base: str | None = None
        self.conflict: Conflict | None = None
        #: What the text in the editor was made from; outlives the file.
        self._ancestor = ""

    @property
    def unsaved(self) -> bool:
        """Whether the editor holds what the file does not."""
        text = self._editor.text
        return text != self.base if self.base is not None else bool(text)

    @property
    def missing(self) -> bool:
        """Whether there is no file."""
        return self.base is None

    def opened(self, text: str | None) -> None:
        """The editor shows the file as it is: `text`, or nothing where there is no file."""
        self.base = text
        self._ancestor = text or ""

    def saved(self, text: str) -> None:
        """The file now holds `text`."""
        self.opened(text)
        self.conflict = None

    def changed_outside(self, text: str | None) -> Outcome:
        """The file holds something else: take it, merge it, or keep it as a conflict."""
        if text == self.base and self.conflict is None:
            return Outcome.NOTHING
        if text is None:
            # The buffer is all there is now; saving makes the file again.
            self.base = None
            self.conflict = None
            self._submit(self._editor.text, False)
            return Outcome.GONE
        mine = self._editor.text
        if mine == text:
            self.saved(text)
            self._submit(text, True)
            return Outcome.NOTHING
        if mine == self._ancestor:
            self._editor.take_outside(text)
            self.saved(text)
            self._submit(text, True)
            return Outcome.TAKEN
        merged = merge(self._ancestor, mine, text)
        if merged.text is None:
            self.conflict = Conflict(self._ancestor, text)
            return Outcome.CONFLICT
        self._editor.take_outside(merged.text)
        self.saved(text)
        self._submit(merged.text, merged.text == text)
        return Outcome.MERGED

    def keep_mine(self) -> None:
        """Settle a conflict: the buffer stays, and a save overwrites the other text."""
        if self.conflict is not None:
            self.saved(self.conflict.theirs)
            self._submit(self._editor.text, False)

    def take_theirs(self) -> None:
        """Settle a conflict: the buffer becomes the file's text; undo brings mine back."""
        if self.conflict is not None:
            theirs = self.conflict.theirs
            self._editor.take_outside(theirs)
            self.saved(theirs)
            self._submit(theirs, True)
