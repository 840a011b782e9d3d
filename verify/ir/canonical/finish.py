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
#: Operations whose operands have no order.
COMMUTATIVE = frozenset(
    {"sum", "product", "addf", "mulf", "maxf", "minf", "maxi", "mini", "andi", "ori", "xori"}
)


class Finish:
    """Marks what is live from `root` and computes `carried`, `produced`, `level` and `key`."""

    def __init__(self, root: Block, nodes: list[Node]) -> None:
        self.root = root
        self.nodes = nodes
        #: Values kept for a promise about them alone; they have no use in the graph.
        self.kept: list[Node] = []
        #: Which loop or branch a terminator hands its values to.
        self.receiver: dict[Node, Node] = {}
        for node in nodes:
            for end in node.ends:
                self.receiver[end] = node
        self._pending: list[Node] = []
        self._promises: list[Node] = []
        self._wanted: set[tuple[Node, str, int]] = set()
        #: Whether keys tell the places of carried values.
        self._places = True

    def mark(self) -> None:
        """Mark what is live."""
        self._mark()

    def keep(self, nodes: Iterable[Node]) -> None:
        """Mark these live as well, with all they depend on."""
        for node in nodes:
            if not node.live:
                self.kept.append(node)
                self._need(node)
        self._drain()
        self._settle_promises()

    def run(self) -> None:
        """Compute what follows from liveness."""
        live = [node for node in self.nodes if node.live]
        controls = [node for node in live if node.op in ("for", "loop", "if")]
        for node in controls:
            self._collect(node)
        if any(len(node.carried) > 1 or len(node.produced) > 1 for node in controls):
            # Where carried values stand in line depends on what they are, and that on what they
            # are computed from: look first without places, then give out places.
            self._places = False
            for node in live:
                self._finish(node)
            for node in controls:
                self._arrange(node)
            self._places = True
        for node in live:
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
        self._promises = promises
        self._settle_promises()

    def _settle_promises(self) -> None:
        """A promise about a value nobody uses says nothing."""
        for node in self._promises:
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

    def _collect(self, node: Node) -> None:
        """The carried values and results of a loop or branch that matter, in any order."""
        count = max((len(end.operands) for end in node.ends), default=0)
        places = range(count)
        node.carried = tuple(each for each in places if (node, "carried", each) in self._wanted)
        node.produced = node.carried
        if node.op != "for":
            node.produced = tuple(each for each in places if (node, "result", each) in self._wanted)

    def _arrange(self, node: Node) -> None:
        """Put them in order by what they are computed from."""
        start = 3 if node.op == "for" else 0
        node.carried = tuple(
            sorted(
                node.carried,
                key=lambda place: (
                    node.operands[start + place].key,
                    *_handed(node, "continue", place),
                ),
            )
        )
        if node.op == "for":
            node.produced = node.carried
        else:
            op = "break" if node.op == "loop" else "yield"
            node.produced = tuple(sorted(node.produced, key=lambda each: _handed(node, op, each)))

    # ------------------------------------------------------------ keys

    def _finish(self, node: Node) -> None:
        self._order(node)
        operands = operands_of(node, self.receiver)
        data = node.factors()
        parts = [each.key for each in operands]
        if node.op == "argument" and node.block.owner is not None:
            data = (node.block.depth,)
            if self._places:
                data = (self._position(node), node.block.depth)
            else:
                parts = self._start(node)
        elif node.op == "result" and operands[0].op in ("for", "loop", "if"):
            owner = operands[0]
            if self._places:
                data = (owner.produced.index(node.data[0]),)
            else:
                data = ()
                op = {"for": "continue", "loop": "break", "if": "yield"}[owner.op]
                parts += _handed(owner, op, node.data[0])
        if not self._places and node in self.receiver:
            # Without places the order of what is handed on says nothing.
            parts.sort()
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

    def _order(self, node: Node) -> None:
        """Order the operands by key where their order says nothing."""
        op = node.op
        count = len(node.operands)
        if op == "fma":
            count = 2
        elif op == "cmpi":
            if node.attribute("comparison_predicate") not in ("equal", "not_equal"):
                return
        elif op not in COMMUTATIVE:
            return
        places = sorted(range(count), key=lambda place: node.operands[place].key)
        node.order = (*places, *range(count, len(node.operands)))

    def _start(self, node: Node) -> list[bytes]:
        """For an argument of a loop: the key of what it starts from."""
        owner = node.block.owner
        assert owner is not None
        if owner.op not in _LOOPS:
            return [str(node.data[0]).encode()]
        place = node.data[0] - (owner.op == "for")
        if place < 0:
            return [b"counter"]
        return [owner.operands[place + (3 if owner.op == "for" else 0)].key]

    def _position(self, node: Node) -> int:
        owner = node.block.owner
        assert owner is not None
        if owner.op not in _LOOPS:
            return node.data[0]
        place = node.data[0] - (owner.op == "for")
        return 0 if place < 0 else 1 + owner.carried.index(place)


def _handed(node: Node, op: str, place: int) -> list[bytes]:
    """The keys of what the ends of a loop or branch hand on at a place."""
    return [end.operands[place].key for end in node.ends if end.op == op]


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
    if node.order:
        return tuple([node.operands[place] for place in node.order])
    owner = receiver.get(node)
    if owner is None:
        return node.operands
    places = owner.carried if node.op == "continue" else owner.produced
    return tuple(node.operands[each] for each in places)
