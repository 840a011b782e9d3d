"""Tile types taken apart and put together, remembered: they are asked for at every node."""

from __future__ import annotations

from tileport.verify.ir.grammar_types import tile_type

Shape = tuple[int, ...]

_PARTS: dict[str, tuple[Shape, str] | None] = {}
_NAMES: dict[tuple[Shape, str], str] = {}
#: Integer elements whose arithmetic is done here, by width. `i4` has no arithmetic in Tile IR.
WIDTHS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
_LIMIT = 100_000


def parts(text: str) -> tuple[Shape, str] | None:
    """Shape and element of a tile type; None for views, tokens and anything else."""
    try:
        return _PARTS[text]
    except KeyError:
        if len(_PARTS) > _LIMIT:
            _PARTS.clear()
        found = _PARTS[text] = tile_type(text)
        return found


def shape_of(text: str) -> Shape:
    """The shape of a tile type; `()` for a scalar and for what is no tile."""
    found = parts(text)
    return found[0] if found else ()


def element_of(text: str) -> str:
    """The element of a tile type (`f16`, `ptr<f32>`); "" for what is no tile."""
    found = parts(text)
    return found[1] if found else ""


def tile(shape: Shape, element: str) -> str:
    """The text of a tile type."""
    key = (shape, element)
    try:
        return _NAMES[key]
    except KeyError:
        if len(_NAMES) > _LIMIT:
            _NAMES.clear()
        text = _NAMES[key] = f"tile<{''.join(f'{extent}x' for extent in shape)}{element}>"
        return text


def width_of(text: str) -> int:
    """Bits of the integer element of a tile type, 0 where it is not an integer."""
    found = parts(text)
    return WIDTHS.get(found[1], 0) if found else 0
