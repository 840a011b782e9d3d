"""Select, minimum and maximum."""

from __future__ import annotations

from tileport.verify.ir.canonical.graph import Draft, Graph, as_constant
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import width_of
from tileport.verify.ir.intervals import range_of
from tileport.verify.ir.rules.engine import rewrites
from tileport.verify.ir.rules.logic import negated, negation_of


@rewrites("select")
def decided_select(graph: Graph, draft: Draft) -> Node | None:
    """`select(true, a, b)` is `a`, `select(false, a, b)` is `b`, `select(c, a, a)` is `a`.

    Proof: definition of select.
    """
    condition, first, second = draft.operands
    if first is second:
        return first
    value = as_constant(condition)
    if value is None:
        return None
    return first if value else second


@rewrites("select")
def select_without_negation(graph: Graph, draft: Draft) -> Node | None:
    """`select(!c, a, b)` is `select(c, b, a)`; `a <= b` and `a != b` count as negations.

    Proof: `!c` is true exactly where `c` is false; `a <= b` is `!(b < a)` for integers.
    """
    condition, first, second = draft.operands
    positive = positive_condition(graph, condition)
    if positive is None:
        return None
    return graph.make("select", (positive, second, first), (), draft.type)


def positive_condition(graph: Graph, condition: Node) -> Node | None:
    """The condition that `condition` is the negation of; None where it is no negation."""
    inner = negation_of(condition)
    if inner is not None:
        return inner
    if condition.op == "cmpi":
        predicate = condition.attribute("comparison_predicate")
        if predicate in ("less_than_or_equal", "not_equal"):
            opposite = negated(graph, condition)
            return opposite if opposite.op == "cmpi" else None
    return None


@rewrites("select")
def select_of_truth_values(graph: Graph, draft: Draft) -> Node | None:
    """For `i1`: `select(c, true, x)` is `c | x`, `select(c, x, false)` is `c & x`, and so on.

    `select(c, false, x)` is `!c & x`, `select(c, x, true)` is `!c | x`.

    Proof: truth table.
    """
    if width_of(draft.type) != 1:
        return None
    condition, first, second = draft.operands
    left, right = as_constant(first), as_constant(second)
    if left == 1:
        return graph.make("ori", (condition, second), (), draft.type)
    if right == 0:
        return graph.make("andi", (condition, first), (), draft.type)
    if left == 0:
        return graph.make("andi", (negated(graph, condition), second), (), draft.type)
    if right == 1:
        return graph.make("ori", (negated(graph, condition), first), (), draft.type)
    return None


@rewrites("select")
def select_is_minimum(graph: Graph, draft: Draft) -> Node | None:
    """`select(a < b, a, b)` is `min(a, b)` and `select(a < b, b, a)` is `max(a, b)`, for integers.

    Proof: where `a < b` the minimum is `a`; elsewhere `b <= a`, so it is `b`. Minimum and maximum
    read the operands with the signedness of the comparison. Not for floats: a NaN or a zero of
    the other sign would be chosen differently.
    """
    condition, first, second = draft.operands
    if width_of(draft.type) < 2 or condition.op != "cmpi":
        return None
    if condition.attribute("comparison_predicate") != "less_than":
        return None
    attributes = (("signedness", condition.attribute("signedness")),)
    if _same(condition.operands, (first, second)):
        return graph.make("mini", (first, second), attributes, draft.type)
    if _same(condition.operands, (second, first)):
        return graph.make("maxi", (first, second), attributes, draft.type)
    return None


def _same(have: tuple[Node, ...], want: tuple[Node, ...]) -> bool:
    return all(a is b for a, b in zip(have, want, strict=True))


@rewrites("select")
def select_is_maximum_of_neighbours(graph: Graph, draft: Draft) -> Node | None:
    """`select(x < c, c', x)` and its mirror, where the constant was moved by one.

    `x <= c` is written `x < c + 1` (see `strict_against_constants`), so `select(x < c + 1, x, c)`
    is `min(x, c)`, `select(x < c + 1, c, x)` is `max(x, c)`, `select(c - 1 < x, c, x)` is
    `min(x, c)` and `select(c - 1 < x, x, c)` is `max(x, c)`.

    Proof: `x < c + 1` is `x <= c` where `c + 1` does not wrap, and then the two differ from
    `select_is_minimum` only where `x == c`, where both choices are equal.
    """
    condition, first, second = draft.operands
    if width_of(draft.type) < 2 or condition.op != "cmpi":
        return None
    if condition.attribute("comparison_predicate") != "less_than":
        return None
    if condition.attribute("signedness") != "signed":
        return None
    left, right = condition.operands
    bound = as_constant(right)
    value, moved = left, -1
    if bound is None:
        bound = as_constant(left)
        value, moved = right, 1
    if bound is None:
        return None
    for chosen, other, taken in ((first, second, True), (second, first, False)):
        if chosen is value and as_constant(other) == bound + moved:
            smaller = taken == (moved == -1)
            attributes = (("signedness", "signed"),)
            op = "mini" if smaller else "maxi"
            return graph.make(op, (chosen, other), attributes, draft.type)
    return None


@rewrites("mini", "maxi")
def simplify_minimum(graph: Graph, draft: Draft) -> Node | None:
    """Decided by ranges, read as signed where that is the same, nested constants joined, ordered.

    `min(a, b) = a` where every `a` is at most every `b`; `min(min(x, c), d) = min(x, min(c, d))`;
    `min(a, b) = min(b, a)`; likewise for the maximum.

    Proof: minimum and maximum are associative, commutative and idempotent; values that are not
    negative are the same number signed and unsigned.
    """
    if width_of(draft.type) < 2:
        return None
    first, second = draft.operands
    if first is second:
        return first
    (low, high), (least, most) = range_of(first), range_of(second)
    smallest = draft.op == "mini"
    if draft.attribute("signedness") == "unsigned" and (low < 0 or least < 0):
        if second.digest < first.digest:
            return graph.node(draft.op, (second, first), draft.attributes, draft.type)
        return None
    if high <= least:
        return first if smallest else second
    if most <= low:
        return second if smallest else first
    attributes = (("signedness", "signed"),)
    for value, other in ((first, second), (second, first)):
        bound = as_constant(other)
        if bound is None or value.op != draft.op or value.attributes != attributes:
            continue
        for inner, constant in (value.operands, value.operands[::-1]):
            have = as_constant(constant)
            if have is not None:
                joined = min(have, bound) if smallest else max(have, bound)
                operands = (inner, graph.constant(joined, draft.type))
                return graph.make(draft.op, operands, attributes, draft.type)
    if second.digest < first.digest:
        first, second = second, first
    return graph.node(draft.op, (first, second), attributes, draft.type)
