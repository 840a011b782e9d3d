"""`tileport diff`: the aligned canonical difference of one operator's variants."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import msgspec

from tileport.agent.commands.base import Command, add_capture_options, add_operator_argument
from tileport.agent.commands.select import add_variant_options, selected
from tileport.agent.headless import resolve, settled, shared_servers
from tileport.agent.output import Progress, write
from tileport.agent.report import jsonout
from tileport.agent.report.style import Style, style_for
from tileport.agent.report.text import finding_lines
from tileport.verify.diff.model import Comparison, DiffRow, DiffVerdict, RowKind
from tileport.verify.errors import ExitCode
from tileport.verify.model import Variant
from tileport.verify.safe_text import visible
from tileport.verify.session import Session

EXAMPLES = """\
  tileport diff ops/matmul.py
  tileport diff ops/matmul.py --kernel matmul --variant bf16 --target sm_90
  tileport diff ops/matmul.py --full          equal parts too
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    add_operator_argument(parser, many=False)
    add_capture_options(parser)
    add_variant_options(parser)
    parser.add_argument("--full", action="store_true", help="show equal ops one by one")


def _row(row: DiffRow, style: Style, *, full: bool) -> Iterator[str]:
    indent = "  " * row.depth
    if row.kind is RowKind.HEADER:
        places = [f"py {row.python}"] if row.python else []
        places += [f"rs {row.rust}"] if row.rust else []
        yield style(f"{'  '.join(places):16}{visible(row.reference)}", "bold")
    elif row.kind is RowKind.FOLD:
        yield style(f"    {indent}{row.count} ops the same", "dim")
    elif row.kind is RowKind.SAME:
        if full:
            yield f"    {indent}{visible(row.reference)}"
    else:
        if row.reference:
            yield style(f"  - {indent}{visible(row.reference)}", "red")
        if row.port:
            yield style(f"  + {indent}{visible(row.port)}", "green")


def _lines(variant: Variant, comparison: Comparison, style: Style, *, full: bool) -> Iterator[str]:
    word = {
        DiffVerdict.SAME: style("same IR", "bold", "green"),
        DiffVerdict.SAME_IF: style("same IR if", "bold", "cyan"),
        DiffVerdict.DIFFERENT: style("different", "bold", "red"),
    }[comparison.verdict]
    yield f"{style(variant.kernel.name, 'bold')}  {variant.label}  {variant.target}  {word}"
    for assumption in comparison.assumptions:
        yield f"  holds if {visible(assumption.condition)}"
    if comparison.unknown_ops:
        yield f"  ops compared as text only: {', '.join(map(visible, comparison.unknown_ops))}"
    if comparison.verdict is DiffVerdict.DIFFERENT or full:
        for row in comparison.rows:
            yield from _row(row, style, full=full)
    for finding in comparison.findings:
        yield from finding_lines(finding, style)


def _failure(session: Session, variant: Variant) -> str:
    """Why a variant has no comparison."""
    for spec in session.stages:
        result = session.result(variant.id, spec.name)
        if result is not None and (result.reason or result.findings):
            why = result.reason or result.findings[0].message
            return f"{spec.name}: {why}"
    return "the diff did not run"


async def _run(options: argparse.Namespace) -> int:
    operator, config = resolve(options, options.operator)
    style = style_for(options.color)
    progress = Progress(enabled=not options.json)
    code = ExitCode.CLEAN
    async with (
        shared_servers(config) as servers,
        settled(operator, config, servers, until="diff", progress=progress) as session,
    ):
        compared: list[dict[str, object]] = []
        for variant in selected(session, options):
            comparison = session.comparison(variant.id)
            if comparison is None:
                code = ExitCode.FINDINGS
                reason = _failure(session, variant)
                compared.append({"variant": variant.id, "failed": reason})
                if not options.json:
                    write(f"{variant.kernel.name}  {variant.label}  {variant.target}  ")
                    write(f"{style('not compared', 'bold', 'red')}: {visible(reason)}\n")
                continue
            if comparison.verdict is DiffVerdict.DIFFERENT:
                code = ExitCode.FINDINGS
            compared.append(
                {
                    "variant": variant.id,
                    "kernel": variant.kernel.name,
                    "label": variant.label,
                    "target": variant.target,
                    "comparison": msgspec.to_builtins(comparison),
                }
            )
            if not options.json:
                lines = _lines(variant, comparison, style, full=options.full)
                write("".join(line + "\n" for line in lines))
    if options.json:
        write(jsonout.render({"operator": operator.given, "variants": compared}))
    return int(code)


COMMAND = Command(
    name="diff",
    summary="show where the Tile IR of the port differs from the reference",
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)
