"""Chunked gated delta rule: with and without initial state, final state and normalized q, k."""

import torch
from tilegym.ops.cutile.chunk_gated_delta_rule import chunk_gated_delta_rule


def inputs(dtype=torch.bfloat16, b=2, t=128, h=4, k=64, v=64):
    def rows(*shape):
        return torch.randn(b, t, h, *shape, dtype=dtype, device="cuda")

    return rows(k), rows(k), rows(v), -rows().abs(), rows().sigmoid()


def tileport_cases():
    state = torch.randn(2, 4, 64, 64, device="cuda")
    yield (
        "bf16 t128 initial and final state, l2norm",
        lambda: chunk_gated_delta_rule(*inputs(), 64, state, True, True),
    )
    yield "bf16 t128", lambda: chunk_gated_delta_rule(*inputs(), 64, None, False, False)
    yield (
        "f16 t200 final state",
        lambda: chunk_gated_delta_rule(*inputs(torch.float16, t=200), 64, None, True, False),
    )
