"""Softmax over the last dimension of a matrix.

    y[m, n] = exp(x[m, n]) / sum over k of exp(x[m, k])

`x` and `y` are (M, N) in f16, bf16 or f32; all arithmetic is f32. Two kernels, one row a block:

- `softmax_row` holds a whole row in one tile and reads it once.
- `softmax_online` walks a long row in chunks: once for its maximum and the sum of exponentials,
  kept up to date as the maximum grows, and once more to write the result.

What lies behind a row reads as minus infinity, whose exponential is 0. A row of minus infinities
gives NaN, as in torch.
"""

import math
from collections.abc import Callable, Iterator
from typing import Annotated

import cuda.tile as ct
import torch
from torch import Tensor

LOG2_E = math.log2(math.e)

#: An array whose last dimension is known when the kernel is compiled.
StaticRow = Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(-1,))]

#: The longest row that is held in one tile.
ROW_LIMIT = 8192
CHUNK = 4096
CHUNK_LATENCY = 3


@ct.kernel(occupancy=ct.ByTarget(sm_90=4, sm_100=2))
def softmax_row(
    x: StaticRow,
    y: StaticRow,
    N: ct.Constant[int],
    TILE_N: ct.Constant[int],
):
    """Grid (M,); TILE_N holds a row."""
    ct.static_assert(x.shape[1] == N and y.shape[1] == N)
    row = ct.bid(0)
    tile = ct.load(x, (row, 0), (1, TILE_N), padding_mode=ct.PaddingMode.NEG_INF)
    tile = tile.astype(ct.float32)
    peak = ct.max(tile, axis=1, keepdims=True)
    e = ct.exp2((tile - peak) * LOG2_E)
    total = ct.sum(e, axis=1, keepdims=True)
    ct.store(y, (row, 0), (e * (1.0 / total)).astype(y.dtype))


@ct.kernel(occupancy=ct.ByTarget(sm_90=2, sm_100=1))
def softmax_online(x, y, TILE_N: ct.Constant[int]):
    """Grid (M,); rows of any length, TILE_N elements at a time."""
    row = ct.bid(0)
    chunks = x.tiled_view((1, TILE_N), padding_mode=ct.PaddingMode.NEG_INF)
    count = chunks.num_tiles(1)

    peak = ct.full((1, 1), -math.inf, dtype=ct.float32)
    total = ct.zeros((1, 1), dtype=ct.float32)
    for j in range(count):
        chunk = chunks.load((row, j), latency=CHUNK_LATENCY).astype(ct.float32)
        peak_new = ct.maximum(peak, ct.max(chunk, axis=1, keepdims=True))
        # Nothing but minus infinity so far: subtract 0, for inf - inf is NaN.
        base = ct.where(peak_new > -math.inf, peak_new, 0.0)
        e = ct.exp2((chunk - base) * LOG2_E)
        total = total * ct.exp2((peak - base) * LOG2_E) + ct.sum(e, axis=1, keepdims=True)
        peak = peak_new

    scale = 1.0 / total
    for j in range(count):
        chunk = chunks.load((row, j), latency=CHUNK_LATENCY).astype(ct.float32)
        e = ct.exp2((chunk - peak) * LOG2_E)
        ct.store(y, (row, j), (e * scale).astype(y.dtype))


def softmax(x: Tensor) -> Tensor:
    """Softmax over the last dimension of `x` (M, N)."""
    rows, n = x.shape
    y = torch.empty((rows, n), dtype=x.dtype, device=x.device)
    stream = torch.cuda.current_stream()
    if n <= ROW_LIMIT:
        tile_n = 1 << (n - 1).bit_length()
        ct.launch(stream, (rows,), softmax_row, (x, y, n, tile_n))
    else:
        ct.launch(stream, (rows,), softmax_online, (x, y, CHUNK))
    return y


def reference(x: Tensor) -> Tensor:
    """What `softmax` computes, in plain torch and f32."""
    e = torch.exp(x.float() - x.float().amax(-1, keepdim=True))
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)


def _case(dtype: torch.dtype, rows: int, n: int) -> Callable[[], object]:
    return lambda: softmax(torch.randn((rows, n), dtype=dtype, device="cuda"))


def tileport_cases() -> Iterator[tuple[str, Callable[[], object]]]:
    """Both kernels over dtypes, rows that end inside a tile, one row."""
    yield "row f16 512x1024", _case(torch.float16, 512, 1024)
    yield "row bf16 100x1000", _case(torch.bfloat16, 100, 1000)
    yield "row f32 1x777", _case(torch.float32, 1, 777)
    yield "online f16 64x16384", _case(torch.float16, 64, 16384)
    yield "online bf16 8x50257", _case(torch.bfloat16, 8, 50257)
    yield "online f32 2x10000", _case(torch.float32, 2, 10000)
