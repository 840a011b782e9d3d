"""`tileport check`: the ladder for one or several operators, with an exit code for CI."""

from __future__ import annotations

import argparse
import time

from tileport.agent.commands.base import Command, add_capture_options, add_operator_argument
from tileport.agent.headless import (
    failed_report,
    operator_report,
    resolve,
    settled,
    shared_servers,
)
from tileport.agent.output import Progress, say, write
from tileport.agent.report import github, jsonout, sarif, text
from tileport.agent.report.model import CheckReport, OperatorReport
from tileport.agent.report.style import style_for
from tileport.agent.versions import installed_versions, version
from tileport.verify.config import Config
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.ladder.servers import Servers
from tileport.verify.ladder.stages import STAGE_NAMES
from tileport.verify.model import Severity
from tileport.verify.operator import Operator

EXAMPLES = """\
  tileport check ops/mla_decode.py
  tileport check ops/*.py --target sm_90 --threshold wrong
  tileport check tilegym.ops.cutile.softmax --json
  tileport check ops/*.py --format github          annotations on a pull request
  tileport check ops/*.py --format sarif > out.sarif
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    add_operator_argument(parser, many=True)
    add_capture_options(parser)
    parser.add_argument(
        "--threshold",
        choices=[s.value for s in Severity],
        help="exit with 1 from findings of this severity on (slow)",
    )
    parser.add_argument(
        "--until",
        choices=STAGE_NAMES,
        metavar="STAGE",
        help=f"last stage: {', '.join(STAGE_NAMES)}",
    )
    parser.add_argument(
        "--strict", action="store_true", help="count `same IR if ..` as a difference"
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "github", "sarif"),
        default="text",
        help="how to print the report (text; --json is short for json)",
    )


async def _check_one(
    options: argparse.Namespace, operator: Operator, config: Config, servers: Servers
) -> OperatorReport:
    started = time.monotonic()
    threshold = Severity(options.threshold) if options.threshold else config.threshold
    progress = Progress(enabled=options.format == "text")
    async with settled(
        operator, config, servers, until=options.until, progress=progress
    ) as session:
        return operator_report(session, threshold, started, strict=options.strict)


def _render(report: CheckReport, options: argparse.Namespace) -> str:
    form = "json" if options.json else options.format
    if form == "json":
        return jsonout.render(report)
    if form == "github":
        return github.render(report)
    if form == "sarif":
        return sarif.render(report)
    return text.render(report, style_for(options.color), verbose=options.verbose)


async def _run(options: argparse.Namespace) -> int:
    reports: list[OperatorReport] = []
    resolved: list[tuple[str, tuple[Operator, Config] | TileportError]] = []
    for given in options.operator:
        try:
            resolved.append((given, resolve(options, given)))
        except TileportError as error:
            resolved.append((given, error))
    good = [found for _, found in resolved if not isinstance(found, TileportError)]
    if not good or len(resolved) == 1:
        for _, found in resolved:
            if isinstance(found, TileportError):
                raise found
    first = good[0][1]
    async with shared_servers(first) as servers:
        for given, found in resolved:
            try:
                if isinstance(found, TileportError):
                    raise found
                reports.append(await _check_one(options, *found, servers))
            except TileportError as error:
                if len(resolved) == 1:
                    raise
                say(f"tileport: {error.line()}")
                reports.append(failed_report(given, error))
    worst = max(r.exit_code for r in reports)
    report = CheckReport(
        tileport=version(),
        versions=installed_versions(),
        threshold=Severity(options.threshold) if options.threshold else first.threshold,
        targets=tuple(dict.fromkeys(v.target for r in reports for v in r.variants)),
        operators=tuple(reports),
        exit_code=worst,
    )
    write(_render(report, options))
    return worst or int(ExitCode.CLEAN)


COMMAND = Command(
    name="check",
    summary="run the ladder: is the port the same as the Python",
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)
