"""Prints an op by its format, the other way of `Format.match`."""

from __future__ import annotations

from collections.abc import Callable

from tileport.verify.ir.grammar_nodes import Node
from tileport.verify.ir.grammar_types import tensor_view_type, tile_type
from tileport.verify.ir.model import Op

#: The roles that the printed type `dynamic` is for.
DYNAMIC = frozenset({"shape", "stride"})


def render(nodes: tuple[Node, ...], op: Op, names: Callable[[object], str]) -> str:
    """The text of `op` after its name.

    Args:
        nodes: The format.
        op: An op whose roles and attributes the format knows.
        names: The printed name of a value.
    """
    return "".join(_render(node, op, names) for node in nodes)


def _present(node: Node, op: Op) -> bool:
    if node.kind == "optional":
        return any(_present(child, op) for child in node.children)
    if node.kind in ("use", "mixed", "iter"):
        return node.name in op.roles
    if node.kind == "attr":
        return node.name in op.attributes
    if node.kind == "types":
        return any(
            bool(op.results)
            if role == "result"
            else bool(DYNAMIC.intersection(op.roles))
            if role == "dynamic"
            else role in op.roles
            for role in node.roles
        )
    return False


def _render(node: Node, op: Op, names: Callable[[object], str]) -> str:
    if node.kind == "text":
        return node.name
    if node.kind == "optional":
        if not any(_present(child, op) for child in node.children):
            return ""
        return "".join(_render(child, op, names) for child in node.children)
    if node.kind == "use":
        return ", ".join(names(value) for value in op.operands_in(node.name))
    if node.kind == "mixed":
        return _render_mixed(node.name, op, names)
    if node.kind == "define":
        return names(op.regions[0].arguments[0])
    if node.kind == "iter":
        inits = op.operands_in("init")
        arguments = op.regions[0].arguments
        arguments = arguments[len(arguments) - len(inits) :]
        return ", ".join(
            f"{names(argument)}={names(init)}"
            for argument, init in zip(arguments, inits, strict=True)
        )
    if node.kind == "attr":
        return _render_attribute(node, op)
    return _render_types(node, op)


def _render_attribute(node: Node, op: Op) -> str:
    if not node.detail:
        return node.name
    if node.detail.startswith("!"):
        return node.detail[1:]
    value = op.attributes.get(node.name)
    if value is None and node.detail == "ELEMENT":
        # The element type of a constant is in its result type, and only there in the model.
        tile = tile_type(op.results[0].type)
        assert tile is not None
        return tile[1]
    assert value is not None
    return value


def _render_mixed(role: str, op: Op, names: Callable[[object], str]) -> str:
    view = tensor_view_type(op.results[0].type)
    assert view is not None
    extents = view.shape if role == "shape" else view.strides
    dynamic = iter(op.operands_in(role))
    return ", ".join(names(next(dynamic)) if extent is None else str(extent) for extent in extents)


def _render_types(node: Node, op: Op) -> str:
    role = node.roles[0]
    if role == "dynamic":
        types = [v.type for v, r in zip(op.operands, op.roles, strict=True) if r in DYNAMIC]
    elif role == "result":
        types = [value.type for value in op.results]
    else:
        types = [value.type for value in op.operands_in(role)]
    if node.detail == "~" and len(set(types)) == 1:
        types = types[:1]
    return ", ".join(types)
