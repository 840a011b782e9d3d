"""What differing types mean: elements, shapes, tensor views and the tiles taken from them."""

from __future__ import annotations

from tileport.verify.diff.alignment import Cause
from tileport.verify.diff.meaning import Meaning
from tileport.verify.ir.canonical.memory import arrays_of
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.text import short_type
from tileport.verify.ir.canonical.types import element_of, shape_of, width_of
from tileport.verify.ir.grammar_types import TensorViewType, tensor_view_type, view_type
from tileport.verify.model import Severity


def type_meanings(cause: Cause) -> list[Meaning]:
    """What a cause of kind `type` means; a view can differ in several ways at once."""
    one, other = cause.reference, cause.port
    assert one is not None
    assert other is not None
    if view_type(one.type) is not None and view_type(other.type) is not None:
        return _views(one, other)
    if tensor_view_type(one.type) is not None and tensor_view_type(other.type) is not None:
        return _tensors(one, other)
    left, right = short_type(one.type), short_type(other.type)
    elements = element_of(one.type), element_of(other.type)
    what = f"parameter {one.attribute('identity')}" if one.op == "parameter" else one.op
    if elements[0] != elements[1]:
        widths = width_of(one.type), width_of(other.type)
        if all(widths) and widths[0] != widths[1]:
            kind = "width-narrowed" if widths[1] < widths[0] else "width-changed"
        elif one.op in ("mmaf", "mmai", "mmaf_scaled"):
            kind = "accumulator-type"
        elif one.op == "ftof":
            kind = "precision-changed"
        else:
            kind = "dtype-changed"
        message = f"{what} is {elements[1]} here, {elements[0]} in the reference"
        return [Meaning(kind, message, left, right, group=f"{elements}")]
    shapes = shape_of(one.type), shape_of(other.type)
    message = f"{what} has shape {_shape(shapes[1])} here, {_shape(shapes[0])} in the reference"
    return [Meaning("tile-shape", message, left, right, group=extents_group(*shapes))]


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(str(extent) for extent in shape) or "scalar"


def extents_group(one: tuple[int, ...], other: tuple[int, ...]) -> str:
    """Shapes that differ by the same extents are one difference."""
    if len(one) != len(other):
        return f"rank {len(one)} {len(other)}"
    return str(sorted({(a, b) for a, b in zip(one, other, strict=True) if a != b}))


_PADDING = {"": "undefined", "zero": "0", "neg_zero": "-0.0", "nan": "NaN", "neg_inf": "-inf",
            "pos_inf": "inf"}  # fmt: skip


def _views(one: Node, other: Node) -> list[Meaning]:
    left, right = view_type(one.type), view_type(other.type)
    assert left is not None
    assert right is not None
    name = _array_name(one)
    found = []
    if left.kind != right.kind or left.rest != right.rest:
        text = f"{name} is reached through {short_type(other.type)}"
        found.append(Meaning("view-kind", text, short_type(one.type), short_type(other.type)))
    if left.tile != right.tile:
        text = (
            f"tiles of {name} are {_shape(right.tile)} here, {_shape(left.tile)} in the reference"
        )
        group = extents_group(left.tile, right.tile)
        found.append(
            Meaning("tile-shape", text, _shape(left.tile), _shape(right.tile), group=group)
        )
    if left.dim_map != right.dim_map:
        maps = str(list(left.dim_map)), str(list(right.dim_map))
        text = f"dimensions of {name} are mapped as {maps[1]} here, {maps[0]} in the reference"
        found.append(Meaning("dim-map", text, *maps, f"use the dim_map {maps[0]}"))
    if left.padding_value != right.padding_value:
        found.append(_padding(name, left.padding_value, right.padding_value))
    if left.tensor != right.tensor and one.operands[0].type == other.operands[0].type:
        found.extend(_tensor_parts(name, left.tensor, right.tensor))
    return found


def _padding(name: str, left: str, right: str) -> Meaning:
    shown = _PADDING.get(left, left), _PADDING.get(right, right)
    if not left:
        text = f"outside of {name} elements are undefined in the reference, {shown[1]} here"
        return Meaning("padding-added", text, *shown, "pass padding::None to say the same")
    what = f"outside of {name} a load gives {shown[1]} here, {shown[0]} in the reference"
    word = "".join(part.capitalize() for part in left.split("_"))
    return Meaning("padding-changed", what, *shown, f"use padding::{word}")


def _array_name(node: Node) -> str:
    arrays = arrays_of(node)
    return ", ".join(sorted(arrays)) if arrays else "the array"


def _tensors(one: Node, other: Node) -> list[Meaning]:
    left, right = tensor_view_type(one.type), tensor_view_type(other.type)
    assert left is not None
    assert right is not None
    found = _tensor_parts(_array_name(one), left, right)
    if one.operands[0].type != other.operands[0].type:
        # The element follows from the pointer, which is looked at there.
        found = [each for each in found if each.kind != "dtype-changed"]
    return found


def _tensor_parts(name: str, left: TensorViewType, right: TensorViewType) -> list[Meaning]:
    """What the types of two tensor views of an array have different."""
    found = []
    if left.element != right.element:
        text = f"{name} is read as {right.element} here, {left.element} in the reference"
        found.append(Meaning("dtype-changed", text, left.element, right.element))
    if len(left.shape) != len(right.shape):
        ranks = str(len(left.shape)), str(len(right.shape))
        text = f"{name} has rank {ranks[1]} here, {ranks[0]} in the reference"
        return [*found, Meaning("tile-shape", text, *ranks)]
    for word, have, got in (
        ("shape", left.shape, right.shape),
        ("stride", left.strides, right.strides),
    ):
        for dimension, (first, second) in enumerate(zip(have, got, strict=True)):
            if first != second:
                found.append(_extent(name, word, dimension, first, second))
    return found


def _extent(name: str, word: str, dimension: int, first: int | None, second: int | None) -> Meaning:
    what = f"{name}.{word}[{dimension}]"
    shown = "dynamic" if first is None else str(first), "dynamic" if second is None else str(second)
    if second is None:
        text = f"{what} is {first} in the reference, found at run time here"
        return Meaning(f"{word}-not-static", text, *shown, f"declare {what} as {first}")
    text = f"{what} is fixed to {second} here, {shown[0]} in the reference"
    severity = Severity.WRONG if first is not None else None
    return Meaning(f"{word}-static", text, *shown, "declare it dynamic (-1)", severity)
