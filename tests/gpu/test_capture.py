"""On a machine with a GPU: what is captured without it is what is launched on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport.verify.capture.client import CaptureServer
from tileport.verify.capture.request import CaptureRequest, Mode, OperatorSource
from tileport.verify.gpus import gpus
from tileport.verify.model import CaptureReport, Variant

pytestmark = pytest.mark.gpu

OPS = Path(__file__).resolve().parents[2] / "ops"
NAMES = sorted(
    p.stem for p in OPS.glob("*.py") if not p.name.endswith(("__init__.py", ".cases.py"))
)


def request(name: str, mode: Mode, target: str, blobs: Path) -> CaptureRequest:
    source = OPS / f"{name}.py"
    return CaptureRequest(
        operator=OperatorSource(kind="path", name=str(source), source=str(source)),
        workspace=str(OPS.parent),
        targets=(target,),
        blobs=str(blobs),
        mode=mode,
        deadline=300.0,
    )


def key(variant: Variant) -> tuple[str, str, str]:
    return variant.kernel.name, variant.label, variant.id


@pytest.fixture(scope="module")
def target() -> str:
    found = gpus()
    assert found, "the gpu tests need an NVIDIA GPU"
    return found[0].target


@pytest.mark.parametrize("name", NAMES)
async def test_capture_without_the_gpu_equals_capture_on_it(
    name: str, target: str, tmp_path: Path
) -> None:
    reports: dict[str, CaptureReport] = {}
    server = CaptureServer(log=tmp_path / "log")
    try:
        for mode in ("fake", "gpu"):
            reports[mode] = await server.capture(
                request(name, mode, target, tmp_path)  # type: ignore[arg-type] # a literal
            )
    finally:
        await server.close()
    assert reports["gpu"].findings == ()
    assert reports["fake"].mode == "fake" and reports["gpu"].mode == "gpu"
    fake = {key(v): v.reference for v in reports["fake"].variants}
    real = {key(v): v.reference for v in reports["gpu"].variants}
    assert fake == real
    assert all((tmp_path / reference).is_file() for reference in real.values())
