"""cuda.tile without ml_dtypes, whose import takes 0.7 s and which few operators use.

cuda.tile imports ml_dtypes only to know its dtypes. Here it does not find it; when the user's
Python imports ml_dtypes after all, its dtypes are registered with cuda.tile then.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

_NAME = "ml_dtypes"
#: Names in ml_dtypes and in cuda.tile.
_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn")


class _RegisterAfter(importlib.abc.Loader):
    """Loads ml_dtypes as always, and then registers its dtypes."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        import cuda.tile as ct  # noqa: PLC0415
        import numpy as np  # noqa: PLC0415
        from cuda.tile._cext import foreign_dtype_object_register  # noqa: PLC0415

        for name in _DTYPES:
            theirs, native = getattr(module, name, None), getattr(ct, name, None)
            if theirs is not None and native is not None:
                foreign_dtype_object_register(theirs, native)
                foreign_dtype_object_register(np.dtype(theirs), native)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _NAME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(_NAME)
        if spec is not None and spec.loader is not None:
            spec.loader = _RegisterAfter(spec.loader)
        return spec


def load() -> None:
    """Imports cuda.tile and its compiler; call it once, before anything else imports them."""
    if _NAME in sys.modules:
        import cuda.tile._compile  # noqa: PLC0415

        return
    # An entry of None has an import of it raise ModuleNotFoundError.
    sys.modules[_NAME] = None  # type: ignore[assignment]
    try:
        import cuda.tile._compile  # noqa: F401, PLC0415
    finally:
        del sys.modules[_NAME]
    sys.meta_path.insert(0, _Finder())
