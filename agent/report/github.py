"""GitHub workflow commands: one annotation a finding, on the line it is about."""

from __future__ import annotations

from tileport.agent.report.model import CheckReport
from tileport.agent.report.paths import relative
from tileport.verify.model import Finding, Severity

_COMMAND = {
    Severity.WRONG: "error",
    Severity.UNSAFE: "error",
    Severity.SLOW: "warning",
    Severity.NOTE: "notice",
}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _annotation(finding: Finding, threshold: Severity) -> str:
    place = finding.rust or finding.python
    command = _COMMAND[finding.severity]
    if finding.allowed is not None or (
        command != "notice" and not finding.severity.at_least(threshold)
    ):
        command = "notice"
    parts = [f"title={_property('tileport ' + finding.kind)}"]
    if place is not None:
        parts.insert(0, f"file={_property(relative(place.file))},line={place.line}")
        if place.column:
            parts.insert(1, f"col={place.column}")
    message = finding.message
    if finding.python is not None and finding.rust is not None:
        message += f" (Python: {relative(finding.python.file)}:{finding.python.line})"
    if finding.remedy:
        message += f"\n{finding.remedy}"
    if finding.allowed is not None:
        message += f"\nallowed: {finding.allowed}"
    return f"::{command} {','.join(parts)}::{_data(message)}"


def render(report: CheckReport) -> str:
    """The report as workflow commands, one a line.

    Source: GitHub Actions, "Workflow commands": `%`, CR and LF are escaped in messages, and `:`
    and `,` in properties as well.
    """
    lines = [
        _annotation(finding, report.threshold)
        for operator in report.operators
        for finding in operator.findings
    ]
    return "".join(line + "\n" for line in lines)
