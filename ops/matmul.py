"""Matrix product with a swizzled grid.

    c[m, n] = sum over k of a[m, k] * b[k, n]

Shapes: `a` (M, K), `b` (K, N), `c` (M, N), all of one dtype: f16, bf16 or f32. Any of them may be a
transposed view. The accumulator is f32. f32 operands go through tf32 unless the caller forbids it.

One block computes one tile of `c`. Consecutive blocks walk down a group of GROUP_SIZE_M rows of
tiles before they move to the next column, so that the blocks in flight share tiles of `a` and `b`
in the L2 cache. Tiles that reach over an edge are padded with zeros.
"""

import cuda.tile as ct
import torch
from torch import Tensor

#: Rows of tiles per group of the swizzle.
GROUP_SIZE_M = 8


def _swizzle(block, rows, columns):
    """Row and column, in tiles, of the tile that `block` computes."""
    group = block // (GROUP_SIZE_M * columns)
    first_row = group * GROUP_SIZE_M
    # The last group may be lower than the others.
    group_rows = min(rows - first_row, GROUP_SIZE_M)
    in_group = block - first_row * columns
    column = in_group // group_rows
    return first_row + (in_group - column * group_rows), column


@ct.kernel(num_ctas=ct.ByTarget(sm_100=2))
def matmul_kernel(
    a,
    b,
    c,
    TILE_M: ct.Constant[int],
    TILE_N: ct.Constant[int],
    TILE_K: ct.Constant[int],
    USE_TF32: ct.Constant[bool],
):
    """Grid (cdiv(M, TILE_M) * cdiv(N, TILE_N),)."""
    # Behind the end of K both factors must be zeros, not garbage: 0 * NaN is NaN.
    a_tiles = a.tiled_view((TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
    b_tiles = b.tiled_view((TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
    c_tiles = c.tiled_view((TILE_M, TILE_N))
    rows = ct.cdiv(c.shape[0], TILE_M)
    columns = ct.cdiv(c.shape[1], TILE_N)
    row, column = _swizzle(ct.bid(0), rows, columns)

    acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TILE_K)):
        a_tile = a_tiles.load((row, k))
        b_tile = b_tiles.load((k, column))
        if USE_TF32:
            acc = ct.mma(a_tile.astype(ct.tfloat32), b_tile.astype(ct.tfloat32), acc)
        else:
            acc = ct.mma(a_tile, b_tile, acc)
    c_tiles.store((row, column), acc.astype(c.dtype))


def matmul(a: Tensor, b: Tensor, allow_tf32: bool = True) -> Tensor:
    """The product of `a` (M, K) and `b` (K, N); `allow_tf32` matters for f32 only."""
    m, n = a.shape[0], b.shape[1]
    wide = a.dtype == torch.float32
    tile_m, tile_n, tile_k = 128, 128, 32 if wide else 64
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (ct.cdiv(m, tile_m) * ct.cdiv(n, tile_n),)
    args = (a, b, c, tile_m, tile_n, tile_k, wide and allow_tf32)
    ct.launch(torch.cuda.current_stream(), grid, matmul_kernel, args)
    return c


def reference(a: Tensor, b: Tensor) -> Tensor:
    """What `matmul` computes, in plain torch and f32."""
    return (a.float() @ b.float()).to(a.dtype)
