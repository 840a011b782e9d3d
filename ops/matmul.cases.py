"""Cases of `matmul.py`, in a file beside it: the operator is free of test code."""

from collections.abc import Callable, Iterator
from types import ModuleType

import torch
from torch import Tensor


def _operands(
    dtype: torch.dtype, m: int, n: int, k: int, transposed: bool = False
) -> tuple[Tensor, Tensor]:
    a = torch.randn((m, k), dtype=dtype, device="cuda")
    if transposed:
        return a, torch.randn((n, k), dtype=dtype, device="cuda").t()
    return a, torch.randn((k, n), dtype=dtype, device="cuda")


def tileport_cases(operator: ModuleType) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """Dtypes, tf32 and plain f32, ragged sizes, a transposed factor; `operator` is `matmul.py`."""
    f16, bf16, f32 = torch.float16, torch.bfloat16, torch.float32
    matmul = operator.matmul
    yield "f16 1024x1024x1024", lambda: matmul(*_operands(f16, 1024, 1024, 1024))
    yield "bf16 1000x520x264", lambda: matmul(*_operands(bf16, 1000, 520, 264))
    yield "f32 512x512x256", lambda: matmul(*_operands(f32, 512, 512, 256))
    yield "f32 333x129x77, no tf32", lambda: matmul(*_operands(f32, 333, 129, 77), False)
    yield "f16 130x300x65, b transposed", lambda: matmul(*_operands(f16, 130, 300, 65, True))
