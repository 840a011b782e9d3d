"""Any Python command can be recorded, and no file of the user's is changed for it."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from tests.capture.support import ADD, kinds, line_of
from tileport.verify.capture.command import capture_command
from tileport.verify.capture.inputs import hash_inputs
from tileport.verify.capture.request import CommandRequest
from tileport.verify.errors import TileportError

SCRIPT = "from kernels import op, vector\nop(vector(), vector())\nprint('ran', __name__)\n"
TEST = """
import pytest
import torch
from kernels import op, vector

@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_add(dtype):
    x = vector(dtype=dtype)
    torch.testing.assert_close(op(x, x), x + x)

def test_value():
    assert op(vector(), vector(), tile=64).sum().item() < 1e9

@pytest.mark.skipif(torch.cuda.get_device_capability()[0] < 10, reason="new GPUs only")
def test_new():
    op(vector(), vector(), tile=32)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "kernels.py").write_text(ADD)
    (project / "script.py").write_text(SCRIPT)
    (project / "test_ops.py").write_text(TEST)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return project


@pytest.fixture
def request_(project: Path, tmp_path: Path) -> CommandRequest:
    return CommandRequest(
        workspace=str(project), targets=("sm_90",), blobs=str(tmp_path / "blobs"), mode="fake"
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


async def test_a_script_is_recorded_and_nothing_is_left_of_it(
    project: Path, request_: CommandRequest, tmp_path: Path
) -> None:
    before = contents(project)
    lines: list[str] = []
    report = await capture_command(["python", "script.py"], request_, on_line=lines.append)
    assert contents(project) == before
    (variant,) = report.variants
    assert (variant.kernel.name, variant.cases, variant.via) == ("add", ("script.py",), "launch")
    assert Path(variant.kernel.place.file) == project / "kernels.py"
    assert (tmp_path / "blobs" / variant.reference).is_file()
    assert "ran __main__" in lines
    assert report.operator == "python script.py"
    assert {Path(file).name for file in report.files} == {"kernels.py", "script.py"}
    assert hash_inputs(report.files) == report.inputs
    assert not report.findings


@pytest.mark.slow
async def test_tests_are_recorded_by_name_and_on_each_target(request_: CommandRequest) -> None:
    request = msgspec.structs.replace(request_, targets=("sm_90", "sm_100"))
    command = ["pytest", "-q", "-p", "no:cacheprovider", "test_ops.py"]
    report = await capture_command(command, request)
    recorded = {
        (v.target, v.label, v.parameters[-1].spec.value, case.partition("::")[2])  # type: ignore[union-attr]
        for v in report.variants
        for case in v.cases
    }
    assert {(t, tile, case) for t, _, tile, case in recorded} == {
        ("sm_90", 256, "test_add[dtype0]"),
        ("sm_90", 256, "test_add[dtype1]"),
        ("sm_90", 64, "test_value"),
        ("sm_100", 256, "test_add[dtype0]"),
        ("sm_100", 256, "test_add[dtype1]"),
        ("sm_100", 64, "test_value"),
        ("sm_100", 32, "test_new"),
    }
    needs = [f for f in report.findings if f.kind == "capture-needs-data"]
    (finding,) = needs
    assert finding.python is not None
    assert finding.python.line == line_of(TEST, ".item()")
    # The test that needed data failed, and so did the command; what it launched counts.
    assert kinds(report).count("command-failed") == 2


@pytest.mark.slow
async def test_a_module_and_the_processes_it_starts(
    project: Path, request_: CommandRequest
) -> None:
    (project / "many.py").write_text(
        "import multiprocessing, subprocess, sys\n"
        "from kernels import op, vector\n"
        "def work(tile):\n    op(vector(), vector(), tile=tile)\n"
        "if __name__ == '__main__':\n"
        "    work(256)\n"
        "    with multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "        pool.map(work, [64, 128])\n"
        "    subprocess.run([sys.executable, 'script.py'], check=True)\n"
    )
    report = await capture_command([sys.executable, "-m", "many"], request_)
    assert not report.findings, report.findings
    tiles = [v.parameters[-1].spec.value for v in report.variants]  # type: ignore[union-attr]
    assert sorted(tiles) == [64, 128, 256]  # type: ignore[type-var]


@pytest.mark.slow
async def test_a_command_that_launches_nothing(request_: CommandRequest) -> None:
    report = await capture_command(["python", "-c", "import cuda.tile"], request_)
    (finding,) = report.findings
    assert finding.kind == "no-kernel"
    assert "launched no kernel" in finding.message


@pytest.mark.slow
async def test_a_command_that_fails_says_how(request_: CommandRequest) -> None:
    report = await capture_command(["python", "-c", "import torch; 1 / 0"], request_)
    assert "exit code 1: ZeroDivisionError: division by zero" in report.findings[0].message


@pytest.mark.slow
async def test_a_command_that_never_ends_keeps_what_it_launched(
    project: Path, request_: CommandRequest
) -> None:
    (project / "script.py").write_text(SCRIPT + "import time\ntime.sleep(1000)\n")
    request = msgspec.structs.replace(request_, deadline=20.0)
    report = await capture_command(["python", "script.py"], request)
    assert len(report.variants) == 1
    assert "did not end within 20 s" in report.findings[0].message


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ([], "no command"),
        (["surely-not-there"], "no program 'surely-not-there'"),
        (["/bin/true"], "ran no Python"),
        (["python", "-I", "-c", "pass"], "ran no Python"),
    ],
)
async def test_what_is_no_python_command_is_told(
    request_: CommandRequest, command: list[str], says: str
) -> None:
    with pytest.raises(TileportError) as caught:
        await capture_command(command, request_)
    assert says in caught.value.line()


async def test_a_python_without_tileport_is_told(request_: CommandRequest, tmp_path: Path) -> None:
    # The same Python, kept from seeing any installed package.
    script = tmp_path / "bare"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -S -c 'import sitecustomize'\n")
    script.chmod(0o755)
    with pytest.raises(TileportError) as caught:
        await capture_command([str(script)], request_)
    assert f"tileport is not installed for {sys.executable}" in caught.value.what


@pytest.mark.slow
async def test_another_sitecustomize_still_runs(
    project: Path, request_: CommandRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = project / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("print('the other one ran')\n")
    monkeypatch.setenv("PYTHONPATH", str(other))
    lines: list[str] = []
    await capture_command(["python", "script.py"], request_, on_line=lines.append)
    assert "the other one ran" in lines
