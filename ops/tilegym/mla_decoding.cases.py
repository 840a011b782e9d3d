"""Multi-head latent attention, decode: one query token over a shared latent cache."""

import torch

tileport_operator = "mla_decoding"


def inputs(b, h, s, dtype):
    def draw(*shape):
        return torch.randn(*shape, dtype=dtype, device="cuda")

    return draw(b, h, 512), draw(b, h, 64), draw(b, s, 512), draw(b, s, 64), 0.1, True


def tileport_cases():
    yield "bf16 b2 h16 kv1024", inputs(2, 16, 1024, torch.bfloat16)
    yield "f16 b1 h128 kv1000", inputs(1, 128, 1000, torch.float16)
