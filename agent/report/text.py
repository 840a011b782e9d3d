"""The report as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileport.agent.report.model import CheckReport, FactReport, OperatorReport, VariantReport
from tileport.agent.report.paths import relative
from tileport.agent.report.style import SEVERITY_COLOUR, Style
from tileport.verify.model import Finding, Severity, StageState
from tileport.verify.safe_text import one_line, visible

_VERDICT_WORDS = {
    "same": ("same IR", "green"),
    "same-if": ("same IR if", "cyan"),
    "different": ("different", "red"),
    "failed": ("failed", "red"),
    "none": ("no verdict", "dim"),
}


def counted(number: int, thing: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def table(rows: Sequence[Sequence[str]], indent: str = "    ") -> Iterator[str]:
    """Rows of text in aligned columns, two spaces apart."""
    if not rows:
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield indent + "  ".join(cells).rstrip()


def finding_lines(finding: Finding, style: Style, indent: str = "  ") -> Iterator[str]:
    """One finding: letter, kind and places; meaning; both sides; remedy."""
    places = [relative(str(p)) for p in (finding.rust, finding.python) if p is not None]
    letter = style(finding.severity.letter, "bold", SEVERITY_COLOUR[finding.severity])
    head = f"{indent}{letter} {style(finding.kind, 'bold')}  {'  '.join(places)}"
    if len(finding.variants) > 1:
        head += style(f"  in {len(finding.variants)} variants", "dim")
    if finding.allowed is not None:
        head += style(f"  allowed: {one_line(finding.allowed, 80)}", "dim")
    yield head
    yield f"{indent}  {one_line(finding.message)}"
    for mark, side, colour in (("-", finding.reference, "red"), ("+", finding.port, "green")):
        for line in visible(side).splitlines():
            yield style(f"{indent}  {mark} {line}", colour)
    if finding.remedy:
        yield f"{indent}  fix: {one_line(finding.remedy)}"


def _variant_row(variant: VariantReport) -> list[str]:
    word = _VERDICT_WORDS[variant.verdict][0]
    if variant.assumptions:
        word = f"{word} {'; '.join(one_line(a, 60) for a in variant.assumptions)}"
    times = []
    for name, stage in variant.stages.items():
        if stage.state in (StageState.OK, StageState.FINDINGS):
            times.append(
                f"{name} " + ("cached" if stage.cached else f"{stage.milliseconds:.0f} ms")
            )
        else:
            times.append(f"{name} {stage.state}")
    more = f"+{variant.candidates} candidates" if variant.candidates else ""
    return [variant.target, one_line(variant.label, 60), word, "  ".join(times), more]


def _fact_lines(facts: Sequence[FactReport], style: Style) -> Iterator[str]:
    """What Python fixed, per kernel; a fact equal in all variants of a kernel is shown once."""
    kernels = list(dict.fromkeys(f.kernel for f in facts))
    for kernel in kernels:
        mine = [f for f in facts if f.kernel == kernel]
        seen: dict[tuple[str, str, str, str, str], None] = {}
        for fact in mine:
            seen[fact.parameter, fact.fact, fact.origin, fact.declared_as, fact.state] = None
        yield f"  {style(kernel, 'bold')}: what Python fixed"
        header = ["parameter", "Python fixed (silently)", "from", "Rust declares", "state"]
        yield from table([header, *([one_line(c, 60) for c in row] for row in seen)])


def operator_lines(report: OperatorReport, style: Style, *, verbose: bool) -> Iterator[str]:
    """One operator: verdict, variants by kernel, findings."""
    port = relative(report.port) if report.port_exists else "no port"
    colour = {0: "green"}.get(report.exit_code, "red")
    yield (
        f"{style(report.operator, 'bold')}  {relative(report.source)} -> {port}"
        f"  {style(report.verdict, 'bold', colour)}"
        f"  {style(f'{report.milliseconds / 1000:.1f} s', 'dim')}"
    )
    if report.port_exists:
        for kernel in dict.fromkeys(v.kernel for v in report.variants):
            mine = [v for v in report.variants if v.kernel == kernel]
            if not verbose and all(v.verdict == "same" for v in mine):
                targets = ", ".join(sorted({v.target for v in mine}))
                count = counted(len(mine), "variant")
                yield f"  {kernel}: {count}, all same IR  {style(targets, 'dim')}"
                continue
            yield f"  {kernel}"
            yield from table([_variant_row(v) for v in mine])
    if report.facts and (verbose or not report.port_exists):
        yield from _fact_lines(report.facts, style)
    for finding in report.findings:
        if verbose or finding.severity is not Severity.NOTE or finding.allowed is not None:
            yield from finding_lines(finding, style)
    notes = sum(f.severity is Severity.NOTE and f.allowed is None for f in report.findings)
    if notes and not verbose:
        yield style(f"  {counted(notes, 'note')}; --verbose shows them", "dim")


def render(report: CheckReport, style: Style, *, verbose: bool = False) -> str:
    """The whole run: each operator, then one line with the sum."""
    lines: list[str] = []
    for operator in report.operators:
        lines.extend(operator_lines(operator, style, verbose=verbose))
    if len(report.operators) > 1:
        clean = sum(o.exit_code == 0 for o in report.operators)
        lines.append(f"{clean} of {len(report.operators)} operators clean")
    return "".join(line + "\n" for line in lines)
