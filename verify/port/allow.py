"""Findings that a port allows with a reason."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

import msgspec

from tileport.verify.model import Finding, Place, Severity
from tileport.verify.port.model import Allow, PortFile


def apply_allows(
    findings: Iterable[Finding], port: PortFile, *, complete: bool = False
) -> tuple[Finding, ...]:
    """The findings, those that the port allows marked with the reason it gives.

    An allow counts for findings of its kinds whose Rust place is on a line it covers.

    Args:
        findings: Of any stage.
        port: Where they were found.
        complete: Whether these are all findings there will be; then an allow that none of them
            needed is a finding `allow-unused` of its own.
    """
    used: set[int] = set()
    marked: list[Finding] = []
    for finding in findings:
        chosen = _allow_for(finding, port)
        if chosen is None:
            marked.append(finding)
        else:
            used.add(chosen.line)
            marked.append(msgspec.structs.replace(finding, allowed=chosen.reason))
    if complete:
        marked += [_unused(allow, port) for allow in port.allows if allow.line not in used]
    return tuple(marked)


def _allow_for(finding: Finding, port: PortFile) -> Allow | None:
    place = finding.rust
    if place is None or not _same_file(place.file, port.path):
        return None
    for allow in port.allows:
        if finding.kind in allow.kinds and allow.first <= place.line <= allow.last:
            return allow
    return None


def _same_file(one: str, other: str) -> bool:
    """Whether two ways to name a file mean the same; places may be relative."""
    return one == other or PurePath(one).name == PurePath(other).name


def _unused(allow: Allow, port: PortFile) -> Finding:
    kinds = ", ".join(allow.kinds)
    return Finding(
        kind="allow-unused",
        severity=Severity.NOTE,
        message=f"There is no finding {kinds} here any more.",
        stage="declare",
        rust=Place(port.path, allow.line),
        remedy="remove the comment",
    )
