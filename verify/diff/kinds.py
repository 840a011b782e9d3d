"""The kinds of difference: stable names, how bad each is, and what it means."""

from __future__ import annotations

from dataclasses import dataclass

from tileport.verify.model import Severity

WRONG, UNSAFE, SLOW, NOTE = Severity.WRONG, Severity.UNSAFE, Severity.SLOW, Severity.NOTE


@dataclass(frozen=True, slots=True)
class Kind:
    """`meaning` says in general what the difference does; a finding says it for its place."""

    name: str
    severity: Severity
    meaning: str


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        # numbers
        Kind("rounding-lost", WRONG, "integer division or remainder rounds another way"),
        Kind("rounding-changed", WRONG, "a float operation rounds another way"),
        Kind("accumulator-type", WRONG, "products are accumulated in another type"),
        Kind("precision-changed", WRONG, "a conversion between float types is missing or added"),
        Kind("width-narrowed", WRONG, "an integer is computed in fewer bits and can overflow"),
        Kind("width-changed", WRONG, "an integer is computed in another width"),
        Kind("dtype-changed", WRONG, "a value has another element type"),
        Kind("signedness", WRONG, "integers are read as signed on one side, unsigned on the other"),
        Kind("compare-changed", WRONG, "values are compared in another way"),
        Kind("compare-ordering", WRONG, "a comparison treats NaN in another way"),
        Kind("nan-propagation", WRONG, "minimum or maximum treats NaN in another way"),
        Kind("fma-split", WRONG, "a fused multiply-add is rounded twice instead of once"),
        Kind("fma-fused", WRONG, "a product and a sum are rounded once instead of twice"),
        Kind("ftz-changed", WRONG, "subnormal numbers are flushed to zero on one side only"),
        Kind("identity-changed", WRONG, "a reduction or scan starts from another value"),
        Kind("scan-direction", WRONG, "a scan runs the other way"),
        Kind("constant-changed", WRONG, "a constant has another value"),
        Kind("overflow-flag", UNSAFE, "a promise that an operation does not overflow differs"),
        Kind("trip-count", WRONG, "a loop runs over another range"),
        # shapes and indexes
        Kind("tile-shape", WRONG, "a tile has another shape"),
        Kind("dim-map", WRONG, "dimensions are mapped or ordered in another way"),
        Kind("grid-axis", WRONG, "the block id of another grid axis is used"),
        Kind("view-kind", WRONG, "memory is reached through another kind of view"),
        # memory
        Kind("mask-dropped", UNSAFE, "elements that the reference leaves out are accessed"),
        Kind("mask-added", WRONG, "elements that the reference accesses are left out"),
        Kind("padding-changed", WRONG, "elements outside of the array have another value"),
        Kind(
            "padding-added", NOTE, "elements outside are defined here, undefined in the reference"
        ),
        Kind("token-missing", UNSAFE, "an order between memory operations is missing"),
        Kind("token-extra", SLOW, "memory operations are ordered that need not be"),
        Kind("ordering-changed", UNSAFE, "a memory operation has another ordering"),
        Kind("scope", UNSAFE, "a memory operation synchronizes in another scope"),
        Kind("atomic-mode", WRONG, "an atomic operation does something else"),
        Kind("inbounds-changed", UNSAFE, "another promise that an access is in bounds"),
        Kind("load-repeated", SLOW, "the same tile is loaded more often"),
        Kind("view-merged", NOTE, "accesses share one view where the reference has two"),
        Kind("view-split", NOTE, "accesses have views of their own where the reference shares one"),
        # promises
        Kind("div-by-missing", SLOW, "a divisibility that the reference promises is not promised"),
        Kind("div-by-extra", UNSAFE, "a divisibility is promised that the reference does not know"),
        Kind("bound-missing", SLOW, "a bound that the reference promises is not promised"),
        Kind("bound-extra", UNSAFE, "a bound is promised that the reference does not know"),
        Kind("assume-missing", SLOW, "a promise of the reference is not made"),
        Kind("assume-extra", UNSAFE, "a promise is made that the reference does not make"),
        Kind("stride-not-static", SLOW, "a stride that the reference knows is found at run time"),
        Kind("stride-static", UNSAFE, "a stride is fixed that the reference leaves open"),
        Kind("shape-not-static", SLOW, "an extent that the reference knows is found at run time"),
        Kind("shape-static", UNSAFE, "an extent is fixed that the reference leaves open"),
        Kind("constant-as-runtime", SLOW, "a constant of the reference comes in at run time"),
        # hints
        Kind("hint-lost", SLOW, "a compiler hint of the reference is not given"),
        Kind("hint-extra", SLOW, "a compiler hint is given that the reference does not give"),
        Kind("hint-changed", SLOW, "a compiler hint has another value"),
        # the rest
        Kind("zero-sign", NOTE, "the sign of a zero may differ"),
        Kind("division-unguarded", UNSAFE, "a division runs where the reference skips it"),
        Kind("op-missing", WRONG, "an operation of the reference is missing"),
        Kind("op-extra", WRONG, "there is an operation that the reference does not have"),
        Kind("op-changed", WRONG, "something else is computed"),
        Kind("value-changed", WRONG, "another value is used"),
        Kind("structure-changed", WRONG, "the same operations are put together differently"),
    )
}


def severity_of(kind: str) -> Severity:
    """How bad a kind of difference is."""
    return KINDS[kind].severity
