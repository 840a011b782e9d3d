"""Typing, saving, undoing, leaving: nothing is lost."""

import stat

import pytest
from textual.document._document import Selection

from tests.tui.conftest import WIDE
from tests.tui.fake import RUST, line_of
from tileport.tui import app as app_module
from tileport.tui.screens import board
from tileport.tui.screens.ask import AskScreen
from tileport.verify.errors import TileportError
from tileport.verify.session import Recovered

FIXED = RUST.replace("row / GROUP", "floor_div(row, GROUP)")


async def test_what_is_typed_reaches_the_session_after_a_rest_and_changes_the_diff(open_app):
    async with open_app() as opened:
        editor = opened.live.editor
        row = line_of(RUST, "row / GROUP") - 1
        line = editor.lines[row]
        column = line.index("row / GROUP")
        editor.selection = Selection((row, column), (row, column + len("row / GROUP")))
        await opened.press(*"floor_div", "left_parenthesis", *"row")
        text = opened.session.log[-1]
        assert text[0] == "submit"
        assert "floor_div(row" in text[1]
        assert text[2] is False
        assert "rounding-lost" not in opened.text()
        assert "edited" in opened.text()
        assert opened.port.read_text() == RUST


async def test_many_keys_in_a_row_are_one_submission(open_app, monkeypatch):
    async with open_app() as opened:
        monkeypatch.setattr(board, "REST", 0.3)
        await opened.pilot.press(*"abcdefgh")
        await opened.pilot.pause(0.5)
        submitted = [entry for entry in opened.session.log if entry[0] == "submit"]
        assert len(submitted) == 1
        assert submitted[0][1].startswith("abcdefgh//!")


async def test_what_is_typed_while_the_session_starts_reaches_it(open_app):
    import asyncio

    gate = asyncio.Event()

    def slow(session):
        begin = session.start

        async def start():
            await gate.wait()
            await begin()

        session.start = start

    async with open_app(tweak=slow) as opened:
        await opened.press("x")
        assert not opened.session.log
        gate.set()
        await opened.settle()
        assert opened.session.text == "x" + RUST


async def test_save_writes_the_bytes_and_says_so(open_app):
    async with open_app() as opened:
        await opened.press("x", "ctrl+s")
        assert opened.port.read_bytes() == b"x" + RUST.encode()
        assert "saved" in opened.text()
        assert not opened.live.desk.buffer.unsaved


async def test_undo_of_what_was_typed_brings_the_text_back(open_app):
    async with open_app() as opened:
        await opened.press("x", "y", "ctrl+z")
        assert opened.live.editor.text == RUST
        assert not opened.live.desk.buffer.unsaved
        await opened.press("ctrl+y")
        assert opened.live.editor.text == "xy" + RUST


async def test_undo_save_brings_the_exact_bytes_back(open_app):
    port = RUST.replace("\n", "\r\n").encode()
    async with open_app(port=port) as opened:
        await opened.press("x", "ctrl+s")
        assert opened.port.read_bytes() == b"x" + port
        await opened.press("escape", "u")
        assert opened.port.read_bytes() == port
        assert "the last save is undone" in opened.text()
        await opened.press("u")
        assert "there is no save to undo" in opened.text()


async def test_undo_save_keeps_what_was_typed_since(open_app):
    async with open_app() as opened:
        await opened.press("x", "ctrl+s")
        await opened.press("ctrl+end", "z", "escape", "u")
        assert opened.port.read_text() == RUST
        assert opened.live.editor.text == RUST + "z"


async def test_undo_of_the_save_that_made_the_file_keeps_the_text(open_app):
    async with open_app(port=None) as opened:
        opened.live.editor.insert("// new\n")
        await opened.press("ctrl+s")
        assert opened.port.exists()
        await opened.press("escape", "u")
        assert not opened.port.exists()
        assert opened.live.editor.text == "// new\n"
        assert opened.live.desk.buffer.unsaved


async def test_a_save_that_fails_says_why_and_keeps_the_text(open_app):
    def full(session):
        session.save_error = TileportError("the disk is full", where="softmax.rs", todo="free some")

    async with open_app(tweak=full) as opened:
        await opened.press("x", "ctrl+s")
        assert "not saved: softmax.rs: the disk is full; free some" in opened.text()
        assert opened.live.desk.buffer.unsaved
        assert opened.port.read_text() == RUST


# ---------------------------------------------------------------- leaving


@pytest.mark.parametrize("key", ["ctrl+q", "q"])
async def test_quit_with_nothing_unsaved_ends_at_once(open_app, key):
    async with open_app() as opened:
        await opened.press("escape", key)
        assert opened.session.closed
        assert opened.app.return_code == 0


@pytest.mark.parametrize("key", ["ctrl+q", "q"])
async def test_quit_asks_when_something_is_unsaved(open_app, key):
    async with open_app() as opened:
        await opened.press("x", "escape", key)
        assert isinstance(opened.app.screen, AskScreen)
        assert "The Rust text is not saved." in opened.text()
        await opened.press("escape")
        assert opened.app.screen is opened.live
        assert opened.live.editor.text == "x" + RUST
        assert not opened.session.closed


async def test_quit_can_save(open_app):
    async with open_app() as opened:
        await opened.press("x", "ctrl+q", "enter")
        assert opened.port.read_text() == "x" + RUST
        assert opened.session.closed


async def test_quit_by_the_save_key_saves(open_app):
    async with open_app() as opened:
        await opened.press("x", "ctrl+q", "ctrl+s")
        assert opened.port.read_text() == "x" + RUST
        assert opened.session.closed


async def test_quit_waits_for_a_save_that_is_under_way(open_app):
    import asyncio

    async with open_app() as opened:
        write = opened.session.save

        async def slow(text):
            await asyncio.sleep(0.2)
            await write(text)

        opened.session.save = slow
        await opened.pilot.press("x", "ctrl+s", "ctrl+q")
        await opened.pilot.pause(0.5)
        assert opened.session.closed
        assert opened.port.read_text() == "x" + RUST


async def test_quit_can_discard_and_the_session_had_the_text(open_app):
    async with open_app() as opened:
        await opened.press("x", "ctrl+q", "down", "enter")
        assert opened.port.read_text() == RUST
        assert ("submit", "x" + RUST, False) in opened.session.log
        assert opened.session.text == RUST
        assert opened.session.closed


async def test_quit_after_a_save_that_failed_stays(open_app):
    async with open_app() as opened:
        opened.session.save_error = TileportError("the disk is full")
        await opened.press("x", "ctrl+q", "enter")
        assert not opened.session.closed
        assert opened.live.editor.text == "x" + RUST


async def test_quit_at_once_after_a_key_still_asks(open_app):
    async with open_app() as opened:
        await opened.pilot.press("x", "ctrl+q")
        await opened.settle()
        assert isinstance(opened.app.screen, AskScreen)


async def test_quit_from_an_open_screen_asks_as_well(open_app):
    async with open_app() as opened:
        await opened.press("x", "f1", "ctrl+q")
        assert isinstance(opened.app.screen, AskScreen)
        await opened.press("ctrl+q")
        assert isinstance(opened.app.screen, AskScreen)
        await opened.press("escape")
        assert opened.app.screen is opened.live


async def test_the_end_of_the_terminal_hands_the_text_to_the_session_first(open_app):
    async with open_app() as opened:
        await opened.pilot.press("x")
        await opened.live.close_session()
        assert opened.session.text == "x" + RUST
        assert opened.session.closed


async def test_ctrl_c_does_not_end_the_app_but_says_how(open_app):
    async with open_app() as opened:
        await opened.press("ctrl+c")
        assert "^Q quits" in opened.text()
        assert opened.app.is_running


async def test_ctrl_c_copies_the_selection_or_the_row(open_app):
    async with open_app() as opened:
        opened.live.editor.selection = Selection((4, 8), (4, 11))
        await opened.press("ctrl+c")
        assert opened.app.clipboard == "cut"
        await opened.press("escape", "ctrl+c")
        assert opened.app.clipboard.startswith("W rounding-lost")


# ---------------------------------------------------------------- keys


async def test_letters_type_in_the_editor_and_act_outside(open_app):
    async with open_app() as opened:
        await opened.press(*"quonx", "slash", "question_mark", "1", "2")
        assert opened.live.editor.text.startswith("quonx/?12//! Port")
        assert opened.app.screen is opened.live
        await opened.press("escape", "question_mark")
        assert opened.app.screen is not opened.live
        assert "These act everywhere" in opened.text()


async def test_escape_and_a_letter_arriving_as_alt_do_both(open_app):
    async with open_app() as opened:
        await opened.press("alt+n")
        assert opened.live.focused is opened.live.findings
        assert opened.live.editor.cursor_location[0] + 1 == line_of(RUST, "row / GROUP")
        assert opened.live.editor.text == RUST


async def test_e_goes_back_to_the_editor(open_app):
    async with open_app() as opened:
        await opened.press("escape", "e", "z")
        assert opened.live.editor.text == "z" + RUST


async def test_enter_keeps_the_indentation_and_opens_blocks(open_app):
    async with open_app() as opened:
        editor = opened.live.editor
        row = line_of(RUST, "pub mod softmax") - 1
        editor.go_to(row, len(editor.lines[row]))
        await opened.press("enter", *"use", "enter", *"x")
        assert editor.lines[row + 1 : row + 3] == ["    use", "    x"]


async def test_pasted_line_ends_of_the_terminal_become_lines(open_app):
    from textual.events import Paste

    async with open_app() as opened:
        opened.app.post_message(Paste("// a\r// b\r\n"))
        await opened.settle()
        assert opened.live.editor.text == "// a\n// b\n" + RUST


async def test_f6_in_the_editor_is_the_action_not_the_selection_of_a_line(open_app):
    async with open_app() as opened:
        await opened.press("f6")
        assert opened.live.ir_mode == "reference"
        assert opened.live.editor.selection.is_empty


# ---------------------------------------------------------------- the person's own editor


def fake_editor(folder, body):
    script = folder / "editor.sh"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


async def test_open_without_an_editor_says_what_to_set(open_app, monkeypatch):
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    async with open_app() as opened:
        await opened.press("escape", "o")
        assert "neither $VISUAL nor $EDITOR is set" in opened.text()


async def test_open_runs_the_editor_on_the_file_of_the_pane(open_app, monkeypatch, tmp_path):
    ran = []

    async def run(self, command):
        ran.append(command)
        return ""

    monkeypatch.setattr(app_module.TileportApp, "run_outside", run)
    monkeypatch.setenv("EDITOR", "vim -u NONE")
    monkeypatch.delenv("VISUAL", raising=False)
    async with open_app() as opened:
        await opened.press("down", "down", "escape", "o")
        await opened.press("1", "o")
        assert ran[0] == ["vim", "-u", "NONE", "+3", str(opened.port)]
        assert ran[1][-1].endswith("ops/softmax.py")


async def test_an_editor_that_cannot_run_is_said(open_app, monkeypatch):
    async def run(self, command):
        return "cannot run nosuch: No such file or directory"

    monkeypatch.setattr(app_module.TileportApp, "run_outside", run)
    monkeypatch.setenv("VISUAL", "nosuch")
    async with open_app() as opened:
        await opened.press("escape", "o")
        assert "cannot run nosuch" in opened.text()


# ---------------------------------------------------------------- what was never saved


def left_over(moved=False):
    def tweak(session):
        session.left_over = Recovered(
            text="// old\n" + RUST, when="2026-11-30T18:04:00", moved=moved
        )

    return tweak


async def test_text_of_a_lost_session_can_be_restored(open_app):
    async with open_app(tweak=left_over(moved=True)) as opened:
        assert "Text typed at 2026-11-30T18:04:00 was never saved." in opened.text()
        assert "The file has changed since." in opened.text()
        await opened.press("enter")
        assert opened.live.editor.text == "// old\n" + RUST
        assert opened.session.text == "// old\n" + RUST
        assert opened.port.read_text() == RUST
        await opened.press("ctrl+z")
        assert opened.live.editor.text == RUST


async def test_text_of_a_lost_session_can_be_forgotten_or_left(open_app):
    async with open_app(tweak=left_over()) as opened:
        await opened.press("down", "enter")
        assert opened.session.left_over is None
        assert opened.live.editor.text == RUST
    async with open_app(tweak=left_over()) as opened:
        await opened.press("escape")
        assert opened.session.left_over is not None


# ---------------------------------------------------------------- files that are not text, or large


def no_start(why):
    return lambda session: setattr(session, "start_error", TileportError(why))


async def test_a_file_that_is_not_utf8_is_shown_read_only(open_app):
    port = b"// caf\xe9\n" + RUST.encode()
    async with open_app(port=port, tweak=no_start("not UTF-8")) as opened:
        assert "not UTF-8 (line 1): read-only" in opened.text()
        assert "// caf\ufffd" in opened.text()
        await opened.press("x", "ctrl+s")
        assert opened.port.read_bytes() == port


async def test_a_file_that_cannot_be_read_is_said(open_app, tmp_path):
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "softmax.rs").mkdir()
    async with open_app(port=None, tweak=no_start("a folder")) as opened:
        assert "is a directory" in opened.text()


async def test_a_file_of_20000_lines_stays_quick(open_app):
    import time

    line = "        let value: Tile<f32, { [BM, BN] }> = mma(a, b, acc);\n"
    port = RUST + line * 20_000
    async with open_app(port=port, size=WIDE) as opened:
        await opened.press("ctrl+end")
        start = time.process_time()
        await opened.pilot.press(*"abcdefghij")
        await opened.pilot.pause()
        per_key = (time.process_time() - start) / 10
        assert opened.live.editor.lines[-1] == "abcdefghij"
        assert per_key < 0.15
