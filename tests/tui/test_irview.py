"""The rows of the IR pane and the lines they belong to."""

from tests.tui.fake import ASSUMPTION, comparison, hint_lost, rounding_lost
from tileport.tui.links import Links
from tileport.tui.text.irview import LineMap, canonical_rows, raw_rows
from tileport.verify.diff.model import Comparison, DiffRow, DiffVerdict, RowKind


def text_of(row):
    return "".join(part for part, _ in [*row.line.parts, *row.line.right]).strip()


def test_a_changed_op_takes_a_row_for_each_side_and_one_tag():
    rows = canonical_rows(comparison((rounding_lost(),)))
    changed = [row for row in rows if row.finding == 0]
    assert [row.line.fill for row in changed] == ["diff.removed", "diff.added"]
    assert [bool(row.line.right) for row in changed] == [False, True]
    assert text_of(changed[1]).endswith("W rounding-lost")


def test_what_differs_is_set_off_and_kept_in_view():
    long = "%30 = load_view_tko %14, block_y, %16.i, 0 weak hints=<sm_90 = {latency = "
    row = DiffRow(kind=RowKind.CHANGED, reference=f"{long}2}}>", port=f"{long}4}}>", finding=0)
    made = Comparison(verdict=DiffVerdict.DIFFERENT, rows=(row,), findings=(hint_lost(),))
    for width in (60, 200):
        rows = canonical_rows(made, width)
        for row_, value in zip(rows, "24", strict=True):
            strong = [text for text, style in row_.line.parts if style == "ui.strong"]
            assert strong == [value]
            if width == 60:
                used = sum(len(text) for text, _ in [*row_.line.parts, *rows[1].line.right])
                assert used <= width
            else:
                assert long in "".join(text for text, _ in row_.line.parts)


def test_one_tag_for_a_run_of_rows_about_one_finding():
    rows = canonical_rows(comparison((hint_lost(),)))
    tags = [row for row in rows if row.line.right]
    assert len(tags) == 1


def test_line_numbers_stand_where_they_change():
    row = DiffRow(kind=RowKind.SAME, reference="a", python=3, rust=4)
    rows = canonical_rows(Comparison(verdict=DiffVerdict.SAME, rows=(row, row)))
    assert text_of(rows[0]).split() == ["3", "4", "a"]
    assert text_of(rows[1]) == "a"
    assert rows[1].python == 3


def test_a_heading_without_text_takes_no_row_and_no_numbers():
    heading = DiffRow(kind=RowKind.HEADER, python=3, rust=4)
    row = DiffRow(kind=RowKind.SAME, reference="a", python=3, rust=4)
    rows = canonical_rows(Comparison(verdict=DiffVerdict.SAME, rows=(heading, row)))
    assert [text_of(row).split() for row in rows] == [["3", "4", "a"]]


def test_an_equal_op_with_a_finding_shows_its_tag():
    row = DiffRow(kind=RowKind.SAME, reference="a", python=3, rust=4, finding=0)
    rows = canonical_rows(
        Comparison(verdict=DiffVerdict.SAME, rows=(row,), findings=(hint_lost(),))
    )
    assert text_of(rows[0]).endswith("S hint-lost")


def test_assumptions_stand_first():
    rows = canonical_rows(Comparison(verdict=DiffVerdict.SAME_IF, assumptions=(ASSUMPTION,)))
    assert text_of(rows[0]) == "same if  GROUP > 0"
    assert rows[0].python == ASSUMPTION.python.line


def test_a_finding_index_out_of_range_is_no_finding():
    row = DiffRow(kind=RowKind.CHANGED, reference="a", port="b", finding=9)
    rows = canonical_rows(Comparison(verdict=DiffVerdict.DIFFERENT, rows=(row,)))
    assert [row.finding for row in rows] == [-1, -1]


def test_raw_text_shows_source_lines_in_place_of_locations():
    text = (
        "entry @k(%arg0: tile<i32>) {\n"
        "  %0 = addi %arg0, %arg0 : tile<i32> loc(#loc2)\n"
        "  for %i in (%a to %b) { loc(#loc1)\n"
        "  return loc(#loc)\n"
        "} loc(#loc)\n"
        '#loc = loc("k.py":7:0)\n'
        '#loc1 = loc("k.py":12:4)\n'
        "#loc2 = loc(callsite(#loc1 at #loc))\n"
    )
    rows = raw_rows(text, "reference")
    assert [row.python for row in rows] == [0, 12, 12, 7, 7]
    assert text_of(rows[1]) == "12    %0 = addi %arg0, %arg0 : tile<i32>"
    assert text_of(rows[2]) == "for %i in (%a to %b) {"
    assert not any("#loc" in text_of(row) for row in rows)
    assert {row.rust for row in raw_rows(text, "port")} == {0, 7, 12}


def test_lines_are_mapped_both_ways():
    lines = LineMap(canonical_rows(comparison()))
    for index, row in enumerate(lines.rows):
        if row.python and row.rust:
            rust, rows = lines.of_python(row.python)
            assert row.rust in rust
            assert index in rows
            python, rows = lines.of_rust(row.rust)
            assert row.python in python
            assert index in rows
    assert lines.of_row(10_000) == (0, 0)


def test_links_follow_an_edit_and_give_up_a_line_that_changed():
    links = Links()
    row = DiffRow(kind=RowKind.SAME, reference="a", python=1, rust=2)
    links.set_rows(canonical_rows(Comparison(verdict=DiffVerdict.SAME, rows=(row,))))
    links.set_texts(["one", "two", "three"], ["zero", "one", "two", "three"])
    assert links.from_python(0)[0] == {2}
    assert links.from_rust(2)[0] == {0}
    links.set_texts(["one", "two", "three"], ["one", "TWO!", "three"])
    assert links.from_python(0)[0] == frozenset()
    assert links.from_rust(1) == (frozenset(), frozenset())
