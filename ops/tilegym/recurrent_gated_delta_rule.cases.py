"""Recurrent gated delta rule: one step and many, with and without states, its three kernels."""

import torch
from tilegym.ops.cutile.recurrent_gated_delta_rule import recurrent_gated_delta_rule


def run(b, t, h, k, v, *, initial, final, l2norm, dtype=torch.bfloat16, **options):
    def rows(*shape):
        return torch.randn(b, t, h, *shape, dtype=dtype, device="cuda")

    state = torch.randn(b, h, k, v, device="cuda") if initial else None
    inputs = rows(k), rows(k), rows(v), -rows().abs(), rows().sigmoid()
    return recurrent_gated_delta_rule(*inputs, state, final, l2norm, **options)


def tileport_cases():
    plain = {"initial": False, "final": False, "l2norm": False}
    states = {"initial": True, "final": True, "l2norm": True}
    yield "decode bf16 k64", lambda: run(2, 1, 4, 64, 64, **plain)
    yield "decode bf16 k128 states, l2norm", lambda: run(1, 1, 16, 128, 128, **states)
    yield (
        "prefill bf16 t32 k128 final state",
        lambda: run(1, 32, 8, 128, 128, initial=False, final=True, l2norm=False),
    )
    yield (
        "prefill f16 t50 k64 states, l2norm",
        lambda: run(2, 50, 4, 64, 64, dtype=torch.float16, **states),
    )
