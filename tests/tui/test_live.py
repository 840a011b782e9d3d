"""The live screen: what it shows of a session, and how the panes follow each other."""

import pytest

from tests.tui.conftest import MEDIUM, SMALL, WIDE
from tests.tui.fake import PYTHON, RUST, VARIANTS, line_of
from tileport.tui.layout import Layout
from tileport.verify.errors import TileportError
from tileport.verify.lock import LockHolder
from tileport.verify.model import Severity, StageState


async def test_files_are_shown_before_there_is_a_session(open_app):
    def later(session):
        session.automatic = False

    async with open_app(tweak=later) as opened:
        text = opened.text()
        assert "row = ct.bid(0)" in text
        assert "let row: i32 = program_id(0);" in text
        assert "CAPTURING" in text


async def test_verdict_stages_findings_and_diff_are_shown(open_app):
    async with open_app() as opened:
        lines = opened.text().split("\n")
        assert lines[0].endswith("SAME IR 0/8 · 2 findings")
        assert "kernel softmax 1/1" in lines[0]
        assert "TILE_N=1024 f16 · sm_90 1/8" in lines[0]
        strip = next(line for line in lines if line.startswith(" capture"))
        assert "capture ok 812 ms" in strip
        assert "compile ok 71 ms" in strip
        assert "diff 2 found 9 ms" in strip
        text = opened.text()
        assert "W rounding-lost" in text
        assert "- divi signed rounding<negative_inf>" in text
        assert "+ divi signed" in text


async def test_nothing_moves_when_a_stage_ends(open_app):
    def by_hand(session):
        session.automatic = False

    async with open_app(tweak=by_hand) as opened:
        opened.session.capture()
        await opened.settle()
        running = opened.text().split("\n")
        opened.session.finish()
        await opened.settle()
        done = opened.text().split("\n")
        where = next(i for i, line in enumerate(running) if line.startswith(" capture"))
        for stage in ("capture", "declare", "compile", "diff", "build"):
            assert running[where].index(stage) == done[where].index(stage)
        assert "compile …" in running[where]
        assert "compile ok" in done[where]


async def test_all_events_of_one_turn_are_one_refresh(open_app, monkeypatch):
    async with open_app() as opened:
        calls = []
        monkeypatch.setattr(opened.live.painter, "all", lambda: calls.append(1))
        for number in range(50):
            opened.session.tell(Severity.NOTE, f"notice {number}")
        await opened.settle()
        assert len(calls) == 1
        assert opened.live.notice[0] == "notice 49"


async def test_selecting_a_finding_moves_all_panes_to_its_place(open_app):
    async with open_app() as opened:
        await opened.press("escape", "n")
        live = opened.live
        assert live.source.cursor_location[0] + 1 == line_of(PYTHON, "row // GROUP")
        assert live.editor.cursor_location[0] + 1 == line_of(RUST, "row / GROUP")
        assert "divi signed rounding" in live.ir_pane.row_text(live.ir_pane.cursor)
        await opened.press("n")
        assert live.source.cursor_location[0] + 1 == line_of(PYTHON, "ct.load")
        assert live.editor.cursor_location[0] + 1 == line_of(RUST, ".load([")
        assert "latency = 2" in live.ir_pane.row_text(live.ir_pane.cursor)
        await opened.press("n")
        assert live.editor.cursor_location[0] + 1 == line_of(RUST, "row / GROUP")


async def test_moving_in_the_list_moves_the_panes_and_enter_goes_to_the_editor(open_app):
    async with open_app() as opened:
        await opened.press("escape", "down")
        assert opened.live.editor.cursor_location[0] + 1 == line_of(RUST, ".load([")
        assert opened.live.focused is opened.live.findings
        await opened.press("enter")
        assert opened.live.focused is opened.live.editor


async def test_a_finding_of_another_variant_brings_that_variant_into_view(open_app):
    async with open_app() as opened:
        opened.session.view = "v7"
        await opened.press("escape", "n", "n")
        assert ("look_at", "v0") in opened.session.log
        assert "1/8" in opened.text().split("\n")[0]


async def test_the_cursor_lights_up_the_lines_that_belong_together(open_app):
    async with open_app() as opened:
        live = opened.live
        live.editor.go_to(line_of(RUST, "reduce_max") - 1)
        await opened.settle()
        assert live.source.linked == {line_of(PYTHON, "ct.max") - 1}
        assert {live.ir_pane.row_text(row).split("  ")[-1] for row in live.ir_pane.linked} & {
            "peak = reduce max",
            "3 ops same",
        }
        await opened.press("escape", "1")
        live.source.go_to(line_of(PYTHON, "ct.exp2") - 1)
        await opened.settle()
        assert live.editor.linked == {line_of(RUST, "exp2") - 1}
        await opened.press("3")
        rows = live.ir_pane.map.rows
        live.ir_pane.move_to(
            next(i for i, r in enumerate(rows) if r.python == line_of(PYTHON, "ct.load"))
        )
        await opened.settle()
        assert live.source.linked == {line_of(PYTHON, "ct.load") - 1}
        assert live.editor.linked == {line_of(RUST, ".load([") - 1}


async def test_links_and_marks_stay_with_their_lines_while_one_types(open_app):
    def by_hand(session):
        session.automatic = False

    async with open_app(tweak=by_hand) as opened:
        opened.session.capture()
        opened.session.finish()
        await opened.settle()
        live = opened.live
        wrong = line_of(RUST, "row / GROUP") - 1
        assert live.editor._marks[wrong].letter == "W"
        await opened.press("enter", "enter")
        assert live.editor._marks[wrong + 2].letter == "W"
        assert wrong not in live.editor._marks
        live.editor.go_to(wrong + 2)
        await opened.settle()
        assert live.source.linked == {line_of(PYTHON, "row // GROUP") - 1}


async def test_linked_lines_out_of_view_are_brought_into_view(open_app):
    source = PYTHON.replace("GROUP = 4", "GROUP = 4\n" + "# filler\n" * 200)

    async with open_app(source=source) as opened:
        live = opened.live
        live.source.scroll_to(y=0, animate=False)
        rows = [r._replace(python=r.python + 200 if r.python else 0) for r in live.ir_pane.map.rows]
        live.ir_pane.show_rows(rows, "")
        live.links.set_rows(rows)
        live.painter.ir = lambda: None
        live.editor.go_to(line_of(RUST, "reduce_max") - 1)
        await opened.settle()
        top = live.source.scroll_offset.y
        (row,) = live.source.linked
        assert top <= row < top + live.source.size.height


async def test_specialization_marks_and_severities_stand_in_the_gutters(open_app):
    async with open_app() as opened:
        lines = opened.text().split("\n")
        missing = next(line for line in lines if "x: &Tensor" in line)
        assert "◇" in missing
        declared = next(line for line in lines if "pub fn softmax" in line)
        assert "◆" in declared
        wrong = next(line for line in lines if "row / GROUP" in line and "let" in line)
        assert "W   16" in wrong


async def test_allowed_findings_leave_the_gutter_and_say_why(open_app):
    import msgspec

    from tests.tui.fake import hint_lost

    allowed = msgspec.structs.replace(hint_lost(), allowed="latency is tuned elsewhere")

    def judged(session):
        session.judge = lambda text: (allowed,)

    async with open_app(tweak=judged) as opened:
        assert "allowed: latency is tuned elsewhere" in opened.text()
        assert all(not mark.letter for mark in opened.live.editor._marks.values())


async def test_the_ir_pane_changes_between_canonical_and_raw(open_app):
    async with open_app() as opened:
        assert "canonical, by line" in opened.text()
        await opened.press("f6")
        assert "raw, of Python" in opened.text()
        assert "entry @softmax() { // reference" in opened.text()
        await opened.press("f6")
        assert "entry @softmax() { // port" in opened.text()
        await opened.press("f6")
        assert "canonical, by line" in opened.text()
        assert "divi signed" in opened.text()


async def test_raw_ir_that_is_not_there_says_why(open_app):
    def broken(session):
        session.compile_error = "expected `;`"

    async with open_app(tweak=broken) as opened:
        await opened.press("f6", "f6")
        assert "the port does not compile; see the findings" in opened.text()


async def test_a_click_puts_the_cursor_on_the_character_under_the_mouse(open_app):
    async with open_app() as opened:
        live = opened.live
        column = 7
        await opened.pilot.click("#rust", offset=(live.editor.gutter_width + column, 3))
        await opened.settle()
        assert live.editor.cursor_location == (3, column)
        await opened.pilot.click("#python", offset=(live.source.gutter_width + 2, 11))
        await opened.settle()
        assert live.focused is live.source
        assert live.source.cursor_location == (11 + live.source.scroll_offset.y, 2)
        await opened.pilot.click("#findings", offset=(4, 1))
        await opened.settle()
        assert live.findings.cursor == 1
        assert live.editor.cursor_location[0] + 1 == line_of(RUST, ".load([")


# ---------------------------------------------------------------- trouble


async def test_a_missing_port_is_said_and_can_be_written_here(open_app):
    async with open_app(port=None) as opened:
        assert "port-missing" in opened.text()
        assert "no file yet" in opened.text()
        await opened.pilot.press("escape", "e")
        opened.live.editor.insert(RUST)
        await opened.press("ctrl+s")
        assert opened.port.read_text() == RUST
        assert "rounding-lost" in opened.text()


async def test_a_compile_error_is_a_finding_at_its_place(open_app):
    def broken(session):
        session.compile_error = "expected `;`, found `let`"

    async with open_app(tweak=broken) as opened:
        text = opened.text()
        assert "W compile-error" in text
        assert "rs 16" in text
        assert "compile failed" in text
        assert "nothing to compare: compile failed" in text
        await opened.press("escape", "n")
        assert opened.live.editor.cursor_location == (15, 8)


async def test_a_failed_capture_is_said_in_the_list(open_app):
    def broken(session):
        session.capture_error = "ops/softmax.py:12: NameError: name 'ct' is not defined; fix it"

    async with open_app(tweak=broken) as opened:
        text = opened.text()
        assert "× capture failed" in text
        assert "NameError" in text
        await opened.press("escape", "x")
        assert "name 'ct' is not defined" in opened.text()


async def test_a_session_that_cannot_start_is_said_and_nothing_breaks(open_app):
    def broken(session):
        session.start_error = TileportError("cannot read the port", todo="check its rights")

    async with open_app(tweak=broken) as opened:
        assert "cannot read the port; check its rights" in opened.text()
        assert "no session: read-only" in opened.text()
        await opened.press("x", "ctrl+s")
        assert opened.live.editor.text == RUST
        await opened.press("f2")
        await opened.press("escape")
        assert opened.app.is_running


async def test_a_second_session_on_the_port_is_read_only_and_says_who_has_it(open_app):
    def locked(session):
        session.lock = LockHolder(pid=4711, host="tower", since="2026-12-01T10:00:00")

    async with open_app(tweak=locked) as opened:
        assert "read-only: pid 4711 has it" in opened.text()
        assert "pid 4711 on tower since 2026-12-01T10:00:00" in opened.text()
        await opened.press("x", "y", "ctrl+s")
        assert opened.live.editor.text == RUST
        assert opened.port.read_text() == RUST


async def test_control_characters_of_everything_shown_are_symbols(open_app):
    import msgspec

    from tests.tui.fake import rounding_lost

    evil = "\x1b]0;owned\x07 \x9b31m \u202e"
    finding = msgspec.structs.replace(rounding_lost(), message=evil, reference=evil)

    def judged(session):
        session.judge = lambda text: (finding,)

    async with open_app(
        tweak=judged, port=RUST + f"// {evil}\n", source=PYTHON + f"# {evil}\n"
    ) as opened:
        opened.session.tell(Severity.NOTE, evil)
        await opened.settle()
        await opened.press("escape", "n", "x")
        for strip in opened.app.screen._compositor.render_strips():
            for char in strip.text:
                assert char.isprintable(), repr(strip.text)


# ---------------------------------------------------------------- layouts


@pytest.mark.parametrize(
    ("size", "layout"), [(WIDE, Layout.WIDE), (MEDIUM, Layout.MEDIUM), (SMALL, Layout.SMALL)]
)
async def test_the_layout_follows_the_size(open_app, size, layout):
    async with open_app(size=size) as opened:
        assert opened.live.layout_now is layout
        lines = opened.text().split("\n")
        assert len(lines) == size[1]
        assert max(map(len, lines)) <= size[0]
        assert "SAME IR 0/8" in lines[0]
        assert any("diff" in line and "comp" in line for line in lines)


async def test_resizing_keeps_text_focus_and_verdict(open_app):
    async with open_app(size=WIDE) as opened:
        await opened.press("down", "down")
        for size in (SMALL, MEDIUM, WIDE, (60, 15), (200, 60)):
            await opened.pilot.resize_terminal(*size)
            await opened.settle()
            assert opened.live.focused is opened.live.editor
            assert opened.live.editor.cursor_location == (2, 0)
            assert "#[cutile::module]" in opened.text()
            assert "SAME IR" in opened.text()


async def test_in_a_small_terminal_the_digits_change_the_pane(open_app):
    async with open_app(size=SMALL) as opened:
        assert "[2 Rust]" in opened.text()
        await opened.press("escape", "1")
        assert "[1 Python]" in opened.text()
        assert "ct.bid(0)" in opened.text()
        await opened.press("3")
        assert "divi signed" in opened.text()
        await opened.press("4")
        assert "[4 Findings 2]" in opened.text()
        assert "hint-lost" in opened.text()
        await opened.press("2")
        assert "program_id" in opened.text()


async def test_in_a_small_terminal_escape_leaves_the_editor_in_view(open_app):
    async with open_app(size=SMALL) as opened:
        await opened.press("escape")
        assert "[2 Rust]" in opened.text()
        await opened.press("n")
        assert opened.live.editor.cursor_location[0] + 1 == line_of(RUST, "row / GROUP")


async def test_a_tab_can_be_clicked(open_app):
    async with open_app(size=SMALL) as opened:
        await opened.pilot.click("#tabs", offset=(4, 0))
        await opened.settle()
        assert "[1 Python]" in opened.text()


async def test_a_tiny_terminal_does_not_break_it(open_app):
    async with open_app(size=(20, 5)) as opened:
        await opened.press("escape", "n", "x", "escape", "f2", "escape", "f3", "escape")
        assert opened.app.is_running


async def test_a_stage_result_that_was_skipped_says_why(open_app):
    from tileport.verify.model import StageResult

    async with open_app() as opened:
        opened.session._put(
            StageResult(stage="build", state=StageState.SKIPPED, reason="no cargo; install Rust")
        )
        opened.session.tell(Severity.NOTE, "x")
        await opened.settle()
        assert "build skipped" in opened.text()
        assert "no cargo; install Rust" in opened.text()


async def test_one_more_variant_is_one_more_in_the_header(open_app):
    async with open_app() as opened:
        opened.session.look_at(VARIANTS[4].id)
        opened.session.tell(Severity.NOTE, "x")
        await opened.settle()
        assert "sm_100 5/8" in opened.text().split("\n")[0]
