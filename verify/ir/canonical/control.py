"""Branches, reductions and unknown ops with regions; the walk over a region.

- A branch whose sides only compute becomes a select of each result.
- A branch that leaves its region early takes the rest of the region into the side that goes on, so
  what depends on a condition stands under it: `if c { break }; rest` is
  `if c { break } else { rest }`. Where both sides may go on, the branch is a barrier instead.
- The sides of a branch are swapped where its condition is a negation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileport.verify.ir.canonical.build import may_exit
from tileport.verify.ir.canonical.graph import as_constant
from tileport.verify.ir.canonical.loops import End, Frame, Loops, digest_with_blocks
from tileport.verify.ir.canonical.nodes import Block, Node, Obligation
from tileport.verify.ir.canonical.ops import TERMINATORS, attributes_of
from tileport.verify.ir.canonical.order import Construct, merge
from tileport.verify.ir.canonical.types import shape_of
from tileport.verify.ir.model import Op, Region, Value
from tileport.verify.ir.rules.choose import positive_condition

#: Deeper than this an early exit is a barrier, not folded; no kernel comes near.
_DEPTH = 60


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is left to do of a region after a branch in it, and for whom the branch yields."""

    ops: Sequence[Op]
    start: int
    results: tuple[Value, ...]
    outer: _Rest | None


class Control(Loops):
    """A builder that also knows regions."""

    def body(self, ops: Sequence[Op], frame: Frame | None = None) -> End:
        """Build the ops of a region in the current block up to its end."""
        return self._run(ops, 0, None, frame)

    def _run(self, ops: Sequence[Op], start: int, rest: _Rest | None, frame: Frame | None) -> End:
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
                self.loop(op)
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

    def _end(self, op: Op, frame: Frame | None) -> End:
        self.graph.location = op.location
        values = tuple(self.values[each] for each in op.operands if each in self.values)
        tokens = tuple(self.tokens[each] for each in op.operands if each in self.tokens)
        kept = values
        if frame is not None and op.name == "continue":
            # Positions of the operands are those of the carried values.
            kept = tuple(self.values[op.operands[place]] for place in frame.carried)
        node = self.graph.add(op.name, kept, (), "", (), block=self.block)
        self.block.terminator = node
        end = End(op.name, values, tokens, self.block, node)
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

    def _exit(self, op: Op, rest: _Rest, frame: Frame | None) -> End | None:
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
        end: End | None = None
        for place in (0, 1):
            self.block = blocks[place]
            found = self._run(sides[place].ops, 0, rest if goes_on[place] else None, frame)
            if end is None or found.op == "yield":
                end = found
        self.block = outer
        self.graph.location = op.location
        branch = self.graph.add("branch", (condition,), (), "", (), block=outer)
        self.own(branch, tuple(blocks[place] for place in order))
        branch.digest = digest_with_blocks(branch)
        outer.terminator = branch
        self.made[op] = branch
        outer.segment += max(each.segment for each in blocks)
        assert end is not None
        return end

    def _oriented(self, condition: Node) -> tuple[Node, tuple[int, int]]:
        """The condition without negation, and the sides in the order for it."""
        positive = positive_condition(self.graph, condition)
        return (condition, (0, 1)) if positive is None else (positive, (1, 0))

    def _branch(self, op: Op, frame: Frame | None, *, barrier: bool) -> None:
        """A branch after which both sides go on."""
        self.graph.location = op.location
        location = op.location
        condition, order = self._oriented(self.values[op.operands[0]])
        outer = self.block
        number = self.next_control()
        if barrier:
            outer.segment += 1
        blocks: list[Block] = []
        ends: list[End] = []
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
            self.made[op] = None
            return
        node = self.graph.add("if", (condition,), (), self._types(op), (), block=outer)
        self.controls[number] = node
        self.made[op] = node
        node.ends = tuple(end.node for end in going)
        self.own(node, tuple(blocks[place] for place in order))
        node.digest = digest_with_blocks(node)
        self.place(node)
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
                argument = self.argument(value.type, index, body, ())
                self.values[value] = argument
                arguments.append(argument)
            body.arguments = tuple(arguments)
            self.block = body
            self.body(region.ops, Frame(()))
            self.block = outer
            blocks.append(body)
        self.graph.location = op.location
        node = self.ordered(op, tuple(blocks))
        self.own(node, node.blocks)
        if blocks:
            node.digest = digest_with_blocks(node)
            outer.loops = True


def _nothing(op: Op) -> Region:
    """The side of a branch that is not written: it yields nothing."""
    return Region((), [Op("yield", (), (), (), {}, (), op.location, "", op.text_line)])
