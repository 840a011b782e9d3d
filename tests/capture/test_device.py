"""Host code sees a GPU of the target: its properties, streams, generators, and no data."""

from __future__ import annotations

import pytest

from tests.capture.conftest import Capture
from tests.capture.support import ADD, with_cases
from tileport.verify.capture.targets import (
    DEVICES,
    WITHOUT_GPU,
    capability,
    check_targets,
    default_targets,
)
from tileport.verify.errors import TileportError
from tileport.verify.gpus import gpus

pytestmark = pytest.mark.asyncio(loop_scope="session")


def checking(*lines: str) -> str:
    """An operator of which one case runs these lines and then launches."""
    return ADD + (
        "def check():\n"
        + "".join(f"    {line}\n" for line in lines)
        + "    op(vector(), vector())\n"
        "def tileport_cases():\n"
        "    yield 'check', check\n"
    )


async def test_host_code_sees_the_device_of_the_target(capture: Capture) -> None:
    told = {
        device.name: (*capability(target), device.multiprocessors, device.memory)
        for target, device in DEVICES.items()
    }
    report = await capture(
        checking(
            f"told = {told}",
            "p = torch.cuda.get_device_properties('cuda')",
            "assert p.name == torch.cuda.get_device_name()",
            "major, minor, count, memory = told[p.name]",
            "assert torch.cuda.get_device_capability() == (p.major, p.minor) == (major, minor)",
            "assert (p.multi_processor_count, p.total_memory) == (count, memory)",
            "from cuda.tile._cext import get_compute_capability",
            "assert get_compute_capability() == (major, minor)",
        ),
        targets=tuple(DEVICES),
    )
    assert not report.findings, report.findings
    assert [v.target for v in report.variants] == list(DEVICES)


#: What host code commonly does, one case each.
COMMON = {
    "queries": ["assert torch.cuda.is_available() and torch.cuda.device_count() == 1"],
    "streams": ["s = torch.cuda.Stream()", "with torch.cuda.stream(s): op(vector(), vector())"],
    "device guard": ["with torch.cuda.device(0): assert torch.cuda.current_device() == 0"],
    "calls": ["torch.cuda.synchronize()", "torch.cuda.empty_cache()", "torch.cuda.set_device(0)"],
    "events": [
        "a, b = (torch.cuda.Event(enable_timing=True) for _ in 'ab')",
        "a.record(); b.record(); b.synchronize()",
        "assert a.elapsed_time(b) > 0",
    ],
    "seeds": ["torch.manual_seed(0)", "torch.cuda.manual_seed_all(0)"],
    "generators": [
        "g = torch.Generator(device='cuda')",
        "torch.randn(4, device='cuda', generator=g)",
    ],
    "cuda()": ["x = torch.ones(4).cuda()", "assert x.is_cuda and x.device.index == 0"],
    "pinned": ["x = torch.ones(4, pin_memory=True).to('cuda', non_blocking=True)"],
    "pin_memory()": ["assert torch.ones(4).pin_memory().cuda().is_cuda"],
    "modules": [
        "m = torch.nn.Linear(4, 4).cuda()",
        "assert m(torch.ones(2, 4).cuda()).shape == (2, 4)",
    ],
    "with device": ["with torch.device('cuda'): assert torch.ones(3).is_cuda"],
    "default device": [
        "torch.set_default_device('cuda')",
        "assert torch.ones(3).is_cuda",
        "torch.set_default_device(None)",
    ],
    "autocast": [
        "x = vector(16).view(4, 4)",
        "with torch.autocast('cuda', dtype=torch.bfloat16): assert (x @ x).is_cuda",
    ],
    "compile": ["f = torch.compile(lambda x: x * 2)", "assert f(vector()).shape == (1024,)"],
    "graphs": [
        "g = torch.cuda.CUDAGraph()",
        "with torch.cuda.graph(g): op(vector(), vector())",
        "g.replay()",
    ],
    "memory": ["free, total = torch.cuda.mem_get_info()", "assert 0 < free <= total"],
    "comparisons": [
        "torch.testing.assert_close(vector(), vector())",
        "assert torch.allclose(vector(), vector())",
    ],
    "address of a view": ["assert (vector()[1:].data_ptr() - vector().data_ptr()) % 512 == 4"],
    "address in a block": [
        "x = vector(8)",
        "assert x.view(2, 4)[1:].data_ptr() == x.data_ptr() + 16",
    ],
    "address of nothing": ["assert torch.empty(0, device='cuda').data_ptr() == 0"],
    "printing": ["repr(vector())", "str(vector(4))"],
}


async def test_what_host_code_commonly_does_works(capture: Capture) -> None:
    text = ADD + "CASES = {}\n"
    for number, (name, lines) in enumerate(COMMON.items()):
        body = "".join(f"    {line}\n" for line in lines)
        text += f"def check{number}():\n{body}    op(vector(), vector())\n"
        text += f"CASES[{name!r}] = check{number}\n"
    report = await capture(text + "def tileport_cases():\n    return CASES\n")
    assert not report.findings, report.findings
    (variant,) = report.variants
    assert variant.cases == tuple(COMMON)


async def test_tensors_in_host_memory_are_real(capture: Capture) -> None:
    report = await capture(
        checking(
            "lengths = torch.tensor([3, 5, 9])",
            "offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])",
            "assert offsets.tolist() == [0, 3, 8, 17]",
            "assert lengths.max().item() == 9 and lengths.numpy().sum() == 17",
            "x = torch.empty(int(offsets[-1]), device='cuda')",
            "assert x.shape == (17,)",
            "x.copy_(torch.ones(17)); x[offsets.cuda()[:2]] = 1",
        )
    )
    assert not report.findings, report.findings


async def test_real_torch_dynamo_can_still_be_imported(capture: Capture) -> None:
    report = await capture(
        checking(
            "import torch._dynamo",
            "torch._dynamo.reset()",
            "assert torch._dynamo.config.suppress_errors in (True, False)",
            "from torch._subclasses.fake_tensor import FakeTensorMode",
            "with FakeTensorMode(): torch.ones(3) + 1",
        )
    )
    assert not report.findings, report.findings


async def test_ml_dtypes_are_known_once_imported(capture: Capture) -> None:
    text = "import ml_dtypes\n" + with_cases('yield "one", lambda: op(vector(), vector())')
    text = text.replace("(TILE,)) + ct.load", "(TILE,)).astype(ml_dtypes.bfloat16) + ct.load")
    report = await capture(text)
    assert not report.findings, report.findings


async def test_unknown_targets_are_refused_with_the_known_ones() -> None:
    with pytest.raises(TileportError) as caught:
        check_targets(("sm_90", "sm_91"))
    assert "sm_91" in caught.value.what
    assert "sm_100" in (caught.value.todo or "")


async def test_capability_of_a_target() -> None:
    assert [capability(t) for t in ("sm_80", "sm_100", "sm_121")] == [(8, 0), (10, 0), (12, 1)]


async def test_default_targets_are_the_local_gpu_or_the_usual_two() -> None:
    local = tuple(gpu.target for gpu in gpus())
    assert await default_targets() == (local[:1] or WITHOUT_GPU)
