"""Float constants as bits: two texts of one value are one constant, and no two values are."""

from __future__ import annotations

import contextlib
import math
import struct
from fractions import Fraction
from functools import lru_cache

from tileport.verify.ir.canonical.types import element_of

#: Exponent bits and stored mantissa bits of the formats that are read here.
FORMATS: dict[str, tuple[int, int]] = {
    "f16": (5, 10),
    "bf16": (8, 7),
    "f32": (8, 23),
    "f64": (11, 52),
}


@lru_cache(maxsize=4096)
def parse_float(text: str, element: str) -> int | None:
    """The bits of a float constant as tileirdisasm writes it, or None where it is not read.

    Decimal text is rounded to nearest, ties to even; `0x...` is the bits themselves.
    """
    if element not in FORMATS:
        return None
    exponent, mantissa = FORMATS[element]
    if text.startswith("0x"):
        try:
            bits = int(text, 16)
        except ValueError:
            return None
        return bits if bits >> (1 + exponent + mantissa) == 0 else None
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    if element == "f64":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    negative = text.lstrip().startswith("-")
    try:
        exact = Fraction(text)
    except ValueError:
        return None
    return encode(abs(exact), negative, element)


def encode(size: Fraction, negative: bool, element: str) -> int:
    """The bits of `size` (not negative) with a sign, rounded to nearest, ties to even.

    What is too large becomes infinity, what is too small becomes zero or subnormal.
    """
    exponent_bits, mantissa = FORMATS[element]
    bias = (1 << (exponent_bits - 1)) - 1
    sign = int(negative) << (exponent_bits + mantissa)
    if size == 0:
        return sign
    power = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** power > size:
        power -= 1
    power = max(power, 1 - bias)
    scaled = size / Fraction(2) ** (power - mantissa)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1):
        whole += 1
    # A carry into the next power of two, or from subnormal to normal, is right as it stands.
    bits = whole + ((power + bias - 1) << mantissa)
    infinity = ((1 << exponent_bits) - 1) << mantissa
    return sign | min(bits, infinity)


def decode(bits: int, element: str) -> tuple[Fraction, bool] | None:
    """The size and the sign of finite bits; None for infinity and NaN."""
    exponent_bits, mantissa = FORMATS[element]
    bias = (1 << (exponent_bits - 1)) - 1
    negative = bool(bits >> (exponent_bits + mantissa))
    exponent = (bits >> mantissa) & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << mantissa) - 1)
    if exponent == (1 << exponent_bits) - 1:
        return None
    if exponent == 0:
        return Fraction(fraction) * Fraction(2) ** (1 - bias - mantissa), negative
    whole = fraction | (1 << mantissa)
    return Fraction(whole) * Fraction(2) ** (exponent - bias - mantissa), negative


def float_text(bits: int, type: str) -> str:
    """Bits as short text, for the eye."""
    element = element_of(type)
    found = decode(bits, element)
    if found is None:
        exponent_bits, mantissa = FORMATS[element]
        if bits & ((1 << mantissa) - 1):
            return "nan"
        return "-inf" if bits >> (exponent_bits + mantissa) else "inf"
    size, negative = found
    value = float(size)
    text = repr(value) if element == "f64" else _shortest(value)
    return f"-{text}" if negative else text


def _shortest(value: float) -> str:
    """The fewest digits that an f32 reads back as `value`; every narrower format is in f32."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        with contextlib.suppress(OverflowError):  # rounded up beyond the largest f32
            if struct.unpack("f", struct.pack("f", float(text)))[0] == value:
                break
    # Plain digits as far as they are short; 100, not 1e+02.
    plain = f"{value:.0f}" if value == int(value) and value < 1e9 else text
    return plain if len(plain) <= len(text) + 6 else text
