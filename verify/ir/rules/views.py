"""What is asked of a view, computed from what the view was made of."""

from __future__ import annotations

from tileport.verify.ir.canonical.graph import Draft, Graph, as_constant
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import width_of
from tileport.verify.ir.grammar_types import tensor_view_type, view_type
from tileport.verify.ir.intervals import full, range_of
from tileport.verify.ir.rules.division import CEILING
from tileport.verify.ir.rules.engine import rewrites


def extent(graph: Graph, tensor: Node, dimension: int, type: str) -> Node | None:
    """Extent `dimension` of a tensor view as a value of `type`, or None where it is not known."""
    view = tensor_view_type(tensor.type)
    if tensor.op != "make_tensor_view" or view is None or dimension >= len(view.shape):
        return None
    static = view.shape[dimension]
    if static is not None:
        return graph.constant(static, type) if static <= full(width_of(type))[1] else None
    dynamic = sum(each is None for each in view.shape[:dimension])
    found = tensor.operands[1 + dynamic]
    return found if found.type == type else None


@rewrites("get_tensor_shape")
def shape_of_a_tensor_view(graph: Graph, draft: Draft) -> Node | None:
    """The extents of a tensor view are the operands, or the static extents, it was made of.

    Proof: definition of `make_tensor_view`; the result has the type of the operand.
    """
    return extent(graph, draft.operands[0], draft.data[0], draft.type)


@rewrites("get_index_space_shape")
def tiles_of_a_partition(graph: Graph, draft: Draft) -> Node | None:
    """The number of tiles of a partition view is `ceil(extent / tile)` in each dimension.

    Proof: a partition view covers the tensor view with tiles side by side, the last one partly
    outside; dimension `i` of the tiles runs along dimension `dim_map[i]` of the tensor. Padding
    has no part in it. The extent is read as unsigned; where it is not negative the signed
    division is the same.
    """
    source = draft.operands[0]
    view = view_type(source.type)
    if source.op != "make_partition_view" or view is None or view.kind != "partition_view":
        return None
    axis = draft.data[0]
    if axis >= min(len(view.tile), len(view.dim_map)):
        return None
    size = extent(graph, source.operands[0], view.dim_map[axis], draft.type)
    if size is None or range_of(size)[0] < 0:
        return None
    tile = graph.constant(view.tile[axis], draft.type)
    return graph.make("divi", (size, tile), CEILING, draft.type)


@rewrites("offset")
def offset_by_nothing(graph: Graph, draft: Draft) -> Node | None:
    """A pointer offset by zero is the pointer. Proof: adding zero."""
    return draft.operands[0] if as_constant(draft.operands[1]) == 0 else None
