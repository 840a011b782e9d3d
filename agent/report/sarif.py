"""SARIF 2.1.0 (OASIS), for code-scanning services and editors."""

from __future__ import annotations

from typing import Any

import msgspec

from tileport.agent.report.model import CheckReport
from tileport.agent.report.paths import relative
from tileport.verify.model import Finding, Place, Severity

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {
    Severity.WRONG: "error",
    Severity.UNSAFE: "error",
    Severity.SLOW: "warning",
    Severity.NOTE: "note",
}


def _location(place: Place, text: str | None = None) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(place.line, 1)}
    if place.column:
        region["startColumn"] = place.column
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": relative(place.file).replace("\\", "/")},
            "region": region,
        }
    }
    if text is not None:
        location["message"] = {"text": text}
    return location


def _result(finding: Finding, rule_index: int) -> dict[str, Any]:
    text = finding.message + (f" {finding.remedy}" if finding.remedy else "")
    result: dict[str, Any] = {
        "ruleId": finding.kind,
        "ruleIndex": rule_index,
        "level": _LEVEL[finding.severity],
        "message": {"text": text},
        "properties": {"severity": finding.severity.value, "variants": list(finding.variants)},
    }
    place = finding.rust or finding.python
    if place is not None:
        result["locations"] = [_location(place)]
    if finding.rust is not None and finding.python is not None:
        result["relatedLocations"] = [_location(finding.python, "the Python reference")]
    if finding.allowed is not None:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.allowed}]
    return result


def render(report: CheckReport) -> str:
    """The report as one SARIF log with one run."""
    findings = [f for operator in report.operators for f in operator.findings]
    kinds = sorted({f.kind for f in findings})
    index = {kind: i for i, kind in enumerate(kinds)}
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tileport",
                        "version": report.tileport,
                        "rules": [{"id": kind, "name": kind} for kind in kinds],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(f, index[f.kind]) for f in findings],
            }
        ],
    }
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"
