"""The app: theme, terminal, signals; the live session is its one base screen."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
from typing import ClassVar

from rich.console import RenderableType
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tileport.tui.files import Opened
from tileport.tui.frame import Frame
from tileport.tui.keygate import KeyDone, KeyGate
from tileport.tui.screens.live import LiveScreen
from tileport.tui.session_like import MakeSession
from tileport.tui.themes import LoadedTheme, Palette
from tileport.verify.operator import Operator

_log = logging.getLogger("tileport.tui")
#: Seconds that ending the session may take once the terminal is gone.
_LAST_SECONDS = 2.0


class TileportApp(App[None]):
    """The live session of one operator.

    Args:
        operator: What is open.
        source: The Python source as read.
        port: The Rust port as read.
        make_session: Makes the session, once the first paint is out.
        theme: The theme.
    """

    TITLE = "tileport"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", show=False, priority=True),
        Binding("ctrl+c", "help_quit", show=False),
    ]
    CSS = """
    * { scrollbar-background: $background; scrollbar-background-hover: $background;
        scrollbar-background-active: $background; scrollbar-color: $panel;
        scrollbar-color-hover: $secondary; scrollbar-color-active: $secondary; }
    ModalScreen { background: transparent; }
    """

    def __init__(
        self,
        operator: Operator,
        source: Opened,
        port: Opened,
        make_session: MakeSession,
        theme: LoadedTheme,
    ) -> None:
        self._frame = Frame()
        self._gate = KeyGate(lambda: self.call_next(self._next_key))
        self._outside = False
        self._palette = theme.palette
        super().__init__(ansi_color=theme.palette.ansi or None)
        self.animation_level = "none"
        self.register_theme(theme.theme)
        self.theme = theme.theme.name
        self.live = LiveScreen(operator, source, port, make_session)

    @property
    def palette(self) -> Palette:
        """The styles of the theme."""
        return self._palette

    def get_default_screen(self) -> Screen[None]:
        """The live session."""
        return self.live

    def on_mount(self) -> None:
        """Notice when the terminal goes away."""
        self.app_resume_signal.subscribe(self, lambda _: self._frame.reset())
        if self.is_headless:
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGHUP, signal.SIGTERM):
            loop.add_signal_handler(number, self._hang_up, number)

    def _hang_up(self, number: int) -> None:
        """The terminal is gone, or somebody ends the process: keep the text, leave nothing."""
        _log.info("ended by signal %d", number)
        self._outside = True

        async def end() -> None:
            try:
                await asyncio.wait_for(self.live.close_session(), _LAST_SECONDS)
            except Exception:
                _log.exception("while closing the session")
            if number == signal.SIGHUP:
                # Nothing can be written to the terminal any more, not even its reset.
                os._exit(128 + number)
            self._outside = False
            self.exit(return_code=128 + number)

        self._ending = asyncio.get_running_loop().create_task(end())

    async def action_quit(self) -> None:
        """Leave, by the one way that asks about unsaved text."""
        if self.screen is not self.live and not self.live.asking:
            while self.screen is not self.live:
                self.pop_screen()
        if self.screen is self.live:
            self.live.action_quit()

    def action_help_quit(self) -> None:
        """Ctrl+C where nothing is selected."""
        self.live.say("^Q quits; Esc leaves the editor")

    # ------------------------------------------------------------ the terminal

    async def on_event(self, event: events.Event) -> None:
        """A resize spoils what the terminal shows; keys act one after the other."""
        if isinstance(event, events.Resize):
            self._frame.reset()
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._gate.hold(event)
            await self._next_key()
            return
        await super().on_event(event)

    async def _next_key(self) -> None:
        """Let the next key go on, unless one is on its way or a screen is still opening."""
        if not self._gate.open:
            return
        if not self.screen.is_mounted:
            self.screen.call_after_refresh(self.call_next, self._next_key)
            return
        event, number = self._gate.enter()
        target = self.focused or self.screen
        await super().on_event(event)
        self._follow_key(KeyDone(number, target))

    def _follow_key(self, done: KeyDone) -> None:
        if not done.target.post_message(done):
            self._gate.leave(done.number)
            self.call_next(self._next_key)

    async def on_key_done(self, message: KeyDone) -> None:
        """A key has acted, and what it made widgets say was heard the second time around."""
        message.stop()
        if message.again:
            self._follow_key(KeyDone(message.number, message.target, again=False))
        elif self._gate.leave(message.number):
            await self._next_key()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if self._outside:
            return
        super()._display(screen, self._frame.lean(renderable))  # type: ignore[arg-type]  # same kind

    def redraw(self) -> None:
        """Paint everything again, whatever the terminal shows."""
        self._frame.reset()
        self.screen.refresh(layout=True)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy by OSC 52; in tmux, which ignores that by default, through tmux itself as well."""
        super().copy_to_clipboard(text)
        if os.environ.get("TMUX") and not self.is_headless:
            self._ending = asyncio.get_running_loop().create_task(_to_tmux(text))

    async def run_outside(self, command: list[str]) -> str:
        """Run a command that takes over the terminal; "" or what went wrong, in one line.

        The event loop goes on meanwhile, only nothing is painted.
        """
        loop = asyncio.get_running_loop()
        # Ctrl+C belongs to the command; a handler, unlike SIG_IGN, is not inherited.
        loop.add_signal_handler(signal.SIGINT, lambda: None)
        trouble = ""
        try:
            with self.suspend():
                self._outside = True
                try:
                    done = await asyncio.to_thread(subprocess.run, command, check=False)
                    if done.returncode:
                        trouble = f"{command[0]} ended with code {done.returncode}"
                except OSError as error:
                    trouble = f"cannot run {command[0]}: {error.strerror}"
                finally:
                    self._outside = False
        finally:
            loop.remove_signal_handler(signal.SIGINT)
        self.redraw()
        return trouble


async def _to_tmux(text: str) -> None:
    try:
        process = await asyncio.create_subprocess_exec(
            "tmux",
            "load-buffer",
            "-w",
            "-",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await asyncio.wait_for(process.communicate(text.encode()), 2.0)
    except (OSError, TimeoutError):
        _log.info("tmux did not take the clipboard")
