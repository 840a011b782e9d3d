"""Decode attention: grouped and plain heads, long and short caches, then the split reduction."""

import torch

tileport_operator = "fmha_decode"


def cache(h, s, d=64, dtype=torch.float16):
    return torch.randn(2, h, s, d, dtype=dtype, device="cuda")


def tileport_cases():
    yield "f16 kv8192 gqa4", (cache(32, 1), cache(8, 8192), cache(8, 8192), 0.125)
    yield "f16 kv256", (cache(32, 1), cache(32, 256), cache(32, 256), 0.125)
    q, k = (cache(h, s, 128, torch.bfloat16) for h, s in ((32, 1), (4, 1000)))
    yield "bf16 kv1000 d128 gqa8", (q, k, k, 0.088)
