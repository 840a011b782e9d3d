"""Fused multi-head attention: causal and full, grouped heads, ragged lengths, training."""

import torch
from tilegym.ops.cutile.attention import tile_fmha, tile_fmha_with_backward

from tileport.verify.capture.case_api import backward


def heads(h, s, d, dtype, grad=False):
    return torch.randn(1, h, s, d, dtype=dtype, device="cuda", requires_grad=grad)


def train(s, d, causal):
    q, k, v = (heads(8, s, d, torch.bfloat16, grad=True) for _ in range(3))
    backward(tile_fmha_with_backward(q, k, v, d**-0.5, causal))


def tileport_cases():
    f16, bf16 = torch.float16, torch.bfloat16
    q, k, v = heads(32, 2047, 128, f16), heads(8, 2047, 128, f16), heads(8, 2047, 128, f16)
    yield "causal f16 s2047 d128 gqa4", lambda: tile_fmha(q, k, v, 0.08, True)
    yield "full f16 s2047 d128 gqa4", lambda: tile_fmha(q, k, v, 0.08, False)
    x = heads(16, 1024, 64, bf16)
    yield "causal bf16 s1024 d64", lambda: tile_fmha(x, x, x, 0.125, True)
    p = heads(16, 256, 128, bf16)
    c = heads(16, 2048, 128, bf16)
    yield "chunked prefill bf16 q256 kv2048", lambda: tile_fmha(p, c, c, 0.08, True)
    yield "train causal bf16 s512 d128", lambda: train(512, 128, True)
    yield "train full bf16 s500 d64", lambda: train(500, 64, False)
