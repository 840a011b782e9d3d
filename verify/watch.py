"""Watching files for new content, told within some ten milliseconds of a save.

Folders are watched, not files: an editor that saves by renaming puts another file in the place of
the one a file watch holds on to. What counts is content: an event, a new time stamp or a save of
the same bytes tells nothing to anybody.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path

from watchfiles import awatch

from tileport.verify.errors import TileportError
from tileport.verify.files import content_hash, read_bytes

_LOG = logging.getLogger(__name__)

#: Milliseconds between two looks at the kernel's queue, and how long a stream of events without
#: a pause may hold them back. With 3 an atomic save is seen after 6 ms at p50 and 11 ms at p95
#: (10: 17 and 21, the default of 50: 98 and 104) for 0.8 % of one core; 1 costs 3 %.
STEP_MS = 3
DEBOUNCE_MS = 15
#: Seconds between two looks at the files themselves: for network file systems, which tell nothing,
#: and for folders that were put in the place of watched ones.
TICK = 1.0
#: The same where the kernel has no watches left.
POLL = 0.1
#: How long a file may be gone or empty before that is believed: some editors and tools delete or
#: truncate first and write after. In seconds, between looks.
_PATIENCE = (0.005, 0.01, 0.02, 0.04)

_Signature = tuple[int, int, int] | None


class Watcher:
    """Tells when one of a set of files holds something else than before.

    Args:
        on_change: Called on the event loop with the path and the new content (None: it is gone;
            an error: it is there and cannot be read).
        on_trouble: Called with one line where watching works worse than it should.
    """

    def __init__(
        self,
        on_change: Callable[[str, bytes | TileportError | None], None],
        on_trouble: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._on_change = on_change
        self._on_trouble = on_trouble
        #: Hash of the content last told or given, None for no file.
        self._known: dict[str, str | None] = {}
        self._signatures: dict[str, _Signature] = {}
        self._paused: set[str] = set()
        #: Grows when somebody else than the watcher says what a file holds.
        self._epoch: dict[str, int] = {}
        self._stop = asyncio.Event()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._polling = False

    def watch(self, path: str, content: bytes | None) -> None:
        """Watch a file from now on; `content` is what the caller believes it holds."""
        if path not in self._known:
            self._set(path, content)
            self._wake.set()

    def forget(self, paths: Iterable[str]) -> None:
        """Watch these files no more."""
        for path in paths:
            self._known.pop(path, None)
            self._signatures.pop(path, None)
        self._wake.set()

    @property
    def paths(self) -> frozenset[str]:
        """The watched files."""
        return frozenset(self._known)

    def pause(self, path: str) -> None:
        """Look away while the caller writes the file."""
        self._paused.add(path)
        self._epoch[path] = self._epoch.get(path, 0) + 1

    def resume(self, path: str, content: bytes | None) -> None:
        """Look again; `content` is what the caller left in the file."""
        self._paused.discard(path)
        if path in self._known:
            self._set(path, content)
            self._wake.set()

    def start(self) -> None:
        """Begin; a coroutine must be running."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop, within some milliseconds."""
        self._stop.set()
        self._wake.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    # ------------------------------------------------------------ looking

    def _set(self, path: str, content: bytes | None) -> None:
        self._known[path] = None if content is None else content_hash(content)
        self._signatures.pop(path, None)
        self._epoch[path] = self._epoch.get(path, 0) + 1

    async def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            places = _places(self._known)
            try:
                await self._watch_places(places)
            except (OSError, RuntimeError) as error:
                # Out of inotify watches, or a folder went away while it was being added.
                if not self._polling and places == _places(self._known):
                    self._polling = True
                    _LOG.warning("no file watches: %s", error)
                    self._on_trouble(
                        f"the kernel has no file watches left ({error}); files are looked at"
                        f" every {POLL * 1000:g} ms instead"
                    )

    async def _watch_places(self, places: dict[str, tuple[int, int]]) -> None:
        """Look at files as their folders tell of them, until the folders are others."""
        async with contextlib.aclosing(self._ticks(places)) as ticks:
            async for touched in ticks:
                for path in tuple(self._known):
                    told = touched is None or not touched.isdisjoint((path, os.path.realpath(path)))
                    if told or self._moved_on(path):
                        await self._look(path)
                if self._stop.is_set() or _places(self._known) != places:
                    return

    async def _ticks(
        self, places: dict[str, tuple[int, int]]
    ) -> AsyncGenerator[frozenset[str] | None]:
        """Sets of paths that were touched, empty ones as time passes; None: look at all files."""
        if self._polling or not places:
            yield None
            while not self._stop.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), POLL)
                yield frozenset()
            return
        stop = asyncio.Event()
        changes = awatch(
            *places,
            watch_filter=None,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            stop_event=stop,
            rust_timeout=int(TICK * 1000),
            yield_on_timeout=True,
            recursive=False,
            ignore_permission_denied=True,
        )
        async with contextlib.aclosing(changes):
            # The first step takes out the watches; what was written before them is looked at now.
            following = asyncio.ensure_future(anext(changes, None))
            await asyncio.sleep(0)
            woken = asyncio.ensure_future(self._wake.wait())
            try:
                if not following.done():
                    yield None
                while True:
                    await asyncio.wait({following, woken}, return_when=asyncio.FIRST_COMPLETED)
                    if following.done():
                        found = following.result()
                        if found is None:
                            return
                        following = asyncio.ensure_future(anext(changes, None))
                        yield frozenset(path for _, path in found)
                    else:
                        self._wake.clear()
                        woken = asyncio.ensure_future(self._wake.wait())
                        yield frozenset()
            finally:
                woken.cancel()
                stop.set()
                await asyncio.gather(following, return_exceptions=True)

    def _moved_on(self, path: str) -> bool:
        """Whether size, time or inode of the file are others than when it was last read."""
        return path not in self._signatures or _signature(path) != self._signatures[path]

    async def _look(self, path: str) -> None:
        """Read a file and tell if it holds something new."""
        if path in self._paused:
            return
        epoch = self._epoch.get(path, 0)
        for pause in (*_PATIENCE, None):
            signature = _signature(path)
            content = await asyncio.to_thread(_content, path)
            if path not in self._known or path in self._paused:
                return
            if self._epoch.get(path, 0) != epoch:
                self._wake.set()
                return
            key = _key(content)
            if key == self._known[path]:
                break
            if content or pause is None:
                self._known[path] = key
                self._signatures[path] = signature
                try:
                    self._on_change(path, content)
                except Exception:  # a fault of the listener; watching goes on
                    _LOG.exception("a listener failed at a change of %s", path)
                return
            await asyncio.sleep(pause)
        self._signatures[path] = signature


def _content(path: str) -> bytes | TileportError | None:
    try:
        return read_bytes(Path(path), what="the file")
    except FileNotFoundError:
        return None
    except TileportError as error:
        return error


def _key(content: bytes | TileportError | None) -> str | None:
    if content is None:
        return None
    return str(content) if isinstance(content, TileportError) else content_hash(content)


def _signature(path: str) -> _Signature:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _places(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The folders to watch for `paths`, with what tells one folder from another of its name.

    The folder of each file, and that of the file a link leads to; where it is not there, the
    nearest one above it that is.
    """
    places: dict[str, tuple[int, int]] = {}
    folders = {os.path.dirname(place) for path in paths for place in (path, os.path.realpath(path))}  # noqa: PTH120
    for folder in sorted(folders):
        place = Path(folder)
        while True:
            try:
                status = place.stat()
                break
            except OSError:
                if place == place.parent:
                    return places
                place = place.parent
        places[str(place)] = (status.st_dev, status.st_ino)
    return places
