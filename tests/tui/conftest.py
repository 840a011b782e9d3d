"""The app on a scripted session, in memory: fast, and the same each time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from textual.pilot import Pilot

from tests.tui.fake import PYTHON, RUST, FakeSession
from tests.tui.scripted import operator_in
from tileport.tui.app import TileportApp
from tileport.tui.files import open_text
from tileport.tui.screens import board
from tileport.tui.screens.live import LiveScreen
from tileport.tui.themes import builtin_themes

WIDE, MEDIUM, SMALL = (180, 50), (130, 40), (80, 24)
#: Wide enough for three panes, and quick to paint.
USUAL = (160, 32)


class Opened(NamedTuple):
    """The app, the pilot that presses keys, the live screen and the scripted session."""

    app: TileportApp
    pilot: Pilot[None]
    live: LiveScreen
    session: FakeSession
    port: Path

    async def settle(self) -> None:
        """Until timers of the debounce have gone off and everything is painted."""
        await self.pilot.pause(0.06)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        """Press keys, then settle."""
        await self.pilot.press(*keys)
        await self.settle()

    def text(self) -> str:
        """What the screen shows."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)


def build(
    folder: Path,
    *,
    port: str | bytes | None = RUST,
    source: str = PYTHON,
    tweak: Callable[[FakeSession], None] | None = None,
    theme: str = "tileport-dark",
) -> tuple[TileportApp, list[FakeSession]]:
    """An app on files in `folder`; the list gets the session once the app has made it."""
    ops = folder / "ops"
    ops.mkdir(exist_ok=True)
    (ops / "softmax.py").write_text(source)
    if port is not None:
        (ops / "softmax.rs").write_bytes(port.encode() if isinstance(port, str) else port)
    operator = operator_in(folder)
    made: list[FakeSession] = []

    def make(notify: Callable[[object], None]) -> FakeSession:
        session = FakeSession(operator, notify)
        if tweak is not None:
            tweak(session)
        made.append(session)
        return session

    loaded = builtin_themes()[theme]
    app = TileportApp(operator, open_text(operator.source), open_text(operator.port), make, loaded)
    return app, made


@pytest.fixture
def open_app(tmp_path, monkeypatch):
    """`async with open_app(size=..., port=..., tweak=...) as opened:`."""
    monkeypatch.setattr(board, "REST", 0.01)

    @asynccontextmanager
    async def open_it(size: tuple[int, int] = USUAL, **options: object) -> AsyncIterator[Opened]:
        app, made = build(tmp_path, **options)
        async with app.run_test(size=size) as pilot:
            for _ in range(100):
                await pilot.pause(0.01)
                if made and app.live.session is not None:
                    break
            opened = Opened(app, pilot, app.live, made[0], tmp_path / "ops" / "softmax.rs")
            await opened.settle()
            yield opened

    return open_it
