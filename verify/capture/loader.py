"""Brings in the operator and its case file; whatever goes wrong becomes one line with a place."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import NoReturn

from tileport.verify.capture.faults import UserFiles, describe, is_driver_query, place_of
from tileport.verify.capture.request import OperatorSource
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.files import read_text


class _TextLoader(importlib.abc.InspectLoader):
    """Runs a module from text that was read once.

    Not from a .pyc: those are told apart by size and whole seconds of time, and an edit that
    changes one digit twice in a second would run the wrong one.
    """

    def __init__(self, text: str, code: CodeType) -> None:
        self._text = text
        self._code = code

    def create_module(self, spec: object) -> None:
        return None

    def get_source(self, fullname: str) -> str:
        return self._text

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


def load_operator(
    operator: OperatorSource, workspace: str, users: UserFiles
) -> tuple[ModuleType, ModuleType | None]:
    """The operator's module and that of its case file, if it has one.

    Raises:
        TileportError: one of them cannot be read, does not parse, or raised while imported.
    """
    _search_first(workspace)
    sys.argv = [operator.source or operator.name]
    if operator.kind == "path":
        if operator.source is None:
            raise TileportError("no source file named", code=ExitCode.INTERNAL)
        module = _load_operator_file(Path(operator.source), users)
    else:
        module = _guarded(lambda: _import(operator.name), operator.name, users)
    if operator.cases is None:
        return module, None
    case_file = Path(operator.cases)
    _search_last(str(case_file.parent))
    name = "tileport_cases_" + case_file.name.partition(".")[0]
    return module, _load_file(case_file, name, "the case file", users)


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise TileportError(
                f"no module named {error.name}",
                todo="install it in the environment that tileport runs in, or name a file",
            ) from None
        raise


def _search_first(folder: str) -> None:
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)


def _search_last(folder: str) -> None:
    if folder not in sys.path:
        sys.path.append(folder)


def _load_operator_file(path: Path, users: UserFiles) -> ModuleType:
    """An operator file, as the module it is to Python: in its package, if it lies in one."""
    parts = [path.stem]
    root = path.parent
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    _search_first(str(root))
    if len(parts) == 1:
        taken = path.stem in sys.modules or path.stem in sys.stdlib_module_names
        name = f"tileport_operator_{path.stem}" if taken else path.stem
        return _load_file(path, name, "the operator", users)
    name = ".".join(parts)
    package = name.rpartition(".")[0]
    parent = _guarded(lambda: importlib.import_module(package), package, users)
    module = _load_file(path, name, "the operator", users)
    setattr(parent, parts[-1], module)
    return module


def _load_file(path: Path, name: str, what: str, users: UserFiles) -> ModuleType:
    try:
        text = read_text(path, what=what)
    except FileNotFoundError:
        raise TileportError(f"{what} is not there", where=str(path)) from None
    file = str(path)
    try:
        code = compile(text, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f"{error.filename or file}:{error.lineno or 1}"
        raise TileportError(
            f"not valid Python: {error.msg}", where=where, todo="correct the line"
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:  # NUL bytes; nested too deep
        raise TileportError(f"not valid Python: {error}", where=file) from None
    # cuda.tile reads a kernel's source from here; no modification time: never read again.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    spec = importlib.util.spec_from_file_location(name, path, loader=_TextLoader(text, code))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module

    def run() -> ModuleType:
        exec(code, module.__dict__)
        return module

    return _guarded(run, file, users)


def _guarded(run: Callable[[], ModuleType], what: str, users: UserFiles) -> ModuleType:
    try:
        return run()
    except TileportError:
        raise
    except BaseException as error:  # the user's module may raise anything, SystemExit too
        _refuse(error, what, users)


def _refuse(error: BaseException, what: str, users: UserFiles) -> NoReturn:
    place = place_of(error, users)
    if isinstance(error, ModuleNotFoundError):
        todo = "install it in the environment that tileport runs in"
    elif is_driver_query(error):
        todo = "move what needs the GPU out of the import, or capture on a machine with one"
    else:
        todo = "correct it, or see the log for what it printed"
    text = f"importing it raised {describe(error)}"
    raise TileportError(text, where=str(place) if place else what, todo=todo) from error
