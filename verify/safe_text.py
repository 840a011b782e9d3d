"""Text from sources, IR and programs made safe to show: control characters become visible."""

from __future__ import annotations

import unicodedata

#: Characters that turn the direction of what follows; they can make code read as other code.
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def _table() -> dict[int, str]:
    table: dict[int, str] = {}
    for code in range(0x20):
        if chr(code) not in "\n\t":
            table[code] = chr(0x2400 + code)
    table[0x7F] = "\u2421"
    for code in range(0x80, 0xA0):
        table[code] = f"<{code:02X}>"
    for char in _BIDI:
        table[ord(char)] = f"<{unicodedata.name(char).title().replace(' ', '')}>"
    table[0xFEFF] = "<BOM>"
    for code in (0x2028, 0x2029):
        table[code] = "\u23ce"
    return table


_TABLE = _table()


def visible(text: str) -> str:
    """`text` with every control, direction and line-separator character shown as a symbol.

    Newline and tab stay. What is returned can be written to a terminal: no escape sequence of
    the input survives in it.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_TABLE)


def one_line(text: str, limit: int = 400) -> str:
    """`text` as one visible line of at most `limit` characters."""
    flat = visible(" ".join(text.split()))
    return flat if len(flat) <= limit else flat[: limit - 1] + "\u2026"
