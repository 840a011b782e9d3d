"""Decode attention with sink tokens, the KV cache split over blocks and reduced."""

import torch
from tilegym.ops.cutile.attention_sink_decode import attention_sink_decode


def inputs(s, dtype=torch.bfloat16):
    q = torch.randn(1, 1, 8, 8, 64, dtype=dtype, device="cuda")
    k = torch.randn(1, s, 8, 64, dtype=dtype, device="cuda")
    v = torch.randn(1, s, 8, 64, dtype=dtype, device="cuda")
    sinks = torch.randn(64, dtype=dtype, device="cuda")
    return q, k, v, sinks, 0.125


def tileport_cases():
    start = torch.zeros(1, dtype=torch.int32, device="cuda")
    yield "window128 bf16 kv4096", lambda: attention_sink_decode(*inputs(4096), 128, start)
    yield (
        "full f16 kv1000",
        lambda: attention_sink_decode(*inputs(1000, torch.float16), None, start),
    )
