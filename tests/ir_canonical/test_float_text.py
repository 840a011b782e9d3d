"""A constant is shown with as many digits as tell it from its neighbours, and no more."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileport.verify.ir.canonical.floats import float_text


def bits(value: float) -> int:
    return int(struct.unpack("I", struct.pack("f", value))[0])


@given(st.integers(0, 0xFFFFFFFF))
def test_the_text_of_an_f32_reads_back_as_the_same_f32(pattern: int) -> None:
    text = float_text(pattern, "tile<f32>")
    if text not in ("nan", "inf", "-inf"):
        assert bits(float(text)) == pattern


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (100.0, "100"),
        (1_000_001.0, "1000001"),
        (0.1, "0.1"),
        (1.4426950408889634, "1.442695"),
        (-1e30, "-1e+30"),
    ],
)
def test_common_values_read_as_people_write_them(value: float, text: str) -> None:
    assert float_text(bits(value), "tile<f32>") == text
