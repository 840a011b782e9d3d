"""Row softmax in its four schedules: dtypes, widths that no tile divides."""

import torch

tileport_operator = "softmax"


def rows(n, dtype=torch.float32):
    return torch.randn(4096, n, dtype=dtype, device="cuda")


def tileport_cases():
    x = rows(1000)
    yield "gather f32 1000", {"x": x}
    yield "tma f32 1000", {"x": x, "use_tma": True}
    yield "chunked f32 1000", {"x": x, "use_chunked": True}
    yield "multi-wave f32 1000", {"x": x, "use_multi_wave": True}
    yield "gather f32 1024", {"x": rows(1024)}
    yield "gather bf16 4096", {"x": rows(4096, torch.bfloat16)}
    yield "tma f16 777", {"x": rows(777, torch.float16), "use_tma": True}
    yield "chunked bf16 20000", {"x": rows(20000, torch.bfloat16), "use_chunked": True}
