"""The canonical graph: nodes for values and effects, blocks for regions.

A node is made once and then only annotated (facts, liveness, key). Nodes without effects are
hash-consed by `Graph`, so within one graph two equal pure computations are one object; identity of
a node is the object, never its digest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tileport.verify.ir.model import Location

if TYPE_CHECKING:
    from tileport.verify.ir.canonical.facts import Facts
    from tileport.verify.ir.canonical.memory import Access
    from tileport.verify.ir.canonical.order import Before

Attributes = tuple[tuple[str, str], ...]


class Node:
    """One value or effect.

    `op` is a Tile IR op name, or one of the words that only the canonical form has:

    - `parameter`: a kernel parameter; `attributes` holds its identity.
    - `argument`: argument `data[0]` of the region `block`.
    - `result`: result `data[0]` of the effect that is its operand.
    - `splat`: a tile all of whose elements are its scalar operand.
    - `sum`: `data[0] + data[1] * operands[0] + data[2] * operands[1] + ...`, wrapping.
    - `product`: the wrapping product of its operands.

    Args:
        op: Name.
        operands: What it is computed from; of an effect without its tokens.
        attributes: Sorted name and text, defaults left out.
        type: Type of the value ("" where an effect has several results; see `result`).
        data: Integers: value of a constant, coefficients of a sum, index of a result.
    """

    __slots__ = (
        "access",
        "attributes",
        "before",
        "block",
        "blocks",
        "carried",
        "data",
        "derived",
        "digest",
        "divisor",
        "ends",
        "facts",
        "key",
        "launch",
        "level",
        "live",
        "location",
        "number",
        "op",
        "operands",
        "order",
        "produced",
        "range",
        "segment",
        "type",
    )

    def __init__(
        self,
        op: str,
        operands: tuple[Node, ...],
        attributes: Attributes,
        type: str,
        data: tuple[int, ...],
        *,
        block: Block,
        location: Location,
    ) -> None:
        self.op = op
        self.operands = operands
        self.attributes = attributes
        self.type = type
        self.data = data
        #: The innermost region it depends on; for an effect, the region it is executed in.
        self.block = block
        self.location = location
        #: Position in the graph: operands have smaller numbers.
        self.number = 0
        #: Structural hash known while building; loop arguments by type and start value.
        self.digest = b""
        #: Structural hash of the finished graph, dead parts left out. Set by `finish`.
        self.key = b""
        self.live = False
        #: Least and greatest value of any element, signed; None where it is no integer.
        self.range: tuple[int, int] | None = None
        #: A power of two that divides every element (an address in bytes for a pointer).
        self.divisor = 1
        #: Whether it depends on parameters, constants and block ids alone, not on memory.
        self.launch = False
        #: What assumes promise about it, beyond what was derived.
        self.facts: Facts | None = None
        #: `range` and `divisor` without its own facts.
        self.derived: tuple[tuple[int, int] | None, int] = (None, 1)
        #: Regions of a loop, branch, reduction or unknown op.
        self.blocks: tuple[Block, ...] = ()
        #: Which effects are before it, for an effect that can be ordered by tokens.
        self.before: Before | None = None
        #: What an effect reads or writes; see `tileport.verify.ir.canonical.memory`.
        self.access: Access | None = None
        #: Which stretch between barriers of its block an effect is in.
        self.segment = 0
        #: The terminators that hand values on to a loop's next iteration or out of it, or that
        #: yield the results of a branch.
        self.ends: tuple[Node, ...] = ()
        #: Order of the operands where theirs says nothing; empty where it does.
        self.order: tuple[int, ...] = ()
        #: Positions of the carried values of a loop that matter, in canonical order.
        self.carried: tuple[int, ...] = ()
        #: Positions of the results that matter, in canonical order.
        self.produced: tuple[int, ...] = ()
        #: Longest chain of effects that it depends on.
        self.level = 0

    def attribute(self, name: str, default: str = "") -> str:
        """The text of an attribute."""
        for have, text in self.attributes:
            if have == name:
                return text
        return default

    def factors(self) -> tuple[int, ...]:
        """`data`, for a sum in canonical order: the constant, then a factor for each term."""
        if self.op != "sum" or not self.order:
            return self.data
        return (self.data[0], *[self.data[1 + place] for place in self.order])

    def __repr__(self) -> str:
        return f"<{self.number} {self.op} {self.type}>"


@dataclass(slots=True, eq=False)
class Obligation:
    """A division that was executed although its divisor may be zero.

    `guards` are the conditions (digest and side) of branches that were turned into selects.
    """

    divisor: Node
    witness: Node
    guards: frozenset[tuple[bytes, bool]]
    location: Location


@dataclass(slots=True, eq=False)
class Block:
    """A region: arguments, effects, and how it ends.

    Effects of one segment have no order but that of `Node.before`; segments are in order.
    `terminator` is a `yield`, `continue`, `break`, `return`, or a `branch` with two blocks that
    end the region each in its own way.
    """

    parent: Block | None
    depth: int
    #: Blocks of one number are sides of one branch: at most one of them runs.
    group: int = -1
    arguments: tuple[Node, ...] = ()
    effects: list[Node] = field(default_factory=list)
    segment: int = 0
    terminator: Node | None = None
    obligations: list[Obligation] = field(default_factory=list)
    #: Whether a loop, a branch that is no select, or an unknown op stands in it.
    loops: bool = False
    #: The node it is a region of; None for the entry and while it is built.
    owner: Node | None = None
    #: Which region of the owner it is.
    place: int = 0

    def is_within(self, other: Block) -> bool:
        """Whether this is `other` or inside it."""
        block: Block | None = self
        while block is not None and block.depth >= other.depth:
            if block is other:
                return True
            block = block.parent
        return False

    def leaves(self) -> bool:
        """Whether it, or a side of the branch it ends with, leaves a loop or the kernel."""
        pending = [self]
        while pending:
            end = pending.pop().terminator
            if end is None:
                continue
            if end.op == "branch":
                pending.extend(end.blocks)
            elif end.op in ("break", "return"):
                return True
        return False
