"""The canonical text that is hashed.

It lists every live node once, with all that it is, and refers to nodes by their place in the list;
so equal text means equal graphs, and no hash of a part has to be trusted. The order of the list
depends on structure alone (effects by dependence and key, pure nodes at first use), so equal
graphs have equal text. Two effects that look the same and are not ordered may be listed either
way; they keep the order of the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from tileport.verify.ir.canonical.facts import essential
from tileport.verify.ir.canonical.finish import operands_of
from tileport.verify.ir.canonical.memory import Aliasing
from tileport.verify.ir.canonical.nodes import Block, Node
from tileport.verify.ir.canonical.order import Construct, LoopOrder, TokenArgument, bits_of


class Serializer:
    """Writes the canonical text of one finished graph.

    Args:
        receiver: See `tileport.verify.ir.canonical.finish.Finish.receiver`.
        effects: All effects by number.
        controls: Loops and branches by number.
        orders: The tokens that loops carry, by number of the loop.
        aliasing: Which arrays may overlap.
    """

    def __init__(
        self,
        receiver: dict[Node, Node],
        effects: list[Node],
        controls: Mapping[int, Node],
        orders: Mapping[int, LoopOrder],
        aliasing: Aliasing,
    ) -> None:
        self._orders = orders
        self._receiver = receiver
        self._effects = effects
        self._controls = controls
        self._aliasing = aliasing
        self._lines: list[str] = []
        self._index: dict[Node, int] = {}
        #: Carried tokens that are written by name, in order of appearance.
        self._named: dict[TokenArgument, None] = {}

    def write(self, root: Block, kept: Iterable[Node] = ()) -> list[str]:
        """The lines for a graph with this entry block.

        Args:
            root: The block.
            kept: Values that are listed for the promises about them.
        """
        self._block(root)
        for node in sorted(kept, key=lambda each: each.key):
            self._ref(node)
        ordered = [each for each in self._effects if each.live and each in self._index]
        ordered.sort(key=lambda each: self._index[each])
        for effect in ordered:
            self._order(effect)
        self._carried_tokens()
        return self._lines

    # ------------------------------------------------------------ nodes

    def _block(self, block: Block) -> None:
        effects = [each for each in block.effects if each.live]
        effects.sort(key=lambda each: (each.segment, each.level, each.key, each.number))
        segments = {segment: at for at, segment in enumerate(sorted({e.segment for e in effects}))}
        for effect in effects:
            self._node(effect, segments[effect.segment])
        if block.terminator is not None:
            self._node(block.terminator, -1)

    def _node(self, node: Node, segment: int) -> None:
        """A node that is no shared value: operands first, then itself, then its regions."""
        refs = [self._ref(each) for each in operands_of(node, self._receiver)]
        self._add(node, refs, (segment,))
        self._regions(node)

    def _regions(self, node: Node) -> None:
        for block in node.blocks:
            self._lines.append("{")
            live = [(self._position(each), each) for each in block.arguments if each.live]
            for position, argument in sorted(live, key=lambda pair: pair[0]):
                self._add(argument, [], (position,))
            self._block(block)
            self._lines.append("}")

    def _position(self, argument: Node) -> int:
        owner = argument.block.owner
        assert owner is not None
        if owner.op not in ("for", "loop"):
            return argument.data[0]
        place = argument.data[0] - (owner.op == "for")
        return 0 if place < 0 else 1 + owner.carried.index(place)

    def _add(self, node: Node, refs: list[int], extra: tuple[int, ...]) -> None:
        index = self._index[node] = len(self._index)
        attributes = node.attributes if node.op != "argument" else ()
        facts = essential(node)
        self._lines.append(f"{index} {node.op} {attributes} {node.type} {extra} {refs} {facts}")

    def _ref(self, node: Node) -> int:
        """The index of a value, which is listed now if it is not yet."""
        found = self._index.get(node)
        if found is not None:
            return found
        stack = [(node, False)]
        while stack:
            at, ready = stack.pop()
            if at in self._index:
                continue
            operands = operands_of(at, self._receiver)
            if ready:
                self._value(at, operands)
                continue
            stack.append((at, True))
            stack.extend((each, False) for each in reversed(operands) if each not in self._index)
        return self._index[node]

    def _value(self, node: Node, operands: tuple[Node, ...]) -> None:
        data = node.factors()
        if node.op == "result":
            owner = node.operands[0]
            if owner.op in ("for", "loop", "if"):
                data = (owner.produced.index(node.data[0]),)
        if node.op == "argument":
            # Of a reduction; those of other regions are listed with their region.
            data = (*node.data, node.block.depth)
        self._add(node, [self._index[each] for each in operands], data)
        self._regions(node)

    # ------------------------------------------------------------ order

    def _order(self, effect: Node) -> None:
        relation = self.before(effect)
        if relation:
            self._lines.append(f"{self._index[effect]} after {relation}")

    def before(self, effect: Node) -> list[str]:
        """What has to be before an effect, by index; only where the order could be seen."""
        before = effect.before
        assert before is not None
        found: list[str] = []
        plain = [
            self._index[other]
            for number in bits_of(before.mask)
            if self._counts(other := self._effects[number], effect)
        ]
        found.extend(str(index) for index in sorted(plain))
        later: list[str] = []
        for (loop, number), distances in before.carried.items():
            other = self._effects[number]
            if self._counts(other, effect):
                node = self._controls[loop]
                name = f"{self._index[other]} in {self._index.get(node, -1)} {sorted(distances)}"
                later.append(name)
        for element, reason in before.odd:
            if isinstance(element, int):
                other = self._effects[element]
                if not self._counts(other, effect):
                    continue
                later.append(f"{self._index[other]} {self._reason(reason)}")
            else:
                later.append(f"{self._carried(element)} {self._reason(reason)}")
        return found + sorted(later)

    def _carried(self, argument: TokenArgument) -> str:
        """The name of a carried token; what it means is written later."""
        self._named.setdefault(argument)
        return f"{self._construct(argument[0])} token {argument[1]}"

    def _carried_tokens(self) -> None:
        """What the carried tokens mean that were written by name."""
        done: set[TokenArgument] = set()
        while len(done) < len(self._named):
            for argument in list(self._named):
                if argument in done:
                    continue
                done.add(argument)
                loop, place = argument
                order = self._orders[loop]
                for word, token in (
                    ("from", order.initial[place]),
                    ("then", order.following[place]),
                ):
                    parts = [
                        str(self._index[each])
                        for number in bits_of(token.mask)
                        if (each := self._effects[number]) in self._index
                    ]
                    parts += sorted(self._carried(each) for each in token.arguments)
                    parts += sorted(
                        f"{self._element(element)} {self._reason(reason)}"
                        for element, reason in token.odd
                    )
                    self._lines.append(f"{self._carried(argument)} {word} {parts}")

    def _element(self, element: int | TokenArgument) -> str:
        if isinstance(element, int):
            return str(self._index.get(self._effects[element], -1))
        return self._carried(element)

    def _counts(self, other: Node, effect: Node) -> bool:
        if not other.live or other not in self._index:
            return False
        assert other.access is not None
        assert effect.access is not None
        return self._aliasing.conflict(other.access, effect.access)

    def _construct(self, number: int) -> str:
        node = self._controls.get(number)
        return f"at {self._index.get(node, -1) if node is not None else -1}"

    def _reason(self, reason: tuple[str | int, ...]) -> str:
        return " ".join(
            self._construct(each) if isinstance(each, Construct) else str(each) for each in reason
        )


def hash_of(lines: list[str]) -> str:
    """The hash of a canonical text, as hexadecimal."""
    return blake2b("\n".join(lines).encode(), digest_size=20).hexdigest()
