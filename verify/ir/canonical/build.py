"""Turns an entry of the IR model into the canonical graph.

One walk in textual order. Names, duplicate constants, dead and loop-invariant pure operations and
the order of independent operations disappear by construction: a pure operation is a shared node,
whatever region it stands in. Effects are kept in their region, ordered by tokens alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tileport.verify.errors import TileportError
from tileport.verify.ir.canonical.facts import Facts, attach, implied, subject
from tileport.verify.ir.canonical.floats import parse_float
from tileport.verify.ir.canonical.graph import REGION_DEPTH, Graph, as_constant
from tileport.verify.ir.canonical.memory import MEMORY, Access, access_of
from tileport.verify.ir.canonical.nodes import Attributes, Block, Node, Obligation
from tileport.verify.ir.canonical.ops import PURE, attributes_of
from tileport.verify.ir.canonical.order import EMPTY, Before, LoopOrder, TokenSet, join
from tileport.verify.ir.canonical.types import element_of, shape_of, tile, width_of
from tileport.verify.ir.intervals import derive, range_of
from tileport.verify.ir.model import Entry, Op, Value

Constant = int | float | bool


def _fits(value: Constant, type: str) -> bool:
    """Whether a parameter of this type can hold exactly this constant."""
    width = width_of(type)
    if not width:
        return True
    if value != int(value):
        return False
    return -(1 << (width - 1)) <= int(value) < (1 << width)


class Builder:
    """Builds one entry; `tileport.verify.ir.canonical.control` adds the ops with regions.

    Args:
        graph: Takes the nodes.
        target: Whose hints count, e.g. `sm_90`.
        constants: Values of the parameters that stand for constants, by name.
        globals: What each module global holds, as text, by symbol.
        limits: See `tileport.verify.ir.canonical.facts.attach`.
    """

    def __init__(
        self,
        graph: Graph,
        target: str,
        constants: Mapping[str, Constant],
        limits: Mapping[bytes, Facts] | None = None,
        globals: Mapping[str, str] | None = None,
    ) -> None:
        self.graph = graph
        self.target = target
        self.constants = constants
        self.globals = globals or {}
        self.limits = limits
        self.values: dict[Value, Node] = {}
        self.tokens: dict[Value, TokenSet] = {}
        self.effects: list[Node] = []
        self.unknown: set[str] = set()
        #: Parameters bound to a constant, with what they are bound to.
        self.bound: dict[str, Constant] = {}
        #: What each effect, loop and branch of the IR became; a branch that became selects is None.
        self.made: dict[Op, Node | None] = {}
        #: Loops and branches by number; for a branch that became a select, its condition.
        self.controls: dict[int, Node] = {}
        #: The tokens that each loop carries.
        self.orders: dict[int, LoopOrder] = {}
        self._constants: dict[tuple[str, str], Node] = {}
        self.block = graph.root
        self._numbers = 0

    # ------------------------------------------------------------ parameters

    def parameters(self, entry: Entry, identities: Sequence[str]) -> None:
        """Define the entry's parameters under their identities.

        Raises:
            TileportError: there are more or fewer identities than parameters, or one is given
                twice.
        """
        twice = [each for each, count in Counter(identities).items() if count > 1]
        if twice:
            raise TileportError(
                f"entry {entry.name} has two parameters for {twice[0]}",
                todo="name each parameter of the port after another one of Python's",
            )
        if len(identities) != len(entry.parameters):
            raise TileportError(
                f"entry {entry.name} has {len(entry.parameters)} parameters in Tile IR, "
                f"but {len(identities)} are named",
                todo="capture again, or report this as a bug of tileport",
            )
        self.graph.location = entry.location
        for value, identity in zip(entry.parameters, identities, strict=True):
            name = identity.removeprefix("const:")
            constant = self.constants.get(name) if name is not identity else None
            if constant is not None and _fits(constant, value.type):
                self.values[value] = self._constant(constant, value.type)
                self.bound[name] = constant
                continue
            node = self.graph.node("parameter", (), (("identity", identity),), value.type)
            self.values[value] = node

    def _constant(self, value: Constant, type: str) -> Node:
        element = element_of(type)
        if width_of(type):
            return self.graph.constant(int(value), type)
        bits = parse_float(repr(float(value)), element)
        if bits is None:
            attributes = (("value", repr(value)),)
            return self.graph.node("constant", (), attributes, type)
        return self.graph.node("constant", (), (), type, (bits,))

    # ------------------------------------------------------------ plain ops

    def plain(self, op: Op) -> None:
        """An op without regions that is no terminator."""
        name = op.name
        self.graph.location = op.location
        if not op.known:
            self.ordered(op)
        elif name == "constant":
            key = (op.attributes.get("value", ""), op.results[0].type)
            found = self._constants.get(key)
            if found is None:
                found = self._constants[key] = self._constant_op(*key)
            self.values[op.results[0]] = found
        elif name == "assume":
            self._assume(op)
        elif name == "make_token":
            self.tokens[op.results[0]] = EMPTY
        elif name == "join_tokens":
            self.tokens[op.results[0]] = join(self.tokens[each] for each in op.operands)
        elif name in PURE:
            self._pure(op)
        elif name in MEMORY or name == "print_tko":
            self._memory(op)
        elif name == "assert":
            self.effect(op, self._operands(op), Access("print", True, frozenset()), EMPTY)
        else:
            self.ordered(op)

    def _constant_op(self, text: str, type: str) -> Node:
        element = element_of(type)
        data: tuple[int, ...] = ()
        if width_of(type):
            if text in ("true", "false"):
                return self.graph.constant(int(text == "true"), type)
            if text.lstrip("-").isdecimal():
                return self.graph.constant(int(text), type)
        else:
            bits = parse_float(text, element)
            data = () if bits is None else (bits,)
        attributes: Attributes = () if data else (("value", text),)
        if text.startswith("["):
            return self.graph.node("constant", (), attributes, type)
        scalar = self.graph.node("constant", (), attributes, tile((), element), data)
        return self.graph.splat(scalar, shape_of(type))

    def _pure(self, op: Op) -> None:
        operands = self._operands(op)
        attributes = attributes_of(op, self.target)
        if op.name == "get_global":
            attributes = self._global(op)
        if len(op.results) == 1:
            flag = op.attributes.get("overflow", "")
            if flag:
                attributes = tuple(each for each in attributes if each[0] != "overflow")
            node = self.graph.make(op.name, operands, attributes, op.results[0].type)
            self.values[op.results[0]] = node
            if flag:
                self._promise(node, overflow_promise(flag, op.name, operands))
            if op.name in ("divi", "remi"):
                self._oblige(op, operands, node)
            return
        for index, result in enumerate(op.results):
            self.values[result] = self.graph.make(
                op.name, operands, attributes, result.type, (index,)
            )

    def _global(self, op: Op) -> Attributes:
        """What the global holds, in place of its name: two names of equal content are equal.

        Raises:
            TileportError: the module has no such global.
        """
        symbol = op.attributes.get("name", "")
        if symbol not in self.globals:
            raise TileportError(f"the Tile IR uses a global {symbol} that it does not define")
        return (("holds", self.globals[symbol]),)

    def _oblige(self, op: Op, operands: tuple[Node, ...], witness: Node) -> None:
        """Remember a division whose divisor is not proven to differ from zero."""
        divisor = operands[1]
        if width_of(divisor.type) < 2:
            return
        low, high = range_of(divisor)
        if low <= 0 <= high:
            obligation = Obligation(divisor, witness, frozenset(), op.location)
            self.block.obligations.append(obligation)

    def _operands(self, op: Op) -> tuple[Node, ...]:
        values = self.values
        return tuple([values[each] for each in op.operands if each in values])

    # ------------------------------------------------------------ promises

    def _assume(self, op: Op) -> None:
        node = self.values[op.operands[0]]
        self.values[op.results[0]] = node
        predicate = op.attributes.get("predicate", "")
        self._promise(subject(node, predicate), predicate)

    def _promise(self, about: Node, predicate: str) -> None:
        """Take in that `predicate` holds for a value where this point is reached."""
        if as_constant(about) is not None or implied(about, predicate):
            return
        # The arguments of reductions are shared between reductions: a promise about one is a part
        # of the body it stands in.
        if about.block is self.block and about.block.depth < REGION_DEPTH:
            facts = Facts()
            facts.add(predicate)
            attach(about, facts, self.limits)
            return
        # It holds only where this region is reached: an effect of the region.
        attributes = (("predicate", predicate),)
        promise = self.graph.add("assume", (about,), attributes, "", (), block=self.block)
        self._append(promise, Access("promise", True, frozenset()), EMPTY)

    def promises(self, ops: Sequence[Op], arguments: Sequence[Value]) -> None:
        """Attach what the region of `arguments` assumes about them, wherever in it it says so.

        Only up to the first op that may leave the region early: after it the promise is made on
        some paths alone.
        """
        found: dict[Value, Facts] = {}
        roots = {value: value for value in arguments}
        for op in ops:
            if op.name == "assume" and op.known:
                root = roots.get(op.operands[0])
                if root is not None:
                    roots[op.results[0]] = root
                    found.setdefault(root, Facts()).add(op.attributes.get("predicate", ""))
            elif op.regions and op.name == "if" and may_exit(op):
                break
        for value, facts in found.items():
            node = self.values.get(value)
            if node is not None and node.block is self.block and node.op != "constant":
                attach(node, facts, self.limits)

    # ------------------------------------------------------------ effects

    def _memory(self, op: Op) -> None:
        operands = self._operands(op)
        tokens = [self.tokens[each] for each in op.operands_in("token")]
        ordering = op.attributes.get("memory_ordering_semantics", "")
        address = op.operand("view") or op.operand("pointer")
        access = access_of(op.name, ordering, self.values[address] if address else None)
        self.effect(op, operands, access, join(tokens))

    def effect(self, op: Op, operands: tuple[Node, ...], access: Access, after: TokenSet) -> Node:
        """Add an effect to the current block and define its results."""
        node = self.graph.add(
            op.name, operands, attributes_of(op, self.target), self._types(op), (), block=self.block
        )
        self._append(node, access, after)
        self.results(op, node)
        self.made[op] = node
        return node

    def is_live(self, op: Op) -> bool:
        """Whether an effect, loop or branch of the IR is live in the finished graph."""
        if op not in self.made:
            return False
        node = self.made[op]
        return node is None or node.live

    def results(self, op: Op, node: Node) -> None:
        """Define the results of an op that is an effect."""
        assert node.before is not None
        for index, result in enumerate(op.results):
            if result.type == "token":
                self.tokens[result] = node.before.token()
            else:
                self.values[result] = self.result(node, index, result.type, self.block)

    def result(self, owner: Node, index: int, type: str, block: Block) -> Node:
        """Result `index` of a node with regions or effects, available from `block` on."""
        made = self.graph.add("result", (owner,), (), type, (index,), block=block)
        derive(made)
        return made

    def _append(self, node: Node, access: Access, after: TokenSet) -> None:
        node.before = Before(len(self.effects), after.mask, after.arguments, after.odd)
        node.access = access
        node.segment = self.block.segment
        self.effects.append(node)
        self.block.effects.append(node)

    def ordered(self, op: Op, blocks: tuple[Block, ...] = ()) -> Node:
        """An op whose effects are not known: nothing moves across it.

        It is compared by its text (SSA names left out), operands and types.
        """
        if not op.known:
            self.unknown.add(op.name)
        self.block.segment += 1
        attributes = attributes_of(op, self.target)
        if not op.known:
            attributes = (("text", op.verbatim),)
        roles = (("operands", ", ".join(op.roles)),)
        tokens = join(self.tokens[each] for each in op.operands if each in self.tokens)
        node = self.graph.add(
            op.name, self._operands(op), attributes + roles, self._types(op), (), block=self.block
        )
        node.blocks = blocks
        self._append(node, Access("any", False, None), tokens)
        self.block.segment += 1
        self.results(op, node)
        self.made[op] = node
        return node

    @staticmethod
    def _types(op: Op) -> str:
        return ", ".join(each.type for each in op.results if each.type != "token")

    # ------------------------------------------------------------ blocks

    def open_block(self, group: int) -> Block:
        """A new region inside the current one."""
        return Block(self.block, self.block.depth + 1, group)

    def next_control(self) -> int:
        """A number for a loop or branch."""
        self._numbers += 1
        return self._numbers


def overflow_promise(flag: str, op: str, operands: tuple[Node, ...]) -> str:
    """The promise that an operation does not overflow, as a fact of its result.

    The operation itself is rewritten as if it made no promise; so the promise says which operands
    it is about, and two promises are one only if they are about the same.
    """
    digests = [each.digest.hex() for each in operands]
    if op in ("addi", "muli"):
        digests.sort()
    return f"overflow<{flag}> {op} {' '.join(digests)}"


def may_exit(op: Op) -> bool:
    """Whether a branch can leave the region it stands in (by `break`, `continue`, `return`)."""
    pending = [op]
    while pending:
        at = pending.pop()
        for region in at.regions:
            for inner in region.ops:
                if inner.name in ("break", "continue", "return"):
                    return True
                if inner.name == "if":
                    pending.append(inner)
    return False
