"""Reshape, broadcast, permute and splat: one spelling for each way to lay elements out.

A tile is a function from indexes to elements. `reshape` keeps the row-major order of the elements,
`broadcast` repeats along dimensions of size one, `permute` renames dimensions, and `splat` is a
constant function. An elementwise operation computes each element from the elements at the same
index, so it commutes with all of them.

In the canonical form these operations stand as far out as they can: first the arithmetic on the
smallest tile, then the layout.
"""

from __future__ import annotations

from tileport.verify.ir.canonical.graph import Draft, Graph
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import Shape, element_of, shape_of, tile
from tileport.verify.ir.rules.engine import rewrites

#: Each element of the result depends on the elements of the operands at the same index alone, and
#: on nothing else. All operands and the result have one shape.
ELEMENTWISE = (
    "absf", "absi", "addf", "addi", "andi", "atan2", "bitcast", "ceil", "cmpf", "cmpi", "cos",
    "cosh", "divf", "divi", "exp", "exp2", "exti", "floor", "fma", "fpowf", "fpowi", "ftof",
    "ftoi", "int_to_ptr", "itof", "log", "log2", "maxf", "maxi", "minf", "mini", "mulf", "mulhii",
    "muli", "negf", "negi", "offset", "ori", "ptr_to_int", "ptr_to_ptr", "remf", "remi", "rsqrt",
    "select", "shli", "shri", "sin", "sinh", "sqrt", "subf", "subi", "tan", "tanh", "trunci",
    "xori",
)  # fmt: skip


@rewrites(*ELEMENTWISE)
def elementwise_before_layout(graph: Graph, draft: Draft) -> Node | None:
    """`f(layout(a), layout(b))` is `layout(f(a, b))` for one reshape, broadcast or permute.

    It applies where every operand is a splat or has that same layout of the same source shape,
    and at least one is no splat; where all are splats the result is the splat of `f` of scalars.

    Proof: the layout picks, for each index of its result, one index of its source. It is the same
    for all operands, and a splat has the same element everywhere. `f` is elementwise, so
    computing at the source index and then laying out gives the same element.
    """
    shape = shape_of(draft.type)
    if not shape:
        return None
    layout: Node | None = None
    for operand in draft.operands:
        if operand.op == "splat":
            continue
        if operand.op not in ("reshape", "broadcast", "permute"):
            return None
        if layout is None:
            layout = operand
        elif (
            operand.op != layout.op
            or operand.attributes != layout.attributes
            or shape_of(operand.operands[0].type) != shape_of(layout.operands[0].type)
        ):
            return None
    if layout is None:
        scalars = tuple(operand.operands[0] for operand in draft.operands)
        kind = tile((), element_of(draft.type))
        return graph.splat(graph.make(draft.op, scalars, draft.attributes, kind, draft.data), shape)
    source = shape_of(layout.operands[0].type)
    inner = tuple(
        graph.splat(operand.operands[0], source) if operand.op == "splat" else operand.operands[0]
        for operand in draft.operands
    )
    kind = tile(source, element_of(draft.type))
    value = graph.make(draft.op, inner, draft.attributes, kind, draft.data)
    return graph.make(layout.op, (value,), layout.attributes, draft.type)


def _significant(shape: Shape) -> list[int]:
    return [extent for extent in shape if extent != 1]


@rewrites("reshape")
def simplify_reshape(graph: Graph, draft: Draft) -> Node | None:
    """Reshapes join, vanish where nothing changes, and pass through splat and broadcast.

    - To the same shape: the operand.
    - Of a reshape: one reshape. Of a splat, or of a scalar: a splat.
    - Of a broadcast, where only dimensions of size one come and go: the broadcast of a reshape.

    Proof: a reshape keeps the row-major order, so two in a row keep it too, and a constant
    function stays one. Dimensions of size one have only index 0 and do not change the order of
    the others; the broadcast repeats along the same significant dimensions before and after.
    """
    source = draft.operands[0]
    shape = shape_of(draft.type)
    if source.type == draft.type:
        return source
    if source.op == "splat":
        return graph.splat(source.operands[0], shape)
    if not shape_of(source.type):
        return graph.splat(source, shape)
    if source.op == "reshape":
        return graph.make("reshape", source.operands, (), draft.type)
    if source.op == "broadcast" and shape:
        inner = _reshape_before_broadcast(shape_of(source.operands[0].type), source.type, shape)
        if inner is not None:
            kind = tile(inner, element_of(draft.type))
            value = graph.make("reshape", source.operands, (), kind)
            return graph.make("broadcast", (value,), (), draft.type)
    return None


def _reshape_before_broadcast(small: Shape, type: str, shape: Shape) -> Shape | None:
    """The shape to reshape the broadcast's source to, so that a broadcast gives `shape`."""
    wide = shape_of(type)
    if _significant(wide) != _significant(shape):
        return None
    extents = [before for before, after in zip(small, wide, strict=True) if after != 1]
    inner: list[int] = []
    for extent in shape:
        inner.append(1 if extent == 1 else extents.pop(0))
    return tuple(inner)


@rewrites("broadcast")
def simplify_broadcast(graph: Graph, draft: Draft) -> Node | None:
    """Broadcasts join, vanish where nothing changes, and of a single element are splats.

    Proof: repeating along some dimensions and then along more repeats along all of them; where
    the source has one element every index reads it.
    """
    source = draft.operands[0]
    shape = shape_of(draft.type)
    if source.type == draft.type:
        return source
    if source.op == "splat":
        return graph.splat(source.operands[0], shape)
    if source.op == "broadcast":
        return graph.make("broadcast", source.operands, (), draft.type)
    if all(extent == 1 for extent in shape_of(source.type)):
        scalar = graph.make("reshape", (source,), (), tile((), element_of(draft.type)))
        return graph.splat(scalar, shape)
    return None


@rewrites("permute")
def simplify_permute(graph: Graph, draft: Draft) -> Node | None:
    """Permutes join, vanish where nothing moves, and of a splat are splats.

    Where only dimensions of size one change places it is a reshape.

    Proof: permutations compose; a constant function has no order; dimensions of size one have
    only index 0, so the row-major order of the elements is that of the other dimensions.
    """
    source = draft.operands[0]
    shape = shape_of(source.type)
    try:
        order = [int(each) for each in draft.attribute("permutation").split(",")]
    except ValueError:
        return None
    if len(order) != len(shape):
        return None
    if source.op == "splat":
        return graph.splat(source.operands[0], shape_of(draft.type))
    moving = [dim for dim in order if shape[dim] != 1]
    if moving == sorted(moving):
        return graph.make("reshape", (source,), (), draft.type)
    if source.op == "permute":
        first = [int(each) for each in source.attribute("permutation").split(",")]
        joined = ", ".join(str(first[dim]) for dim in order)
        return graph.make("permute", source.operands, (("permutation", joined),), draft.type)
    return None
