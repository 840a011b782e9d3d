"""What of a built graph matters, and in which order: liveness, carried values, keys.

Dead are pure values that no effect depends on, weak loads whose value nobody uses (nothing can see
that they happened), and loops and branches with nothing live inside. Writes, atomics, prints,
asserts and unknown ops never are. A `loop` may run forever, so it stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from tileport.verify.ir.canonical.graph import digest
from tileport.verify.ir.canonical.nodes import Block, Node

_LOOPS = frozenset({"for", "loop"})


class Finish:
    """Marks what is live from `root` and computes `carried`, `produced`, `level` and `key`."""

    def __init__(self, root: Block, nodes: list[Node]) -> None:
        self.root = root
        self.nodes = nodes
        #: Which loop or branch a terminator hands its values to.
        self.receiver: dict[Node, Node] = {}
        for node in nodes:
            for end in node.ends:
                self.receiver[end] = node
        self._pending: list[Node] = []
        self._wanted: set[tuple[Node, str, int]] = set()

    def run(self) -> None:
        """Do all of it."""
        self._mark()
        for node in self.nodes:
            if node.live and node.blocks and node.op in ("for", "loop", "if"):
                self._order(node)
        for node in self.nodes:
            if node.live:
                self._finish(node)

    # ------------------------------------------------------------ liveness

    def _mark(self) -> None:
        promises: list[Node] = []
        for node in self._effects(self.root):
            if node.op == "assume":
                promises.append(node)
            elif _always(node):
                self._need(node)
        self._ends(self.root)
        self._drain()
        # A promise about a value nobody uses says nothing.
        for node in promises:
            if node.operands[0].live:
                self._need(node)
        self._drain()

    def _effects(self, root: Block) -> list[Node]:
        found: list[Node] = []
        pending = [root]
        while pending:
            block = pending.pop()
            for node in block.effects:
                found.append(node)
                pending.extend(node.blocks)
            if block.terminator is not None:
                pending.extend(block.terminator.blocks)
        return found

    def _need(self, node: Node) -> None:
        if not node.live:
            node.live = True
            self._pending.append(node)

    def _drain(self) -> None:
        while self._pending:
            node = self._pending.pop()
            owner = node.block.owner
            if owner is not None and (node.before is not None or node.blocks or node.ends):
                self._need(owner)
            if node.op == "result":
                self._need(node.operands[0])
                self._want(node.operands[0], "result", node.data[0])
            elif node.op == "argument":
                self._argument(node)
            elif node.op in _LOOPS:
                for each in node.operands[: 3 if node.op == "for" else 0]:
                    self._need(each)
                self._ends(node.blocks[0])
            elif node.op in ("continue", "break", "yield") and node in self.receiver:
                # Its operands are needed one by one, as what receives them is.
                pass
            else:
                for each in node.operands:
                    self._need(each)
                for block in node.blocks:
                    self._ends(block)

    def _ends(self, block: Block) -> None:
        if block.terminator is not None:
            self._need(block.terminator)

    def _argument(self, node: Node) -> None:
        owner = node.block.owner
        if owner is None:
            return
        self._need(owner)
        if owner.op in _LOOPS:
            place = node.data[0] - (owner.op == "for")
            if place >= 0:
                self._want(owner, "carried", place)

    def _want(self, node: Node, kind: str, place: int) -> None:
        """A carried value or a result of a loop or branch is needed."""
        key = (node, kind, place)
        if key in self._wanted or node.op not in ("for", "loop", "if"):
            return
        self._wanted.add(key)
        if node.op == "for":
            kind = "carried"
            self._wanted.add((node, kind, place))
        if kind == "carried":
            self._need(node.operands[place + (3 if node.op == "for" else 0)])
        wanted = {"carried": "continue", "result": "break" if node.op == "loop" else "yield"}[kind]
        for end in node.ends:
            if end.op == wanted:
                self._need(end.operands[place])

    # ------------------------------------------------------------ order of carried values

    def _order(self, node: Node) -> None:
        """Carried values and results that matter, ordered by what they are computed from."""
        start = 3 if node.op == "for" else 0
        produced_by = {"for": "continue", "loop": "break", "if": "yield"}[node.op]
        places = sorted({place for owner, _, place in self._wanted_of(node, "carried")})
        node.carried = self._sorted(node, places, "continue", start)
        if node.op == "for":
            node.produced = node.carried
        else:
            places = sorted({place for owner, _, place in self._wanted_of(node, "result")})
            node.produced = self._sorted(node, places, produced_by, None)

    def _wanted_of(self, node: Node, kind: str) -> list[tuple[Node, str, int]]:
        count = max((len(end.operands) for end in node.ends), default=0)
        return [
            (node, kind, place) for place in range(count) if (node, kind, place) in self._wanted
        ]

    @staticmethod
    def _sorted(node: Node, places: Iterable[int], op: str, start: int | None) -> tuple[int, ...]:
        def color(place: int) -> tuple[bytes, ...]:
            first = () if start is None else (node.operands[start + place].digest,)
            ends = tuple(end.operands[place].digest for end in node.ends if end.op == op)
            return (*first, *ends)

        return tuple(sorted(places, key=color))

    # ------------------------------------------------------------ keys

    def _finish(self, node: Node) -> None:
        operands = self._operands(node)
        data = node.data
        if node.op == "argument" and node.block.owner is not None:
            data = (self._position(node), node.block.depth)
        elif node.op == "result":
            owner = node.operands[0]
            if owner.op in ("for", "loop", "if"):
                data = (owner.produced.index(node.data[0]),)
        parts = [each.key for each in operands]
        level = 0
        for each in operands:
            level = max(level, each.level)
        for block in node.blocks:
            parts.append(b"{")
            effects = [each for each in block.effects if each.live]
            parts.extend(sorted(each.key for each in effects))
            if block.terminator is not None:
                parts.append(block.terminator.key)
                level = max(level, block.terminator.level)
            for each in effects:
                level = max(level, each.level)
        node.level = level + (node.op == "result")
        attributes = node.attributes if node.op != "argument" else ()
        node.key = digest(node.op, attributes, node.type, data, parts)

    def _position(self, node: Node) -> int:
        owner = node.block.owner
        assert owner is not None
        if owner.op not in _LOOPS:
            return node.data[0]
        place = node.data[0] - (owner.op == "for")
        return 0 if place < 0 else 1 + owner.carried.index(place)

    def _operands(self, node: Node) -> tuple[Node, ...]:
        return operands_of(node, self.receiver)


def _always(node: Node) -> bool:
    """Whether an effect is live whoever uses its results."""
    if node.access is not None:
        return not (node.access.kind == "read" and node.access.weak)
    return node.op == "loop" or any(block.leaves() for block in node.blocks)


def operands_of(node: Node, receiver: dict[Node, Node]) -> tuple[Node, ...]:
    """The operands of a node that matter, in canonical order.

    Args:
        node: A live node.
        receiver: See `Finish.receiver`.
    """
    if node.op in _LOOPS:
        start = 3 if node.op == "for" else 0
        return node.operands[:start] + tuple(node.operands[start + each] for each in node.carried)
    owner = receiver.get(node)
    if owner is None:
        return node.operands
    places = owner.carried if node.op == "continue" else owner.produced
    return tuple(node.operands[each] for each in places)
