"""Layer norm, a row per block and persistent: dtypes and widths that no tile divides."""

import torch
from tilegym.ops.cutile.layer_norm_legacy import layer_norm_legacy, persistent_layer_norm


def inputs(m, n, dtype):
    x = torch.randn(m, n, dtype=dtype, device="cuda")
    weight, bias = (torch.randn(n, dtype=dtype, device="cuda") for _ in range(2))
    return x, (n,), weight, bias, 1e-5


def tileport_cases():
    f16, bf16, f32 = torch.float16, torch.bfloat16, torch.float32
    yield "f16 256x256", lambda: layer_norm_legacy(*inputs(256, 256, f16), 0.0)
    yield "f32 100x1000 shifted", lambda: layer_norm_legacy(*inputs(100, 1000, f32), 1.0)
    yield "persistent bf16 4096x512", lambda: persistent_layer_norm(*inputs(4096, 512, bf16))
    yield "persistent f32 1000x300", lambda: persistent_layer_norm(*inputs(1000, 300, f32))
