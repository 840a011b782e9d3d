"""Values for an entry's generic parameters."""

from __future__ import annotations

from collections.abc import Iterator

from tileport.verify.model import ArraySpec, ConstantSpec, ListSpec, Place, ScalarSpec, Severity
from tileport.verify.port.dtypes import RUST_ELEMENTS, rust_name
from tileport.verify.port.model import PortGeneric, PortParameter
from tileport.verify.port.names import Leaf, Target, target_of
from tileport.verify.port.state import BindState


def bind_generics(state: BindState) -> bool:
    """Finds a value for each generic; whether there is one for all of them."""
    complete = True
    for generic in state.entry.generics:
        values: tuple[str, ...] | None
        if generic.kind == "type":
            value = _type_value(state, generic)
            values = (value,) if value else None
        else:
            values = _const_values(state, generic)
        if values is None:
            complete = False
        else:
            state.generics[generic.name] = values
    return complete


# ---------------------------------------------------------------- element types


def element_of(target: Target) -> str | None:
    """The Rust element type of what a parameter stands for; None where it has none."""
    spec = target.leaf.spec
    match spec:
        case ArraySpec(dtype=dtype):
            return rust_name(spec.index_dtype if target.part in ("shape", "stride") else dtype)
        case ScalarSpec(dtype=dtype):
            return rust_name(dtype)
        case ListSpec():
            # cuda-tile passes a list as pointers to descriptors of 64-bit words, and a length.
            return "i64" if target.part == "ptr" else "i32"
        case ConstantSpec():
            return None


def parameter_target(state: BindState, parameter: PortParameter) -> Target | None:
    """What a parameter stands for; a raw pointer named like an array is the array's pointer."""
    target = target_of(parameter.name, state.entry.aliases.get(parameter.name), state.leaves)
    if target is None or parameter.kind != "pointer" or target.part:
        return target
    is_array = isinstance(target.leaf.spec, ArraySpec | ListSpec)
    return Target(target.leaf, "ptr") if is_array else target


def _uses(state: BindState, name: str) -> Iterator[tuple[str, PortParameter, Target]]:
    """The parameters that have the generic element type `name`, and what it is for them."""
    for parameter in state.entry.parameters:
        if parameter.element == name:
            target = parameter_target(state, parameter)
            dtype = element_of(target) if target is not None else None
            if target is not None and dtype is not None:
                yield dtype, parameter, target


def _type_value(state: BindState, generic: PortGeneric) -> str | None:
    alias = state.entry.aliases.get(generic.name)
    leaf = state.leaves.get(alias or generic.name)
    if leaf is not None and isinstance(leaf.spec, ConstantSpec):
        return _dtype_constant(state, generic, leaf)
    if alias is not None:
        target = target_of(generic.name, alias, state.leaves)
        dtype = element_of(target) if target is not None else None
        if dtype is not None:
            return dtype
        if alias in RUST_ELEMENTS:
            return alias
    uses = list(_uses(state, generic.name))
    if not uses:
        state.find(
            "generic-unbound",
            Severity.WRONG,
            f"Nothing says which type {generic.name} is: no parameter has it as element type.",
            line=generic.line,
            remedy=f"write `/// tileport: {generic.name} = PYTHON_NAME` above the entry",
        )
        return None
    value, first, _ = uses[0]
    for dtype, parameter, target in uses[1:]:
        if dtype != value:
            state.find(
                "type-contradiction",
                Severity.WRONG,
                f"{generic.name} would have to be {value} for {first.name} and {dtype} for "
                f"{parameter.name}.",
                line=parameter.line,
                python=target.leaf.place,
                reference=f"{target.leaf.name}: {dtype}",
                port=f"{parameter.name}: {parameter.rust_type}",
                remedy="give the entry a generic for each element type",
            )
            break
    return value


def _dtype_constant(state: BindState, generic: PortGeneric, leaf: Leaf) -> str | None:
    spec = leaf.spec
    assert isinstance(spec, ConstantSpec)
    dtype = rust_name(str(spec.value))
    state.covered.add(leaf.name)
    if dtype in RUST_ELEMENTS:
        state.facts.settle(leaf.name, "declared", generic.name, generic.line)
        return dtype
    severity = state.find(
        "generic-unbound",
        Severity.WRONG,
        f"{generic.name} is a type and {leaf.name} is {spec.value}.",
        line=generic.line,
        python=leaf.place,
    )
    state.facts.settle(leaf.name, "contradicted", generic.name, generic.line, severity)
    return None


# ---------------------------------------------------------------- const generics


def _const_values(state: BindState, generic: PortGeneric) -> tuple[str, ...] | None:
    alias = state.entry.aliases.get(generic.name)
    if generic.length is not None:
        return _array_values(state, generic, alias or generic.name)
    target = target_of(generic.name, alias, state.leaves)
    if target is not None and isinstance(target.leaf.spec, ConstantSpec) and not target.part:
        return _constant_value(state, generic, target.leaf)
    if target is not None and target.part in ("shape", "stride"):
        return _extent_value(state, generic, target)
    if target is not None and isinstance(target.leaf.spec, ScalarSpec):
        return _scalar_value(state, generic, target.leaf)
    folded = next((f for f in state.variant.folded if f.name == (alias or generic.name)), None)
    value = _number(folded.value) if folded is not None else None
    if folded is not None and value is not None:
        text = _rust_value(value, generic)
        if text is not None:
            key = f"folded:{folded.name}"
            state.facts.settle(key, "declared", _declaration(generic), generic.line)
            return (text,)
    if alias is not None and (plain := _number(alias)) is not None:
        text = _rust_value(plain, generic)
        if text is not None:
            return (text,)
    state.find(
        "generic-unknown",
        Severity.WRONG,
        f"Nothing in the Python kernel is called {alias or generic.name}, so {generic.name} has "
        "no value.",
        line=state.entry.alias_lines.get(generic.name, generic.line),
        port=_declaration(generic),
        remedy=f"write `/// tileport: {generic.name} = PYTHON_NAME` above the entry",
    )
    return None


def _declaration(generic: PortGeneric) -> str:
    return f"const {generic.name}: {generic.rust_type}"


def _constant_value(state: BindState, generic: PortGeneric, leaf: Leaf) -> tuple[str, ...] | None:
    spec = leaf.spec
    assert isinstance(spec, ConstantSpec)
    state.covered.add(leaf.name)
    text = _rust_value(spec.value, generic)
    if text is not None:
        state.facts.settle(leaf.name, "declared", _declaration(generic), generic.line)
        return (text,)
    severity = state.find(
        "constant-type",
        Severity.WRONG,
        f"{leaf.name} is {spec.value!r} in Python, which is no {generic.rust_type}.",
        line=generic.line,
        python=leaf.place,
        reference=f"{leaf.name} = {spec.value!r}",
        port=_declaration(generic),
    )
    state.facts.settle(leaf.name, "contradicted", _declaration(generic), generic.line, severity)
    return None


def _extent_value(state: BindState, generic: PortGeneric, target: Target) -> tuple[str, ...] | None:
    """A const generic for a static extent or stride (`/// tileport: H = q.shape[1]`)."""
    spec = target.leaf.spec
    assert isinstance(spec, ArraySpec)
    constants = spec.shape_constant if target.part == "shape" else spec.stride_constant
    samples = spec.sample_shape if target.part == "shape" else spec.sample_strides
    value = constants[target.index]
    if value is None:
        if target.index >= len(samples):
            return None
        value = samples[target.index]
        state.find(
            "scalar-as-constant",
            Severity.WRONG,
            f"Python reads {target.identity} at run time; the port is compiled for {value} only.",
            line=generic.line,
            python=target.leaf.place,
            reference=f"{target.identity}: known at run time",
            port=_declaration(generic),
            remedy="make it static in Python too, or read it at run time in the port",
        )
    else:
        state.facts.settle(target.identity, "declared", _declaration(generic), generic.line)
    return (str(value),)


def _scalar_value(state: BindState, generic: PortGeneric, leaf: Leaf) -> tuple[str, ...] | None:
    spec = leaf.spec
    assert isinstance(spec, ScalarSpec)
    state.covered.add(leaf.name)
    text = _rust_value(spec.sample, generic)
    severity = state.find(
        "scalar-as-constant",
        Severity.WRONG,
        f"Python takes {leaf.name} at run time; the port is compiled for {spec.sample} only.",
        line=generic.line,
        python=leaf.place,
        reference=f"{leaf.name}: {spec.dtype}",
        port=_declaration(generic),
        remedy=f"make it a parameter: `{leaf.name}: {rust_name(spec.dtype)}`",
    )
    state.facts.settle(leaf.name, "contradicted", _declaration(generic), generic.line, severity)
    return (text,) if text is not None else None


def _array_values(state: BindState, generic: PortGeneric, name: str) -> tuple[str, ...] | None:
    """Values of `const S: [i32; N]` from a tuple of constants."""
    values: list[str] = []
    place: Place | None = None
    for at in range(generic.length or 0):
        leaf = state.leaves.get(f"{name}[{at}]")
        text = None
        if leaf is not None and isinstance(leaf.spec, ConstantSpec):
            place = leaf.place
            text = _integer(leaf.spec.value)
            state.covered.add(leaf.name)
            state.facts.settle(leaf.name, "declared", _declaration(generic), generic.line)
        if text is None:
            break
        values.append(text)
    extra = f"{name}[{generic.length}]" in state.leaves
    if len(values) == generic.length and not extra:
        return tuple(values)
    state.find(
        "generic-unknown",
        Severity.WRONG,
        f"{name} is no tuple of {generic.length} integer constants in the Python kernel.",
        line=generic.line,
        python=place,
        port=_declaration(generic),
        remedy=f"write `/// tileport: {generic.name} = PYTHON_NAME` above the entry",
    )
    return None


def _rust_value(value: object, generic: PortGeneric) -> str | None:
    """A Python constant as the text of a const generic of that type; None where it is none."""
    if generic.rust_type == "bool":
        if isinstance(value, bool) or value in (0, 1):
            return "true" if value else "false"
        return None
    return _integer(value)


def _integer(value: object) -> str | None:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and -(2**31) <= value < 2**31:
        return str(value)
    return None


def _number(text: str) -> int | float | bool | None:
    """The number or truth value a text spells."""
    if text in ("True", "False", "true", "false"):
        return text in ("True", "true")
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None
