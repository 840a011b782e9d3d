"""A session: one operator, its port, and everything known about the two, kept current."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import msgspec

from tileport.verify.config import Config
from tileport.verify.diff.model import Comparison
from tileport.verify.errors import TileportError
from tileport.verify.ladder.stages import StageSpec
from tileport.verify.ladder.verdict import Verdict
from tileport.verify.lock import LockHolder
from tileport.verify.model import CaptureReport, Finding, StageResult, Variant
from tileport.verify.operator import Operator
from tileport.verify.session_events import Event

if TYPE_CHECKING:
    from tileport.verify.ladder.servers import Servers
    from tileport.verify.port import FactRow


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


class Session:
    """Keeps the ladder of one operator current and tells what changes.

    All methods are called on one event loop; events are given to `notify` on it.

    Args:
        operator: From `resolve_operator`.
        config: From `load_config`; replace fields for command line options.
        notify: Called with each event.
        servers: Servers shared with other sessions, which the caller closes; else own ones.
        live: Watch files, take the lock, keep the journal; False for one check.
        until: Name of the last stage to run; None for all.
    """

    def __init__(
        self,
        operator: Operator,
        config: Config,
        *,
        notify: Callable[[Event], None] = lambda event: None,
        servers: Servers | None = None,
        live: bool = True,
        until: str | None = None,
    ) -> None:
        self.operator = operator
        self.config = config

    # ------------------------------------------------------------ what is known

    @property
    def stages(self) -> tuple[StageSpec, ...]:
        """The stages this session runs, in order."""
        raise NotImplementedError

    @property
    def generation(self) -> int:
        """Grows by one with every change of the port or the capture."""
        raise NotImplementedError

    @property
    def text(self) -> str | None:
        """The Rust text of the current generation; None where there is no port."""
        raise NotImplementedError

    @property
    def disk_text(self) -> str | None:
        """What the port file held when the session last saw it; None where there was none."""
        raise NotImplementedError

    @property
    def source_text(self) -> str | None:
        """The operator's Python source as last seen."""
        raise NotImplementedError

    @property
    def unsaved(self) -> bool:
        """Whether `text` is not what the port file holds."""
        raise NotImplementedError

    @property
    def read_only(self) -> bool:
        """Whether another session has the port; saving then raises."""
        raise NotImplementedError

    @property
    def lock_holder(self) -> LockHolder | None:
        """Who has the port, where this session is read-only."""
        raise NotImplementedError

    @property
    def report(self) -> CaptureReport | None:
        """The last capture that worked."""
        raise NotImplementedError

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants of `report`, in its order."""
        raise NotImplementedError

    @property
    def view(self) -> str:
        """Id of the variant in view; empty while there are none."""
        raise NotImplementedError

    def result(self, variant: str, stage: str) -> StageResult | None:
        """The last result of a stage, state `stale` where it is of an older generation.

        `variant` is ignored for stages of the whole operator. None where it never ran.
        """
        raise NotImplementedError

    def results(self) -> tuple[StageResult, ...]:
        """All results there are, by variant and stage in order."""
        raise NotImplementedError

    def findings(self, *, stale: bool = False) -> tuple[Finding, ...]:
        """Findings merged over the variants, worst first; allowed ones have their reason.

        With `stale` those of stages that are not done yet are taken from the generation before,
        for a screen that would else go blank at every key.
        """
        raise NotImplementedError

    def verdict(self) -> Verdict:
        """The answer over all variants, of the current generation only."""
        raise NotImplementedError

    def comparison(self, variant: str) -> Comparison | None:
        """The last comparison of a variant; stale where `result(variant, "diff")` is."""
        raise NotImplementedError

    def facts(self, variant: str) -> tuple[FactRow, ...]:
        """What Python fixed for a variant and how the port declares it; also without a port."""
        raise NotImplementedError

    async def ir(
        self, variant: str, side: Literal["reference", "port"], *, canonical: bool = False
    ) -> str:
        """The Tile IR of one side as text.

        Raises:
            TileportError: there is none (no such variant, the port does not compile).
        """
        raise NotImplementedError

    # ------------------------------------------------------------ what can be done

    async def start(self) -> None:
        """Open the port, start the servers and the first pass; returns without waiting for it.

        Raises:
            TileportError: the port cannot be read.
        """
        raise NotImplementedError

    def submit(self, text: str, *, saved: bool = False) -> int:
        """Take `text` as the Rust from now on and start a generation; returns its number.

        Text equal to the present one starts none. Text that is not saved is also kept aside, so
        that it survives a crash.
        """
        raise NotImplementedError

    def look_at(self, variant: str) -> None:
        """Have this variant done first."""
        raise NotImplementedError

    async def save(self, text: str) -> None:
        """Write `text` to the port file, atomically, and submit it.

        Raises:
            PortMoved: the file holds something this session has not seen.
            TileportError: it cannot be written (read-only, disk full); the file is as it was.
        """
        raise NotImplementedError

    async def undo_save(self) -> str | None:
        """Put back the exact bytes from before the last save, also of an earlier session.

        Returns the text now in the file; None where the save had created it.

        Raises:
            PortMoved: the file is not what the last save left.
            TileportError: there is no save to undo, or the file cannot be written.
        """
        raise NotImplementedError

    def recovered(self) -> Recovered | None:
        """Text of an earlier session that was never saved, if there is any."""
        raise NotImplementedError

    def discard_recovered(self) -> None:
        """Forget the recovered text; its content stays in the journal."""
        raise NotImplementedError

    async def recapture(self) -> None:
        """Capture again, whatever the cache holds."""
        raise NotImplementedError

    async def settle(self) -> None:
        """Wait until every stage of the current generation is done."""
        raise NotImplementedError

    async def close(self) -> None:
        """End all that runs and keep what is unsaved; takes less than a second. May be repeated."""
        raise NotImplementedError
