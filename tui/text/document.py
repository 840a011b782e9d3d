"""The text of a code pane: exact about bytes, quick at 20,000 lines, parsed by tree-sitter.

Textual's own document splits at every Unicode line separator and measures every line after each
edit. Here a line ends at a newline only, so what is saved is what was read, and an edit costs what
it changes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual.document._document import Document, EditResult, Location
from textual.document._wrapped_document import WrappedDocument
from textual.geometry import Offset, Size

from tileport.tui.text.glyphs import cell_width, column_at

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Query, Tree

_LONE_FEED = re.compile(r"(?<!\r)\n")
_EITHER = re.compile(r"\r\n|\n")
#: From so many lines on the tree is parsed once typing rests: where the text does not parse, the
#: parser reads very much of it again at every key.
_LONG = 4000


def newline_of(text: str) -> str:
    """The line separator: `\\r\\n` where every line ends so, else `\\n` (a stray `\\r` is text)."""
    return "\r\n" if "\r\n" in text and not _LONE_FEED.search(text) else "\n"


class CodeDocument(Document):
    """A document whose `text` is exactly what it was made from, edits aside."""

    def __init__(self, text: str, tab_width: int = 4) -> None:
        self._newline = newline_of(text)  # type: ignore[assignment]  # narrower here
        self._lines = text.split(self._newline)
        self._tab_width = tab_width
        self._widths = [cell_width(line, tab_width) for line in self._lines]
        self._parser: Parser | None = None
        self._tree: Tree | None = None
        #: Whether the tree was only moved along with the last edits; see `catch_up`.
        self.behind = False

    @property
    def parsed(self) -> bool:
        """Whether there is a syntax tree."""
        return self._tree is not None

    def parse_as(self, language: Language) -> None:
        """Start to keep a syntax tree; later edits update it."""
        from tree_sitter import Parser  # noqa: PLC0415  # after the first paint

        self._parser = Parser(language)
        self._tree = self._parser.parse(self._bytes())

    def catch_up(self) -> None:
        """Parse what was edited since."""
        if self.behind and self._parser is not None and self._tree is not None:
            self._tree = self._parser.parse(self._bytes(), self._tree)
        self.behind = False

    def get_size(self, tab_width: int) -> Size:
        """Width of the widest line in cells, and the number of lines."""
        if tab_width != self._tab_width:
            self._tab_width = tab_width
            self._widths = [cell_width(line, tab_width) for line in self._lines]
        return Size(max(self._widths), len(self._lines))

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Replace what is between two locations; see `Document.replace_range`."""
        top, bottom = sorted((start, end))
        lines = self._lines
        last = len(lines) - 1
        if top[0] > last:
            top = (last, len(lines[last]))
        if bottom[0] > last:
            bottom = (last, len(lines[last]))
        old_point = self._point(bottom)
        start_byte, old_byte = self._byte(top), self._byte(bottom)
        replaced = self.get_text_range(top, bottom)
        pieces = _EITHER.split(text) if self._newline == "\r\n" else text.split("\n")
        before, after = lines[top[0]][: top[1]], lines[bottom[0]][bottom[1] :]
        pieces[0] = before + pieces[0]
        end_location = (top[0] + len(pieces) - 1, len(pieces[-1]))
        pieces[-1] += after
        lines[top[0] : bottom[0] + 1] = pieces
        self._widths[top[0] : bottom[0] + 1] = [cell_width(p, self._tab_width) for p in pieces]
        if self._tree is not None and self._parser is not None:
            self._tree.edit(
                start_byte=start_byte,
                old_end_byte=old_byte,
                new_end_byte=self._byte(end_location),
                start_point=self._point(top),
                old_end_point=old_point,
                new_end_point=self._point(end_location),
            )
            self.behind = True
            if len(lines) < _LONG:
                self.catch_up()
        return EditResult(end_location, replaced)

    def query_syntax_tree(
        self,
        query: Query,
        start_point: tuple[int, int] | None = None,
        end_point: tuple[int, int] | None = None,
    ) -> dict[str, list[Node]]:
        """Captures of `query` between two points (row, byte column); empty without a tree."""
        if self._tree is None:
            return {}
        from tree_sitter import QueryCursor  # noqa: PLC0415  # loaded with the first tree

        cursor = QueryCursor(query)
        if start_point is not None and end_point is not None:
            cursor.set_point_range(start_point, end_point)
        return cursor.captures(self._tree.root_node)

    def _bytes(self) -> bytes:
        return "\n".join(self._lines).encode("utf-8", "replace")

    def _byte(self, location: Location) -> int:
        """Byte offset in what the parser sees, where every line ends with one `\\n`."""
        if self._tree is None:
            return 0
        row = location[0]
        above = self._lines[:row]
        joined = "\n".join(above)
        size = len(joined) if joined.isascii() else len(joined.encode("utf-8", "replace"))
        return size + bool(row) + self._point(location)[1]

    def _point(self, location: Location) -> tuple[int, int]:
        row, column = location
        return row, len(self._lines[row][:column].encode("utf-8", "replace"))


class Unwrapped(WrappedDocument):
    """The view of a document whose lines are never wrapped: nothing to keep, nothing to get wrong.

    Textual's own keeps lists of all lines up to date edit by edit, and loses count when several
    edits are undone as one.
    """

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Nothing is wrapped."""
        self._tab_width = tab_width or self._tab_width

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Nothing is wrapped."""

    @property
    def wrapped(self) -> bool:
        """As the base class says it of a document without wrapped lines."""
        return True

    @property
    def height(self) -> int:
        """One row per line."""
        return self.document.line_count

    def offset_to_location(self, offset: Offset) -> Location:
        """The location at a cell of the view, clamped to the document."""
        row = max(0, min(offset.y, self.document.line_count - 1))
        return row, column_at(self.document[row], max(0, offset.x), self._tab_width)

    def location_to_offset(self, location: Location) -> Offset:
        """The cell at which a location is shown."""
        row = max(0, min(location[0], self.document.line_count - 1))
        return Offset(cell_width(self.document[row][: location[1]], self._tab_width), row)

    def get_target_document_column(self, line_index: int, x_offset: int, y_offset: int) -> int:
        """The column at a cell of a line."""
        return column_at(self.document[line_index], x_offset, self._tab_width)

    def get_sections(self, line_index: int) -> list[str]:
        """The line itself."""
        return [self.document[line_index]]

    def get_offsets(self, line_index: int) -> list[int]:
        """No line is broken."""
        return []

    def get_tab_widths(self, line_index: int) -> list[int]:
        """Not asked for by the painting here."""
        return []
