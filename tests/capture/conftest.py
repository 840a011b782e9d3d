"""One warm capture server for all tests of a run, and operators written to a fresh workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from tileport.verify.capture.client import CaptureServer
from tileport.verify.capture.request import CaptureRequest, OperatorSource
from tileport.verify.model import CaptureReport

FIXTURES = Path(__file__).with_name("fixtures")

#: Captures text, or a fixture by name, as an operator file; keywords change the request.
Capture = Callable[..., Awaitable[CaptureReport]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CaptureServer]:
    server = CaptureServer(log=tmp_path_factory.mktemp("capture") / "log")
    yield server
    await server.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def capture(server: CaptureServer, workspace: Path, tmp_path: Path) -> Capture:
    async def run(
        text: str | bytes | Path, *, cases: str | None = None, name: str = "op", **changes: Any
    ) -> CaptureReport:
        source = text if isinstance(text, Path) else workspace / f"{name}.py"
        if isinstance(text, str):
            source.write_text(text)
        elif isinstance(text, bytes):
            source.write_bytes(text)
        case_file = None
        if cases is not None:
            case_file = workspace / f"{name}.cases.py"
            case_file.write_text(cases)
        request = CaptureRequest(
            operator=OperatorSource(
                kind="path",
                name=source.stem,
                source=str(source),
                cases=str(case_file) if case_file else None,
            ),
            workspace=str(workspace),
            targets=("sm_90",),
            blobs=str(tmp_path / "blobs"),
        )
        return await server.capture(msgspec.structs.replace(request, **changes))

    return run
