"""The app in a real pseudo-terminal, on a scripted session: bytes, colours, signals, editors."""

import os
import re
import signal
import stat
import sys

import pytest

from tests.support.pty import Terminal
from tests.tui.fake import PYTHON, RUST

#: A keystroke in a highlighted editor costs Textual about 50,000 bytes as it is.
_MOST_PER_KEY = 600
_ANY_COLOUR = rb"\x1b\[(?:\d+;)*(?:[34][0-8]|9[0-7]|10[0-7])(?:;\d+)*m"


@pytest.fixture
def folder(tmp_path):
    ops = tmp_path / "ops"
    ops.mkdir()
    (ops / "softmax.py").write_text(PYTHON)
    (ops / "softmax.rs").write_text(RUST)
    return tmp_path


def start(folder, *arguments, **options):
    return Terminal(
        [sys.executable, "-m", "tests.tui.scripted", str(folder), *arguments], **options
    )


def test_idle_writes_nothing_and_a_key_writes_little(folder):
    with start(folder) as terminal:
        terminal.wait_for("2 findings")
        terminal.pump(0.8)
        assert terminal.pump(1.5) == 0
        terminal.press("down", "down", "end")
        terminal.pump(0.6)
        for key in "abcdefgh":
            terminal.type(key)
            assert 0 < terminal.pump(0.3) < _MOST_PER_KEY
        assert terminal.pump(1.0) == 0


def test_the_screen_is_as_textual_painted_it_after_many_partial_updates(folder):
    with start(folder) as terminal:
        terminal.wait_for("2 findings")
        for keys in (
            ["down"] * 5,
            ["enter", "x"],
            ["escape", "n", "n"],
            ["f2"],
            ["escape"],
            ["f6"],
        ):
            terminal.press(*keys)
            terminal.pump(0.4)
        before = terminal.text
        terminal.screen.reset()
        terminal.press("ctrl+l")
        terminal.pump(0.8)
        assert terminal.text == before


def test_a_resize_repaints_all(folder):
    with start(folder) as terminal:
        terminal.wait_for("2 findings")
        terminal.resize(100, 30)
        terminal.wait_for("[2 Rust]")
        terminal.resize(180, 50)
        terminal.wait_for("Tile IR")
        terminal.wait_for("SAME IR 0/8 · 2 findings")


@pytest.mark.parametrize(
    ("env", "wanted", "unwanted"),
    [
        ({}, rb"38;2;", None),
        ({"COLORTERM": None}, rb"38;5;", rb"38;2;"),
        ({"COLORTERM": None, "TERM": "xterm"}, rb"\x1b\[[0-9;]*3[1-7]", rb"38;[25];"),
        ({"NO_COLOR": "1"}, rb"\x1b\[1;39;49m", _ANY_COLOUR),
    ],
    ids=["truecolor", "256", "16", "none"],
)
def test_colours_are_those_the_terminal_has(folder, env, wanted, unwanted):
    with start(folder, env=env) as terminal:
        terminal.wait_for("2 findings")
        terminal.press("escape", "n")
        terminal.pump(0.5)
        assert re.search(wanted, terminal.tail)
        if unwanted is not None:
            found = re.search(unwanted, terminal.tail)
            assert not found, found


def test_without_colour_the_place_of_a_finding_is_still_marked(folder):
    with start(folder, env={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("2 findings")
        terminal.press("escape", "n")
        terminal.wait_for("W   16▎")


def test_the_terminal_is_left_as_it_was(folder):
    with start(folder) as terminal:
        terminal.wait_for("2 findings")
        terminal.press("ctrl+q")
        assert terminal.wait() == 0
        for sequence in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l", b"\x1b[?2004l"):
            assert sequence in terminal.tail


def test_a_lost_terminal_ends_the_app_and_the_session_first(folder):
    with start(folder) as terminal:
        terminal.wait_for("2 findings")
        terminal.type("x")
        terminal.pump(0.3)
        terminal.hang_up()
        assert terminal.wait_end() == 128 + signal.SIGHUP
        assert (folder / "closed").read_text() == "x" + RUST


def test_the_signal_to_end_closes_the_session_and_restores_the_terminal(folder):
    with start(folder) as terminal:
        terminal.wait_for("2 findings")
        terminal.type("x")
        terminal.wait_for("edited")
        terminal.kill(signal.SIGTERM)
        assert terminal.wait() == 128 + signal.SIGTERM
        assert (folder / "closed").read_text() == "x" + RUST
        assert b"\x1b[?1049l" in terminal.tail


def editor(folder, body):
    script = folder / "myeditor"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def test_the_own_editor_gets_the_terminal_and_gives_it_back(folder):
    command = editor(folder, 'echo "editing $1"; read line; echo "$line" >> "$1"')
    with start(folder, env={"EDITOR": command, "VISUAL": None}) as terminal:
        terminal.wait_for("2 findings")
        terminal.press("escape", "o")
        terminal.wait_for("editing ")
        terminal.type("// from outside\n")
        terminal.wait_for("SAME IR 0/8")
        terminal.wait_for("let row: i32")
        assert (folder / "ops" / "softmax.rs").read_text() == RUST + "// from outside\n"


def test_ctrl_c_in_the_own_editor_does_not_end_the_app(folder):
    command = editor(folder, 'echo "editing $1"; sleep 20')
    with start(folder, env={"EDITOR": command, "VISUAL": None}) as terminal:
        terminal.wait_for("2 findings")
        terminal.press("escape", "o")
        terminal.wait_for("editing ")
        terminal.press("ctrl+c")
        terminal.wait_for("SAME IR 0/8")
        terminal.wait_for("ended with code")
        terminal.press("ctrl+q")
        assert terminal.wait() == 0


def test_keys_that_come_in_one_burst_act_one_after_the_other(folder):
    with start(folder) as terminal:
        terminal.wait_for("2 findings")
        terminal.type("\x1bOQsm_100 f32\r")
        terminal.wait_for("sm_100 7/8")
        terminal.press("escape")
        terminal.pump(0.5)
        terminal.type("exyz")
        terminal.wait_for("xyz//! Port")
        terminal.press("escape")
        terminal.pump(0.5)
        terminal.type("n\rquiet")
        terminal.wait_for("quiet")
        terminal.press("ctrl+s")
        terminal.wait_for("saved")
        text = (folder / "ops" / "softmax.rs").read_text()
        assert text.startswith("xyz//! Port")
        assert "quiet" in text.split("\n")[15]


def test_in_tmux_a_copy_goes_to_the_buffer_of_tmux_as_well(folder):
    fake = folder / "bin" / "tmux"
    fake.parent.mkdir()
    keep = f'cat > "{folder}/part"; echo "$@" > "{folder}/arguments"'
    fake.write_text(f'#!/bin/sh\n{keep}\nmv "{folder}/part" "{folder}/buffer"\n')
    fake.chmod(0o755)
    path = f"{fake.parent}:{os.environ['PATH']}"
    with start(folder, env={"TMUX": "/tmp/x,1,0", "PATH": path}) as terminal:
        terminal.wait_for("2 findings")
        terminal.press("escape")
        terminal.wait_for("x explain")
        terminal.press("ctrl+c")
        terminal.pump(1.5)
        assert b"\x1b]52;" in terminal.tail
    assert (folder / "arguments").read_text().split() == ["load-buffer", "-w", "-"]
    assert (folder / "buffer").read_text().startswith("W rounding-lost")


def test_a_paste_is_one_edit_with_line_ends_as_in_the_file(folder):
    with start(folder) as terminal:
        terminal.wait_for("2 findings")
        terminal.paste("// one\n// two\n")
        terminal.wait_for("// two")
        terminal.press("ctrl+s")
        terminal.wait_for("saved")
        assert (folder / "ops" / "softmax.rs").read_text() == "// one\n// two\n" + RUST


def test_escape_then_a_letter_leaves_and_acts_however_quick(folder):
    with start(folder) as terminal:
        terminal.wait_for("2 findings")
        terminal.press("escape")
        terminal.press("n")
        terminal.wait_for("▎")
        terminal.press("e")
        terminal.pump(0.3)
        terminal.type("\x1bn")
        terminal.wait_for(lambda text: "W   16▎" not in text and "S   17▎" in text)
        terminal.press("ctrl+q")
        assert terminal.wait() == 0
        assert (folder / "ops" / "softmax.rs").read_text() == RUST
