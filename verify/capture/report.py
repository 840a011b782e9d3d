"""The outcomes of all targets as one report."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tileport.verify.capture.inputs import hash_inputs
from tileport.verify.capture.outcome import Outcome
from tileport.verify.capture.variants import build_variants
from tileport.verify.model import CaptureReport, Finding, Place, Severity


def build_report(
    name: str,
    bytecode_version: str,
    outcomes: Sequence[Outcome],
    *,
    source: str = "",
    began: int,
    milliseconds: float,
) -> CaptureReport:
    """The report of a capture that worked for one target at least.

    Args:
        name: Of the operator, or the command that was recorded.
        bytecode_version: Of the references.
        outcomes: One per target.
        source: The operator's file, where it was named.
        began: When it began, in nanoseconds since the epoch: a file changed after that may not
            be what was captured.
        milliseconds: How long it took.
    """
    variants = tuple(
        variant
        for outcome in outcomes
        for variant in build_variants(outcome.launches, outcome.target, bytecode_version)
    )
    files = tuple(sorted({file for outcome in outcomes for file in outcome.files}))
    names = {index: name for outcome in outcomes for index, name in outcome.cases.items()}
    findings = _merged(outcomes)
    if not variants and not findings and names:
        findings = (_nothing_launched(outcomes),)
    return CaptureReport(
        operator=name,
        source=source or next((outcome.source for outcome in outcomes if outcome.source), ""),
        variants=variants,
        findings=findings,
        cases=tuple(names[index] for index in sorted(names)),
        inputs=_inputs(files, began),
        files=files,
        versions=versions(),
        milliseconds=milliseconds,
        mode="gpu" if any(outcome.real for outcome in outcomes) else "fake",
    )


def _inputs(files: Sequence[str], began: int) -> str:
    """The hash of the files; one that will not be met again, if they changed meanwhile."""
    hashed = hash_inputs(files)
    return hashed + "-moved" if any(_changed_since(file, began) for file in files) else hashed


def _changed_since(file: str, began: int) -> bool:
    try:
        return Path(file).stat().st_mtime_ns >= began
    except OSError:
        return True


def _merged(outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """Findings of all targets, each once; what is not so on all of them names its targets."""
    seen: dict[bytes, tuple[Finding, list[str]]] = {}
    for outcome in outcomes:
        findings = [finding for _, finding in outcome.findings]
        if outcome.failed is not None:
            findings.append(_failure(outcome))
        for finding in findings:
            _, targets = seen.setdefault(msgspec.json.encode(finding), (finding, []))
            if outcome.target not in targets:
                targets.append(outcome.target)
    merged = []
    for finding, targets in seen.values():
        if len(targets) < len(outcomes):
            only = f"on {', '.join(targets)}: {finding.message}"
            finding = msgspec.structs.replace(finding, message=only)  # noqa: PLW2901
        merged.append(finding)
    return tuple(merged)


def _failure(outcome: Outcome) -> Finding:
    failed = outcome.failed
    assert failed is not None
    file, _, line = (failed.where or "").partition(":")
    return Finding(
        kind="import-failed",
        severity=Severity.WRONG,
        message=failed.what,
        stage="capture",
        python=Place(file, int(line.partition(":")[0])) if line[:1].isdigit() else None,
        remedy=failed.todo or "",
    )


def _nothing_launched(outcomes: Sequence[Outcome]) -> Finding:
    defined = max(outcome.kernels_defined for outcome in outcomes)
    what = "none of its kernels" if defined else "no kernel"
    return Finding(
        kind="no-kernel",
        severity=Severity.WRONG,
        message=f"the cases ran, but launched {what} (cuda.tile.launch was not called)",
        stage="capture",
        python=next((Place(o.source, 1) for o in outcomes if o.source), None),
        remedy="have a case call the function that launches the kernel",
    )


@functools.cache
def versions() -> dict[str, str]:
    """Versions of what a capture depends on; "" for what is not installed."""
    packages = {"cuda-tile": "cuda-tile", "torch": "torch", "tileiras": "nvidia-cuda-tileiras"}
    found = {}
    for name, package in packages.items():
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[name] = ""
    return found
