"""The stages themselves: functions of their inputs that give a result, never an exception.

What a stage makes is an `Outcome`: the result to show, and the product the next stage takes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from tileport.verify.children import ChildError
from tileport.verify.compile.model import (
    CompileRequest,
    CompileResult,
    Diagnostic,
    DiagnosticSeverity,
    DiffRequest,
)
from tileport.verify.diff.model import Comparison
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.ladder.asking import Asking
from tileport.verify.ladder.jobs import Rank
from tileport.verify.ladder.servers import CargoChecking, PortServing
from tileport.verify.ladder.versions import fingerprint
from tileport.verify.model import Finding, Place, Severity, StageResult, StageState, Variant
from tileport.verify.operator import Operator
from tileport.verify.port import Binding, PortFile, bind
from tileport.verify.safe_text import one_line
from tileport.verify.store import Store, result_key

_LOG = logging.getLogger(__name__)

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[P]):
    """What a stage came to: the result, and what it made where it made something."""

    result: StageResult
    product: P | None = None


# ---------------------------------------------------------------- declare


def declare(
    port: PortFile | None, variant: Variant, operator: Operator, siblings: tuple[Variant, ...]
) -> Outcome[Binding]:
    """Whether the port declares what Python fixed for the variant.

    Args:
        port: The port as it was read; None where there is none.
        variant: Which variant.
        operator: Whose.
        siblings: The other variants of its kernel.
    """
    started = time.perf_counter()
    try:
        if port is None:
            return _finished("declare", variant.id, (port_missing(operator),), started)
        entry = next((e for e in port.entries if e.kernel == variant.kernel.name), None)
        if entry is None:
            findings = port.errors or (entry_missing(port, variant),)
            return _finished("declare", variant.id, findings, started)
        binding = bind(entry, port, variant, siblings)
    except Exception as error:
        return Outcome(failed("declare", variant.id, error))
    findings = (*port.errors, *binding.findings)
    return _finished("declare", variant.id, findings, started, product=binding)


def port_missing(operator: Operator) -> Finding:
    """There is no port yet."""
    return Finding(
        kind="port-missing",
        severity=Severity.WRONG,
        message="There is no Rust port of this operator yet.",
        stage="declare",
        python=Place(operator.source, 1),
        rust=Place(operator.port, 1),
        remedy=f"write {operator.port}, with one entry for each kernel",
    )


def entry_missing(port: PortFile, variant: Variant) -> Finding:
    """The port has no entry for a kernel."""
    name = variant.kernel.name
    return Finding(
        kind="entry-missing",
        severity=Severity.WRONG,
        message=f"The port has no entry for the kernel {name}.",
        stage="declare",
        python=variant.kernel.place,
        rust=Place(port.path, port.module_line or 1),
        remedy=f"add an entry {name}, or say `/// tileport: kernel = {name}` above the one it has",
    )


# ---------------------------------------------------------------- compile


async def compile_port(
    request: CompileRequest,
    variant: str,
    server: PortServing,
    asking: Asking,
    rank: Rank,
    *,
    begun: Callable[[], None],
) -> Outcome[CompileResult]:
    """The port's Tile IR for one variant."""
    key = result_key("compile", fingerprint("compile"), request)
    try:
        compiled, taken, cached = await asking.get(
            key,
            CompileResult,
            rank,
            lambda: server.compile(request),
            begun=begun,
            # A compile that crashed or was ended has no steps: it may do better next time.
            worth_keeping=lambda result: bool(result.milliseconds),
        )
    except Exception as error:
        return Outcome(failed("compile", variant, error))
    findings = findings_of(compiled.diagnostics, "compile", request.path)
    if compiled.bytecode is None and not any(f.severity is Severity.WRONG for f in findings):
        reason = "the compiler gave neither bytecode nor an error"
        return Outcome(failure("compile", variant, reason, ExitCode.INTERNAL))
    return Outcome(
        StageResult(
            stage="compile",
            variant=variant,
            state=StageState.FINDINGS if findings else StageState.OK,
            findings=findings,
            milliseconds=taken,
            cached=cached,
            data={"milliseconds": compiled.milliseconds, "bytes": len(compiled.bytecode or b"")},
        ),
        compiled,
    )


def findings_of(diagnostics: tuple[Diagnostic, ...], stage: str, path: str) -> tuple[Finding, ...]:
    """Messages of a compiler as findings; one without a place is put at the head of the port."""
    return tuple(
        Finding(
            kind=f"compile-{diagnostic.severity.value}",
            severity=(
                Severity.WRONG if diagnostic.severity is DiagnosticSeverity.ERROR else Severity.NOTE
            ),
            message=diagnostic.message,
            stage=stage,
            rust=diagnostic.place or Place(path, 1),
        )
        for diagnostic in diagnostics
    )


# ---------------------------------------------------------------- diff


async def compare(
    request: DiffRequest,
    variant: str,
    server: PortServing,
    asking: Asking,
    rank: Rank,
    *,
    begun: Callable[[], None],
) -> Outcome[Comparison]:
    """Whether both sides mean the same, for one variant."""
    key = result_key("diff", fingerprint("diff"), request)
    try:
        comparison, taken, cached = await asking.get(
            key, Comparison, rank, lambda: server.diff(request), begun=begun
        )
    except Exception as error:
        return Outcome(failed("diff", variant, error))
    return Outcome(
        StageResult(
            stage="diff",
            variant=variant,
            state=StageState.FINDINGS if comparison.findings else StageState.OK,
            findings=comparison.findings,
            milliseconds=taken,
            cached=cached,
            data={
                "verdict": comparison.verdict.value,
                "assumptions": [assumption.condition for assumption in comparison.assumptions],
            },
        ),
        comparison,
    )


# ---------------------------------------------------------------- build


class RustcMessages(msgspec.Struct, frozen=True):
    """What `cargo check` said, as it is kept in the store."""

    diagnostics: tuple[Diagnostic, ...]


async def build(text: str, path: str, cargo: CargoChecking, store: Store) -> Outcome[RustcMessages]:
    """What rustc says of the port."""
    key = result_key("build", fingerprint("build"), path, text)
    started = time.perf_counter()
    try:
        messages = store.result(key, RustcMessages)
        cached = messages is not None
        if messages is None:
            messages = RustcMessages(await cargo.check(text, path))
            store.put_result(key, messages)
    except TileportError as error:
        if error.code is ExitCode.TOOL_MISSING:
            # It only says in other words what the compile stage said: a check goes on without.
            return Outcome(skipped("build", "", error.line()))
        return Outcome(failed("build", "", error))
    except Exception as error:
        return Outcome(failed("build", "", error))
    findings = findings_of(messages.diagnostics, "build", path)
    return _finished("build", "", findings, started, product=messages, cached=cached)


# ---------------------------------------------------------------- results


def _finished(
    stage: str,
    variant: str,
    findings: tuple[Finding, ...],
    started: float,
    *,
    product: P | None = None,
    cached: bool = False,
) -> Outcome[P]:
    result = StageResult(
        stage=stage,
        variant=variant,
        state=StageState.FINDINGS if findings else StageState.OK,
        findings=findings,
        milliseconds=(time.perf_counter() - started) * 1000,
        cached=cached,
    )
    return Outcome(result, product)


def skipped(stage: str, variant: str, reason: str) -> StageResult:
    """A stage that cannot run here or now."""
    return StageResult(stage=stage, variant=variant, state=StageState.SKIPPED, reason=reason)


def failed(stage: str, variant: str, error: Exception) -> StageResult:
    """A stage whose server or code broke; the log has the traceback of a fault of ours."""
    code = ExitCode.INTERNAL
    if isinstance(error, TileportError):
        reason, code = error.line(), error.code
    elif isinstance(error, ChildError):
        reason = error.message
    else:
        _LOG.error("stage %s of %s", stage, variant or "the operator", exc_info=error)
        reason = f"internal error: {type(error).__name__}: {error}; see the log (--log-file)"
    return failure(stage, variant, reason, code)


def failure(
    stage: str, variant: str, reason: str, code: ExitCode = ExitCode.INTERNAL
) -> StageResult:
    """A stage that came to nothing, for `reason`; `code` is what a command ends with for it."""
    return StageResult(
        stage=stage,
        variant=variant,
        state=StageState.FAILED,
        reason=one_line(reason),
        exit_code=int(code),
    )
