"""Holds an entry of a port against a variant: generic values, parameter identities, findings.

What cutile's launcher finds in the arguments of a launch (kernel_launcher_generator.rs and
specialization.rs of cutile 0.5.0): for `&Tensor` the divisibility of shape, strides and address,
which strides are 1, and whether elements share memory; for raw pointers the divisibility of the
address; for integer scalars that of the value. All of it is given to the compiler as Python
recorded it, so both sides are compared under the same facts. A Python runtime scalar carries no
such fact, so its Rust counterpart gets none.

What must be written in the Rust: const generics, element types, rank, static extents, hints per
target, and for raw pointers all arithmetic and every assumption about what is computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileport.verify.compile.model import BYTECODE_VERSION, CompileRequest
from tileport.verify.model import Variant
from tileport.verify.port.constants import declare_constants, declare_folded
from tileport.verify.port.generics import bind_generics
from tileport.verify.port.hints import declare_hints
from tileport.verify.port.model import Binding, PortEntry, PortFile
from tileport.verify.port.names import flattened
from tileport.verify.port.parameters import bind_parameters
from tileport.verify.port.state import BindState


def bind(
    entry: PortEntry, port: PortFile, variant: Variant, siblings: Sequence[Variant] = ()
) -> Binding:
    """What the compiler is asked for, which parameter is which, and what is not declared.

    Args:
        entry: The entry that ports the variant's kernel.
        port: The file it is in.
        variant: One specialization, for one target.
        siblings: Other variants of the kernel; a constant the port does not declare is worse
            where they have other values for it.
    """
    state = BindState(entry, port, variant)
    bound = bind_generics(state)
    bind_parameters(state)
    declare_hints(state)
    declare_constants(state, siblings)
    declare_folded(state)
    request: CompileRequest | None = None
    if bound:
        request = CompileRequest(
            path=port.path,
            text=port.text,
            entry=entry.name,
            generics=tuple(
                value for generic in entry.generics for value in state.generics[generic.name]
            ),
            tensors=tuple(state.tensors),
            scalar_divs=state.scalar_divs,
            options=state.options,
            target=variant.target,
            bytecode_version=variant.bytecode_version or BYTECODE_VERSION,
        )
    # A signature that a person is in the middle of typing would give a finding for each name.
    findings = tuple(state.findings) if entry.complete else ()
    return Binding(
        request=request,
        reference_parameters=flattened(variant),
        port_parameters=tuple(state.port_parameters),
        constants=state.constants,
        findings=findings,
        facts=state.facts.rows(),
    )
