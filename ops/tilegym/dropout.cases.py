"""Dropout with a seeded mask: dtypes, in place, a size that no tile divides."""

import torch
from tilegym.ops.cutile.dropout import dropout


def tileport_cases():
    x = torch.randn(4096, device="cuda")
    yield "f32 4096", lambda: dropout(x, 1234, 0.4, True, False)
    y = torch.randn(1000, dtype=torch.float16, device="cuda")
    yield "f16 1000", lambda: dropout(y, 1234, 0.4, True, False)
    yield "f32 4096 in place", lambda: dropout(x, 1234, 0.4, True, True)
