"""Gated activation of a feed-forward layer: silu of one half of each row times the other half.

    out[i, j] = silu(x[i, j]) * x[i, N + j]        silu(t) = t / (1 + exp(-t))

Shapes: `x` (M, 2 N), `out` (M, N), of one dtype: f16, bf16 or f32. The arithmetic is in f32.

The form of silu matters: exp(-t) overflows to infinity for t under -88, and t / infinity is the
right answer there, zero. The other form, t * exp(t) / (1 + exp(t)), is infinity / infinity, so NaN,
for t over 88.

One block handles TILE_N columns of one row. Both halves share a row of `x`, so a view of `x` cannot
end the tile of the first half at column N: the addresses are computed here, and the columns masked.
"""

from collections.abc import Callable, Iterator

import cuda.tile as ct
import torch
from torch import Tensor


@ct.kernel(occupancy=ct.ByTarget(sm_90=4, sm_100=2))
def silu_and_mul_kernel(x, out, TILE_N: ct.Constant[int]):
    """Grid (M, cdiv(N, TILE_N))."""
    row = ct.bid(0)
    n = out.shape[1]
    column = ct.bid(1) * TILE_N + ct.arange(TILE_N, dtype=ct.int32)
    inside = column < n
    gate = ct.gather(x, (row, column), mask=inside, check_bounds=False).astype(ct.float32)
    up = ct.gather(x, (row, n + column), mask=inside, check_bounds=False).astype(ct.float32)
    result = gate / (1.0 + ct.exp(-gate)) * up
    ct.scatter(out, (row, column), result.astype(out.dtype), mask=inside, check_bounds=False)


def silu_and_mul(x: Tensor) -> Tensor:
    """silu of the first half of each row of `x` (M, 2 N) times the second half; returns (M, N)."""
    m, n = x.shape[0], x.shape[1] // 2
    tile_n = min(1 << (n - 1).bit_length(), 1024)
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    grid = (m, ct.cdiv(n, tile_n))
    ct.launch(torch.cuda.current_stream(), grid, silu_and_mul_kernel, (x, out, tile_n))
    return out


def reference(x: Tensor) -> Tensor:
    """What `silu_and_mul` computes, in plain torch and f32."""
    gate, up = x.float().chunk(2, dim=1)
    return (torch.nn.functional.silu(gate) * up).to(x.dtype)


def _case(
    dtype: torch.dtype, m: int, n: int, row_stride: int | None = None
) -> Callable[[], Tensor]:
    def case() -> Tensor:
        x = torch.randn((m, row_stride or 2 * n), dtype=dtype, device="cuda")
        return silu_and_mul(x[:, : 2 * n])

    return case


def tileport_cases() -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """Dtypes, ragged and odd rows, one narrow tile, rows cut out of wider ones."""
    yield "f16 64x1024", _case(torch.float16, 64, 1024)
    yield "bf16 33x5504", _case(torch.bfloat16, 33, 5504)
    yield "f32 7x777", _case(torch.float32, 7, 777)
    yield "bf16 5x100", _case(torch.bfloat16, 5, 100)
    yield "f16 12x136 of rows of 400", _case(torch.float16, 12, 136, row_stride=400)
