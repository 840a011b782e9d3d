"""One visible glyph for each character of a source line, so that columns stay where they are.

`tileport.verify.safe_text.visible` spells some characters out; in an editor each character must
stay one character, or the cursor would be drawn beside what it edits.
"""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len

from tileport.verify.safe_text import visible

#: Shown for what has no picture of its own: C1 controls, direction marks, separators.
UNSHOWN = "\u2426"


@lru_cache(maxsize=4096)
def glyph(char: str) -> str:
    """One character to show for `char`; never a control or direction character."""
    if char == "\t":
        return char
    shown = visible(char)
    if len(shown) != 1 or char in "\u2028\u2029":
        return UNSHOWN
    # A lone surrogate cannot be encoded; a zero-width character would hide.
    if "\ud800" <= char <= "\udfff" or (cell_len(shown) == 0 and not shown.isalnum()):
        return UNSHOWN
    return shown


def glyphs(line: str) -> str:
    """`line` with each character shown by one; tabs stay."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(map(glyph, line))


def expand(line: str, tab_width: int) -> list[str]:
    """The cells of `line`: one string per character, tabs as spaces up to their stop."""
    if line.isascii() and line.isprintable():
        return list(line)
    cells: list[str] = []
    column = 0
    for char in line:
        if char == "\t":
            width = tab_width - column % tab_width
            cells.append(" " * width)
        else:
            shown = glyph(char)
            width = 1 if shown.isascii() else cell_len(shown)
            cells.append(shown)
        column += width
    return cells


def cell_width(line: str, tab_width: int) -> int:
    """How many terminal cells `line` takes when shown."""
    if line.isascii() and line.isprintable():
        return len(line)
    return sum(len(c) if c.isascii() else cell_len(c) for c in expand(line, tab_width))


def column_at(line: str, cell: int, tab_width: int) -> int:
    """The character of `line` shown at a cell; its length where the line ends before."""
    if line.isascii() and line.isprintable():
        return min(cell, len(line))
    used = 0
    for column, shown in enumerate(expand(line, tab_width)):
        used += len(shown) if shown.isascii() else cell_len(shown)
        if used > cell:
            return column
    return len(line)
