"""The cases of an operator: calls of it that launch its kernels.

A function `tileport_cases()` in the operator's own file, or in a case file beside it
(`NAME.cases.py`), yields pairs of a name and what to run:

    def tileport_cases():
        x = torch.randn(4096, 1000, device="cuda")
        yield "f32 1000 columns", lambda: softmax(x)

In place of a callable it may yield arguments for one function, a tuple for positional ones or a
dict for named ones; the file then names the function: `tileport_operator = "softmax"`. A
`tileport_cases` with a parameter gets the operator's module, which a case file beside a plain
file cannot import by name. A case runs before the next one is asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tileport.verify.errors import TileportError

FUNCTION = "tileport_cases"
OPERATOR = "tileport_operator"


def example(function: str, *, in_case_file: bool) -> str:
    """Three lines that give an operator its first case, in its own file or in a case file."""
    parameter, owner = ("op", "op.") if in_case_file else ("", "")
    return (
        f"def {FUNCTION}({parameter}):\n"
        '    x = torch.randn(256, 1024, dtype=torch.float16, device="cuda")\n'
        f'    yield "f16 256x1024", lambda: {owner}{function}(x)'
    )


def public_function(operator: ModuleType) -> str:
    """A name for the example: the first function of the module that is not private."""
    for name, value in vars(operator).items():
        if (
            inspect.isfunction(value)
            and not name.startswith("_")
            and name != FUNCTION
            and value.__module__ == operator.__name__
        ):
            return name
    return "operator"


class Cases:
    """The cases of one operator.

    Args:
        operator: Its module.
        case_module: The module of its case file, if it has one.
    """

    def __init__(self, operator: ModuleType, case_module: ModuleType | None) -> None:
        self._operator = operator
        self._holder = case_module or operator
        self.file = str(getattr(self._holder, "__file__", "") or "")
        self._function: Any = getattr(self._holder, FUNCTION, None)

    @property
    def exist(self) -> bool:
        """Whether there is a `tileport_cases` to ask."""
        return callable(self._function)

    def __iter__(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Each case's name, told apart from those before, and what runs it.

        Raises:
            TileportError: something that is not a case was yielded.
            Exception: whatever the user's function raises.
        """
        seen: dict[str, int] = {}
        for item in self._items():
            name, what = self._checked(item)
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                name = f"{name} ({seen[name]})"
            yield name, self._runner(what)

    def _items(self) -> Iterable[Any]:
        takes_module = any(
            parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            for parameter in inspect.signature(self._function).parameters.values()
        )
        items = self._function(self._operator) if takes_module else self._function()
        if isinstance(items, dict):
            return items.items()
        if not isinstance(items, Iterable) or isinstance(items, str):
            raise self._wrong(f"it returned {type(items).__name__}")
        return items

    def _checked(self, item: Any) -> tuple[str, Any]:
        if not (isinstance(item, tuple | list) and len(item) == 2):
            raise self._wrong(f"it gave {type(item).__name__} for a case")
        name, what = item
        if not isinstance(name, str):
            raise self._wrong(f"it gave {type(name).__name__} for a case's name")
        if not (callable(what) or isinstance(what, tuple | list | dict)):
            raise self._wrong(f"case {name!r} is {type(what).__name__}")
        return name, what

    def _runner(self, what: Any) -> Callable[[], object]:
        if callable(what):
            return what  # type: ignore[no-any-return] # checked at run time
        function = self._wrapper()
        if isinstance(what, dict):
            return lambda: function(**what)
        return lambda: function(*what)

    def _wrapper(self) -> Callable[..., object]:
        named = getattr(self._holder, OPERATOR, None) or getattr(self._operator, OPERATOR, None)
        if named is None:
            raise self._wrong(
                f"cases give arguments, but no {OPERATOR} says for which function",
                todo=f'add a line {OPERATOR} = "{public_function(self._operator)}"',
            )
        function = getattr(self._operator, named, None) if isinstance(named, str) else named
        if not callable(function):
            raise self._wrong(
                f"{OPERATOR} is {named!r}, which {self._operator.__name__} does not have",
                todo="name a function of the operator",
            )
        return function  # type: ignore[no-any-return] # checked at run time

    def _wrong(
        self,
        what: str,
        *,
        todo: str = 'yield pairs such as "f16 1024", lambda: operator(x)',
    ) -> TileportError:
        code = getattr(self._function, "__code__", None)
        line = code.co_firstlineno if code is not None else 1
        return TileportError(f"{FUNCTION}: {what}", where=f"{Path(self.file)}:{line}", todo=todo)
