"""Python's parameters taken apart into what can be named, and what a Rust name stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tileport.verify.model import (
    ArraySpec,
    ConstantSpec,
    ListSpec,
    Parameter,
    ParameterSpec,
    Place,
    ScalarSpec,
    TupleSpec,
    Variant,
)

_TARGET = re.compile(r"([A-Za-z_]\w*(?:\[\d+\])*)(?:\.(ptr|len|shape|strides?)(?:\[(\d+)\])?)?")
#: Names that stand for a part of an array without being told: `x_ptr`, `x_shape0`, `x_stride_1`.
_PART = re.compile(r"(\w+?)_(ptr|len|(?:shape|dim|size|stride)_?(\d+))")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A parameter of the Python kernel, or an item of a tuple parameter (`pair[0]`)."""

    name: str
    spec: ArraySpec | ScalarSpec | ConstantSpec | ListSpec
    place: Place
    annotation: str


@dataclass(frozen=True, slots=True)
class Target:
    """What a Rust name stands for: a leaf, or with `part` a part of it.

    `part` is "", "ptr", "shape", "stride" or "len"; `index` is the dimension of a shape or stride.
    """

    leaf: Leaf
    part: str = ""
    index: int = 0

    @property
    def identity(self) -> str:
        """The name of the flattened parameter of the IR entry."""
        if self.part in ("shape", "stride"):
            return f"{self.leaf.name}.{self.part}[{self.index}]"
        return f"{self.leaf.name}.{self.part}" if self.part else self.leaf.name


def leaves(variant: Variant) -> dict[str, Leaf]:
    """Everything in the kernel's signature that has a value of its own, by name, in order."""
    found: dict[str, Leaf] = {}
    for parameter in variant.parameters:
        for leaf in _leaves(parameter, parameter.name, parameter.spec):
            found[leaf.name] = leaf
    return found


def _leaves(parameter: Parameter, name: str, spec: ParameterSpec) -> Iterator[Leaf]:
    if isinstance(spec, TupleSpec):
        for at, item in enumerate(spec.items):
            yield from _leaves(parameter, f"{name}[{at}]", item)
    else:
        yield Leaf(name, spec, parameter.place, parameter.annotation)


def flattened(variant: Variant) -> tuple[str, ...]:
    """The parameters of the reference's IR entry in order.

    An array is its pointer, shape and strides, whatever of them is constant; a list is a pointer
    and a length; a constant is none (measured on cuda-tile 1.7.0, both calling conventions).
    """
    names: list[str] = []
    for leaf in leaves(variant).values():
        match leaf.spec:
            case ArraySpec(rank=rank):
                names += array_parts(leaf.name, rank)
            case ListSpec():
                names += [f"{leaf.name}.ptr", f"{leaf.name}.len"]
            case ScalarSpec():
                names.append(leaf.name)
            case ConstantSpec():
                pass
    return tuple(names)


def array_parts(name: str, rank: int) -> list[str]:
    """`x.ptr`, `x.shape[0]`, ..., `x.stride[0]`, ...: how both front ends flatten an array."""
    return [
        f"{name}.ptr",
        *(f"{name}.shape[{at}]" for at in range(rank)),
        *(f"{name}.stride[{at}]" for at in range(rank)),
    ]


def target_of(name: str, alias: str | None, known: Mapping[str, Leaf]) -> Target | None:
    """What the Rust name `name` stands for in Python; None where nothing is called so.

    Args:
        name: Of a parameter or generic.
        alias: What a `tileport:` line says of it.
        known: The leaves.
    """
    if alias is not None:
        return _written_target(alias, known)
    if name in known:
        return Target(known[name])
    part = _PART.fullmatch(name)
    if part is not None and part[1] in known:
        kind = re.sub(r"_?\d+$", "", part[2])
        kind = {"dim": "shape", "size": "shape"}.get(kind, kind)
        return _checked(Target(known[part[1]], kind, int(part[3] or 0)))
    return None


def _written_target(alias: str, known: Mapping[str, Leaf]) -> Target | None:
    found = _TARGET.fullmatch(alias.replace(" ", ""))
    if found is None or found[1] not in known:
        return None
    part = (found[2] or "").removesuffix("s")
    if (part in ("shape", "stride")) != (found[3] is not None):
        return None
    return _checked(Target(known[found[1]], part, int(found[3] or 0)))


def _checked(target: Target) -> Target | None:
    """The target, or None where its leaf has no such part."""
    spec = target.leaf.spec
    if not target.part:
        return target
    if isinstance(spec, ListSpec):
        return target if target.part in ("ptr", "len") else None
    if isinstance(spec, ArraySpec) and target.part != "len" and target.index < spec.rank:
        return target
    return None
