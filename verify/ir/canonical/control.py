"""Loops, branches, reductions: the ops with regions.

- A branch whose sides only compute becomes a select of each result.
- A branch that leaves its region early takes the rest of the region into the side that goes on, so
  what depends on a condition stands under it: `if c { break }; rest` is
  `if c { break } else { rest }`. Where both sides may go on, the branch is a barrier instead.
- The sides of a branch are swapped where its condition is a negation.
- A carried value that every iteration hands on unchanged is the value it starts with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tileport.verify.ir.canonical.build import Builder, may_exit
from tileport.verify.ir.canonical.graph import as_constant, digest
from tileport.verify.ir.canonical.nodes import Attributes, Block, Node, Obligation
from tileport.verify.ir.canonical.ops import TERMINATORS, attributes_of
from tileport.verify.ir.canonical.order import (
    Construct,
    LoopOrder,
    TokenSet,
    excludes,
    merge,
)
from tileport.verify.ir.canonical.types import shape_of, width_of
from tileport.verify.ir.intervals import full
from tileport.verify.ir.model import Op, Region, Value
from tileport.verify.ir.rules.choose import positive_condition
from tileport.verify.ir.rules.division import as_upper_bound

#: Deeper than this an early exit is a barrier, not folded; no kernel comes near.
_DEPTH = 60


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is left to do of a region after a branch in it, and for whom the branch yields."""

    ops: Sequence[Op]
    start: int
    results: tuple[Value, ...]
    outer: _Rest | None


@dataclass(slots=True, eq=False)
class _End:
    """One way a region ends: the values and tokens it hands on, and in which block."""

    op: str
    values: tuple[Node, ...]
    tokens: tuple[TokenSet, ...]
    block: Block
    node: Node


@dataclass(slots=True, eq=False)
class _Frame:
    """The loop that `continue` and `break` belong to."""

    #: Positions of the carried values that are no tokens and not handed on unchanged.
    carried: tuple[int, ...]
    continues: list[_End] = field(default_factory=list)
    breaks: list[_End] = field(default_factory=list)


class Control(Builder):
    """A builder that also knows regions."""

    def body(self, ops: Sequence[Op], frame: _Frame | None = None) -> _End:
        """Build the ops of a region in the current block up to its end."""
        return self._run(ops, 0, None, frame)

    def _run(self, ops: Sequence[Op], start: int, rest: _Rest | None, frame: _Frame | None) -> _End:
        at = start
        while True:
            op = ops[at]
            at += 1
            if not op.known:
                self._unknown(op)
            elif op.name == "if":
                taken = self._decided(op)
                if taken is not None:
                    rest = _Rest(ops, at, op.results, rest)
                    ops, at = taken.ops, 0
                elif may_exit(op):
                    end = self._exit(op, _Rest(ops, at, op.results, rest), frame)
                    if end is not None:
                        return end
                else:
                    self._branch(op, frame, barrier=False)
            elif op.name == "yield" and rest is not None:
                self._bind(rest.results, op.operands)
                ops, at, rest = rest.ops, rest.start, rest.outer
            elif op.name in TERMINATORS:
                return self._end(op, frame)
            elif op.name in ("for", "loop"):
                self._loop(op)
            elif op.name in ("reduce", "scan"):
                self._reduction(op)
            elif op.regions:
                self._unknown(op)
            else:
                self.plain(op)

    def _bind(self, results: tuple[Value, ...], operands: tuple[Value, ...]) -> None:
        for result, operand in zip(results, operands, strict=True):
            if operand in self.tokens:
                self.tokens[result] = self.tokens[operand]
            else:
                self.values[result] = self.values[operand]

    def _end(self, op: Op, frame: _Frame | None) -> _End:
        self.graph.location = op.location
        values = tuple(self.values[each] for each in op.operands if each in self.values)
        tokens = tuple(self.tokens[each] for each in op.operands if each in self.tokens)
        kept = values
        if frame is not None and op.name == "continue":
            # Positions of the operands are those of the carried values.
            kept = tuple(self.values[op.operands[place]] for place in frame.carried)
        node = self.graph.add(op.name, kept, (), "", (), block=self.block)
        self.block.terminator = node
        end = _End(op.name, values, tokens, self.block, node)
        if frame is not None and op.name == "continue":
            frame.continues.append(end)
        elif frame is not None and op.name == "break":
            frame.breaks.append(end)
        return end

    # ------------------------------------------------------------ branches

    def _decided(self, op: Op) -> Region | None:
        """The side that is taken for sure, None where it is not known."""
        condition = as_constant(self.values[op.operands[0]])
        if condition is None:
            return None
        if condition:
            return op.regions[0]
        return op.regions[1] if len(op.regions) > 1 else _nothing(op)

    def _exit(self, op: Op, rest: _Rest, frame: _Frame | None) -> _End | None:
        """A branch that may leave its region; returns the region's end where it is built here."""
        sides = [op.regions[0], op.regions[1] if len(op.regions) > 1 else _nothing(op)]
        goes_on = [side.ops[-1].name == "yield" for side in sides]
        if all(goes_on) or self.block.depth >= _DEPTH:
            self._branch(op, frame, barrier=True)
            return None
        self.graph.location = op.location
        condition, order = self._oriented(self.values[op.operands[0]])
        outer = self.block
        group = self.next_control()
        blocks = [self.open_block(group), self.open_block(group)]
        end: _End | None = None
        for place in (0, 1):
            self.block = blocks[place]
            found = self._run(sides[place].ops, 0, rest if goes_on[place] else None, frame)
            if end is None or found.op == "yield":
                end = found
        self.block = outer
        self.graph.location = op.location
        branch = self.graph.add("branch", (condition,), (), "", (), block=outer)
        self._own(branch, tuple(blocks[place] for place in order))
        branch.digest = _digest_with_blocks(branch)
        outer.terminator = branch
        outer.segment += max(each.segment for each in blocks)
        assert end is not None
        return end

    def _oriented(self, condition: Node) -> tuple[Node, tuple[int, int]]:
        """The condition without negation, and the sides in the order for it."""
        positive = positive_condition(self.graph, condition)
        return (condition, (0, 1)) if positive is None else (positive, (1, 0))

    def _branch(self, op: Op, frame: _Frame | None, *, barrier: bool) -> None:
        """A branch after which both sides go on."""
        self.graph.location = op.location
        location = op.location
        condition, order = self._oriented(self.values[op.operands[0]])
        outer = self.block
        number = self.next_control()
        if barrier:
            outer.segment += 1
        blocks: list[Block] = []
        ends: list[_End] = []
        for side in (op.regions[0], op.regions[1] if len(op.regions) > 1 else _nothing(op)):
            self.block = self.open_block(number)
            blocks.append(self.block)
            ends.append(self.body(side.ops, frame))
            self.block = outer
        self.graph.location = location
        going = [ends[side] for side in order if ends[side].op == "yield"]
        reason = ("if", Construct(number))
        sites = [(end.tokens, end.block) for end in going]
        tokens = [result for result in op.results if result.type == "token"]
        for place, result in enumerate(tokens):
            self.tokens[result] = merge(
                [(found[place], block) for found, block in sites], self.effects, reason
            )
        values = [result for result in op.results if result.type != "token"]
        pure = not any(block.effects or block.loops for block in blocks) and len(going) == 2
        if pure and not barrier:
            for place, result in enumerate(values):
                first, second = (end.values[place] for end in going)
                self.values[result] = self._select(condition, first, second, result.type)
            for at, block in enumerate(blocks):
                guard = (condition.digest, at == order[0])
                outer.obligations.extend(
                    Obligation(each.divisor, each.witness, each.guards | {guard}, each.location)
                    for each in block.obligations
                )
            self.controls[number] = condition
            return
        node = self.graph.add("if", (condition,), (), self._types(op), (), block=outer)
        self.controls[number] = node
        node.ends = tuple(end.node for end in going)
        self._own(node, tuple(blocks[place] for place in order))
        node.digest = _digest_with_blocks(node)
        self._place(node)
        for place, result in enumerate(values):
            found = {id(end.values[place]): end.values[place] for end in going}
            if len(found) == 1:
                self.values[result] = next(iter(found.values()))
            else:
                self.values[result] = self.result(node, place, result.type, outer)
        if barrier:
            outer.segment += 1

    def _select(self, condition: Node, first: Node, second: Node, type: str) -> Node:
        mask = self.graph.splat(condition, shape_of(type))
        return self.graph.make("select", (mask, first, second), (), type)

    def _place(self, node: Node) -> None:
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

    def _own(self, node: Node, blocks: tuple[Block, ...]) -> None:
        node.blocks = blocks
        for place, block in enumerate(blocks):
            block.owner, block.place = node, place

    # ------------------------------------------------------------ loops

    def _loop(self, op: Op) -> None:
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
        counted = op.name == "for"
        bounds: tuple[Node, ...] = ()
        if counted:
            lower, upper, step = (self.values[each] for each in op.operands[:3])
            if "unsignedCmp" not in op.attributes:
                upper = as_upper_bound(self.graph, lower, upper)
            bounds = (lower, upper, step)
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
            argument = self._argument(inside[place].type, len(arguments), body, (start,))
            self.values[inside[place]] = argument
            arguments.append(argument)
        tokens = {
            place: self.tokens[each] for place, each in enumerate(initial) if each in self.tokens
        }
        for place in tokens:
            self.tokens[inside[place]] = TokenSet(0, frozenset({(number, place)}))
        body.arguments = tuple(arguments)
        frame = _Frame(carried)
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
        for effect in self.effects[first:]:
            if effect.before is not None:
                order.settle(effect.before)
        starts = tuple(self.values[initial[place]] for place in carried)
        node = self.graph.add(
            op.name, bounds + starts, attributes_of(op, self.target), "", (), block=outer
        )
        self.controls[number] = node
        node.ends = tuple(end.node for end in (*frame.continues, *frame.breaks))
        self._own(node, (body,))
        node.digest = _digest_with_blocks(node)
        self._place(node)
        self._loop_results(op, node, order, frame, first)
        return set()

    def _induction(self, value: Value, bounds: tuple[Node, ...], body: Block, op: Op) -> Node:
        lower, upper, step = bounds
        node = self._argument(value.type, 0, body, (lower, step))
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

    def _argument(self, type: str, index: int, body: Block, starts: tuple[Node, ...]) -> Node:
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
        frame: _Frame,
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
        self, tokens: dict[int, TokenSet], frame: _Frame, number: int
    ) -> dict[int, TokenSet]:
        reason = ("next", Construct(number))
        found: dict[int, TokenSet] = {}
        for at, place in enumerate(tokens):
            sites = [(end.tokens[at], end.block) for end in frame.continues]
            found[place] = merge(sites, self.effects, reason)
        return found

    def _loop_results(
        self, op: Op, node: Node, order: LoopOrder, frame: _Frame, first: int
    ) -> None:
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

    # ------------------------------------------------------------ other regions

    def _reduction(self, op: Op) -> None:
        """`reduce` and `scan`: pure, so equal ones are one node. Their arguments are shared."""
        region = op.regions[0]
        outer = self.block
        inner = self.graph.region(outer)
        effects = len(self.effects)
        for index, value in enumerate(region.arguments):
            self.values[value] = self.graph.region_argument(inner, index, value.type)
        self.block = inner
        end = self.body(region.ops)
        self.block = outer
        self.graph.location = op.location
        if inner.effects or inner.obligations or inner.loops:
            # The specification allows pure operations only; then it is compared word for word.
            inner.effects.clear()
            inner.obligations.clear()
            inner.loops = False
            del self.effects[effects:]
            self._unknown(op)
            return
        operands = self._operands(op)
        attributes = attributes_of(op, self.target)
        for index, result in enumerate(op.results):
            self.values[result] = self.graph.region_node(
                op.name, operands, attributes, result.type, (index,), yields=end.values
            )

    def _unknown(self, op: Op) -> None:
        """An op without a grammar, or one with regions that nobody here knows."""
        blocks: list[Block] = []
        outer = self.block
        for region in op.regions:
            body = self.open_block(self.next_control())
            arguments = []
            for index, value in enumerate(region.arguments):
                argument = self._argument(value.type, index, body, ())
                self.values[value] = argument
                arguments.append(argument)
            body.arguments = tuple(arguments)
            self.block = body
            self.body(region.ops, _Frame(()))
            self.block = outer
            blocks.append(body)
        self.graph.location = op.location
        node = self.ordered(op, tuple(blocks))
        self._own(node, node.blocks)
        if blocks:
            node.digest = _digest_with_blocks(node)
            outer.loops = True


def _nothing(op: Op) -> Region:
    """The side of a branch that is not written: it yields nothing."""
    return Region((), [Op("yield", (), (), (), {}, (), op.location, "", op.text_line)])


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


def _digest_with_blocks(node: Node) -> bytes:
    """The structural hash of a node with its regions: effects in any order, ends in order."""
    parts = [node.digest]
    for block in node.blocks:
        parts.append(b"{")
        parts.extend(sorted(each.digest for each in block.effects))
        if block.terminator is not None:
            parts.append(block.terminator.digest)
    return digest(node.op, (), "", (), parts)
