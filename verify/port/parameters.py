"""Which Python parameter each Rust parameter is, and how each flattens in the IR entry."""

from __future__ import annotations

from tileport.verify.compile.model import TensorSpecialization
from tileport.verify.model import ArraySpec, ConstantSpec, ListSpec, ScalarSpec, Severity
from tileport.verify.port.arrays import declare_array, declare_shape, static_extents
from tileport.verify.port.dtypes import RUST_ELEMENTS
from tileport.verify.port.generics import element_of, parameter_target
from tileport.verify.port.model import PortParameter
from tileport.verify.port.names import Leaf, Target, array_parts
from tileport.verify.port.python_source import uses_of
from tileport.verify.port.state import LAUNCHER, BindState


def bind_parameters(state: BindState) -> None:
    """Names every flattened parameter of the port's IR entry, and what Python has besides."""
    for parameter in state.entry.parameters:
        target = parameter_target(state, parameter)
        if parameter.kind in ("tensor", "tensor_mut", "mapped"):
            _tensor(state, parameter, target)
        else:
            _scalar(state, parameter, target)
    _left_out(state)


# ---------------------------------------------------------------- tensors


def _tensor(state: BindState, parameter: PortParameter, target: Target | None) -> None:
    rank = _rank(state, parameter)
    leaf = target.leaf if target is not None and not target.part else None
    name = f"rust:{parameter.name}"
    spec: ArraySpec | None = None
    if leaf is not None and isinstance(leaf.spec, ArraySpec):
        name, spec = leaf.name, leaf.spec
        state.covered.add(leaf.name)
        _check_rank(state, parameter, leaf, spec, rank)
        _check_element(state, parameter, Target(leaf))
    else:
        _unknown(state, parameter, "array")
    state.port_parameters += array_parts(name, rank)
    if parameter.kind != "tensor":
        # cutile passes the partition of an output as well; its IR does not use it.
        state.port_parameters += [
            *(f"{name}.partition_shape[{at}]" for at in range(rank)),
            *(f"{name}.partition_stride[{at}]" for at in range(rank)),
        ]
    static = static_extents(state, parameter) if parameter.kind == "tensor" else None
    state.tensors.append(_specialization(parameter.name, spec, rank, static))
    if leaf is not None and spec is not None and spec.rank == rank:
        declare_array(state, parameter, leaf, spec)
        declare_shape(state, parameter, leaf, spec)


def _rank(state: BindState, parameter: PortParameter) -> int:
    if parameter.rank is not None:
        return parameter.rank
    values = state.generics.get(parameter.shape_generic)
    return len(values) if values is not None else 0


def _specialization(
    name: str, spec: ArraySpec | None, rank: int, static: list[int | None] | None
) -> TensorSpecialization:
    """What cutile's launcher would find in the array, as far as Python recorded it.

    Divisibilities are put where cutile 0.5.0 reads them: its entry generator takes the n-th value
    for the n-th dynamic dimension, not for dimension n (kernel_entry_generator.rs). So what is
    compiled has Python's facts on the right dimensions; that cutile's own launcher, which counts
    all dimensions, would not put them there is the finding `divisibility-shifted`.

    Args:
        name: Of the Rust parameter.
        spec: Of the array, None where the parameter stands for none.
        rank: Of the Rust parameter.
        static: The extents its view has by type; None for all dynamic.
    """
    if spec is None or spec.rank != rank:
        return TensorSpecialization(
            name=name,
            strides=(-1,) * rank,
            shape_div=(1,) * rank,
            stride_div=(1,) * rank,
            base_div=spec.base_divisible_by if spec is not None else 1,
            stride_one=(False,) * rank,
            disjoint=spec is None or not spec.may_alias_internally,
        )
    ones = tuple(stride == 1 for stride in spec.stride_constant)
    extents = static if static is not None else [None] * rank
    return TensorSpecialization(
        name=name,
        strides=tuple(1 if one else -1 for one in ones),
        shape_div=_as_read(spec.shape_divisible_by, [each is None for each in extents]),
        stride_div=_as_read(spec.stride_divisible_by, [not one for one in ones]),
        base_div=spec.base_divisible_by,
        stride_one=ones,
        disjoint=not spec.may_alias_internally,
    )


def _as_read(divisors: tuple[int, ...], dynamic: list[bool]) -> tuple[int, ...]:
    """The divisors of dynamic dimensions first, in order, and 1 for the rest."""
    first = [divisor for divisor, is_dynamic in zip(divisors, dynamic, strict=True) if is_dynamic]
    return (*first, *(1,) * (len(divisors) - len(first)))


def _check_rank(
    state: BindState, parameter: PortParameter, leaf: Leaf, spec: ArraySpec, rank: int
) -> None:
    if spec.rank == rank:
        return
    severity = state.find(
        "rank-changed",
        Severity.WRONG,
        f"{leaf.name} has {spec.rank} dimensions in Python and {rank} in the port.",
        line=parameter.line,
        python=leaf.place,
        reference=f"rank {spec.rank}",
        port=parameter.rust_type,
        remedy=f"write the shape with {spec.rank} dimensions, -1 for each known at run time",
    )
    state.facts.settle(leaf.name, "contradicted", parameter.rust_type, parameter.line, severity)


def _check_element(state: BindState, parameter: PortParameter, target: Target) -> None:
    """A concrete element type has to be Python's; a generic one was checked with the generics."""
    wanted = element_of(target)
    if wanted is None or parameter.element == wanted or parameter.element not in RUST_ELEMENTS:
        return
    severity = state.find(
        "dtype-changed",
        Severity.WRONG,
        f"{target.identity} is {wanted} in Python and {parameter.element} in the port.",
        line=parameter.line,
        python=target.leaf.place,
        reference=wanted,
        port=parameter.rust_type,
        remedy=f"write {wanted}, or a generic where Python is called with several dtypes",
    )
    key = target.leaf.name if target.part in ("", "ptr") else target.identity
    state.facts.settle(key, "contradicted", parameter.rust_type, parameter.line, severity)


# ---------------------------------------------------------------- scalars and raw pointers


def _scalar(state: BindState, parameter: PortParameter, target: Target | None) -> None:
    if target is None:
        _unknown(state, parameter, "pointer" if parameter.kind == "pointer" else "value")
        state.port_parameters.append(f"rust:{parameter.name}")
        return
    leaf, spec = target.leaf, target.leaf.spec
    pointer = parameter.kind == "pointer"
    if isinstance(spec, ConstantSpec):
        _constant_at_run_time(state, parameter, leaf, spec)
        return
    whole = isinstance(spec, ArraySpec | ListSpec) and not target.part
    if whole or pointer != (target.part == "ptr"):
        _unknown(state, parameter, "pointer" if pointer else "value")
        state.port_parameters.append(f"rust:{parameter.name}")
        return
    state.covered.add(leaf.name)
    state.port_parameters.append(target.identity)
    _check_element(state, parameter, target)
    if isinstance(spec, ArraySpec):
        _array_part(state, parameter, target, spec)
    else:
        state.facts.settle(leaf.name, "declared", _written(parameter), parameter.line)


def _written(parameter: PortParameter) -> str:
    return f"{parameter.name}: {parameter.rust_type}"


def _array_part(
    state: BindState, parameter: PortParameter, target: Target, spec: ArraySpec
) -> None:
    """A raw pointer, extent or stride of an array that the port takes apart."""
    name, line = target.leaf.name, parameter.line
    if target.part == "ptr":
        divisor = spec.base_divisible_by
        state.facts.settle(name, "declared", _written(parameter), line)
        state.facts.settle(f"{name}.alias", "inferred", "raw pointers promise nothing")
        state.facts.settle(f"{name}.groups", "inferred", "raw pointers promise nothing")
    else:
        divisors = spec.shape_divisible_by if target.part == "shape" else spec.stride_divisible_by
        divisor = divisors[target.index]
    if divisor > 1:
        state.scalar_divs[parameter.name] = divisor
    fixed = spec.shape_constant[target.index] if target.part == "shape" else None
    # Whether the port computes with it or with a constant, the comparison of the IR tells.
    said = _written(parameter) if fixed is not None else LAUNCHER
    state.facts.settle(target.identity, "inferred", said, line)


def _constant_at_run_time(
    state: BindState, parameter: PortParameter, leaf: Leaf, spec: ConstantSpec
) -> None:
    """A Rust runtime scalar for a Python constant: right for that value, and slower."""
    state.covered.add(leaf.name)
    if isinstance(spec.value, str) or spec.value is None:
        _unknown(state, parameter, "value")
        state.port_parameters.append(f"rust:{parameter.name}")
        return
    state.port_parameters.append(f"const:{leaf.name}")
    state.constants[leaf.name] = spec.value
    severity = state.find(
        "constant-as-runtime",
        Severity.SLOW,
        f"{leaf.name} is a constant in Python and known at run time only in the port.",
        line=parameter.line,
        python=leaf.place,
        reference=f"{leaf.name} = {spec.value}",
        port=_written(parameter),
        remedy=f"make it a generic: `const {leaf.name}: i32`"
        if isinstance(spec.value, int)
        else "write the value into the port",
    )
    state.facts.settle(leaf.name, "missing", _written(parameter), parameter.line, severity)


# ---------------------------------------------------------------- what has no counterpart


def _unknown(state: BindState, parameter: PortParameter, what: str) -> None:
    alias = state.entry.aliases.get(parameter.name)
    called = f" called {alias}" if alias else f" called {parameter.name}"
    example = {"array": "PYTHON_NAME", "pointer": "PYTHON_NAME.ptr"}.get(what, "x.shape[0]")
    state.find(
        "parameter-unknown",
        Severity.WRONG,
        f"The Python kernel has no {what}{called} for the parameter {parameter.name}.",
        line=state.entry.alias_lines.get(parameter.name, parameter.line),
        port=_written(parameter),
        remedy=f"write `/// tileport: {parameter.name} = {example}` above the entry",
    )


def _left_out(state: BindState) -> None:
    """Arrays, lists and scalars of the Python kernel that the port does not take."""
    uses: dict[str, tuple[int, ...]] | None = None
    for leaf in state.leaves.values():
        if isinstance(leaf.spec, ConstantSpec):
            continue
        if leaf.name in state.covered:
            state.facts.settle_rest(leaf.name, "not taken by the port")
            continue
        uses = uses if uses is not None else uses_of(state.variant.kernel) or {}
        base = leaf.name.partition("[")[0]
        if uses and base not in uses:
            state.facts.settle_rest(leaf.name, "not used by the kernel")
            continue
        kind = "runtime scalar" if isinstance(leaf.spec, ScalarSpec) else "array"
        severity = state.find(
            "parameter-missing",
            Severity.WRONG,
            f"The port has no parameter for the {kind} {leaf.name}.",
            line=state.entry.line,
            python=leaf.place,
            reference=leaf.name,
            remedy=f"add a parameter {base}, or say which one it is: "
            f"`/// tileport: RUST_NAME = {leaf.name}`",
        )
        state.facts.settle(leaf.name, "missing", severity=severity)
