"""What the app starts ends with the app, however the app ends."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.support.processes import MARK, marked, new_mark, wait_gone
from tests.support.pty import Terminal

OPS = Path(__file__).resolve().parents[2] / "ops"


@pytest.fixture
def operator(tmp_path: Path) -> Path:
    """A copy of the softmax operator in a workspace of its own."""
    (tmp_path / "pyproject.toml").write_text("[tool.tileport]\n")
    for file in OPS.glob("softmax.*"):
        shutil.copy(file, tmp_path)
    return tmp_path / "softmax.py"


def _app(operator: Path, mark: str) -> Terminal:
    command = [sys.executable, "-m", "tileport.tui", str(operator)]
    return Terminal(command, cwd=operator.parent, env={MARK: mark})


def _verdict(text: str) -> bool:
    return "SAME IR" in text


@pytest.mark.parametrize("when", ["while it captures", "after the verdict"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_no_child_outlives_a_killed_app(operator: Path, when: str, number: int) -> None:
    mark = new_mark()
    with _app(operator, mark) as app:
        app.wait_for("softmax.rs")
        if when == "after the verdict":
            app.wait_for(_verdict, timeout=90, what="verdict")
        else:
            app.pump(1.0)
        assert len(marked(mark)) > 1, "the app has no children: nothing is tested"
        app.kill(number)
        assert wait_gone(mark) == []


def test_no_child_outlives_a_closed_terminal(operator: Path) -> None:
    mark = new_mark()
    with _app(operator, mark) as app:
        app.wait_for(_verdict, timeout=90, what="verdict")
        app.hang_up()
        assert wait_gone(mark) == []


def test_no_child_outlives_a_quit(operator: Path) -> None:
    mark = new_mark()
    with _app(operator, mark) as app:
        app.wait_for(_verdict, timeout=90, what="verdict")
        app.press("escape")
        app.pump(0.5)
        app.press("q")
        assert app.wait() == 0
        assert wait_gone(mark) == []
