"""Multi-head latent attention (MLA) decode over a contiguous and over a paged KV cache.

One query token per sequence attends to a cache of compressed keys and values. Every head reads the
same cache row: its latent part (`D` wide) is key and value at once, and its rotary part (`R` wide)
adds to the score only:

    score[b, h, s] = sm_scale * (q[b, h] . kv[b, s] + qpe[b, h] . kpe[b, s])
    out[b, h]      = sum over s of softmax(score[b, h])[s] * kv[b, s]
    lse[b, h]      = log(sum over s of exp(score[b, h, s]))

Shapes: `q`, `out` (B, H, D); `qpe` (B, H, R); `kv` (B, S, D); `kpe` (B, S, R); `lse` (B, H) in f32.
The paged cache replaces `kv` and `kpe` by pools `kv_pages` (P, PAGE, D) and `kpe_pages`
(P, PAGE, R); `page_table` (B, MAX_PAGES) i32 names the pages of each sequence in order, and
`seq_lens` (B,) i32 says how many tokens it holds, which is at least one. What lies in a page behind
the last token is never used, whatever it holds.

One block handles `TILE_H` heads of one sequence and walks the cache once, with the online softmax
(running maximum, running sum, accumulator in f32). Only the last tile can be ragged, so only it is
masked.
"""

import math
from collections.abc import Callable, Iterator
from typing import Annotated

import cuda.tile as ct
import torch
from torch import Tensor

LOG2_E = math.log2(math.e)
LN_2 = math.log(2.0)

#: Arrays of which the last one or two dimensions are the model's, known at compile time: H, D, R.
Static1 = Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(-1,))]
Static2 = Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(-2, -1))]

#: The cache is read once, straight from DRAM: tell the compiler to prefetch deeply.
KV_LATENCY = 4


def _load_heads(array, b, h, TILE_H):
    """`TILE_H` heads of sequence `b`, (TILE_H, width); heads behind H read as zeros."""
    width = array.shape[2]
    tile = ct.load(array, (b, h, 0), (1, TILE_H, width), padding_mode=ct.PaddingMode.ZERO)
    return tile.reshape((TILE_H, width))


def _scores(q, qpe, kv, kpe):
    """Dot products of every head with every cache row, (TILE_H, TILE_N) f32; `kpe` is (R, N)."""
    s = ct.zeros((q.shape[0], kv.shape[0]), dtype=ct.float32)
    s = ct.mma(q, ct.transpose(kv), s)
    return ct.mma(qpe, kpe, s)


def _mask(s, valid):
    """Takes the columns from `valid` on out of the softmax."""
    column = ct.arange(s.shape[1], dtype=ct.int32)
    return ct.where(column[None, :] < valid, s, -math.inf)


def _update(s, kv, qk_scale, peak, total, acc):
    """One step of the online softmax, in powers of two: new maximum, sum and accumulator."""
    peak_new = ct.maximum(peak, ct.max(s, axis=1) * qk_scale)
    p = ct.exp2(s * qk_scale - peak_new[:, None])
    alpha = ct.exp2(peak - peak_new)
    total = total * alpha + ct.sum(p, axis=1)
    acc = ct.mma(p.astype(kv.dtype), kv, acc * alpha[:, None])
    return peak_new, total, acc


def _store(out, lse, b, h, peak, total, acc):
    """Writes the heads of one block; heads behind H are dropped."""
    o = (acc / total[:, None]).astype(out.dtype)
    ct.store(out, (b, h, 0), o[None, :, :])
    log_sum = (peak + ct.log2(total)) * LN_2
    ct.store(lse, (b, h), log_sum[None, :])


@ct.kernel(occupancy=ct.ByTarget(sm_90=2, sm_100=1))
def mla_decode(
    q: Static2,
    qpe: Static2,
    kv: Static1,
    kpe: Static1,
    out: Static2,
    lse: Static1,
    sm_scale: float,
    TILE_H: ct.Constant[int],
    TILE_N: ct.Constant[int],
    H: ct.Constant[int],
    D: ct.Constant[int],
    R: ct.Constant[int],
    RAGGED: ct.Constant[bool],
):
    """Contiguous cache; grid (cdiv(H, TILE_H), B). `RAGGED`: TILE_N does not divide S."""
    ct.static_assert(q.shape[1:] == (H, D) and qpe.shape[1:] == (H, R))
    h = ct.bid(0)
    b = ct.bid(1)
    zero_pad = ct.PaddingMode.ZERO
    qk_scale = sm_scale * LOG2_E

    q_tile = _load_heads(q, b, h, TILE_H)
    qpe_tile = _load_heads(qpe, b, h, TILE_H)
    peak = ct.full((TILE_H,), -math.inf, dtype=ct.float32)
    total = ct.zeros((TILE_H,), dtype=ct.float32)
    acc = ct.zeros((TILE_H, D), dtype=ct.float32)

    # Rows behind S must read as zeros, not as garbage: their weight is 0, and 0 * NaN is NaN.
    kv_tiles = kv.tiled_view((1, TILE_N, D), padding_mode=zero_pad)
    for j in range(kv_tiles.num_tiles(1)):
        kv_tile = kv_tiles.load((b, j, 0), latency=KV_LATENCY).reshape((TILE_N, D))
        kpe_tile = ct.load(kpe, (b, 0, j), (1, R, TILE_N), order=(0, 2, 1), padding_mode=zero_pad)
        kpe_tile = kpe_tile.reshape((R, TILE_N))
        s = _scores(q_tile, qpe_tile, kv_tile, kpe_tile)
        if RAGGED:
            s = _mask(s, kv.shape[1] - j * TILE_N)
        peak, total, acc = _update(s, kv_tile, qk_scale, peak, total, acc)

    _store(out, lse, b, h, peak, total, acc)


@ct.kernel(occupancy=ct.ByTarget(sm_90=2, sm_100=1))
def mla_decode_paged(
    q: Static2,
    qpe: Static2,
    kv_pages: Static1,
    kpe_pages: Static1,
    page_table,
    seq_lens,
    out: Static2,
    lse: Static1,
    sm_scale: float,
    TILE_H: ct.Constant[int],
    PAGE: ct.Constant[int],
    H: ct.Constant[int],
    D: ct.Constant[int],
    R: ct.Constant[int],
):
    """Paged cache; grid (cdiv(H, TILE_H), B). One tile is one page."""
    ct.static_assert(q.shape[1:] == (H, D) and qpe.shape[1:] == (H, R))
    h = ct.bid(0)
    b = ct.bid(1)
    zero_pad = ct.PaddingMode.ZERO
    qk_scale = sm_scale * LOG2_E

    q_tile = _load_heads(q, b, h, TILE_H)
    qpe_tile = _load_heads(qpe, b, h, TILE_H)
    peak = ct.full((TILE_H,), -math.inf, dtype=ct.float32)
    total = ct.zeros((TILE_H,), dtype=ct.float32)
    acc = ct.zeros((TILE_H, D), dtype=ct.float32)

    seq_len = ct.gather(seq_lens, b, check_bounds=False)
    last = ct.cdiv(seq_len, PAGE) - 1
    for j in range(last):
        page = ct.gather(page_table, (b, j), check_bounds=False)
        kv_tile = ct.load(
            kv_pages, (page, 0, 0), (1, PAGE, D), padding_mode=zero_pad, latency=KV_LATENCY
        )
        kv_tile = kv_tile.reshape((PAGE, D))
        kpe_tile = ct.load(
            kpe_pages, (page, 0, 0), (1, R, PAGE), order=(0, 2, 1), padding_mode=zero_pad
        )
        kpe_tile = kpe_tile.reshape((R, PAGE))
        s = _scores(q_tile, qpe_tile, kv_tile, kpe_tile)
        peak, total, acc = _update(s, kv_tile, qk_scale, peak, total, acc)

    # The last page may end behind the sequence, and what lies there may be NaN. A view that ends
    # with the sequence makes the load fill the rest with zeros; `_mask` takes care of the scores.
    page = ct.gather(page_table, (b, last), check_bounds=False)
    left = seq_len - last * PAGE
    kv_tail = kv_pages.slice(axis=1, start=0, stop=left)
    kv_tile = ct.load(
        kv_tail, (page, 0, 0), (1, PAGE, D), padding_mode=zero_pad, latency=KV_LATENCY
    )
    kv_tile = kv_tile.reshape((PAGE, D))
    kpe_tile = ct.load(
        kpe_pages, (page, 0, 0), (1, R, PAGE), order=(0, 2, 1), padding_mode=zero_pad
    )
    kpe_tile = kpe_tile.reshape((R, PAGE))
    s = _mask(_scores(q_tile, qpe_tile, kv_tile, kpe_tile), left)
    peak, total, acc = _update(s, kv_tile, qk_scale, peak, total, acc)

    _store(out, lse, b, h, peak, total, acc)


def _check_widths(d: int, r: int, rows: int) -> None:
    """Raises ValueError for sizes that make no tile."""
    for name, n in (("D", d), ("R", r), ("rows of a tile or page", rows)):
        if n & (n - 1):
            raise ValueError(f"{name} must be a power of two, got {n}")


def _tile_h(heads: int) -> int:
    """Heads per block: enough to fill a tensor core tile, few enough to keep the grid wide."""
    return 16 if heads <= 16 else 32


def decode(
    q: Tensor, qpe: Tensor, kv: Tensor, kpe: Tensor, sm_scale: float, tile_n: int = 64
) -> tuple[Tensor, Tensor]:
    """Decode over a contiguous cache of at least one token; returns (out, lse).

    Shapes as in the module docstring; `sm_scale` is positive; `q`, `qpe`, `kv` and `kpe` share one
    dtype, f16 or bf16. Raises ValueError unless D, R and `tile_n` are powers of two.
    """
    batch, heads, d = q.shape
    r = qpe.shape[2]
    _check_widths(d, r, tile_n)
    tile_h = _tile_h(heads)
    out = torch.empty((batch, heads, d), dtype=q.dtype, device=q.device)
    lse = torch.empty((batch, heads), dtype=torch.float32, device=q.device)
    arrays = (q, qpe, kv, kpe, out, lse)
    constants = (tile_h, tile_n, heads, d, r, kv.shape[1] % tile_n != 0)
    ct.launch(
        torch.cuda.current_stream(),
        (ct.cdiv(heads, tile_h), batch),
        mla_decode,
        (*arrays, sm_scale, *constants),
    )
    return out, lse


def decode_paged(
    q: Tensor,
    qpe: Tensor,
    kv_pages: Tensor,
    kpe_pages: Tensor,
    page_table: Tensor,
    seq_lens: Tensor,
    sm_scale: float,
) -> tuple[Tensor, Tensor]:
    """Decode over a paged cache; returns (out, lse).

    Shapes as in the module docstring; `sm_scale` is positive; `q`, `qpe`, `kv_pages` and
    `kpe_pages` share one dtype, f16 or bf16. Raises ValueError unless D, R and PAGE are powers of
    two. What `page_table` and `seq_lens` hold is not checked.
    """
    batch, heads, d = q.shape
    r = qpe.shape[2]
    page = kv_pages.shape[1]
    _check_widths(d, r, page)
    tile_h = _tile_h(heads)
    out = torch.empty((batch, heads, d), dtype=q.dtype, device=q.device)
    lse = torch.empty((batch, heads), dtype=torch.float32, device=q.device)
    arrays = (q, qpe, kv_pages, kpe_pages, page_table, seq_lens, out, lse)
    ct.launch(
        torch.cuda.current_stream(),
        (ct.cdiv(heads, tile_h), batch),
        mla_decode_paged,
        (*arrays, sm_scale, tile_h, page, heads, d, r),
    )
    return out, lse


def reference(
    q: Tensor, qpe: Tensor, kv: Tensor, kpe: Tensor, sm_scale: float
) -> tuple[Tensor, Tensor]:
    """What `decode` computes, in plain torch and f32."""
    score = torch.einsum("bhd,bsd->bhs", q.float(), kv.float())
    score = (score + torch.einsum("bhr,bsr->bhs", qpe.float(), kpe.float())) * sm_scale
    out = torch.einsum("bhs,bsd->bhd", score.softmax(-1), kv.float())
    return out.to(q.dtype), score.logsumexp(-1)


def reference_paged(
    q: Tensor,
    qpe: Tensor,
    kv_pages: Tensor,
    kpe_pages: Tensor,
    page_table: Tensor,
    seq_lens: Tensor,
    sm_scale: float,
) -> tuple[Tensor, Tensor]:
    """What `decode_paged` computes: `reference` on each sequence, gathered from its pages."""
    parts = []
    for b, length in enumerate(seq_lens.tolist()):
        pages = page_table[b, : -(-length // kv_pages.shape[1])].long()
        kv = kv_pages[pages].flatten(0, 1)[None, :length]
        kpe = kpe_pages[pages].flatten(0, 1)[None, :length]
        parts.append(reference(q[b : b + 1], qpe[b : b + 1], kv, kpe, sm_scale))
    return torch.cat([out for out, _ in parts]), torch.cat([lse for _, lse in parts])


def _contiguous(
    dtype: torch.dtype, b: int, h: int, s: int, d: int = 512, r: int = 64
) -> Callable[[], object]:
    def case() -> object:
        q = torch.randn((b, h, d), dtype=dtype, device="cuda")
        qpe = torch.randn((b, h, r), dtype=dtype, device="cuda")
        kv = torch.randn((b, s, d), dtype=dtype, device="cuda")
        kpe = torch.randn((b, s, r), dtype=dtype, device="cuda")
        return decode(q, qpe, kv, kpe, (d + r) ** -0.5)

    return case


def _one_row(
    dtype: torch.dtype, b: int, h: int, s: int, d: int = 512, r: int = 64
) -> Callable[[], object]:
    """Latent and rotary part side by side in one row, as inference engines keep them."""

    def case() -> object:
        q, qpe = torch.randn((b, h, d + r), dtype=dtype, device="cuda").split((d, r), dim=-1)
        kv, kpe = torch.randn((b, s, d + r), dtype=dtype, device="cuda").split((d, r), dim=-1)
        return decode(q, qpe, kv, kpe, (d + r) ** -0.5)

    return case


def _paged(
    dtype: torch.dtype, b: int, h: int, s: int, page: int, d: int = 512, r: int = 64
) -> Callable[[], object]:
    def case() -> object:
        pages = ct.cdiv(s, page)
        q = torch.randn((b, h, d), dtype=dtype, device="cuda")
        qpe = torch.randn((b, h, r), dtype=dtype, device="cuda")
        kv_pages = torch.randn((b * pages, page, d), dtype=dtype, device="cuda")
        kpe_pages = torch.randn((b * pages, page, r), dtype=dtype, device="cuda")
        table = torch.randperm(b * pages, device="cuda").int().reshape(b, pages)
        lens = torch.randint(1, s + 1, (b,), dtype=torch.int32, device="cuda")
        return decode_paged(q, qpe, kv_pages, kpe_pages, table, lens, (d + r) ** -0.5)

    return case


def tileport_cases() -> Iterator[tuple[str, Callable[[], object]]]:
    """Both caches over dtypes, lengths that end inside a tile, one sequence, many heads."""
    yield "bf16 b4 h16 s1024", _contiguous(torch.bfloat16, 4, 16, 1024)
    yield "bf16 b2 h128 s777", _contiguous(torch.bfloat16, 2, 128, 777)
    yield "f16 b1 h20 s1000 one row", _one_row(torch.float16, 1, 20, 1000)
    yield "f16 b3 h5 s300 d128 r32", _contiguous(torch.float16, 3, 5, 300, 128, 32)
    yield "paged bf16 b4 h16 s1500 page64", _paged(torch.bfloat16, 4, 16, 1500, 64)
    yield "paged f16 b1 h20 s333 page32", _paged(torch.float16, 1, 20, 333, 32)
