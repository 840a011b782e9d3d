"""The results of all stages and variants, each of one generation; what is older shows as stale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from tileport.verify.diff.model import Comparison, DiffVerdict
from tileport.verify.ladder.climb import Outcome
from tileport.verify.ladder.stages import StageSpec
from tileport.verify.ladder.verdict import Verdict, count_findings, verdict_text
from tileport.verify.model import Finding, Kernel, Place, Severity, StageResult, StageState, Variant

_DONE = frozenset({StageState.OK, StageState.FINDINGS})
_STANDING = {
    DiffVerdict.SAME: "same",
    DiffVerdict.SAME_IF: "same_if",
    DiffVerdict.DIFFERENT: "different",
}


class _Cell(NamedTuple):
    generation: int
    result: StageResult


class Board:
    """Holds what is known. A result of an older generation never shows as a current one.

    Args:
        stages: The stages that run, in order.
    """

    def __init__(self, stages: tuple[StageSpec, ...]) -> None:
        self.stages = stages
        self.generation = 0
        self.variants: tuple[Variant, ...] = ()
        self.by_id: dict[str, Variant] = {}
        self._kin: dict[Kernel, tuple[Variant, ...]] = {}
        self._cells: dict[tuple[str, str], _Cell] = {}
        #: What runs now, with what it says it is doing.
        self._running: dict[tuple[str, str], str] = {}
        self._products: dict[tuple[str, str], object] = {}
        self._whole = frozenset(stage.name for stage in stages if stage.scope == "operator")
        #: Grows with every change; what is computed from the board is good for one value of it.
        self.revision = 0

    def begin(self, generation: int) -> None:
        """Everything known so far is of an older generation now."""
        self.generation = generation
        self._running.clear()
        self.revision += 1

    def set_variants(self, variants: tuple[Variant, ...]) -> None:
        """These variants and no others exist."""
        self.variants = variants
        self.by_id = {variant.id: variant for variant in variants}
        kin: dict[Kernel, list[Variant]] = {}
        for variant in variants:
            kin.setdefault(variant.kernel, []).append(variant)
        self._kin = {kernel: tuple(of_it) for kernel, of_it in kin.items()}
        known = {*self.by_id, ""}
        for table in (self._cells, self._running, self._products):
            for key in [key for key in table if key[0] not in known]:
                del table[key]
        self.revision += 1

    def kin(self, variant: Variant) -> tuple[Variant, ...]:
        """All variants of the same kernel, this one among them."""
        return self._kin.get(variant.kernel, ())

    def run(self, variant: str, stage: str, doing: str = "") -> StageResult:
        """A stage began, or goes on with `doing`."""
        self._running[variant, stage] = doing
        self.revision += 1
        return _running(variant, stage, doing)

    def is_running(self, variant: str, stage: str) -> bool:
        """Whether the stage runs now."""
        return (variant, stage) in self._running

    def put(self, outcome: Outcome[object]) -> StageResult:
        """A stage of the current generation ended."""
        result = outcome.result
        key = (result.variant, result.stage)
        self._running.pop(key, None)
        self._cells[key] = _Cell(self.generation, result)
        if outcome.product is not None:
            self._products[key] = outcome.product
        self.revision += 1
        return result

    def result(self, variant: str, stage: str) -> StageResult | None:
        """The last result, marked stale where it is of an older generation."""
        key = ("" if stage in self._whole else variant, stage)
        if key in self._running:
            return _running(*key, self._running[key])
        cell = self._cells.get(key)
        if cell is None:
            return None
        if cell.generation != self.generation:
            return msgspec.structs.replace(cell.result, state=StageState.STALE)
        return cell.result

    def results(self) -> tuple[StageResult, ...]:
        """All results, by stage of the operator first, then by variant."""
        found = (self.result(*key) for key in self._keys())
        return tuple(result for result in found if result is not None)

    def product(self, variant: str, stage: str) -> object | None:
        """What the stage made last, maybe in an older generation."""
        return self._products.get((variant, stage))

    def current(self, variant: str, stage: str) -> StageResult | None:
        """The result of the current generation, once the stage has ended in it."""
        cell = self._cells.get((variant, stage))
        return cell.result if cell is not None and cell.generation == self.generation else None

    # ------------------------------------------------------------ over all variants

    def findings(self, *, stale: bool = False) -> tuple[Finding, ...]:
        """Findings of the current generation, equal ones merged, not sorted.

        With `stale` also those of older ones, as far as nothing took their place.
        """
        results = [
            cell.result
            for key in self._keys()
            if (cell := self._cells.get(key)) is not None
            and (stale or cell.generation == self.generation)
        ]
        found = merge(finding for result in results for finding in _named(result))
        compiled = any(r.stage == "compile" and r.state in _DONE for r in results)
        return without_echoes(found, compiled=compiled)

    def _keys(self) -> Iterator[tuple[str, str]]:
        """Where results can be, in the order in which they are shown."""
        for stage in self.stages:
            if stage.scope == "operator":
                yield "", stage.name
        for variant in self.variants:
            for stage in self.stages:
                if stage.scope == "variant":
                    yield variant.id, stage.name

    def verdict(self, findings: tuple[Finding, ...]) -> Verdict:
        """The answer over all variants, with `findings` of the current generation counted."""
        counts = dict.fromkeys(("same", "same_if", "different", "failed", "pending"), 0)
        capture = self.current("", "capture")
        for variant in self.variants:
            standing = self._standing(variant.id, capture)
            if standing:
                counts[standing] += 1
        by_severity = count_findings(findings)
        worst = next((s for s in Severity if by_severity[s]), None)
        verdict = Verdict(
            same=counts["same"],
            same_if=counts["same_if"],
            different=counts["different"],
            failed=counts["failed"],
            pending=counts["pending"],
            total=len(self.variants),
            wrong=by_severity[Severity.WRONG],
            unsafe=by_severity[Severity.UNSAFE],
            slow=by_severity[Severity.SLOW],
            note=by_severity[Severity.NOTE],
            allowed=sum(finding.allowed is not None for finding in findings),
            worst=worst,
        )
        text = verdict_text(
            verdict,
            captured=None if capture is None else capture.state is not StageState.FAILED,
            compared=any(stage.name == "diff" for stage in self.stages),
        )
        return msgspec.structs.replace(verdict, text=text)

    def _standing(self, variant: str, capture: StageResult | None) -> str:
        """What the variant counts as; empty where it went as far as it should, uncompared."""
        if capture is not None and capture.state is StageState.FAILED:
            return "failed"
        last = next((s.name for s in reversed(self.stages) if s.scope == "variant"), None)
        result = self.current(variant, last) if last is not None else capture
        if result is None:
            return "pending"
        if result.state not in _DONE:
            return "failed"
        comparison = self.product(variant, "diff")
        if last != "diff" or not isinstance(comparison, Comparison):
            return ""
        return _STANDING[comparison.verdict]


def _running(variant: str, stage: str, doing: str) -> StageResult:
    return StageResult(stage=stage, variant=variant, state=StageState.RUNNING, reason=doing)


def _named(result: StageResult) -> Iterable[Finding]:
    """The findings of a result, with the variant they were seen in."""
    for finding in result.findings:
        if result.variant and not finding.variants:
            yield msgspec.structs.replace(finding, variants=(result.variant,))
        else:
            yield finding


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Equal findings as one, with the variants of all of them."""
    merged: dict[Finding, dict[str, None]] = {}
    for finding in findings:
        bare = msgspec.structs.replace(finding, variants=())
        merged.setdefault(bare, {}).update(dict.fromkeys(finding.variants))
    return tuple(
        msgspec.structs.replace(finding, variants=tuple(variants))
        for finding, variants in merged.items()
    )


def without_echoes(findings: tuple[Finding, ...], *, compiled: bool) -> tuple[Finding, ...]:
    """Without what one stage says less exactly than another.

    That is what rustc says of a line where the frontend has found an error, and, once the
    frontend has seen the text, what the reader of declarations thought of its syntax.
    """
    told = {
        (f.rust.file, f.rust.line)
        for f in findings
        if f.stage == "compile" and f.severity is Severity.WRONG and f.rust is not None
    }

    def echoes(finding: Finding) -> bool:
        if finding.stage == "build" and finding.rust is not None:
            return (finding.rust.file, finding.rust.line) in told
        return compiled and finding.kind == "rust-syntax"

    return tuple(finding for finding in findings if not echoes(finding))


def by_weight(finding: Finding) -> tuple[object, ...]:
    """Sort key: worst first, allowed ones after the others, then down the port."""
    return (
        finding.allowed is not None,
        finding.severity.rank,
        _down(finding.rust),
        _down(finding.python),
        finding.kind,
        finding.message,
    )


def _down(place: Place | None) -> tuple[bool, str, int, int]:
    return (True, "", 0, 0) if place is None else (False, place.file, place.line, place.column)
