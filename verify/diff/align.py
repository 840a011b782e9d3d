"""Pairs the nodes of two canonical graphs and finds where they differ first.

Effects are paired block by block, then the pairs are followed from the effects down to the
parameters. A pair whose own op, attributes and type are equal differs only through its operands
and is no cause; where a pair itself differs is a cause. So one change shows once, however much is
computed from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileport.verify.diff.alignment import Alignment, Cause
from tileport.verify.diff.kin import beneath, fused, telling, turned, unwrap
from tileport.verify.diff.similar import match_effects, match_operands
from tileport.verify.ir.canonical import Canonical
from tileport.verify.ir.canonical.finish import COMMUTATIVE, operands_of
from tileport.verify.ir.canonical.graph import REGION_DEPTH
from tileport.verify.ir.canonical.nodes import Block, Node
from tileport.verify.ir.canonical.types import element_of, shape_of
from tileport.verify.ir.grammar_types import tensor_view_type


@dataclass(slots=True)
class _Step:
    reference: Node
    port: Node
    role: str
    reference_user: Node | None
    port_user: Node | None


#: What an operand of an effect is for, by op and position; what is left out has no role.
_ROLES = {
    "for": ("lower", "upper", "step"),
    "if": ("condition",),
    "branch": ("condition",),
    "load_view_tko": ("view",),
    "store_view_tko": ("value", "view"),
    "offset": ("pointer", "offset"),
}
_REST = {"load_view_tko": "index", "store_view_tko": "index", "for": "carried", "loop": "carried"}
_CONTROL = frozenset({"for", "loop", "if", "branch"})
_MMA = frozenset({"mmaf", "mmai", "mmaf_scaled"})
_SHAPING = frozenset({"splat", "broadcast", "reshape", "iota"})
_ENDS = frozenset({"continue", "break", "yield", "return"})


def role_of(node: Node, place: int) -> str:
    """What operand `place` of a node is for."""
    named = node.attribute("operands")
    if named:
        roles = named.split(", ")
        return roles[place] if place < len(roles) else ""
    roles_of = _ROLES.get(node.op, ())
    return roles_of[place] if place < len(roles_of) else _REST.get(node.op, "")


class Aligner:
    """Builds the alignment of two canonical forms."""

    def __init__(self, reference: Canonical, port: Canonical) -> None:
        self.result = Alignment(reference, port)
        self._seen: set[tuple[Node, Node]] = set()
        self._steps: list[_Step] = []
        self._found: set[tuple[str, Node | None, Node | None, str]] = set()
        #: Port values by key, to recognise what is only wrapped in another op.
        self._carried: dict[tuple[Node, int], int] = {}

    def run(self) -> Alignment:
        """Pair everything and collect the causes."""
        self._blocks(self.result.reference.root, self.result.port.root)
        while self._steps:
            self._compare(self._steps.pop())
        return self.result

    # ------------------------------------------------------------ effects

    def _blocks(self, reference: Block, port: Block) -> None:
        pending = [(reference, port)]
        while pending:
            left, right = pending.pop(0)
            self.result.blocks[left] = right
            pairs, missing, extra = match_effects(
                [each for each in left.effects if each.live],
                [each for each in right.effects if each.live],
            )
            for one, other in pairs:
                self._pair(one, other)
                self._step(one, other, "", None, None)
                pending.extend(zip(one.blocks, other.blocks, strict=False))
            for node in missing:
                self._cause("missing", node, None)
            for node in extra:
                self._cause("extra", None, node)
            if left.terminator is not None and right.terminator is not None:
                one, other = left.terminator, right.terminator
                if one.op == other.op:
                    self._pair(one, other)
                    self._step(one, other, "", None, None)
                    pending.extend(zip(one.blocks, other.blocks, strict=False))
                else:
                    self._cause("op", one, other)

    # ------------------------------------------------------------ values

    def _pair(self, reference: Node, port: Node) -> None:
        self.result.forward.setdefault(reference, port)
        self.result.backward.setdefault(port, reference)

    def _cause(
        self,
        kind: str,
        reference: Node | None,
        port: Node | None,
        name: str = "",
        step: _Step | None = None,
    ) -> None:
        key = (kind, reference, port, name)
        if key in self._found:
            return
        self._found.add(key)
        self.result.causes.append(
            Cause(
                kind,
                reference,
                port,
                name,
                step.role if step else "",
                step.reference_user if step else None,
                step.port_user if step else None,
            )
        )

    def _step(
        self,
        reference: Node,
        port: Node,
        role: str,
        reference_user: Node | None,
        port_user: Node | None,
    ) -> None:
        if (reference, port) not in self._seen:
            self._seen.add((reference, port))
            self._steps.append(_Step(reference, port, role, reference_user, port_user))

    def _compare(self, step: _Step) -> None:
        one, other = step.reference, step.port
        if one.key == other.key and one.op not in _CONTROL and one.op not in ("argument", "result"):
            self._pair(one, other)
            self._follow_equal(one, other, step)
            return
        if one.op != other.op:
            self._other_op(step)
            return
        self._pair(one, other)
        if one.op == "argument":
            self._arguments(step)
        elif one.op == "result":
            self._results(step)
        else:
            self._attributes(step)
            self._types(step)
            self._operands(step)

    def _follow_equal(self, one: Node, other: Node, step: _Step) -> None:
        """Equal keys: pair what is below as well, so that facts and order can be compared."""
        left = operands_of(one, self.result.reference.receiver)
        right = operands_of(other, self.result.port.receiver)
        if len(left) == len(right):
            for place, (first, second) in enumerate(zip(left, right, strict=True)):
                self._step(first, second, role_of(one, place) or step.role, one, other)

    def _attributes(self, step: _Step) -> None:
        one, other = step.reference, step.port
        if one.op == "parameter" and one.attributes != other.attributes:
            self._cause("use", one, other, "", step)
            return
        left, right = dict(one.attributes), dict(other.attributes)
        if left.get("text") != right.get("text"):
            # An op without a grammar, at least on one side.
            self._cause("op", one, other, "text", step)
            return
        for name in sorted({*left, *right}):
            if left.get(name) != right.get(name):
                self._cause("attribute", one, other, name, step)

    def _types(self, step: _Step) -> None:
        """A type that is not just that of the operands."""
        one, other = step.reference, step.port
        if one.type == other.type or one.op in _CONTROL or one.op in _ENDS:
            return
        left, right = self._operand_lists(one, other)
        kinds = [
            (first, second)
            for first, second in zip(left, right, strict=False)
            if first.type != second.type
        ]
        if one.op == "make_tensor_view":
            kinds = [pair for pair in kinds if element_of(pair[0].type) != element_of(pair[1].type)]
        own = (
            # What a view says of its own (tile, padding, dim map) is told apart later.
            one.op.startswith("make_")
            or not kinds
            or (one.op in _MMA and element_of(one.type) != element_of(other.type))
            or (one.op in _SHAPING and shape_of(one.type) != shape_of(other.type))
        )
        if own:
            self._cause("type", one, other, "", step)

    def _operand_lists(self, one: Node, other: Node) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
        return (
            operands_of(one, self.result.reference.receiver),
            operands_of(other, self.result.port.receiver),
        )

    def _operands(self, step: _Step) -> None:
        one, other = step.reference, step.port
        left, right = self._operand_lists(one, other)
        if one.op in ("for", "loop", "if") and one.blocks and other.blocks:
            self._control(step)
            return
        if one.op in ("continue", "break", "yield"):
            self._ends(one, other)
            return
        commutative = one.op in COMMUTATIVE or (one.op == "fma" and other.op == "fma")
        named = one.attribute("operands"), other.attribute("operands")
        if one.op == "make_tensor_view" and len(left) != len(right):
            self._by_dimension(step)
        elif named[0] != named[1]:
            self._by_role(step, left, right)
        elif commutative:
            self._unordered(step, left, right)
        elif one.op == "select" and turned(one, other):
            self._turned(step)
        else:
            for place, (first, second) in enumerate(zip(left, right, strict=False)):
                self._step(first, second, role_of(one, place) or step.role, one, other)
            for node in left[len(right) :]:
                self._cause("missing", node, None, "", step)
            for node in right[len(left) :]:
                self._cause("extra", None, node, "", step)
        if one.op not in ("sum",) and one.data != other.data:
            self._cause("data", one, other, "", step)
        for first_block, second_block in zip(one.blocks, other.blocks, strict=False):
            end, other_end = first_block.terminator, second_block.terminator
            if one.op in ("reduce", "scan") and end is not None and other_end is not None:
                for each, twin in zip(end.operands, other_end.operands, strict=False):
                    self._step(each, twin, "region", one, other)

    def _unordered(self, step: _Step, left: tuple[Node, ...], right: tuple[Node, ...]) -> None:
        one, other = step.reference, step.port
        factors = (one.factors()[1:], other.factors()[1:]) if one.op == "sum" else ((), ())
        head = (left[:2], right[:2]) if one.op == "fma" else (left, right)
        pairs, missing, extra = match_operands(*head, *factors)
        changed = one.op == "sum" and one.data[0] != other.data[0]
        for first, second in pairs:
            self._step(left[first], right[second], step.role, one, other)
            if one.op == "sum" and factors[0][first] != factors[1][second]:
                changed = True
        for place in missing:
            self._cause("missing", left[place], None, "term", _under(step))
        for place in extra:
            self._cause("extra", None, right[place], "term", _under(step))
        if one.op == "fma":
            self._step(left[2], right[2], step.role, one, other)
        if changed:
            self._cause("data", one, other, "", step)

    def _turned(self, step: _Step) -> None:
        """A select whose condition was turned around: `a < b ? x : y` against `b < a ? y : x`."""
        one, other = step.reference, step.port
        first, second = one.operands[0], other.operands[0]
        self._pair(first, second)
        self._cause("op", first, second, "turned", step)
        for place, twin in ((1, 2), (2, 1)):
            self._step(one.operands[place], other.operands[twin], step.role, one, other)
        if len(first.operands) == len(second.operands) == 2:
            for place, twin in ((0, 1), (1, 0)):
                self._step(first.operands[place], second.operands[twin], step.role, first, second)

    def _by_role(self, step: _Step, left: tuple[Node, ...], right: tuple[Node, ...]) -> None:
        one, other = step.reference, step.port
        roles = {role_of(one, place): node for place, node in enumerate(left)}
        others = {role_of(other, place): node for place, node in enumerate(right)}
        for role, node in roles.items():
            if role in others:
                self._step(node, others[role], role, one, other)

    def _by_dimension(self, step: _Step) -> None:
        """Tensor views with different static extents: pair operands by what they stand for."""
        one, other = step.reference, step.port
        left, right = tensor_operands(one), tensor_operands(other)
        for name, node in left.items():
            if name in right:
                self._step(node, right[name], name, one, other)

    # ------------------------------------------------------------ loops and branches

    def _control(self, step: _Step) -> None:
        one, other = step.reference, step.port
        if one.op == "for":
            roles = ("lower", "upper", "step")
            for role, first, second in zip(roles, one.operands, other.operands, strict=False):
                self._step(first, second, role, one, other)
        elif one.op == "if":
            self._step(one.operands[0], other.operands[0], "condition", one, other)
        start = 3 if one.op == "for" else 0
        places = self._places(one, other, "carried")
        for place in one.carried:
            if place not in places:
                self._cause("missing", one.operands[start + place], None, "carried", _under(step))
        for place in other.carried:
            if place not in places.values():
                self._cause("extra", None, other.operands[start + place], "carried", _under(step))
        for place, twin in places.items():
            self._carried[(one, place)] = twin
            self._step(
                one.operands[start + place], other.operands[start + twin], "carried", one, other
            )
            self._pair_ends(one, other, "continue", place, twin)
        if one.op in ("loop", "if"):
            kind = "break" if one.op == "loop" else "yield"
            for place, twin in self._places(one, other, "produced").items():
                self._pair_ends(one, other, kind, place, twin)
        for block, twin_block in zip(one.blocks, other.blocks, strict=False):
            self.result.blocks.setdefault(block, twin_block)
            end, other_end = block.terminator, twin_block.terminator
            if end is not None and other_end is not None and end.op == other_end.op:
                self._pair(end, other_end)
                self._step(end, other_end, "", None, None)
        if len(one.blocks) != len(other.blocks):
            self._cause("op", one, other, "", step)

    def _pair_ends(self, one: Node, other: Node, op: str, place: int, twin: int) -> None:
        left = [end for end in one.ends if end.op == op]
        right = [end for end in other.ends if end.op == op]
        for first, second in zip(left, right, strict=False):
            if place < len(first.operands) and twin < len(second.operands):
                self._step(first.operands[place], second.operands[twin], "carried", one, other)

    def _places(self, one: Node, other: Node, what: str) -> dict[int, int]:
        """Which carried value (or result) of one loop is which of the other."""
        left: tuple[int, ...] = getattr(one, what)
        right: tuple[int, ...] = getattr(other, what)
        start = 3 if one.op == "for" else 0
        carried = what == "carried"

        def color(node: Node, place: int, exact: bool) -> tuple[object, ...]:
            ends = [end.operands[place] for end in node.ends if place < len(end.operands)]
            kind = ends[0].type if ends else ""
            begin = node.operands[start + place].key if carried and one.op != "if" else b""
            digests = tuple(each.digest for each in ends) if exact else ()
            return (kind, begin, digests)

        found: dict[int, int] = {}
        free = list(right)
        for level in range(3):
            for place in left:
                if place in found:
                    continue
                want = color(one, place, level == 0)
                for twin in free:
                    have = color(other, twin, level == 0)
                    if have == want or (level == 2 and have[0] == want[0]):
                        found[place] = twin
                        free.remove(twin)
                        break
        for place in left:
            if place not in found and free:
                found[place] = free.pop(0)
        return found

    def _ends(self, one: Node, other: Node) -> None:
        owner = self.result.reference.receiver.get(one)
        if owner is None and len(one.operands) == len(other.operands):
            for first, second in zip(one.operands, other.operands, strict=True):
                self._step(first, second, "", one, other)

    def _arguments(self, step: _Step) -> None:
        one, other = step.reference, step.port
        owner, twin = one.block.owner, other.block.owner
        if one.block.depth >= REGION_DEPTH or owner is None or twin is None:
            if one.data != other.data:
                self._cause("use", one, other, "", step)
            return
        if self.result.forward.get(owner) is not twin:
            self._cause("use", one, other, "", step)
            return
        if owner.op not in ("for", "loop"):
            return
        first = one.data[0] - (owner.op == "for")
        second = other.data[0] - (twin.op == "for")
        expected = self._carried.get((owner, first), first)
        if (first < 0) != (second < 0) or (first >= 0 and expected != second):
            self._cause("use", one, other, "", step)

    def _results(self, step: _Step) -> None:
        one, other = step.reference, step.port
        owner, twin = one.operands[0], other.operands[0]
        have = self.result.forward.get(owner)
        if have is None and self.result.backward.get(twin) is None and owner.op == twin.op:
            # A loop or branch without effects: it is met here for the first time.
            self._pair(owner, twin)
            self._step(owner, twin, step.role, step.reference_user, step.port_user)
            for block, twin_block in zip(owner.blocks, twin.blocks, strict=False):
                self._blocks(block, twin_block)
            return
        if have is not twin:
            self._cause("use", one, other, "", step)
            return
        if owner.op == "for":
            expected = self._carried.get((owner, one.data[0]), one.data[0])
            if expected != other.data[0]:
                self._cause("use", one, other, "", step)

    # ------------------------------------------------------------ other ops

    def _other_op(self, step: _Step) -> None:
        """Different ops: one side may only wrap what the other has."""
        one, other = step.reference, step.port
        products = fused(one, other)
        if products:
            self._pair(one, other)
            self._cause("op", one, other, "", step)
            for first, second in products:
                self._step(first, second, step.role, one, other)
            return
        chain = unwrap(one, other)
        if chain is not None:
            self._cause("missing", telling(chain[:-1]), other, "", step)
            self._step(chain[-1], other, step.role, one, step.port_user)
            return
        chain = unwrap(other, one)
        if chain is not None:
            self._cause("extra", one, telling(chain[:-1]), "", step)
            self._step(one, chain[-1], step.role, step.reference_user, other)
            return
        self._pair(one, other)
        self._cause("op", one, other, "", step)
        for first, second in beneath(one, other):
            self._step(first, second, step.role, one, other)


def _under(step: _Step) -> _Step:
    return _Step(step.reference, step.port, step.role, step.reference, step.port)


def tensor_operands(node: Node) -> dict[str, Node]:
    """The operands of a make_tensor_view by what they are: `base`, `shape[0]`, `stride[1]`."""
    found = {"base": node.operands[0]}
    view = tensor_view_type(node.type)
    if view is None:
        return found
    rest = iter(node.operands[1:])
    for word, extents in (("shape", view.shape), ("stride", view.strides)):
        for dimension, extent in enumerate(extents):
            if extent is None:
                value = next(rest, None)
                if value is not None:
                    found[f"{word}[{dimension}]"] = value
    return found
