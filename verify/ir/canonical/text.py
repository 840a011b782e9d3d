"""The canonical form as lines, for the eye and for `tileport ir --canonical`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tileport.verify.ir.canonical.expression import constant_text
from tileport.verify.ir.canonical.facts import essential
from tileport.verify.ir.canonical.finish import operands_of
from tileport.verify.ir.canonical.graph import REGION_DEPTH
from tileport.verify.ir.canonical.nodes import Block, Node
from tileport.verify.ir.grammar_types import tensor_view_type, view_type
from tileport.verify.ir.model import Location

#: Shown inside the line that uses them.
_INLINE = frozenset({"constant", "argument", "get_tile_block_id", "get_num_tile_blocks"})
_AXES = "xyz"
_HIDDEN = frozenset({"operands", "identity", "depth"})


@dataclass(frozen=True, slots=True)
class CanonicalLine:
    """One line; `node` is what it shows, None for a closing brace."""

    text: str
    depth: int
    location: Location
    node: Node | None


class Namer:
    """Gives values short names (`%0`, `%1`), in the order in which they are asked for.

    Args:
        known: Names that are already given; asked first.
    """

    def __init__(self, known: Callable[[Node], str | None] | None = None) -> None:
        self._known = known
        self._names: dict[Node, str] = {}

    def name(self, node: Node) -> str:
        """The name of a node that has a line of its own."""
        found = self._names.get(node)
        if found is None:
            given = self._known(node) if self._known is not None else None
            found = self._names[node] = given or f"%{len(self._names)}"
        return found

    def short(self, node: Node) -> str:
        """How a node is written where it is used."""
        op = node.op
        if op == "parameter":
            return node.attribute("identity")
        if op == "constant":
            return constant_text(node)
        if op == "splat":
            return self.short(node.operands[0])
        if op == "result":
            owner = node.operands[0]
            if len(owner.produced) < 2:
                return self.name(owner)
            return f"{self.name(owner)}#{_place(owner.produced, node.data[0])}"
        if op == "argument":
            return self._argument(node)
        if op == "get_tile_block_id":
            return f"block_{_AXES[node.data[0]]}"
        if op == "get_num_tile_blocks":
            return f"blocks_{_AXES[node.data[0]]}"
        return self.name(node)

    def _argument(self, node: Node) -> str:
        owner = node.block.owner
        if owner is None or node.block.depth >= REGION_DEPTH:
            return f"@{node.data[0]}"
        if owner.op == "for" and node.data[0] == 0:
            return f"{self.name(owner)}.i"
        place = node.data[0] - (owner.op == "for")
        return f"{self.name(owner)}.{_place(owner.carried, place)}"


def _place(places: tuple[int, ...], place: int) -> int:
    return places.index(place) if place in places else place


def has_line(node: Node) -> bool:
    """Whether a live node is shown on a line of its own."""
    if node.op in _INLINE or node.op in ("parameter", "result", "splat"):
        return False
    return node.block.depth < REGION_DEPTH


def in_order(root: Block, nodes: list[Node]) -> dict[Block, list[Node]]:
    """The live nodes that have lines, by block, in the order of the source."""
    found: dict[Block, list[Node]] = {}
    for node in nodes:
        if node.live and has_line(node):
            found.setdefault(node.block, []).append(node)
    found.setdefault(root, [])
    return found


def describe(node: Node, namer: Namer, receiver: dict[Node, Node]) -> str:
    """One node as a line, without its regions."""
    op = node.op
    operands = operands_of(node, receiver)
    shown = [namer.short(each) for each in operands]
    if op == "for":
        lower, upper, step, *starts = shown
        text = f"{namer.name(node)} = for {lower}..{upper} step {step}"
        return f"{text} ({', '.join(starts)})" if starts else text
    if op in ("if", "branch"):
        return f"if {shown[0]}" if op == "branch" else f"{namer.name(node)} = if {shown[0]}"
    if op in ("continue", "break", "yield", "return"):
        return f"{op} {', '.join(shown)}".rstrip()
    name = f"{namer.name(node)} = " if node.type or op == "loop" else ""
    if op == "sum":
        body = _sum(node, shown)
    elif op == "product":
        body = f"muli {' * '.join(shown)}"
    elif op in ("reduce", "scan"):
        body = f"{op} {', '.join(shown)} {{{_region(node, namer)}}}"
    else:
        body = f"{op} {', '.join(shown)}".rstrip()
    words = [_word(key, text) for key, text in node.attributes if key not in _HIDDEN]
    facts = [
        each.partition("> ")[0] + ">" if each.startswith("overflow<") else each
        for each in essential(node)
    ]
    return " ".join(
        [
            name + body,
            *words,
            *([f": {short_type(node.type)}"] if node.type else []),
            *([f"assume {', '.join(facts)}"] if facts else []),
        ]
    )


def _sum(node: Node, shown: list[str]) -> str:
    terms = [
        f"{'-' if by < 0 else '+'} {'' if abs(by) == 1 else f'{abs(by)} * '}{term}"
        for by, term in zip(node.factors()[1:], shown, strict=True)
    ]
    text = " ".join(terms).removeprefix("+ ")
    constant = node.data[0]
    if constant:
        text += f" {'-' if constant < 0 else '+'} {abs(constant)}"
    return f"addi {text}"


def _region(node: Node, namer: Namer) -> str:
    end = node.blocks[0].terminator
    return ", ".join(_inner(each, namer, 0) for each in end.operands) if end is not None else ""


def _inner(node: Node, namer: Namer, depth: int) -> str:
    if not node.operands or node.block.depth < REGION_DEPTH or depth > 6:
        return namer.short(node) if depth <= 6 else "..."
    words = "".join(f" {_word(key, text)}" for key, text in node.attributes)
    inner = ", ".join(_inner(each, namer, depth + 1) for each in node.operands)
    return f"{node.op}({inner}){words}"


def _word(name: str, text: str) -> str:
    if text == "true":
        return name
    if name in ("comparison_predicate", "comparison_ordering", "signedness", "mode"):
        return text
    if name in ("memory_ordering_semantics", "memory_scope"):
        return text
    if name in ("rounding", "rounding_mode"):
        return f"rounding<{text}>"
    return f"{name}={text}"


def short_type(text: str) -> str:
    """A type without what the operands say anyway: of a view only tile, padding and dim map."""
    view = view_type(text)
    if view is not None:
        words = [f"tile=({'x'.join(str(each) for each in view.tile)})"]
        if view.padding_value:
            words.append(f"padding={view.padding_value}")
        if view.dim_map != tuple(range(len(view.dim_map))):
            words.append(f"dim_map={list(view.dim_map)}")
        return f"{view.kind}<{', '.join([*words, *view.rest])}>"
    if tensor_view_type(text) is not None:
        return text
    return text.removeprefix("tile<").removesuffix(">") if text.startswith("tile<") else text


def lines_of(
    root: Block, nodes: list[Node], receiver: dict[Node, Node], namer: Namer | None = None
) -> list[CanonicalLine]:
    """The whole canonical form as lines, in the order of the source."""
    names = namer or Namer()
    by_block = in_order(root, nodes)
    found: list[CanonicalLine] = []
    # Blocks to show, and text that closes them; the last one is next.
    stack: list[tuple[list[Node], int, str]] = [(by_block[root][::-1], 0, "")]
    while stack:
        pending, depth, closing = stack[-1]
        if not pending:
            stack.pop()
            if closing:
                found.append(CanonicalLine(closing, depth - 1, (), None))
            continue
        node = pending.pop()
        text = describe(node, names, receiver)
        inner = [block for block in node.blocks if node.op not in ("reduce", "scan")]
        if inner:
            text += " {"
        found.append(CanonicalLine(text, depth, node.location, node))
        for place in range(len(inner) - 1, -1, -1):
            closing = "} else {" if place < len(inner) - 1 else "}"
            stack.append((by_block.get(inner[place], [])[::-1], depth + 1, closing))
    return found
