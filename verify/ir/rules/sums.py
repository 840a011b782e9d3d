"""Integer addition and multiplication as sums and products modulo 2^n.

Tile IR integer arithmetic wraps: an n-bit tile element is a residue modulo 2^n, and `addi`, `subi`,
`muli`, `negi` and `shli` are the operations of the ring of these residues. So any rearrangement
that is an identity of commutative rings is exact at every width, whatever overflows on the way. A
promise `overflow<...>` is kept apart, as a fact of the result.
"""

from __future__ import annotations

from tileport.verify.ir.canonical.graph import Draft, Graph, as_constant
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import element_of, shape_of, tile, width_of
from tileport.verify.ir.rules.engine import rewrites


def wrapped(value: int, bits: int) -> int:
    """`value` modulo 2^bits, as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


@rewrites("addi", "subi", "negi")
def addition_is_a_sum(graph: Graph, draft: Draft) -> Node | None:
    """`a + b`, `a - b` and `-a` are sums with factors 1 and -1.

    Proof: ring axioms; `a - b = a + (-1) * b` and `-a = (-1) * a` modulo 2^n.
    """
    if draft.attributes or width_of(draft.type) < 2:
        return None
    factors = {"addi": (0, 1, 1), "subi": (0, 1, -1), "negi": (0, -1)}[draft.op]
    return graph.make("sum", draft.operands, (), draft.type, factors)


@rewrites("shli")
def shift_left_is_a_multiple(graph: Graph, draft: Draft) -> Node | None:
    """`a << k` for a constant `0 <= k < n` is `2^k * a`.

    Proof: shifting in zeros at the low end multiplies by two modulo 2^n, k times.
    """
    bits = width_of(draft.type)
    by = as_constant(draft.operands[1])
    if draft.attributes or bits < 2 or by is None or not 0 <= by < bits:
        return None
    return graph.make("sum", draft.operands[:1], (), draft.type, (0, 1 << by))


@rewrites("muli")
def multiplication_is_a_product(graph: Graph, draft: Draft) -> Node | None:
    """`a * b` is a product. Proof: by definition."""
    if draft.attributes or width_of(draft.type) < 2:
        return None
    return graph.make("product", draft.operands, (), draft.type)


@rewrites("product")
def collect_product(graph: Graph, draft: Draft) -> Node | None:
    """Flatten, take constant factors out, order what is left.

    `(k * x) * y = k * (x * y)`, `x * (y * z) = (x * y) * z`, `x * y = y * x`,
    `k * (c + f1 * x1 + ...) = k * c + k * f1 * x1 + ...`, and the product of splats is the splat
    of the product.

    Proof: associativity, commutativity and distributivity in the ring of residues.
    """
    bits = width_of(draft.type)
    factor = 1
    rest: list[Node] = []
    pending = list(draft.operands)
    while pending:
        node = pending.pop()
        inner = node.operands[0] if node.op in ("splat", "broadcast") else node
        constant = as_constant(node)
        if constant is not None:
            factor = wrapped(factor * constant, bits)
        elif inner.op == "product":
            pending.extend(_lift(graph, each, node) for each in inner.operands)
        elif inner.op == "sum" and inner.data[0] == 0 and len(inner.operands) == 1:
            factor = wrapped(factor * inner.data[1], bits)
            pending.append(_lift(graph, inner.operands[0], node))
        else:
            rest.append(node)
    if not rest:
        return graph.constant(factor, draft.type)
    if factor == 0:
        return graph.constant(0, draft.type)
    if len(rest) == 1:
        return graph.make("sum", (rest[0],), (), draft.type, (0, factor))
    rest.sort(key=_digest)
    shape = shape_of(draft.type)
    if shape and all(node.op == "splat" for node in rest):
        scalar = graph.node(
            "product",
            tuple(node.operands[0] for node in rest),
            (),
            tile((), element_of(draft.type)),
        )
        product = graph.splat(scalar, shape)
    else:
        product = _through_broadcast(graph, "product", rest, draft.type, ())
    if factor == 1:
        return product
    return graph.make("sum", (product,), (), draft.type, (0, factor))


@rewrites("sum")
def collect_sum(graph: Graph, draft: Draft) -> Node | None:
    """Flatten, add up the factors of equal terms, drop zeros, order the terms.

    Sums inside sums, also inside a splat or a broadcast of one, are taken apart; a sum of splats
    is the splat of the sum; a sum of tiles broadcast from one shape is the broadcast of the sum.

    Proof: associativity, commutativity and distributivity in the ring of residues; splat and
    broadcast copy elements, and the sum is taken element by element.
    """
    bits = width_of(draft.type)
    constant = draft.data[0]
    factors: dict[Node, int] = {}
    pending = list(zip(draft.operands, draft.data[1:], strict=True))
    while pending:
        node, factor = pending.pop()
        inner = node.operands[0] if node.op in ("splat", "broadcast") else node
        if inner.op == "sum":
            constant += factor * inner.data[0]
            pending.extend(
                (_lift(graph, term, node), factor * by)
                for term, by in zip(inner.operands, inner.data[1:], strict=True)
            )
        elif inner.op == "constant" and inner.data:
            constant += factor * inner.data[0]
        else:
            factors[node] = factors.get(node, 0) + factor
    terms = [(node, reduced) for node, by in factors.items() if (reduced := wrapped(by, bits)) != 0]
    constant = wrapped(constant, bits)
    if not terms:
        return graph.constant(constant, draft.type)
    if len(terms) == 1 and constant == 0 and terms[0][1] == 1:
        return terms[0][0]
    terms.sort(key=lambda term: term[0].digest)
    nodes = [node for node, _ in terms]
    data = (constant, *[by for _, by in terms])
    shape = shape_of(draft.type)
    if shape and all(node.op == "splat" for node in nodes):
        scalars = tuple(node.operands[0] for node in nodes)
        scalar = graph.node("sum", scalars, (), tile((), element_of(draft.type)), data)
        return graph.splat(scalar, shape)
    return _through_broadcast(graph, "sum", nodes, draft.type, data)


def _through_broadcast(
    graph: Graph, op: str, nodes: list[Node], type: str, data: tuple[int, ...]
) -> Node:
    """The node of these operands, computed before the broadcast where all share one."""
    sources = {shape_of(node.operands[0].type) for node in nodes if node.op == "broadcast"}
    if len(sources) == 1 and all(node.op in ("broadcast", "splat") for node in nodes):
        source = sources.pop()
        inner = tuple(
            node.operands[0] if node.op == "broadcast" else graph.splat(node.operands[0], source)
            for node in nodes
        )
        small = tile(source, element_of(type))
        pairs = sorted(
            zip(inner, data[1:] or (1,) * len(inner), strict=True), key=lambda pair: pair[0].digest
        )
        ordered = tuple(node for node, _ in pairs)
        again = (data[0], *[by for _, by in pairs]) if data else ()
        return graph.node("broadcast", (graph.node(op, ordered, (), small, again),), (), type)
    return graph.node(op, tuple(nodes), (), type, data)


def _lift(graph: Graph, inner: Node, outer: Node) -> Node:
    """What `inner` is after the splat or broadcast that `outer` is (if it is one)."""
    if outer.op == "splat":
        return graph.splat(inner, shape_of(outer.type))
    if outer.op == "broadcast":
        if inner.op == "splat":
            return graph.splat(inner.operands[0], shape_of(outer.type))
        return graph.make("broadcast", (inner,), (), outer.type)
    return inner


def _digest(node: Node) -> bytes:
    return node.digest
