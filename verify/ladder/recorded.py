"""What `tileport capture -- COMMAND` saw, kept as a second source of an operator's variants.

A recording has the launches of every kernel that ran while the command did. An operator takes
those of the kernels in its own file, as long as none of the recording's files changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tileport.verify.capture.inputs import hash_inputs
from tileport.verify.files import write_atomically
from tileport.verify.model import CaptureReport, Finding, Place, Severity, Variant
from tileport.verify.operator import Operator
from tileport.verify.store import Store
from tileport.verify.workspace import StateFolder

#: Findings of a capture that say there was nothing to run; a recording is the way out of them.
_NOTHING_RUN = frozenset({"no-cases"})


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """One recording."""

    command: tuple[str, ...]
    report: CaptureReport


def keep_recording(state: StateFolder, command: tuple[str, ...], report: CaptureReport) -> Path:
    """Keep a recording, in place of an older one of the same command; where it lies.

    Raises:
        TileportError: it cannot be written.
    """
    name = hashlib.sha256("\0".join(command).encode(errors="surrogateescape")).hexdigest()[:16]
    path = state.recordings / f"{name}.json"
    content = msgspec.json.encode(Recording(command=command, report=report))
    write_atomically(path, content, what="the recording")
    return path


def recordings(state: StateFolder) -> Iterator[Recording]:
    """All recordings of a workspace; a file that is none is passed over."""
    for path in sorted(state.recordings.glob("*.json")):
        try:
            yield msgspec.json.decode(path.read_bytes(), type=Recording)
        except (OSError, msgspec.MsgspecError):
            continue


def recorded_blobs(state: StateFolder) -> Iterator[str]:
    """Hashes of the reference bytecode of all recordings, which no cache may drop."""
    for recording in recordings(state):
        for variant in recording.report.variants:
            yield variant.reference


def with_recordings(
    report: CaptureReport,
    operator: Operator,
    state: StateFolder,
    store: Store,
    targets: tuple[str, ...],
) -> CaptureReport:
    """The capture of an operator with the variants that were recorded of it.

    Args:
        report: The capture of its cases.
        operator: Whose kernels to look for.
        state: Where the recordings lie.
        store: Where their reference bytecode lies.
        targets: The targets to take.
    """
    for recording in recordings(state):
        variants = _variants_of(recording.report, operator, targets)
        if not variants:
            continue
        if hash_inputs(recording.report.files) != recording.report.inputs:
            stale = _stale(recording, operator)
            report = msgspec.structs.replace(report, findings=(*report.findings, stale))
        elif all(store.has_blob(variant.reference) for variant in variants):
            report = _joined(report, recording.report, variants)
    return report


def _variants_of(
    report: CaptureReport, operator: Operator, targets: tuple[str, ...]
) -> tuple[Variant, ...]:
    source = os.path.realpath(operator.source)
    return tuple(
        variant
        for variant in report.variants
        if variant.target in targets and os.path.realpath(variant.kernel.place.file) == source
    )


def _joined(
    report: CaptureReport, recorded: CaptureReport, variants: tuple[Variant, ...]
) -> CaptureReport:
    merged = {variant.id: variant for variant in report.variants}
    for variant in variants:
        known = merged.get(variant.id, variant)
        cases = tuple(dict.fromkeys((*known.cases, *variant.cases)))
        merged[variant.id] = msgspec.structs.replace(known, cases=cases)
    files = tuple(dict.fromkeys((*report.files, *recorded.files)))
    return msgspec.structs.replace(
        report,
        variants=tuple(merged.values()),
        findings=tuple(f for f in report.findings if f.kind not in _NOTHING_RUN),
        cases=tuple(dict.fromkeys((*report.cases, *recorded.cases))),
        files=files,
        inputs=hash_inputs(files),
    )


def _stale(recording: Recording, operator: Operator) -> Finding:
    command = " ".join(recording.command)
    return Finding(
        kind="recording-stale",
        severity=Severity.NOTE,
        message=f"What was recorded of `{command}` is of other files than these and is not used.",
        stage="capture",
        python=Place(operator.source, 1),
        remedy=f"tileport capture -- {command}",
    )
