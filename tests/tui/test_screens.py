"""What opens above the live screen, and searching."""

import pytest

from tests.tui.conftest import SMALL
from tests.tui.fake import PYTHON, RUST, VARIANTS, line_of, rounding_lost
from tileport.tui import view
from tileport.tui.screens.pager import fold
from tileport.tui.text.search import find, pattern_for

# ---------------------------------------------------------------- variants


async def test_the_picker_lists_variants_with_their_state(open_app):
    async with open_app() as opened:
        await opened.press("f2")
        text = opened.text()
        assert "8 of 8" in text
        assert text.count("different") >= 8
        assert "TILE_N=2048 f16" in text


async def test_typing_filters_and_enter_chooses(open_app):
    async with open_app() as opened:
        await opened.press("f2", *"sm_100", "space", *"f32")
        assert "1 of 8" in opened.text()
        await opened.press("enter")
        assert opened.session.view == "v6"
        assert "sm_100 7/8" in opened.text().split("\n")[0]


async def test_arrows_move_in_the_picker_while_the_filter_has_the_keys(open_app):
    async with open_app() as opened:
        await opened.press("f2", "down", "down", "enter")
        assert opened.session.view == VARIANTS[2].id


@pytest.mark.parametrize("key", ["escape", "f2"])
async def test_the_picker_closes_without_choosing(open_app, key):
    async with open_app() as opened:
        await opened.press("f2", "down", key)
        assert opened.app.screen is opened.live
        assert opened.session.view == "v0"


async def test_a_filter_that_fits_nothing_says_so(open_app):
    async with open_app() as opened:
        await opened.press("f2", *"nothing", "enter")
        assert opened.app.screen is opened.live
        assert opened.session.view == "v0"


# ---------------------------------------------------------------- specialization


async def test_the_specialization_lists_every_fact_and_its_state(open_app):
    async with open_app() as opened:
        await opened.press("f3")
        text = opened.text()
        assert "specialization of softmax  TILE_N=1024 f16 · sm_90" in text
        for words in ("x.stride0", "divisible by 8", "missing", "the launch", "const TILE_N: i32"):
            assert words in text
        assert "1 not declared" in text
        await opened.press("f3")
        assert opened.app.screen is opened.live


async def test_enter_on_a_fact_goes_to_its_rust_line(open_app):
    async with open_app() as opened:
        await opened.press("f3", "n")
        await opened.press("enter")
        assert opened.live.editor.cursor_location[0] + 1 == line_of(RUST, "x: &Tensor")
        assert opened.live.focused is opened.live.editor


async def test_a_fact_can_be_read_in_full(open_app):
    async with open_app(size=SMALL) as opened:
        await opened.press("f3", "x")
        assert "parameter     x" in opened.text()
        await opened.press("escape", "escape")
        assert opened.app.screen is opened.live


async def test_the_table_fits_a_small_terminal_and_keeps_the_state(open_app):
    async with open_app(size=SMALL) as opened:
        await opened.press("f3")
        lines = opened.text().split("\n")
        assert any("missing" in line for line in lines)
        assert max(map(len, lines)) <= SMALL[0]


# ---------------------------------------------------------------- reading


async def test_explain_shows_the_finding_in_full(open_app):
    async with open_app() as opened:
        await opened.press("escape", "n", "x")
        text = opened.text()
        assert "wrong, found by diff" in text
        assert "- divi signed rounding<negative_inf>" in text
        assert "use floor_div(row, GROUP)" in text
        assert "in 8 of 8 variants" in text
        assert "ops/softmax.py:13:13" in text
        await opened.press("escape")
        assert opened.app.screen is opened.live


async def test_help_opens_and_closes_from_the_editor_and_outside(open_app):
    async with open_app() as opened:
        await opened.press("f1")
        assert "These act outside the editor" in opened.text()
        await opened.press("f1")
        assert opened.app.screen is opened.live
        await opened.press("escape", "question_mark")
        await opened.press("escape")
        assert opened.app.screen is opened.live


async def test_help_scrolls_in_a_small_terminal(open_app):
    async with open_app(size=SMALL) as opened:
        await opened.press("f1")
        assert "hollow red" not in opened.text()
        await opened.press("end")
        assert "it must be declared here" in opened.text()


def test_the_full_text_of_a_finding_names_both_sides_and_all_variants():
    rows = view.full_text(rounding_lost(), VARIANTS)
    text = "\n".join("".join(part for part, _ in row) for row in rows)
    assert "divi signed rounding<negative_inf>" in text
    assert text.count("sm_90") == text.count("sm_100") == 4


@pytest.mark.parametrize("width", [10, 23, 80])
def test_folding_keeps_every_word_and_fits(width):
    text = "one two three " + "x" * 50 + " four"
    lines = fold([(text, "")], width)
    joined = "".join(part for line in lines for part, _ in line)
    assert joined == text
    assert all(len("".join(part for part, _ in line).rstrip()) <= width for line in lines)


# ---------------------------------------------------------------- searching


async def test_searching_goes_to_the_first_match_from_the_cursor_and_marks_all(open_app):
    async with open_app() as opened:
        await opened.press("escape", "2", "ctrl+f", *"scaled")
        text = opened.text()
        assert "search Rust" in text
        assert f"{RUST.count('scaled')} found" in text
        first = line_of(RUST, "scaled")
        assert opened.live.editor.selection.start[0] + 1 == first
        await opened.press("enter")
        assert opened.live.editor.selection.start[0] + 1 == first + 1
        await opened.press("up")
        assert opened.live.editor.selection.start[0] + 1 == first
        await opened.press("escape")
        assert opened.live.focused is opened.live.editor
        assert opened.live.editor.text == RUST


async def test_the_slash_searches_the_focused_pane(open_app):
    async with open_app() as opened:
        await opened.press("escape", "1", "slash", *"ct.store")
        assert opened.live.source.selection.start[0] + 1 == line_of(PYTHON, "ct.store")
        await opened.press("escape", "3", "slash", *"latency")
        assert "latency" in opened.live.ir_pane.row_text(opened.live.ir_pane.cursor)
        await opened.press("escape", "4", "slash", *"hint")
        assert opened.live.findings.cursor == 1


async def test_what_is_not_there_is_said(open_app):
    async with open_app() as opened:
        await opened.press("escape", "1", "slash", *"zebra")
        assert "not found" in opened.text()


def test_search_ignores_case_unless_there_are_capitals():
    lines = ["Group group", "GROUP"]
    assert find(lines, pattern_for("group"), (0, 0)) == (0, 0, 5)
    assert find(lines, pattern_for("GROUP"), (0, 0)) == (1, 0, 5)
    assert pattern_for("") is None


def test_search_goes_around_the_end_both_ways():
    lines = ["a x", "b", "x"]
    pattern = pattern_for("x")
    assert find(lines, pattern, (2, 1)) == (0, 2, 3)
    assert find(lines, pattern, (0, 2), backwards=True) == (2, 0, 1)
    assert find(lines, pattern, (0, 3), backwards=True) == (0, 2, 3)
    assert find(lines, pattern_for("zz"), (1, 0)) is None
    assert find(["x.x"], pattern_for("."), (0, 0)) == (0, 1, 2)
