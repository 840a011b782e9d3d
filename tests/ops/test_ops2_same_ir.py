"""The ports of rms_norm, matmul, silu_and_mul and rope against their kernels, through the ladder.

Each run captures, compiles and compares in a workspace of its own: seconds, so a long tier.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tileport.ops

pytestmark = pytest.mark.slow

FOLDER = Path(tileport.ops.__file__).parent
OPERATORS = ("rms_norm", "matmul", "silu_and_mul", "rope")

#: Per operator: what is changed in the port, and the severity of what must be found.
DEFECTS = [
    ("rms_norm", "occupancy = 4", "occupancy = 3", "slow"),
    ("rms_norm", "ftz::Disabled", "ftz::Enabled", "wrong"),
    ("matmul", "GROUP_SIZE_M: i32 = 8", "GROUP_SIZE_M: i32 = 4", "wrong"),
    ("matmul", "(c_tile, [row, column])", "(c_tile, [column, row])", "wrong"),
    ("silu_and_mul", "n + column", "column + column", "wrong"),
    ("silu_and_mul", "Some(zero),", "None,", "wrong"),
    ("rope", "negf(second * sin)", "second * sin", "wrong"),
    ("rope", "&[first_loaded, second_loaded]", "&[first_loaded, first_loaded]", "unsafe"),
]


def check(folder: Path, *names: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and reports of `tileport check` up to the comparison, for operators in `folder`."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "tileport.agent.cli",
        "check",
        "--until",
        "diff",
        "--json",
    ]
    run = subprocess.run(
        [*command, *(f"{name}.py" for name in names)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr
    return run.returncode, json.loads(run.stdout)["operators"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with a copy of the four operators and their ports."""
    (tmp_path / "pyproject.toml").write_text("[tool.tileport]\n")
    for name in OPERATORS:
        for file in FOLDER.glob(f"{name}.*"):
            shutil.copy(file, tmp_path)
    return tmp_path


def test_every_variant_is_the_same_ir_on_both_targets(workspace: Path) -> None:
    code, reports = check(workspace, *OPERATORS)
    assert code == 0
    assert [Path(report["port"]).stem for report in reports] == list(OPERATORS)
    for report in reports:
        assert report["findings"] == []
        variants = report["variants"]
        assert {variant["target"] for variant in variants} == {"sm_90", "sm_100"}
        assert len(variants) == 10
        assert report["verdict"] == "SAME IR 10/10"


@pytest.mark.parametrize(("name", "right", "wrong", "severity"), DEFECTS)
def test_a_defect_is_found(
    name: str, right: str, wrong: str, severity: str, workspace: Path
) -> None:
    port = workspace / f"{name}.rs"
    text = port.read_text()
    assert right in text
    port.write_text(text.replace(right, wrong))
    code, (report,) = check(workspace, name)
    assert code == 1
    assert severity in {finding["severity"] for finding in report["findings"]}
