"""From what a person typed to the files of an operator, without running any of its code."""

from __future__ import annotations

import difflib
import hashlib
import importlib.machinery
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from tileport.verify.config import Config, load_config
from tileport.verify.errors import TileportError
from tileport.verify.files import read_text
from tileport.verify.workspace import find_workspace

_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
#: Case files and ports of public operators that ship with tileport, by the module's last name.
_SHIPPED = {"tilegym": Path(__file__).parents[1] / "ops" / "tilegym"}


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """An operator and where its files lie; all paths are absolute."""

    #: What was typed, for messages: `ops/mla_decode.py`, `tilegym.ops.cutile.softmax`.
    given: str
    kind: Literal["path", "module"]
    #: The last part, for titles: `mla_decode`, `softmax`.
    name: str
    #: Unlike that of any other operator and port of the workspace, and fit for a file name.
    key: str
    #: Dotted name for kind `module`, else empty.
    module: str = ""
    #: The Python file.
    source: str
    #: The case file, where one was found or given.
    cases: str | None
    #: The Rust port, also where it does not exist yet.
    port: str
    #: The folder `.tileport` lies in.
    workspace: str


def resolve_operator(
    given: str, *, port: str | None = None, cases: str | None = None, cwd: str | None = None
) -> Operator:
    """Find the files of the operator `given`: a path or a dotted module name.

    The port of `x.py` is `x.rs` beside it. That of a module lies beside its case file or its
    source, else in `ports/` of the current folder or of the workspace. Arguments go before
    `[tool.tileport]`, and that before the usual places.

    Args:
        given: `ops/x.py`, or `package.module`.
        port: The Rust port, where it is not in its usual place; need not exist.
        cases: The case file, where it is not in its usual place; must exist.
        cwd: What relative paths are taken from; the current folder if None.

    Raises:
        TileportError: there is no such file or module, or it cannot be read as Python text; or
            the settings of the workspace are bad.
    """
    folder = Path(cwd or Path.cwd())
    if _is_path(given, folder):
        source = Path(os.path.abspath(folder / given))  # noqa: PTH100  # links stay as typed
        _check_python_file(given, source)
        workspace = find_workspace(source.parent)
        module = ""
    else:
        workspace = find_workspace(folder)
        source = _module_file(given, workspace)
        module = given
    config = load_config(str(workspace))
    settings = _settings_of(config, source, module, workspace)
    name = module.rpartition(".")[2] or source.stem
    case_file = (
        _given_file(cases, folder, "the case file")
        or _given_file(settings[1], workspace, "the case file of [tool.tileport]")
        or _usual_cases(source, module, name)
    )
    port_file = _given_port(port, folder) or _given_port(settings[0], workspace)
    if port_file is None and module:
        port_file = _usual_module_port(name, source, case_file, folder, workspace)
    elif port_file is None:
        port_file = source.with_suffix(".rs")
    identity = "\0".join((module or os.path.realpath(source), os.path.realpath(port_file)))
    return Operator(
        given=given,
        kind="module" if module else "path",
        name=name,
        key=f"{_file_safe(name)}-{hashlib.sha256(os.fsencode(identity)).hexdigest()[:8]}",
        module=module,
        source=str(source),
        cases=str(case_file) if case_file else None,
        port=str(port_file),
        workspace=str(workspace),
    )


def sidecar(source: Path) -> Path:
    """Where the case file of a Python file lies if it has one: `NAME.cases.py` beside it."""
    return source.with_name(f"{source.stem}.cases.py")


# ---------------------------------------------------------------- paths


def _is_path(given: str, folder: Path) -> bool:
    if not given.strip():
        raise TileportError("no operator named", todo="name a Python file or a module")
    if "\0" in given:
        raise TileportError("a NUL character is in the operator's name", todo="name a Python file")
    if os.sep in given or given.endswith((".py", ".rs")):
        return True
    if not _MODULE.fullmatch(given):
        return True
    return (folder / given).exists() and "." not in given


def _check_python_file(given: str, path: Path) -> None:
    if path.is_dir():
        files = [entry.name for entry in _python_files(path)]
        raise TileportError(
            "a folder, not a Python file", where=given, todo=_name_one(files, "file in it")
        )
    if path.suffix == ".rs":
        beside = path.with_suffix(".py")
        todo = f"the operator may be {_beside(given, beside.name)}" if beside.exists() else ""
        raise TileportError(
            "this is a Rust file", where=given, todo=todo or "name the Python operator"
        )
    try:
        if path.suffix != ".py" and path.exists():
            raise TileportError("not a .py file", where=given, todo="name the Python operator")
        read_text(path, what="the operator")
    except FileNotFoundError:
        raise TileportError("no such file", where=given, todo=_suggest_path(given, path)) from None
    except TileportError as error:
        # Told with the path as it was typed.
        place = (error.where or "").replace(str(path), given)
        raise TileportError(error.what, where=place, todo=error.todo) from None


def _python_files(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [
        entry
        for entry in entries
        if entry.suffix == ".py"
        and not entry.name.endswith(".cases.py")
        and not entry.name.startswith("__")
    ]


def _suggest_path(given: str, path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        known = folder
        while not known.is_dir():
            known = known.parent
        return f"there is no folder {folder}, only {known}"
    names = [entry.name for entry in _python_files(folder)]
    close = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    if not close and path.suffix != ".py":
        close = difflib.get_close_matches(f"{path.name}.py", names, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(_beside(given, name) for name in close) + "?"
    return _name_one(names, f"file of {folder}")


def _beside(given: str, name: str) -> str:
    return str(Path(given).with_name(name))


def _name_one(names: Sequence[str], what: str) -> str:
    if not names:
        return f"name a Python file; there is no {what}"
    shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    return f"name a {what}: {shown}"


# ---------------------------------------------------------------- modules


def _module_file(module: str, folder: Path) -> Path:
    """The source file of a module, found by the import system's finders; nothing is imported.

    `folder` is searched first, as it will be when the capture imports the module.
    """
    parts = module.split(".")
    locations: list[str] | None = None
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        spec = _find_spec(name, locations, folder)
        if spec is None:
            raise _no_module(module, name, locations, folder)
        if depth < len(parts) and spec.submodule_search_locations is None:
            raise TileportError(f"{name} is a module, not a package", where=module)
        locations = list(spec.submodule_search_locations or ())
    assert spec is not None
    if spec.submodule_search_locations is not None:
        names = _modules_in(locations or ())
        raise TileportError(
            "a package, not a module", where=module, todo=_name_one(names, "module in it")
        )
    if spec.origin is None or not spec.origin.endswith(".py"):
        raise TileportError("a module without Python source", where=module)
    path = Path(os.path.abspath(spec.origin))  # noqa: PTH100  # links stay
    try:
        read_text(path, what="the operator")
    except FileNotFoundError:
        raise TileportError("the source of this module is gone", where=module) from None
    return path


def _find_spec(
    name: str, locations: list[str] | None, folder: Path
) -> importlib.machinery.ModuleSpec | None:
    """What `importlib.util.find_spec` finds, but without importing the parents."""
    if locations is None:
        spec = importlib.machinery.PathFinder.find_spec(name, [str(folder), *sys.path])
        if spec is not None:
            return spec
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, locations)
        except (ImportError, AttributeError, ValueError):
            continue
        if spec is not None:
            return spec
    return None


def _no_module(
    module: str, missing: str, locations: list[str] | None, folder: Path
) -> TileportError:
    last = missing.rpartition(".")[2]
    if locations is None:
        files = _files_named(f"{last}.py", folder) if module == missing else []
        if files:
            todo = "did you mean " + " or ".join(files) + "?"
        else:
            todo = "install it beside tileport, or name a Python file"
        return TileportError(f"no module {missing}", where=module, todo=todo)
    names = _modules_in(locations)
    close = difflib.get_close_matches(last, names, n=3, cutoff=0.6)
    parent = missing.rpartition(".")[0]
    if close:
        todo = "did you mean " + " or ".join(f"{parent}.{name}" for name in close) + "?"
    else:
        todo = _name_one(names, f"module of {parent}")
    return TileportError(f"no module {missing}", where=module, todo=todo)


def _files_named(name: str, folder: Path) -> list[str]:
    """Files called so, or nearly so, in `folder` and called so in the folders in it."""
    try:
        below = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except OSError:
        return []
    exact = [f"{entry.name}/{name}" for entry in below if (entry / name).is_file()]
    here = [entry.name for entry in _python_files(folder)]
    return (difflib.get_close_matches(name, here, n=1, cutoff=0.6) + exact)[:3]


def _modules_in(locations: Iterable[str]) -> list[str]:
    names: set[str] = set()
    for location in locations:
        try:
            entries = list(Path(location).iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.suffix == ".py" or (entry.is_dir() and not entry.name.startswith("__")):
                names.add(entry.stem)
    return sorted(names - {"__init__", "__main__"})


# ---------------------------------------------------------------- ports and cases


def _settings_of(
    config: Config, source: Path, module: str, workspace: Path
) -> tuple[str | None, str | None]:
    """Port and cases that `[tool.tileport.operators]` names for the operator."""
    keys = [module] if module else [str(source)]
    if not module and source.is_relative_to(workspace):
        keys.append(source.relative_to(workspace).as_posix())
    for key in keys:
        if key in config.operators:
            return config.operators[key].port, config.operators[key].cases
    return None, None


def _given_file(given: str | None, base: Path, what: str) -> Path | None:
    if given is None:
        return None
    path = Path(os.path.abspath(base / given))  # noqa: PTH100  # links stay as typed
    try:
        read_text(path, what=what)
    except FileNotFoundError:
        raise TileportError(
            f"{what} does not exist", where=given, todo=_suggest_path(given, path)
        ) from None
    return path


def _given_port(given: str | None, base: Path) -> Path | None:
    if given is None:
        return None
    path = Path(os.path.abspath(base / given))  # noqa: PTH100  # links stay as typed
    if path.is_dir():
        raise TileportError("the port is a folder", where=given, todo="name a .rs file")
    if path.suffix != ".rs":
        raise TileportError("the port is not a .rs file", where=given, todo="name a .rs file")
    return path


def _usual_cases(source: Path, module: str, name: str) -> Path | None:
    beside = sidecar(source)
    if beside.is_file():
        return beside
    shipped = _SHIPPED.get(module.partition(".")[0])
    if shipped is not None and (shipped / f"{name}.cases.py").is_file():
        return shipped / f"{name}.cases.py"
    return None


def _usual_module_port(
    name: str, source: Path, cases: Path | None, folder: Path, workspace: Path
) -> Path:
    candidates = [
        *([cases.with_name(f"{name}.rs")] if cases is not None else []),
        source.with_suffix(".rs"),
        folder / "ports" / f"{name}.rs",
        workspace / "ports" / f"{name}.rs",
    ]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    return folder / "ports" / f"{name}.rs"


def _file_safe(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)[:64] or "operator"
