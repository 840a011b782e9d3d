"""One operator up the ladder without a screen, and what came of it as a report."""

from __future__ import annotations

import argparse
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tileport.agent.output import Progress, say
from tileport.agent.report.model import FactReport, OperatorReport, StageReport, VariantReport
from tileport.verify.config import Config, load_config
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.ladder.servers import Servers
from tileport.verify.model import Finding, Place, Severity, StageResult, StageState, Variant
from tileport.verify.operator import Operator, resolve_operator
from tileport.verify.session import Session
from tileport.verify.session_events import Event, Notice, StageChanged


def resolve(options: argparse.Namespace, given: str) -> tuple[Operator, Config]:
    """The operator `given` on the command line, and its settings with the options on top.

    Raises:
        TileportError: bad input or bad settings.
    """
    operator = resolve_operator(given, port=options.port, cases=options.cases)
    config = load_config(operator.workspace)
    if options.target:
        config = msgspec.structs.replace(config, targets=tuple(dict.fromkeys(options.target)))
    if options.all_candidates:
        config = msgspec.structs.replace(config, all_candidates=True)
    return operator, config


@asynccontextmanager
async def shared_servers(config: Config) -> AsyncIterator[Servers]:
    """Capture and compile servers for any number of operators, closed at the end."""
    servers = Servers(config)
    try:
        yield servers
    finally:
        await servers.close()


@asynccontextmanager
async def settled(
    operator: Operator,
    config: Config,
    servers: Servers,
    *,
    until: str | None = None,
    progress: Progress | None = None,
) -> AsyncIterator[Session]:
    """A session of one check, all its stages done.

    Raises:
        TileportError: the operator cannot be captured.
    """

    def notify(event: Event) -> None:
        if progress is not None and isinstance(event, StageChanged):
            progress.show(f"{operator.name}: {event.result.stage} {event.result.state}")
        if isinstance(event, Notice) and event.severity is not Severity.NOTE:
            if progress is not None:
                progress.clear()
            say(f"tileport: {event.text}")

    session = Session(operator, config, notify=notify, servers=servers, live=False, until=until)
    try:
        await session.start()
        await session.settle()
        capture = session.result("", "capture")
        if capture is not None and capture.state is StageState.FAILED:
            # Nothing below can be said of an operator that cannot be captured.
            raise TileportError(capture.reason, code=ExitCode(capture.exit_code))
        yield session
    finally:
        if progress is not None:
            progress.clear()
        await session.close()


def unfinished(session: Session) -> list[StageResult]:
    """Stages that neither ended well nor left a finding: their reason must not be lost."""
    return [
        r
        for r in session.results()
        if r.state is StageState.FAILED and not any(f.severity.rank <= 1 for f in r.findings)
    ]


def _variant_report(session: Session, variant: Variant) -> VariantReport:
    comparison = session.comparison(variant.id)
    diff = session.result(variant.id, "diff")
    current = diff is not None and diff.state in (StageState.OK, StageState.FINDINGS)
    stages: dict[str, StageReport] = {}
    for spec in session.stages:
        result = session.result(variant.id, spec.name) if spec.scope == "variant" else None
        if result is not None:
            stages[spec.name] = StageReport(
                state=result.state,
                milliseconds=round(result.milliseconds, 3),
                cached=result.cached,
                reason=result.reason,
            )
    return VariantReport(
        id=variant.id,
        kernel=variant.kernel.name,
        label=variant.label,
        target=variant.target,
        cases=variant.cases,
        verdict=comparison.verdict.value if comparison is not None and current else "none",
        assumptions=tuple(a.condition for a in comparison.assumptions) if comparison else (),
        stages=stages,
        candidates=variant.candidates,
    )


def _facts(session: Session) -> Iterable[FactReport]:
    for variant in session.variants:
        for row in session.facts(variant.id):
            yield FactReport(
                kernel=variant.kernel.name,
                variant=variant.id,
                parameter=row.parameter,
                fact=row.fact,
                origin=row.origin,
                declared_as=row.declared_as,
                state=row.state,
            )


def _stage_fault(session: Session, result: StageResult) -> Finding:
    """A stage that could not do its work, as a finding of its own."""
    port = session.operator.port if Path(session.operator.port).exists() else None
    return Finding(
        kind="stage-failed",
        severity=Severity.WRONG,
        message=f"The {result.stage} stage failed: {result.reason}",
        stage=result.stage,
        rust=Place(port, 1) if port else None,
        python=Place(session.operator.source, 1),
        variants=(result.variant,) if result.variant else (),
    )


def operator_report(
    session: Session, threshold: Severity, started: float, *, strict: bool = False
) -> OperatorReport:
    """What a settled session says, with the exit code it means.

    With `strict` a variant that is the same only under an assumption counts as a finding.
    """
    failures = unfinished(session)
    faults = {r.reason: _stage_fault(session, r) for r in failures}
    findings = (*faults.values(), *session.findings())
    reached = any(f.allowed is None and f.severity.at_least(threshold) for f in findings)
    reached = reached or (strict and session.verdict().same_if > 0)
    code = max((r.exit_code for r in failures), default=int(ExitCode.CLEAN))
    if not code and reached:
        code = int(ExitCode.FINDINGS)
    return OperatorReport(
        operator=session.operator.given,
        source=session.operator.source,
        port=session.operator.port,
        port_exists=session.text is not None,
        kernels=tuple({v.kernel: None for v in session.variants}),
        variants=tuple(_variant_report(session, v) for v in session.variants),
        findings=findings,
        facts=tuple(_facts(session)),
        verdict=session.verdict().text,
        milliseconds=round((time.monotonic() - started) * 1000, 1),
        exit_code=code,
    )


def failed_report(given: str, error: TileportError) -> OperatorReport:
    """An operator that could not be checked at all, among others that could."""
    return OperatorReport(
        operator=given,
        source=given,
        port="",
        port_exists=False,
        kernels=(),
        variants=(),
        findings=(
            Finding(
                kind="not-checked",
                severity=Severity.WRONG,
                message=error.line(),
                stage="capture",
            ),
        ),
        facts=(),
        verdict="NOT CHECKED",
        milliseconds=0.0,
        exit_code=int(error.code),
    )
