"""A mixture-of-experts layer: routing, both expert products, the activation between them."""

import tilegym
import torch
from tilegym.ops.moe_interface import fused_moe


def layer(tokens, experts, top_k, hidden, inner, dtype):
    tilegym.set_backend("cutile")
    x = torch.randn(tokens, hidden, dtype=dtype, device="cuda") * 0.5
    up = torch.randn(experts, 2 * inner, hidden, dtype=dtype, device="cuda")
    down = torch.randn(experts, hidden, inner, dtype=dtype, device="cuda")
    weights = torch.softmax(torch.randn(tokens, top_k, dtype=dtype, device="cuda"), -1)
    chosen = torch.randint(0, experts, (tokens, top_k), device="cuda")
    return fused_moe(x, up, down, weights, chosen)


def tileport_cases():
    yield "bf16 64 tokens 8 experts", lambda: layer(64, 8, 6, 2048, 1408, torch.bfloat16)
    yield "f16 33 tokens 4 experts", lambda: layer(33, 4, 2, 1000, 700, torch.float16)
