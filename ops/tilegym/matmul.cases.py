"""Matrix product: plain and persistent schedule, dtypes, transposed, ragged sizes."""

import torch

tileport_operator = "matmul"


def matrix(m, n, dtype=torch.float16):
    return torch.randn(m, n, dtype=dtype, device="cuda")


def tileport_cases():
    a, b = matrix(1024, 1024), matrix(1024, 1024)
    yield "plain f16 1024", {"a": a, "b": b, "static_persistent": False, "use_tma": True}
    yield "persistent f16 1024", {"a": a, "b": b, "static_persistent": True, "use_tma": True}
    yield (
        "persistent f16 1024 b transposed",
        {"a": a, "b": b, "trans_b": True, "static_persistent": True},
    )
    c, d = matrix(500, 1000, torch.bfloat16), matrix(1000, 700, torch.bfloat16)
    yield "plain bf16 500x700x1000", (c, d)
    e, f = matrix(512, 512, torch.float32), matrix(512, 512, torch.float32)
    yield "plain f32 512", (e, f)
