"""From end to end, in tmux, on the real session: an edit is seen, undone, and leaves no trace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

OPS = Path(__file__).parents[2] / "ops"

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Tmux:
    """A tmux server of its own with one window."""

    def __init__(self, folder: Path, size: tuple[int, int]) -> None:
        self._socket = str(folder / "tmux.sock")
        self._size = size

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, "-f", "/dev/null", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "TMUX": ""},
        )
        return done.stdout

    def open(self, command: str, folder: Path) -> None:
        width, height = map(str, self._size)
        # The window stays when the command ends, so that the end can be seen.
        kept = f"{command}; echo ended with $?; sleep 600"
        self.run("new-session", "-d", "-x", width, "-y", height, "-c", str(folder), kept)

    def press(self, *keys: str) -> None:
        self.run("send-keys", *keys)

    def type(self, text: str) -> None:
        self.run("send-keys", "-l", text)

    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    def wait_for(self, wanted: str | Callable[[str], bool], seconds: float = 60.0) -> str:
        test = (lambda text: wanted in text) if isinstance(wanted, str) else wanted
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.screen()
            if test(text):
                return text
            time.sleep(0.1)
        raise AssertionError(f"{wanted!r} did not come:\n{self.screen()}")

    def close(self) -> None:
        self.run("kill-server")


@pytest.fixture
def workspace(tmp_path) -> Path:
    ops = tmp_path / "ops"
    ops.mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    for name in ("silu_and_mul.py", "silu_and_mul.rs"):
        shutil.copy(OPS / name, ops / name)
    return tmp_path


@pytest.fixture
def tmux(tmp_path) -> Iterator[Tmux]:
    made = Tmux(tmp_path, (180, 50))
    yield made
    made.close()


def first_line(text: str) -> str:
    return text.split("\n", 1)[0]


def settled(text: str) -> bool:
    """A verdict over all variants is there."""
    first = first_line(text)
    return "SAME IR" in first and "pending" not in first


def test_an_edit_is_seen_in_the_diff_undone_and_saved_without_a_trace(workspace, tmux):
    port = workspace / "ops" / "silu_and_mul.rs"
    before = port.read_bytes()
    tmux.open(f"{sys.executable} -m tileport.tui ops/silu_and_mul.py", workspace)
    tmux.wait_for("silu_and_mul.rs")
    same = first_line(tmux.wait_for(settled, 120))

    # Another constant in silu: every variant computes something else.
    tmux.press("C-f")
    tmux.type("1.0f32")
    tmux.wait_for("1 found")
    tmux.press("Escape")
    tmux.wait_for("leave the editor")
    tmux.type("2.0f32")
    tmux.wait_for("constant(2.0f32")
    changed = tmux.wait_for(lambda text: settled(text) and first_line(text) != same)
    assert "SAME IR 0/" in first_line(changed)
    assert re.search(r"^ W .* rs \d+ ", changed, re.MULTILINE)
    assert "edited" in changed

    for _ in range(8):
        if "edited" not in tmux.screen():
            break
        tmux.press("C-z")
        time.sleep(0.3)
    tmux.wait_for(lambda text: settled(text) and first_line(text) == same)
    assert "constant(1.0f32" in tmux.screen()

    tmux.press("C-s")
    tmux.press("C-q")
    tmux.wait_for("ended with 0")
    assert port.read_bytes() == before
