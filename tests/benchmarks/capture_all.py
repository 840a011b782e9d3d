"""Captures the 24 TileGym operators: `python -m tests.benchmarks.capture_all`.

Milliseconds are of one capture in the warm server: both targets when run together, and one alone;
`start` is from nothing to a warm server. Options: operator names; `--targets sm_90,sm_100`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path

import msgspec

from tileport.verify.capture.client import CaptureServer
from tileport.verify.capture.request import CaptureRequest, OperatorSource
from tileport.verify.model import CaptureReport
from tileport.verify.operator import resolve_operator

CASES = Path(__file__).resolve().parents[2] / "ops" / "tilegym"


def _row(name: str, targets: tuple[str, ...], report: CaptureReport, ms: list[float]) -> str:
    per_target = [sum(v.target == target for v in report.variants) for target in targets]
    kernels = len({(v.kernel.place.file, v.kernel.qualname) for v in report.variants})
    candidates = max(
        sum(v.candidates for v in report.variants if v.target == target) for target in targets
    )
    counts = "/".join(str(n) for n in per_target)
    times = "  ".join(f"{value:7.0f}" for value in ms)
    return (
        f"{name:28}{kernels:8}{len(report.cases):7}{counts:>12}{candidates:12}"
        f"  {times}{len(report.findings):10}"
    )


async def _capture(server: CaptureServer, name: str, targets: tuple[str, ...], blobs: str) -> str:
    operator = resolve_operator(f"tilegym.ops.cutile.{name}")
    request = CaptureRequest(
        operator=OperatorSource(
            kind="module", name=operator.module, source=operator.source, cases=operator.cases
        ),
        workspace=operator.workspace,
        targets=targets,
        blobs=blobs,
    )
    report = await server.capture(request)
    alone = await server.capture(msgspec.structs.replace(request, targets=targets[:1]))
    return _row(name, targets, report, [report.milliseconds, alone.milliseconds])


async def _main(names: list[str], targets: tuple[str, ...]) -> None:
    names = names or sorted(file.name.partition(".")[0] for file in CASES.glob("*.cases.py"))
    begun = time.perf_counter()
    server = CaptureServer()
    try:
        await server.start()
        print(f"start {time.perf_counter() - begun:.2f} s, load {os.getloadavg()[0]:.1f}, ", end="")
        print(f"{len(os.sched_getaffinity(0))} cores, targets {', '.join(targets)}")
        print(f"{'operator':28} kernels  cases    variants  candidates  ms both  ms one  findings")
        with tempfile.TemporaryDirectory() as blobs:
            for name in names:
                print(await _capture(server, name, targets, blobs), flush=True)
    finally:
        await server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--targets", default="sm_90,sm_100")
    options = parser.parse_args()
    asyncio.run(_main(options.names, tuple(options.targets.split(","))))
