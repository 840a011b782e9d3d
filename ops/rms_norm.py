"""RMS normalization of rows.

    out[i, :] = x[i, :] / sqrt(mean(x[i, :] ** 2) + eps) * weight

Shapes: `x`, `out` (M, N); `weight` (N,). `x` may be f16, bf16 or f32, `weight` of the same dtype or
f32; `out` has the dtype of `x`. The arithmetic is in f32. `eps` is a runtime scalar, so that one
kernel serves every layer of a model.

One block normalizes one row, which it holds as a whole: `TILE_N` is the smallest power of two that
holds N. What the tile has more than the row is loaded as zeros, which add nothing to the sum.
"""

from collections.abc import Callable, Iterator

import cuda.tile as ct
import torch
from torch import Tensor


@ct.kernel(occupancy=ct.ByTarget(sm_90=4, sm_100=2))
def rms_norm_kernel(x, weight, out, eps: float, TILE_N: ct.Constant[int]):
    """Grid (M,)."""
    row = ct.bid(0)
    zero_pad = ct.PaddingMode.ZERO
    x_tile = ct.load(x, (row, 0), (1, TILE_N), padding_mode=zero_pad).astype(ct.float32)
    w_tile = ct.load(weight, (0,), (TILE_N,), padding_mode=zero_pad).astype(ct.float32)
    # The divisor is the row's length, not the tile's.
    mean_square = ct.sum(x_tile * x_tile, axis=1, keepdims=True) / x.shape[1]
    normalized = x_tile * ct.rsqrt(mean_square + eps) * w_tile
    ct.store(out, (row, 0), normalized.astype(out.dtype))


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """Normalizes the rows of `x` (M, N) and scales them by `weight` (N,)."""
    m, n = x.shape
    tile_n = 1 << (n - 1).bit_length()
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    stream = torch.cuda.current_stream()
    ct.launch(stream, (m,), rms_norm_kernel, (x, weight, out, eps, tile_n))
    return out


def reference(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """What `rms_norm` computes, in plain torch and f32."""
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return (wide * scale * weight.float()).to(x.dtype)


def _case(
    dtype: torch.dtype,
    m: int,
    n: int,
    weight_dtype: torch.dtype | None = None,
    row_stride: int | None = None,
    eps: float = 1e-6,
) -> Callable[[], Tensor]:
    def case() -> Tensor:
        x = torch.randn((m, row_stride or n), dtype=dtype, device="cuda")[:, :n]
        weight = torch.randn((n,), dtype=weight_dtype or dtype, device="cuda")
        return rms_norm(x, weight, eps)

    return case


def tileport_cases() -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """Dtypes, ragged and odd rows, a weight of another dtype, rows cut out of wider ones."""
    yield "f16 64x4096", _case(torch.float16, 64, 4096)
    yield "bf16 33x5120", _case(torch.bfloat16, 33, 5120)
    yield "f32 7x777", _case(torch.float32, 7, 777, eps=1e-5)
    yield "bf16 16x1000, f32 weight", _case(torch.bfloat16, 16, 1000, torch.float32)
    yield "f16 12x136 of rows of 200", _case(torch.float16, 12, 136, row_stride=200)
