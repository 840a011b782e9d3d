"""Integer division and remainder, in all the ways that ports write them.

`divi` rounds to zero (Rust's `/`), down (Python's `//`) or up (`cdiv`); `remi` is the remainder of
division rounded to zero. A zero divisor is undefined behaviour, so a divisor that is never
negative may be taken as positive. Where ranges do not prove a step but all values are known at
launch, the step is taken under a condition, which is recorded; where a value comes from memory it
is not taken.
"""

from __future__ import annotations

from tileport.verify.ir.canonical.graph import Condition, Draft, Graph, as_constant
from tileport.verify.ir.canonical.nodes import Attributes, Node
from tileport.verify.ir.canonical.types import shape_of, width_of
from tileport.verify.ir.intervals import full, range_of
from tileport.verify.ir.rules.engine import rewrites

FLOOR: Attributes = (("rounding", "negative_inf"), ("signedness", "signed"))
CEILING: Attributes = (("rounding", "positive_inf"), ("signedness", "signed"))
SIGNED: Attributes = (("signedness", "signed"),)


def _rounding(draft: Draft) -> str:
    return draft.attribute("rounding", "zero")


@rewrites("divi", "remi")
def constant_division(graph: Graph, draft: Draft) -> Node | None:
    """Constants divided; `x / 1` is `x`; `x % 1` is 0; `x % c` is 0 and `x / c` exact if c | x.

    Proof: arithmetic on the constants; a divisor found by divisibility analysis divides every
    value, and then all roundings agree (the canonical one is down).
    """
    bits = width_of(draft.type)
    if bits < 2:
        return None
    first, second = draft.operands
    by = as_constant(second)
    if by is None or by <= 0:
        return None
    if by == 1:
        return graph.constant(0, draft.type) if draft.op == "remi" else first
    value = as_constant(first)
    unsigned = draft.attribute("signedness") == "unsigned"
    if value is not None:
        if unsigned:
            value &= (1 << bits) - 1
        return graph.constant(_divided(value, by, draft), draft.type)
    if by & (by - 1) == 0 and first.divisor >= by and not unsigned:
        if draft.op == "remi":
            return graph.constant(0, draft.type)
        if draft.attributes != FLOOR:
            return graph.make("divi", draft.operands, FLOOR, draft.type)
    return None


def _divided(value: int, by: int, draft: Draft) -> int:
    toward_zero = value // by if value >= 0 else -(-value // by)
    if draft.op == "remi":
        return value - toward_zero * by
    rounding = _rounding(draft)
    if rounding == "negative_inf":
        return value // by
    return -(-value // by) if rounding == "positive_inf" else toward_zero


@rewrites("divi", "remi")
def signed_division(graph: Graph, draft: Draft) -> Node | None:
    """Unsigned division and remainder of values that are not negative are the signed ones.

    Proof: such values are the same number read either way, and so are quotient and remainder.
    """
    if draft.attribute("signedness") != "unsigned" or width_of(draft.type) < 2:
        return None
    if any(range_of(each)[0] < 0 for each in draft.operands):
        return None
    attributes = tuple(
        (name, "signed" if name == "signedness" else text) for name, text in draft.attributes
    )
    return graph.make(draft.op, draft.operands, attributes, draft.type)


@rewrites("shri")
def shift_right_is_division(graph: Graph, draft: Draft) -> Node | None:
    """`a >> k` for a constant `0 <= k < n - 1` is `floor(a / 2^k)`, if signed or `a >= 0`.

    Proof: an arithmetic shift drops the low k bits of two's complement, which rounds down.
    """
    bits = width_of(draft.type)
    by = as_constant(draft.operands[1])
    if bits < 2 or by is None or not 0 <= by < bits - 1:
        return None
    first = draft.operands[0]
    if draft.attribute("signedness") == "unsigned" and range_of(first)[0] < 0:
        return None
    power = graph.constant(1 << by, draft.type)
    return graph.make("divi", (first, power), FLOOR, draft.type)


@rewrites("remi")
def remainder_of_less(graph: Graph, draft: Draft) -> Node | None:
    """`a % b` is `a` where `0 <= a < b`. Proof: the quotient is zero."""
    if draft.attribute("signedness") != "signed" or width_of(draft.type) < 2:
        return None
    (low, high), (least, _) = (range_of(each) for each in draft.operands)
    return draft.operands[0] if low >= 0 and high < least else None


@rewrites("divi")
def ceiling_division(graph: Graph, draft: Draft) -> Node | None:
    """`(x + b - 1) / b`, rounded down or to zero, is `ceil(x / b)` for `b > 0`.

    Proof: `floor((x + b - 1) / b) = ceil(x / b)` for integers with `b > 0`, if `x + b - 1` does not
    wrap. Rounding to zero is rounding down where `x + b - 1 >= 0`. Both are proven by the ranges
    of `x` and `b`, or are conditions on values known at launch.
    """
    bits = width_of(draft.type)
    rounding = _rounding(draft)
    if rounding == "positive_inf" or draft.attribute("signedness") != "signed" or bits < 2:
        return None
    total, by = draft.operands
    value = _without_rounding_up(graph, total, by)
    if value is None:
        return None
    (low, high), (least, most) = range_of(value), range_of(by)
    largest = full(bits)[1]
    conditions: list[Condition] = []
    if rounding == "zero" and low + max(least, 1) - 1 < 0:
        conditions.append(Condition((value,), ">=", 0))
    if least < 0:
        conditions.append(Condition((by,), ">", 0))
    if high + max(most, 1) - 1 > largest:
        constant = as_constant(by)
        if constant is not None:
            conditions.append(Condition((value,), "<=", largest - constant + 1))
        else:
            conditions.append(Condition((value, by), "<=", largest, -1))
    if conditions and not (value.launch and by.launch):
        return None
    found = graph.make("divi", (value, by), CEILING, draft.type)
    return found if graph.rely(found, conditions, "ceiling-division") else None


def _without_rounding_up(graph: Graph, total: Node, by: Node) -> Node | None:
    """`x` where `total` is written as `x + by - 1`, else None."""
    if total.op == "splat" and by.op == "splat":
        inner = _without_rounding_up(graph, total.operands[0], by.operands[0])
        return None if inner is None else graph.splat(inner, shape_of(total.type))
    if total.op != "sum":
        return None
    constant = as_constant(by)
    if constant is not None:
        if constant < 2 or total.data[0] != constant - 1:
            return None
        data = (0, *total.data[1:])
        return graph.make("sum", total.operands, (), total.type, data)
    rest = graph.make("sum", (total, by), (), total.type, (1, 1, -1))
    before = len(total.operands) + (total.data[0] != 0)
    after = (
        len(rest.operands) + (rest.data[0] != 0)
        if rest.op == "sum"
        else int(as_constant(rest) != 0)
    )
    return rest if after < before - 1 else None


@rewrites("divi")
def rounding_down(graph: Graph, draft: Draft) -> Node | None:
    """Division rounded to zero is division rounded down where the quotient is not negative.

    Proof: for `a >= 0` and `b > 0` both drop the fraction. The ranges prove it, or it is a
    condition on values known at launch.
    """
    if _rounding(draft) != "zero" or draft.attribute("signedness") != "signed":
        return None
    if width_of(draft.type) < 2:
        return None
    first, second = draft.operands
    conditions = _not_negative(first, second)
    if conditions and not (first.launch and second.launch):
        return None
    found = graph.make("divi", draft.operands, FLOOR, draft.type)
    return found if graph.rely(found, conditions, "rounding-down") else None


def _not_negative(dividend: Node, by: Node) -> list[Condition]:
    """What is not proven of `dividend >= 0` and `by > 0`."""
    found = []
    if range_of(dividend)[0] < 0:
        found.append(Condition((dividend,), ">=", 0))
    if range_of(by)[0] < 0:
        found.append(Condition((by,), ">", 0))
    return found


@rewrites("select")
def floor_remainder(graph: Graph, draft: Draft) -> Node | None:
    """Python's `%` made of `remi`: `r + b` where the signs of `r` and `b` differ and `r != 0`.

    With `r = remi(a, b)`, `select((r < 0) ^ (b < 0) & (r != 0), r + b, r)` is `r` where `a >= 0`
    and `b > 0`.

    Proof: then `0 <= r`, so the signs do not differ. If `a >= 0` is proven, `r < 0` is already
    decided and only `b < 0` is left of the sign test; that `b > 0` is a condition on values known
    at launch (ranges that prove it decide the whole test elsewhere).
    """
    condition, adjusted, remainder = draft.operands
    if condition.op != "andi" or remainder.op != "remi" or width_of(draft.type) < 2:
        return None
    if remainder.attribute("signedness") != "signed":
        return None
    dividend, by = remainder.operands
    if not (dividend.launch and by.launch):
        return None
    if graph.make("sum", (remainder, by), (), draft.type, (0, 1, 1)) is not adjusted:
        return None
    zero = graph.constant(0, draft.type)
    truth = condition.type
    unequal = _compare(graph, "not_equal", remainder, zero, truth)
    by_negative = _compare(graph, "less_than", by, zero, truth)
    rest_negative = _compare(graph, "less_than", remainder, zero, truth)
    differ = graph.make("xori", (rest_negative, by_negative), (), truth)
    if graph.make("andi", (differ, unequal), (), truth) is not condition:
        return None
    conditions = _not_negative(dividend, by)
    return remainder if graph.rely(remainder, conditions, "floor-remainder") else None


def _compare(graph: Graph, predicate: str, first: Node, second: Node, type: str) -> Node:
    attributes = (("comparison_predicate", predicate), ("signedness", "signed"))
    return graph.make("cmpi", (first, second), attributes, type)


def as_upper_bound(graph: Graph, lower: Node, upper: Node) -> Node:
    """`upper` for a loop `lower <= i < upper` that starts at zero or above.

    A quotient rounded to zero may be replaced by the one rounded down (or up, where it is written
    `(x + c - 1) / c`) even if it may be negative.

    Proof: let `c > 0` and `lower >= 0`. Where `x >= 0` the roundings agree as in
    `rounding_down` and `ceiling_division`. Where `x < 0`, `trunc(x / c)`, `floor(x / c)`,
    `trunc((x + c - 1) / c)` and `ceil(x / c)` are all at most 0 (if `x + c - 1` does not wrap), so
    the loop runs no iteration either way. The bound has no other use in the loop.
    """
    if upper.op != "divi" or upper.attribute("rounding", "zero") != "zero":
        return upper
    if upper.attribute("signedness") != "signed" or range_of(lower)[0] < 0:
        return upper
    total, by = upper.operands
    constant = as_constant(by)
    if constant is None or constant <= 0:
        return upper
    value = _without_rounding_up(graph, total, by)
    if value is not None:
        _, high = range_of(value)
        if high + constant - 1 <= full(width_of(upper.type))[1]:
            return graph.make("divi", (value, by), CEILING, upper.type)
    return graph.make("divi", (total, by), FLOOR, upper.type)
