"""Which effects and which operands of two sides belong together, where they are not equal."""

from __future__ import annotations

from collections.abc import Sequence

from tileport.verify.ir.canonical.finish import COMMUTATIVE
from tileport.verify.ir.canonical.nodes import Node

#: Above this many unequal effects on a side, pairing falls back to the order of the source.
_MANY = 300


def match_effects(
    left: Sequence[Node], right: Sequence[Node]
) -> tuple[list[tuple[Node, Node]], list[Node], list[Node]]:
    """Pairs of effects of one block, and those of the left and of the right without a partner.

    Equal effects come first, in order; of the others the most alike ones, if they are of one kind.
    """
    pairs: list[tuple[Node, Node]] = []
    by_key: dict[bytes, list[Node]] = {}
    for node in right:
        by_key.setdefault(node.key, []).append(node)
    rest: list[Node] = []
    for node in left:
        same = by_key.get(node.key)
        if same:
            pairs.append((node, same.pop(0)))
        else:
            rest.append(node)
    taken = {other for _, other in pairs}
    free = [node for node in right if node not in taken]
    if len(rest) * len(free) > _MANY * _MANY:
        for node in list(rest):
            twin = next((each for each in free if each.op == node.op), None)
            if twin is not None:
                pairs.append((node, twin))
                rest.remove(node)
                free.remove(twin)
        return pairs, rest, free
    scored = [
        (-likeness, abs(place - at), place, at)
        for place, node in enumerate(rest)
        for at, other in enumerate(free)
        if (likeness := _likeness(node, other)) > 0
    ]
    scored.sort()
    used: set[int] = set()
    gone: set[int] = set()
    for _, _, place, at in scored:
        if place not in used and at not in gone:
            used.add(place)
            gone.add(at)
            pairs.append((rest[place], free[at]))
    missing = [node for place, node in enumerate(rest) if place not in used]
    extra = [node for place, node in enumerate(free) if place not in gone]
    return pairs, missing, extra


def _likeness(one: Node, other: Node) -> int:
    """How alike two effects are; 0 means they are not the same kind of thing."""
    if _family(one) != _family(other):
        return 0
    score = 1 + 2 * (one.op == other.op) + 2 * (one.type == other.type)
    if one.access is not None and other.access is not None:
        score += 6 * (one.access.arrays == other.access.arrays)
    score += sum(
        first.key == second.key for first, second in zip(one.operands, other.operands, strict=False)
    )
    if one.blocks and other.blocks:
        inside = {each.key for block in one.blocks for each in block.effects}
        score += sum(each.key in inside for block in other.blocks for each in block.effects)
    return score


def _family(node: Node) -> str:
    if node.op.startswith("load"):
        return "load"
    if node.op.startswith("store"):
        return "store"
    if node.op.startswith("atomic_r"):
        return "atomic"
    if node.op in ("for", "loop"):
        return "loop"
    return node.op


def match_operands(
    left: Sequence[Node],
    right: Sequence[Node],
    left_factors: Sequence[int] = (),
    right_factors: Sequence[int] = (),
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Pairs of places of operands whose order does not matter, and the places left over.

    Args:
        left: Operands of one side.
        right: Operands of the other.
        left_factors: For a sum, what each is multiplied with.
        right_factors: The same of the other side.
    """
    pairs: list[tuple[int, int]] = []
    places, twins = list(range(len(left))), list(range(len(right)))

    def take(alike: int) -> None:
        for place in list(places):
            for twin in list(twins):
                if _alike(left[place], right[twin], alike):
                    if alike == 0 and left_factors and right_factors:
                        same = left_factors[place] == right_factors[twin]
                        if not same and any(
                            left_factors[place] == right_factors[each]
                            and _alike(left[place], right[each], 0)
                            for each in twins
                        ):
                            continue
                    pairs.append((place, twin))
                    places.remove(place)
                    twins.remove(twin)
                    break

    for level in range(5):
        take(level)
    if len(places) == len(twins):
        pairs.extend(zip(places, twins, strict=True))
        places, twins = [], []
    return pairs, places, twins


def _alike(one: Node, other: Node, level: int) -> bool:
    """Level 0: equal; 1: of one shape; 2: same op, type and attributes; 3: same op; 4: a wrapper.

    Of one shape means the same ops put together in the same way, whatever their attributes and
    constants are.
    """
    if level == 0:
        return one.key == other.key
    if level == 1:
        return one.type == other.type and skeleton(one) == skeleton(other)
    if level == 2:
        return one.op == other.op and one.type == other.type and one.attributes == other.attributes
    if level == 3:
        return one.op == other.op and one.op not in ("constant", "parameter")
    return any(each.key == other.key for each in one.operands) or any(
        each.key == one.key for each in other.operands
    )


#: Deeper than this, two values of one shape are not told apart by it.
_DEPTH = 5


def skeleton(node: Node, depth: int = _DEPTH) -> str:
    """The ops that a value is made of, as text, without attributes and constants."""
    if node.op in ("parameter", "constant", "argument", "get_tile_block_id"):
        return f"{node.op}{node.attribute('identity')}{node.data if node.op[0] in 'ag' else ''}"
    if depth == 0:
        return node.op
    inner = [skeleton(each, depth - 1) for each in node.operands]
    if node.op in COMMUTATIVE:
        inner.sort()
    return f"{node.op}({','.join(inner)})"
