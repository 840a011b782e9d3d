"""Blobs and results: whole or none, the newest kept, nothing lost that a journal speaks of."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileport.verify.files import content_hash
from tileport.verify.store import Store, result_key
from tileport.verify.workspace import StateFolder


class Value(msgspec.Struct, frozen=True):
    number: int
    data: bytes = b""


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(root=tmp_path / ".tileport")


def _store(state: StateFolder, limit: int = 1 << 30, **options: object) -> Store:
    return Store(state, limit=limit, **options)  # type: ignore[arg-type]  # options of the tests


def test_a_blob_comes_back_in_another_process_s_store(state: StateFolder) -> None:
    key = _store(state).put_blob(b"abc")
    assert key == content_hash(b"abc")
    assert _store(state).blob(key) == b"abc"
    assert (state.blobs / key).read_bytes() == b"abc"


def test_a_rotten_blob_counts_as_none_and_can_be_put_again(state: StateFolder) -> None:
    key = _store(state).put_blob(b"abc")
    (state.blobs / key).write_bytes(b"abd")
    assert _store(state).blob(key) is None
    (state.blobs / key).write_bytes(b"abd")
    _store(state).put_blob(b"abc")
    assert _store(state).blob(key) == b"abc"


def test_a_result_comes_back_from_memory_and_from_disk(state: StateFolder) -> None:
    store = _store(state)
    store.put_result("k" * 64, Value(1, b"x"))
    assert store.result("k" * 64, Value) == Value(1, b"x")
    assert _store(state).result("k" * 64, Value) == Value(1, b"x")
    assert store.result("j" * 64, Value) is None


def test_a_result_may_stay_off_the_disk(state: StateFolder) -> None:
    store = _store(state)
    store.put_result("k" * 64, Value(1), persist=False)
    assert store.result("k" * 64, Value) == Value(1)
    assert _store(state).result("k" * 64, Value) is None


@given(st.integers(0, 10_000), st.integers(0, 255), st.booleans())
def test_a_damaged_result_counts_as_none(place: int, byte: int, cut: bool) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        state = StateFolder(root=Path(folder))
        _store(state).put_result("k" * 64, Value(7, b"payload"))
        path = state.results / "kk" / ("k" * 64)
        content = bytearray(path.read_bytes())
        place %= len(content)
        if cut:
            del content[place:]
        elif content[place] == byte:
            return
        else:
            content[place] = byte
        path.write_bytes(content)
        assert _store(state).result("k" * 64, Value) is None
        assert not path.exists()


def test_a_result_copied_to_another_key_counts_as_none(state: StateFolder) -> None:
    _store(state).put_result("k" * 64, Value(7))
    other = state.results / "jj" / ("j" * 64)
    other.parent.mkdir()
    other.write_bytes((state.results / "kk" / ("k" * 64)).read_bytes())
    assert _store(state).result("j" * 64, Value) is None


def test_memory_is_bounded_and_drops_the_longest_unused(state: StateFolder) -> None:
    store = _store(state, memory=250)
    for name in "ab":
        store.put_blob(name.encode() * 100)
    first = store.blob(content_hash(b"a" * 100))
    store.put_blob(b"c" * 100)
    for path in state.blobs.iterdir():
        path.unlink()
    assert first == store.blob(content_hash(b"a" * 100))
    assert store.blob(content_hash(b"b" * 100)) is None
    assert store.put_blob(b"d" * 1000) == content_hash(b"d" * 1000)


def _age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_eviction_removes_what_was_unused_longest_and_keeps_pinned_blobs(
    state: StateFolder,
) -> None:
    store = _store(state, limit=250)
    keys = [store.put_blob(name.encode() * 100) for name in "abcd"]
    for age, key in enumerate(reversed(keys)):
        _age(state.blobs / key, 1000 + age)
    cleaned = store.evict(frozenset({keys[0]}))
    assert (cleaned.files, cleaned.bytes, cleaned.left_files, cleaned.left_bytes) == (
        2,
        200,
        2,
        200,
    )
    assert {path.name for path in state.blobs.iterdir()} == {keys[0], keys[3]}


def test_use_makes_a_file_young_again(state: StateFolder) -> None:
    keys = [_store(state).put_blob(name.encode() * 100) for name in "ab"]
    for age, key in enumerate(keys):
        _age(state.blobs / key, 1000 - age)
    assert _store(state).blob(keys[0]) is not None
    _store(state, limit=150).evict(frozenset())
    assert [path.name for path in state.blobs.iterdir()] == [keys[0]]


def test_what_was_used_just_now_is_not_evicted(state: StateFolder) -> None:
    store = _store(state, limit=10)
    store.put_blob(b"a" * 100)
    assert store.evict(frozenset()).files == 0


def test_eviction_is_done_at_first_and_after_much_was_written(state: StateFolder) -> None:
    store = _store(state, limit=1600)
    assert store.evict_if_large(lambda: ()) is not None
    assert store.evict_if_large(lambda: ()) is None
    store.put_blob(b"a" * 200)
    assert store.evict_if_large(lambda: ()) is not None


def test_clean_removes_all_but_what_journals_speak_of(state: StateFolder) -> None:
    store = _store(state)
    kept, gone = store.put_blob(b"kept"), store.put_blob(b"gone")
    store.put_result("k" * 64, Value(1))
    torn = state.blobs / ".torn.tmp"
    torn.write_bytes(b"x")
    _age(torn, 7200)
    cleaned = store.clean(frozenset({kept}))
    assert (cleaned.files, cleaned.left_files, cleaned.left_bytes) == (2, 1, 4)
    assert not torn.exists()
    assert store.blob(gone) is None
    assert store.result("k" * 64, Value) is None
    assert store.blob(kept) == b"kept"


def test_a_disk_that_takes_nothing_costs_the_cache_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    told: list[OSError] = []
    store = _store(StateFolder(root=tmp_path / "file"), trouble=told.append)
    key = store.put_blob(b"abc")
    store.put_result("k" * 64, Value(1))
    assert store.blob(key) == b"abc"
    assert store.result("k" * 64, Value) == Value(1)
    assert len(told) == 1
    with pytest.raises(OSError):
        store.put_blob(b"abcd", durable=True)


def test_a_full_disk_leaves_no_half_file(
    state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _store(state)
    store.put_blob(b"first")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    store.put_blob(b"second")
    assert [path.name for path in state.blobs.iterdir()] == [content_hash(b"first")]


def test_two_processes_write_and_evict_at_once(state: StateFolder) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tileport.verify.store import Store\n"
        "from tileport.verify.workspace import StateFolder\n"
        "store = Store(StateFolder(root=Path(sys.argv[1])), limit=2000, memory=0)\n"
        "for i in range(300):\n"
        "    content = b'%d' % (i % 40) * 50\n"
        "    key = store.put_blob(content)\n"
        "    got = store.blob(key)\n"
        "    assert got in (None, content), got\n"
        "    if i % 50 == 0: store.clean(frozenset())\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(state.root)]) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert not [path for path in state.blobs.iterdir() if path.name.startswith(".")]


@given(st.lists(st.binary(max_size=6), max_size=4), st.lists(st.binary(max_size=6), max_size=4))
def test_other_inputs_have_another_key(left: list[bytes], right: list[bytes]) -> None:
    assert (result_key("diff", *left) == result_key("diff", *right)) is (left == right)


def test_the_key_tells_stages_and_types_apart() -> None:
    keys = {
        result_key("diff", "a"),
        result_key("compile", "a"),
        result_key("diff", b"a"),
        result_key("diff", {"a": 1}),
        result_key("diff", Value(1)),
    }
    assert len(keys) == 5
    assert result_key("diff", {"a": 1, "b": 2}) == result_key("diff", {"b": 2, "a": 1})
