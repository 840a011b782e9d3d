"""Captures kept on disk, found again as long as no file they came from changed."""

from __future__ import annotations

import os

import msgspec

from tileport.verify.capture.inputs import hash_inputs
from tileport.verify.capture.request import CaptureRequest, OperatorSource
from tileport.verify.config import Config
from tileport.verify.ladder.versions import fingerprint
from tileport.verify.model import CaptureReport
from tileport.verify.operator import Operator
from tileport.verify.store import Store, result_key
from tileport.verify.workspace import StateFolder

#: How many states of the files are remembered for one request: enough to edit back and forth.
_STATES = 8
_GPU_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvgpu", "/dev/nvhost-gpu")


class _Kept(msgspec.Struct, frozen=True):
    """All captures of one request that are remembered, the newest first.

    Which files a capture depends on is known only after it; so the key cannot hold their hashes.
    """

    reports: tuple[CaptureReport, ...]


def find_capture(store: Store, request: CaptureRequest) -> CaptureReport | None:
    """A capture of the operator as it is on disk now, or None.

    Reads files; not for the event loop's thread.
    """
    kept = store.result(_key(request), _Kept)
    for report in kept.reports if kept else ():
        if hash_inputs(report.files) == report.inputs and references_kept(store, report):
            return report
    return None


def keep_capture(store: Store, request: CaptureRequest, report: CaptureReport) -> None:
    """Remember a capture, unless a file changed while it was made."""
    if hash_inputs(report.files) != report.inputs:
        return
    key = _key(request)
    kept = store.result(key, _Kept)
    others = tuple(r for r in (kept.reports if kept else ()) if r.inputs != report.inputs)
    store.put_result(key, _Kept((report, *others)[:_STATES]))


def references_kept(store: Store, report: CaptureReport) -> bool:
    """Whether the reference bytecode of all variants is still there."""
    return all(store.has_blob(variant.reference) for variant in report.variants)


def _key(request: CaptureRequest) -> str:
    plain = msgspec.structs.replace(request, blobs="", deadline=0.0)
    # A case that needs data may be captured on a GPU where there is one.
    gpu = [os.environ.get("CUDA_VISIBLE_DEVICES", ""), *filter(os.path.exists, _GPU_FILES)]
    return result_key("capture", fingerprint("capture"), plain, "\0".join(gpu))


def request_for(
    operator: Operator, config: Config, state: StateFolder, targets: tuple[str, ...]
) -> CaptureRequest:
    """What to ask the capture server for an operator."""
    return CaptureRequest(
        operator=OperatorSource(
            kind=operator.kind,
            name=operator.module or operator.name,
            source=operator.source,
            cases=operator.cases,
        ),
        workspace=operator.workspace,
        targets=targets,
        blobs=str(state.blobs),
        all_candidates=config.all_candidates,
        mode=config.capture_mode,
        deadline=config.deadlines.capture,
        bytecode_version=config.bytecode_version,
    )
