"""The one answer over all variants: how many are the same, and what else was found."""

from __future__ import annotations

import msgspec

from tileport.verify.model import Finding, Severity


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over the variants of the current generation, and over the findings not allowed.

    Of `total` variants, `same` have the same IR as Python, `same_if` have it under assumptions,
    `different` have not, `failed` did not come as far as a comparison, `pending` are not done.
    """

    same: int = 0
    same_if: int = 0
    different: int = 0
    failed: int = 0
    pending: int = 0
    total: int = 0
    wrong: int = 0
    unsafe: int = 0
    slow: int = 0
    note: int = 0
    #: Findings allowed in the Rust with a reason.
    allowed: int = 0
    #: The worst severity among the findings not allowed.
    worst: Severity | None = None
    #: `SAME IR 6/8 · 2 findings`
    text: str = ""

    def reaches(self, threshold: Severity) -> bool:
        """Whether any finding that is not allowed is as bad as `threshold` or worse."""
        return self.worst is not None and self.worst.at_least(threshold)


def count_findings(findings: tuple[Finding, ...]) -> dict[Severity, int]:
    """How many findings there are by severity, allowed ones left out."""
    counts = dict.fromkeys(Severity, 0)
    for finding in findings:
        if finding.allowed is None:
            counts[finding.severity] += 1
    return counts


def verdict_text(verdict: Verdict, *, captured: bool | None, compared: bool) -> str:
    """The verdict in a few words: `SAME IR 6/8 · 2 findings`.

    Args:
        verdict: The counts.
        captured: Whether the capture worked; None while it runs.
        compared: Whether there is a stage that compares.
    """
    if captured is None:
        return "CAPTURING"
    if not captured:
        return "NOT CAPTURED"
    if not verdict.total:
        return _with_findings("NO VARIANTS", verdict)
    if not compared:
        return _with_findings(_plural(verdict.total, "variant").upper(), verdict)
    parts = [f"SAME IR {verdict.same + verdict.same_if}/{verdict.total}"]
    if verdict.same_if:
        parts.append(f"{verdict.same_if} under assumptions")
    if verdict.failed:
        parts.append(f"{verdict.failed} not compared")
    if verdict.pending:
        parts.append(f"{verdict.pending} pending")
    return _with_findings(" · ".join(parts), verdict)


def _with_findings(text: str, verdict: Verdict) -> str:
    count = verdict.wrong + verdict.unsafe + verdict.slow
    return f"{text} · {_plural(count, 'finding')}" if count else text


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" + ("" if count == 1 else "s")
