"""`cargo check` of a port: messages at the port's lines, and an end to everything it starts."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from tests.compile.kernels import TWICE, place_of
from tileport.verify.compile.cargo import CargoCheck, merge_diagnostics, read_messages
from tileport.verify.compile.model import Diagnostic, DiagnosticSeverity, DiagnosticSource
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.model import Place
from tileport.verify.workspace import build_home

FILE = Path("/state/check/twice-0/port.rs")


def span(line: int, *, file: str = "port.rs", label: str | None = None, **more: Any) -> Any:
    return {
        "file_name": file,
        "line_start": line,
        "column_start": 5,
        "is_primary": True,
        "label": label,
        "expansion": None,
        **more,
    }


def record(message: str, *spans: Any, level: str = "error", src: Path = FILE) -> str:
    return json.dumps(
        {
            "reason": "compiler-message",
            "package_id": "x",
            "target": {"name": "port", "src_path": str(src)},
            "message": {"message": message, "level": level, "spans": spans, "rendered": "..."},
        }
    )


def read(*lines: str) -> tuple[Diagnostic, ...]:
    return read_messages("\n".join(lines).encode(), FILE, "ops/twice.rs")


def rustc(message: str, line: int, severity: str = "error") -> Diagnostic:
    return Diagnostic(
        severity=DiagnosticSeverity(severity),
        message=message,
        source=DiagnosticSource.RUSTC,
        place=Place("ops/twice.rs", line, 5),
    )


def test_messages_are_told_at_the_lines_of_the_port() -> None:
    assert read(record("mismatched types", span(7, label="expected `i32`, found `i64`"))) == (
        rustc("mismatched types: expected `i32`, found `i64`", 7),
    )


def test_errors_come_before_warnings_and_each_once() -> None:
    warning = record("unused", span(3), level="warning")
    error = record("bad", span(9))
    assert read(warning, error, error, warning) == (rustc("bad", 9), rustc("unused", 3, "warning"))


def test_a_place_inside_a_macro_is_the_place_the_macro_is_used_at() -> None:
    inner = span(99, file="/crates/cutile/src/lib.rs", label="here")
    inner["expansion"] = {"span": span(4), "macro_decl_name": "shape!"}
    assert read(record("no such shape", inner)) == (rustc("no such shape: here", 4),)


def test_what_is_not_about_the_port_is_left_out() -> None:
    assert (
        read(
            record("unused in cutile", span(1), src=Path("/crates/cutile/src/lib.rs")),
            record("aborting due to 1 previous error"),
            record("1 warning emitted", level="warning"),
            record("for more information", span(1), level="failure-note"),
            json.dumps({"reason": "build-finished", "success": False}),
            '{"reason":"compiler-message","message":{"mess',
            "not json",
        )
        == ()
    )


def test_control_characters_and_length_are_tamed_and_the_number_is_bounded() -> None:
    found = read(*(record(f"{n}\x1b[31m\n" + "x" * 5000, span(n)) for n in range(1, 500)))
    assert len(found) == 100
    assert all(len(d.message) <= 600 and d.message.isprintable() for d in found)


def test_messages_behind_are_merged_by_line() -> None:
    frontend = Diagnostic(
        severity=DiagnosticSeverity.ERROR,
        message="undefined variable `x`",
        source=DiagnosticSource.FRONTEND,
        place=Place("ops/twice.rs", 9, 1),
    )
    behind = (rustc("cannot find value `x`", 9), rustc("another", 10))
    assert merge_diagnostics((frontend,), behind) == (frontend, behind[1])
    assert merge_diagnostics((), behind) == behind


# ---------------------------------------------------------------- with a stand-in for cargo


class StandIn:
    """A program called cargo (and one called rustc) that does what a test tells it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.calls = folder / "calls"
        folder.mkdir()
        for name in ("cargo", "rustc"):
            self._write(name, f"echo {name} 1.95.0")
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def _write(self, name: str, body: str) -> None:
        path = self.folder / name
        version = f'if [ "$1" = --version ]; then echo "{name} 1.95.0 (x)"; exit 0; fi\n'
        path.write_text(f"#!/bin/sh\n{version}{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def does(self, body: str) -> None:
        self._write("cargo", f'echo "$@" >> {self.calls}\n{body}')

    def arguments(self) -> list[str]:
        return self.calls.read_text().splitlines()


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    return StandIn(tmp_path / "bin", monkeypatch)


async def test_the_crate_holds_the_text_and_nothing_else_is_written(
    cargo: StandIn, tmp_path: Path
) -> None:
    cargo.does('pwd >&2; cp port.rs "$CARGO_TARGET_DIR.seen"')
    port = tmp_path / "twice.rs"
    port.write_text("on disk")
    check = CargoCheck(tmp_path / "check", builds=tmp_path / "builds")
    assert await check.check("typed", str(port)) == ()
    (seen,) = (tmp_path / "builds").glob("*.seen")
    assert seen.read_text() == "typed"
    assert port.read_text() == "on disk"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bin",
        "builds",
        "check",
        "twice.rs",
    ]


async def test_an_unchanged_text_is_not_written_again(cargo: StandIn, tmp_path: Path) -> None:
    cargo.does("true")
    check = CargoCheck(tmp_path / "check", builds=tmp_path / "builds")
    await check.check("one", "twice.rs")
    (file,) = (tmp_path / "check").glob("*/port.rs")
    before = file.stat().st_mtime_ns
    await check.check("one", "twice.rs")
    assert file.stat().st_mtime_ns == before
    await check.check("two", "twice.rs")
    assert file.read_text() == "two"


async def test_the_messages_of_the_crate_come_back(cargo: StandIn, tmp_path: Path) -> None:
    line = record("mismatched types", span(3), src=Path("@@"))
    cargo.does(f"echo '{line}' | sed \"s,@@,$PWD/port.rs,\"; exit 101")
    check = CargoCheck(tmp_path / "check", builds=tmp_path / "builds")
    assert await check.check("text", "ops/twice.rs") == (rustc("mismatched types", 3),)


async def test_the_network_is_asked_only_when_crates_are_missing(
    cargo: StandIn, tmp_path: Path
) -> None:
    cargo.does(
        'case "$*" in *--offline*) echo "error: no matching package named cutile found" >&2;'
        " exit 101;; esac"
    )
    assert (
        await CargoCheck(tmp_path / "check", builds=tmp_path / "builds").check("text", "twice.rs")
        == ()
    )
    first, second = cargo.arguments()
    assert "--offline" in first
    assert "--offline" not in second


async def test_a_failure_without_messages_is_told_with_what_cargo_said(
    cargo: StandIn, tmp_path: Path
) -> None:
    cargo.does('echo "error: linker cc not found" >&2; exit 101')
    with pytest.raises(TileportError, match="linker cc not found"):
        await CargoCheck(tmp_path / "check", builds=tmp_path / "builds").check("text", "twice.rs")


async def test_a_cancelled_check_ends_everything_it_started(cargo: StandIn, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    cargo.does(f"sleep 600 & echo $! >> {pids}; echo $$ >> {pids}; wait")
    task = asyncio.create_task(
        CargoCheck(tmp_path / "check", builds=tmp_path / "builds").check("text", "twice.rs")
    )
    while not pids.exists() or len(pids.read_text().split()) < 2:
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for pid in pids.read_text().split():
        assert not Path(f"/proc/{pid}").exists()


async def test_a_check_that_never_ends_misses_its_deadline(cargo: StandIn, tmp_path: Path) -> None:
    cargo.does("sleep 600")
    start = time.monotonic()
    with pytest.raises(TileportError, match=r"longer than 0\.5 s"):
        await CargoCheck(tmp_path / "check", builds=tmp_path / "builds", deadline=0.5).check(
            "text", "twice.rs"
        )
    assert time.monotonic() - start < 8


async def test_close_ends_what_runs(cargo: StandIn, tmp_path: Path) -> None:
    cargo.does("sleep 600")
    check = CargoCheck(tmp_path / "check", builds=tmp_path / "builds")
    task = asyncio.create_task(check.check("text", "twice.rs"))
    await asyncio.sleep(0.3)
    await check.close()
    await check.close()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_it_says_what_it_is_doing(cargo: StandIn, tmp_path: Path) -> None:
    cargo.does('printf "   Compiling syn v2.0.1\\n    Checking port v0.0.0 (x)\\n" >&2')
    said: list[str] = []
    await CargoCheck(tmp_path / "check", builds=tmp_path / "builds", progress=said.append).check(
        "text", "twice.rs"
    )
    assert said[0] == "checking with rustc"
    assert said[1].startswith("building syn v2.0.1")
    assert len(said) == 2


async def test_without_cargo_it_says_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    with pytest.raises(TileportError, match="rustup") as caught:
        await CargoCheck(tmp_path / "check", builds=tmp_path / "builds").check("text", "twice.rs")
    assert caught.value.code is ExitCode.TOOL_MISSING


async def test_without_the_headers_it_says_what_brings_them(
    cargo: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tileport.ffi.build_env._site_packages", lambda: [tmp_path])
    with pytest.raises(TileportError, match="native-build") as caught:
        await CargoCheck(tmp_path / "check", builds=tmp_path / "builds").check("text", "twice.rs")
    assert caught.value.code is ExitCode.TOOL_MISSING


async def test_a_folder_that_cannot_be_written_is_told(cargo: StandIn, tmp_path: Path) -> None:
    cargo.does("true")
    (tmp_path / "check").write_text("a file")
    with pytest.raises(TileportError):
        await CargoCheck(tmp_path / "check", builds=tmp_path / "builds").check("text", "twice.rs")


@pytest.mark.slow
async def test_rustc_finds_what_the_frontend_passes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """With the real cargo; the first check builds cutile, a minute and more."""
    check = CargoCheck(tmp_path_factory.mktemp("check"), builds=build_home())
    assert not [d for d in await check.check(TWICE, "twice.rs") if d.severity == "error"]
    text = TWICE.replace("let block: i32", "let block: i64")
    start = time.monotonic()
    found = await check.check(text, "twice.rs")
    assert time.monotonic() - start < 30
    errors = [d for d in found if d.severity == "error" and d.place]
    assert place_of(text, "get_tile_block_id")[0] in [d.place.line for d in errors if d.place]
    assert not [d for d in await check.check(TWICE, "twice.rs") if d.severity == "error"]
