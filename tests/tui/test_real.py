"""The app on the real session, in a pseudo-terminal: the lock, and text that was never saved."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.pty import Terminal

OPS = Path(__file__).parents[2] / "ops"


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "ops").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    for name in ("softmax.py", "softmax.rs"):
        shutil.copy(OPS / name, tmp_path / "ops" / name)
    return tmp_path


def start(folder, **options):
    command = [sys.executable, "-m", "tileport.tui", "ops/softmax.py"]
    return Terminal(command, cwd=folder, **options)


def judged_same(text):
    """The verdict is there, and some variants are the same."""
    return "SAME IR" in text and "pending" not in text and "SAME IR 0/" not in text


def test_a_second_session_on_the_port_is_told_who_has_it_and_changes_nothing(workspace):
    before = (workspace / "ops" / "softmax.rs").read_bytes()
    with start(workspace) as first:
        first.wait_for("capture …")
        with start(workspace) as second:
            second.wait_for(f"read-only: pid {first.pid} has it")
            second.type("x")
            second.press("ctrl+s", "ctrl+q")
            assert second.wait() == 0
        first.press("ctrl+q")
        assert first.wait() == 0
    assert (workspace / "ops" / "softmax.rs").read_bytes() == before


def test_text_typed_before_the_connection_was_lost_is_offered_the_next_time(workspace):
    port = workspace / "ops" / "softmax.rs"
    before = port.read_text()
    with start(workspace) as lost:
        lost.wait_for("capture …")
        lost.type("// never saved")
        lost.press("enter")
        lost.wait_for("edited")
        lost.pump(0.5)
        lost.hang_up()
        lost.wait_end()
    assert port.read_text() == before
    with start(workspace) as again:
        again.wait_for("was never saved")
        again.press("enter")
        again.wait_for("// never saved")
        # However quickly one follows the other: the save is waited for, nothing is asked.
        again.press("ctrl+s", "ctrl+q")
        assert again.wait() == 0
    assert port.read_text() == "// never saved\n" + before


def test_a_save_by_another_program_is_taken_over_and_judged(workspace):
    port = workspace / "ops" / "softmax.rs"
    with start(workspace) as terminal:
        terminal.wait_for(judged_same, timeout=120)
        text = port.read_text()
        fresh = port.with_suffix(".new")
        fresh.write_text(text.replace("1.4426950408889634", "1.4426950408889634 * 2.0", 1))
        fresh.replace(port)
        terminal.wait_for("* 2.0")
        terminal.wait_for("SAME IR 0/", timeout=60)
        terminal.press("ctrl+z")
        terminal.wait_for(
            lambda text: "SAME IR 0/" not in text and "pending" not in text, timeout=60
        )
        terminal.wait_for("edited")
        terminal.press("ctrl+s")
        terminal.wait_for("saved")
        terminal.press("ctrl+q")
        assert terminal.wait() == 0
    assert port.read_text() == text
