"""Interval and divisibility analysis: what is known of an integer without running it.

For each integer node `derive` finds the least and greatest value that any of its elements can
have, read as signed, and a power of two that divides them all. Every rule here is an
over-approximation: the range always contains all values, the divisor always divides. Arithmetic in
Tile IR wraps, so a range that leaves the type becomes the whole type. An `i1` counts as 0 or 1.

Where an operation has undefined behaviour (division by zero) or is undefined by a false promise
(`overflow<...>`), only the defined cases count: in the others any answer is right.
"""

from __future__ import annotations

from collections.abc import Callable

from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import element_of, shape_of, width_of

Range = tuple[int, int]

#: Largest power of two that is tracked.
_MOST = 1 << 62


def full(bits: int) -> Range:
    """All values of an integer type, signed; `i1` is 0 or 1."""
    return (0, 1) if bits == 1 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def fit(low: int, high: int, bits: int) -> Range:
    """`(low, high)` where no value in it wraps in the type, else the whole type."""
    least, most = full(bits)
    return (low, high) if least <= low and high <= most else (least, most)


def lowest_bit(value: int) -> int:
    """The largest tracked power of two that divides `value`."""
    return min(value & -value, _MOST) if value else _MOST


def range_of(node: Node) -> Range:
    """The range of an integer node."""
    assert node.range is not None
    return node.range


def derive(node: Node) -> None:
    """Set `range`, `divisor` and `derived` of a node just made from its operands."""
    bits = width_of(node.type)
    divisor = _divisor(node)
    found: Range | None = None
    if bits:
        rule = _RANGES.get(node.op)
        known = rule is not None and (bits > 1 or node.op in _BOOLEAN)
        found = rule(node, bits) if rule is not None and known else full(bits)
        least, most = full(bits)
        found = (max(found[0], least), min(found[1], most))
        if divisor > 1 and bits > 1:
            # The ends are multiples of the divisor as well.
            low = -(-found[0] // divisor) * divisor
            high = found[1] // divisor * divisor
            if low <= high:
                found = (low, high)
    node.range = found
    node.divisor = divisor
    node.derived = (found, divisor)


# ---------------------------------------------------------------- ranges


def _constant(node: Node, bits: int) -> Range:
    return (node.data[0], node.data[0]) if node.data else full(bits)


def _same(node: Node, bits: int) -> Range:
    return node.operands[0].range or full(bits)


def exact(node: Node) -> Range:
    """Least and greatest value of a sum or product if it did not wrap."""
    if node.op == "product":
        low = high = 1
        for factor in node.operands:
            least, most = range_of(factor)
            ends = (low * least, low * most, high * least, high * most)
            low, high = min(ends), max(ends)
        return low, high
    low = high = node.data[0]
    for by, term in zip(node.data[1:], node.operands, strict=True):
        least, most = range_of(term)
        low += by * (least if by >= 0 else most)
        high += by * (most if by >= 0 else least)
    return low, high


def _arithmetic(node: Node, bits: int) -> Range:
    low, high = exact(node)
    return fit(low, high, bits)


def _minimum(node: Node, bits: int) -> Range:
    ranges = [range_of(each) for each in node.operands]
    if node.attribute("signedness") == "unsigned" and any(low < 0 for low, _ in ranges):
        return full(bits)
    return min(low for low, _ in ranges), min(high for _, high in ranges)


def _maximum(node: Node, bits: int) -> Range:
    ranges = [range_of(each) for each in node.operands]
    if node.attribute("signedness") == "unsigned" and any(low < 0 for low, _ in ranges):
        return full(bits)
    return max(low for low, _ in ranges), max(high for _, high in ranges)


def _divide(node: Node, bits: int) -> Range:
    (low, high), (least, most) = (range_of(each) for each in node.operands)
    if node.attribute("signedness") == "unsigned" and (low < 0 or least < 0):
        return full(bits)
    if least < 0:
        return full(bits)
    # A zero divisor is undefined, so the divisor is at least one.
    least, most = max(least, 1), max(most, 1)
    rounding = node.attribute("rounding", "zero")
    quotients = [_quotient(value, by, rounding) for value in (low, high) for by in (least, most)]
    return fit(min(quotients), max(quotients), bits)


def _quotient(value: int, by: int, rounding: str) -> int:
    if rounding == "positive_inf":
        return -(-value // by)
    if rounding == "negative_inf":
        return value // by
    return value // by if value >= 0 else -(-value // by)


def _remainder(node: Node, bits: int) -> Range:
    (low, high), (least, most) = (range_of(each) for each in node.operands)
    if node.attribute("signedness") == "unsigned" and (low < 0 or least < 0):
        return full(bits)
    # The remainder is smaller than the divisor in size and has the sign of the dividend.
    size = max(abs(least), abs(most)) - 1
    if size < 0:
        return full(bits)
    return (max(low, -size) if low < 0 else 0), (min(high, size) if high > 0 else 0)


def _extend(node: Node, bits: int) -> Range:
    source = node.operands[0]
    width = width_of(source.type)
    if not width:  # an `i4`, whose values are not followed
        return full(bits)
    low, high = range_of(source)
    if width == 1:
        return (0, high) if node.attribute("signedness") == "unsigned" else (-high, -low)
    if node.attribute("signedness") == "unsigned" and low < 0:
        return (0, (1 << width) - 1)
    return low, high


def _truncate(node: Node, bits: int) -> Range:
    if bits == 1:
        return full(bits)
    low, high = range_of(node.operands[0])
    return fit(low, high, bits)


def _shift_right(node: Node, bits: int) -> Range:
    (low, high), (least, most) = (range_of(each) for each in node.operands)
    if least < 0 or most >= bits or (node.attribute("signedness") == "unsigned" and low < 0):
        return full(bits)
    ends = (low >> least, low >> most, high >> least, high >> most)
    return min(ends), max(ends)


def _and(node: Node, bits: int) -> Range:
    # A bit is set only where it is set in every operand: the result is at most the least of the
    # operands that are never negative, and not negative if one of them is not.
    highs = [high for low, high in (range_of(each) for each in node.operands) if low >= 0]
    return (0, min(highs)) if highs else full(bits)


def _or(node: Node, bits: int) -> Range:
    ranges = [range_of(each) for each in node.operands]
    if any(low < 0 for low, _ in ranges):
        return full(bits)
    most = max(high for _, high in ranges)
    return (0, (1 << most.bit_length()) - 1)


def _select(node: Node, bits: int) -> Range:
    (low, high), (least, most) = (range_of(each) for each in node.operands[1:])
    return min(low, least), max(high, most)


def _iota(node: Node, bits: int) -> Range:
    # The specification does not allow more elements than the type can count.
    return fit(0, shape_of(node.type)[0] - 1, bits)


def _block_id(_node: Node, bits: int) -> Range:
    return 0, full(bits)[1]


def _block_count(_node: Node, bits: int) -> Range:
    return 1, full(bits)[1]


_RANGES: dict[str, Callable[[Node, int], Range]] = {
    "constant": _constant,
    "splat": _same,
    "reshape": _same,
    "broadcast": _same,
    "permute": _same,
    "extract": _same,
    "sum": _arithmetic,
    "product": _arithmetic,
    "mini": _minimum,
    "maxi": _maximum,
    "divi": _divide,
    "remi": _remainder,
    "exti": _extend,
    "trunci": _truncate,
    "shri": _shift_right,
    "andi": _and,
    "ori": _or,
    "xori": _or,
    "select": _select,
    "iota": _iota,
    "get_tile_block_id": _block_id,
    "get_num_tile_blocks": _block_count,
}

#: The rules that hold for `i1` as it is counted here.
_BOOLEAN = frozenset({"constant", "splat", "reshape", "broadcast", "permute", "select"})


# ---------------------------------------------------------------- divisors


def _divisor(node: Node) -> int:
    op = node.op
    if op == "constant":
        return lowest_bit(node.data[0]) if node.data and width_of(node.type) > 1 else 1
    if op in ("splat", "reshape", "broadcast", "permute", "exti", "trunci", "mini", "maxi"):
        return min(each.divisor for each in node.operands)
    if op == "sum":
        found = lowest_bit(node.data[0])
        for factor, term in zip(node.data[1:], node.operands, strict=True):
            found = min(found, lowest_bit(factor) * term.divisor)
        return found
    if op == "product":
        found = 1
        for each in node.operands:
            found = min(found * each.divisor, _MOST)
        return found
    if op == "select":
        return min(node.operands[1].divisor, node.operands[2].divisor)
    if op == "offset":
        pointer, offset = node.operands
        return min(pointer.divisor, offset.divisor * pointee_bytes(pointer.type))
    return 1


_BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def pointee_bytes(type: str) -> int:
    """Bytes that one step of a pointer tile advances, as far as known (1 is always safe)."""
    element = element_of(type)
    return _BYTES.get(element[4:-1], 1) if element.startswith("ptr<") else 1
