"""The compile worker, run as a child: compiles a port, verifies what comes out, compares.

One process serves one job at a time. What it keeps between jobs is what is asked for again:
the parsed reference and the disassembled text of bytecode it has just made.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from tileport.ffi.native_helper import NATIVE_REMEDY, NativeMissingError, NativeModule, load_native
from tileport.verify.compile.model import (
    CompileRequest,
    CompileResult,
    Diagnostic,
    DiagnosticSeverity,
    DiagnosticSource,
    DiffRequest,
)
from tileport.verify.diff.compare import compare
from tileport.verify.diff.model import Comparison
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.ir.disassemble import VerifyError, disassemble
from tileport.verify.ir.text import parse_module
from tileport.verify.model import Place
from tileport.verify.safe_text import one_line
from tileport.verify.serving import serve

V = TypeVar("V")

#: Variants of one operator are a few dozen; each parsed reference takes a few megabytes.
_REFERENCES_KEPT = 64
#: The texts of one pass over the variants, so that the comparison finds them.
_TEXTS_KEPT = 64
_MESSAGE_LIMIT = 600


class _NativeDiagnostic(msgspec.Struct, frozen=True):
    message: str
    line: int
    column: int
    source: DiagnosticSource


class _NativeReport(msgspec.Struct, frozen=True):
    diagnostics: tuple[_NativeDiagnostic, ...]
    milliseconds: dict[str, float]


class Kept(Generic[V]):
    """The last `limit` results of a function of bytes, by content hash."""

    def __init__(self, function: Callable[[bytes], V], limit: int) -> None:
        self._function = function
        self._limit = limit
        self._results: OrderedDict[str, V] = OrderedDict()

    def __call__(self, data: bytes) -> V:
        """The function's result for `data`, from memory if it is there."""
        key = hashlib.sha256(data).hexdigest()
        if key in self._results:
            self._results.move_to_end(key)
        else:
            self._results[key] = self._function(data)
            if len(self._results) > self._limit:
                self._results.popitem(last=False)
        return self._results[key]


class Worker:
    """The functions of the worker; `native` is loaded when it is first needed."""

    def __init__(self) -> None:
        self._native: NativeModule | None = None
        self._text = Kept(disassemble, _TEXTS_KEPT)
        self._reference = Kept(lambda data: parse_module(disassemble(data)), _REFERENCES_KEPT)

    def native(self) -> NativeModule:
        """The native helper.

        Raises:
            TileportError: it is missing.
        """
        if self._native is None:
            try:
                self._native = load_native()
            except NativeMissingError as error:
                raise TileportError(
                    str(error), todo=NATIVE_REMEDY, code=ExitCode.TOOL_MISSING
                ) from None
        return self._native

    def compile(self, request: CompileRequest) -> CompileResult:
        """Compiles the text and has the disassembler verify the bytecode.

        Raises:
            TileportError: the native helper or the disassembler is missing or broken.
        """
        bytecode, answer = self.native().compile(msgspec.json.encode(request))
        report = msgspec.json.decode(answer, type=_NativeReport)
        milliseconds = report.milliseconds
        diagnostics = [
            _error(found.message, found.source, Place(request.path, found.line, found.column))
            for found in report.diagnostics
        ]
        if bytecode is not None:
            start = time.perf_counter()
            try:
                self._text(bytecode)
            except VerifyError as error:
                bytecode = None
                place = _own(error.place, request.path)
                diagnostics.append(_error(error.message, DiagnosticSource.VERIFIER, place))
            milliseconds["disassemble"] = (time.perf_counter() - start) * 1e3
        return CompileResult(
            bytecode=bytecode, diagnostics=tuple(diagnostics), milliseconds=milliseconds
        )

    def diff(self, request: DiffRequest) -> Comparison:
        """Compares the two sides; the reference stays parsed for the next comparison.

        Raises:
            TileportError: a side is no Tile IR, or its parameters are not those named.
        """
        return compare(
            self._reference(request.reference),
            parse_module(self._text(request.port)),
            target=request.target,
            reference_parameters=request.reference_parameters,
            port_parameters=request.port_parameters,
            constants=request.constants,
            alias_groups=request.alias_groups,
            python_source=request.python_source,
            rust=request.rust_source,
        )


def _own(place: Place | None, path: str) -> Place | None:
    """The place if it is one of the port."""
    return place if place is not None and place.file == path else None


def _error(message: str, source: DiagnosticSource, place: Place | None) -> Diagnostic:
    return Diagnostic(
        severity=DiagnosticSeverity.ERROR,
        message=one_line(message, _MESSAGE_LIMIT),
        source=source,
        place=place,
    )


def main() -> None:
    """Serves until the asking process is gone."""
    # cutile reads variables that change or print what it compiles; a shell may have them set.
    for name in [name for name in os.environ if name.startswith(("CUTILE_", "TILE_IR_DUMP"))]:
        del os.environ[name]
    worker = Worker()
    with contextlib.suppress(TileportError):  # said when something is to be compiled
        worker.native().warm()
    serve({"compile": worker.compile, "diff": worker.diff})


if __name__ == "__main__":
    main()
