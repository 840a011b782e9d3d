"""Makes nodes: applies the rewrite rules, shares equal pure nodes, derives what is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from tileport.verify.ir.canonical.nodes import Attributes, Block, Node
from tileport.verify.ir.canonical.types import element_of, shape_of, tile, width_of
from tileport.verify.ir.intervals import derive
from tileport.verify.ir.model import Location

#: Pure, but each one counts: whether two accesses go through one view or through two equal views
#: changes the machine code that the assembler makes, so equal views are not merged.
UNSHARED = frozenset(
    {"make_tensor_view", "make_partition_view", "make_strided_view", "make_gather_scatter_view"}
)

#: Depth of the block that holds the arguments of reductions: inside of everything else.
REGION_DEPTH = 1_000_000

#: Depends on no memory, and neither does what is computed from it by pure operations.
_LAUNCH_ROOTS = frozenset(
    {"parameter", "constant", "iota", "get_tile_block_id", "get_num_tile_blocks"}
)


@dataclass(slots=True)
class Draft:
    """A node about to be made: what a rule looks at."""

    op: str
    operands: tuple[Node, ...]
    attributes: Attributes
    type: str
    data: tuple[int, ...] = ()

    def attribute(self, name: str, default: str = "") -> str:
        """The text of an attribute."""
        for have, text in self.attributes:
            if have == name:
                return text
        return default


#: Returns what the draft is equal to, or None where the rule says nothing about it.
Rule = Callable[["Graph", Draft], "Node | None"]


@dataclass(frozen=True, slots=True)
class Condition:
    """`terms[0] + terms[1] + ... + constant RELATION bound`, for every element.

    The terms are values as they are computed, so after wrapping; their sum is exact. `relation` is
    `>=`, `>`, `<=` or `is not`; the last one is for floats, and then `bound` counts for nothing:
    the one term is not `-0.0`.
    """

    terms: tuple[Node, ...]
    relation: str
    bound: int
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Reliance:
    """Conditions that a rule relied on to make `node` what it is.

    `key` names the same conditions for the same value in any graph: the rule, and a digest of the
    value and of the conditions. The value alone does not do: one value can be reached in several
    ways that ask for different things, and a decided comparison is just `true`.
    `harmless` says why the difference seldom matters, "" where it may.
    """

    key: tuple[str, bytes]
    node: Node
    conditions: tuple[Condition, ...]
    rule: str
    location: Location
    harmless: str = ""


class Graph:
    """The nodes of one entry.

    Args:
        rules: Rewrite rules by op name, tried in order.
        allowed: The conditions that rules may rely on, by `Reliance.key`; None allows all.
    """

    def __init__(
        self,
        rules: Mapping[str, tuple[Rule, ...]],
        allowed: frozenset[tuple[str, bytes]] | None = None,
    ) -> None:
        self.rules = rules
        self.allowed = allowed
        self.nodes: list[Node] = []
        self.reliances: dict[tuple[str, bytes], Reliance] = {}
        self.root = Block(None, 0)
        #: Location given to nodes as they are made.
        self.location: Location = ()
        self._shared: dict[object, Node] = {}
        self._regions: dict[int, Block] = {}

    def make(
        self,
        op: str,
        operands: tuple[Node, ...],
        attributes: Attributes = (),
        type: str = "",
        data: tuple[int, ...] = (),
    ) -> Node:
        """The canonical node equal to this pure operation."""
        rules = self.rules.get(op)
        if rules is not None:
            draft = Draft(op, operands, attributes, type, data)
            for rule in rules:
                found = rule(self, draft)
                if found is not None:
                    return found
        return self._decided(self.node(op, operands, attributes, type, data))

    def _decided(self, node: Node) -> Node:
        """A value whose range is a single number is that constant.

        Proof: the range contains every value of every element.
        """
        known = node.range
        if known is None or known[0] != known[1] or node.op in ("constant", "splat"):
            return node
        return self.constant(known[0], node.type)

    def node(
        self,
        op: str,
        operands: tuple[Node, ...],
        attributes: Attributes = (),
        type: str = "",
        data: tuple[int, ...] = (),
    ) -> Node:
        """The shared node of exactly this, with no rule applied."""
        shared = op not in UNSHARED
        key = (op, attributes, type, data, *[operand.number for operand in operands])
        if shared:
            have = self._shared.get(key)
            if have is not None:
                return have
        block = self.root
        launch = not operands and op in _LAUNCH_ROOTS
        if operands:
            launch = True
            for operand in operands:
                if operand.block.depth > block.depth:
                    block = operand.block
                launch = launch and operand.launch
        made = self.add(op, operands, attributes, type, data, block=block)
        made.launch = launch
        derive(made)
        if shared:
            self._shared[key] = made
        return made

    def add(
        self,
        op: str,
        operands: tuple[Node, ...],
        attributes: Attributes,
        type: str,
        data: tuple[int, ...],
        *,
        block: Block,
    ) -> Node:
        """A node that is equal to no other: an effect, a region argument."""
        made = Node(op, operands, attributes, type, data, block=block, location=self.location)
        made.number = len(self.nodes)
        self.nodes.append(made)
        made.digest = digest(op, attributes, type, data, [each.digest for each in operands])
        return made

    def region(self, around: Block) -> Block:
        """The block that all reductions share; it holds their arguments.

        A reduction inside a reduction has another one.
        """
        depth = around.depth + 1 if around.depth >= REGION_DEPTH else REGION_DEPTH
        block = self._regions.get(depth)
        if block is None:
            block = self._regions[depth] = Block(self.root, depth)
        return block

    def region_argument(self, block: Block, index: int, type: str) -> Node:
        """Argument `index` of a reduction at the depth of `block`, shared by all of them.

        Reductions at one depth are not inside each other, so which one an argument belongs to is
        always clear.
        """
        key = ("region argument", block.depth, index, type)
        have = self._shared.get(key)
        if have is None:
            have = self.add(
                "argument", (), (("depth", str(block.depth)),), type, (index,), block=block
            )
            derive(have)
            self._shared[key] = have
        return have

    def region_node(
        self,
        op: str,
        operands: tuple[Node, ...],
        attributes: Attributes,
        type: str,
        data: tuple[int, ...],
        *,
        yields: tuple[Node, ...],
    ) -> Node:
        """A reduction or scan of `operands` with a region that yields `yields`."""
        numbers = [each.number for each in (*operands, *yields)]
        key = (op, attributes, type, data, len(operands), *numbers)
        have = self._shared.get(key)
        if have is not None:
            return have
        block = self.root
        for each in (*operands, *_captured(yields)):
            if each.block.depth > block.depth:
                block = each.block
        body = Block(block, block.depth + 1)
        body.terminator = self.add("yield", yields, (), "", (), block=body)
        made = self.add(op, operands, attributes, type, data, block=block)
        made.blocks = (body,)
        body.owner = made
        made.digest = digest(op, (), "", (), [made.digest, body.terminator.digest])
        derive(made)
        self._shared[key] = made
        return made

    def constant(self, value: int, type: str) -> Node:
        """An integer constant of a tile type; a splat where the type has a shape.

        `value` is taken modulo the width and kept as a signed number (0 and 1 for `i1`).
        """
        bits = width_of(type)
        value &= (1 << bits) - 1
        if bits > 1 and value >> (bits - 1):
            value -= 1 << bits
        shape = shape_of(type)
        if not shape:
            return self.node("constant", (), (), type, (value,))
        scalar = tile((), element_of(type))
        return self.splat(self.node("constant", (), (), scalar, (value,)), shape)

    def splat(self, scalar: Node, shape: tuple[int, ...]) -> Node:
        """A tile of `shape` all of whose elements are `scalar`."""
        if not shape:
            return scalar
        return self.node("splat", (scalar,), (), tile(shape, element_of(scalar.type)))

    def rely(
        self, node: Node, conditions: Sequence[Condition], rule: str, harmless: str = ""
    ) -> bool:
        """Whether a rule may make `node` on conditions; if so, they are recorded.

        Args:
            node: The canonical node that is right if the conditions hold.
            conditions: What has to hold; nothing is recorded where there are none.
            rule: Name of the rule.
            harmless: See `Reliance`.
        """
        if not conditions:
            return True
        parts = [node.digest]
        for each in conditions:
            text = f"{each.relation}\0{each.bound}\0{each.constant}"
            parts.append(digest(text, (), "", (), [term.digest for term in each.terms]))
        key = (rule, digest("reliance", (), "", (), parts))
        if self.allowed is not None and key not in self.allowed:
            return False
        if key not in self.reliances:
            found = tuple(conditions)
            self.reliances[key] = Reliance(key, node, found, rule, self.location, harmless)
        return True


def _captured(yields: tuple[Node, ...]) -> list[Node]:
    """What a reduction's region uses from outside of it."""
    found: list[Node] = []
    seen: set[Node] = set()
    pending = list(yields)
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.block.depth < REGION_DEPTH:
            found.append(node)
        else:
            pending.extend(node.operands)
    return found


def digest(
    op: str,
    attributes: Attributes,
    type: str,
    data: tuple[int, ...],
    operands: list[bytes],
) -> bytes:
    """A structural hash: equal for equal structure, independent of any numbering."""
    return blake2b(
        f"{op}\0{attributes}\0{type}\0{data}\0".encode() + b"".join(operands), digest_size=16
    ).digest()


def as_constant(node: Node) -> int | None:
    """The value of an integer constant or of a splat of one, else None."""
    if node.op == "splat":
        node = node.operands[0]
    if node.op == "constant" and node.data and node.range is not None:
        return node.data[0]
    return None
