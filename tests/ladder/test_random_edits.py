"""Whatever is done in whatever order: the last text is judged, and nothing stale is shown."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from tests.ladder.fakes import FakePorts, FakeServers, port_text, source_text, write_operator
from tileport.verify.compile.model import CompileRequest, CompileResult, DiffRequest
from tileport.verify.config import Config
from tileport.verify.diff.model import Comparison
from tileport.verify.ladder.engine import Ladder
from tileport.verify.ladder.passes import Pace
from tileport.verify.ladder.stages import stages_until
from tileport.verify.model import StageState
from tileport.verify.session_events import Event, GenerationDone, GenerationStarted, StageChanged
from tileport.verify.store import Store
from tileport.verify.workspace import open_state

_NOTES = ("", "slow", "wrong", "syntax", "crash", "assume", "note", "verify")


class JitteryPorts(FakePorts):
    """Takes a random time for everything."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance

    async def compile(self, request: CompileRequest) -> CompileResult:
        await asyncio.sleep(self._chance.choice((0, 0, 0.001, 0.004)))
        return await super().compile(request)

    async def diff(self, request: DiffRequest) -> Comparison:
        await asyncio.sleep(self._chance.choice((0, 0.001)))
        return await super().diff(request)


def _expected(note: str, kernels: set[str], shown: list[tuple[str, int]]) -> dict[str, int]:
    counts = dict.fromkeys(("same", "same_if", "different", "failed"), 0)
    for kernel, number in shown:
        if kernel not in kernels or note in {"syntax", "crash", "verify"}:
            counts["failed"] += number
        elif note == "assume":
            counts["same_if"] += number
        elif note:
            counts["different"] += number
        else:
            counts["same"] += number
    return counts


@pytest.mark.parametrize("seed", range(12))
async def test_the_end_is_right_after_any_edits(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    shown = [("a", 2), ("b", 1)]
    operator = write_operator(tmp_path, *shown)
    state = open_state(operator.workspace)
    fakes = FakeServers()
    fakes.port = JitteryPorts(chance)
    config = Config(targets=("sm_90",), workers=chance.choice((1, 2, 4)))
    events: list[Event] = []
    ladder = Ladder(
        operator,
        config,
        state,
        Store(state, limit=1 << 30),
        fakes.make(config),
        emit=events.append,
        stages=stages_until(None),
        pace=Pace(spare=1, rest=0.003, build_rest=0.002, view_first=chance.random() < 0.8),
    )
    note, kernels = "", {"a", "b"}
    ladder.start(port_text(*sorted(kernels)))
    for step in range(40):
        action = chance.random()
        if action < 0.7:
            note = chance.choice(_NOTES)
            kernels = {"a", "b"} if chance.random() < 0.8 else {chance.choice("ab")}
            # A few texts come again, so that the caches are used.
            text = port_text(*sorted(kernels), note=note + " " * chance.choice((0, 0, step)))
            ladder.submit(text, saved=chance.random() < 0.5)
        elif action < 0.85:
            ladder.look_at(chance.choice(("a-0", "a-1", "b-0", "b-2", "nowhere")))
        else:
            shown = [("a", chance.choice((1, 2))), ("b", chance.choice((1, 3)))]
            Path(operator.source).write_text(source_text(*shown))
            ladder.recapture(fresh=chance.random() < 0.3)
        await asyncio.sleep(chance.choice((0, 0, 0.001, 0.005, 0.02)))
    async with asyncio.timeout(20):
        await ladder.settle()
    verdict = ladder.verdict()
    expected = _expected(note, kernels, shown)
    assert {name: getattr(verdict, name) for name in expected} == expected
    assert verdict.pending == 0
    assert all(r.state is not StageState.STALE for r in ladder.board.results())
    assert {r.state for r in ladder.board.results()}.isdisjoint({StageState.RUNNING})
    current = 0
    for event in events:
        if isinstance(event, GenerationStarted):
            assert event.generation == current + 1
            current = event.generation
        elif isinstance(event, StageChanged | GenerationDone):
            assert event.generation == current
    await ladder.close()
