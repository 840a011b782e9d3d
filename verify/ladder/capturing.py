"""The capture stage: from the cache where no file changed, else from the capture server."""

from __future__ import annotations

import asyncio
import time

from tileport.verify.capture.targets import default_targets
from tileport.verify.config import Config
from tileport.verify.ladder.captures import find_capture, keep_capture, request_for
from tileport.verify.ladder.climb import failed
from tileport.verify.ladder.recorded import with_recordings
from tileport.verify.ladder.servers import Servers
from tileport.verify.ladder.versions import read_fingerprints
from tileport.verify.model import CaptureReport, StageResult, StageState
from tileport.verify.operator import Operator
from tileport.verify.store import Store
from tileport.verify.workspace import StateFolder

#: Seconds a capture that nobody waits for any more may go on. Most end sooner, and then the server
#: stays warm; to end it costs a cold start.
_GRACE = 2.0


class Capturing:
    """Captures one operator, again and again.

    Args:
        operator: Which; may be replaced between runs.
        config: Settings of its workspace.
        state: Where state is kept.
        store: The caches in it.
        servers: Who captures.
    """

    def __init__(
        self,
        operator: Operator,
        config: Config,
        state: StateFolder,
        store: Store,
        servers: Servers,
    ) -> None:
        self.operator = operator
        self._config = config
        self._state = state
        self._store = store
        self._servers = servers
        self._call: asyncio.Task[CaptureReport] | None = None
        #: What the last run came to.
        self.result = StageResult(stage="capture", state=StageState.WAITING)

    async def run(self, *, fresh: bool) -> CaptureReport | None:
        """Captures the operator; None where that failed, `result` then says why.

        Args:
            fresh: Do not look into the cache.
        """
        started = time.perf_counter()
        try:
            report, cached = await self._report(fresh=fresh)
        except Exception as error:
            self.result = failed("capture", "", error)
            return None
        self.result = StageResult(
            stage="capture",
            state=StageState.FINDINGS if report.findings else StageState.OK,
            findings=report.findings,
            milliseconds=(time.perf_counter() - started) * 1000,
            cached=cached,
            data={"variants": len(report.variants), "mode": report.mode},
        )
        return report

    async def _report(self, *, fresh: bool) -> tuple[CaptureReport, bool]:
        await asyncio.to_thread(read_fingerprints)
        targets = self._config.targets or await default_targets()
        request = request_for(self.operator, self._config, self._state, targets)
        report = None
        if not fresh:
            report = await asyncio.to_thread(find_capture, self._store, request)
        cached = report is not None
        if report is None:
            await self._end_superseded()
            self._call = asyncio.create_task(self._servers.capture.capture(request))
            report = await asyncio.shield(self._call)
            await asyncio.to_thread(keep_capture, self._store, request, report)
        report = await asyncio.to_thread(
            with_recordings, report, self.operator, self._state, self._store, targets
        )
        return report, cached

    async def _end_superseded(self) -> None:
        """Wait for a capture that was superseded to end, and have it ended if it does not."""
        call = self._call
        if call is None or call.done():
            return
        await asyncio.wait({call}, timeout=_GRACE)
        if not call.done():
            self._servers.capture.cancel()
            await asyncio.wait({call})

    async def close(self) -> None:
        """Let go of a call that is running; whoever owns the server ends it."""
        if self._call is not None and not self._call.done():
            self._call.cancel()
            await asyncio.gather(self._call, return_exceptions=True)
