"""Gemma's prefill attention: soft cap, sliding window, tuned and not."""

import torch
from tilegym.ops.cutile.gemma_attention import gemma_attention_cutile


def heads(h, s=512, d=256, dtype=torch.bfloat16):
    return torch.randn(1, h, s, d, dtype=dtype, device="cuda")


def tileport_cases():
    q, k, v = heads(8), heads(4), heads(4)
    yield (
        "bf16 s512 window128 cap50",
        lambda: gemma_attention_cutile(q, k, v, 0.0625, 128, 50.0, True),
    )
    yield (
        "bf16 s512 tuned",
        lambda: gemma_attention_cutile(q, k, v, 0.0625, 0, None, True, use_autotune=True),
    )
    a, b = heads(8, 300, 128, torch.float16), heads(8, 300, 128, torch.float16)
    yield "f16 s300 full cap30", lambda: gemma_attention_cutile(a, b, b, 0.08, 0, 30.0, False)
