"""Leaves out differences of index arithmetic that follow from one further down.

The canonical form of integer arithmetic regroups sums and products, so a change at the bottom of
an index can make all sums above it look different. Of structural differences in integers only the
deepest are told; those above show again if they are still there once the deepest are gone. What is
left out is never worse than what is told: both are `wrong`.
"""

from __future__ import annotations

from collections.abc import Iterable

from tileport.verify.diff.alignment import Cause
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import width_of

#: Differences in what is computed, as against differences of an attribute or a type.
_STRUCTURAL = frozenset({"op", "missing", "extra", "data", "use"})


def roots(causes: Iterable[Cause]) -> list[Cause]:
    """The causes without those integer ones that stand above another integer one.

    On either side; but where that would leave none of them (two values that changed places each
    stand above the other) on both sides, which always leaves the deepest.
    """
    everything = list(causes)
    structural = [cause for cause in everything if _is_integer(cause)]
    if len(structural) < 2:
        return everything
    nodes = {node for cause in structural for node in _nodes(cause)}
    above: dict[Node, bool] = {}
    for test in (any, all):
        hidden = {
            id(cause)
            for cause in structural
            if test(_stands_above(node, nodes, above) for node in _nodes(cause))
        }
        if len(hidden) < len(structural):
            return [cause for cause in everything if id(cause) not in hidden]
    return everything


def _nodes(cause: Cause) -> list[Node]:
    return [node for node in (cause.reference, cause.port) if node is not None]


def _is_integer(cause: Cause) -> bool:
    if cause.kind not in _STRUCTURAL:
        return False
    return all(width_of(node.type) > 1 for node in _nodes(cause))


def _stands_above(node: Node, nodes: set[Node], above: dict[Node, bool]) -> bool:
    """Whether one of `nodes` is strictly below `node`, not looking through memory and loops."""
    stack = [(node, False)]
    while stack:
        at, ready = stack.pop()
        if at in above:
            continue
        inner = [] if at.op in ("result", "argument") else list(at.operands)
        if ready:
            above[at] = any(each in nodes or above[each] for each in inner)
            continue
        stack.append((at, True))
        stack.extend((each, False) for each in inner if each not in above)
    return above[node]
