"""The file changes while it is open."""

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.tui.fake import RUST
from tileport.tui.port_buffer import Outcome, PortBuffer
from tileport.tui.screens.ask import AskScreen


async def test_a_change_outside_is_taken_over_as_one_undoable_edit(open_app):
    async with open_app() as opened:
        editor = opened.live.editor
        editor.go_to(16, 8)
        changed = "// first\n" + RUST.replace("reduce_sum(scaled, 1)", "sum(scaled)")
        opened.session.outside(changed)
        await opened.settle()
        assert editor.text == changed
        assert editor.cursor_location == (17, 8)
        assert "taken over" in opened.text()
        assert not opened.live.desk.buffer.unsaved
        await opened.press("ctrl+z")
        assert editor.text == RUST
        assert editor.cursor_location == (16, 8)
        assert opened.live.desk.buffer.unsaved
        await opened.press("ctrl+y")
        assert editor.text == changed


async def test_undo_goes_on_before_a_change_made_outside(open_app):
    async with open_app() as opened:
        await opened.press("x", "ctrl+s")
        opened.session.outside("x" + RUST + "// more\n")
        await opened.settle()
        await opened.press("ctrl+z", "ctrl+z")
        assert opened.live.editor.text == RUST


async def test_changes_of_different_lines_are_merged(open_app):
    async with open_app() as opened:
        await opened.press("x")
        opened.session.outside(RUST.replace("reduce_max", "maximum"))
        await opened.settle()
        merged = "x" + RUST.replace("reduce_max", "maximum")
        assert opened.live.editor.text == merged
        assert opened.session.text == merged
        assert "merged with your edits" in opened.text()
        assert opened.live.desk.buffer.unsaved
        await opened.press("ctrl+s")
        assert opened.port.read_text() == merged


async def test_text_typed_but_not_yet_submitted_is_merged_too(open_app):
    async with open_app() as opened:
        await opened.pilot.press("x")
        opened.session.outside(RUST + "// end\n")
        await opened.settle()
        assert opened.live.editor.text == "x" + RUST + "// end\n"


async def conflict(opened):
    await opened.press("x")
    opened.session.outside("y" + RUST)
    await opened.settle()
    assert isinstance(opened.app.screen, AskScreen)


async def test_changes_of_one_line_ask_and_mine_can_be_kept(open_app):
    async with open_app() as opened:
        await conflict(opened)
        await opened.press("enter")
        assert opened.live.editor.text == "x" + RUST
        assert opened.live.desk.buffer.unsaved
        await opened.press("ctrl+s")
        assert opened.port.read_text() == "x" + RUST


async def test_changes_of_one_line_ask_and_theirs_can_be_taken(open_app):
    async with open_app() as opened:
        await conflict(opened)
        await opened.press("down", "enter")
        assert opened.live.editor.text == "y" + RUST
        assert not opened.live.desk.buffer.unsaved
        await opened.press("ctrl+z")
        assert opened.live.editor.text == "x" + RUST


async def test_a_conflict_can_be_looked_at_and_left_and_saving_asks_again(open_app):
    async with open_app() as opened:
        await conflict(opened)
        await opened.press("down", "down", "enter")
        assert "-x//! Port" in opened.text()
        assert "+y//! Port" in opened.text()
        await opened.press("escape", "escape")
        assert opened.app.screen is opened.live
        assert "conflict with the file" in opened.text()
        await opened.press("ctrl+s")
        assert isinstance(opened.app.screen, AskScreen)
        assert opened.port.read_text() == "y" + RUST
        await opened.press("enter")
        assert opened.port.read_text() == "x" + RUST


async def test_a_second_change_during_a_conflict_is_what_is_asked_about(open_app):
    async with open_app() as opened:
        await conflict(opened)
        opened.session.outside("z" + RUST)
        await opened.settle()
        await opened.press("down", "enter")
        assert opened.live.editor.text == "z" + RUST


async def test_a_save_onto_a_file_that_moved_merges_instead_of_overwriting(open_app):
    async with open_app() as opened:
        await opened.press("x")
        opened.port.write_text(RUST + "// theirs\n")
        await opened.press("ctrl+s")
        assert opened.port.read_text() == RUST + "// theirs\n"
        assert opened.live.editor.text == "x" + RUST + "// theirs\n"
        assert "save again" in opened.text()


async def test_a_deleted_file_is_said_the_text_kept_and_saving_makes_it_again(open_app):
    async with open_app() as opened:
        opened.session.outside(None)
        await opened.settle()
        assert "the file was deleted" in opened.text()
        assert opened.live.editor.text == RUST
        assert opened.live.desk.buffer.unsaved
        await opened.press("ctrl+s")
        assert opened.port.read_text() == RUST


async def test_a_file_deleted_and_written_again_is_merged_with_what_was_open(open_app):
    async with open_app() as opened:
        await opened.press("x")
        opened.session.outside(None)
        await opened.settle()
        opened.session.outside(RUST + "// back\n")
        await opened.settle()
        assert opened.live.editor.text == "x" + RUST + "// back\n"


async def test_the_same_text_again_changes_nothing(open_app):
    async with open_app() as opened:
        opened.session.outside(RUST)
        await opened.settle()
        assert not opened.live.editor.history.undo_stack


async def test_line_ends_changed_outside_are_kept(open_app):
    async with open_app() as opened:
        crlf = RUST.replace("\n", "\r\n")
        opened.session.outside(crlf)
        await opened.settle()
        assert opened.live.editor.text == crlf
        await opened.press("ctrl+home", "z", "ctrl+s")
        assert opened.port.read_bytes() == b"z" + crlf.encode()


async def test_undo_and_redo_go_through_typing_and_outside_changes_alike(open_app):
    chance = random.Random(3)
    async with open_app() as opened:
        editor = opened.live.editor
        texts = [editor.text]
        for step in range(60):
            lines = editor.text.split("\n")
            if step % 3 == 0:
                for _ in range(chance.randrange(1, 4)):
                    at = chance.randrange(len(lines))
                    lines[at : at + chance.randrange(2)] = [f"// outside {step}"]
                editor.take_outside("\n".join(lines))
            elif step % 3 == 1:
                row = chance.randrange(len(lines))
                editor.move_cursor((row, chance.randrange(len(lines[row]) + 1)))
                editor.insert(chance.choice(["x", "\n", "é漢", "two\nlines"]))
            else:
                start, end = (
                    (row, chance.randrange(len(lines[row]) + 1))
                    for row in (chance.randrange(len(lines)) for _ in range(2))
                )
                editor.delete(start, end, maintain_selection_offset=False)
            editor.history.checkpoint()
            texts.append(editor.text)
        for _ in range(200):
            editor.undo()
        assert editor.text == texts[0]
        assert editor.code.get_size(4).height == len(texts[0].split("\n"))
        for _ in range(200):
            editor.redo()
        assert editor.text == texts[-1]
        assert editor.wrapped_document.height == len(editor.lines)


# ---------------------------------------------------------------- the rules alone


class Text:
    """An editor of text alone."""

    def __init__(self, text):
        self.text = text

    def take_outside(self, text):
        self.text = text
        return True


LINES = st.lists(st.sampled_from(["a", "b", "c", "}"]), max_size=8).map("\n".join)
KINDS = st.sampled_from(["type", "outside", "save", "gone"])
STEPS = st.lists(st.tuples(KINDS, LINES), max_size=12)


@given(LINES, STEPS)
def test_whatever_happens_no_text_is_dropped_without_being_merged_or_asked_about(start, steps):
    editor = Text(start)
    submitted = []
    buffer = PortBuffer(editor, lambda text, saved: submitted.append((text, saved)))
    buffer.opened(start)
    disk = start
    for what, text in steps:
        before = editor.text
        if what == "type":
            editor.text = text
        elif what == "save" and buffer.conflict is None:
            disk = editor.text
            buffer.saved(disk)
        elif what == "outside":
            unsaved = buffer.unsaved
            disk = text
            outcome = buffer.changed_outside(text)
            if outcome is Outcome.CONFLICT:
                assert editor.text == before
                assert buffer.conflict.theirs == text
            elif outcome is Outcome.TAKEN:
                assert not unsaved or buffer.base == text
                assert editor.text == text
            elif outcome is Outcome.MERGED:
                assert buffer.base == text
        elif what == "gone":
            disk = None
            buffer.changed_outside(None)
            assert editor.text == before
        if buffer.conflict is None:
            assert buffer.base == disk
            assert buffer.unsaved == (editor.text != (disk or ""))
        if submitted and what in {"outside", "gone"} and buffer.conflict is None:
            assert submitted[-1] == (editor.text, editor.text == disk)
        submitted.clear()
