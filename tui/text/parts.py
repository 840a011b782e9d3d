"""A line as styled parts, before it is painted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from tileport.tui.text.glyphs import glyphs

#: A piece of a line: text and the name of its style in the palette ("" for the line's own).
Part = tuple[str, str]
Parts = Sequence[Part]


class Line(NamedTuple):
    """A line to paint: parts from the left, parts flush right, the style of what is between."""

    parts: Parts = ()
    right: Parts = ()
    fill: str = ""


def width_of(parts: Iterable[Part]) -> int:
    """Cells that `parts` take."""
    return sum(cell_len(glyphs(text)) for text, _ in parts)


def fit(text: str, width: int, *, left: bool = False) -> str:
    """`text` in exactly `width` cells: padded, or cut with an ellipsis (at the left if asked)."""
    text = glyphs(text).replace("\t", " ").replace("\n", " ")
    size = cell_len(text)
    if size <= width:
        return text + " " * (width - size)
    if width <= 0:
        return ""
    if left:
        while text and cell_len(text) > width - 1:
            text = text[1:]
        return "\u2026" + text + " " * (width - 1 - cell_len(text))
    return set_cell_size(text, width - 1) + "\u2026"
