"""Servers whose timing the test decides, and small operators to climb with them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tileport.verify.capture.inputs import hash_inputs
from tileport.verify.capture.request import CaptureRequest
from tileport.verify.compile.model import (
    CompileRequest,
    CompileResult,
    Diagnostic,
    DiagnosticSeverity,
    DiagnosticSource,
    DiffRequest,
)
from tileport.verify.config import Config
from tileport.verify.diff.model import Assumption, Comparison, DiffVerdict
from tileport.verify.errors import TileportError
from tileport.verify.ladder.servers import CargoChecking, Servers
from tileport.verify.model import (
    CaptureReport,
    Finding,
    Hints,
    Kernel,
    Place,
    Severity,
    Variant,
)
from tileport.verify.operator import Operator, resolve_operator

TARGET = "sm_90"


def port_text(*kernels: str, note: str = "") -> str:
    """A port with one entry for each kernel; `note` is what the fakes go by."""
    entries = "\n".join(f"    #[cutile::entry()]\n    pub fn {name}() {{}}" for name in kernels)
    return f"// {note}\n#[cutile::module]\npub mod op {{\n    use cutile::core::*;\n{entries}\n}}\n"


def variant(kernel: str, number: int, source: str, reference: str) -> Variant:
    """A variant of a kernel without parameters."""
    return Variant(
        id=f"{kernel}-{number}",
        kernel=Kernel(name=kernel, qualname=kernel, place=Place(source, 1), end_line=2),
        target=TARGET,
        parameters=(),
        hints=Hints(),
        folded=(),
        grid=(1, 1, 1),
        cases=("case",),
        via="launch",
        label=f"n={number}",
        symbol=kernel,
        reference=reference,
        bytecode_version="13.4",
    )


class Gate:
    """Lets calls through; a held one waits until it is let go."""

    def __init__(self) -> None:
        self._held: dict[str, asyncio.Event] = {}
        #: What calls are about, in the order they came in.
        self.entered: list[str] = []
        self.cancelled: list[str] = []

    def hold(self, word: str) -> None:
        """Calls about something with `word` in it wait."""
        self._held[word] = asyncio.Event()

    def let_go(self, word: str) -> None:
        """They wait no longer."""
        self._held.pop(word).set()

    async def pass_through(self, about: str) -> None:
        self.entered.append(about)
        try:
            for word in [word for word in self._held if word in about]:
                await self._held[word].wait()
        except asyncio.CancelledError:
            self.cancelled.append(about)
            raise

    async def reached(self, word: str, count: int = 1) -> None:
        """Wait until as many calls about `word` have come in."""
        async with asyncio.timeout(5):
            while sum(word in about for about in self.entered) < count:
                await asyncio.sleep(0.001)


class FakeCapture:
    """Captures what the operator's source says: a JSON list of `[kernel, variants]`."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.started = 0
        self.killed = 0
        self.closed = False
        self.findings: tuple[Finding, ...] = ()
        self._running: asyncio.Task[CaptureReport] | None = None

    async def start(self) -> None:
        self.started += 1

    async def capture(self, request: CaptureRequest) -> CaptureReport:
        # As the real one: a call that is cancelled runs on, and the next one waits for it.
        before = self._running
        self._running = asyncio.create_task(self._capture(request, before))
        return await asyncio.shield(self._running)

    async def _capture(
        self, request: CaptureRequest, before: asyncio.Task[CaptureReport] | None
    ) -> CaptureReport:
        if before is not None:
            await asyncio.wait({before})
        assert request.operator.source is not None
        source = Path(request.operator.source)
        text = source.read_text()
        await self.gate.pass_through(f"capture {text}")
        try:
            kernels = json.loads(text.partition("\n")[0].removeprefix("# "))
        except ValueError:
            raise TileportError("not valid Python", where=f"{source}:1") from None
        blobs = Path(request.blobs)
        blobs.mkdir(parents=True, exist_ok=True)
        variants = []
        for kernel, count in kernels:
            for number in range(count):
                content = json.dumps([kernel, number, text]).encode()
                key = hashlib.sha256(content).hexdigest()
                (blobs / key).write_bytes(content)
                variants.append(variant(kernel, number, str(source), key))
        files = (str(source), *sorted(str(p) for p in source.parent.glob("helper*.py")))
        return CaptureReport(
            operator=request.operator.name,
            source=str(source),
            variants=tuple(variants),
            findings=self.findings,
            cases=("case",),
            inputs=hash_inputs(files),
            files=files,
            versions={},
            milliseconds=1.0,
            mode="fake",
        )

    def cancel(self) -> None:
        self.killed += 1
        if self._running is not None:
            self._running.cancel()

    async def close(self) -> None:
        self.closed = True
        self.cancel()


class FakePorts:
    """Compiles a port to its own text, and compares by words in the first line of it.

    `wrong` and `slow` give a finding of that severity, `assume` a verdict under an assumption,
    `syntax` a compile error, `crash` and `verify` an exception of the compile and of the diff.
    """

    def __init__(self) -> None:
        self.gate = Gate()
        self.started = 0
        self.closed = False

    async def start(self) -> None:
        self.started += 1

    async def compile(self, request: CompileRequest) -> CompileResult:
        note = request.text.partition("\n")[0]
        await self.gate.pass_through(f"compile {request.entry} {note}")
        if "crash" in note:
            raise TileportError("the compile worker was ended by SIGSEGV")
        if "syntax" in note:
            error = Diagnostic(
                severity=DiagnosticSeverity.ERROR,
                message="expected `;`",
                source=DiagnosticSource.SYNTAX,
                place=Place(request.path, 3, 4),
            )
            return CompileResult(bytecode=None, diagnostics=(error,), milliseconds={"parse": 1.0})
        bytecode = json.dumps([request.entry, note]).encode()
        return CompileResult(bytecode=bytecode, milliseconds={"compile": 1.0})

    async def diff(self, request: DiffRequest) -> Comparison:
        entry, note = json.loads(request.port)
        kernel, number, _ = json.loads(request.reference)
        assert entry == kernel
        await self.gate.pass_through(f"diff {kernel} {number} {note}")
        if "verify" in note:
            raise TileportError("tileirdisasm rejects it")
        findings = tuple(
            Finding(
                kind=f"made-{word}",
                severity=Severity(word),
                message=f"It is {word}.",
                stage="diff",
                python=Place(request.python_source, 2),
                rust=Place(request.rust_source, 3),
            )
            for word in ("wrong", "slow", "note")
            if word in note
        )
        if findings:
            return Comparison(verdict=DiffVerdict.DIFFERENT, findings=findings)
        if "assume" in note:
            return Comparison(
                verdict=DiffVerdict.SAME_IF, assumptions=(Assumption(condition="n > 0", rule="r"),)
            )
        return Comparison(verdict=DiffVerdict.SAME)

    async def close(self) -> None:
        self.closed = True


class FakeCargo:
    """Says what `messages` has."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self.gate = Gate()
        self.progress = progress
        self.messages: tuple[Diagnostic, ...] = ()
        self.error: TileportError | None = None
        self.closed = False

    async def check(self, text: str, path: str) -> tuple[Diagnostic, ...]:
        self.progress("building cutile")
        await self.gate.pass_through(f"check {text.partition(chr(10))[0]}")
        if self.error is not None:
            raise self.error
        return self.messages

    async def close(self) -> None:
        self.closed = True


class FakeServers:
    """All three, with what the real `Servers` is made of."""

    def __init__(self) -> None:
        self.capture = FakeCapture()
        self.port = FakePorts()
        self.checks: list[FakeCargo] = []
        self.messages: tuple[Diagnostic, ...] = ()
        self.error: TileportError | None = None

    def make(self, config: Config) -> Servers:
        """`Servers` of these fakes; a coroutine must be running."""

        def cargo(folder: Path, progress: Callable[[str], None]) -> CargoChecking:
            check = FakeCargo(progress)
            check.messages, check.error = self.messages, self.error
            self.checks.append(check)
            return check

        return Servers(config, capture=self.capture, port=self.port, cargo=cargo)


def write_operator(folder: Path, *kernels: tuple[str, int], note: str = "") -> Operator:
    """An operator whose kernels have so many variants; without a port."""
    source = folder / "op.py"
    source.write_text(source_text(*kernels, note=note))
    (folder / ".tileport").mkdir(exist_ok=True)
    return resolve_operator(str(source))


def source_text(*kernels: tuple[str, int], note: str = "") -> str:
    """What `FakeCapture` reads."""
    return f"# {json.dumps(kernels)}\n# {note}\n"


@contextlib.asynccontextmanager
async def soon() -> AsyncIterator[None]:
    """What is inside takes no longer than five seconds."""
    async with asyncio.timeout(5):
        yield
