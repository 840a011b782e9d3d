"""What the type of a tensor parameter declares of an array, and what the launcher finds in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileport.verify.model import ArraySpec, Severity
from tileport.verify.port.model import PortParameter
from tileport.verify.port.names import Leaf
from tileport.verify.port.state import LAUNCHER, BindState


def declare_array(state: BindState, parameter: PortParameter, leaf: Leaf, spec: ArraySpec) -> None:
    """What a tensor parameter declares by its type, and what the launcher finds by itself."""
    name, line = leaf.name, parameter.line
    state.facts.settle(name, "declared", parameter.rust_type, line)
    state.facts.settle(f"{name}.ptr", "inferred", LAUNCHER)
    state.facts.settle(f"{name}.alias", "inferred", LAUNCHER)
    for at, stride in enumerate(spec.stride_constant):
        state.facts.settle(f"{name}.stride[{at}]", "inferred", LAUNCHER)
        if stride is not None and stride != 1:
            severity = state.find(
                "stride-not-static",
                Severity.SLOW,
                f"Python fixed {name}.stride[{at}] to {stride}; a tensor of cutile knows no "
                "constant stride but 1.",
                line=line,
                python=leaf.place,
                reference=str(stride),
                port=parameter.rust_type,
            )
            state.facts.settle(name, "missing", parameter.rust_type, line, severity)
    if spec.index_dtype != "i32":
        severity = state.find(
            "index-width-changed",
            Severity.WRONG,
            f"Python counts the elements of {name} with {spec.index_dtype}; a tensor of cutile "
            "has extents and strides of i32.",
            line=line,
            python=leaf.place,
            reference=f"{spec.index_dtype} index",
            port=parameter.rust_type,
            remedy=f"take {name} as raw pointer with extents of {spec.index_dtype}",
        )
        state.facts.settle(name, "contradicted", parameter.rust_type, line, severity)
    if spec.alias_groups:
        state.facts.settle(f"{name}.groups", "inferred", LAUNCHER)


def declare_shape(state: BindState, parameter: PortParameter, leaf: Leaf, spec: ArraySpec) -> None:
    """Extents of a tensor: static in Python and in Rust, in one of them, or in neither."""
    static = static_extents(state, parameter)
    if static is None:
        return
    written = parameter.shape or (parameter.shape_generic,) * len(static)
    for at, (python, rust) in enumerate(zip(spec.shape_constant, static, strict=True)):
        sample = spec.sample_shape[at] if at < len(spec.sample_shape) else None
        extent = _Extent(f"{leaf.name}.shape[{at}]", python, rust, written[at], sample)
        _declare_extent(state, parameter, leaf, extent)
    dynamic = [at for at, extent in enumerate(static) if extent is None]
    mutable = parameter.kind != "tensor"
    # The view of an output is made with dynamic extents, whatever the tile is.
    _check_order(state, parameter, leaf, "shape", list(range(len(static))) if mutable else dynamic)
    strides = [at for at, stride in enumerate(spec.stride_constant) if stride != 1]
    _check_order(state, parameter, leaf, "stride", strides)


def static_extents(state: BindState, parameter: PortParameter) -> list[int | None] | None:
    """The extents the type of a tensor fixes; None for each that is dynamic."""
    if parameter.shape is None:
        values = state.generics.get(parameter.shape_generic)
        if values is None:
            return None
        texts: Sequence[str] = values
    else:
        texts = parameter.shape
    extents: list[int | None] = []
    for text in texts:
        value = _extent(state, text)
        if value is None:
            return None
        extents.append(None if value == -1 else value)
    return extents


def _extent(state: BindState, text: str) -> int | None:
    """The value of `-1`, `64`, `H` or `S[1]`; None for what has none yet."""
    name, _, index = text.rstrip("]").partition("[")
    values = state.generics.get(name)
    if values is not None:
        at = int(index) if index.isdigit() else 0
        text = values[at] if at < len(values) else ""
    try:
        return int(text.replace("_", ""))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Extent:
    """One dimension of a tensor: what it is in the array's constraint and in the type."""

    key: str
    python: int | None
    rust: int | None
    written: str
    sample: int | None


def _declare_extent(
    state: BindState, parameter: PortParameter, leaf: Leaf, extent: _Extent
) -> None:
    key, line, python, rust = extent.key, parameter.line, extent.python, extent.rust
    if parameter.kind != "tensor" or (python is None and rust is None):
        # The shape in the type of an output is that of its tile, and says nothing of the array.
        state.facts.settle(key, "inferred", LAUNCHER)
    elif python is None:
        _declare_fixed(state, parameter, leaf, extent)
    elif rust is None:
        # cuda-tile fixes every extent of 1 of an array without annotation: no declaration in the
        # Rust would be right for the other launches, so what it costs is left to the comparison.
        chance = python == 1 and not leaf.annotation
        severity = state.find(
            "shape-not-static",
            Severity.NOTE if chance else Severity.SLOW,
            f"Python fixed {key} to {python}; the port reads it at run time.",
            line=line,
            python=leaf.place,
            reference=str(python),
            port=parameter.rust_type,
            remedy=f"write {python}, or a const generic for it, in place of -1",
        )
        state.facts.settle(key, "missing", extent.written, line, severity)
    elif python == rust:
        state.facts.settle(key, "declared", extent.written, line)
    else:
        severity = state.find(
            "shape-changed",
            Severity.WRONG,
            f"{key} is {python} in Python and {rust} in the port.",
            line=line,
            python=leaf.place,
            reference=str(python),
            port=f"{extent.written} = {rust}",
        )
        state.facts.settle(key, "contradicted", extent.written, line, severity)


def _declare_fixed(state: BindState, parameter: PortParameter, leaf: Leaf, extent: _Extent) -> None:
    """An extent that is static in Rust only."""
    rust, written = extent.rust, extent.written
    same = extent.sample in (None, rust)
    meaning = (
        f"the port is right only where it is {written}"
        if same
        else f"it is {extent.sample} here, and the port has {rust}"
    )
    state.find(
        "shape-static",
        Severity.UNSAFE if same else Severity.WRONG,
        f"Python reads {extent.key} at run time; {meaning}.",
        line=parameter.line,
        python=leaf.place,
        reference=f"{extent.key}: known at run time",
        port=f"{written} = {rust}" if written != str(rust) else written,
        remedy="write -1, or make it static in Python too",
    )
    state.facts.settle(extent.key, "inferred", LAUNCHER)


def _check_order(
    state: BindState, parameter: PortParameter, leaf: Leaf, part: str, dynamic: list[int]
) -> None:
    """Tells where cutile's own launcher would put a divisibility on the wrong dimension.

    The entry generator of cutile 0.5.0 counts dynamic dimensions where its launcher counts all of
    them, so with a static dimension, or a stride of 1, in front of a dynamic one the fact goes to
    the wrong one, silently. What tileport compiles and builds has the facts where they belong
    (see `parameters`), so this is about launching the port through cutile's own host code.
    """
    spec = leaf.spec
    assert isinstance(spec, ArraySpec)
    divisors = spec.shape_divisible_by if part == "shape" else spec.stride_divisible_by
    for count, at in enumerate(dynamic):
        given, own = divisors[count], divisors[at]
        if given == own:
            continue
        unsafe = own % given != 0
        meaning = (
            f"would be promised to be divisible by {given}, as {leaf.name}.{part}[{count}] is"
            if unsafe
            else f"would not be known to be divisible by {own}"
        )
        state.find(
            "divisibility-shifted",
            Severity.UNSAFE if unsafe else Severity.NOTE,
            f"Launched through cutile's own host code, {leaf.name}.{part}[{at}] {meaning}: "
            "cutile 0.5.0 mixes up dimensions.",
            line=parameter.line,
            python=leaf.place,
            reference=f"{part}[{at}] divisible by {own}",
            port=f"divisible by {given}",
            remedy="launch it with what tileport builds, or keep dimensions dynamic up to the "
            "last dynamic one",
        )
