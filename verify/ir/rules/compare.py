"""Integer comparisons: one direction, constants in one place, decided where ranges decide."""

from __future__ import annotations

from tileport.verify.ir.canonical.graph import Condition, Draft, Graph, as_constant
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import width_of
from tileport.verify.ir.intervals import full, range_of
from tileport.verify.ir.rules.engine import rewrites


def compared(graph: Graph, predicate: str, operands: tuple[Node, Node], draft: Draft) -> Node:
    """A comparison like `draft` with another predicate and other operands."""
    attributes = (
        ("comparison_predicate", predicate),
        ("signedness", draft.attribute("signedness", "signed")),
    )
    return graph.make("cmpi", operands, attributes, draft.type)


def _integers(draft: Draft) -> bool:
    return width_of(draft.operands[0].type) > 1


@rewrites("cmpi")
def one_direction(graph: Graph, draft: Draft) -> Node | None:
    """`a > b` is `b < a`, `a >= b` is `b <= a`; the operands of `==` and `!=` are ordered.

    Equality does not depend on signedness, so it always says `signed`.

    Proof: definition of the order and symmetry of equality; equal bits are equal either way.
    """
    predicate = draft.attribute("comparison_predicate")
    first, second = draft.operands
    if predicate == "greater_than":
        return compared(graph, "less_than", (second, first), draft)
    if predicate == "greater_than_or_equal":
        return compared(graph, "less_than_or_equal", (second, first), draft)
    if predicate not in ("equal", "not_equal"):
        return None
    swap = second.digest < first.digest
    if swap or draft.attribute("signedness") != "signed":
        attributes = (("comparison_predicate", predicate), ("signedness", "signed"))
        operands = (second, first) if swap else (first, second)
        return graph.make("cmpi", operands, attributes, draft.type)
    return None


@rewrites("cmpi")
def signed_comparison(graph: Graph, draft: Draft) -> Node | None:
    """An unsigned `<` or `<=` of two values that are not negative is the signed one.

    Proof: a non-negative value has its top bit clear, so it is the same number read either way.

    Where the ranges do not prove it but both sides are known at launch (parameters, block ids,
    constants), it is taken as equal under the condition that both are not negative, which is
    recorded.
    """
    predicate = draft.attribute("comparison_predicate")
    if predicate not in ("less_than", "less_than_or_equal") or not _integers(draft):
        return None
    unsigned = draft.attribute("signedness") == "unsigned"
    open_ends = [each for each in draft.operands if range_of(each)[0] < 0]
    attributes = (("comparison_predicate", predicate), ("signedness", "signed"))
    if not open_ends:
        return graph.make("cmpi", draft.operands, attributes, draft.type) if unsigned else None
    if not unsigned or not all(each.launch for each in draft.operands):
        return None
    found = graph.make("cmpi", draft.operands, attributes, draft.type)
    conditions = [Condition((each,), ">=", 0) for each in open_ends]
    return found if graph.rely(found, conditions, "signed-comparison") else None


@rewrites("cmpi")
def decide_comparison(graph: Graph, draft: Draft) -> Node | None:
    """A comparison that the ranges of its operands decide is that constant.

    `a < b` is true where the greatest `a` is less than the least `b`, false where the least `a` is
    at least the greatest `b`, and false where both are one value; likewise for the others.

    Proof: the ranges contain every value (see `tileport.verify.ir.intervals`).
    """
    if not _integers(draft):
        return None
    first, second = draft.operands
    (low, high), (least, most) = range_of(first), range_of(second)
    if draft.attribute("signedness") == "unsigned" and (low < 0 or least < 0):
        if first is not second:
            return None
        low = high = least = most = 0
    elif first is second:
        low = high = least = most
    predicate = draft.attribute("comparison_predicate")
    answer: bool | None = None
    if predicate == "less_than":
        answer = True if high < least else False if low >= most else None
    elif predicate == "less_than_or_equal":
        answer = True if high <= least else False if low > most else None
    elif predicate in ("equal", "not_equal"):
        same = True if low == high == least == most else None
        same = False if high < least or most < low else same
        answer = same if predicate == "equal" or same is None else not same
    return None if answer is None else graph.constant(int(answer), draft.type)


@rewrites("cmpi")
def strict_against_constants(graph: Graph, draft: Draft) -> Node | None:
    """`x <= c` is `x < c + 1`, and `c <= x` is `c - 1 < x`, where that constant exists.

    Proof: integers are discrete; `c + 1` and `c - 1` do not leave the type in these cases. For
    unsigned comparison the constant is read as unsigned, and 0 and 2^n - 1 are the ends.
    """
    if draft.attribute("comparison_predicate") != "less_than_or_equal" or not _integers(draft):
        return None
    first, second = draft.operands
    bits = width_of(first.type)
    least, most = full(bits)
    if draft.attribute("signedness") == "unsigned":
        least, most = 0, -1
    right = as_constant(second)
    if right is not None and right != most:
        bound = graph.constant(right + 1, second.type)
        return compared(graph, "less_than", (first, bound), draft)
    left = as_constant(first)
    if left is not None and left != least:
        bound = graph.constant(left - 1, first.type)
        return compared(graph, "less_than", (bound, second), draft)
    return None


@rewrites("cmpi")
def comparison_with_a_truth_value(graph: Graph, draft: Draft) -> Node | None:
    """For `i1`: `x == true` and `x != false` are `x`; `x == false` and `x != true` are `!x`.

    Proof: truth table.
    """
    predicate = draft.attribute("comparison_predicate")
    if predicate not in ("equal", "not_equal") or width_of(draft.operands[0].type) != 1:
        return None
    first, second = draft.operands
    value = as_constant(second)
    if value is None:
        first, second = second, first
        value = as_constant(second)
    if value is None:
        return None
    if (value == 1) == (predicate == "equal"):
        return first
    return graph.make("xori", (first, graph.constant(1, first.type)), (), draft.type)
