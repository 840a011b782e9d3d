"""Loops: carried values, the tokens they carry, and what comes out of them.

A carried value that every iteration hands on unchanged is the value it starts with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tileport.verify.ir.canonical.build import Builder
from tileport.verify.ir.canonical.graph import digest
from tileport.verify.ir.canonical.nodes import Attributes, Block, Node
from tileport.verify.ir.canonical.ops import attributes_of
from tileport.verify.ir.canonical.order import Construct, LoopOrder, TokenSet, excludes, merge
from tileport.verify.ir.canonical.types import width_of
from tileport.verify.ir.intervals import full
from tileport.verify.ir.model import Op, Value
from tileport.verify.ir.rules.division import as_upper_bound


@dataclass(slots=True, eq=False)
class End:
    """One way a region ends: the values and tokens it hands on, and in which block."""

    op: str
    values: tuple[Node, ...]
    tokens: tuple[TokenSet, ...]
    block: Block
    node: Node


@dataclass(slots=True, eq=False)
class Frame:
    """The loop that `continue` and `break` belong to."""

    #: Positions of the carried values that are no tokens and not handed on unchanged.
    carried: tuple[int, ...]
    continues: list[End] = field(default_factory=list)
    breaks: list[End] = field(default_factory=list)


class Loops(Builder):
    """A builder that knows loops, given one that can build the ops of a region."""

    def body(self, ops: Sequence[Op], frame: Frame | None = None) -> End:
        """Build the ops of a region in the current block up to its end."""
        raise NotImplementedError

    def place(self, node: Node) -> None:
        """Put a loop or branch where it belongs: among the effects if it has any inside."""
        self.block.loops = True
        if any(block.effects or block.leaves() for block in node.blocks):
            barrier = any(block.segment for block in node.blocks)
            if barrier:
                self.block.segment += 1
            node.segment = self.block.segment
            self.block.effects.append(node)
            if barrier:
                self.block.segment += 1

    def own(self, node: Node, blocks: tuple[Block, ...]) -> None:
        """Make these the regions of a node."""
        node.blocks = blocks
        for place, block in enumerate(blocks):
            block.owner, block.place = node, place

    def loop(self, op: Op) -> None:
        """A `for` or `loop`, built again where a carried value turns out not to change."""
        unchanged = _handed_on(op)
        while True:
            marks = len(self.effects), self.block.segment, len(self.block.effects)
            reliances = dict(self.graph.reliances)
            more = self._loop_with(op, unchanged)
            if not more:
                return
            unchanged |= more
            del self.effects[marks[0] :]
            self.block.segment = marks[1]
            del self.block.effects[marks[2] :]
            self.graph.reliances = reliances

    def _loop_with(self, op: Op, unchanged: set[int]) -> set[int]:
        """Build the loop; if more carried values are unchanged, return them instead."""
        self.graph.location = op.location
        bounds = self._bounds(op)
        counted = bool(bounds)
        initial = op.operands_in("init")
        region = op.regions[0]
        inside = region.arguments[1:] if counted else region.arguments
        values = [place for place, each in enumerate(initial) if each in self.values]
        carried = tuple(place for place in values if place not in unchanged)
        number = self.next_control()
        outer = self.block
        body = self.open_block(number)
        first = len(self.effects)
        arguments: list[Node] = []
        if counted:
            induction = self._induction(region.arguments[0], bounds, body, op)
            arguments.append(induction)
        for place in values:
            start = self.values[initial[place]]
            if place in unchanged:
                self.values[inside[place]] = start
                continue
            argument = self.argument(inside[place].type, len(arguments), body, (start,))
            self.values[inside[place]] = argument
            arguments.append(argument)
        tokens = {
            place: self.tokens[each] for place, each in enumerate(initial) if each in self.tokens
        }
        for place in tokens:
            self.tokens[inside[place]] = TokenSet(0, frozenset({(number, place)}))
        body.arguments = tuple(arguments)
        frame = Frame(carried)
        self.block = body
        self.promises(region.ops, region.arguments)
        self.body(region.ops, frame)
        self.block = outer
        self.graph.location = op.location
        more = self._unchanged(carried, values, arguments[counted:], initial, frame)
        if more:
            return more
        order = LoopOrder(
            number,
            tokens,
            self._following(tokens, frame, number),
            first,
            len(self.effects),
        )
        self.orders[number] = order
        for effect in self.effects[first:]:
            if effect.before is not None:
                order.settle(effect.before)
        starts = tuple(self.values[initial[place]] for place in carried)
        node = self.graph.add(
            op.name, bounds + starts, attributes_of(op, self.target), "", (), block=outer
        )
        self.controls[number] = node
        self.made[op] = node
        node.ends = tuple(end.node for end in (*frame.continues, *frame.breaks))
        self.own(node, (body,))
        node.digest = digest_with_blocks(node)
        self.place(node)
        self._loop_results(op, node, order, frame, first)
        return set()

    def _bounds(self, op: Op) -> tuple[Node, ...]:
        """Lower bound, upper bound and step of a `for`; nothing for a `loop`."""
        if op.name != "for":
            return ()
        lower, upper, step = (self.values[each] for each in op.operands[:3])
        if "unsignedCmp" not in op.attributes:
            upper = as_upper_bound(self.graph, lower, upper)
        return lower, upper, step

    def _induction(self, value: Value, bounds: tuple[Node, ...], body: Block, op: Op) -> Node:
        lower, upper, step = bounds
        node = self.argument(value.type, 0, body, (lower, step))
        bits = width_of(value.type)
        low, high = full(bits)
        if lower.range is not None and upper.range is not None and bits > 1:
            ordered = "unsignedCmp" not in op.attributes or min(lower.range[0], upper.range[0]) >= 0
            if ordered:
                low = lower.range[0]
                high = max(low, upper.range[1] - 1)
        node.range = (low, high)
        node.divisor = min(lower.divisor, step.divisor)
        node.derived = (node.range, node.divisor)
        node.launch = all(each.launch for each in bounds)
        self.values[value] = node
        return node

    def argument(self, type: str, index: int, body: Block, starts: tuple[Node, ...]) -> Node:
        """A new argument of a region, known by its type and what it starts from."""
        node = self.graph.add("argument", (), (), type, (index,), block=body)
        bits = width_of(type)
        node.range = full(bits) if bits else None
        node.derived = (node.range, 1)
        kind = "induction" if len(starts) > 1 else "carried"
        attributes: Attributes = (("depth", str(body.depth)), ("kind", kind))
        node.digest = digest("argument", attributes, type, (), [each.digest for each in starts])
        return node

    def _unchanged(
        self,
        carried: tuple[int, ...],
        values: list[int],
        arguments: list[Node],
        initial: tuple[Value, ...],
        frame: Frame,
    ) -> set[int]:
        """Carried positions that every iteration hands on as they came, or as they started."""
        found: set[int] = set()
        for place, argument in zip(carried, arguments, strict=True):
            start = self.values[initial[place]]
            at = values.index(place)
            handed = [end.values[at] for end in frame.continues]
            if all(each is argument or each is start for each in handed):
                found.add(place)
        return found

    def _following(
        self, tokens: dict[int, TokenSet], frame: Frame, number: int
    ) -> dict[int, TokenSet]:
        reason = ("next", Construct(number))
        found: dict[int, TokenSet] = {}
        for at, place in enumerate(tokens):
            sites = [(end.tokens[at], end.block) for end in frame.continues]
            found[place] = merge(sites, self.effects, reason)
        return found

    def _loop_results(self, op: Op, node: Node, order: LoopOrder, frame: Frame, first: int) -> None:
        if op.name == "for":
            initial = op.operands_in("init")
            place_of = {place: at for at, place in enumerate(frame.carried)}
            for place, result in enumerate(op.results):
                if initial[place] in self.tokens:
                    self.tokens[result] = order.after_for(place)
                elif place in place_of:
                    self.values[result] = self.result(
                        node, place_of[place], result.type, self.block
                    )
                else:
                    self.values[result] = self.values[initial[place]]
            return
        tokens = values = 0
        reason = ("left", Construct(order.loop))
        for result in op.results:
            if result.type == "token":
                sites = []
                for end in frame.breaks:
                    skipped = frozenset(
                        number
                        for number in range(first, len(self.effects))
                        if excludes(self.effects[number].block, end.block)
                    )
                    sites.append((order.after_break(end.tokens[tokens], skipped), end.block))
                self.tokens[result] = merge(sites, self.effects, reason)
                tokens += 1
            else:
                self.values[result] = self.result(node, values, result.type, self.block)
                values += 1


def _handed_on(op: Op) -> set[int]:
    """Carried positions that every `continue` of a loop hands on as they came."""
    region = op.regions[0]
    inside = region.arguments[1:] if op.name == "for" else region.arguments
    found = {place for place, each in enumerate(inside) if each.type != "token"}
    pending = [region]
    while pending and found:
        for inner in pending.pop().ops:
            if inner.name == "continue":
                found = {place for place in found if inner.operands[place] is inside[place]}
            elif inner.name == "if" and inner.known:
                pending.extend(inner.regions)
            elif inner.regions and not inner.known:
                return set()
    return found


def digest_with_blocks(node: Node) -> bytes:
    """The structural hash of a node with its regions: effects in any order, ends in order."""
    parts = [node.digest]
    for block in node.blocks:
        parts.append(b"{")
        parts.extend(sorted(each.digest for each in block.effects))
        if block.terminator is not None:
            parts.append(block.terminator.digest)
    return digest(node.op, (), "", (), parts)
