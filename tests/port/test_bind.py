"""Holding an entry against a variant: generics, parameters, identities, compile request."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.port import support
from tests.port.support import (
    array,
    bound,
    constant,
    kinds,
    list_of,
    only,
    pair,
    port,
    row,
    scalar,
    variant,
)
from tileport.verify.compile.model import TensorSpecialization
from tileport.verify.model import Hints, Severity
from tileport.verify.port import bind, parse_port

_TENSOR = "x: &Tensor<E, { [-1, -1] }>"


def test_a_matching_entry_has_a_request_and_no_findings() -> None:
    binding = bound(
        port(f"scale<E: ElementType, const TILE: i32, const FAST: bool>({_TENSOR}, s: f32)"),
        variant(x=array(shape_div=(1, 16)), s=scalar(), TILE=constant(128), FAST=constant(True)),
    )
    assert kinds(binding) == []
    request = binding.request
    assert request is not None
    assert (request.entry, request.target, request.path) == ("scale", "sm_90", "op.rs")
    assert request.generics == ("f16", "128", "true")
    assert request.bytecode_version == "13.4"
    assert request.tensors == (
        TensorSpecialization(
            name="x",
            strides=(-1, 1),
            shape_div=(1, 16),
            stride_div=(8, 1),
            base_div=16,
            stride_one=(False, True),
            disjoint=True,
        ),
    )
    assert request.scalar_divs == {} and request.options == {}
    names = ("x.ptr", "x.shape[0]", "x.shape[1]", "x.stride[0]", "x.stride[1]", "s")
    assert binding.reference_parameters == names
    assert binding.port_parameters == names


def test_an_array_that_may_alias_itself_is_not_disjoint() -> None:
    binding = bound(port(f"scale<E: ElementType>({_TENSOR})"), variant(x=array(alias=True)))
    assert binding.request is not None
    assert not binding.request.tensors[0].disjoint
    assert row(binding, "x.elements") == ("inferred", "from the launcher")


def test_parameters_are_matched_by_name_and_not_by_position() -> None:
    binding = bound(
        port("scale(s: f32, b: &Tensor<f32, { [-1] }>, a: &Tensor<f32, { [-1] }>)"),
        variant(a=array("f32", 1), b=array("f32", 1), s=scalar()),
    )
    assert kinds(binding) == []
    assert binding.reference_parameters == (
        "a.ptr", "a.shape[0]", "a.stride[0]", "b.ptr", "b.shape[0]", "b.stride[0]", "s",
    )  # fmt: skip
    assert binding.port_parameters == (
        "s", "b.ptr", "b.shape[0]", "b.stride[0]", "a.ptr", "a.shape[0]", "a.stride[0]",
    )  # fmt: skip


@pytest.mark.parametrize(
    "kind", ["&mut Tensor<f32, { [8] }>", "MappedPartitionMut<f32, { [8] }, { [1] }>"]
)
def test_an_output_has_the_parameters_of_its_partition_as_well(kind: str) -> None:
    binding = bound(port(f"scale(y: {kind})"), variant(y=array("f32", 1)))
    assert kinds(binding) == []
    assert binding.port_parameters == (
        "y.ptr", "y.shape[0]", "y.stride[0]", "y.partition_shape[0]", "y.partition_stride[0]",
    )  # fmt: skip


def test_lists_tuples_and_renamed_parameters_have_identities() -> None:
    binding = bound(
        port(
            "scale(xs: *mut i64, xs_len: i32, lo: f32, hi: f32)",
            above="/// tileport: lo = pair[0]\n/// tileport: hi = pair[1]\n"
            "/// tileport: xs = lists.ptr\n/// tileport: xs_len = lists.len",
        ),
        variant(lists=list_of(array()), pair=pair(scalar(), scalar())),
    )
    assert kinds(binding) == []
    assert binding.reference_parameters == ("lists.ptr", "lists.len", "pair[0]", "pair[1]")
    assert binding.port_parameters == ("lists.ptr", "lists.len", "pair[0]", "pair[1]")


# ---------------------------------------------------------------- raw pointers


def test_parts_of_arrays_are_known_by_name() -> None:
    binding = bound(
        port("scale<E: ElementType>(x_ptr: *mut E, x_shape0: i32, x_dim_1: i32, x_stride_0: i32)"),
        variant(x=array(shape_div=(16, 1))),
    )
    assert kinds(binding) == []
    assert binding.port_parameters == ("x.ptr", "x.shape[0]", "x.shape[1]", "x.stride[0]")
    assert binding.request is not None
    assert binding.request.generics == ("f16",)
    # What the launcher finds in these values, as far as Python recorded it.
    assert binding.request.scalar_divs == {"x_ptr": 16, "x_shape0": 16, "x_stride_0": 8}
    assert row(binding, "x.base") == ("inferred", "from the launcher")


def test_parts_of_arrays_are_known_by_a_line() -> None:
    binding = bound(
        port(
            "scale<E: ElementType>(p: *const E, n: i32)",
            above="/// tileport: p = x.ptr\n/// tileport: n = x.strides[0]",
        ),
        variant(x=array()),
    )
    assert kinds(binding) == []
    assert binding.port_parameters == ("x.ptr", "x.stride[0]")
    assert row(binding, "x.stride0") == ("inferred", "from the launcher")


def test_a_pointer_called_like_an_array_is_its_pointer() -> None:
    binding = bound(port("scale<E: ElementType>(x: *mut E)"), variant(x=array("bf16")))
    assert kinds(binding) == []
    assert binding.port_parameters == ("x.ptr",)
    assert binding.request is not None and binding.request.generics == ("bf16",)


@pytest.mark.parametrize(
    "line", ["n = x.shape[2]", "n = x.shape", "n = nope", "n = x.len", "n = x.ptr", "n = x"]
)
def test_a_line_that_names_nothing_is_wrong(line: str) -> None:
    binding = bound(
        port("scale<E: ElementType>(x: *mut E, n: i32)", above=f"/// tileport: {line}"),
        variant(x=array()),
    )
    finding = only(binding, "parameter-unknown")
    assert finding.severity is Severity.WRONG
    assert finding.rust is not None and finding.rust.line == 4
    assert binding.port_parameters == ("x.ptr", "rust:n")


def test_extents_counted_in_64_bits_need_64_bits() -> None:
    binding = bound(
        port("scale<E: ElementType>(x_ptr: *mut E, x_shape0: i32, x_stride0: i64)"),
        variant(x=array(index="i64")),
    )
    finding = only(binding, "dtype-changed")
    assert "x.shape[0] is i64 in Python and i32" in finding.message
    tensor = bound(port(f"scale<E: ElementType>({_TENSOR})"), variant(x=array(index="i64")))
    assert only(tensor, "index-width-changed").severity is Severity.WRONG


# ---------------------------------------------------------------- generics


def test_a_generic_of_another_name_needs_a_line() -> None:
    signature = "scale<const BM: i32>(x: f32)"
    of = variant(x=scalar(), TILE_M=constant(64))
    without = bound(port(signature), of)
    assert without.request is None
    assert "BM" in only(without, "generic-unknown").message
    with_line = bound(port(signature, above="/// tileport: BM = TILE_M"), of)
    assert kinds(with_line) == []
    assert with_line.request is not None and with_line.request.generics == ("64",)


@pytest.mark.parametrize(
    ("rust", "value", "text"),
    [
        ("i32", 128, "128"), ("i32", -1, "-1"), ("i32", True, "1"), ("i32", 2.0, "2"),
        ("bool", True, "true"), ("bool", 0, "false"), ("bool", 1, "true"),
    ],
)  # fmt: skip
def test_constants_become_generics(rust: str, value: float, text: str) -> None:
    binding = bound(port(f"scale<const C: {rust}>(x: f32)"), variant(x=scalar(), C=constant(value)))
    assert kinds(binding) == []
    assert binding.request is not None and binding.request.generics == (text,)
    assert row(binding, "C") == ("declared", f"const C: {rust}")


@pytest.mark.parametrize(
    ("rust", "value"), [("i32", 0.5), ("i32", "relu"), ("bool", 2), ("i32", 2**31), ("i32", None)]
)
def test_a_constant_that_no_generic_can_be_is_wrong(rust: str, value: float) -> None:
    binding = bound(port(f"scale<const C: {rust}>(x: f32)"), variant(x=scalar(), C=constant(value)))
    assert binding.request is None
    assert only(binding, "constant-type").severity is Severity.WRONG
    assert row(binding, "C")[0] == "contradicted"


def test_a_tuple_of_constants_becomes_a_generic_array() -> None:
    of = variant(x=array("f32", 2), TILE=pair(constant(64), constant(32)))
    binding = bound(port("scale<const TILE: [i32; 2]>(x: &Tensor<f32, { [-1, -1] }>)"), of)
    assert kinds(binding) == []
    assert binding.request is not None and binding.request.generics == ("64", "32")
    short = bound(port("scale<const TILE: [i32; 1]>(x: &Tensor<f32, { [-1, -1] }>)"), of)
    assert "generic-unknown" in kinds(short)


def test_a_generic_can_be_a_static_extent_or_a_global() -> None:
    binding = bound(
        port(
            "scale<const D: i32, const GROUP: i32>(x: &Tensor<f32, { [-1, D] }>)",
            above="/// tileport: D = x.shape[1]",
        ),
        variant(
            x=array("f32", shape=(None, 64)),
            annotations={"x": "Static"},
            folded={"GROUP": "8"},
        ),
    )
    assert kinds(binding) == []
    assert binding.request is not None and binding.request.generics == ("64", "8")
    assert row(binding, "GROUP") == ("declared", "const GROUP: i32")


def test_a_generic_for_what_python_reads_at_run_time_is_wrong() -> None:
    extent = bound(
        port(
            "scale<const D: i32>(x: &Tensor<f32, { [-1, D] }>)",
            above="/// tileport: D = x.shape[1]",
        ),
        variant(x=array("f32", sample=(4, 48))),
    )
    assert "x.shape[1] at run time" in only(extent, "scalar-as-constant").message
    assert extent.request is not None and extent.request.generics == ("48",)
    number = bound(port("scale<const n: i32>(x: f32)"), variant(x=scalar(), n=scalar("i32", 7)))
    assert only(number, "scalar-as-constant").severity is Severity.WRONG
    assert number.request is not None and number.request.generics == ("7",)


def test_element_types_come_from_the_arrays_that_use_them() -> None:
    binding = bound(
        port("scale<E: ElementType, W: ElementType>(x: &Tensor<E, { [-1] }>, w: *mut W, s: E)"),
        variant(x=array("f8E4M3FN", 1), w=array("i1", 1), s=scalar("f8E4M3FN")),
    )
    assert kinds(binding) == []
    assert binding.request is not None and binding.request.generics == ("f8e4m3fn", "bool")


def test_one_generic_for_two_dtypes_is_a_contradiction() -> None:
    binding = bound(
        port("scale<E: ElementType>(x: &Tensor<E, { [-1] }>, w: &Tensor<E, { [-1] }>)"),
        variant(x=array("f16", 1), w=array("f32", 1)),
    )
    finding = only(binding, "type-contradiction")
    assert finding.severity is Severity.WRONG
    assert finding.message == "E would have to be f16 for x and f32 for w."
    assert finding.python is not None and finding.python.line == 12


def test_a_type_that_nothing_tells_needs_a_line() -> None:
    signature = "scale<Acc: ElementType>(x: f32)"
    of = variant(x=scalar(), DTYPE=constant("float32", "DType"))
    assert bound(port(signature), of).request is None
    told = bound(port(signature, above="/// tileport: Acc = DTYPE"), of)
    assert kinds(told) == []
    assert told.request is not None and told.request.generics == ("f32",)
    written = bound(port(signature, above="/// tileport: Acc = bf16"), variant(x=scalar()))
    assert written.request is not None and written.request.generics == ("bf16",)


def test_another_element_type_is_wrong() -> None:
    binding = bound(port("scale(x: &Tensor<f32, { [-1, -1] }>)"), variant(x=array("bf16")))
    finding = only(binding, "dtype-changed")
    assert (finding.reference, finding.severity) == ("bf16", Severity.WRONG)
    assert row(binding, "x")[0] == "contradicted"
    scalars = bound(port("scale(s: f32)"), variant(s=scalar("i32", 3)))
    assert only(scalars, "dtype-changed").severity is Severity.WRONG


def test_another_rank_is_wrong_and_still_compiles() -> None:
    binding = bound(port("scale(x: &Tensor<f32, { [-1] }>)"), variant(x=array("f32", 2)))
    assert only(binding, "rank-changed").severity is Severity.WRONG
    assert binding.request is not None
    assert binding.request.tensors[0].strides == (-1,)


# ---------------------------------------------------------------- what is on one side only


def test_a_parameter_python_does_not_have_is_wrong() -> None:
    binding = bound(port("scale(x: f32, y: f32)"), variant(x=scalar()))
    assert "y" in only(binding, "parameter-unknown").message
    assert binding.port_parameters == ("x", "rust:y")
    array_too = bound(port("scale(z: &Tensor<f32, { [-1] }>)"), variant())
    assert array_too.port_parameters == ("rust:z.ptr", "rust:z.shape[0]", "rust:z.stride[0]")


def test_a_parameter_the_port_does_not_have_is_wrong() -> None:
    binding = bound(port("scale(x: f32)"), variant(x=scalar(), y=array()))
    finding = only(binding, "parameter-missing")
    assert "array y" in finding.message
    assert finding.python is not None and finding.python.line == 12
    assert row(binding, "y")[0] == "missing"


def test_a_constant_as_runtime_scalar_is_slow() -> None:
    binding = bound(port("scale(TILE: i32)"), variant(TILE=constant(64)))
    finding = only(binding, "constant-as-runtime")
    assert finding.severity is Severity.SLOW
    assert binding.port_parameters == ("const:TILE",)
    assert binding.constants == {"TILE": 64}
    assert binding.reference_parameters == ()


_SIGNATURE = (
    "scale<E: ElementType, const TILE: i32, const S: [i32; 2]>(x: &Tensor<E, { [-1, TILE] }>, "
    "y: &mut Tensor<E, S>, p: *mut E, n: i32, s: f32)"
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_typed_can_be_held_against_a_variant(data: st.DataObject) -> None:
    text = support.text(_SIGNATURE, above="/// tileport: p = x.ptr\n/// tileport: n = x.shape[0]")
    start = data.draw(st.integers(text.index("///"), text.index("{\n        let")))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    new = data.draw(st.text("{}[]()<>,;:=-&*xypnsES1 \n", max_size=5))
    file = parse_port(text[:start] + new + text[end:], "op.rs")
    of = variant(
        x=array(shape=(None, 64)),
        y=array(rank=3),
        s=scalar(),
        TILE=constant(64),
        S=pair(constant(8), constant(8)),
        hints=Hints(occupancy=2),
        folded={"G": "4"},
    )
    for entry in file.entries:
        binding = bind(entry, file, of)
        if binding.request is not None:
            assert len(binding.request.tensors) <= len(entry.parameters)


def test_an_unfinished_signature_gives_no_findings_of_its_own() -> None:
    file = parse_port(
        "#[cutile::module]\nmod m {\n#[cutile::entry()]\nfn scale<E: ElementType>(x: &Ten", "a.rs"
    )
    binding = bind(file.entries[0], file, variant(x=array(), s=scalar()))
    assert binding.findings == ()
