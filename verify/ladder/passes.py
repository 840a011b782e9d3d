"""One generation on its way up the ladder, and the pace it goes at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from tileport.verify.ladder.board import Board
from tileport.verify.ladder.climb import Outcome
from tileport.verify.session_events import Event, GenerationDone, StageChanged


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """When the engine does what.

    `spare` slots are kept for the variant in view. `rest` is how long typed text must rest before
    the other variants are done, `build_rest` before rustc is asked; both in seconds.
    `view_first` holds the others back until the variant in view is done.
    """

    spare: int = 0
    rest: float = 0.0
    build_rest: float = 0.0
    view_first: bool = False


#: For a person who types and looks.
LIVE = Pace(spare=1, rest=0.25, build_rest=1.0, view_first=True)
#: For a check that wants all results as soon as possible.
HEADLESS = Pace()


class Pass:
    """One generation.

    What it finds goes on the board and is told only while no newer pass has ended it.

    Args:
        generation: Its number.
        text: The Rust text it judges; None where there is no port.
        saved: Whether that is what the port file holds.
        board: Where results go.
        emit: Gets the events.
    """

    def __init__(
        self,
        generation: int,
        text: str | None,
        *,
        saved: bool,
        board: Board,
        emit: Callable[[Event], None],
    ) -> None:
        self.generation = generation
        self.text = text
        self.saved = saved
        self.task: asyncio.Task[None] | None = None
        self._board = board
        self._emit = emit
        self._started = time.perf_counter()
        self._ended = False
        #: Set when a variant may start.
        self._gates: dict[str, asyncio.Event] = {}
        self._done: set[str] = set()

    # ------------------------------------------------------------ who may start

    def expect(self, variants: Iterable[str]) -> None:
        """These variants are to be done; none may start yet."""
        self._gates = {variant: asyncio.Event() for variant in variants}

    async def turn(self, variant: str) -> None:
        """Wait until the variant may start."""
        await self._gates[variant].wait()

    def open(self, variant: str) -> None:
        """Let a variant start; where it is done already, the others."""
        if variant in self._done:
            self.open_all()
        elif variant in self._gates:
            self._gates[variant].set()

    def open_all(self) -> None:
        """Let all start."""
        for gate in self._gates.values():
            gate.set()

    def finish(self, variant: str) -> None:
        """The variant is done."""
        self._done.add(variant)

    # ------------------------------------------------------------ what came of it

    def end(self) -> None:
        """A newer pass takes over: nothing of this one is shown any more."""
        self._ended = True
        if self.task is not None:
            self.task.cancel()

    def run(self, variant: str, stage: str, doing: str = "") -> None:
        """A stage began, or goes on with `doing`."""
        if not self._ended:
            self._emit(StageChanged(self.generation, self._board.run(variant, stage, doing)))

    def put(self, outcome: Outcome[Any]) -> None:
        """A stage ended."""
        if not self._ended:
            self._emit(StageChanged(self.generation, self._board.put(outcome)))

    def tell_done(self) -> None:
        """All stages but those behind are done."""
        if not self._ended:
            taken = (time.perf_counter() - self._started) * 1000
            self._emit(GenerationDone(self.generation, taken))
