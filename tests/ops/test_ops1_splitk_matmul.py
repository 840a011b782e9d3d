"""The reference of splitk_matmul against f64, and how its wrapper divides the work."""

from __future__ import annotations

import cuda.tile as ct
import pytest
import torch

from tileport.ops import splitk_matmul


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_reference_is_the_product(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    a = torch.randn((5, 300), generator=generator).to(dtype)
    b = torch.randn((300, 7), generator=generator).to(dtype)
    exact = torch.einsum("mk,kn->mn", a.double(), b.double())
    torch.testing.assert_close(
        splitk_matmul.reference(a, b).double(), exact, rtol=2 * torch.finfo(dtype).eps, atol=2e-5
    )


def test_cases_are_named_apart() -> None:
    cases = list(splitk_matmul.tileport_cases())
    names = [name for name, _ in cases]
    assert len(set(names)) == len(names)
    assert all(callable(case) for _, case in cases)


@pytest.mark.parametrize(
    "m, n, k, splits",
    [(1, 500, 4100, 6), (16, 64, 64, 1), (17, 65, 1000, 4), (100, 130, 200, 8)],
)
def test_blocks_cover_the_product_and_all_splits(
    monkeypatch: pytest.MonkeyPatch, m: int, n: int, k: int, splits: int
) -> None:
    made = []
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: None)
    monkeypatch.setattr(ct, "launch", lambda *launch: made.append(launch))
    c = splitk_matmul.splitk_matmul(torch.zeros((m, k)), torch.zeros((k, n)), splits)
    [(_, grid, first, args), (_, grid_2, second, args_2)] = made
    assert (first, second) == (splitk_matmul.splitk_partial, splitk_matmul.splitk_reduce)

    work, (tile_m, tile_n, _, *sizes, use_tf32) = args[2], args[3:]
    assert work.shape == (splits, m, n)
    assert work.dtype == torch.float32
    assert sizes == [n, k, splits]
    assert use_tf32 is True
    assert grid[2] == splits
    assert m <= grid[0] * tile_m < m + tile_m
    assert n <= grid[1] * tile_n < n + tile_n

    assert args_2[0] is work
    assert args_2[1] is c
    tile_m, tile_n, tile_s = args_2[2:5]
    assert splits <= tile_s < 2 * splits
    assert m <= grid_2[0] * tile_m < m + tile_m
    assert n <= grid_2[1] * tile_n < n + tile_n


def test_only_f32_goes_through_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: None)
    monkeypatch.setattr(ct, "launch", lambda *launch: made.append(launch))
    half = torch.zeros((16, 64), dtype=torch.float16)
    splitk_matmul.splitk_matmul(half, half.mT.contiguous(), 2)
    assert made[0][3][-1] is False
