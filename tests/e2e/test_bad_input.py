"""Bad input gets one clear line and the exit code for it, never a traceback and never a hang."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = """\
import cuda.tile as ct
import torch

@ct.kernel
def copy(x, y, N: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (N,)))

def run(x):
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (x.shape[0] // 16,), copy, (x, y, 16))
    return y
"""
CASES = """
def tileport_cases():
    yield "one", lambda: run(torch.randn(64, device="cuda"))
"""


def tileport(
    *words: str | Path, cwd: Path, timeout: float = 120.0
) -> subprocess.CompletedProcess[str]:
    """Run the command as a person would."""
    return subprocess.run(
        [sys.executable, "-m", "tileport.agent.cli", *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def says(done: subprocess.CompletedProcess[str], code: int, *pieces: str) -> None:
    """The exit code is `code`, the pieces are in what was said, and nothing looks like a crash."""
    told = done.stdout + done.stderr
    assert "Traceback" not in told, told
    assert done.returncode == code, told
    for piece in pieces:
        assert piece in told, told


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.tileport]\ntargets = ["sm_90"]\n')
    return tmp_path


def test_file_not_found_names_a_close_one(work: Path) -> None:
    (work / "softmax.py").write_text(GOOD)
    says(tileport("check", "sofmax.py", cwd=work), 2, "sofmax.py", "softmax.py")


def test_no_such_module(work: Path) -> None:
    says(tileport("check", "no.such.module", cwd=work), 2, "no.such.module")


def test_no_operator_given(work: Path) -> None:
    says(tileport("check", cwd=work), 2, "usage:")


def test_a_file_without_cases_says_how_to_write_them(work: Path) -> None:
    (work / "op.py").write_text(GOOD)
    says(tileport("check", "op.py", cwd=work), 1, "no-cases", "tileport_cases")


def test_cases_that_launch_nothing(work: Path) -> None:
    (work / "op.py").write_text("def tileport_cases():\n    yield 'one', lambda: None\n")
    says(tileport("check", "op.py", cwd=work), 1, "no-kernel")


def test_python_that_does_not_parse_is_told_with_its_line(work: Path) -> None:
    (work / "op.py").write_text("x = 1\ndef broken(:\n")
    says(tileport("check", "op.py", cwd=work), 2, "op.py:2")


def test_python_that_raises_is_told_with_its_line(work: Path) -> None:
    (work / "op.py").write_text("x = 1\nraise RuntimeError('no luck')\n")
    says(tileport("check", "op.py", cwd=work), 2, "op.py:2", "no luck")


def test_a_case_that_raises_is_a_finding_and_the_others_are_kept(work: Path) -> None:
    bad = "\n    yield 'two', lambda: 1 / 0\n"
    (work / "op.py").write_text(GOOD + CASES + bad)
    done = tileport("check", "op.py", cwd=work)
    says(done, 1, "case-failed", "op.py:", "division by zero", "port-missing")


@pytest.mark.parametrize(
    "body",
    ["while True: pass", "import os; os._exit(3)", "import os; os.abort()", "input()"],
)
def test_python_that_hangs_or_ends_the_process(work: Path, body: str) -> None:
    settings = '[tool.tileport]\ntargets = ["sm_90"]\n[tool.tileport.deadlines]\ncapture = 8\n'
    (work / "pyproject.toml").write_text(settings)
    (work / "op.py").write_text(
        f"def tileport_cases():\n    yield 'one', run\ndef run():\n    {body}\n"
    )
    done = tileport("check", "op.py", cwd=work)
    assert done.returncode in (1, 2)
    says(done, done.returncode, "op.py")


def test_invalid_utf8_is_told_with_its_line(work: Path) -> None:
    (work / "op.py").write_bytes(b"x = 1\ny = '\xff\xfe'\n")
    says(tileport("check", "op.py", cwd=work), 2, "op.py:2", "UTF-8")


def test_rust_that_does_not_parse_is_a_finding_at_line_and_column(work: Path) -> None:
    (work / "op.py").write_text(GOOD + CASES)
    (work / "op.rs").write_text("#[cutile::module]\npub mod op {\n    fn broken( {\n}\n")
    says(tileport("check", "op.py", "--until", "diff", cwd=work), 1, "op.rs:")


def test_an_entry_missing_for_a_kernel(work: Path) -> None:
    (work / "op.py").write_text(GOOD + CASES)
    (work / "op.rs").write_text("#[cutile::module]\npub mod op {\n    use cutile::core::*;\n}\n")
    says(tileport("check", "op.py", "--until", "diff", cwd=work), 1, "entry-missing", "copy")


def test_invalid_utf8_in_the_port(work: Path) -> None:
    (work / "op.py").write_text(GOOD + CASES)
    (work / "op.rs").write_bytes(b"// \xff\n")
    says(tileport("check", "op.py", cwd=work), 2, "op.rs:1", "UTF-8")


def test_bad_settings_are_told_with_their_line_and_the_nearest_key(work: Path) -> None:
    (work / "op.py").write_text(GOOD + CASES)
    (work / "pyproject.toml").write_text("[tool.tileport]\ntarget = ['sm_90']\n")
    says(tileport("check", "op.py", cwd=work), 2, "pyproject.toml:2", "targets")


def test_an_unknown_target(work: Path) -> None:
    (work / "op.py").write_text(GOOD + CASES)
    says(tileport("check", "op.py", "--target", "sm_1", cwd=work), 2, "sm_1")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to read-only folders")
def test_a_read_only_folder_still_gives_a_verdict(work: Path) -> None:
    (work / "op.py").write_text(GOOD + CASES)
    work.chmod(0o555)
    try:
        says(tileport("check", "op.py", cwd=work), 1, "port-missing")
    finally:
        work.chmod(0o755)


def test_errors_are_json_too(work: Path) -> None:
    done = tileport("check", "nothing.py", "--json", cwd=work)
    says(done, 2, '"error"', '"exit_code": 2')


def test_a_reader_that_goes_away_is_no_error(work: Path) -> None:
    command = f"{sys.executable} -m tileport.agent.cli check --help | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
