"""Batched matrix product: persistent and plain schedule, transposed operands, ragged sizes."""

import torch

tileport_operator = "bmm"


def batch(*shape, dtype=torch.float16):
    return torch.randn(*shape, dtype=dtype, device="cuda")


def tileport_cases():
    a, b = batch(4, 512, 512), batch(4, 512, 512)
    yield "persistent f16 512", (a, b)
    yield "persistent f16 512 b transposed", {"a": a, "b": b, "transpose_b": True}
    yield "persistent f16 512 a transposed", {"a": a, "b": b, "transpose_a": True}
    yield "plain f16 512", {"a": a, "b": b, "static_persistent": False}
    x, y = batch(3, 100, 250, dtype=torch.bfloat16), batch(3, 250, 70, dtype=torch.bfloat16)
    yield "persistent bf16 100x70x250", (x, y)
    yield "plain bf16 100x70x250", {"a": x, "b": y, "static_persistent": False}
