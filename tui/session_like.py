"""What the app needs of a session, as a protocol: the real one, or a scripted one in tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

from tileport.verify.diff.model import Comparison
from tileport.verify.ladder.stages import StageSpec
from tileport.verify.ladder.verdict import Verdict
from tileport.verify.model import CaptureReport, Finding, StageResult, Variant
from tileport.verify.operator import Operator
from tileport.verify.session_events import Event

if TYPE_CHECKING:
    from tileport.verify.lock import LockHolder
    from tileport.verify.port import FactRow
    from tileport.verify.session import Recovered

#: Makes the session once the app runs; gets the callback for events.
MakeSession = Callable[[Callable[[Event], None]], "SessionLike"]


class SessionLike(Protocol):
    """The part of `tileport.verify.session.Session` that the app uses; see there."""

    operator: Operator

    @property
    def stages(self) -> tuple[StageSpec, ...]:
        """The stages, in order."""
        ...

    @property
    def text(self) -> str | None:
        """The Rust text of the current generation."""
        ...

    @property
    def disk_text(self) -> str | None:
        """What the port file held when last seen."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether another session has the port."""
        ...

    @property
    def lock_holder(self) -> LockHolder | None:
        """Who has it."""
        ...

    @property
    def report(self) -> CaptureReport | None:
        """The last capture that worked."""
        ...

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants of the report."""
        ...

    @property
    def view(self) -> str:
        """Id of the variant in view."""
        ...

    def result(self, variant: str, stage: str) -> StageResult | None:
        """The last result of a stage."""
        ...

    def findings(self, *, stale: bool = False) -> tuple[Finding, ...]:
        """Findings over all variants, worst first."""
        ...

    def verdict(self) -> Verdict:
        """The answer over all variants."""
        ...

    def comparison(self, variant: str) -> Comparison | None:
        """The last comparison of a variant."""
        ...

    def facts(self, variant: str) -> tuple[FactRow, ...]:
        """What Python fixed for a variant."""
        ...

    async def ir(
        self, variant: str, side: Literal["reference", "port"], *, canonical: bool = False
    ) -> str:
        """The IR of one side as text."""
        ...

    async def start(self) -> None:
        """Start the first pass."""
        ...

    def submit(self, text: str, *, saved: bool = False) -> int:
        """Take a text as the Rust from now on."""
        ...

    def look_at(self, variant: str) -> None:
        """Have this variant done first."""
        ...

    async def save(self, text: str) -> None:
        """Write the port file."""
        ...

    async def undo_save(self) -> str | None:
        """Put back the bytes from before the last save."""
        ...

    def recovered(self) -> Recovered | None:
        """Text of an earlier session that was never saved."""
        ...

    def discard_recovered(self) -> None:
        """Forget the recovered text."""
        ...

    async def close(self) -> None:
        """End all that runs, keep what is unsaved."""
        ...
