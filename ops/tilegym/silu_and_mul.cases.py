"""Gated SiLU over two halves of a row: dtypes, a ragged width, training."""

import torch
from tilegym.ops.cutile.silu_and_mul import silu_and_mul

from tileport.verify.capture.case_api import backward


def rows(*shape, dtype=torch.float16, grad=False):
    return torch.randn(*shape, dtype=dtype, device="cuda", requires_grad=grad)


def tileport_cases():
    yield "f16 2x64x4096", lambda: silu_and_mul(rows(2, 64, 8192))
    yield "bf16 100x1408", lambda: silu_and_mul(rows(100, 2816, dtype=torch.bfloat16))
    yield "f32 64x1000", lambda: silu_and_mul(rows(64, 2000, dtype=torch.float32))
    yield "train f16 2x64x4096", lambda: backward(silu_and_mul(rows(2, 64, 8192, grad=True)))
