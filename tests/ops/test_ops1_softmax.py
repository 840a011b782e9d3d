"""The reference of softmax against torch's, and which kernel is launched for which row."""

from __future__ import annotations

import cuda.tile as ct
import pytest
import torch

from tileport.ops import softmax


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("rows, n", [(4, 64), (1, 777), (3, 1)])
def test_reference_is_torch_softmax(dtype: torch.dtype, rows: int, n: int) -> None:
    x = torch.randn((rows, n), generator=torch.Generator().manual_seed(n)).to(dtype)
    torch.testing.assert_close(softmax.reference(x), torch.softmax(x, -1))


def test_reference_of_rows_with_infinities() -> None:
    inf = float("inf")
    x = torch.tensor([[-inf, 0.0, 1.0], [-inf, -inf, -inf], [1e4, -1e4, 0.0]])
    torch.testing.assert_close(softmax.reference(x), torch.softmax(x, -1), equal_nan=True)


def test_cases_are_named_apart_and_cover_both_kernels() -> None:
    cases = list(softmax.tileport_cases())
    names = [name for name, _ in cases]
    assert len(set(names)) == len(names)
    assert all(callable(case) for _, case in cases)
    assert {name.split()[0] for name in names} == {"row", "online"}


@pytest.mark.parametrize(
    "n, kernel, constants",
    [
        (1, softmax.softmax_row, (1, 1)),
        (1000, softmax.softmax_row, (1000, 1024)),
        (8192, softmax.softmax_row, (8192, 8192)),
        (8193, softmax.softmax_online, (softmax.CHUNK,)),
    ],
)
def test_rows_that_fit_take_one_tile(
    monkeypatch: pytest.MonkeyPatch, n: int, kernel: object, constants: tuple[int, ...]
) -> None:
    made = []
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: None)
    monkeypatch.setattr(ct, "launch", lambda *launch: made.append(launch))
    y = softmax.softmax(torch.zeros((3, n)))
    [(_, grid, launched, args)] = made
    assert y.shape == (3, n)
    assert grid == (3,)
    assert launched is kernel
    assert args[2:] == constants
