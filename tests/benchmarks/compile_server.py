"""How fast the compile server is, and whether its memory levels off.

    python -m tests.benchmarks.compile_server [--runs 200] [--soak 1000] [--kernel FILE.json]

`--kernel` names a CompileRequest as JSON; without it a small kernel written for the tests is
used. Each run moves the text down by some lines, so that no bytecode comes out twice in a while.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from pathlib import Path

import msgspec

from tests.compile.kernels import request as small_request
from tileport.verify.compile.model import CompileRequest, CompileResult
from tileport.verify.compile.server import PortServer

_MB = 1024 * 1024


def edited(request: CompileRequest, number: int) -> CompileRequest:
    """The request with empty lines before the text, a number that comes again after 997 runs."""
    return msgspec.structs.replace(request, text="\n" * (number % 997) + request.text)


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def line(name: str, values: list[float]) -> str:
    """Median and 95th percentile in milliseconds."""
    return f"{name:12} p50 {statistics.median(values):7.1f} ms  p95 {percentile(values, 0.95):7.1f}"


async def timed(server: PortServer, request: CompileRequest) -> tuple[float, CompileResult]:
    """Milliseconds of one compile, as its caller sees it."""
    start = time.perf_counter()
    result = await server.compile(request)
    if result.bytecode is None:
        raise SystemExit(f"does not compile: {result.diagnostics}")
    return (time.perf_counter() - start) * 1e3, result


async def speed(request: CompileRequest, runs: int) -> None:
    """Prints the times of warm compiles, whole and by step."""
    server = PortServer(workers=1)
    start = time.perf_counter()
    await server.start()
    await timed(server, request)
    print(f"cold start to first result {(time.perf_counter() - start) * 1e3:.0f} ms")
    measured = [await timed(server, edited(request, number)) for number in range(runs)]
    print(line("whole", [milliseconds for milliseconds, _ in measured]))
    for step in measured[0][1].milliseconds:
        print(line(f"  {step}", [result.milliseconds[step] for _, result in measured]))
    await server.close()


async def soak(request: CompileRequest, compiles: int) -> None:
    """Prints the memory of one worker over many compiles, with no limit on it."""
    server = PortServer(workers=1, memory_limit=1 << 40)
    await server.start()
    (child,) = server._children
    pid = child.pid
    for number in range(compiles):
        await timed(server, edited(request, number))
        if number % max(1, compiles // 10) == 0 or number == compiles - 1:
            print(f"after {number + 1:5} compiles: {child.rss_bytes() / _MB:6.1f} MB")
    assert child.pid == pid, "the worker was replaced"
    await server.close()


async def recycling(request: CompileRequest) -> None:
    """Prints what it costs to replace the worker, by having it over its limit after each job."""
    server = PortServer(workers=1, memory_limit=1)
    await server.start()
    (child,) = server._children
    times = []
    for number in range(10):
        before = child.pid
        await timed(server, edited(request, number))
        start = time.perf_counter()
        while child.pid in {before, None}:
            await asyncio.sleep(0.001)
        times.append((time.perf_counter() - start) * 1e3)
    print(line("replaced in", times))
    await server.close()


async def measure(options: argparse.Namespace) -> None:
    """Runs all three."""
    request = small_request()
    if options.kernel:
        request = msgspec.json.decode(options.kernel.read_bytes(), type=CompileRequest)
    await speed(request, options.runs)
    await soak(request, options.soak)
    await recycling(request)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--soak", type=int, default=1000)
    parser.add_argument("--kernel", type=Path)
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
