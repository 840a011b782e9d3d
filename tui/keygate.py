"""One key at a time: the next is looked at when the one before has done what it does.

Textual sends each key to the widget that has the focus when the key arrives, though keys before it
may be about to move the focus. Over a slow link keys come in bursts, and a letter meant for a
filter or for the editor would then act on a list.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from textual import events
from textual.message import Message
from textual.message_pump import MessagePump

#: Seconds after which the next key goes on, should the one before get lost in a closing screen.
_PATIENCE = 0.25


class KeyDone(Message, bubble=True):
    """Follows a key through the same queues, so that it arrives once the key has acted.

    It goes around twice: the second time it comes behind what the key made widgets say.
    """

    def __init__(self, number: int, target: MessagePump, *, again: bool = True) -> None:
        self.number = number
        self.target = target
        self.again = again
        super().__init__()


class KeyGate:
    """Holds keys back while one is on its way.

    Args:
        wake: Called when a key that got lost should no longer be waited for.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._held: deque[events.Event] = deque()
        self._number = 0
        self._busy = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def open(self) -> bool:
        """Whether there is a key to let through, and none on its way."""
        return bool(self._held) and not self._busy

    def hold(self, event: events.Event) -> None:
        """Take a key in."""
        self._held.append(event)

    def enter(self) -> tuple[events.Event, int]:
        """The key held longest starts on its way; also its number."""
        self._busy = True
        self._number += 1
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_PATIENCE, self._give_up, self._number)
        return self._held.popleft(), self._number

    def leave(self, number: int) -> bool:
        """The key with this number has acted; False where it is not the one waited for."""
        if number != self._number or not self._busy:
            return False
        self._busy = False
        if self._timer is not None:
            self._timer.cancel()
        return True

    def _give_up(self, number: int) -> None:
        if self.leave(number):
            self._wake()
