"""Rotary position embedding of queries and keys, in place.

The first `rope_dim` elements of each head are pairs (i, i + rope_dim / 2), and each pair is turned
by an angle that depends on the token's position and on i. The rest of the head is left as it is.

    x[t, h, i]        = x[t, h, i] * c - x[t, h, i + half] * s         half = rope_dim / 2
    x[t, h, i + half] = x[t, h, i + half] * c + x[t, h, i] * s         c = cos[positions[t], i]
                                                                       s = sin[positions[t], i]

Shapes: `q` (T, HQ, D), `k` (T, HK, D), `cos` and `sin` (MAX_POSITION, half), `positions` (T,) i32.
`q` and `k` are f16, bf16 or f32, the tables may be of another dtype; the arithmetic is in f32. The
widths need not be powers of two, and `rope_dim` may be less than D. The head counts and `half` are
the model's: they are known at compile time.

The kernel sees `q` and `k` as (T, H, 2, half), so that a tile of one half ends where the half ends:
what the tile has more can never reach into the other half, nor into the next head.
"""

from collections.abc import Callable, Iterator
from typing import Annotated

import cuda.tile as ct
import torch
from torch import Tensor

#: Arrays of which the first dimension alone is not known at compile time.
StaticRow = Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(1, 2, 3))]
StaticTable = Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(1,))]


def _rotate(x, t, cos, sin, TILE_H):
    """Turns all pairs of token `t` in `x` (T, H, 2, half); the rows are (1, 1, 1, TILE_R)."""
    shape = (1, TILE_H, 1, cos.shape[3])
    zero_pad = ct.PaddingMode.ZERO
    first = ct.load(x, (t, 0, 0, 0), shape, padding_mode=zero_pad).astype(ct.float32)
    second = ct.load(x, (t, 0, 1, 0), shape, padding_mode=zero_pad).astype(ct.float32)
    ct.store(x, (t, 0, 0, 0), (first * cos - second * sin).astype(x.dtype))
    ct.store(x, (t, 0, 1, 0), (second * cos + first * sin).astype(x.dtype))


@ct.kernel(occupancy=ct.ByTarget(sm_90=4, sm_100=2))
def rope_kernel(
    q: StaticRow,
    k: StaticRow,
    cos: StaticTable,
    sin: StaticTable,
    positions,
    TILE_HQ: ct.Constant[int],
    TILE_HK: ct.Constant[int],
    TILE_R: ct.Constant[int],
    HQ: ct.Constant[int],
    HK: ct.Constant[int],
    HALF: ct.Constant[int],
):
    """Grid (T,). `q` and `k` are (T, H, 2, HALF)."""
    ct.static_assert(q.shape[1:] == (HQ, 2, HALF) and k.shape[1:] == (HK, 2, HALF))
    ct.static_assert(cos.shape[1] == HALF and sin.shape[1] == HALF)
    t = ct.bid(0)
    zero_pad = ct.PaddingMode.ZERO
    position = ct.load(positions, (t,), (), padding_mode=zero_pad)
    cos_row = ct.load(cos, (position, 0), (1, TILE_R), padding_mode=zero_pad)
    cos_row = cos_row.astype(ct.float32).reshape((1, 1, 1, TILE_R))
    sin_row = ct.load(sin, (position, 0), (1, TILE_R), padding_mode=zero_pad)
    sin_row = sin_row.astype(ct.float32).reshape((1, 1, 1, TILE_R))
    _rotate(q, t, cos_row, sin_row, TILE_HQ)
    _rotate(k, t, cos_row, sin_row, TILE_HK)


def _tile(n: int) -> int:
    """The smallest power of two that holds `n` elements."""
    return 1 << (n - 1).bit_length()


def rope_(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> None:
    """Turns `q` (T, HQ, D) and `k` (T, HK, D) in place; rope_dim is twice the tables' width.

    Every position must be a row of the tables: the kernel does not check it.
    """
    hq, hk, half = q.shape[1], k.shape[1], cos.shape[1]
    q_pairs = q[..., : 2 * half].unflatten(-1, (2, half))
    k_pairs = k[..., : 2 * half].unflatten(-1, (2, half))
    arrays = (q_pairs, k_pairs, cos, sin, positions)
    constants = (_tile(hq), _tile(hk), _tile(half), hq, hk, half)
    ct.launch(torch.cuda.current_stream(), (q.shape[0],), rope_kernel, (*arrays, *constants))


def reference(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> Tensor:
    """What `rope_` makes of one of `q` and `k`, in plain torch and f32."""
    c = cos[positions.long()].float()[:, None]
    s = sin[positions.long()].float()[:, None]
    half = cos.shape[1]
    first, second, rest = x.float().split((half, half, x.shape[2] - 2 * half), dim=2)
    turned = (first * c - second * s, second * c + first * s, rest)
    return torch.cat(turned, dim=2).to(x.dtype)


def tables(max_position: int, rope_dim: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The usual tables, `cos` and `sin`, of base 10000."""
    exponent = torch.arange(0, rope_dim, 2, dtype=torch.float32, device="cuda") / rope_dim
    position = torch.arange(max_position, dtype=torch.float32, device="cuda")
    angle = torch.outer(position, 10000.0**-exponent)
    return angle.cos().to(dtype), angle.sin().to(dtype)


def _case(
    dtype: torch.dtype,
    tokens: int,
    heads: tuple[int, int],
    head_dim: int,
    rope_dim: int | None = None,
    table_dtype: torch.dtype = torch.float32,
    fused: bool = False,
) -> Callable[[], tuple[Tensor, Tensor]]:
    def case() -> tuple[Tensor, Tensor]:
        hq, hk = heads
        if fused:
            qkv = torch.randn((tokens, hq + 2 * hk, head_dim), dtype=dtype, device="cuda")
            q, k, _ = qkv.split((hq, hk, hk), dim=1)
        else:
            q = torch.randn((tokens, hq, head_dim), dtype=dtype, device="cuda")
            k = torch.randn((tokens, hk, head_dim), dtype=dtype, device="cuda")
        cos, sin = tables(4 * tokens, rope_dim or head_dim, table_dtype)
        positions = torch.randint(4 * tokens, (tokens,), dtype=torch.int32, device="cuda")
        rope_(q, k, cos, sin, positions)
        return q, k

    return case


def tileport_cases() -> Iterator[tuple[str, Callable[[], tuple[Tensor, Tensor]]]]:
    """Dtypes, odd widths and head counts, a part of the head, q and k inside one tensor."""
    yield "bf16 t32 h32/8 d128", _case(torch.bfloat16, 32, (32, 8), 128)
    yield "f16 t17 h20/4 d96", _case(torch.float16, 17, (20, 4), 96)
    yield "bf16 t9 h24/2 d192 r64", _case(torch.bfloat16, 9, (24, 2), 192, 64, torch.bfloat16)
    yield "f32 t5 h3/1 d80 r20", _case(torch.float32, 5, (3, 1), 80, 20)
    yield "f16 t16 h16/16 d64 fused", _case(torch.float16, 16, (16, 16), 64, fused=True)
