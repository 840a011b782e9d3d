"""From a save to the difference: the real watcher and servers, without a screen.

    python -m tests.benchmarks.session_latency ops/silu_and_mul.py --saves 100

The operator, its case file and its port are copied to a folder of their own. Every save pushes
the port down by one more line, so that all its locations and with them the bytecode are others,
and nothing comes from the cache. It is written atomically, as editors do. Times are from before
the save to the event that the variant in view is compared.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tileport.verify.config import load_config
from tileport.verify.model import StageState
from tileport.verify.operator import resolve_operator
from tileport.verify.session import Session
from tileport.verify.session_events import (
    Event,
    FileChanged,
    GenerationDone,
    GenerationStarted,
    StageChanged,
)


class Sample(msgspec.Struct, kw_only=True):
    """One save; milliseconds since before it, and of the two stages."""

    seen: float = 0.0
    compared: float = 0.0
    all_compared: float = 0.0
    compile: float = 0.0
    diff: float = 0.0


class Clock:
    """Notes when what of the newest save was told."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.started = 0.0
        self.generation = 0
        self.sample = Sample()
        self.compared = asyncio.Event()
        self.done = asyncio.Event()
        self.faults: list[str] = []

    def begin(self) -> None:
        self.sample = Sample()
        self.generation = 0
        self.compared.clear()
        self.done.clear()
        self.started = time.perf_counter()

    def _now(self) -> float:
        return (time.perf_counter() - self.started) * 1000

    def notify(self, event: Event) -> None:
        match event:
            case GenerationStarted():
                self.generation = event.generation
                self.sample.seen = self._now()
            case FileChanged(role="port"):
                self.sample.seen = self.sample.seen or self._now()
            case StageChanged(result=result) if self.session is not None:
                if result.variant != self.session.view or result.state is StageState.RUNNING:
                    return
                if result.stage in {"compile", "diff"}:
                    setattr(self.sample, result.stage, result.milliseconds)
                    if result.state not in {StageState.OK, StageState.FINDINGS}:
                        self.faults.append(f"{result.stage} {result.state}: {result.reason}")
                if result.stage == "diff":
                    self.sample.compared = self._now()
                    self.compared.set()
            case GenerationDone():
                self.sample.all_compared = self._now()
                self.done.set()


@contextmanager
def copied(given: str) -> Iterator[Path]:
    """The operator's files in a folder of their own; gives the copy of the Python file."""
    operator = resolve_operator(given)
    with tempfile.TemporaryDirectory(prefix="tileport-latency-") as folder:
        (Path(folder) / ".tileport").mkdir()
        for file in (operator.source, operator.port, operator.cases):
            if file is not None:
                shutil.copy(file, folder)
        yield Path(folder) / Path(operator.source).name


async def measure(source: Path, saves: int, pause: float, target: str) -> list[Sample]:
    """One sample for each save."""
    operator = resolve_operator(str(source))
    config = msgspec.structs.replace(load_config(operator.workspace), targets=(target,))
    clock = Clock()
    session = Session(operator, config, notify=clock.notify, until="diff")
    port = Path(operator.port)
    original = port.read_text()
    samples = []
    begun = time.perf_counter()
    try:
        clock.begin()
        await session.start()
        clock.session = session
        await session.settle()
        first = time.perf_counter() - begun
        verdict = session.verdict()
        print(f"{source.name}  {target}  {verdict.text}  first pass {first:.1f} s")
        if not verdict.total or verdict.failed:
            raise SystemExit("nothing to measure: the port does not come as far as a comparison")
        await asyncio.sleep(pause)
        for number in range(saves):
            temporary = port.with_name(f".{port.name}.tmp")
            clock.begin()
            temporary.write_text("//\n" * (number + 1) + original)
            temporary.replace(port)
            async with asyncio.timeout(60):
                await clock.compared.wait()
                await clock.done.wait()
            samples.append(clock.sample)
            await asyncio.sleep(pause)
    finally:
        await session.close()
    if clock.faults:
        raise SystemExit(f"{len(clock.faults)} faults, the first: {clock.faults[0]}")
    return samples


def table(samples: list[Sample]) -> str:
    """p50, p95 and maximum of each time in milliseconds."""
    rows = [f"{'milliseconds':24}{'p50':>8}{'p95':>8}{'max':>8}"]
    names = {
        "seen": "save seen",
        "compile": "compile (stage)",
        "diff": "diff (stage)",
        "compared": "variant in view compared",
        "all_compared": "all variants compared",
    }
    for field, name in names.items():
        times = sorted(getattr(sample, field) for sample in samples)
        p50 = statistics.median(times)
        p95 = times[min(len(times) - 1, int(len(times) * 0.95))]
        rows.append(f"{name:24}{p50:8.1f}{p95:8.1f}{times[-1]:8.1f}")
    return "\n".join(rows)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("operator", nargs="?", default="ops/mla_decode.py")
    parser.add_argument("--saves", type=int, default=100)
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between saves")
    parser.add_argument("--target", default="sm_90")
    options = parser.parse_args()
    with copied(options.operator) as source:
        samples = asyncio.run(measure(source, options.saves, options.pause, options.target))
    print(f"{len(samples)} saves")
    print(table(samples))


if __name__ == "__main__":
    main()
