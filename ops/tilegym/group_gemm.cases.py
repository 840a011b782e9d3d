"""Grouped matrix products over lists of matrices of different sizes."""

import torch

tileport_operator = "group_gemm"


def squares(*sizes, dtype=torch.float16):
    return [torch.randn(n, n, dtype=dtype, device="cuda") for n in sizes]


def tileport_cases():
    sizes = (1024, 512, 256, 128)
    a, b = squares(*sizes), squares(*sizes)
    yield "f16 4 squares", {"group_A": a, "group_B": b}
    yield "f16 4 squares b transposed", {"group_A": a, "group_B": b, "transpose_b": True}
    c, d = (squares(200, 72, dtype=torch.bfloat16) for _ in range(2))
    yield "bf16 2 ragged", {"group_A": c, "group_B": d}
