"""Finding tools and their versions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tileport.verify import gpus, toolchain


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty PATH, to put programs on."""
    monkeypatch.setattr(toolchain, "_cuda_folders", list)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    monkeypatch.delenv("LIBCLANG_PATH", raising=False)
    monkeypatch.delenv("CUDA_TOOLKIT_PATH", raising=False)
    return tmp_path


def put(folder: Path, name: str, text: str, *, runs: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755 if runs else 0o644)
    return path


def test_the_tools_of_this_environment_are_found_beside_its_python() -> None:
    for name in ("tileiras", "tileirdisasm", "nvdisasm", "ptxas"):
        tool = toolchain.find(name)
        assert tool.ok, tool
        assert tool.path is not None and tool.path.endswith(f"nvidia/cu13/bin/{name}")
        assert tool.version is not None and tool.version.startswith("13.")
    home = toolchain.cuda_home()
    assert home is not None and (home / "include" / "cuda.h").is_file()


def test_a_program_beside_python_wins_over_one_on_path(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(bare, "nvdisasm", 'echo "release 13.1, V13.1.1"')
    own = put(bare / "site" / "bin", "nvdisasm", 'echo "release 13.5, V13.5.9"')
    monkeypatch.setattr(toolchain, "_cuda_folders", lambda: [bare / "site"])
    tool = toolchain.find("nvdisasm")
    assert (tool.path, tool.version) == (str(own), "13.5.9")


def test_a_missing_program_says_how_to_get_it(bare: Path) -> None:
    tool = toolchain.find("tileiras")
    assert not tool.ok
    assert (tool.path, tool.version, tool.problem) == (None, None, "not found")
    assert "pip install" in tool.how_to_get


def test_a_program_that_may_not_be_run_is_not_found(bare: Path) -> None:
    put(bare, "tileiras", "exit 0", runs=False)
    assert toolchain.find("tileiras").problem == "not found"


def test_a_program_that_fails_does_not_run(bare: Path) -> None:
    put(bare, "tileiras", "exit 1")
    assert toolchain.find("tileiras").problem == "does not run"


def test_an_old_rust_is_refused_and_a_new_one_is_not(bare: Path) -> None:
    put(bare, "rustc", 'echo "rustc 1.88.0 (6b00bc388 2025-06-23)"')
    assert toolchain.find("rustc").problem == "too old, 1.89 or newer is needed"
    put(bare, "rustc", 'echo "rustc 1.100.0-nightly (abcdef 2027-01-01)  "')
    assert toolchain.find("rustc").ok


def test_cargo_is_found_where_rustup_puts_it(bare: Path) -> None:
    path = put(bare / "cargo" / "bin", "cargo", 'echo "cargo 1.95.0 (f2d3ce0bd 2026-03-21)"')
    tool = toolchain.find("cargo")
    assert (tool.path, tool.version, tool.ok) == (str(path), "1.95.0", True)


def test_a_version_is_asked_for_once_while_the_file_stays(bare: Path) -> None:
    count = bare / "count"
    put(bare, "ptxas", f'echo x >> {count}; echo "release 13.5, V13.5.9"')
    for _ in range(3):
        assert toolchain.find("ptxas").version == "13.5.9"
    assert count.read_text() == "x\n"


def test_the_survey_tells_all_and_raises_nothing(bare: Path) -> None:
    tools = {tool.name: tool for tool in toolchain.survey()}
    assert list(tools) == [
        "tileiras", "tileirdisasm", "nvdisasm", "ptxas", "cargo", "rustc",
        "C compiler", "cuda.h", "curand.h", "libclang", "GPU",
    ]  # fmt: skip
    assert all(tool.ok or tool.how_to_get for tool in tools.values())


def test_gpus_are_read_from_what_the_driver_prints() -> None:
    text = "NVIDIA H200, 9.0, 580.95.05\nOdd, name, 10.0, CUDA 13.2\nNo devices were found\n"
    assert [(gpu.name, gpu.target, gpu.driver) for gpu in gpus._read_gpus(text)] == [
        ("NVIDIA H200", "sm_90", "580.95.05"),
        ("Odd, name", "sm_100", "CUDA 13.2"),
    ]


def test_looking_for_tools_loads_neither_torch_nor_a_driver() -> None:
    program = (
        "import sys\n"
        "from tileport.verify import gpus, toolchain\n"
        "toolchain.survey()\n"
        "print(sorted({'torch', 'cuda', 'numpy'} & set(sys.modules)))\n"
        "print('libcuda' in open('/proc/self/maps').read())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[]", "False"]
