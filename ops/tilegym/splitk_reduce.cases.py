"""Joining the partial results of split attention by their log-sum-exp."""

import torch

tileport_operator = "splitk_reduce"


def inputs(splits, d, s, dtype):
    part = torch.randn(2, 32, splits, d, dtype=dtype, device="cuda")
    lse = torch.randn(2, 32, splits, device="cuda")
    return part, lse, torch.empty(2, 32, d, dtype=dtype, device="cuda"), s


def tileport_cases():
    yield "f16 8 splits d128", inputs(8, 128, 1024, torch.float16)
    yield "bf16 33 splits d64", inputs(33, 64, 4224, torch.bfloat16)
