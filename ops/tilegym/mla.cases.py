"""Multi-head latent attention, prefill: one key head for the rotary part."""

import torch

tileport_operator = "tile_mla"


def heads(h, s, d, dtype):
    return torch.randn(2, h, s, d, dtype=dtype, device="cuda")


def inputs(s, dtype, kv_heads=16):
    q, k, v = (
        heads(16, s, 128, dtype),
        heads(kv_heads, s, 128, dtype),
        heads(kv_heads, s, 128, dtype),
    )
    return q, k, v, heads(16, s, 64, dtype), heads(1, s, 64, dtype), True, 0.07


def tileport_cases():
    yield "bf16 s1024 h16", inputs(1024, torch.bfloat16)
    yield "f16 s1000 h16 kv4", inputs(1000, torch.float16, kv_heads=4)
