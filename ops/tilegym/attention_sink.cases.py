"""Prefill attention with sink tokens: sliding window, full, ragged, f16."""

import torch
from tilegym.ops.cutile.attention_sink import attention_sink


def inputs(s, dtype=torch.bfloat16):
    q = torch.randn(1, s, 8, 8, 64, dtype=dtype, device="cuda")
    k = torch.randn(1, s, 8, 64, dtype=dtype, device="cuda")
    v = torch.randn(1, s, 8, 64, dtype=dtype, device="cuda")
    sinks = torch.randn(64, dtype=dtype, device="cuda")
    return q, k, v, sinks, 0.125


def tileport_cases():
    start = torch.zeros(1, dtype=torch.int32, device="cuda")
    yield "window128 bf16 s128", lambda: attention_sink(*inputs(128), 128, start)
    yield "full bf16 s128", lambda: attention_sink(*inputs(128), None, start)
    yield "full f16 s1000", lambda: attention_sink(*inputs(1000, torch.float16), None, start)
