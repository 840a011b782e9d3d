"""A code pane: Textual's TextArea with exact text, quick painting, gutter marks and linked lines.

What differs from TextArea: only rows in view are highlighted, painted lines are cached by what
they show, the gutter has two columns of marks, and control characters are shown as symbols.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.document._document_navigator import DocumentNavigator
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from tileport.tui.text import highlight
from tileport.tui.text.document import CodeDocument, Unwrapped
from tileport.tui.text.glyphs import expand
from tileport.tui.themes import Palette
from tileport.tui.widgets.painted import palette_of

if TYPE_CHECKING:
    from tree_sitter import Query

#: Rows highlighted above and below the view, so that scrolling finds them ready.
_AHEAD = 12
_DEEP_UNDO = 5000
#: Seconds after the last edit until a long text is parsed again.
_REST = 0.1
_MIN_DIGITS = 4


class GutterMark(NamedTuple):
    """Marks beside one line: names of styles and their letters, "" for none."""

    severity: str = ""
    letter: str = ""
    declared: str = ""
    symbol: str = ""


_NO_MARK = GutterMark()


class _Look(NamedTuple):
    """All that the painting of one line depends on."""

    palette: str
    width: int
    left: int
    gutter: int
    row: int
    line: str
    spans: tuple[highlight.Span, ...]
    selection: tuple[int, int]
    cursor: int
    on_cursor: bool
    linked: bool
    mark: GutterMark
    found: tuple[tuple[int, int], ...]


class CodeArea(TextArea):
    """A read-only or editable pane of code."""

    DEFAULT_CSS = """
    CodeArea, CodeArea:focus {
        border: none; padding: 0; height: 1fr; width: 1fr;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0;
        overflow-x: auto; overflow-y: auto;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "document(0)", "Go to the first line", show=False),
        Binding("ctrl+end", "document(1)", "Go to the last line", show=False),
    ]

    def __init__(self, language: str, *, read_only: bool, id: str) -> None:
        #: Set before the base class, which makes a document while it is built.
        self._grammar = language
        self._query: Query | None = None
        self._spans: dict[int, list[highlight.Span]] = {}
        self._spans_range = (0, 0)
        self._painted: LRUCache[_Look, Strip] = LRUCache(2048)
        self._marks: Mapping[int, GutterMark] = {}
        self._linked: frozenset[int] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self._resting: Timer | None = None
        self._mixes: dict[tuple[str, str, str], Style] = {}
        super().__init__(
            "",
            soft_wrap=False,
            show_line_numbers=True,
            read_only=read_only,
            tab_behavior="indent",
            max_checkpoints=_DEEP_UNDO,
            id=id,
            compact=True,
        )
        self.cursor_blink = False

    # ------------------------------------------------------------ the text

    @property
    def code(self) -> CodeDocument:
        """The document."""
        document = self.document
        assert isinstance(document, CodeDocument)
        return document

    @property
    def lines(self) -> list[str]:
        """The lines of the text, without line ends."""
        return self.code.lines

    def show_text(self, text: str) -> None:
        """Show a text from its start, with a fresh undo history."""
        self.history.clear()
        self._set_document(text, None)
        if self._query is not None:
            self.start_highlighting()

    def start_highlighting(self) -> None:
        """Load the grammar and parse; called once the first paint is out."""
        language, self._query = highlight.grammar(self._grammar)
        self.code.parse_as(language)
        self._build_highlight_map()
        self.refresh()

    def _set_document(self, text: str, language: str | None) -> None:
        document = CodeDocument(text, self.indent_width)
        self.document = document
        self.wrapped_document = Unwrapped(document, tab_width=self.indent_width)
        self.navigator = DocumentNavigator(self.wrapped_document)
        self._build_highlight_map()
        self.move_cursor((0, 0))
        self._rewrap_and_refresh_virtual_size()

    def _build_highlight_map(self) -> None:
        """Forget the spans; they are asked for again when lines are painted."""
        self._spans = {}
        self._spans_range = (0, 0)
        if self.code.behind:
            if self._resting is not None:
                self._resting.stop()
            self._resting = self.set_timer(_REST, self._catch_up)

    def _catch_up(self) -> None:
        self.code.catch_up()
        self._build_highlight_map()
        self.refresh()

    # ------------------------------------------------------------ marks and links

    def set_marks(self, marks: Mapping[int, GutterMark]) -> None:
        """Show marks beside rows (0-based)."""
        if marks != self._marks:
            self._marks = marks
            self.refresh()

    @property
    def linked(self) -> frozenset[int]:
        """The rows lit up."""
        return self._linked

    def shows_any(self, rows: frozenset[int]) -> bool:
        """Whether one of these rows is in view."""
        top = self.scroll_offset.y
        return any(top <= row < top + self.size.height for row in rows)

    def set_linked(self, rows: frozenset[int]) -> None:
        """Light up rows (0-based) that belong to the line of another pane's cursor."""
        if rows != self._linked:
            self._linked = rows
            self.refresh()

    def set_pattern(self, pattern: re.Pattern[str] | None) -> None:
        """Mark what a search finds."""
        if pattern != self._pattern:
            self._pattern = pattern
            self.refresh()

    def go_to(self, row: int, column: int = 0) -> None:
        """Put the cursor on a row (0-based), in the middle of the view unless it is in it."""
        row = max(0, min(row, len(self.lines) - 1))
        self.selection = Selection.cursor((row, min(column, len(self.lines[row]))))
        self.record_cursor_width()
        self.reveal(row)

    def action_document(self, end: int) -> None:
        """Go to the start or the end of the text."""
        self.move_cursor(self.document.end if end else (0, 0))

    def reveal(self, row: int) -> None:
        """Scroll so that a row is in view, with some lines around it."""
        height = self.scrollable_content_region.height
        top = self.scroll_offset.y
        if height and not top + 1 <= row < top + height - 2:
            self.scroll_to(y=max(0, row - height // 3), animate=False)

    def find_matching_bracket(
        self, bracket: str, search_from: tuple[int, int]
    ) -> tuple[int, int] | None:
        """None: brackets are not matched here, which would read a long file at every key."""
        return None

    # ------------------------------------------------------------ painting

    @property
    def gutter_width(self) -> int:
        """Severity, declaration mark, line number, link bar, space."""
        return max(_MIN_DIGITS, len(str(self.document.line_count))) + 4

    def _row_spans(self, row: int) -> list[highlight.Span]:
        low, high = self._spans_range
        if self._query is None or not self.code.parsed:
            return []
        if not low <= row < high:
            top = self.scroll_offset.y
            low = max(0, min(row, top) - _AHEAD)
            high = min(self.document.line_count, max(row, top + self.size.height) + _AHEAD)
            self._spans = highlight.spans(self.code, self._query, low, high)
            self._spans_range = (low, high)
        return self._spans.get(row, [])

    def render_line(self, y: int) -> Strip:
        """Paint one line of the view."""
        palette = palette_of(self)
        row = y + self.scroll_offset.y
        if row >= self.document.line_count:
            return Strip.blank(self.scrollable_content_region.width, palette.base)
        line = self.document[row]
        end = self.selection.end
        look = _Look(
            palette=palette.name,
            width=self.scrollable_content_region.width,
            left=self.scroll_offset.x,
            gutter=self.gutter_width,
            row=row,
            line=line,
            spans=tuple(self._row_spans(row)),
            selection=self._selected_columns(row, len(line)),
            cursor=end[1] if end[0] == row and self._draw_cursor else -1,
            on_cursor=end[0] == row,
            linked=row in self._linked,
            mark=self._marks.get(row, _NO_MARK),
            found=tuple(m.span() for m in self._pattern.finditer(line)) if self._pattern else (),
        )
        strip = self._painted.get(look)
        if strip is None:
            strip = self._paint(look, palette)
            self._painted[look] = strip
        return strip

    def _selected_columns(self, row: int, length: int) -> tuple[int, int]:
        if self.selection.is_empty:
            return (0, 0)
        (top, left), (bottom, right) = sorted(self.selection)
        if not top <= row <= bottom:
            return (0, 0)
        return (left if row == top else 0, right if row == bottom else length + 1)

    def _paint(self, look: _Look, palette: Palette) -> Strip:
        room = look.width - look.gutter
        over = "ui.linked" if look.linked else "ui.cursor_line" if look.on_cursor else ""
        cells = [*expand(look.line, self.indent_width), " "]
        syntax = [""] * len(cells)
        for span in look.spans:
            # The tree may be an edit behind the text, so that a span ends beyond the line.
            stop = min(len(cells) - 1, len(cells) if span.end is None else span.end)
            syntax[span.start : stop] = [f"syntax.{span.name}"] * max(0, stop - span.start)
        layers = [over] * len(cells)
        for low, high in look.found:
            current = look.selection == (low, high)
            layers[low:high] = ["ui.match_current" if current else "ui.match"] * (high - low)
        if look.selection[1] > look.selection[0] and look.selection not in look.found:
            low, high = look.selection
            high = min(high, len(cells))
            layers[low:high] = ["ui.selection"] * (high - low)
        if 0 <= look.cursor < len(cells):
            layers[look.cursor] = "ui.cursor"
        segments = [
            Segment("".join(cell for cell, _, _ in group), self._mix(name, layer, palette))
            for (name, layer), group in groupby(
                zip(cells, syntax, layers, strict=True), key=lambda item: item[1:]
            )
        ]
        text = Strip(segments).crop(look.left, look.left + room)
        text = text.extend_cell_length(room, self._mix("", over, palette))
        return Strip([*self._gutter(look, over, palette), *text])

    def _gutter(self, look: _Look, over: str, palette: Palette) -> list[Segment]:
        mark = look.mark
        number = "ui.line_number_current" if look.on_cursor else "ui.line_number"
        return [
            Segment(mark.letter or " ", self._mix(mark.severity, over, palette)),
            Segment(mark.symbol or " ", self._mix(mark.declared, over, palette)),
            Segment(f"{look.row + 1:>{look.gutter - 4}}", self._mix(number, over, palette)),
            Segment("\u258e" if look.linked else " ", self._mix("ui.link_bar", over, palette)),
            Segment(" ", self._mix("", over, palette)),
        ]

    def _mix(self, name: str, layer: str, palette: Palette) -> Style:
        key = (palette.name, name, layer)
        style = self._mixes.get(key)
        if style is None:
            style = palette.base
            if name:
                style = style + palette[name]
            if layer:
                style = style + palette[layer]
            self._mixes[key] = style
        return style
