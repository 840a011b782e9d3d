"""How two different ops may still be the same computation, written or wrapped differently."""

from __future__ import annotations

from collections.abc import Iterable

from tileport.verify.diff.similar import match_operands, skeleton
from tileport.verify.ir.canonical.nodes import Node


def telling(chain: list[Node]) -> Node:
    """Of operations that one side has on top of the other, the one that says most."""
    for node in chain:
        if node.op in ("exti", "trunci", "ftof", "select"):
            return node
    return chain[0]


#: What only converts a value: below it the type is another one.
_CONVERSIONS = frozenset({"exti", "trunci", "ftof", "itof", "ftoi", "bitcast"})


def unwrap(outer: Node, inner: Node) -> list[Node] | None:
    """The way from `outer` down to an operand that is `inner`, or is made like it, at most 3 deep.

    An operand that is equal counts before one that is only put together in the same way. The list
    starts with `outer` and ends with the operand found.
    """
    level: list[list[Node]] = [[outer]]
    similar: list[Node] | None = None
    for _ in range(3):
        following: list[list[Node]] = []
        for way in level:
            node = way[-1]
            if node.op in ("result", "argument"):
                continue
            for operand in node.operands:
                longer = [*way, operand]
                if operand.key == inner.key:
                    return longer
                if similar is None and _made_alike(operand, inner, node.op in _CONVERSIONS):
                    similar = longer
                following.append(longer)
        level = following
    return similar


def _made_alike(node: Node, inner: Node, converted: bool) -> bool:
    if node.op != inner.op or inner.op in ("constant", "splat", "parameter", "argument"):
        return False
    if node.type != inner.type and not converted:
        return False
    return skeleton(node) == skeleton(inner)


def turned(one: Node, other: Node) -> bool:
    """Whether the sides of two selects are equal crosswise rather than in place."""
    first, second = one.operands[1:], other.operands[1:]
    across = sum(a.key == b.key for a, b in zip(first, second[::-1], strict=True))
    straight = sum(a.key == b.key for a, b in zip(first, second, strict=True))
    return across > straight and one.operands[0].op == other.operands[0].op == "cmpi"


def fused(one: Node, other: Node) -> list[tuple[Node, Node]]:
    """For a fused multiply-add against a product and a sum: the operands to go on with."""
    ops = {one.op, other.op}
    if ops not in ({"fma", "addf"}, {"fma", "subf"}):
        return []
    fused, split = (one, other) if one.op == "fma" else (other, one)
    for place in (0, 1):
        product = split.operands[place]
        if product.op == "mulf":
            pairs, _, _ = match_operands(fused.operands[:2], product.operands)
            found = [(fused.operands[a], product.operands[b]) for a, b in pairs]
            found.append((fused.operands[2], split.operands[1 - place]))
            return [(a, b) if one is fused else (b, a) for a, b in found]
    return []


#: Ops that are written one for the other; below them the operands are those of each other.
_KIN = (
    frozenset({"sum", "addi", "subi", "product", "muli"}),
    frozenset({"addf", "subf"}),
    frozenset({"mulf", "divf"}),
    frozenset({"maxf", "minf"}),
    frozenset({"maxi", "mini"}),
    frozenset({"andi", "ori", "xori"}),
    frozenset({"exp", "exp2"}),
    frozenset({"log", "log2"}),
    frozenset({"sqrt", "rsqrt"}),
    frozenset({"exti", "trunci"}),
)


def beneath(one: Node, other: Node) -> Iterable[tuple[Node, Node]]:
    """Operands to go on with below a pair of different ops."""
    if not any(one.op in kin and other.op in kin for kin in _KIN):
        return []
    pairs, _, _ = match_operands(one.operands, other.operands)
    return [(one.operands[a], other.operands[b]) for a, b in pairs]
