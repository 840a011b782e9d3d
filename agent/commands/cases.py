"""`tileport cases`: what was captured, and what Python specialized in it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tileport.agent.commands.base import Command, add_capture_options, add_operator_argument
from tileport.agent.commands.select import add_variant_options, selected
from tileport.agent.headless import resolve, settled, shared_servers
from tileport.agent.output import Progress, write
from tileport.agent.report import jsonout
from tileport.agent.report.paths import relative
from tileport.agent.report.style import Style, style_for
from tileport.agent.report.text import counted, finding_lines, table
from tileport.verify.model import CaptureReport, Variant
from tileport.verify.safe_text import one_line
from tileport.verify.session import Session

EXAMPLES = """\
  tileport cases ops/rope.py
  tileport cases tilegym.ops.cutile.matmul --all-candidates
  tileport cases ops/rope.py --kernel rope --verbose    every fact of every variant
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    add_operator_argument(parser, many=False)
    add_capture_options(parser)
    add_variant_options(parser)


def variant_lines(variants: list[Variant], style: Style) -> Iterator[str]:
    """Variants by kernel, one row each."""
    for kernel in dict.fromkeys(v.kernel for v in variants):
        mine = [v for v in variants if v.kernel == kernel]
        yield f"  {style(kernel.qualname, 'bold')}  {relative(str(kernel.place))}"
        rows = []
        for v in mine:
            grid = "x".join(map(str, v.grid))
            more = f"+{v.candidates} candidates" if v.candidates else ""
            via = "" if v.via == "launch" else v.via
            names = one_line(", ".join(v.cases), 48)
            rows.append([v.id, v.target, one_line(v.label, 60), f"grid {grid}", names, via or more])
        yield from table(rows)


def _fact_lines(session: Session, variant: Variant, style: Style) -> Iterator[str]:
    rows = [["parameter", "Python fixed (silently)", "from"]]
    rows += [
        [one_line(c, 64) for c in (f.parameter, f.fact, f.origin)]
        for f in session.facts(variant.id)
    ]
    yield style(f"  {variant.kernel.name}  {variant.label}  {variant.target}", "bold")
    yield from table(rows)


def report_lines(report: CaptureReport, style: Style) -> Iterator[str]:
    """The first line about a capture, and its findings."""
    how = "without a GPU" if report.mode == "fake" else "on this GPU"
    yield (
        f"{style(report.operator, 'bold')}  {counted(len(report.cases), 'case')}, "
        f"{counted(len(report.variants), 'variant')}, "
        f"captured {how} in {report.milliseconds:.0f} ms"
    )
    for finding in report.findings:
        yield from finding_lines(finding, style)


async def _run(options: argparse.Namespace) -> int:
    operator, config = resolve(options, options.operator)
    style = style_for(options.color)
    progress = Progress(enabled=not options.json)
    async with (
        shared_servers(config) as servers,
        settled(operator, config, servers, until="declare", progress=progress) as session,
    ):
        assert session.report is not None
        variants = selected(session, options)
        if options.json:
            write(
                jsonout.render(
                    {
                        "report": session.report,
                        "facts": {v.id: list(session.facts(v.id)) for v in variants},
                    }
                )
            )
            return 0
        lines = [*report_lines(session.report, style), *variant_lines(variants, style)]
        narrowed = options.kernel is not None or options.variant is not None
        shown = variants if options.verbose else variants[:1] if narrowed else []
        for variant in shown:
            lines += _fact_lines(session, variant, style)
        if not shown:
            lines.append(style("  --verbose shows what Python specialized, per parameter", "dim"))
    write("".join(line + "\n" for line in lines))
    return 0


COMMAND = Command(
    name="cases",
    summary="list what was captured and what Python specialized",
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)
