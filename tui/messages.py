"""Messages that cross the app: what the session told, gathered by turn of the event loop."""

from __future__ import annotations

import asyncio

from textual.message import Message
from textual.message_pump import MessagePump

from tileport.verify.session_events import Event


class SessionTold(Message):
    """The events of one turn of the event loop, in order: one repaint for all of them."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        self.events = events
        super().__init__()


class Feed:
    """Takes single events from the session and posts them gathered."""

    def __init__(self, target: MessagePump) -> None:
        self._target = target
        self._waiting: list[Event] = []

    def notify(self, event: Event) -> None:
        """Called by the session, on the event loop."""
        self._waiting.append(event)
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        events, self._waiting = tuple(self._waiting), []
        self._target.post_message(SessionTold(events))
