"""The table of what Python fixed: one row a fact, in the order of the kernel's signature."""

from __future__ import annotations

from pathlib import PurePath

import msgspec

from tileport.verify.model import (
    ArraySpec,
    ConstantSpec,
    FoldedName,
    ListSpec,
    ScalarSpec,
    Severity,
    Variant,
)
from tileport.verify.port.model import FactRow, FactState
from tileport.verify.port.names import Leaf, leaves

#: Python's hints, what cutile calls them, and what a person reads.
HINTS = (
    ("occupancy", "occupancy"),
    ("num_ctas", "num_cta_in_cga"),
    ("num_worker_warps", "num_worker_warps_per_cta"),
)

_LAUNCH = "the launch"


class Facts:
    """Rows by key; every row begins as missing and is settled by whoever finds the declaration."""

    def __init__(self, variant: Variant) -> None:
        self._rows: dict[str, FactRow] = {}
        for leaf in leaves(variant).values():
            self._add_leaf(leaf)
        for folded in variant.folded:
            self._add_folded(folded, variant)
        for name, _ in HINTS:
            self._add_hint(name, getattr(variant.hints, name), variant)
        self._add_hint("opt_level", variant.hints.opt_level, variant)

    def settle(
        self,
        key: str,
        state: FactState,
        declared_as: str = "",
        line: int | None = None,
        severity: Severity | None = None,
    ) -> None:
        """Says how the fact `key` is declared; the first to say so wins, except for faults.

        A key nobody has a row for is passed over: it is a fact without interest.
        """
        row = self._rows.get(key)
        if row is None:
            return
        fault = state in ("missing", "contradicted")
        if row.declared_as and not fault:
            return
        self._rows[key] = msgspec.structs.replace(
            row, state=state, declared_as=declared_as, line=line, severity=severity
        )

    def settle_rest(self, name: str, declared_as: str) -> None:
        """Says of all facts of a parameter that nobody declared that they need not be."""
        for key, row in self._rows.items():
            own = key == name or key.startswith(f"{name}.")
            if own and row.state == "missing" and row.severity is None:
                self.settle(key, "inferred", declared_as)

    def rows(self) -> tuple[FactRow, ...]:
        """All rows in order."""
        return tuple(self._rows.values())

    def add(self, key: str, row: FactRow) -> None:
        """A row for something that Python did not fix and the port does."""
        self._rows[key] = row

    def _row(self, key: str, parameter: str, fact: str, origin: str, line: int) -> None:
        self._rows[key] = FactRow(parameter=parameter, fact=fact, origin=origin, python_line=line)

    # ------------------------------------------------------------ parameters

    def _add_leaf(self, leaf: Leaf) -> None:
        line = leaf.place.line
        match leaf.spec:
            case ArraySpec() as spec:
                self._add_array(leaf.name, spec, leaf.annotation, line)
            case ScalarSpec(dtype=dtype):
                self._row(leaf.name, leaf.name, f"{dtype}, known at run time", _LAUNCH, line)
            case ConstantSpec(value=value, python_type=kind):
                shown = f"{value}" if kind in ("int", "bool", "float") else f"{value} ({kind})"
                origin = leaf.annotation if "Constant" in leaf.annotation else "a constant argument"
                self._row(leaf.name, leaf.name, shown, origin, line)
            case ListSpec(element=element):
                fact = f"a list of arrays of {array_text(element)}"
                self._row(leaf.name, leaf.name, fact, _LAUNCH, line)

    def _add_array(self, name: str, spec: ArraySpec, annotation: str, line: int) -> None:
        self._row(name, name, array_text(spec), _LAUNCH, line)
        if spec.base_divisible_by > 1:
            fact = f"address divisible by {spec.base_divisible_by}"
            self._row(f"{name}.ptr", f"{name}.base", fact, _LAUNCH, line)
        for part, constants, divisors in (
            ("shape", spec.shape_constant, spec.shape_divisible_by),
            ("stride", spec.stride_constant, spec.stride_divisible_by),
        ):
            for at, (constant, divisor) in enumerate(zip(constants, divisors, strict=True)):
                key = f"{name}.{part}[{at}]"
                if constant is not None and part == "shape":
                    origin = annotation or _LAUNCH
                    self._row(key, f"{name}.{part}{at}", f"{constant}", origin, line)
                elif constant is None and divisor > 1:
                    fact = f"divisible by {divisor}"
                    self._row(key, f"{name}.{part}{at}", fact, _LAUNCH, line)
        sharing = "may share memory" if spec.may_alias_internally else "share no memory"
        self._row(f"{name}.alias", f"{name}.elements", sharing, _LAUNCH, line)
        if spec.alias_groups:
            fact = f"may overlap with {', '.join(spec.alias_groups)}"
            self._row(f"{name}.groups", f"{name}.alias", fact, _LAUNCH, line)

    # ------------------------------------------------------------ names and hints

    def _add_folded(self, folded: FoldedName, variant: Variant) -> None:
        origin = f"a module {folded.origin}" if folded.origin == "global" else "a closure"
        line = 0
        if folded.place is not None:
            same = folded.place.file == variant.kernel.place.file
            file = "py" if same else PurePath(folded.place.file).name
            origin += f", {file} {folded.place.line}"
            line = folded.place.line if same else 0
        self._row(f"folded:{folded.name}", folded.name, folded.value, origin, line)

    def _add_hint(self, name: str, value: int | None, variant: Variant) -> None:
        if value is not None:
            fact = f"{value} on {variant.target}"
            self._row(f"hint:{name}", name, fact, "@ct.kernel", variant.kernel.place.line)


def array_text(spec: ArraySpec) -> str:
    """`f16, rank 3, strides [?, ?, 1], i32 index`."""
    strides = ", ".join("?" if each is None else str(each) for each in spec.stride_constant)
    return f"{spec.dtype}, rank {spec.rank}, strides [{strides}], {spec.index_dtype} index"


def facts_of(variant: Variant) -> tuple[FactRow, ...]:
    """What Python fixed for a variant, where there is no port to hold against it."""
    return Facts(variant).rows()
