"""The document behind a code pane: exact bytes, right highlighting after any edit."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from tileport.tui.text import highlight
from tileport.tui.text.document import CodeDocument
from tileport.tui.text.glyphs import UNSHOWN, cell_width, expand, glyph, glyphs

ODD = st.text(alphabet="ab{}\t\n\r\x0b\x0c\x1b\x85\u2028\u202eé漢\ufeff", max_size=40)


@given(ODD)
def test_the_text_is_exactly_what_was_read(text):
    assert CodeDocument(text).text == text


def test_windows_line_ends_are_kept_and_used_for_new_lines():
    document = CodeDocument("a\r\nb\r\n")
    document.replace_range((0, 1), (0, 1), "\nx")
    assert document.text == "a\r\nx\r\nb\r\n"


def test_mixed_line_ends_are_kept_as_text():
    assert CodeDocument("a\r\nb\n").lines == ["a\r", "b", ""]


@given(ODD, ODD, st.data())
def test_an_edit_and_its_opposite_give_the_same_text_back(text, insert, data):
    insert = insert.replace("\r", "")
    document = CodeDocument(text)
    lines = document.lines
    places = [(r, c) for r, line in enumerate(lines) for c in range(len(line) + 1)]
    start, end = sorted(data.draw(st.sampled_from(places)) for _ in range(2))
    result = document.replace_range(start, end, insert)
    assert document.get_size(4).height == len(document.lines)
    assert document.get_size(4).width == max(cell_width(line, 4) for line in document.lines)
    document.replace_range(start, result.end_location, result.replaced_text)
    assert document.text == text


EDITS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 12), st.text("fn let{}();é\n x", max_size=6)),
    max_size=8,
)


def edit(document, edits):
    for place, length, insert in edits:
        flat = document.text
        at = min(place, len(flat))
        end = min(at + length, len(flat))
        start_place = (flat.count("\n", 0, at), at - (flat.rfind("\n", 0, at) + 1))
        end_place = (flat.count("\n", 0, end), end - (flat.rfind("\n", 0, end) + 1))
        document.replace_range(start_place, end_place, insert)


@given(EDITS)
def test_the_tree_kept_over_edits_highlights_like_a_fresh_one(edits):
    language, query = highlight.grammar("rust")
    document = CodeDocument('fn main() {\n    let é = "ü"; // note\n    call(1);\n}\n')
    document.parse_as(language)
    edit(document, edits)
    assert not document.behind
    fresh = CodeDocument(document.text)
    fresh.parse_as(language)
    count = document.line_count
    assert highlight.spans(document, query, 0, count) == highlight.spans(fresh, query, 0, count)


@settings(max_examples=25, deadline=None)
@given(EDITS)
def test_a_long_text_is_parsed_when_typing_rests_and_is_readable_before(edits):
    language, query = highlight.grammar("rust")
    document = CodeDocument("fn main() {\n" + "    call(1);\n" * 4000 + "}\n")
    document.parse_as(language)
    edit(document, edits)
    highlight.spans(document, query, 0, 60)
    document.catch_up()
    fresh = CodeDocument(document.text)
    fresh.parse_as(language)
    assert highlight.spans(document, query, 0, 60) == highlight.spans(fresh, query, 0, 60)


def test_highlighting_a_window_says_the_same_as_highlighting_everything():
    language, query = highlight.grammar("python")
    text = '"""One\nlong\ndocstring."""\n\ndef f(x: int) -> int:\n    return x + 1\n'
    document = CodeDocument(text)
    document.parse_as(language)
    whole = highlight.spans(document, query, 0, document.line_count)
    for row in range(document.line_count):
        assert highlight.spans(document, query, row, row + 1).get(row) == whole.get(row)


def test_a_long_file_costs_no_more_per_edit_than_a_short_one():
    language, query = highlight.grammar("rust")
    line = "    let value: Tile<f32, { [BM, BN] }> = mma(a, b, acc);\n"
    document = CodeDocument("fn main() {\n" + line * 20_000 + "}\n")
    document.parse_as(language)
    start = time.process_time()
    for column in range(20):
        document.replace_range((10_000, 4 + column), (10_000, 4 + column), "x")
        document.get_size(4)
        highlight.spans(document, query, 9_980, 10_040)
    assert (time.process_time() - start) / 20 < 0.05


def test_every_character_is_shown_by_exactly_one_that_cannot_reach_the_terminal_raw():
    for code in [*range(0x20), 0x7F, *range(0x80, 0xA0), 0x202E, 0x2066, 0xFEFF, 0x2028, 0xD800]:
        shown = glyph(chr(code))
        assert len(shown) == 1
        assert chr(code) == "\t" or (shown != chr(code) and shown.isprintable())


def test_what_is_shown_keeps_its_columns():
    assert glyphs("a\x1b[31mb\u202e") == f"a\u241b[31mb{UNSHOWN}"
    assert expand("\ta\tb", 4) == ["    ", "a", "   ", "b"]
    assert cell_width("漢\t", 4) == 4
