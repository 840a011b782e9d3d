"""`cargo check` of a generated crate that is nothing but the port.

rustc sees what cutile's own compiler does not: trait bounds, integer widths, element types. The
port's text becomes the root file of a crate in the state folder, so lines and columns are the
port's own; the user's file is not touched. The first check of all compiles cutile, about a
minute; later ones, of any workspace, take a fraction of a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from tileport.ffi.build_env import BuildToolMissingError, build_environment
from tileport.verify import toolchain
from tileport.verify.compile.model import Diagnostic, DiagnosticSeverity, DiagnosticSource
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.files import write_atomically
from tileport.verify.model import Place
from tileport.verify.safe_text import one_line
from tileport.verify.supervised import Completed, run_command

#: Seconds; a first check on a busy machine with two processors takes five minutes.
DEADLINE = 600.0
_NICE = 10
_MOST_DIAGNOSTICS = 100
_MESSAGE_LIMIT = 600
_OUTPUT_LIMIT = 16 * 1024 * 1024
_FILE = "port.rs"

#: The versions a port is written for. `half` is the one other crate that kernels may use.
_MANIFEST = """\
[package]
name = "port"
version = "0.0.0"
edition = "2021"
publish = false

[lib]
path = "port.rs"

[dependencies]
cutile = "=0.5.0"
half = "2"

# Stands alone, whatever folder it lies in; without debug info it builds faster and smaller.
[workspace]
[profile.dev]
debug = false
"""
#: Variables that would make the check depend on the shell it is run from.
_DROPPED = ("RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER")
_UNRESOLVED = re.compile(r"--offline|no matching package|failed to (?:download|get)|index", re.I)


class _Span(msgspec.Struct, frozen=True):
    file_name: str
    line_start: int
    column_start: int
    is_primary: bool
    label: str | None = None
    expansion: _Expansion | None = None


class _Expansion(msgspec.Struct, frozen=True):
    span: _Span


class _Message(msgspec.Struct, frozen=True):
    message: str
    level: str
    spans: tuple[_Span, ...] = ()


class _Target(msgspec.Struct, frozen=True):
    src_path: str


class _Record(msgspec.Struct, frozen=True):
    """One line of `cargo --message-format=json`."""

    reason: str
    target: _Target | None = None
    message: _Message | None = None


class CargoCheck:
    """Runs `cargo check` on port texts, one at a time; one event loop uses it.

    Args:
        folder: Where the generated crates go; made if need be.
        builds: Where what cargo builds goes, to be shared by whoever can; made if need be.
        deadline: Seconds one check may take.
        progress: Called with what cargo is doing, one line, as it changes.
    """

    def __init__(
        self,
        folder: Path,
        *,
        builds: Path,
        deadline: float = DEADLINE,
        progress: Callable[[str], None] = lambda doing: None,
    ) -> None:
        self._folder = folder
        self._builds = builds
        self._deadline = deadline
        self._progress = progress
        self._turn = asyncio.Lock()
        self._running: set[asyncio.Task[tuple[Diagnostic, ...]]] = set()

    async def check(self, text: str, path: str) -> tuple[Diagnostic, ...]:
        """What rustc says of the port, worst first; empty if it has nothing to say.

        Cancelling the call ends cargo and all it started.

        Args:
            text: The port.
            path: The port's file, for places; neither read nor written.

        Raises:
            TileportError: there is no cargo, or nothing to build with (`ExitCode.TOOL_MISSING`);
                the crates cannot be had; it took too long; the folder cannot be written.
        """
        task = asyncio.create_task(self._in_turn(text, path))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await task
        except asyncio.CancelledError:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            raise

    async def close(self) -> None:
        """Ends what runs. May be repeated."""
        for task in tuple(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _in_turn(self, text: str, path: str) -> tuple[Diagnostic, ...]:
        async with self._turn:
            cargo, env = await asyncio.to_thread(self._tools)
            crate = self._write(text, path)
            done = await self._cargo(cargo, crate, env, offline=True)
            if done.code != 0 and not done.stdout.strip() and _UNRESOLVED.search(done.stderr):
                done = await self._cargo(cargo, crate, env, offline=False)
        found = read_messages(done.stdout, crate / _FILE, path)
        if done.code != 0 and not any(d.severity is DiagnosticSeverity.ERROR for d in found):
            raise TileportError(
                f"cargo check failed: {_first_error(done.stderr)}",
                todo="see `tileport doctor`; cargo needs the crates.io index once",
                code=ExitCode.TOOL_MISSING,
            )
        return found

    def _tools(self) -> tuple[Path, dict[str, str]]:
        cargo = toolchain.require("cargo")
        toolchain.require("rustc")
        try:
            return cargo, build_environment()
        except BuildToolMissingError as error:
            raise TileportError(
                f"cargo check cannot run: {error.what}", todo=error.todo, code=ExitCode.TOOL_MISSING
            ) from None

    def _write(self, text: str, path: str) -> Path:
        """The crate of this port, with the text in it; unchanged files stay as they are."""
        name = re.sub(r"\W", "_", Path(path).stem, flags=re.ASCII)[:40]
        digest = hashlib.sha256(f"{_MANIFEST}\0{path}".encode()).hexdigest()[:12]
        crate = self._folder / f"{name}-{digest}"
        for file, content in (("Cargo.toml", _MANIFEST), (_FILE, text)):
            data = content.encode("utf-8", "surrogatepass")
            # cargo goes by the time of a file: one that holds the same is left alone.
            with contextlib.suppress(OSError):
                if (crate / file).read_bytes() == data:
                    continue
            write_atomically(crate / file, data, what="the crate for cargo check", durable=False)
        return crate

    async def _cargo(
        self, cargo: Path, crate: Path, env: Mapping[str, str], *, offline: bool
    ) -> Completed:
        command = [str(cargo), "check", "--lib", "--message-format=json"]
        self._progress("checking with rustc")
        environment = {k: v for k, v in os.environ.items() if k not in _DROPPED} | {
            **env,
            "CARGO_TARGET_DIR": str(self._target(env)),
            "CARGO_TERM_COLOR": "never",
            "RUSTUP_AUTO_INSTALL": "0",
        }
        try:
            return await run_command(
                [*command, *(["--offline"] if offline else [])],
                deadline=self._deadline,
                cwd=crate,
                env=environment,
                nice=_NICE,
                stdout_limit=_OUTPUT_LIMIT,
                on_line=self._tell,
            )
        except TimeoutError:
            raise TileportError(
                f"cargo check took longer than {self._deadline:g} s",
                todo="it goes on from there when it is run again",
                code=ExitCode.INTERNAL,
            ) from None
        except OSError as error:
            raise TileportError(
                f"cargo does not start: {error.strerror}", code=ExitCode.TOOL_MISSING
            ) from None

    def _target(self, env: Mapping[str, str]) -> Path:
        """What cargo builds with one toolkit; another toolkit would have it build all anew."""
        key = "\0".join((_MANIFEST, *(f"{name}={env[name]}" for name in sorted(env))))
        target = self._builds / hashlib.sha256(key.encode()).hexdigest()[:12]
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError:
            return self._folder / "target"
        return target if os.access(target, os.W_OK) else self._folder / "target"

    def _tell(self, line: str) -> None:
        words = line.split()
        if not words:
            return
        match words[0]:
            case "Compiling" | "Checking" if words[1:2] != ["port"]:
                self._progress(f"building {' '.join(words[1:3])} (the first time, about a minute)")
            case "Updating" | "Downloading" | "Downloaded" | "Locking" | "Blocking":
                self._progress(line)


def read_messages(stdout: bytes, file: Path, path: str) -> tuple[Diagnostic, ...]:
    """The messages of rustc about `file`, at places in `path`: errors first, each once.

    Args:
        stdout: What `cargo check --message-format=json` printed; lines that are not whole JSON
            are passed over.
        file: The file rustc was given.
        path: The file that people know it as.
    """
    decoder = msgspec.json.Decoder(_Record)
    found: dict[Diagnostic, None] = {}
    for line in stdout.splitlines():
        try:
            record = decoder.decode(line)
        except msgspec.MsgspecError:
            continue
        if record.reason == "compiler-message" and record.message and record.target:
            if Path(record.target.src_path) != file:
                continue
            diagnostic = _diagnostic(record.message, path)
            if diagnostic is not None:
                found.setdefault(diagnostic)
    ordered = sorted(found, key=lambda d: d.severity is not DiagnosticSeverity.ERROR)
    return tuple(ordered[:_MOST_DIAGNOSTICS])


def _diagnostic(message: _Message, path: str) -> Diagnostic | None:
    level = message.level.partition(":")[0]
    if level not in {"error", "warning"}:
        return None
    span = next(filter(None, (_in_port(span) for span in message.spans if span.is_primary)), None)
    if span is None and (not message.spans or level == "warning"):
        return None  # "aborting due to 2 previous errors", "3 warnings emitted"
    label = f": {span.label}" if span and span.label else ""
    return Diagnostic(
        severity=DiagnosticSeverity(level),
        message=one_line(message.message + label, _MESSAGE_LIMIT),
        source=DiagnosticSource.RUSTC,
        place=Place(path, span.line_start, span.column_start) if span else None,
    )


def _in_port(span: _Span) -> _Span | None:
    """The place in the port that a place inside a macro comes from, with the place's label."""
    place: _Span | None = span
    while place is not None and Path(place.file_name).name != _FILE:
        place = place.expansion.span if place.expansion else None
    return msgspec.structs.replace(place, label=span.label) if place else None


def merge_diagnostics(
    before: tuple[Diagnostic, ...], behind: tuple[Diagnostic, ...]
) -> tuple[Diagnostic, ...]:
    """`before`, and of `behind` what is about lines on which `before` has no error yet."""
    told = {d.place.line for d in before if d.place and d.severity is DiagnosticSeverity.ERROR}
    return before + tuple(d for d in behind if not (d.place and d.place.line in told))


def _first_error(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error")]
    return one_line((errors or lines or ["no message"])[0], 300)
