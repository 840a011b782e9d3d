"""The session: files, saves, undo, recovery, locks, and the ladder kept current."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from tests.ladder.fakes import FakeServers, port_text, soon, source_text, write_operator
from tileport.verify.config import Config
from tileport.verify.errors import TileportError
from tileport.verify.ladder.passes import LIVE
from tileport.verify.model import Severity, StageState
from tileport.verify.operator import Operator, resolve_operator
from tileport.verify.session import PortMoved, Session
from tileport.verify.session_events import (
    CaptureDone,
    Event,
    FileChanged,
    GenerationDone,
    Notice,
)

QUICK = msgspec.structs.replace(LIVE, rest=0.0, build_rest=0.0)
ONE = port_text("a", note="one")
TWO = port_text("a", note="two")
THREE = port_text("a", note="three")


class Bench:
    """Sessions of one operator with fake servers, and what they told."""

    def __init__(self, folder: Path) -> None:
        self.operator: Operator = write_operator(folder, ("a", 2))
        self.port = Path(self.operator.port)
        self.source = Path(self.operator.source)
        self.fakes = FakeServers()
        self.events: list[Event] = []
        self.config = Config(targets=("sm_90",), workers=2)
        self._sessions: list[Session] = []

    async def open(self, *, live: bool = True, until: str | None = "diff") -> Session:
        self.fakes.capture.closed = self.fakes.port.closed = False
        session = Session(
            self.operator,
            self.config,
            notify=self.events.append,
            servers=self.fakes.make(self.config),
            live=live,
            until=until,
            pace=QUICK,
        )
        self._sessions.append(session)
        async with soon():
            await session.start()
            await session.settle()
        return session

    async def until(self, condition: Callable[[], bool]) -> None:
        async with soon():
            while not condition():
                await asyncio.sleep(0.003)

    def files_changed(self) -> list[FileChanged]:
        return [event for event in self.events if isinstance(event, FileChanged)]

    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]

    async def close(self) -> None:
        for session in self._sessions:
            await session.close()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    bench.port.write_text(ONE)
    yield bench
    await bench.close()


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(".of-an-editor")
    temporary.write_text(text)
    temporary.replace(path)


async def test_start_takes_the_port_up_the_ladder(bench: Bench) -> None:
    session = await bench.open()
    assert session.text == session.disk_text == ONE
    assert session.source_text == bench.source.read_text()
    assert session.verdict().text == "SAME IR 2/2"
    assert session.view == "a-0"
    assert not session.unsaved
    assert not session.read_only
    assert bench.notices() == []


async def test_before_start_there_is_nothing_to_tell(bench: Bench) -> None:
    session = Session(bench.operator, bench.config)
    assert session.verdict().text == "STARTING"
    assert (session.findings(), session.variants, session.text) == ((), (), None)
    with pytest.raises(TileportError, match="not started"):
        session.submit("x")
    await session.close()


async def test_a_save_of_another_editor_is_judged_at_once(bench: Bench) -> None:
    session = await bench.open()
    started = time.perf_counter()
    _replace(bench.port, port_text("a", note="slow"))
    await bench.until(lambda: session.verdict().slow == 1)
    assert time.perf_counter() - started < 0.5
    (changed,) = bench.files_changed()
    assert (changed.role, changed.text) == ("port", port_text("a", note="slow"))
    assert session.disk_text == session.text == port_text("a", note="slow")


async def test_typed_text_is_judged_and_the_file_is_left_alone(bench: Bench) -> None:
    session = await bench.open()
    assert session.submit(TWO) == 2
    assert session.unsaved
    async with soon():
        await session.settle()
    assert session.verdict().text == "SAME IR 2/2"
    assert bench.port.read_text() == ONE


async def test_a_save_of_another_editor_does_not_take_typed_text_away(bench: Bench) -> None:
    session = await bench.open()
    session.submit(TWO)
    _replace(bench.port, THREE)
    await bench.until(lambda: bool(bench.files_changed()))
    assert session.text == TWO
    assert session.disk_text == THREE
    session.submit(THREE, saved=True)
    assert not session.unsaved


# ---------------------------------------------------------------- saving and undo


async def test_save_writes_the_file_and_tells_of_no_change(bench: Bench) -> None:
    bench.port.chmod(0o640)
    session = await bench.open()
    session.submit(TWO)
    await session.save(TWO)
    assert bench.port.read_text() == TWO
    assert bench.port.stat().st_mode & 0o777 == 0o640
    assert not session.unsaved
    await asyncio.sleep(0.2)
    assert bench.files_changed() == []
    assert [path.name for path in bench.port.parent.glob(".*.tmp")] == []


async def test_save_of_text_never_submitted_submits_it(bench: Bench) -> None:
    session = await bench.open()
    await session.save(port_text("a", note="wrong"))
    async with soon():
        await session.settle()
    assert session.verdict().different == 2


async def test_save_is_refused_where_the_file_moved_on(bench: Bench) -> None:
    session = await bench.open()
    session.submit(TWO)
    bench.port.write_text(THREE)
    with pytest.raises(PortMoved) as caught:
        await session.save(TWO)
    assert caught.value.text == THREE
    assert bench.port.read_text() == THREE
    await bench.until(lambda: session.disk_text == THREE)
    await session.save(TWO)
    assert bench.port.read_text() == TWO


async def test_save_follows_a_link(bench: Bench, tmp_path: Path) -> None:
    real = tmp_path / "real.rs"
    bench.port.rename(real)
    bench.port.symlink_to(real)
    session = await bench.open()
    await session.save(TWO)
    assert bench.port.is_symlink()
    assert real.read_text() == TWO


async def test_undo_puts_back_the_exact_bytes(bench: Bench) -> None:
    original = ONE.replace("\n", "\r\n").encode() + b"// no newline at the end \xc3\xa9"
    bench.port.write_bytes(original)
    session = await bench.open()
    await session.save(TWO)
    await session.save(THREE)
    assert await session.undo_save() == TWO
    assert session.text == TWO
    assert await session.undo_save() == original.decode()
    assert bench.port.read_bytes() == original
    with pytest.raises(TileportError, match="no save to undo"):
        await session.undo_save()
    await asyncio.sleep(0.2)
    assert bench.files_changed() == []


async def test_undo_works_in_a_later_session(bench: Bench) -> None:
    first = await bench.open()
    await first.save(TWO)
    await first.close()
    second = await bench.open()
    assert await second.undo_save() == ONE
    assert bench.port.read_text() == ONE


async def test_undo_of_the_save_that_made_the_file_removes_it(bench: Bench) -> None:
    bench.port.unlink()
    session = await bench.open()
    assert session.text is None
    await session.save(ONE)
    assert await session.undo_save() is None
    assert not bench.port.exists()
    assert session.text is None
    async with soon():
        await session.settle()
    assert [f.kind for f in session.findings()] == ["port-missing"]


async def test_undo_is_refused_where_the_file_moved_on(bench: Bench) -> None:
    session = await bench.open()
    await session.save(TWO)
    _replace(bench.port, THREE)
    await bench.until(lambda: session.text == THREE)
    with pytest.raises(PortMoved):
        await session.undo_save()
    assert bench.port.read_text() == THREE


async def test_undo_passes_over_a_save_that_never_reached_the_file(bench: Bench) -> None:
    session = await bench.open()
    await session.save(TWO)
    await session.close()
    # The journal was written, then the session was cut off.
    cut_off = bench.port.read_bytes()
    resumed = await bench.open()
    await resumed.save(THREE)
    await resumed.close()
    bench.port.write_bytes(cut_off)
    last = await bench.open()
    assert await last.undo_save() == ONE


async def test_what_undo_gives_up_is_in_the_journal(bench: Bench) -> None:
    session = await bench.open()
    await session.save(TWO)
    session.submit(THREE)
    await session.undo_save()
    journal = next((bench.port.parent / ".tileport" / "sessions").glob("*/journal.jsonl"))
    kinds = [json.loads(line)["kind"] for line in journal.read_text().splitlines()]
    assert kinds == ["save", "unsaved", "undo"]


async def test_a_save_that_cannot_be_written_leaves_the_file_and_says_why(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await bench.open()
    real = os.fsync

    def full(descriptor: int) -> None:
        if "op.rs" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TileportError, match="the disk is full, the port was not written"):
        await session.save(TWO)
    assert bench.port.read_text() == ONE
    assert session.disk_text == ONE
    monkeypatch.undo()
    await session.save(TWO)
    assert await session.undo_save() == ONE


async def test_a_full_disk_under_the_journal_does_not_stop_a_save(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await bench.open()
    real = os.fsync

    def full(descriptor: int) -> None:
        if ".tileport" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    await session.save(TWO)
    assert bench.port.read_text() == TWO
    assert any("no undo of this save" in text for text in bench.notices())


async def test_text_that_is_no_unicode_is_refused(bench: Bench) -> None:
    session = await bench.open()
    with pytest.raises(TileportError, match="not valid Unicode"):
        await session.save("\udc80")
    assert bench.port.read_text() == ONE


# ---------------------------------------------------------------- two sessions, and one that died


async def test_a_second_session_is_told_and_only_reads(bench: Bench) -> None:
    first = await bench.open()
    second = await bench.open()
    assert second.read_only
    holder = second.lock_holder
    assert holder is not None
    assert holder.pid == os.getpid()
    assert any("the port is open in process" in text for text in bench.notices())
    with pytest.raises(TileportError, match="open in another session"):
        await second.save(TWO)
    await first.save(TWO)
    await bench.until(lambda: second.text == TWO)
    await first.close()
    await second.save(THREE)
    assert bench.port.read_text() == THREE
    assert not second.read_only
    assert await second.undo_save() == TWO


async def test_a_check_takes_no_lock_and_cannot_save(bench: Bench) -> None:
    check = await bench.open(live=False)
    assert check.verdict().text == "SAME IR 2/2"
    assert (await bench.open()).lock_holder is None
    with pytest.raises(TileportError, match="only reads"):
        await check.save(TWO)


_TYPIST = """
import asyncio, sys
from pathlib import Path
from tests.ladder.fakes import FakeServers
from tileport.verify.config import Config
from tileport.verify.operator import resolve_operator
from tileport.verify.session import Session

async def main():
    config = Config(targets=("sm_90",))
    session = Session(resolve_operator(sys.argv[1]), config, servers=FakeServers().make(config))
    await session.start()
    await session.settle()
    session.submit(Path(sys.argv[2]).read_text())
    await asyncio.sleep(0.3)
    print("typed", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_typed_text_of_a_killed_session_is_recovered(bench: Bench, tmp_path: Path) -> None:
    typed = tmp_path / "typed.txt"
    typed.write_text(TWO)
    command = [sys.executable, "-c", _TYPIST, str(bench.source), str(typed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert await asyncio.to_thread(other.stdout.readline) == "typed\n"
        second = await bench.open()
        assert second.read_only
        assert second.recovered() is None
        other.send_signal(signal.SIGKILL)
    third = await bench.open()
    assert not third.read_only
    recovered = third.recovered()
    assert recovered is not None
    assert (recovered.text, recovered.moved) == (TWO, False)
    assert third.text == ONE
    third.discard_recovered()
    assert third.recovered() is None
    await third.close()
    assert (await bench.open()).recovered() is None


async def test_closing_keeps_what_is_unsaved(bench: Bench) -> None:
    session = await bench.open()
    session.submit(TWO)
    await session.close()
    bench.port.write_text(THREE)
    again = await bench.open()
    recovered = again.recovered()
    assert recovered is not None
    assert (recovered.text, recovered.moved) == (TWO, True)
    await again.save(TWO)
    assert again.recovered() is None
    await again.close()
    assert (await bench.open()).recovered() is None


async def test_text_that_is_given_up_is_not_offered_and_in_the_journal(bench: Bench) -> None:
    session = await bench.open()
    session.submit(TWO)
    session.submit(ONE)
    await session.close()
    again = await bench.open()
    assert again.recovered() is None
    journal = next((bench.port.parent / ".tileport" / "sessions").glob("*/journal.jsonl"))
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [entry["kind"] for entry in entries] == ["unsaved"]
    blob = bench.port.parent / ".tileport" / "blobs" / entries[0]["after"]
    assert blob.read_text() == TWO


async def test_a_save_leaves_nothing_to_recover_or_to_remember(bench: Bench) -> None:
    session = await bench.open()
    session.submit(TWO)
    await asyncio.sleep(0.15)
    await session.save(TWO)
    await session.close()
    again = await bench.open()
    assert again.recovered() is None
    folder = next((bench.port.parent / ".tileport" / "sessions").iterdir())
    assert [path.name for path in folder.iterdir()] == ["journal.jsonl"]


# ---------------------------------------------------------------- files that come and go


async def test_a_deleted_port_is_told_and_what_was_there_is_kept(bench: Bench) -> None:
    session = await bench.open()
    bench.port.unlink()
    await bench.until(lambda: bool(bench.files_changed()))
    assert bench.files_changed()[-1].text is None
    assert session.text == ONE
    assert session.disk_text is None
    assert session.unsaved
    assert any("is gone; saving writes it anew" in text for text in bench.notices())
    await session.save(ONE)
    assert bench.port.read_text() == ONE


async def test_a_port_that_returns_is_taken_over(bench: Bench) -> None:
    session = await bench.open()
    bench.port.unlink()
    await bench.until(lambda: session.disk_text is None)
    bench.port.write_text(TWO)
    await bench.until(lambda: session.text == TWO)
    assert not session.unsaved


async def test_a_port_that_is_no_text_is_told_and_the_last_text_stays(bench: Bench) -> None:
    session = await bench.open()
    bench.port.write_bytes(b"// \xff\n")
    await bench.until(lambda: bool(bench.notices()))
    assert "op.rs:1: byte 0xff at column 4 is not UTF-8" in bench.notices()[0]
    assert session.text == ONE
    with pytest.raises(PortMoved):
        await session.save(TWO)


async def test_a_port_that_is_no_text_at_the_start_is_refused(bench: Bench) -> None:
    bench.port.write_bytes(b"// \xff\n")
    with pytest.raises(TileportError, match="not UTF-8"):
        await bench.open()
    bench.port.write_text(ONE)
    assert not (await bench.open()).read_only


async def test_a_port_that_comes_to_be_is_seen(bench: Bench) -> None:
    bench.port.unlink()
    session = await bench.open()
    bench.port.write_text(ONE)
    await bench.until(lambda: session.verdict().same == 2)


async def test_a_change_of_the_source_captures_anew(bench: Bench) -> None:
    session = await bench.open()
    bench.source.write_text(source_text(("a", 3)))
    await bench.until(lambda: session.verdict().same == 3)
    assert session.source_text == source_text(("a", 3))
    assert bench.files_changed()[-1].role == "source"


async def test_a_change_of_an_imported_file_captures_anew(bench: Bench, tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("x = 1\n")
    await bench.open()
    await asyncio.sleep(0.1)
    helper.write_text("x = 2\n")
    await bench.until(lambda: sum(isinstance(e, CaptureDone) for e in bench.events) == 2)
    assert bench.files_changed()[-1].role == "import"


async def test_many_changes_at_once_are_one_capture(bench: Bench, tmp_path: Path) -> None:
    helpers = [tmp_path / f"helper_{number}.py" for number in range(8)]
    for helper in helpers:
        helper.write_text("x = 1\n")
    await bench.open()
    await asyncio.sleep(0.1)
    before = len(bench.fakes.capture.gate.entered)
    for helper in helpers:
        helper.write_text("x = 2\n")
    await bench.until(lambda: len(bench.files_changed()) == 8)
    await asyncio.sleep(0.1)
    assert len(bench.fakes.capture.gate.entered) - before <= 2


async def test_a_case_file_that_comes_to_be_is_used(bench: Bench, tmp_path: Path) -> None:
    session = await bench.open()
    assert session.operator.cases is None
    cases = tmp_path / "op.cases.py"
    cases.write_text("cases = 1\n")
    await bench.until(lambda: sum(isinstance(e, CaptureDone) for e in bench.events) == 2)
    assert session.operator.cases == str(cases)
    cases.unlink()
    await bench.until(lambda: sum(isinstance(e, CaptureDone) for e in bench.events) == 3)
    assert session.operator.cases is None


# ---------------------------------------------------------------- the rest


async def test_a_state_folder_that_cannot_be_is_replaced_and_said(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / ".tileport").rmdir()
    (tmp_path / ".tileport").write_text("in the way")
    session = await bench.open()
    assert session.verdict().text == "SAME IR 2/2"
    assert any("state is kept in" in text for text in bench.notices())
    await session.save(TWO)
    assert await session.undo_save() == ONE


async def test_recapture_ignores_the_cache(bench: Bench) -> None:
    session = await bench.open()
    await session.recapture()
    async with soon():
        await session.settle()
    assert len(bench.fakes.capture.gate.entered) == 2


async def test_servers_of_others_are_left_running_and_own_ones_are_not(bench: Bench) -> None:
    session = await bench.open()
    await session.close()
    assert not bench.fakes.port.closed


async def test_close_is_prompt_in_the_middle_of_a_capture(bench: Bench) -> None:
    bench.fakes.capture.gate.hold("capture")
    session = Session(
        bench.operator,
        bench.config,
        servers=bench.fakes.make(bench.config),
        notify=bench.events.append,
    )
    await session.start()
    await bench.fakes.capture.gate.reached("capture")
    started = time.perf_counter()
    await session.close()
    await session.close()
    assert time.perf_counter() - started < 1.0


async def test_nothing_is_told_after_close(bench: Bench) -> None:
    session = await bench.open()
    session.submit(TWO)
    await session.close()
    count = len(bench.events)
    bench.port.write_text(THREE)
    await asyncio.sleep(0.1)
    assert len(bench.events) == count


async def test_a_listener_that_fails_does_not_break_the_ladder(bench: Bench) -> None:
    def broken(event: Event) -> None:
        raise ValueError("a fault of the screen")

    session = Session(
        bench.operator,
        bench.config,
        notify=broken,
        servers=bench.fakes.make(bench.config),
        live=False,
        until="diff",
    )
    async with soon():
        await session.start()
        await session.settle()
    assert session.verdict().text == "SAME IR 2/2"
    await session.close()


async def test_the_stages_of_a_variant_are_told_in_order(bench: Bench) -> None:
    session = await bench.open()
    assert [stage.name for stage in session.stages] == ["capture", "declare", "compile", "diff"]
    results = [r for r in session.results() if r.variant in ("", "a-1")]
    assert [r.stage for r in results] == ["capture", "declare", "compile", "diff"]
    assert all(r.state is StageState.OK for r in results)
    assert session.result("a-1", "capture") == session.result("", "capture")
    assert sum(isinstance(event, GenerationDone) for event in bench.events) == 1


async def test_findings_of_before_can_be_shown_until_others_are_there(bench: Bench) -> None:
    bench.port.write_text(port_text("a", note="slow"))
    session = await bench.open()
    bench.fakes.port.gate.hold("two")
    session.submit(TWO)
    assert session.findings() == ()
    assert [f.severity for f in session.findings(stale=True)] == [Severity.SLOW]
    bench.fakes.port.gate.let_go("two")
    async with soon():
        await session.settle()
    assert session.findings(stale=True) == ()


def test_the_session_imports_neither_torch_nor_cuda_tile() -> None:
    program = (
        "import sys, tileport.verify.session\n"
        "bad = {'torch', 'cuda', 'textual', 'tileport_native', 'anthropic'} & set(sys.modules)\n"
        "raise SystemExit(', '.join(sorted(bad)) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_operator_of_the_fakes_is_a_real_one(tmp_path: Path) -> None:
    operator = write_operator(tmp_path, ("a", 1))
    assert operator == resolve_operator(operator.source)
