"""Module globals and closure values that are part of a kernel without being parameters.

cuda.tile freezes the value of every name a kernel reads when it compiles it, also in the helper
functions the kernel calls. None of that is in the launch's signature; a port that takes another
value computes something else. What is read is seen in the bytecode, so names that are local,
parameters or shadowed are told apart by Python itself.
"""

from __future__ import annotations

import builtins
import dis
import enum
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from tileport.verify.capture import source
from tileport.verify.model import FoldedName, Place

#: Modules whose names are words of a kernel (`math.inf`, `torch.float16`), not the user's values.
_LANGUAGE = {"cuda", "torch", "numpy", "ml_dtypes"} | set(sys.stdlib_module_names)
_LIMIT = 200
_TEXT_LIMIT = 120


def folded_names(function: FunctionType) -> tuple[FoldedName, ...]:
    """What a kernel reads that its launch does not give it, in the order it reads it.

    Numbers, strings, dtypes, enum members and tuples of them; of modules, classes and objects
    the attributes that are read (`cfg.TILE`). The place is where the value was set, else where
    it is read.
    """
    walk = _Walk()
    walk.function(function)
    return tuple(walk.found.values())


class _Walk:
    def __init__(self) -> None:
        self.found: dict[tuple[str, str, str], FoldedName] = {}
        self._seen: set[int] = set()

    def function(self, function: FunctionType) -> None:
        """Walks a function and those it calls."""
        while hasattr(function, "__wrapped__") and isinstance(function.__wrapped__, FunctionType):
            function = function.__wrapped__
        if id(function) in self._seen or len(self._seen) > _LIMIT:
            return
        self._seen.add(id(function))
        cells = {}
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=False
        ):
            try:
                cells[name] = cell.cell_contents
            except ValueError:  # not set yet, or deleted: reading it would raise
                continue
        self._code(function.__code__, function, cells)

    def _code(self, code: CodeType, function: FunctionType, cells: dict[str, Any]) -> None:
        for read in _reads(code):
            name = read.path[0]
            if read.origin == "global":
                # What is not there is a builtin, or nothing.
                if name in function.__globals__:
                    set_at = source.global_place(function.__module__, name)
                    self._value(function.__globals__[name], read, set_at)
            elif name in cells:
                self._value(cells[name], read, source.closure_place(function.__code__, name))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                # A nested function's free names are the kernel's own locals, unless closed over.
                self._code(constant, function, cells)

    def _value(self, value: Any, read: _Read, set_at: Place | None) -> None:
        names = read.path[:1]
        for attribute in read.path[1:]:
            if _is_language(value) or _is_plain(value):
                break
            try:
                inner = getattr(value, attribute)
            except Exception:  # the user's own attribute lookup may raise anything
                return
            set_at = source.attribute_place(value, attribute) or set_at
            value, names = inner, (*names, attribute)
        if _is_language(value):
            return
        if isinstance(value, FunctionType):
            self.function(value)
        elif _is_plain(value):
            place = set_at or read.place
            name = ".".join(names)
            folded = FoldedName(name=name, value=show(value), origin=read.origin, place=place)
            self.found.setdefault((read.origin, name, place.file), folded)


class _Read(NamedTuple):
    """A read of a global or closed-over name, with the attributes taken of it: `cfg`, `TILE`."""

    origin: str
    path: tuple[str, ...]
    place: Place


_ORIGINS = {
    "LOAD_GLOBAL": "global",
    "LOAD_NAME": "global",
    "LOAD_DEREF": "closure",
    "LOAD_CLASSDEREF": "closure",
}


def _reads(code: CodeType) -> Iterator[_Read]:
    read: _Read | None = None
    for instruction in dis.get_instructions(code):
        if read is not None and instruction.opname in {"LOAD_ATTR", "LOAD_METHOD"}:
            read = read._replace(path=(*read.path, instruction.argval))
            continue
        if read is not None:
            yield read
            read = None
        origin = _ORIGINS.get(instruction.opname)
        if origin is not None:
            line = instruction.positions.lineno if instruction.positions else None
            place = Place(code.co_filename, line or code.co_firstlineno)
            read = _Read(origin, (instruction.argval,), place)
    if read is not None:
        yield read


def _module_of(value: object) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return getattr(value, "__module__", None) or ""
    return type(value).__module__ or ""


def _is_language(value: object) -> bool:
    if _is_dtype(value) or isinstance(value, enum.Enum):
        return False
    if isinstance(value, BuiltinFunctionType) or value in _BUILTINS:
        return True
    module = _module_of(value)
    if not isinstance(value, ModuleType | type | FunctionType) and module == "builtins":
        return False  # a value of a built-in type
    return module.partition(".")[0] in _LANGUAGE


class _ByIdentity:
    """Membership by identity: the values asked for need not be hashable or comparable."""

    def __init__(self, values: list[object]) -> None:
        self._ids = {id(value) for value in values}

    def __contains__(self, value: object) -> bool:
        return id(value) in self._ids


_BUILTINS = _ByIdentity(
    [v for v in vars(builtins).values() if callable(v) or isinstance(v, ModuleType)]
)


def _is_dtype(value: object) -> bool:
    kind = type(value)
    return kind.__name__.lower() in {"dtype", "dtypes"} or kind.__qualname__ == "DType"


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(_is_plain(item) for item in value)
    return (
        value is None
        or value is Ellipsis
        or isinstance(value, bool | int | float | str | enum.Enum)
        or _is_dtype(value)
    )


def show(value: object) -> str:
    """A folded value as text: `4`, `0.125`, `torch.float16`, `float16`, `(64, 64)`."""
    if isinstance(value, tuple):
        inner = ", ".join(show(item) for item in value)
        text = f"({inner},)" if len(value) == 1 else f"({inner})"
    elif isinstance(value, enum.Enum):
        text = f"{type(value).__name__}.{value.name}"
    elif _is_dtype(value):
        text = str(getattr(value, "name", value))
    else:
        text = repr(value)
    return text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 1] + "…"
