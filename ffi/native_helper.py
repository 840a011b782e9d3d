"""The native helper `tileport_native`, typed: Rust text to Tile IR bytecode in this process.

It is a wheel of its own, built by `ffi/native/build.py`. A compile can take a second, use a lot
of stack, and in the worst case end the process: call it in a child (`tileport.verify.compile`).
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

#: The version of `tileport-native` this was written for.
NATIVE_VERSION = "0.1.0"


class NativeModule(Protocol):
    """What `tileport_native` offers."""

    __version__: str

    def cutile_version(self) -> str:
        """The version of the cutile crates inside; a port is written for one."""

    def warm(self) -> None:
        """Starts the compile thread and returns; it parses cutile's modules meanwhile."""

    def compile(self, request: bytes) -> tuple[bytes | None, bytes]:
        """Compiles one entry, with the interpreter lock released.

        Args:
            request: JSON of `tileport.verify.compile.model.CompileRequest`.

        Returns:
            The bytecode, or None, and JSON with `diagnostics` (each `message`, `line` and
            `column` from 1, `source`) and `milliseconds`. Never both None and no diagnostic.

        Raises:
            ValueError: the request is not such JSON.
        """


class NativeMissingError(Exception):
    """The helper is not installed, or not in this version; the message is one line."""


#: What brings the helper, for messages.
NATIVE_REMEDY = "run `make install` in tileport's folder, or `python ffi/native/build.py`"


def load_native() -> NativeModule:
    """The helper.

    Raises:
        NativeMissingError: it is not installed for this Python, or is of another version.
    """
    try:
        module = cast(NativeModule, importlib.import_module("tileport_native"))
    except ImportError as error:
        reason = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        raise NativeMissingError(f"the native helper tileport_native is missing{reason}") from None
    if module.__version__ != NATIVE_VERSION:
        raise NativeMissingError(
            f"the native helper is {module.__version__}, tileport needs {NATIVE_VERSION}"
        )
    return module
