"""Merging edits made outside: nothing is lost, nothing is guessed."""

import itertools
import time

from hypothesis import given
from hypothesis import strategies as st

from tileport.tui.text.merge import RowMap, hunks, merge, replacement, split_lines

LINES = st.lists(st.sampled_from(["a", "b", "c", "}", "", "    x"]), max_size=12)
TEXTS = LINES.map("\n".join)


@given(LINES, LINES)
def test_hunks_rebuild_the_new_text_and_never_touch(old, new):
    lines = list(old)
    found = hunks(old, new)
    for hunk in reversed(found):
        lines[hunk.low : hunk.high] = hunk.lines
    assert lines == new
    assert all(a.high < b.low for a, b in itertools.pairwise(found))
    for hunk in found:
        assert tuple(new[hunk.new_low : hunk.new_low + len(hunk.lines)]) == hunk.lines


@given(LINES, LINES)
def test_one_replacement_turns_one_text_into_the_other(old, new):
    old, new = old or [""], new or [""]
    change = replacement(old, new)
    if change is None:
        assert old == new
        return
    (top, left), (bottom, right) = change.start, change.end
    before = "\n".join([*old[:top], old[top][:left]])
    after = "\n".join([old[bottom][right:], *old[bottom + 1 :]])
    assert before + change.text + after == "\n".join(new)


@given(TEXTS, TEXTS)
def test_a_side_that_did_not_change_takes_the_other(base, other):
    assert merge(base, base, other).text == other
    assert merge(base, other, base).text == other
    assert merge(base, other, other).text == other


@given(TEXTS, TEXTS, TEXTS)
def test_merging_does_not_depend_on_who_is_who(base, mine, theirs):
    assert merge(base, mine, theirs) == merge(base, theirs, mine)


@given(TEXTS, TEXTS, TEXTS)
def test_every_changed_line_of_both_sides_is_in_the_merge(base, mine, theirs):
    merged = merge(base, mine, theirs)
    if merged.text is None:
        assert merged.conflicts
        return
    have = split_lines(merged.text)
    for side in (mine, theirs):
        for hunk in hunks(split_lines(base), split_lines(side)):
            assert all(line in have for line in hunk.lines)


@given(
    st.lists(st.integers(0, 10_000), unique=True, min_size=8, max_size=30),
    st.data(),
)
def test_edits_of_lines_apart_are_both_taken(numbers, data):
    base = [f"line {n}" for n in numbers]
    first = data.draw(st.integers(0, len(base) - 3))
    second = data.draw(st.integers(first + 2, len(base) - 1))
    mine, theirs = list(base), list(base)
    mine[first] = "mine"
    theirs[second] = "theirs"
    wanted = list(base)
    wanted[first], wanted[second] = "mine", "theirs"
    assert merge("\n".join(base), "\n".join(mine), "\n".join(theirs)).text == "\n".join(wanted)


def test_edits_of_the_same_line_are_a_conflict():
    merged = merge("a\nb\nc", "a\nmine\nc", "a\ntheirs\nc")
    assert merged.text is None
    assert merged.conflicts == ((1, 2),)


def test_edits_of_neighbouring_lines_are_a_conflict():
    assert merge("a\nb\nc\nd", "a\nB\nc\nd", "a\nb\nC\nd").text is None


def test_insertions_at_one_place_are_a_conflict_unless_equal():
    assert merge("a\nb", "a\nx\nb", "a\ny\nb").text is None
    assert merge("a\nb", "a\nx\nb", "a\nx\nb").text == "a\nx\nb"


@given(LINES, LINES)
def test_rows_that_survive_are_found_again(old, new):
    old, new = old or [""], new or [""]
    rows = RowMap(old, new)
    for row, line in enumerate(old):
        there = rows.forward(row)
        assert 0 <= there < len(new)
        if rows.survives(row):
            assert new[there] == line
            assert rows.back(there) == row


@given(LINES, LINES)
def test_a_row_without_an_origin_is_said_to_have_none(old, new):
    old, new = old or [""], new or [""]
    rows = RowMap(old, new)
    for row, line in enumerate(new):
        origin = rows.back(row)
        assert origin == -1 or old[origin] == line


def test_a_long_file_with_many_equal_lines_merges_quickly():
    base = [f"let v{n} = {n};" if n % 3 else "}" for n in range(20_000)]
    mine, theirs = list(base), list(base)
    for n in range(1, 19_000, 600):
        mine[n] = f"mine {n}"
        theirs[n + 300] = f"theirs {n}"
    start = time.process_time()
    merged = merge("\n".join(base), "\n".join(mine), "\n".join(theirs))
    assert time.process_time() - start < 2.0
    assert merged.text is not None
    assert merged.text.count("mine ") == merged.text.count("theirs ") == len(range(1, 19_000, 600))
