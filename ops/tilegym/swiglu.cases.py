"""SiLU of one input times the other: dtypes, a ragged width, training."""

import torch
from tilegym.ops.cutile.swiglu import swiglu

from tileport.verify.capture.case_api import backward


def pair(n, dtype=torch.bfloat16, grad=False):
    return [
        torch.randn(2, 128, n, dtype=dtype, device="cuda", requires_grad=grad) for _ in range(2)
    ]


def tileport_cases():
    yield "bf16 4096", lambda: swiglu(*pair(4096))
    yield "f16 1000", lambda: swiglu(*pair(1000, torch.float16))
    yield "train bf16 4096", lambda: backward(swiglu(*pair(4096, grad=True)))
