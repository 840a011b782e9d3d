"""Compares a port's entry with that of the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tileport.verify.diff.align import Aligner
from tileport.verify.diff.inputs import Inputs, common_facts
from tileport.verify.diff.model import Comparison
from tileport.verify.diff.report import Report
from tileport.verify.errors import TileportError
from tileport.verify.ir.canonical import Constant, globals_of
from tileport.verify.ir.canonical.memory import Aliasing
from tileport.verify.ir.model import Entry, Module


def compare(
    reference: Module,
    port: Module,
    *,
    target: str,
    reference_parameters: Sequence[str],
    port_parameters: Sequence[str],
    constants: Mapping[str, Constant] | None = None,
    alias_groups: Mapping[str, tuple[str, ...]] | None = None,
    python_source: str = "",
    rust: str = "",
    reference_entry: str | None = None,
    port_entry: str | None = None,
) -> Comparison:
    """Say whether two entries mean the same, and if not, where and how they differ.

    Args:
        reference: The module of the Python side.
        port: The module of the Rust side.
        target: Whose optimization hints count, e.g. `sm_90`.
        reference_parameters: Identity of each flattened parameter of the reference entry.
        port_parameters: The same for the port; `const:NAME` for a runtime parameter that stands
            for the Python constant NAME.
        constants: Values of those constants.
        alias_groups: By array name, the alias groups of the launch: arrays that share none do not
            overlap. Without it any two arrays may.
        python_source: Path of the operator's source; its lines are those of the findings.
        rust: Path of the port.
        reference_entry: Name of the entry, where the module has several.
        port_entry: The same for the port.

    Raises:
        TileportError: an entry is missing, its parameters do not match the identities, or a
            module holds something that cannot be compared.
    """
    if any(identity.startswith("const:") for identity in reference_parameters):
        raise TileportError("a parameter of the reference stands for a constant of its own")
    inputs = Inputs(
        reference=_entry(reference, reference_entry, "reference"),
        port=_entry(port, port_entry, "port"),
        target=target,
        reference_parameters=reference_parameters,
        port_parameters=port_parameters,
        constants=constants or {},
        aliasing=Aliasing(alias_groups),
        reference_globals=globals_of(reference),
        port_globals=globals_of(port),
        python_source=python_source,
        rust=rust,
    )
    left, right = inputs.canonical()
    hashes = left.hash, right.hash
    relied = frozenset(each.key for side in (left, right) for each in side.reliances)
    same = left.hash == right.hash
    if not same:
        limits = common_facts(left, right)
        if limits:
            # With unequal promises the rules go different ways; compare on what both promise.
            left, right = inputs.canonical(limits=limits)
    report = Report(inputs, Aligner(left, right).run(), relied)
    if not same:
        report.differences()
    report.guards()
    report.bound_constants()
    if same:
        report.spent_promises()
    report.reliances(same)
    if not same and not report.findings:
        report.structure()
    return report.comparison(same, hashes)


def _entry(module: Module, name: str | None, side: str) -> Entry:
    try:
        return module.entry(name)
    except KeyError:
        have = ", ".join(each.name for each in module.entries) or "none"
        raise TileportError(
            f"the {side} has no entry {name or 'of its own'} (it has: {have})",
            todo="name the entry",
        ) from None
