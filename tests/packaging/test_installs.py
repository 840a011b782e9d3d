"""A wheel, an editable install and an sdist each give the same tileport."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROBE = """
import importlib.resources as resources
import tileport.agent.cli, tileport.ffi, tileport.tui, tileport.verify
from tileport.verify.ir import text
print(tileport.verify.__file__)
print(resources.files("tileport.ops").joinpath("mla_decode.rs").is_file())
print(resources.files("tileport.ops.tilegym").joinpath("softmax.cases.py").is_file())
print(any(p.name.endswith(".toml") for p in resources.files("tileport.themes").iterdir()))
"""


def _run(*argv: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(a) for a in argv], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{argv}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git tracks (and what is about to be tracked), so builds leave no trace."""
    copy = tmp_path_factory.mktemp("source") / "tileport"
    listed = _run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        origin = ROOT / name
        if origin.is_file():
            goal = copy / name
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.write_bytes(origin.read_bytes())
    return copy


@pytest.fixture(scope="module")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the sdist of the copy."""
    out = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source, cwd=out)
    (wheel,) = out.glob("tileport-*.whl")
    (sdist,) = out.glob("tileport-*.tar.gz")
    return wheel, sdist


def _fresh(path: Path) -> Path:
    """A new environment that sees this one's packages, except tileport; its Python."""
    venv.create(path, with_pip=False, symlinks=True)
    (site,) = path.glob("lib/python*/site-packages")
    theirs = next(p for p in sys.path if p.endswith("site-packages"))
    # A .pth line only appends the folder: the .pth files inside, our editable one, are not read.
    (site / "dependencies.pth").write_text(theirs + "\n")
    return path / "bin" / "python"


def _probe(python: Path, cwd: Path) -> list[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return _run(python, "-c", PROBE, cwd=cwd, env=env).split()


def _install(python: Path, what: str | Path, *options: str, cwd: Path) -> None:
    _run(
        sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps",
        "--no-build-isolation", "--disable-pip-version-check", *options, what, cwd=cwd,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_built_package_imports_and_brings_its_data(
    kind: str, built: tuple[Path, Path], tmp_path: Path
) -> None:
    python = _fresh(tmp_path / "env")
    _install(python, built[0] if kind == "wheel" else built[1], cwd=tmp_path)
    where, *data = _probe(python, tmp_path)
    assert where.startswith(str(tmp_path / "env"))
    assert data == ["True", "True", "True"]


def test_editable_install_reads_the_tree(source: Path, tmp_path: Path) -> None:
    python = _fresh(tmp_path / "env")
    _install(python, source, "--editable", cwd=tmp_path)
    where, *data = _probe(python, tmp_path)
    assert where == str(source / "verify" / "__init__.py")
    assert data == ["True", "True", "True"]


def test_commands_of_a_wheel_start(built: tuple[Path, Path], tmp_path: Path) -> None:
    python = _fresh(tmp_path / "env")
    _install(python, built[0], cwd=tmp_path)
    for name in ("tileport", "tileport-tui"):
        assert "usage:" in _run(python.parent / name, "--help", cwd=tmp_path)


def test_wheel_and_sdist_carry_the_same_modules(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        modules = {n.removeprefix("tileport/") for n in wheel.namelist() if n.endswith(".py")}
    with tarfile.open(built[1]) as sdist:
        shipped = {n.partition("/")[2] for n in sdist.getnames()}
    assert modules
    assert modules <= shipped


def test_package_list_names_every_folder_with_modules() -> None:
    listed = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    )
    found = {
        "tileport." + ".".join(p.parent.relative_to(ROOT).parts)
        for top in ("agent", "ffi", "ops", "themes", "tui", "verify")
        for p in (ROOT / top).rglob("__init__.py")
        if "target" not in p.parts
    }
    assert listed == found


def test_there_is_no_package_at_the_root() -> None:
    assert not (ROOT / "__init__.py").exists()
