"""From what was typed to the files of an operator."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tileport.verify.errors import TileportError
from tileport.verify.operator import Operator, resolve_operator


def _file(path: Path, content: str | bytes = "x = 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _refusal(given: str, cwd: Path, **options: str) -> TileportError:
    with pytest.raises(TileportError) as caught:
        resolve_operator(given, cwd=str(cwd), **options)
    return caught.value


def test_a_path_gives_the_port_beside_it(tmp_path: Path) -> None:
    source = _file(tmp_path / "ops" / "softmax.py")
    found = resolve_operator("ops/softmax.py", cwd=str(tmp_path))
    assert found == Operator(
        given="ops/softmax.py",
        kind="path",
        name="softmax",
        key=found.key,
        source=str(source),
        cases=None,
        port=str(tmp_path / "ops" / "softmax.rs"),
        workspace=str(source.parent),
    )
    assert found.key.startswith("softmax-")


def test_a_case_file_beside_it_is_found_and_may_be_named(tmp_path: Path) -> None:
    _file(tmp_path / "softmax.py")
    beside = _file(tmp_path / "softmax.cases.py")
    other = _file(tmp_path / "more" / "cases.py")
    assert resolve_operator("softmax.py", cwd=str(tmp_path)).cases == str(beside)
    named = resolve_operator("softmax.py", cases="more/cases.py", cwd=str(tmp_path))
    assert named.cases == str(other)


def test_settings_name_port_and_cases_and_arguments_go_first(tmp_path: Path) -> None:
    _file(tmp_path / "ops" / "x.py")
    cases = _file(tmp_path / "c" / "x_cases.py")
    _file(
        tmp_path / "pyproject.toml",
        '[tool.tileport.operators."ops/x.py"]\nport = "rust/x.rs"\ncases = "c/x_cases.py"\n',
    )
    cwd = str(tmp_path / "ops")
    found = resolve_operator("x.py", cwd=cwd)
    assert (found.port, found.cases) == (str(tmp_path / "rust" / "x.rs"), str(cases))
    assert resolve_operator("x.py", port="y.rs", cwd=cwd).port == str(tmp_path / "ops" / "y.rs")


def test_operators_and_ports_have_keys_of_their_own(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        _file(tmp_path / folder / "x.py")
    keys = {
        resolve_operator("a/x.py", cwd=str(tmp_path)).key,
        resolve_operator("b/x.py", cwd=str(tmp_path)).key,
        resolve_operator("a/x.py", port="z.rs", cwd=str(tmp_path)).key,
    }
    assert len(keys) == 3


@pytest.mark.parametrize("marker", [".tileport/x", ".git/HEAD"])
def test_the_workspace_is_the_nearest_marked_folder(tmp_path: Path, marker: str) -> None:
    _file(tmp_path / marker)
    _file(tmp_path / "deep" / "er" / "x.py")
    _file(tmp_path / "deep" / "pyproject.toml", "[project]\nname = 'not-ours'\n")
    assert resolve_operator("deep/er/x.py", cwd=str(tmp_path)).workspace == str(tmp_path)


def test_a_project_with_settings_is_a_workspace(tmp_path: Path) -> None:
    _file(tmp_path / ".git" / "HEAD")
    _file(tmp_path / "deep" / "pyproject.toml", "[tool.tileport]\n")
    _file(tmp_path / "deep" / "x.py")
    assert resolve_operator("deep/x.py", cwd=str(tmp_path)).workspace == str(tmp_path / "deep")


def test_a_missing_file_names_the_one_meant(tmp_path: Path) -> None:
    _file(tmp_path / "ops" / "mla_decode.py")
    assert _refusal("ops/mla_decod.py", tmp_path).line() == (
        "ops/mla_decod.py: no such file; did you mean ops/mla_decode.py?"
    )
    assert "there is no folder" in _refusal("opz/x.py", tmp_path).line()


def test_things_that_are_no_python_file_are_refused(tmp_path: Path) -> None:
    _file(tmp_path / "ops" / "x.py")
    _file(tmp_path / "ops" / "x.rs")
    _file(tmp_path / "notes.txt")
    os.mkfifo(tmp_path / "pipe.py")
    assert _refusal("ops", tmp_path).line() == (
        "ops: a folder, not a Python file; name a file in it: x.py"
    )
    assert "the operator may be ops/x.py" in _refusal("ops/x.rs", tmp_path).line()
    assert "not a .py file" in _refusal("./notes.txt", tmp_path).line()
    assert "not a regular file" in _refusal("pipe.py", tmp_path).line()
    assert "no operator named" in _refusal(" ", tmp_path).line()
    assert "NUL" in _refusal("a\0.py", tmp_path).line()


def test_bytes_that_are_not_utf8_are_told_with_their_line(tmp_path: Path) -> None:
    _file(tmp_path / "x.py", b"a = 1\nb = '\xff'\n")
    assert _refusal("x.py", tmp_path).line() == (
        "x.py:2: byte 0xff at column 6 is not UTF-8; save the file as UTF-8"
    )


def test_a_long_file_is_taken_and_a_huge_one_is_not(tmp_path: Path) -> None:
    _file(tmp_path / "long.py", "x = 1\n" * 20_000)
    assert resolve_operator("long.py", cwd=str(tmp_path)).name == "long"
    huge = tmp_path / "huge.py"
    with huge.open("wb") as file:
        file.truncate(17 << 20)
    assert "larger than 16 MB" in _refusal("huge.py", tmp_path).line()


def test_a_port_that_is_no_rust_file_is_refused(tmp_path: Path) -> None:
    _file(tmp_path / "x.py")
    assert "not a .rs file" in _refusal("x.py", tmp_path, port="x.txt").line()
    assert "a folder" in _refusal("x.py", tmp_path, port=".").line()


def test_a_case_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    _file(tmp_path / "x.py")
    assert "does not exist" in _refusal("x.py", tmp_path, cases="y.py").line()


# ---------------------------------------------------------------- modules


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package whose import would be noticed."""
    for name in ("pack/__init__.py", "pack/deep/__init__.py", "pack/deep/softmax.py"):
        _file(tmp_path / name, "raise SystemExit('imported')\n")
    return tmp_path


def test_a_module_is_found_and_nothing_is_imported(package: Path) -> None:
    found = resolve_operator("pack.deep.softmax", cwd=str(package))
    assert found.kind == "module"
    assert found.module == "pack.deep.softmax"
    assert found.source == str(package / "pack" / "deep" / "softmax.py")
    assert found.port == str(package / "ports" / "softmax.rs")
    assert "pack" not in sys.modules


def test_the_port_of_a_module_lies_beside_it_or_in_ports(package: Path) -> None:
    local = _file(package / "ports" / "softmax.rs")
    assert resolve_operator("pack.deep.softmax", cwd=str(package)).port == str(local)
    beside = _file(package / "pack" / "deep" / "softmax.rs")
    assert resolve_operator("pack.deep.softmax", cwd=str(package)).port == str(beside)


def test_a_module_that_is_not_there_names_the_one_meant(package: Path) -> None:
    assert "did you mean pack.deep.softmax?" in _refusal("pack.deep.sofmax", package).line()
    assert "no module absent_pack" in _refusal("absent_pack.x", package).line()
    _file(package / "ops" / "rope.py")
    assert "did you mean ops/rope.py?" in _refusal("rope", package).line()


def test_a_package_or_an_extension_is_refused(package: Path) -> None:
    assert "a package, not a module; name a module in it: softmax" in (
        _refusal("pack.deep", package).line()
    )
    assert "without Python source" in _refusal("math", package).line()
    assert "is a module, not a package" in _refusal("pack.deep.softmax.x", package).line()


@pytest.mark.skipif(
    importlib.util.find_spec("tilegym") is None,
    reason="tilegym is not installed here; `make test` installs it",
)
def test_resolving_a_public_module_imports_no_torch() -> None:
    program = (
        "import sys\n"
        "from tileport.verify.operator import resolve_operator\n"
        "found = resolve_operator('tilegym.ops.cutile.softmax')\n"
        "print(found.source, 'torch' in sys.modules, 'tilegym' in sys.modules)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert out[0].endswith("tilegym/ops/cutile/softmax.py")
    assert out[1:] == ["False", "False"]
