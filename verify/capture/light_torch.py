"""Fake tensors without the second that importing torch's compiler costs.

`FakeTensorMode` reads two flags from `torch._dynamo.config`, and some 300 functions of torch ask
`torch._dynamo` once to leave them alone when it compiles. Both import all of it: 1.3 s of a cold
start of 3. Nothing here compiles, so the flags are read from the configuration module alone and
the functions are told that they were left alone. Should the user's Python need the compiler
after all, it is imported then, for real.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

_NAME = "torch._dynamo"
_CONFIG = "torch._dynamo.config"


class _Later(types.ModuleType):
    """Stands at `torch._dynamo` with its `config`; everything else imports the real package."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(_NAME), name)


def load() -> None:
    """Makes fake tensors cheap in this process and its forks; call it once, before using any.

    Where torch is not as expected it changes nothing, and they cost what they cost.
    """
    if _NAME in sys.modules:
        return
    bare = types.ModuleType(_NAME)
    bare.__path__ = [str(Path(torch.__file__).with_name("_dynamo"))]
    bare.__spec__ = importlib.machinery.ModuleSpec(_NAME, None, is_package=True)
    sys.modules[_NAME] = bare
    try:
        config = importlib.import_module(_CONFIG)
        later = _Later(_NAME)
        later.__dict__["config"] = config
        torch.__dict__["_dynamo"] = later
        _light.update({_NAME: bare, _CONFIG: config})
        _leave_alone()
    except Exception:  # whatever differs in another torch: the slow way works with any
        torch.__dict__.pop("_dynamo", None)
        _light.clear()
    finally:
        # The real package, if it comes, must load its own submodules.
        for name in [n for n in sys.modules if n == _NAME or n.startswith(_NAME + ".")]:
            del sys.modules[name]


#: What the import of the configuration finds while a mode is made.
_light: dict[str, types.ModuleType] = {}


@contextlib.contextmanager
def making_a_mode() -> Iterator[None]:
    """A `FakeTensorMode` made in here imports the configuration, but not the compiler."""
    if _NAME in sys.modules:
        yield
        return
    sys.modules.update(_light)
    try:
        yield
    finally:
        for name in _light:
            del sys.modules[name]


def _leave_alone() -> None:
    """Sets, on every function wrapped by `torch._disable_dynamo`, the answer it would cache."""
    from torch._compile import _disable_dynamo  # noqa: PLC0415

    code = _disable_dynamo(lambda: None).__code__
    cell = code.co_freevars.index("fn")
    for wrapper in gc.get_objects():
        if type(wrapper) is types.FunctionType and wrapper.__code__ is code:
            wrapped = (wrapper.__closure__ or ())[cell].cell_contents
            if isinstance(wrapped, types.FunctionType):
                wrapped.__dict__.setdefault("__dynamo_disable", wrapped)
