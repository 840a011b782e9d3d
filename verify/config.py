"""`[tool.tileport]` of the workspace's pyproject.toml.

[tool.tileport]
targets = ["sm_90", "sm_100"]
threshold = "slow"
cache-size = "1 GB"

[tool.tileport.deadlines]
compile = 20

[tool.tileport.operators."ops/mla_decode.py"]
port = "rust/mla_decode.rs"
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from tileport.verify.errors import TileportError
from tileport.verify.files import read_text
from tileport.verify.model import Severity

CaptureMode = Literal["auto", "fake", "gpu"]


class Deadlines(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds each stage may take for one variant before it is ended.

    That of capture holds for the import of the operator and for each of its cases.
    """

    capture: float = 120.0
    compile: float = 20.0
    diff: float = 20.0
    build: float = 600.0


class OperatorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files of one operator lie, as paths from the workspace root."""

    port: str | None = None
    cases: str | None = None


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a workspace; every field has a default."""

    #: GPU architectures (`sm_90`); empty: the local GPU, else sm_100 and sm_90.
    targets: tuple[str, ...] = ()
    #: A check ends with exit code 1 from findings of this severity on.
    threshold: Severity = Severity.SLOW
    deadlines: Deadlines = Deadlines()
    #: Compile workers; 0: as many as there are cores, at most 8.
    workers: int = 0
    #: Bytes that blobs and results under `.tileport` may take; the longest unused go first.
    cache_size: int = 1_000_000_000
    bytecode_version: str = "13.4"
    #: Take every tuning candidate of an autotuned launch as a variant in full.
    all_candidates: bool = False
    #: `fake` (no GPU), `gpu`, or `auto`: the GPU where there is one.
    capture_mode: CaptureMode = "auto"
    #: By path from the workspace root (`ops/x.py`) or module name.
    operators: dict[str, OperatorConfig] = {}


def load_config(workspace: str) -> Config:
    """The settings in `workspace`/pyproject.toml, or the defaults where there are none.

    Raises:
        TileportError: the file is not TOML, has an unknown key or a bad value; with its line and
            the nearest valid key.
    """
    path = Path(workspace) / "pyproject.toml"
    try:
        text = read_text(path, what="the project file")
    except FileNotFoundError:
        return Config()
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(path, text, error) from None
    tool = document.get("tool", {})
    table = tool.get("tileport", {}) if isinstance(tool, dict) else {}
    where = _Where(path, text)
    if not isinstance(table, dict):
        raise TileportError("tool.tileport is not a table", where=where.of(("tool", "tileport")))
    return _Reader(where).config(table)


def _toml_error(path: Path, text: str, error: tomllib.TOMLDecodeError) -> TileportError:
    told = str(error)
    found = re.search(r"at line (\d+)", told)
    line = int(found.group(1)) if found else text.count("\n") + 1
    what = re.sub(r"\s*\(at .*\)$", "", told)
    return TileportError(f"not TOML: {what}", where=f"{path}:{line}")


# ---------------------------------------------------------------- values

_Fail = Callable[[str], TileportError]
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def _targets(value: object, fail: _Fail) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise fail('a list of GPU architectures, such as ["sm_90", "sm_100"]')
    for item in value:
        if not re.fullmatch(r"sm_\d{2,3}[a-z]?", item):
            raise fail(f'GPU architectures such as "sm_90", not {item!r}')
    return tuple(dict.fromkeys(value))


def _threshold(value: object, fail: _Fail) -> Severity:
    try:
        return Severity(str(value))
    except ValueError:
        raise fail(
            f"one of {_listed(Severity)}{_meant(value, [str(s) for s in Severity])}"
        ) from None


def _seconds(value: object, fail: _Fail) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise fail("a number of seconds above 0")
    return float(value)


def _workers(value: object, fail: _Fail) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 256:
        raise fail("a whole number from 0 (one for each core) to 256")
    return value


def _size(value: object, fail: _Fail) -> int:
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match:
        return int(float(match.group(1)) * _UNITS[match.group(2).upper()])
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise fail('a size, such as "1 GB" or a number of bytes')
    return value


def _bytecode(value: object, fail: _Fail) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\d+\.\d+", value):
        raise fail('a version in quotes, such as "13.4"')
    return value


def _flag(value: object, fail: _Fail) -> bool:
    if not isinstance(value, bool):
        raise fail("true or false")
    return value


def _mode(value: object, fail: _Fail) -> str:
    modes = ["auto", "fake", "gpu"]
    if value not in modes:
        raise fail(f"one of {_listed(modes)}{_meant(value, modes)}")
    return str(value)


def _path(value: object, fail: _Fail) -> str:
    if not isinstance(value, str) or not value:
        raise fail("a path from the folder of pyproject.toml")
    return value


_TOP: dict[str, Callable[[object, _Fail], object]] = {
    "targets": _targets,
    "threshold": _threshold,
    "workers": _workers,
    "cache-size": _size,
    "bytecode-version": _bytecode,
    "all-candidates": _flag,
    "capture-mode": _mode,
}
_DEADLINES: dict[str, Callable[[object, _Fail], object]] = dict.fromkeys(
    ("capture", "compile", "diff", "build"), _seconds
)
_OPERATOR: dict[str, Callable[[object, _Fail], object]] = {"port": _path, "cases": _path}


class _Reader:
    def __init__(self, where: _Where) -> None:
        self._where = where

    def config(self, table: dict[str, Any]) -> Config:
        at = ("tool", "tileport")
        values = self._values(table, _TOP, at, ("deadlines", "operators"))
        deadlines = self._values(
            self._table(table, "deadlines", at), _DEADLINES, (*at, "deadlines")
        )
        operators = {}
        entries = self._table(table, "operators", at)
        for name in entries:
            place = (*at, "operators", name)
            entry = self._values(self._table(entries, name, place[:-1]), _OPERATOR, place)
            operators[name] = OperatorConfig(**entry)
        return Config(**values, deadlines=Deadlines(**deadlines), operators=operators)

    def _table(self, parent: dict[str, Any], key: str, at: tuple[str, ...]) -> dict[str, Any]:
        table = parent.get(key, {})
        if not isinstance(table, dict):
            raise TileportError(
                f"{_dotted((*at, key))} is not a table", where=self._where.of((*at, key))
            )
        return table

    def _values(
        self,
        table: dict[str, Any],
        known: Mapping[str, Callable[[object, _Fail], object]],
        at: tuple[str, ...],
        tables: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        values = {}
        for key, value in table.items():
            if key in tables:
                continue
            place = (*at, key)
            if key not in known:
                names = [*known, *tables]
                raise TileportError(
                    f"unknown key {key!r} in [{_dotted(at)}]",
                    where=self._where.of(place),
                    todo=_meant(key, names).strip(" ,") or f"known are {_listed(names)}",
                )

            def fail(wanted: str, place: tuple[str, ...] = place) -> TileportError:
                return TileportError(f"{place[-1]} must be {wanted}", where=self._where.of(place))

            values[key.replace("-", "_")] = known[key](value, fail)
        return values


def _listed(names: Iterable[object]) -> str:
    return ", ".join(str(name) for name in names)


def _meant(given: object, names: list[str]) -> str:
    close = difflib.get_close_matches(str(given).replace("_", "-").lower(), map(str, names), n=1)
    return f", did you mean {close[0]}?" if close else ""


def _dotted(keys: tuple[str, ...]) -> str:
    return ".".join(
        key if re.fullmatch(r"[\w-]+", key, re.ASCII) else msgspec.json.encode(key).decode()
        for key in keys
    )


# ---------------------------------------------------------------- lines


class _Where:
    """The line a key stands on; tomllib does not tell."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.split("\n"), start=1):
            keys = _keys_of(line)
            if keys is None:
                continue
            if line.lstrip().startswith("["):
                table = keys
                whole = table
            else:
                whole = table + keys
            for depth in range(1, len(whole) + 1):
                self._lines.setdefault(whole[:depth], number)

    def of(self, keys: tuple[str, ...]) -> str:
        """`file:line` of the key, or of the table that is nearest around it."""
        for depth in range(len(keys), 0, -1):
            if keys[:depth] in self._lines:
                return f"{self._path}:{self._lines[keys[:depth]]}"
        return f"{self._path}:1"


def _keys_of(line: str) -> tuple[str, ...] | None:
    """The keys a line of TOML begins with: those of `[a.b]`, or of `a.b = ...`."""
    text = line.strip()
    header = re.fullmatch(r"(\[{1,2}[^\]]*(?:\"[^\"]*\"[^\]]*)*\]{1,2})\s*(?:#.*)?", text)
    if not header and not re.match(r"[\w\"'-][^=]*=", text, re.ASCII):
        return None
    source = header.group(1) if header else text.split("=", 1)[0] + "= 0"
    try:
        node: Any = tomllib.loads(source)
    except tomllib.TOMLDecodeError:
        return None
    keys: list[str] = []
    while isinstance(node, dict | list) and node:
        if isinstance(node, list):
            node = node[0]
            continue
        key = next(iter(node))
        keys.append(key)
        node = node[key]
    return tuple(keys)
