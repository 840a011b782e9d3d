"""The journal: every save can be taken back, whatever cut the session short."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileport.verify.journal import Journal, UnsavedText, pinned_blobs
from tileport.verify.store import Store
from tileport.verify.workspace import StateFolder


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(root=tmp_path / ".tileport")


def _journal(state: StateFolder) -> Journal:
    return Journal(state, "x-1", Store(state, limit=1 << 30))


def test_saves_are_remembered_with_both_contents(state: StateFolder) -> None:
    _journal(state).record("save", "/x.rs", None, b"one")
    _journal(state).record("save", "/x.rs", b"one", b"two\r\n\xff")
    journal = _journal(state)
    last = journal.last_save()
    assert last is not None
    assert last.number == 2
    assert last.before is not None and journal.content(last.before) == b"one"
    assert last.after is not None and journal.content(last.after) == b"two\r\n\xff"
    assert journal.entries[0].before is None


def test_a_save_that_was_taken_back_is_passed_over(state: StateFolder) -> None:
    journal = _journal(state)
    journal.record("save", "/x.rs", b"a", b"b")
    second = journal.record("save", "/x.rs", b"b", b"c")
    journal.record("undo", "/x.rs", b"c", b"b", undone=second.number)
    assert (last := _journal(state).last_save()) is not None and last.number == 1
    journal.record("undo", "/x.rs", b"b", b"a", undone=1)
    assert _journal(state).last_save() is None
    journal.record("save", "/x.rs", b"a", b"d")
    assert (last := _journal(state).last_save()) is not None and last.number == 5


@settings(max_examples=25)  # each example syncs to the disk six times
@given(st.integers(1, 200), st.binary(max_size=20).filter(lambda tail: b"\n" not in tail))
def test_a_line_that_was_cut_off_costs_that_line_only(cut: int, rubbish: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        state = StateFolder(root=Path(folder))
        journal = _journal(state)
        journal.record("save", "/x.rs", b"a", b"b")
        whole = journal.path.read_bytes()
        journal.record("save", "/x.rs", b"b", b"c")
        content = journal.path.read_bytes()
        torn = content[: max(len(whole), len(content) - cut)] + rubbish
        journal.path.write_bytes(torn)
        reopened = _journal(state)
        assert reopened.entries[0].number == 1
        added = reopened.record("save", "/x.rs", b"b", b"d")
        again = _journal(state)
        assert again.entries[0].number == 1
        assert again.last_save() == added


def test_blobs_of_a_journal_are_pinned(state: StateFolder) -> None:
    store = Store(state, limit=0)
    journal = Journal(state, "x-1", store)
    entry = journal.record("save", "/x.rs", b"a", b"b")
    loose = store.put_blob(b"loose")
    assert set(pinned_blobs(state)) == {entry.before, entry.after}
    store.clean(frozenset(pinned_blobs(state)))
    assert store.blob(loose) is None
    assert entry.before is not None and Store(state, limit=0).blob(entry.before) == b"a"


def test_a_disk_that_takes_nothing_leaves_the_journal_as_it_was(
    state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = _journal(state)
    journal.record("save", "/x.rs", b"a", b"b")
    content = journal.path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError):
        journal.record("save", "/x.rs", b"b", b"a")
    assert journal.path.read_bytes() == content
    assert len(journal.entries) == 1


# ---------------------------------------------------------------- text being typed


def test_typed_text_is_there_after_close_and_gone_after_clear(state: StateFolder) -> None:
    unsaved = UnsavedText(_journal(state))
    for number in range(50):
        unsaved.keep(f"text {number}", "base", "/x.rs")
    unsaved.close()
    left = UnsavedText(_journal(state))
    kept = left.read()
    assert kept is not None
    assert (kept.text, kept.base, kept.path) == ("text 49", "base", "/x.rs")
    left.clear()
    assert left.read() is None


def test_clear_is_not_undone_by_a_write_under_way(state: StateFolder) -> None:
    unsaved = UnsavedText(_journal(state))
    for _ in range(30):
        unsaved.keep("x" * 200_000, None, "/x.rs")
        unsaved.clear()
        assert not unsaved.path.exists()
    unsaved.close()
    assert not unsaved.path.exists()


def test_a_torn_file_counts_as_none(state: StateFolder) -> None:
    unsaved = UnsavedText(_journal(state))
    unsaved.path.parent.mkdir(parents=True)
    unsaved.path.write_bytes(b'{"text": "ab')
    assert unsaved.read() is None


def test_trouble_with_the_disk_is_told_once(state: StateFolder) -> None:
    state.root.mkdir(parents=True)
    state.sessions.write_text("in the way")
    told: list[OSError] = []
    unsaved = UnsavedText(_journal(state), told.append)
    for number in range(3):
        unsaved.keep(f"text {number}", None, "/x.rs")
        time.sleep(0.12)
    unsaved.close()
    assert len(told) == 1


def test_typed_text_survives_a_kill(state: StateFolder) -> None:
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tileport.verify.journal import Journal, UnsavedText\n"
        "from tileport.verify.store import Store\n"
        "from tileport.verify.workspace import StateFolder\n"
        "state = StateFolder(root=Path(sys.argv[1]))\n"
        "unsaved = UnsavedText(Journal(state, 'x-1', Store(state, limit=0)))\n"
        "for i in range(10_000):\n"
        "    unsaved.keep(f'{i} ' * 1000, None, '/x.rs')\n"
        "    print(i, flush=True)\n"
        "    time.sleep(0.002)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(state.root)], stdout=subprocess.PIPE, text=True
    ) as typist:
        assert typist.stdout is not None
        started = time.monotonic()
        while time.monotonic() - started < 1.0:
            last = int(typist.stdout.readline())
        typist.send_signal(signal.SIGKILL)
        typed = max([last, *(int(line) for line in typist.stdout.read().split())])
    kept = UnsavedText(_journal(state)).read()
    assert kept is not None
    number = int(kept.text.split()[0])
    assert kept.text == f"{number} " * 1000
    # One pause of the writer is 0.1 s, some 50 keys of this typist.
    assert number >= typed - 150
