"""The ports of mla_decode, softmax and splitk_matmul against their kernels, through the ladder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.ops.test_ops2_same_ir import FOLDER, check

pytestmark = pytest.mark.slow

OPERATORS = ("mla_decode", "softmax", "splitk_matmul")

#: What is changed in a port, and the severity of what must be found.
DEFECTS = [
    ("mla_decode", "sm_90 = (occupancy = 2,)", "sm_90 = (occupancy = 3,)", "slow"),
    ("mla_decode", "load_pipelined::<KV_LATENCY>", "load", "slow"),
    (
        "mla_decode",
        "= kv.partition(shape![1, TILE_N, D]);",
        "= unsafe { make_partition_view(kv, shape![1, TILE_N, D], padding::None, "
        "dim_map::Identity, kv.token()) };",
        "wrong",
    ),
    ("mla_decode", "mma(p, kv, acc * alpha_cols)", "mma(p, kv, acc)", "wrong"),
    (
        "mla_decode",
        "constant(0.0, shape![TILE_H, D])",
        "constant(1.0, shape![TILE_H, D])",
        "wrong",
    ),
    ("mla_decode", "dims: &[s0, s1]", "dims: &[s1, s0]", "wrong"),
    ("mla_decode", "const_array![0, 2, 1]", "const_array![0, 1, 2]", "wrong"),
    ("mla_decode", "load_kv_page(&tail_tiles", "load_kv_page(&kv_tiles", "wrong"),
    ("softmax", "padding::NegInf", "padding::Zero", "wrong"),
    (
        "softmax",
        "natural_exp(peak - base)",
        "natural_exp(base - peak)",
        "wrong",
    ),
    ("splitk_matmul", "min(first + share, tiles)", "first + share", "wrong"),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with a copy of the three operators and their ports."""
    (tmp_path / "pyproject.toml").write_text("[tool.tileport]\n")
    for name in OPERATORS:
        for file in FOLDER.glob(f"{name}.*"):
            shutil.copy(file, tmp_path)
    return tmp_path


def test_every_variant_is_the_same_ir_on_both_targets(workspace: Path) -> None:
    code, reports = check(workspace, *OPERATORS)
    assert code == 0
    for report in reports:
        assert report["findings"] == []
        assert {variant["target"] for variant in report["variants"]} == {"sm_90", "sm_100"}
        assert report["verdict"] == "SAME IR 12/12"


@pytest.mark.parametrize(("name", "right", "wrong", "severity"), DEFECTS)
def test_a_defect_is_found_at_both_lines(
    name: str, right: str, wrong: str, severity: str, workspace: Path
) -> None:
    port = workspace / f"{name}.rs"
    text = port.read_text()
    assert right in text
    port.write_text(text.replace(right, wrong))
    code, (report,) = check(workspace, name)
    assert code == 1
    found = [each for each in report["findings"] if each["severity"] == severity]
    assert found
    for finding in found:
        assert finding["python"]["line"] > 0
        assert finding["rust"]["line"] > 0
