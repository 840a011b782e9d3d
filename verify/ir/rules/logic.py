"""Bitwise operations and the truth values made of comparisons."""

from __future__ import annotations

from tileport.verify.ir.canonical.graph import Draft, Graph, as_constant
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import width_of
from tileport.verify.ir.rules.engine import rewrites


def negated(graph: Graph, node: Node) -> Node:
    """`!node` for a tile of `i1`."""
    return graph.make("xori", (node, graph.constant(1, node.type)), (), node.type)


def negation_of(node: Node) -> Node | None:
    """What `node` is the negation of, if it is written as one (`x ^ true`), else None."""
    if node.op == "splat":
        return None
    if node.op == "xori" and width_of(node.type) == 1:
        first, second = node.operands
        if as_constant(second) == 1:
            return first
        if as_constant(first) == 1:
            return second
    return None


_NEGATED = {
    "equal": "not_equal",
    "not_equal": "equal",
    "less_than": "less_than_or_equal",
    "less_than_or_equal": "less_than",
}


@rewrites("xori")
def negation(graph: Graph, draft: Draft) -> Node | None:
    """`!(a < b)` is `b <= a`, `!(a == b)` is `a != b`, `!!x` is `x`.

    Proof: integers are totally ordered; on `i1`, `x ^ true` is the other value. Comparisons of
    floats are not negated: with a NaN both `a < b` and `b <= a` are false.
    """
    if width_of(draft.type) != 1:
        return None
    first, second = draft.operands
    if as_constant(first) == 1:
        first, second = second, first
    if as_constant(second) != 1:
        return None
    twice = negation_of(first)
    if twice is not None:
        return twice
    if first.op == "cmpi":
        predicate = first.attribute("comparison_predicate")
        opposite = _NEGATED.get(predicate)
        if opposite is not None:
            operands = first.operands
            if predicate.startswith("less"):
                operands = (operands[1], operands[0])
            attributes = tuple(
                (name, opposite if name == "comparison_predicate" else text)
                for name, text in first.attributes
            )
            return graph.make("cmpi", operands, attributes, draft.type)
    return None


@rewrites("andi", "ori", "xori")
def simplify_bitwise(graph: Graph, draft: Draft) -> Node | None:
    """Constants folded, neutral and absorbing operands gone, operands ordered.

    `x & 0 = 0`, `x & -1 = x`, `x | 0 = x`, `x | -1 = -1`, `x ^ 0 = x`, `x & x = x`, `x | x = x`,
    `x ^ x = 0`, and `a op b = b op a`. For `i1` the all-ones constant is `true`.

    Proof: truth table of each bit.
    """
    bits = width_of(draft.type)
    if not bits:
        return None
    first, second = draft.operands
    left, right = as_constant(first), as_constant(second)
    if left is not None and right is not None:
        value = {"andi": left & right, "ori": left | right, "xori": left ^ right}[draft.op]
        return graph.constant(value, draft.type)
    if left is not None:
        first, second, right = second, first, left
    ones = 1 if bits == 1 else -1
    if right == 0:
        return graph.constant(0, draft.type) if draft.op == "andi" else first
    if right == ones and draft.op != "xori":
        return first if draft.op == "andi" else graph.constant(ones, draft.type)
    if first is second:
        return graph.constant(0, draft.type) if draft.op == "xori" else first
    if right is None and second.digest < first.digest:
        first, second = second, first
    return graph.node(draft.op, (first, second), (), draft.type)
