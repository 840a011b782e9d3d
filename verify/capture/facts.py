"""What Python fixed for one launch, from cuda.tile's own description of it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any

from cuda.tile._by_target import UNSPECIFIED, ByTarget
from cuda.tile.compilation import (
    ArrayConstraint,
    ConstantConstraint,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    TupleConstraint,
)

from tileport.verify.capture import source
from tileport.verify.model import (
    ArraySpec,
    ConstantSpec,
    Hints,
    Kernel,
    ListSpec,
    Parameter,
    ParameterSpec,
    Place,
    ScalarSpec,
    TupleSpec,
)

#: cuda.tile's names of dtypes in Tile IR's spelling. Tile IR's integers have no sign, but a
#: port's have, so unsigned ones keep theirs.
DTYPES: Mapping[str, str] = {
    "bool_": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "tfloat32": "tf32",
    "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float4_e2m1fn": "f4E2M1FN",
}


def dtype_name(dtype: Any) -> str:
    """Short Tile IR name of a cuda.tile dtype; its own name where Tile IR has none."""
    name = str(dtype.name)
    return DTYPES.get(name, name)


def _array(constraint: Any, sample: Any) -> ArraySpec:
    shape = tuple(int(n) for n in sample.shape)
    strides = sample.stride() if callable(getattr(sample, "stride", None)) else ()
    return ArraySpec(
        dtype=dtype_name(constraint.dtype),
        rank=constraint.ndim,
        index_dtype=dtype_name(constraint.index_dtype),
        stride_constant=tuple(constraint.stride_constant),
        shape_constant=tuple(constraint.shape_constant),
        stride_divisible_by=tuple(constraint.stride_divisible_by),
        shape_divisible_by=tuple(constraint.shape_divisible_by),
        base_divisible_by=constraint.base_addr_divisible_by,
        stride_lower_bound=tuple(constraint.stride_lower_bound_incl),
        may_alias_internally=constraint.may_alias_internally,
        alias_groups=tuple(constraint.alias_groups),
        sample_shape=shape,
        sample_strides=tuple(int(n) for n in strides),
    )


def _plain(value: float) -> float | str:
    """A number as JSON can hold it: infinities and NaN as `inf`, `-inf`, `nan`."""
    return value if math.isfinite(value) else str(value)


def _constant(value: Any) -> ConstantSpec:
    if isinstance(value, float):
        return ConstantSpec(value=_plain(value), python_type="float")
    if value is None or isinstance(value, bool | int | str):
        return ConstantSpec(value=value, python_type=type(value).__name__)
    return ConstantSpec(value=str(getattr(value, "name", value)), python_type=type(value).__name__)


def _spec(constraint: Any, sample: Any) -> ParameterSpec:
    match constraint:
        case ArrayConstraint():
            return _array(constraint, sample)
        case ConstantConstraint():
            return _constant(constraint.value)
        case ScalarConstraint():
            value = _plain(sample) if isinstance(sample, float) else sample
            return ScalarSpec(dtype=dtype_name(constraint.dtype), sample=value)
        case ListConstraint():
            return ListSpec(
                element=_array(constraint.element, sample[0]),
                length=len(sample),
                alias_groups=tuple(constraint.alias_groups),
                elements_may_alias=constraint.elements_may_alias,
            )
        case TupleConstraint():
            pairs = zip(constraint.items, sample, strict=True)
            return TupleSpec(items=tuple(_spec(item, value) for item, value in pairs))
    raise TypeError(f"{type(constraint).__name__} is not known to tileport")


def parameters_of(
    kernel: Any, signature: KernelSignature, args: tuple[Any, ...]
) -> tuple[Parameter, ...]:
    """Each parameter of a kernel with what the launch fixed for it.

    Args:
        kernel: A `cuda.tile.kernel`.
        signature: Of the launch.
        args: Of the launch; they give the samples.
    """
    function = kernel._pyfunc
    written = source.parameters(function)
    fallback = (Place(function.__code__.co_filename, function.__code__.co_firstlineno), "")
    result = []
    for name, constraint, sample in zip(
        inspect.signature(function).parameters, signature.parameters, args, strict=True
    ):
        place, annotation = written.get(name, fallback)
        spec = _spec(constraint, sample)
        result.append(Parameter(name=name, place=place, spec=spec, annotation=annotation))
    return tuple(result)


def kernel_of(kernel: Any) -> Kernel:
    """Name and place of a kernel's function."""
    function = kernel._pyfunc
    place, end = source.function_place(function)
    return Kernel(name=function.__name__, qualname=function.__qualname__, place=place, end_line=end)


def hints_for(kernel: Any, target: str) -> Hints:
    """The compiler options of a kernel that hold on a target, `ByTarget` resolved.

    An `opt_level` of 3 is what cuda.tile sets itself, so it counts as not set.
    """
    options = kernel._compiler_options

    def value(name: str) -> int | None:
        option = getattr(options, name)
        if isinstance(option, ByTarget):
            option = option._by_target.get(target, option._default)
        return None if option is UNSPECIFIED else option

    opt_level = value("opt_level")
    return Hints(
        occupancy=value("occupancy"),
        num_ctas=value("num_ctas"),
        num_worker_warps=value("num_worker_warps"),
        opt_level=None if opt_level == 3 else opt_level,
    )
