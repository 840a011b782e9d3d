"""Extents, hints, constants and globals: declared, inferred, missing or contradicted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.port.support import array, bound, constant, kinds, only, port, row, scalar, variant
from tileport.verify.model import Hints, Severity
from tileport.verify.port import facts_of
from tileport.verify.port import kinds as kinds_module

_STATIC = {"x": "Static"}

# ---------------------------------------------------------------- extents


def test_a_static_extent_is_declared_by_a_generic_or_a_number() -> None:
    of = variant(x=array("f32", shape=(None, 64)), D=constant(64), annotations=_STATIC)
    generic = bound(port("scale<const D: i32>(x: &Tensor<f32, { [-1, D] }>)"), of)
    assert kinds(generic) == []
    assert row(generic, "x.shape1") == ("declared", "D")
    number = bound(port("scale<const D: i32>(x: &Tensor<f32, { [-1, 64] }>)"), of)
    assert kinds(number) == []
    assert row(number, "x.shape1") == ("declared", "64")


def test_a_static_extent_that_the_port_reads_at_run_time_is_slow() -> None:
    binding = bound(
        port("scale(x: &Tensor<f32, { [-1, -1] }>)"),
        variant(x=array("f32", shape=(None, 64)), annotations=_STATIC),
    )
    assert only(binding, "shape-not-static").severity is Severity.SLOW
    assert row(binding, "x.shape1")[0] == "missing"


def test_an_extent_of_one_that_cuda_tile_fixed_by_itself_is_a_note() -> None:
    binding = bound(
        port("scale(x: &Tensor<f32, { [-1, -1] }>)"), variant(x=array("f32", shape=(1, None)))
    )
    assert only(binding, "shape-not-static").severity is Severity.NOTE


def test_another_static_extent_is_wrong() -> None:
    binding = bound(
        port("scale(x: &Tensor<f32, { [-1, 32] }>)"),
        variant(x=array("f32", shape=(None, 64)), annotations=_STATIC),
    )
    finding = only(binding, "shape-changed")
    assert finding.severity is Severity.WRONG
    assert finding.message == "x.shape[1] is 64 in Python and 32 in the port."


@pytest.mark.parametrize(("extent", "severity"), [(64, Severity.UNSAFE), (32, Severity.WRONG)])
def test_an_extent_that_is_static_in_rust_only_is_told(extent: int, severity: Severity) -> None:
    binding = bound(
        port(f"scale(x: &Tensor<f32, {{ [-1, {extent}] }}>)"),
        variant(x=array("f32", sample=(4, 64))),
    )
    assert only(binding, "shape-static").severity is severity


def test_the_shape_of_an_output_says_nothing_of_the_array() -> None:
    binding = bound(
        port("scale(x: &mut Tensor<f32, { [8, 8] }>)"), variant(x=array("f32", sample=(4, 64)))
    )
    assert kinds(binding) == []


def test_a_generic_array_can_be_the_shape() -> None:
    from tests.port.support import pair

    binding = bound(
        port("scale<const S: [i32; 2]>(x: &Tensor<f32, S>)"),
        variant(
            x=array("f32", shape=(8, 64)), S=pair(constant(8), constant(64)), annotations=_STATIC
        ),
    )
    assert kinds(binding) == []
    assert row(binding, "x.shape1") == ("declared", "S")


@pytest.mark.parametrize(
    ("shape", "divisors", "severity"),
    [
        # Dimension 1 would get what is true of dimension 0: a promise that may be false ...
        ("[8, -1]", (8, 1), Severity.UNSAFE),
        # ... or one that is weaker than it could be.
        ("[8, -1]", (1, 16), Severity.NOTE),
        ("[8, -1]", (16, 16), None),
        ("[-1, 8]", (1, 8), None),
    ],
)
def test_divisibility_on_the_wrong_dimension_is_told(
    shape: str, divisors: tuple[int, int], severity: Severity | None
) -> None:
    static = tuple(8 if part == "8" else None for part in shape.strip("[]").split(", "))
    binding = bound(
        port(f"scale(x: &Tensor<f32, {{ {shape} }}>)"),
        variant(x=array("f32", shape=static, shape_div=divisors), annotations=_STATIC),
    )
    assert binding.request is not None
    # What is compiled has the divisor of the dynamic dimension where cutile reads it: first.
    dynamic = static.index(None)
    assert binding.request.tensors[0].shape_div == (divisors[dynamic], 1)
    if severity is None:
        assert kinds(binding) == []
    else:
        assert only(binding, "divisibility-shifted").severity is severity


def test_divisibility_of_strides_behind_a_stride_of_one_is_told() -> None:
    binding = bound(
        port("scale(x: &Tensor<f32, { [-1, -1] }>)"),
        variant(x=array("f32", stride=(1, None), stride_div=(1, 8))),
    )
    finding = only(binding, "divisibility-shifted")
    assert (finding.severity, finding.reference) == (Severity.NOTE, "stride[1] divisible by 8")
    assert binding.request is not None
    assert binding.request.tensors[0].stride_div == (8, 1)


def test_a_constant_stride_that_is_not_one_cannot_be_declared() -> None:
    binding = bound(
        port("scale(x: &Tensor<f32, { [-1, -1] }>)"), variant(x=array("f32", stride=(64, 1)))
    )
    assert only(binding, "stride-not-static").severity is Severity.SLOW
    assert binding.request is not None
    assert binding.request.tensors[0].strides == (-1, 1)


def test_facts_the_launcher_finds_are_inferred() -> None:
    binding = bound(
        port("scale(x: &Tensor<f32, { [-1, -1] }>)"),
        variant(x=array("f32", shape_div=(16, 1), groups=("a",))),
    )
    for parameter in ("x.base", "x.shape0", "x.stride0", "x.elements", "x.alias"):
        assert row(binding, parameter) == ("inferred", "from the launcher"), parameter
    assert row(binding, "x") == ("declared", "&Tensor<f32, { [-1, -1] }>")


# ---------------------------------------------------------------- hints

_HINTS = "optimization_hints = (sm_90 = (occupancy = 2,), default = (num_cta_in_cga = 2,),)"


@pytest.mark.parametrize(
    ("target", "hints", "expected"),
    [
        ("sm_90", Hints(occupancy=2), None),
        ("sm_90", Hints(occupancy=4), "hint-changed"),
        ("sm_90", Hints(), "hint-extra"),
        ("sm_90", Hints(occupancy=2, num_worker_warps=8), "hint-lost"),
        ("sm_100", Hints(num_ctas=2), None),
        ("sm_100", Hints(), "hint-extra"),
        ("sm_100", Hints(num_ctas=2, occupancy=1), "hint-lost"),
    ],
)
def test_hints_are_held_against_the_target(target: str, hints: Hints, expected: str | None) -> None:
    binding = bound(
        port("scale(x: f32)", attribute=_HINTS), variant(target=target, hints=hints, x=scalar())
    )
    if expected is None:
        assert kinds(binding) == []
        return
    finding = only(binding, expected)
    assert finding.severity is Severity.SLOW
    assert finding.rust is not None and finding.rust.line == 4
    assert target in finding.message
    assert binding.request is not None and binding.request.options == {}


def test_the_row_of_a_hint_names_its_line() -> None:
    binding = bound(
        port("scale(x: f32)", attribute=_HINTS), variant(hints=Hints(occupancy=2), x=scalar())
    )
    fact = next(f for f in binding.facts if f.parameter == "occupancy")
    assert (fact.fact, fact.state, fact.line) == ("2 on sm_90", "declared", 4)
    assert fact.declared_as == "sm_90 = (occupancy = 2)"


def test_options_the_launcher_passes_are_compiled_with() -> None:
    of = variant(hints=Hints(occupancy=4, num_ctas=2), x=scalar())
    binding = bound(
        port(
            "scale(x: f32)",
            above="/// tileport: launch occupancy\n/// tileport: launch num_cta_in_cga = 2",
        ),
        of,
    )
    assert kinds(binding) == []
    assert binding.request is not None
    assert binding.request.options == {"occupancy": 4, "num_cta_in_cga": 2}
    elsewhere = bound(port("scale(x: f32)", above="/// tileport: launch sm_100 occupancy"), of)
    assert kinds(elsewhere) == ["hint-lost", "hint-lost"]


def test_an_option_the_launcher_passes_otherwise_is_changed() -> None:
    binding = bound(
        port("scale(x: f32)", above="/// tileport: launch occupancy = 1"),
        variant(hints=Hints(occupancy=4), x=scalar()),
    )
    assert only(binding, "hint-changed").port == "occupancy = 1"


def test_hints_python_cannot_set_are_told() -> None:
    binding = bound(
        port("scale(x: f32)", attribute="optimization_hints = (sm_90 = (max_divisibility = 4,),)"),
        variant(x=scalar()),
    )
    assert "max_divisibility" in only(binding, "hint-extra").message


def test_the_optimization_level_has_to_be_passed_by_the_launcher() -> None:
    of = variant(hints=Hints(opt_level=2), x=scalar())
    assert kinds(bound(port("scale(x: f32)"), of)) == ["hint-lost"]
    passed = bound(port("scale(x: f32)", above="/// tileport: launch opt_level"), of)
    assert kinds(passed) == []
    assert row(passed, "opt_level")[0] == "declared"


# ---------------------------------------------------------------- constants and globals


def test_a_constant_without_a_generic_is_a_note_while_it_has_one_value() -> None:
    of = variant(x=scalar(), GROUP=constant(8))
    binding = bound(port("scale(x: f32)"), of)
    finding = only(binding, "constant-not-declared")
    assert finding.severity is Severity.NOTE
    assert finding.rust is not None and finding.rust.line == 5
    other = variant(x=scalar(), GROUP=constant(4))
    several = bound(port("scale(x: f32)"), of, siblings=[of, other])
    assert only(several, "constant-not-declared").severity is Severity.WRONG
    elsewhere = variant(kernel="other", x=scalar(), GROUP=constant(4))
    assert kinds(bound(port("scale(x: f32)"), of, siblings=[elsewhere])) == kinds(binding)


def test_a_const_item_declares_a_constant_of_one_value() -> None:
    of = variant(x=scalar(), GROUP=constant(8))
    item = "    const GROUP: i32 = 8;\n"
    assert kinds(bound(port("scale(x: f32)", items=item), of)) == []
    changed = bound(port("scale(x: f32)", items=item.replace("8", "4")), of)
    finding = only(changed, "constant-changed")
    assert finding.severity is Severity.WRONG
    assert finding.rust is not None and finding.rust.line == 4


def test_a_constant_the_kernel_does_not_use_needs_no_declaration(tmp_path: Path) -> None:
    source = tmp_path / "op.py"
    body = "import cuda.tile as ct\n" * 9 + "@ct.kernel\ndef scale(x, GROUP, USED):\n"
    source.write_text(body + "    y = x * USED\n    f(GROUP=1)\n    return y.GROUP\n")
    of = variant(source=str(source), x=scalar(), GROUP=constant(8), USED=constant(2), z=array())
    binding = bound(port("scale(x: f32)"), of)
    assert kinds(binding) == ["constant-not-declared"]
    assert "USED" in binding.findings[0].message
    assert row(binding, "GROUP") == ("inferred", "not used by the kernel")
    assert row(binding, "z") == ("inferred", "not used by the kernel")


@pytest.mark.parametrize(
    ("item", "value", "equal"),
    [
        ("const C: f32 = 1.4426950408889634;", "1.4426950408889634", True),
        # The same in f32, which is all the port has.
        ("const C: f32 = 1.44269504;", "1.4426950408889634", True),
        ("const C: f64 = 1.44269504;", "1.4426950408889634", False),
        ("const C: i32 = 1_024i32;", "1024", True),
        ("const C: bool = true;", "True", True),
        ("const C: f32 = -0.5;", "-0.5", True),
        ("const C: f32 = f32::INFINITY;", "inf", False),
        ("const C: i32 = 3;", "4", False),
    ],
)
def test_folded_globals_are_held_against_const_items(item: str, value: str, equal: bool) -> None:
    binding = bound(
        port("scale(x: f32)", items=f"    {item}\n"), variant(x=scalar(), folded={"C": value})
    )
    assert row(binding, "C")[0] == ("declared" if equal else "contradicted")
    if equal:
        assert kinds(binding) == []
    else:
        finding = only(binding, "global-changed")
        assert finding.severity is Severity.NOTE
        assert finding.python is not None and finding.python.line == 3


def test_a_folded_global_may_be_a_number_in_the_code() -> None:
    file = port(
        "scale<const N: i32>(x: f32)", items="    // 7 is no number\n    const A: i32 = 7;\n"
    )
    of = variant(x=scalar(), N=constant(1), folded={"SEVEN": "7", "EIGHT": "8"})
    binding = bound(file, of)
    assert kinds(binding) == []
    fact = next(f for f in binding.facts if f.parameter == "SEVEN")
    assert (fact.declared_as, fact.line) == ("literal 7", 5)
    assert row(binding, "EIGHT")[0] == "missing"


# ---------------------------------------------------------------- without a port


def test_facts_are_listed_where_there_is_no_port() -> None:
    facts = facts_of(
        variant(
            x=array(shape=(None, 64), shape_div=(16, 1)),
            s=scalar(),
            TILE=constant(128),
            hints=Hints(occupancy=2),
            folded={"GROUP": "8"},
            annotations={"x": "Static", "TILE": "ct.Constant[int]"},
        )
    )
    assert [(f.parameter, f.fact, f.origin) for f in facts] == [
        ("x", "f16, rank 2, strides [?, 1], i32 index", "the launch"),
        ("x.base", "address divisible by 16", "the launch"),
        ("x.shape0", "divisible by 16", "the launch"),
        ("x.shape1", "64", "Static"),
        ("x.stride0", "divisible by 8", "the launch"),
        ("x.elements", "share no memory", "the launch"),
        ("s", "f32, known at run time", "the launch"),
        ("TILE", "128", "ct.Constant[int]"),
        ("GROUP", "8", "a module global, py 3"),
        ("occupancy", "2 on sm_90", "@ct.kernel"),
    ]
    assert {f.state for f in facts} == {"missing"}
    assert facts[0].python_line == 11


def test_every_kind_of_finding_is_listed_with_its_meaning() -> None:
    folder = Path(kinds_module.__file__).parent
    text = "".join(path.read_text("utf-8") for path in folder.glob("*.py") if path.stem != "kinds")
    made = set(re.findall(r'(?:kind=|find\(\s*|_error\(\s*|kind = )"([a-z]+-[a-z-]+)"', text))
    made |= {"allow-without-reason", "line-unreadable"}
    # A kind of mark, not of finding.
    assert made - {"must-declare"} == set(kinds_module.KINDS)
