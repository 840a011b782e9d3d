"""A cached result is tied to the code that made it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tileport.verify.ladder import versions

ROOT = Path(versions.__file__).parents[2]


def _file_of(module: str) -> Path | None:
    parts = module.split(".")
    if parts[0] != "tileport":
        return None
    base = ROOT.joinpath(*parts[1:])
    if base.is_dir():
        return base / "__init__.py"
    return base.with_suffix(".py") if base.with_suffix(".py").is_file() else None


def _imports(path: Path) -> Iterator[Path]:
    """Files of this project that a file imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            found = _file_of(name)
            if found is not None:
                yield found


def _closure(*modules: str) -> set[Path]:
    todo = [file for module in modules if (file := _file_of(module)) is not None]
    assert len(todo) == len(modules)
    seen: set[Path] = set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo.extend(_imports(path))
    return seen


@pytest.mark.parametrize(
    ("stage", "entries"),
    [
        ("capture", ["tileport.verify.capture.client", "tileport.verify.capture.server"]),
        ("diff", ["tileport.verify.compile.server", "tileport.verify.compile.worker"]),
        ("build", ["tileport.verify.compile.cargo"]),
    ],
)
def test_the_fingerprint_covers_all_code_of_a_stage(stage: str, entries: list[str]) -> None:
    verify = ROOT / "verify"
    used = {path for path in _closure(*entries) if path.is_relative_to(verify)}
    assert used - set(versions.code_of(stage)) == set()


def test_the_fingerprint_of_compile_covers_the_worker_but_for_what_compares() -> None:
    used = {
        path
        for path in _closure("tileport.verify.compile.worker")
        if path.is_relative_to(ROOT / "verify") and "diff" not in path.parts
    }
    assert used - set(versions.code_of("compile")) == set()


def test_a_change_of_the_code_changes_the_fingerprint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = tmp_path / "rule.py"
    code.write_text("a")
    monkeypatch.setattr(versions, "code_of", lambda stage: [code])
    versions.fingerprint.cache_clear()
    before = versions.fingerprint("diff")
    code.write_text("ab")
    versions.fingerprint.cache_clear()
    after = versions.fingerprint("diff")
    versions.fingerprint.cache_clear()
    assert before != after
