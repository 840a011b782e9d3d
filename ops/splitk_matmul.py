"""Matrix product for few rows and a long inner dimension, split along that dimension.

    c[m, n] = sum over k of a[m, k] * b[k, n]

`a` (M, K), `b` (K, N) and `c` (M, N) share one dtype, f16, bf16 or f32; the sum is f32. With few
rows there are too few tiles of `c` to fill a GPU, so `splitk_partial` gives the K of each tile to
SPLITS blocks, which leave their sums in a workspace (SPLITS, M, N) of f32, and `splitk_reduce` adds
these up. K and N are a layer's and known at compile time, M is the number of tokens.

f32 inputs are rounded to tf32 on their way into the tensor cores.
"""

from collections.abc import Callable, Iterator
from typing import Annotated

import cuda.tile as ct
import torch
from torch import Tensor

#: An array whose last dimension is known when the kernel is compiled.
StaticRow = Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(-1,))]

WORK_LATENCY = 2


@ct.kernel(occupancy=ct.ByTarget(sm_90=2, sm_100=1))
def splitk_partial(
    a: StaticRow,
    b: StaticRow,
    work: StaticRow,
    TILE_M: ct.Constant[int],
    TILE_N: ct.Constant[int],
    TILE_K: ct.Constant[int],
    N: ct.Constant[int],
    K: ct.Constant[int],
    SPLITS: ct.Constant[int],
    USE_TF32: ct.Constant[bool],
):
    """Grid (cdiv(M, TILE_M), cdiv(N, TILE_N), SPLITS)."""
    ct.static_assert(a.shape[1] == K and b.shape[1] == N and work.shape[2] == N)
    m = ct.bid(0)
    n = ct.bid(1)
    split = ct.bid(2)
    zero_pad = ct.PaddingMode.ZERO

    tiles = ct.cdiv(K, TILE_K)
    share = ct.cdiv(tiles, SPLITS)
    first = split * share
    acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for k in range(first, min(first + share, tiles)):
        # What lies behind K must read as zeros in both: it is summed, and 0 * NaN is NaN.
        a_tile = ct.load(a, (m, k), (TILE_M, TILE_K), padding_mode=zero_pad)
        b_tile = ct.load(b, (k, n), (TILE_K, TILE_N), padding_mode=zero_pad)
        if USE_TF32:
            a_tile = a_tile.astype(ct.tfloat32)
            b_tile = b_tile.astype(ct.tfloat32)
        acc = ct.mma(a_tile, b_tile, acc)
    ct.store(work, (split, m, n), acc[None, :, :])


@ct.kernel
def splitk_reduce(
    work: StaticRow,
    c: StaticRow,
    TILE_M: ct.Constant[int],
    TILE_N: ct.Constant[int],
    TILE_S: ct.Constant[int],
    N: ct.Constant[int],
):
    """Grid (cdiv(M, TILE_M), cdiv(N, TILE_N)); TILE_S holds all splits."""
    ct.static_assert(work.shape[2] == N and c.shape[1] == N)
    m = ct.bid(0)
    n = ct.bid(1)
    # TILE_S may be more than SPLITS: what lies behind them must not count.
    parts = ct.load(
        work,
        (0, m, n),
        (TILE_S, TILE_M, TILE_N),
        padding_mode=ct.PaddingMode.ZERO,
        latency=WORK_LATENCY,
    )
    ct.store(c, (m, n), ct.sum(parts, axis=0).astype(c.dtype))


def splitk_matmul(a: Tensor, b: Tensor, splits: int) -> Tensor:
    """`a` (M, K) times `b` (K, N), with the sum over K in `splits` parts."""
    rows, k = a.shape
    n = b.shape[1]
    tile_m = 16 if rows <= 16 else 32
    tile_n, tile_k = 64, 64
    work = torch.empty((splits, rows, n), dtype=torch.float32, device=a.device)
    c = torch.empty((rows, n), dtype=a.dtype, device=a.device)
    stream = torch.cuda.current_stream()
    ct.launch(
        stream,
        (ct.cdiv(rows, tile_m), ct.cdiv(n, tile_n), splits),
        splitk_partial,
        (a, b, work, tile_m, tile_n, tile_k, n, k, splits, a.dtype == torch.float32),
    )
    tile_s = 1 << (splits - 1).bit_length()
    ct.launch(
        stream,
        (ct.cdiv(rows, 16), ct.cdiv(n, tile_n)),
        splitk_reduce,
        (work, c, 16, tile_n, tile_s, n),
    )
    return c


def reference(a: Tensor, b: Tensor) -> Tensor:
    """What `splitk_matmul` computes, in plain torch and f32."""
    return torch.matmul(a.float(), b.float()).to(a.dtype)


def _case(dtype: torch.dtype, m: int, n: int, k: int, splits: int) -> Callable[[], object]:
    def case() -> object:
        a = torch.randn((m, k), dtype=dtype, device="cuda")
        b = torch.randn((k, n), dtype=dtype, device="cuda")
        return splitk_matmul(a, b, splits)

    return case


def tileport_cases() -> Iterator[tuple[str, Callable[[], object]]]:
    """Dtypes, sizes and splits that tiles do not divide, one row."""
    yield "f16 m32 n1024 k8192 splits8", _case(torch.float16, 32, 1024, 8192, 8)
    yield "bf16 m1 n500 k4100 splits6", _case(torch.bfloat16, 1, 500, 4100, 6)
    yield "f32 m20 n300 k1000 splits4", _case(torch.float32, 20, 300, 1000, 4)
