"""Rotary embedding of queries and keys in place: whole and part of the head, training."""

import torch
from tilegym.ops.cutile.rope import apply_rope_base

from tileport.verify.capture.case_api import backward


def inputs(s, d, dtype=torch.bfloat16, rope_dim=None):
    def draw(*shape):
        return torch.randn(*shape, dtype=dtype, device="cuda")

    angles = (1, s, rope_dim or d)
    return draw(1, 32, s, d), draw(1, 8, s, d), draw(*angles), draw(*angles)


def train(s, d):
    q, k, cos, sin = inputs(s, d)
    # The kernel writes into q and k, which leaves of the graph would refuse.
    q, k = (x.requires_grad_().clone() for x in (q, k))
    backward(apply_rope_base(q, k, cos, sin))


def tileport_cases():
    yield "bf16 s128 d64", lambda: apply_rope_base(*inputs(128, 64))
    yield "f16 s100 d96", lambda: apply_rope_base(*inputs(100, 96, torch.float16))
    yield (
        "bf16 s128 d128 a quarter rotated",
        lambda: apply_rope_base(*inputs(128, 128, rope_dim=32), partial_rotary_factor=0.25),
    )
    yield "train bf16 s128 d64", lambda: train(128, 64)
