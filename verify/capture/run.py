"""Runs a request in the warm server: one task per target, and the GPU for what needs data."""

from __future__ import annotations

import os
import time

import msgspec

from tileport.verify.capture.jobs import run_tasks
from tileport.verify.capture.outcome import Outcome
from tileport.verify.capture.report import build_report
from tileport.verify.capture.request import CaptureRequest
from tileport.verify.capture.worker import Task
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.model import CaptureReport


def run_request(request: CaptureRequest, local_target: str) -> CaptureReport:
    """Captures on all targets of the request.

    Args:
        local_target: Target of the local GPU, empty if there is none.

    Raises:
        TileportError: nothing could be captured on any target.
    """
    began, begun = time.time_ns(), time.perf_counter()
    real = request.mode == "gpu"
    tasks = [Task(request=request, target=target, real=real) for target in request.targets]
    outcomes = run_tasks(tasks, parallel=len(os.sched_getaffinity(0)))
    if request.mode == "auto" and local_target in request.targets:
        index = request.targets.index(local_target)
        outcomes[index] = _with_gpu(tasks[index], outcomes[index])
    failed = [outcome.failed for outcome in outcomes if outcome.failed is not None]
    if len(failed) == len(outcomes):
        first = failed[0]
        code = ExitCode(first.code)
        raise TileportError(first.what, where=first.where, todo=first.todo, code=code)
    milliseconds = (time.perf_counter() - begun) * 1e3
    name, version = request.operator.name, request.bytecode_version
    return build_report(
        name,
        version,
        outcomes,
        source=request.operator.source or "",
        began=began,
        milliseconds=milliseconds,
    )


def _with_gpu(task: Task, outcome: Outcome) -> Outcome:
    """Runs again, on the GPU, what needs it; the outcome of both runs."""
    if outcome.failed is not None:
        # It may be the import that asks for the GPU.
        (on_gpu,) = run_tasks([msgspec.structs.replace(task, real=True)], parallel=1)
        return outcome if on_gpu.failed is not None else on_gpu
    needing = {i for i, found in outcome.findings if found.kind == "capture-needs-data"}
    if not needing:
        return outcome
    again = msgspec.structs.replace(task, real=True, only=tuple(sorted(needing)))
    (on_gpu,) = run_tasks([again], parallel=1)
    return outcome if on_gpu.failed is not None else outcome.with_cases_of(on_gpu, needing)
