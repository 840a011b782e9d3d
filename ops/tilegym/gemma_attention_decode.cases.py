"""Gemma's decode attention: soft cap and sliding window over a split cache."""

import torch

tileport_operator = "gemma_fmha_decode"


def cache(h, s, d=256, dtype=torch.bfloat16):
    return torch.randn(1, h, s, d, dtype=dtype, device="cuda")


def tileport_cases():
    yield (
        "bf16 kv4096 window1024 cap50",
        (cache(8, 1), cache(4, 4096), cache(4, 4096), 0.0625, 1024, 50.0),
    )
    q, k = (cache(8, s, 128, torch.float16) for s in (1, 1000))
    yield "f16 kv1000", (q, k, k, 0.088, 0, None)
