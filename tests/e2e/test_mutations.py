"""One changed thing in the clean port of mla_decode is found, and the finding names both lines."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

OPS = Path(__file__).resolve().parents[2] / "ops"


class Mutation(NamedTuple):
    """The first `old` of the port becomes `new`; a finding of one of `kinds` is on its line."""

    what: str
    old: str
    new: str
    kinds: frozenset[str]


MUTATIONS = (
    Mutation(
        "hint",
        "sm_90 = (occupancy = 2,)",
        "sm_90 = (occupancy = 3,)",
        frozenset({"hint-changed", "hint-lost"}),
    ),
    Mutation(
        "latency",
        "const KV_LATENCY: i32 = 4;",
        "const KV_LATENCY: i32 = 2;",
        frozenset({"hint-changed", "hint-lost"}),
    ),
    Mutation(
        "padding",
        "= kv.partition(shape![1, TILE_N, D]);",
        "= unsafe { make_partition_view(kv, shape![1, TILE_N, D], padding::None, "
        "dim_map::Identity, kv.token()) };",
        frozenset({"padding-changed"}),
    ),
    Mutation(
        "accumulator",
        "mma(p, kv, acc * alpha_cols)",
        "mma(p, kv, { let low: Tile<f16, { [TILE_H, D] }> = convert_tile(acc * alpha_cols); "
        "let back: Tile<f32, { [TILE_H, D] }> = convert_tile(low); back })",
        frozenset({"precision-changed", "accumulator-type"}),
    ),
    Mutation(
        "stride",
        "dims: &[s0, s1]",
        "dims: &[s1, s0]",
        frozenset({"value-changed"}),
    ),
)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mla")
    (folder / "pyproject.toml").write_text('[tool.tileport]\ntargets = ["sm_90"]\n')
    for file in OPS.glob("mla_decode.*"):
        shutil.copy(file, folder)
    return folder


def check(folder: Path) -> tuple[int, dict[str, Any]]:
    """Exit code and report of `tileport check`, rustc aside."""
    done = subprocess.run(
        [sys.executable, "-m", "tileport.agent.cli", "check", "mla_decode.py", "--until", "diff",
         "--json"],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    report: dict[str, Any] = json.loads(done.stdout)["operators"][0]
    return done.returncode, report


def test_the_port_is_clean(work: Path) -> None:
    code, report = check(work)
    assert code == 0
    assert [f for f in report["findings"] if f["severity"] != "note"] == []
    assert {v["verdict"] for v in report["variants"]} == {"same"}
    assert {v["kernel"] for v in report["variants"]} == {"mla_decode", "mla_decode_paged"}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.what)
def test_one_change_is_found_on_both_lines(work: Path, mutation: Mutation) -> None:
    port = work / "mla_decode.rs"
    original = port.read_text()
    assert mutation.old in original, "the port was rewritten: choose another place"
    port.write_text(original.replace(mutation.old, mutation.new, 1))
    try:
        code, report = check(work)
    finally:
        port.write_text(original)
    assert code == 1
    found = [f for f in report["findings"] if f["severity"] != "note"]
    kinds = {f["kind"] for f in found}
    assert "compile-error" not in kinds, found
    hits = [f for f in found if f["kind"] in mutation.kinds]
    assert hits, f"found {sorted(kinds)}"
    assert all(f["python"] and f["python"]["line"] > 0 for f in hits), hits
    assert all(f["rust"] and f["rust"]["line"] > 0 for f in hits), hits
