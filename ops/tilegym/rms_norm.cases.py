"""RMS norm in its three schedules, and training."""

import torch
from tilegym.ops.cutile.rms_norm import rms_norm

from tileport.verify.capture.case_api import backward


def inputs(m, n, dtype=torch.bfloat16, grad=False):
    x = torch.randn(m, n, dtype=dtype, device="cuda", requires_grad=grad)
    return x, (n,), torch.randn(n, dtype=dtype, device="cuda", requires_grad=grad), 1e-5


def tileport_cases():
    f16, f32 = torch.float16, torch.float32
    yield "reload bf16 256x1024", lambda: rms_norm(*inputs(256, 1024), mode="multi_wave_reload")
    yield "cached bf16 256x1024", lambda: rms_norm(*inputs(256, 1024), mode="multi_wave_cached")
    yield "persistent bf16 256x1024", lambda: rms_norm(*inputs(256, 1024), mode="static_persistent")
    yield "persistent f16 1000x5000", lambda: rms_norm(*inputs(1000, 5000, f16))
    yield (
        "reload f32 100x3000 offset",
        lambda: rms_norm(*inputs(100, 3000, f32), mode="multi_wave_reload", offset=1.0),
    )
    yield "train bf16 1024x4096", lambda: backward(rms_norm(*inputs(1024, 4096, grad=True)))
