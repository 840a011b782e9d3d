"""What the bars and lists of the live screen say, made from the session. No widgets here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tileport.tui.session_like import SessionLike
from tileport.tui.text.parts import Line, Part, Parts, fit, width_of
from tileport.verify.model import Finding, Severity, StageResult, StageState, Variant
from tileport.verify.safe_text import one_line

if TYPE_CHECKING:
    from tileport.verify.ladder.verdict import Verdict

_STATE_WORDS = {
    StageState.WAITING: "\u00b7",
    StageState.RUNNING: "\u2026",
    StageState.OK: "ok",
    StageState.FAILED: "failed",
    StageState.SKIPPED: "skipped",
    StageState.STALE: "old",
}
_SHORT_WORDS = {**_STATE_WORDS, StageState.FAILED: "err", StageState.SKIPPED: "-"}


def milliseconds(value: float) -> str:
    """A duration in at most seven cells: `9 ms`, `1.2 s`, `95 s`."""
    if value < 1000:
        return f"{max(value, 0):.0f} ms"
    return f"{value / 1000:.1f} s" if value < 100_000 else f"{value / 1000:.0f} s"


# ---------------------------------------------------------------- header


def verdict_parts(verdict: Verdict, *, short: bool = False) -> list[Part]:
    """The verdict as it stands top right."""
    head, _, tail = verdict.text.partition(" \u00b7 ")
    if not verdict.total:
        style = "verdict.failed" if verdict.worst else "verdict.pending"
    elif verdict.failed:
        style = "verdict.failed"
    elif verdict.different:
        style = "verdict.different"
    elif verdict.pending:
        style = "verdict.pending"
    else:
        style = "verdict.same_if" if verdict.same_if else "verdict.same"
    if short and tail:
        # The counts of what is pending or assumed give way; that there is something stays.
        count = verdict.wrong + verdict.unsafe + verdict.slow
        tail = str(count) if count else "\u2026" if verdict.pending else ""
    parts: list[Part] = [(head, style)]
    if tail:
        parts += ((" \u00b7 ", "ui.faint"), (tail, _worst_style(verdict)))
    return [*parts, (" ", "")]


def _worst_style(verdict: Verdict) -> str:
    return f"severity.{verdict.worst.value}" if verdict.worst else "ui.muted"


def header(session: SessionLike, width: int) -> Line:
    """The header line: what is open, and the verdict."""
    operator = session.operator
    variant = variant_in_view(session)
    short = width < 120
    right = verdict_parts(session.verdict(), short=short)
    kernels = list(dict.fromkeys(v.kernel.name for v in session.variants))
    left: list[Part] = []
    if not short:
        left += ((" tileport ", "ui.brand"), (f" {one_line(operator.given)}  ", "ui.strong"))
    elif variant is None:
        left.append((f" {one_line(operator.given)}  ", "ui.strong"))
    if variant is not None:
        at = [v.id for v in session.variants].index(variant.id) + 1
        kernel = one_line(variant.kernel.name)
        if short:
            left.append((f" {kernel}  ", "ui.strong"))
        else:
            left += ((" kernel ", "ui.muted"), (kernel, ""))
            left.append((f" {kernels.index(variant.kernel.name) + 1}/{len(kernels)}  ", "ui.faint"))
            left.append((" variant ", "ui.muted"))
        left.append((one_line(variant.label), ""))
        left += ((f" \u00b7 {variant.target}", ""), (f" {at}/{len(session.variants)} ", "ui.faint"))
    room = width - width_of(right) - 1
    if width_of(left) > room:
        left = [(fit("".join(text for text, _ in left), max(room, 0)), "")]
    return Line(left, right)


def variant_in_view(session: SessionLike) -> Variant | None:
    """The variant in view, if there are any."""
    for variant in session.variants:
        if variant.id == session.view:
            return variant
    return session.variants[0] if session.variants else None


# ---------------------------------------------------------------- stages


#: Cells for the state of a stage and its time, whatever they are.
_WIDE_STATE, _SHORT_STATE = 18, 11


class _Cell(NamedTuple):
    word: str
    style: str
    time: str


def _cell(result: StageResult | None, words: dict[StageState, str], *, short: bool) -> _Cell:
    if result is None:
        return _Cell(words[StageState.WAITING], "state.waiting", "")
    time = milliseconds(result.milliseconds) if result.milliseconds else ""
    if result.state is StageState.FINDINGS:
        counted = [f for f in result.findings if f.allowed is None]
        worst = min((f.severity for f in counted), key=lambda s: s.rank, default=Severity.NOTE)
        word = f"{len(counted)}{worst.letter}" if short else f"{len(counted)} found"
        return _Cell(word, f"severity.{worst.value}", time)
    if result.state in {StageState.RUNNING, StageState.WAITING}:
        time = ""
    return _Cell(words[result.state], f"state.{result.state.value}", time)


def strip(session: SessionLike, width: int) -> Line:
    """The strip of stages. Each cell has the same width in every state, so nothing moves."""
    stages = session.stages
    short = sum(len(stage.name) + 1 + _WIDE_STATE for stage in stages) > width
    words = _SHORT_WORDS if short else _STATE_WORDS
    parts: list[Part] = [(" ", "")]
    for stage in stages:
        cell = _cell(session.result(session.view, stage.name), words, short=short)
        name, room, time = stage.name, _WIDE_STATE, cell.time
        if short:
            name, room, time = stage.short, _SHORT_STATE, cell.time.replace(" ", "")
        parts += (
            (f"{name} ", "ui.muted"),
            (cell.word, cell.style),
            (fit(f" {time}", room - len(cell.word)), "ui.faint"),
        )
    return Line(parts)


# ---------------------------------------------------------------- findings


class Entry(NamedTuple):
    """A row of the list: a finding, or a stage that failed or was skipped."""

    finding: Finding | None
    result: StageResult | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What identifies the entry over refreshes."""
        if self.finding is not None:
            found = self.finding
            return (found.kind, found.python, found.rust, found.message)
        assert self.result is not None
        return (self.result.stage, self.result.reason)


def entries(session: SessionLike, trouble: str = "") -> list[Entry]:
    """The findings, worst first, then what did not run and why (for the variant in view)."""
    rows = [Entry(finding) for finding in session.findings(stale=True)]
    if trouble:
        lost = StageResult(stage="capture", state=StageState.FAILED, reason=trouble)
        rows.insert(0, Entry(None, lost))
    results = [session.result(session.view, stage.name) for stage in session.stages]
    failed = [r for r in results if r is not None and r.state is StageState.FAILED]
    if not trouble:
        rows[:0] = [Entry(None, r) for r in failed if r.reason and not r.findings]
    if not failed and not trouble:
        # What waits for a stage that failed says nothing new.
        rows += [Entry(None, r) for r in results if r and r.reason and _skipped(r)]
    return rows


def _skipped(result: StageResult) -> bool:
    return result.state is StageState.SKIPPED and not result.findings


def place_of(finding: Finding) -> str:
    """`rs 49`, else `py 12`, else nothing."""
    if finding.rust is not None and finding.rust.line:
        return f"rs {finding.rust.line}"
    if finding.python is not None and finding.python.line:
        return f"py {finding.python.line}"
    return ""


def entry_line(entry: Entry, total: int) -> Line:
    """One row of the findings list."""
    finding = entry.finding
    if finding is None:
        result = entry.result
        assert result is not None
        failed = result.state is StageState.FAILED
        style = "state.failed" if failed else "state.skipped"
        word = "failed" if failed else "skipped"
        return Line(
            [
                (" \u00d7 " if failed else " - ", style),
                (fit(f"{result.stage} {word}", 20), style),
                (one_line(result.reason), "" if failed else "ui.muted"),
            ]
        )
    style = f"severity.{finding.severity.value}"
    allowed = finding.allowed is not None
    text = one_line(finding.message)
    parts: list[Part] = [
        (f" {finding.severity.letter} ", "ui.faint" if allowed else style),
        (fit(finding.kind, 20), "ui.faint" if allowed else style),
        (fit(place_of(finding), 8), "ui.muted"),
        (text, "ui.faint" if allowed else ""),
    ]
    right: list[Part] = []
    if allowed:
        right.append((f" allowed: {one_line(finding.allowed or '', 60)} ", "ui.faint"))
    elif 0 < len(finding.variants) < total:
        right.append((f" {len(finding.variants)} of {total} variants ", "ui.faint"))
    return Line(parts, right)


def detail_lines(entry: Entry | None, height: int) -> list[Line]:
    """The chosen finding beside the list: both sides and the remedy."""
    if entry is None or entry.finding is None:
        return []
    finding = entry.finding
    lines: list[Line] = []
    if finding.reference:
        lines.append(Line([(" - ", "diff.removed"), (one_line(finding.reference), "ui.muted")]))
    if finding.port:
        lines.append(Line([(" + ", "diff.added"), (one_line(finding.port), "ui.muted")]))
    if finding.remedy:
        lines.append(Line([(" \u2192 ", "ui.key"), (one_line(finding.remedy), "")]))
    return lines[:height]


def full_text(finding: Finding, variants: tuple[Variant, ...]) -> list[Parts]:
    """A finding in full, for the explain screen."""
    rows: list[Parts] = [
        [
            (f"{finding.severity.letter} {finding.kind}", f"severity.{finding.severity.value}"),
            (f"   {finding.severity.value}, found by {finding.stage}", "ui.muted"),
        ],
        [],
    ]
    for line in finding.message.splitlines() or [""]:
        rows.append([(line, "")])
    rows.append([])
    for name, place in (("Python", finding.python), ("Rust", finding.rust)):
        if place is not None:
            rows.append([(f"{name:<8}", "ui.muted"), (one_line(str(place)), "")])
    for name, sign, text, style in (
        ("Python says", "- ", finding.reference, "diff.removed"),
        ("the port says", "+ ", finding.port, "diff.added"),
    ):
        if text:
            rows += ([], [(name, "ui.muted")])
            rows += [[(f"{sign}{line}", style)] for line in text.splitlines()]
    if finding.remedy:
        rows += ([], [("what to do", "ui.muted")])
        rows += [[(line, "")] for line in finding.remedy.splitlines()]
    if finding.allowed is not None:
        rows += ([], [("allowed in the Rust: ", "ui.muted"), (one_line(finding.allowed), "")])
    seen = [v for v in variants if v.id in finding.variants]
    if seen:
        rows += ([], [(f"in {len(seen)} of {len(variants)} variants", "ui.muted")])
        rows += [
            [(f"  {one_line(v.kernel.name)}  {one_line(v.label)} \u00b7 {v.target}", "")]
            for v in seen
        ]
    return rows
