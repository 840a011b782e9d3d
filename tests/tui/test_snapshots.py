"""Pictures of the screens, compared with committed ones; `--snapshot-update` renews them."""

from __future__ import annotations

import pytest

from tests.tui.conftest import MEDIUM, SMALL, WIDE, build
from tests.tui.fake import RUST
from tileport.tui.screens import board
from tileport.verify.lock import LockHolder

FIXED = RUST.replace("row / GROUP", "floor_div(row, GROUP)").replace(
    "]).load([", "]).load_pipelined::<2>(["
)


@pytest.fixture
def picture(snap_compare, tmp_path, monkeypatch):
    """Compare a picture of the app after some keys."""
    monkeypatch.setattr(board, "REST", 0.01)

    def compare(size=WIDE, press=(), settle=0.3, **options):
        app, made = build(tmp_path, **options)

        async def ready(pilot):
            for _ in range(200):
                await pilot.pause(0.01)
                if made and app.live.session is not None:
                    break
            await pilot.pause(0.05)
            for key in press:
                await pilot.press(key)
                await pilot.pause(0.03)
            await pilot.pause(0.05)

        assert snap_compare(app, terminal_size=size, run_before=ready)

    return compare


@pytest.mark.parametrize("theme", ["tileport-dark", "tileport-light", "tileport-terminal"])
@pytest.mark.parametrize("size", [WIDE, MEDIUM, SMALL], ids=["wide", "medium", "small"])
def test_live(picture, size, theme):
    picture(size, theme=theme, press=["escape", "n"])


def test_same_ir(picture):
    picture(port=FIXED)


def test_cursor_links_panes(picture):
    picture(press=["down"] * 17)


def test_port_missing(picture):
    picture(SMALL, port=None, press=["escape", "4"])


def test_compile_error(picture):
    def broken(session):
        session.compile_error = "expected one of `.`, `;`, or an operator, found `let`"

    picture(MEDIUM, tweak=broken)


def test_capture_failed(picture):
    def broken(session):
        session.capture_error = "ops/softmax.py:12: NameError: name 'ct' is not defined"

    picture(MEDIUM, tweak=broken)


def test_second_session_is_read_only(picture):
    def locked(session):
        session.lock = LockHolder(pid=4711, host="tower", since="2026-12-01T10:00:00")

    picture(MEDIUM, tweak=locked)


def test_before_the_first_result(picture):
    def later(session):
        session.automatic = False

    picture(MEDIUM, tweak=later)


@pytest.mark.parametrize("size", [MEDIUM, SMALL], ids=["medium", "small"])
def test_variants(picture, size):
    picture(size, press=["f2", "down", "down"])


@pytest.mark.parametrize("size", [MEDIUM, SMALL], ids=["medium", "small"])
def test_specialization(picture, size):
    picture(size, press=["f3", "n"])


def test_help(picture):
    picture(MEDIUM, press=["f1"])


def test_explain(picture):
    picture(MEDIUM, press=["escape", "n", "x"], theme="tileport-light")


def test_raw_ir(picture):
    picture(SMALL, press=["escape", "3", "f6"])


def test_search(picture):
    picture(MEDIUM, press=["ctrl+f", *"scaled"])


def test_quit_question(picture):
    picture(SMALL, press=["z", "ctrl+q"])


def test_findings_pane(picture):
    picture(SMALL, press=["escape", "4", "down"])


def test_python_pane(picture):
    picture(SMALL, press=["escape", "1", "down"])
