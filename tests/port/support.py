"""Variants and ports made up for the tests of this folder."""

from __future__ import annotations

from tileport.verify.model import (
    ArraySpec,
    ConstantSpec,
    Finding,
    FoldedName,
    Hints,
    Kernel,
    ListSpec,
    Parameter,
    ParameterSpec,
    Place,
    ScalarSpec,
    TupleSpec,
    Variant,
)
from tileport.verify.port import Binding, PortFile, bind, parse_port

SOURCE = "op.py"
PORT = "op.rs"


def array(
    dtype: str = "f16",
    rank: int = 2,
    *,
    index: str = "i32",
    shape: tuple[int | None, ...] | None = None,
    stride: tuple[int | None, ...] | None = None,
    shape_div: tuple[int, ...] | None = None,
    stride_div: tuple[int, ...] | None = None,
    base: int = 16,
    sample: tuple[int, ...] | None = None,
    alias: bool = False,
    groups: tuple[str, ...] = (),
) -> ArraySpec:
    sample = sample or tuple(64 if n is None else n for n in shape or (None,) * rank)
    return ArraySpec(
        dtype=dtype,
        rank=rank,
        index_dtype=index,
        stride_constant=stride or (*(None,) * (rank - 1), 1),
        shape_constant=shape or (None,) * rank,
        stride_divisible_by=stride_div or (*(8,) * (rank - 1), 1),
        shape_divisible_by=shape_div or (1,) * rank,
        base_divisible_by=base,
        stride_lower_bound=(0,) * rank,
        may_alias_internally=alias,
        alias_groups=groups,
        sample_shape=sample,
        sample_strides=(*(64,) * (rank - 1), 1),
    )


def scalar(dtype: str = "f32", sample: float = 0.5) -> ScalarSpec:
    return ScalarSpec(dtype=dtype, sample=sample)


def constant(value: int | float | bool | str | None, python_type: str = "") -> ConstantSpec:
    return ConstantSpec(value=value, python_type=python_type or type(value).__name__)


def pair(*items: ParameterSpec) -> TupleSpec:
    return TupleSpec(items=items)


def list_of(element: ArraySpec) -> ListSpec:
    return ListSpec(element=element, length=4, alias_groups=(), elements_may_alias=False)


def variant(
    *,
    target: str = "sm_90",
    hints: Hints | None = None,
    folded: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    source: str = SOURCE,
    kernel: str = "scale",
    **parameters: ParameterSpec,
) -> Variant:
    annotations = annotations or {}
    listed = []
    for line, (name, spec) in enumerate(parameters.items(), 11):
        default = "ct.Constant[int]" if isinstance(spec, ConstantSpec) else ""
        listed.append(
            Parameter(
                name=name,
                place=Place(source, line, 5),
                spec=spec,
                annotation=annotations.get(name, default),
            )
        )
    return Variant(
        id="v1",
        kernel=Kernel(name=kernel, qualname=kernel, place=Place(source, 10, 1), end_line=40),
        target=target,
        parameters=tuple(listed),
        hints=hints or Hints(),
        folded=tuple(
            FoldedName(name=name, value=value, origin="global", place=Place(source, 3, 1))
            for name, value in (folded or {}).items()
        ),
        grid=(1, 1, 1),
        cases=("case",),
        via="launch",
        label="f16",
        symbol="scale",
        reference="0" * 64,
        bytecode_version="13.4",
    )


def text(signature: str, *, above: str = "", attribute: str = "", items: str = "") -> str:
    """A port whose entry `scale` has this signature (from the name on, without body)."""
    above = "".join(f"    {line}\n" for line in above.splitlines())
    return (
        "#[cutile::module]\npub mod scale {\n    use cutile::core::*;\n"
        f"{items}{above}    #[cutile::entry({attribute})]\n"
        f"    pub fn {signature} {{\n        let i: i32 = program_id(0);\n    }}\n}}\n"
    )


def port(signature: str, **parts: str) -> PortFile:
    return parse_port(text(signature, **parts), PORT)


def bound(file: PortFile, of: Variant, **options: object) -> Binding:
    assert len(file.entries) == 1, file.entries
    return bind(file.entries[0], file, of, **options)  # type: ignore[arg-type]  # test helper


def kinds(binding: Binding) -> list[str]:
    return [finding.kind for finding in binding.findings]


def only(binding: Binding, kind: str) -> Finding:
    """The finding of a kind, which has to be the only one of it and to name both lines."""
    found = [finding for finding in binding.findings if finding.kind == kind]
    assert len(found) == 1, kinds(binding)
    assert found[0].stage == "declare"
    assert found[0].python is not None and found[0].python.line > 0
    assert found[0].rust is not None and found[0].rust.line > 0
    return found[0]


def row(binding: Binding, parameter: str) -> tuple[str, str]:
    """State of the row of a fact, and how it is declared."""
    rows = [fact for fact in binding.facts if fact.parameter == parameter]
    assert len(rows) == 1, [fact.parameter for fact in binding.facts]
    return rows[0].state, rows[0].declared_as
