"""Runs canonical nodes on concrete values, bit for bit.

A value is a numpy object array of Python integers: signed for integers (0 and 1 for `i1`), the
bits for floats. What Tile IR leaves undefined raises `Undefined`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from tileport.verify.ir.canonical.floats import FORMATS, decode, encode
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import element_of, shape_of, width_of

Array = np.ndarray[Any, Any]


class Undefined(Exception):
    """The program has no defined value here."""


def wrap(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    if bits > 1 and value >> (bits - 1):
        value -= 1 << bits
    return value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def evaluate(node: Node, values: Mapping[str, Array]) -> Array:
    """The value of `node`; `values` has that of each parameter by identity."""
    memo: dict[Node, Array] = {}
    stack = [node]
    while stack:
        at = stack[-1]
        if at in memo:
            stack.pop()
            continue
        waiting = [each for each in at.operands if each not in memo]
        if waiting:
            stack.extend(waiting)
            continue
        memo[at] = _value(at, [memo[each] for each in at.operands], values)
        stack.pop()
    return memo[node]


def _value(node: Node, operands: list[Array], values: Mapping[str, Array]) -> Array:
    op = node.op
    if op == "parameter":
        return values[node.attribute("identity")]
    if op == "constant":
        return _full(shape_of(node.type), node.data[0])
    shape = shape_of(node.type)
    if op == "splat":
        return _full(shape, operands[0].item())
    if op == "reshape":
        return operands[0].reshape(shape)
    if op == "broadcast":
        return np.broadcast_to(operands[0], shape)
    if op == "permute":
        order = [int(each) for each in node.attribute("permutation").split(",")]
        return operands[0].transpose(order)
    if op == "iota":
        return np.array(range(shape[0]), dtype=object)
    flat = [np.broadcast_to(each, shape).reshape(-1) for each in operands]
    count = math.prod(shape)
    found = [_element(node, [each[at] for each in flat]) for at in range(count)]
    return np.array(found, dtype=object).reshape(shape)


def _full(shape: tuple[int, ...], value: int) -> Array:
    return np.full(shape, value, dtype=object)


def _element(node: Node, x: list[int]) -> int:
    bits = width_of(node.type)
    op = node.op
    if op == "sum":
        return wrap(
            node.data[0] + sum(by * each for by, each in zip(node.data[1:], x, strict=True)), bits
        )
    if op == "product":
        return wrap(math.prod(x), bits)
    if op in _INTEGER:
        return wrap(_INTEGER[op](node, x, width_of(node.operands[0].type)), bits)
    if op == "select":
        return x[1] if x[0] else x[2]
    if op == "offset":
        return x[0] + x[1]
    return _float(node, x)


def _sided(node: Node, x: list[int], bits: int) -> list[int]:
    """The operands as numbers, with the signedness of the op. A signed `i1` true is -1."""
    if node.attribute("signedness") == "unsigned":
        return [unsigned(each, bits) for each in x]
    return [-each if bits == 1 else each for each in x]


def _divide(node: Node, x: list[int], bits: int) -> int:
    a, b = _sided(node, x, bits)
    if b == 0:
        raise Undefined
    rounding = node.attribute("rounding", "zero")
    exact = Fraction(a, b)
    found = {"zero": math.trunc, "negative_inf": math.floor, "positive_inf": math.ceil}[rounding](
        exact
    )
    if node.attribute("signedness") == "signed" and found > (1 << (bits - 1)) - 1:
        raise Undefined
    return found


def _remainder(node: Node, x: list[int], bits: int) -> int:
    a, b = _sided(node, x, bits)
    if b == 0:
        raise Undefined
    return a - b * math.trunc(Fraction(a, b))


def _compare(node: Node, x: list[int], bits: int) -> int:
    a, b = _sided(node, x, bits)
    return int(
        {
            "equal": a == b,
            "not_equal": a != b,
            "less_than": a < b,
            "less_than_or_equal": a <= b,
            "greater_than": a > b,
            "greater_than_or_equal": a >= b,
        }[node.attribute("comparison_predicate")]
    )


def _shift_left(node: Node, x: list[int], bits: int) -> int:
    by = unsigned(x[1], bits)
    return x[0] << by if by < bits else 0


def _shift_right(node: Node, x: list[int], bits: int) -> int:
    by = unsigned(x[1], bits)
    if by >= bits:
        raise Undefined
    value = unsigned(x[0], bits) if node.attribute("signedness") == "unsigned" else x[0]
    return value >> by


_INTEGER = {
    "addi": lambda node, x, bits: x[0] + x[1],
    "subi": lambda node, x, bits: x[0] - x[1],
    "muli": lambda node, x, bits: x[0] * x[1],
    "negi": lambda node, x, bits: -x[0],
    "shli": _shift_left,
    "shri": _shift_right,
    "andi": lambda node, x, bits: x[0] & x[1],
    "ori": lambda node, x, bits: x[0] | x[1],
    "xori": lambda node, x, bits: x[0] ^ x[1],
    "mini": lambda node, x, bits: min(_sided(node, x, bits)),
    "maxi": lambda node, x, bits: max(_sided(node, x, bits)),
    "divi": _divide,
    "remi": _remainder,
    "cmpi": _compare,
    "exti": lambda node, x, bits: _sided(node, x, bits)[0],
    "trunci": lambda node, x, bits: x[0],
}

NAN = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8000000000000}
_DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def canonical_nan(bits: int, element: str) -> int:
    """One NaN for all: Tile IR does not say which one an operation gives."""
    exponent, mantissa = FORMATS[element]
    size = bits & ((1 << (exponent + mantissa)) - 1)
    return NAN[element] if size > ((1 << exponent) - 1) << mantissa else bits


def _to_float(bits: int, element: str) -> float:
    exponent, mantissa = FORMATS[element]
    found = decode(bits, element)
    if found is None:
        if bits & ((1 << mantissa) - 1):
            return math.nan
        return -math.inf if bits >> (exponent + mantissa) else math.inf
    size, negative = found
    return -float(size) if negative else float(size)


def _from_exact(value: Fraction, zero_is_negative: bool, element: str) -> int:
    if value == 0:
        return encode(Fraction(0), zero_is_negative, element)
    return encode(abs(value), value < 0, element)


def _from_special(value: float, element: str) -> int:
    exponent, mantissa = FORMATS[element]
    if math.isnan(value):
        return NAN[element]
    infinity = ((1 << exponent) - 1) << mantissa
    return infinity | (int(value < 0) << (exponent + mantissa))


def _exact(value: float) -> Fraction:
    return Fraction(value)


def _float(node: Node, x: list[int]) -> int:
    element = element_of(node.type)
    op = node.op
    if op == "negf":
        exponent, mantissa = FORMATS[element]
        return x[0] ^ (1 << (exponent + mantissa))
    source = element_of(node.operands[0].type)
    if op == "ftof":
        found = decode(x[0], source)
        if found is None:
            return _from_special(_to_float(x[0], source), element)
        return encode(found[0], found[1], element)
    numbers = [_to_float(each, element) for each in x]
    finite = all(math.isfinite(each) for each in numbers)
    a, b = numbers[0], numbers[1]
    if op in ("maxf", "minf"):
        return _extreme(op, x, numbers, element)
    if op == "fma":
        c = numbers[2]
        if not finite:
            product = math.nan if (a == 0 or b == 0) and not math.isfinite(a * b) else a * b
            if math.isnan(a) or math.isnan(b):
                product = math.nan
            total = product + c if not math.isnan(product) else math.nan
            return _from_special(total, element) if not math.isfinite(total) else x[2]
        value = _exact(a) * _exact(b) + _exact(c)
        negative = math.copysign(1, a) * math.copysign(1, b) < 0
        return _from_exact(value, negative and math.copysign(1, c) < 0, element)
    if op in ("addf", "subf"):
        if op == "subf":
            b = -b
        if not finite:
            return _from_special(a + b, element)
        negative = math.copysign(1, a) < 0 and math.copysign(1, b) < 0
        return _from_exact(_exact(a) + _exact(b), negative, element)
    sign = math.copysign(1, a) * math.copysign(1, b) < 0
    if op == "mulf":
        if not finite:
            return _from_special(a * b, element)
        return _from_exact(_exact(a) * _exact(b), sign, element)
    if op == "divf":
        if math.isnan(a) or math.isnan(b) or (a == 0 and b == 0):
            return NAN[element]
        if math.isinf(a) and math.isinf(b):
            return NAN[element]
        if math.isinf(a) or b == 0:
            return _from_special(-math.inf if sign else math.inf, element)
        if math.isinf(b):
            return _from_exact(Fraction(0), sign, element)
        return _from_exact(_exact(a) / _exact(b), sign, element)
    raise NotImplementedError(op)


def _extreme(op: str, x: list[int], numbers: list[float], element: str) -> int:
    a, b = numbers
    if math.isnan(a) and math.isnan(b):
        return NAN[element]
    if math.isnan(a):
        return x[1]
    if math.isnan(b):
        return x[0]
    first = (a, math.copysign(1, a))
    second = (b, math.copysign(1, b))
    larger = first >= second
    return x[0] if larger == (op == "maxf") else x[1]


def equal(one: Array, other: Array, type: str) -> bool:
    """Whether two values are equal bit for bit, NaN being NaN."""
    element = element_of(type)
    if one.shape != other.shape:
        return False
    for a, b in zip(one.reshape(-1), other.reshape(-1), strict=True):
        if element in FORMATS:
            if canonical_nan(a, element) != canonical_nan(b, element):
                return False
        elif a != b:
            return False
    return True
