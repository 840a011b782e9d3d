"""The torch references of rms_norm, matmul, silu_and_mul and rope against other formulations.

Everything here runs on the CPU, in f64 where the reference works in f32.
"""

import pytest
import torch
from torch import Tensor

from tileport.ops import matmul, rms_norm, rope, silu_and_mul

#: Relative distance of neighbouring values, by dtype; a result in f32 has a few such errors.
EPS = {
    torch.float16: 2.0**-10,
    torch.bfloat16: 2.0**-7,
    torch.float32: 2.0**-20,
}
DTYPES = list(EPS)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(20)


def close(got: Tensor, want: Tensor, scale: float = 1e-3) -> None:
    """`got` is `want` (f64), rounded; `scale` is the size that absolute errors come with."""
    assert got.shape == want.shape
    torch.testing.assert_close(got.double(), want, rtol=EPS[got.dtype], atol=EPS[got.dtype] * scale)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(5, 1000), (1, 1), (3, 4096)])
@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_rms_norm_is_torchs_own(dtype: torch.dtype, m: int, n: int, eps: float) -> None:
    x = (torch.randn(m, n) * 3).to(dtype)
    weight = torch.randn(n).to(dtype)
    want = torch.nn.functional.rms_norm(x.double(), (n,), weight.double(), eps)
    close(rms_norm.reference(x, weight, eps), want)


def test_rms_norm_of_a_row_of_zeros_is_zero_not_nan() -> None:
    out = rms_norm.reference(torch.zeros(2, 10), torch.ones(10))
    assert torch.equal(out, torch.zeros(2, 10))


def test_rms_norm_keeps_the_dtype_of_x_when_the_weight_is_f32() -> None:
    x = torch.randn(4, 100).bfloat16()
    weight = torch.randn(100)
    out = rms_norm.reference(x, weight)
    assert out.dtype == torch.bfloat16
    rows = x.double() / (x.double().pow(2).sum(1, keepdim=True) / 100 + 1e-6).sqrt()
    close(out, rows * weight.double())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul_sums_products(dtype: torch.dtype, transposed: bool) -> None:
    m, n, k = 33, 20, 65
    a = torch.randn(m, k).to(dtype)
    b = torch.randn(n, k).to(dtype).t() if transposed else torch.randn(k, n).to(dtype)
    want = (a.double()[:, :, None] * b.double()[None]).sum(1)
    close(matmul.reference(a, b), want, scale=k**0.5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_silu_and_mul_gates_the_second_half_by_the_first(dtype: torch.dtype) -> None:
    x = (torch.randn(7, 200) * 4).to(dtype)
    gate, up = x[:, :100].double(), x[:, 100:].double()
    close(silu_and_mul.reference(x), gate * torch.sigmoid(gate) * up)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("gate", [88.0, 89.0, 100.0, 3000.0])
def test_silu_and_mul_is_right_where_exp_overflows(dtype: torch.dtype, gate: float) -> None:
    up = torch.tensor([[-2.0, 0.5]])
    high = silu_and_mul.reference(torch.cat((torch.full((1, 2), gate), up), dim=1).to(dtype))
    low = silu_and_mul.reference(torch.cat((torch.full((1, 2), -gate), up), dim=1).to(dtype))
    close(high, torch.tensor([[-2.0, 0.5]]).double() * torch.tensor(gate).to(dtype).double())
    assert low.double().abs().max() < 1e-30


def turned(x: Tensor, angle: Tensor) -> Tensor:
    """`x` (T, H, D) in f64, the pairs of its two halves turned as complex numbers."""
    half = angle.shape[1]
    pairs = torch.complex(x[..., :half], x[..., half : 2 * half])
    pairs = pairs * torch.polar(torch.ones_like(angle), angle)[:, None]
    return torch.cat((pairs.real, pairs.imag, x[..., 2 * half :]), dim=2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("head_dim", "rope_dim"), [(128, 128), (96, 96), (80, 20), (5, 2)])
def test_rope_turns_pairs_like_complex_numbers(
    dtype: torch.dtype, head_dim: int, rope_dim: int
) -> None:
    x = torch.randn(6, 3, head_dim).to(dtype)
    table = torch.rand(40, rope_dim // 2, dtype=torch.float64) * 6.28
    positions = torch.tensor([39, 0, 7, 7, 12, 1], dtype=torch.int32)
    got = rope.reference(x, table.cos().float(), table.sin().float(), positions)
    assert got.dtype == dtype
    close(got, turned(x.double(), table[positions.long()]), scale=1.0)
    assert torch.equal(got[..., rope_dim:], x[..., rope_dim:])


def test_rope_by_no_angle_changes_nothing() -> None:
    x = torch.randn(4, 2, 16)
    cos, sin = torch.ones(4, 8), torch.zeros(4, 8)
    positions = torch.arange(4, dtype=torch.int32)
    assert torch.equal(rope.reference(x, cos, sin, positions), x)
