"""What a session tells whoever shows it: one immutable struct per event.

Events come on the event loop the session runs on, in the order things happened. They carry no
more than what happened; everything there is to show is asked of the session.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tileport.verify.model import CaptureReport, Severity, StageResult

#: What a watched file is to the operator; `import` is a workspace file the operator imports.
FileRole = Literal["port", "source", "cases", "import"]


class CaptureStarted(msgspec.Struct, frozen=True):
    """A capture began; what is shown of the variants is of the capture before, if any."""

    generation: int


class CaptureDone(msgspec.Struct, frozen=True):
    """A capture ended; `session.variants` are those of `report` from now on."""

    generation: int
    report: CaptureReport
    milliseconds: float
    cached: bool


class CaptureFailed(msgspec.Struct, frozen=True):
    """There is no capture of the operator as it is now; `line` says why and what to do."""

    generation: int
    line: str


class GenerationStarted(msgspec.Struct, frozen=True):
    """The port or what it is compared with changed: every result there was is stale now.

    `saved` says whether the text is what the port file holds.
    """

    generation: int
    saved: bool


class StageChanged(msgspec.Struct, frozen=True):
    """One stage of one variant (or of the operator) moved; only for the current generation."""

    generation: int
    result: StageResult


class GenerationDone(msgspec.Struct, frozen=True):
    """All stages of the generation are done, but for those behind (the build).

    `milliseconds` are counted from the change to here.
    """

    generation: int
    milliseconds: float


class FileChanged(msgspec.Struct, frozen=True):
    """A watched file holds something else than it did; `text` is None where it is gone.

    Own saves give no event. For the port: where nothing was unsaved, the session has taken the
    text over already (`session.text`); else it waits for `submit` with the merged text.
    """

    role: FileRole
    path: str
    text: str | None


class Notice(msgspec.Struct, frozen=True):
    """Something a person should know that is no finding: one line, with what to do."""

    severity: Severity
    text: str


Event = (
    CaptureStarted
    | CaptureDone
    | CaptureFailed
    | GenerationStarted
    | StageChanged
    | GenerationDone
    | FileChanged
    | Notice
)
