"""The reference of mla_decode against another formulation, and what its wrappers launch."""

from __future__ import annotations

import cuda.tile as ct
import pytest
import torch
from torch import Tensor

from tileport.ops import mla_decode


def _randn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _inputs(b: int, h: int, s: int, d: int, r: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return _randn(b, h, d), _randn(b, h, r), _randn(b, s, d), _randn(b, s, r)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[int, ...], object, tuple]]:
    """Launches made instead of running anything."""
    made: list[tuple[tuple[int, ...], object, tuple]] = []
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: None)
    monkeypatch.setattr(
        ct, "launch", lambda stream, grid, kernel, args: made.append((grid, kernel, args))
    )
    return made


@pytest.mark.parametrize("b, h, s", [(2, 16, 64), (1, 5, 77), (3, 20, 1)])
def test_reference_is_attention_over_joined_parts(b: int, h: int, s: int) -> None:
    d, r, scale = 32, 8, 0.2
    q, qpe, kv, kpe = _inputs(b, h, s, d, r)
    out, _ = mla_decode.reference(q, qpe, kv, kpe, scale)
    query = torch.cat([q, qpe], -1)[:, None]
    key = torch.cat([kv, kpe], -1)[:, None]
    # One key head for all query heads; the query heads stand where positions usually do.
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, key, kv[:, None], scale=scale
    )
    torch.testing.assert_close(out, expected[:, 0])


def test_reference_lse_normalises_the_scores() -> None:
    q, qpe, kv, kpe = _inputs(2, 4, 33, 16, 8)
    _, lse = mla_decode.reference(q, qpe, kv, kpe, 0.5)
    score = 0.5 * (q @ kv.mT + qpe @ kpe.mT)
    torch.testing.assert_close((score - lse[..., None]).exp().sum(-1), torch.ones(2, 4))


def test_paged_reference_is_the_contiguous_one_over_gathered_pages() -> None:
    b, h, page, d, r = 3, 4, 8, 16, 8
    lens = [17, 8, 1]
    q, qpe, kv, kpe = _inputs(b, h, 24, d, r)
    order = torch.tensor([[4, 0, 7], [2, 8, 1], [3, 5, 6]])
    kv_pages, kpe_pages = torch.empty(9, page, d), torch.empty(9, page, r)
    kv_pages[order] = kv.reshape(b, 3, page, d)
    kpe_pages[order] = kpe.reshape(b, 3, page, r)
    # What lies behind a sequence is not its own.
    for i, n in enumerate(lens):
        for at in range(n, 24):
            kv_pages[order[i, at // page], at % page] = torch.nan
    out, lse = mla_decode.reference_paged(
        q, qpe, kv_pages, kpe_pages, order.int(), torch.tensor(lens).int(), 0.3
    )
    for i, n in enumerate(lens):
        one = mla_decode.reference(q[[i]], qpe[[i]], kv[[i], :n], kpe[[i], :n], 0.3)
        torch.testing.assert_close(out[[i]], one[0])
        torch.testing.assert_close(lse[[i]], one[1])


def test_cases_are_named_apart_and_cover_both_kernels() -> None:
    cases = list(mla_decode.tileport_cases())
    names = [name for name, _ in cases]
    assert len(set(names)) == len(names)
    assert all(callable(case) for _, case in cases)
    assert {name.startswith("paged") for name in names} == {True, False}


@pytest.mark.parametrize("heads, blocks", [(5, 1), (16, 1), (20, 1), (33, 2), (128, 4)])
def test_grid_covers_all_heads(launches: list, heads: int, blocks: int) -> None:
    out, lse = mla_decode.decode(*_inputs(2, heads, 100, 16, 8), 1.0)
    [(grid, kernel, args)] = launches
    assert kernel is mla_decode.mla_decode
    assert grid == (blocks, 2)
    tile_h = args[7]
    assert heads <= blocks * tile_h < heads + tile_h
    assert out.shape == (2, heads, 16)
    assert lse.shape == (2, heads)
    assert lse.dtype == torch.float32


@pytest.mark.parametrize("s, ragged", [(64, False), (128, False), (100, True), (1, True)])
def test_the_mask_is_left_out_only_where_tiles_divide_the_cache(
    launches: list, s: int, ragged: bool
) -> None:
    mla_decode.decode(*_inputs(1, 16, s, 16, 8), 1.0, tile_n=64)
    assert launches[0][2][-1] is ragged


def test_a_page_is_a_tile(launches: list) -> None:
    q, qpe, kv, kpe = _inputs(2, 16, 96, 16, 8)
    table, lens = torch.zeros((2, 3), dtype=torch.int32), torch.ones(2, dtype=torch.int32)
    pages = (kv.reshape(6, 32, 16), kpe.reshape(6, 32, 8))
    mla_decode.decode_paged(q, qpe, *pages, table, lens, 1.0)
    [(grid, kernel, args)] = launches
    assert kernel is mla_decode.mla_decode_paged
    assert grid == (1, 2)
    assert args[-5:] == (16, 32, 16, 16, 8)


@pytest.mark.parametrize("d, r, tile_n, named", [(96, 8, 64, "D"), (16, 24, 64, "R")])
def test_widths_that_make_no_tile_are_refused(
    launches: list, d: int, r: int, tile_n: int, named: str
) -> None:
    with pytest.raises(ValueError, match=f"^{named} must be a power of two"):
        mla_decode.decode(*_inputs(1, 16, 64, d, r), 1.0, tile_n=tile_n)
    assert launches == []
