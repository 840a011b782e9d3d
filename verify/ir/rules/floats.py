"""Float arithmetic: what is equal bit for bit.

Tile IR leaves the payload of a NaN result open, so a NaN is a NaN here. Signed zeros, infinities
and subnormals are kept apart. An operation with `flush_to_zero` also flushes its inputs, so
identities that return an operand unchanged do not apply to it.
"""

from __future__ import annotations

from tileport.verify.ir.canonical.floats import FORMATS
from tileport.verify.ir.canonical.graph import Condition, Draft, Graph
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import element_of
from tileport.verify.ir.rules.engine import rewrites


def float_bits(node: Node) -> int | None:
    """The bits of a float constant or of a splat of one, else None."""
    if node.op == "splat":
        node = node.operands[0]
    if node.op == "constant" and node.data and element_of(node.type) in FORMATS:
        return node.data[0]
    return None


def _one(element: str) -> int:
    exponent, mantissa = FORMATS[element]
    return ((1 << (exponent - 1)) - 1) << mantissa


def _negative_zero(element: str) -> int:
    exponent, mantissa = FORMATS[element]
    return 1 << (exponent + mantissa)


@rewrites("addf", "mulf", "maxf", "minf")
def ordered_float_operands(graph: Graph, draft: Draft) -> Node | None:
    """`a + b`, `a * b`, `max(a, b)` and `min(a, b)` with the operands ordered.

    Proof: IEEE 754 addition and multiplication round the exact result, which is symmetric, in
    every rounding mode; the sign of a zero result is symmetric too. `maxf` and `minf` order zeros
    by sign and return a canonical NaN. Only the payload of a NaN could depend on the order.
    """
    first, second = draft.operands
    if second.digest < first.digest:
        return graph.make(draft.op, (second, first), draft.attributes, draft.type)
    return None


@rewrites("fma")
def ordered_factors(graph: Graph, draft: Draft) -> Node | None:
    """`fma(a, b, c)` with `a` and `b` ordered. Proof: the exact product is symmetric."""
    first, second, third = draft.operands
    if second.digest < first.digest:
        return graph.make(draft.op, (second, first, third), draft.attributes, draft.type)
    return None


@rewrites("mulf", "divf")
def times_one(graph: Graph, draft: Draft) -> Node | None:
    """`x * 1` and `x / 1` are `x`, for exact rounding modes without `flush_to_zero`.

    Proof: the exact result is `x`, which needs no rounding; zeros, infinities and subnormals keep
    sign and bits. `approx` and `full` are no exact modes.
    """
    if not _exact(draft):
        return None
    first, second = draft.operands
    element = element_of(draft.type)
    if element not in FORMATS:
        return None
    if float_bits(second) == _one(element):
        return first
    if draft.op == "mulf" and float_bits(first) == _one(element):
        return second
    return None


def _exact(draft: Draft) -> bool:
    return draft.attribute("rounding_mode") not in ("approx", "full") and not draft.attribute(
        "flush_to_zero"
    )


@rewrites("addf", "subf")
def plus_negative_zero(graph: Graph, draft: Draft) -> Node | None:
    """`x + (-0.0)` and `x - (+0.0)` are `x`, for round to nearest without `flush_to_zero`.

    Proof: the exact result is `x`; for zeros, `0 + -0 = 0` and `-0 + -0 = -0` in this mode.
    """
    if draft.attributes or element_of(draft.type) not in FORMATS:
        return None
    first, second = draft.operands
    zero = _negative_zero(element_of(draft.type))
    if draft.op == "subf":
        return first if float_bits(second) == 0 else None
    if float_bits(second) == zero:
        return first
    return second if float_bits(first) == zero else None


@rewrites("addf")
def plus_zero(graph: Graph, draft: Draft) -> Node | None:
    """`x + 0.0` is `x` unless `x` is `-0.0`, which it turns into `+0.0`.

    Proof: the exact result is `x`; only for `x = -0.0` is the sum, rounded to nearest, `+0.0`.
    Taken under the condition that `x` is not `-0.0`, whatever `x` is computed from, because no
    more than the sign of a zero depends on it; the condition is recorded and told.
    """
    if draft.attributes or element_of(draft.type) not in FORMATS:
        return None
    first, second = draft.operands
    value = first if float_bits(second) == 0 else second if float_bits(first) == 0 else None
    if value is None:
        return None
    conditions = (Condition((value,), "is not", 0),)
    return value if graph.rely(value, conditions, "plus-zero", "the sign of a zero") else None
