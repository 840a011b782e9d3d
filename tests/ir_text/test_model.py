"""What the parser makes of single ops: roles, attributes, types, regions, scopes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ir_text import support
from tileport.verify.ir.grammar_types import parse_hints, tensor_view_type, view_type
from tileport.verify.ir.model import Module, Op, walk
from tileport.verify.ir.print import print_module
from tileport.verify.ir.text import IRTextError, parse_module

_PARAMETERS = (
    "%p: tile<8xptr<f32>>, %m: tile<8xi1>, %x: tile<8xf32>, %i: tile<i32>, %t: token, "
    "%b: tile<ptr<f32>>, %y: tile<8xi32>, %c: tile<i1>"
)


def program(*lines: str) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"entry @k({_PARAMETERS}) {{\n{body}\n  return\n}}\n"


def one(*lines: str) -> Op:
    """The first op of an entry with these lines."""
    return parse_module(program(*lines)).entries[0].body.ops[0]


def named(op: Op) -> dict[str, list[str]]:
    roles: dict[str, list[str]] = {}
    for role, value in zip(op.roles, op.operands, strict=True):
        roles.setdefault(role, []).append(value.name)
    return roles


@pytest.mark.parametrize(
    ("line", "roles", "attributes", "results"),
    [
        (
            "%0 = addi %i, %i overflow<no_signed_wrap> : tile<i32>",
            {"lhs": ["%i"], "rhs": ["%i"]},
            {"overflow": "no_signed_wrap"},
            ["tile<i32>"],
        ),
        (
            "%0 = divf %x, %x rounding<approx> flush_to_zero : tile<8xf32>",
            {"lhs": ["%x"], "rhs": ["%x"]},
            {"rounding_mode": "approx", "flush_to_zero": "true"},
            ["tile<8xf32>"],
        ),
        (
            "%0 = divi %i, %i signed rounding<negative_inf> : tile<i32>",
            {"lhs": ["%i"], "rhs": ["%i"]},
            {"signedness": "signed", "rounding": "negative_inf"},
            ["tile<i32>"],
        ),
        (
            "%0 = cmpi less_than %i, %i, unsigned : tile<i32> -> tile<i1>",
            {"lhs": ["%i"], "rhs": ["%i"]},
            {"comparison_predicate": "less_than", "signedness": "unsigned"},
            ["tile<i1>"],
        ),
        (
            "%0 = maxf %x, %x propagate_nan : tile<8xf32>",
            {"lhs": ["%x"], "rhs": ["%x"]},
            {"propagate_nan": "true"},
            ["tile<8xf32>"],
        ),
        (
            "%r, %u = load_ptr_tko weak %p, %m, %x token=%t "
            "optimization_hints = <sm_90 = {latency = 2}> "
            ": tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token",
            {"pointer": ["%p"], "mask": ["%m"], "padding": ["%x"], "token": ["%t"]},
            {"memory_ordering_semantics": "weak", "optimization_hints": "sm_90 = {latency = 2}"},
            ["tile<8xf32>", "token"],
        ),
        (
            "%0 = store_ptr_tko relaxed device %p, %x, %m : tile<8xptr<f32>>, tile<8xf32>, "
            "tile<8xi1> -> token",
            {"pointer": ["%p"], "value": ["%x"], "mask": ["%m"]},
            {"memory_ordering_semantics": "relaxed", "memory_scope": "device"},
            ["token"],
        ),
        (
            "%r, %u = atomic_rmw_tko relaxed device %p, addf, %x, %m : tile<8xptr<f32>>, "
            "tile<8xf32>, tile<8xi1> -> tile<8xf32>, token",
            {"pointer": ["%p"], "value": ["%x"], "mask": ["%m"]},
            {
                "memory_ordering_semantics": "relaxed",
                "memory_scope": "device",
                "mode": "addf",
            },
            ["tile<8xf32>", "token"],
        ),
        (
            "%v = make_tensor_view %b, shape = [%i, 8], strides = [%i, 1] "
            ": tile<i32> -> tensor_view<?x8xf32, strides=[?,1]>",
            {"base": ["%b"], "shape": ["%i"], "stride": ["%i"]},
            {},
            ["tensor_view<?x8xf32, strides=[?,1]>"],
        ),
        (
            "%a, %d, %e = get_tile_block_id : tile<i32>",
            {},
            {},
            ["tile<i32>", "tile<i32>", "tile<i32>"],
        ),
        (
            "%0 = constant <f32: [1.0, 2.0]> : tile<2xf32>",
            {},
            {"value": "[1.0, 2.0]"},
            ["tile<2xf32>"],
        ),
        (
            "%0 = assume div_by<16, every 4 along 0>, %y : tile<8xi32>",
            {"value": ["%y"]},
            {"predicate": "div_by<16, every 4 along 0>"},
            ["tile<8xi32>"],
        ),
        (
            'assert %m, "loc(#loc1) %x { \\22 : tile<i1>" : tile<8xi1>',
            {"condition": ["%m"]},
            {"message": '"loc(#loc1) %x { \\22 : tile<i1>"'},
            [],
        ),
    ],
)
def test_an_op_is_read_into_roles_attributes_and_types(
    line: str, roles: dict[str, list[str]], attributes: dict[str, str], results: list[str]
) -> None:
    op = one(line)
    assert op.known
    assert named(op) == roles
    assert op.attributes == attributes
    assert [value.type for value in op.results] == results


def test_a_padding_without_a_mask_is_told_by_its_type() -> None:
    op = one(
        "%r, %u = load_ptr_tko weak %p, %x : tile<8xptr<f32>>, tile<8xf32> -> tile<8xf32>, token"
    )
    assert named(op) == {"pointer": ["%p"], "padding": ["%x"]}


def test_a_load_of_bools_with_one_of_mask_and_padding_is_reported() -> None:
    text = program(
        "%q = ptr_to_ptr %p : tile<8xptr<f32>> -> tile<8xptr<i1>>",
        "%r, %u = load_ptr_tko weak %q, %m : tile<8xptr<i1>>, tile<8xi1> -> tile<8xi1>, token",
    )
    module = parse_module(text)
    assert module.unknown == {"load_ptr_tko"}
    assert support.normal_lines(print_module(module)) == support.normal_lines(text)


def test_an_entry_has_parameters_hints_and_a_place() -> None:
    entry = support.module("every_op").entry("control-flow")
    assert [value.type for value in entry.parameters] == ["tile<ptr<f32>>"] + ["tile<i32>"] * 3
    assert entry.hints == {
        "default": {"occupancy": "1"},
        "sm_90": {"num_cta_in_cga": "2", "num_worker_warps_per_cta": "4", "occupancy": "3"},
    }
    assert [(frame.file, frame.line, frame.column) for frame in entry.location] == [
        ('/src/a "b".py', 3, 4)
    ]


def test_globals_are_ops_of_the_module() -> None:
    table, one_two = support.module("every_op").globals
    assert table.attributes["sym_name"] == "table"
    assert table.attributes["type"] == "tile<4xf32>"
    assert table.attributes["alignment"] == "16"
    assert "constant" not in table.attributes
    assert one_two.attributes["symbol_visibility"] == "private"
    assert one_two.attributes["constant"] == "true"
    assert one_two.attributes["sym_name"] == '"one two"'


def test_a_loop_has_its_bounds_its_values_and_its_arguments() -> None:
    loop = one(
        "%f:2 = for unsigned %k in (%i to %i, step %i) : tile<i32> "
        "iter_values(%a = %x, %d = %t) -> (tile<8xf32>, token) {",
        "  continue %a, %d : tile<8xf32>, token",
        "}",
    )
    assert loop.known
    assert loop.roles == ("lower", "upper", "step", "init", "init")
    assert loop.attributes == {"unsignedCmp": "true"}
    arguments = loop.regions[0].arguments
    assert [(a.name, a.type, a.index) for a in arguments] == [
        ("%k", "tile<i32>", 0),
        ("%a", "tile<8xf32>", 1),
        ("%d", "token", 2),
    ]
    assert [value.name for value in loop.results] == ["%f#0", "%f#1"]
    assert loop.regions[0].ops[-1].operands == arguments[1:]


def test_names_used_again_in_a_sibling_region_are_other_values() -> None:
    module = parse_module(
        program(
            "%0 = if %c -> (tile<i32>) {",
            "  %1 = addi %i, %i : tile<i32>",
            "  yield %1 : tile<i32>",
            "} else {",
            "  %1 = muli %i, %i : tile<i32>",
            "  yield %1 : tile<i32>",
            "}",
        )
    )
    then, other = module.entries[0].body.ops[0].regions
    assert then.ops[0].results[0] is not other.ops[0].results[0]
    assert then.ops[-1].operands[0].owner is then.ops[0]
    assert other.ops[-1].operands[0].owner is other.ops[0]


def test_terminators_that_the_text_leaves_out_are_there() -> None:
    loop = one(
        "for %k in (%i to %i, step %i) : tile<i32> {",
        "  if %c {",
        "  } else {",
        "    break",
        "  }",
        "}",
    )
    assert [op.name for op in loop.regions[0].ops] == ["if", "continue"]
    then, other = loop.regions[0].ops[0].regions
    assert [op.name for op in then.ops] == ["yield"]
    assert [op.name for op in other.ops] == ["break"]


def test_results_of_a_group_are_told_apart_by_number() -> None:
    add = support.module("every_op").entry("control-flow").body
    last = [op for op in walk(add) if op.name == "addi"][-1]
    assert [value.name.partition("#")[2] for value in last.operands] == ["0", "1"]
    assert last.operands[0].owner is last.operands[1].owner
    assert [value.index for value in last.operands] == [0, 1]


def test_a_place_is_a_chain_from_the_helper_to_the_kernel() -> None:
    absolute = next(op for op in support.ops(support.module("every_op")) if op.name == "absf")
    assert [(frame.file, frame.line, frame.column) for frame in absolute.location] == [
        ("/src/helper.py", 9, 1),
        ('/src/a "b".py', 3, 4),
        ("/src/c.py", 5, 0),
    ]


@pytest.mark.parametrize(
    ("location", "frames"),
    [
        ("loc(unknown)", []),
        ('loc("f.py":3:4)', [("f.py", 3, 4)]),
        ('loc("f.py":3:4 to :9)', [("f.py", 3, 4)]),
        ('loc("name"("f.py":3:4))', [("f.py", 3, 4)]),
        ('loc("name"(#a))', [("a.py", 1, 2)]),
        ('loc("only a name")', []),
        ('loc(callsite("f.py":3:4 at "g.py":5:6))', [("f.py", 3, 4), ("g.py", 5, 6)]),
        ('loc(callsite(#a at callsite(#b at "g.py":5:6)))',
         [("a.py", 1, 2), ("b.py", 3, 4), ("g.py", 5, 6)]),
        ('loc(fused["f.py":3:4, "g.py":5:6])', [("f.py", 3, 4)]),
        ('loc(fused<"pass">[#b, "g.py":5:6])', [("b.py", 3, 4)]),
        ("loc(fused[unknown, #b])", [("b.py", 3, 4)]),
        ("loc(#cycle)", []),
        ('loc(#cuda_tile.di_loc<loc("f.py":3:4) in #cuda_tile.di_file<"x" in "y">>)',
         [("f.py", 3, 4)]),
        ("loc(something<new>)", []),
        ("loc(#missing)", []),
    ],
)  # fmt: skip
def test_locations_of_every_form_are_read(
    location: str, frames: list[tuple[str, int, int]]
) -> None:
    table = '#a = loc("a.py":1:2)\n#b = loc("b.py":3:4)\n#cycle = loc(callsite(#cycle at #cycle))\n'
    module = parse_module(program(f"%0 = iota : tile<8xi32> {location}") + table)
    op = module.entries[0].body.ops[0]
    assert op.known
    assert [(frame.file, frame.line, frame.column) for frame in op.location] == frames


# ---------------------------------------------------------------- what has no format


def test_an_op_without_a_format_is_kept_word_for_word() -> None:
    text = program(
        '%0:2 = frobnicate %x [%i] mode<"a  b %z"> {deep = {a = 1}} '
        ": tile<8xf32> -> tile<f32>, token",
        "%1 = exp2 %0#0 : tile<f32>",
    )
    module = parse_module(text)
    op, after = module.entries[0].body.ops[:2]
    assert module.unknown == {"frobnicate"}
    assert not op.known
    assert [value.name for value in op.operands] == ["%x", "%i"]
    assert [value.type for value in op.results] == ["tile<f32>", "token"]
    assert op.verbatim == (
        'frobnicate % [%] mode<"a  b %z"> {deep={a=1}} : tile<8xf32> -> tile<f32>, token'
    )
    assert after.known and after.operands[0] is op.results[0]
    assert support.normal_lines(print_module(module)) == support.normal_lines(text)


def test_regions_of_an_op_without_a_format_are_found() -> None:
    text = program(
        "%0 = dance %x with %k : tile<8xf32> -> tile<8xf32> {",
        "  %1 = addf %x, %k : tile<8xf32>",
        "  yield %1 : tile<8xf32>",
        "} between %i {",
        "  yield %x : tile<8xf32>",
        "} {after = 1}",
    )
    module = parse_module(text)
    op = module.entries[0].body.ops[0]
    assert not op.known
    assert [value.name for value in op.operands] == ["%x", "%i"]
    assert [value.name for value in op.regions[0].arguments] == ["%k"]
    assert [len(region.ops) for region in op.regions] == [2, 1]
    assert op.verbatim == (
        "dance % with %! : tile<8xf32> -> tile<8xf32> {...} between % {...} {after=1}"
    )
    assert support.normal_lines(print_module(module)) == support.normal_lines(text)


@pytest.mark.parametrize(
    "line",
    [
        "%0 = addi %i, %i overflow<some_day> : tile<i32>",
        "%0 = addi %i, %i {note = 1 : i32} : tile<i32>",
        "%0 = addi %i, %i : tile<i64>",
        "%0 = addi %i, %i, %i : tile<i32>",
        "%0 = addi %i, %x : tile<i32>",
        "%0:2 = addi %i, %i : tile<i32>",
        "addi %i, %i : tile<i32>",
        "%0 = constant <f32: 1.0> : tile<i32>",
        "%v = make_tensor_view %b, shape = [%i, 9], strides = [%i, 1] "
        ": tile<i32> -> tensor_view<?x8xf32, strides=[?,1]>",
        "%r, %u = load_ptr_tko weak %p optimization_hints = <latency> "
        ": tile<8xptr<f32>> -> tile<8xf32>, token",
        "%0 = exp2 %x : tile<8xf32> extra",
        "yield %i, %i : tile<i32>",
    ],
)
def test_text_that_no_format_accounts_for_makes_the_op_unknown(line: str) -> None:
    assert not one(line).known


def texts() -> Iterator[tuple[str, str]]:
    yield "", "no Tile IR"
    yield "hello world\n", "no Tile IR"
    yield program("%0 = addi %i, %nowhere : tile<i32>"), "%nowhere is not defined"
    yield program("%i = addi %i, %i : tile<i32>"), "%i is defined twice"
    yield program("%0 = addi % , %i : tile<i32>"), "without a name"
    yield program("if %c {"), "ends inside a region"
    yield program("%0"), "a value without an op"
    yield program("&&"), "no op"
    yield program("%0:99999 = addi %i, %i : tile<i32>"), "results that cannot be read"
    yield program("^bb0(%q: tile<i32>):", "^bb1:"), "more than one block"
    yield program('assert %m, "open : tile<8xi1> loc(#loc1)'), "string without an end"
    yield "entry @k(%a tile<i32>) {\n  return\n}\n", "parameter list"
    yield "entry @k() optimization_hints=<x> {\n  return\n}\n", "optimization hints"
    yield "entry @k() attributes {a = 1} {\n  return\n}\n", "an entry that cannot be read"
    yield "entry @k() {\n" + "if %c {\n" * 3000, "nested|not defined"


@pytest.mark.parametrize(("text", "says"), list(texts()))
def test_text_that_is_not_tile_ir_is_refused(text: str, says: str) -> None:
    with pytest.raises(IRTextError, match=says):
        parse_module(text)


def test_deep_nesting_is_refused_and_not_a_crash() -> None:
    text = "entry @k(%c: tile<i1>) {\n" + "if %c {\n" * 5000 + "}\n" * 5001
    with pytest.raises(IRTextError, match="nested"):
        parse_module(text)


# ---------------------------------------------------------------- types


def test_view_types_are_read() -> None:
    view = view_type(
        "partition_view<tile=(8x16), padding_value=zero, "
        "tensor_view<?x4xf16, strides=[?,1]>, dim_map=[1, 0]>"
    )
    assert view is not None
    assert (view.kind, view.tile, view.padding_value) == ("partition_view", (8, 16), "zero")
    assert view.dim_map == (1, 0)
    assert view.tensor.shape == (None, 4)
    assert view.tensor.strides == (None, 1)
    assert view.tensor.element == "f16"
    gather = view_type(
        "gather_scatter_view<tile=(8), tensor_view<?xf32, strides=[1]>, sparse_dim=0>"
    )
    assert gather is not None and gather.rest == ("sparse_dim=0",) and gather.dim_map == (0,)
    assert view_type("tile<8xf32>") is None
    scalar = tensor_view_type("tensor_view<f32>")
    assert scalar is not None and scalar.shape == () and scalar.element == "f32"


def test_every_view_type_of_the_fixtures_is_read() -> None:
    types = {
        value.type
        for name in support.NAMES
        for op in support.ops(support.module(name))
        for value in op.results
        if "view<" in value.type
    }
    assert types
    assert all((view_type(t) or tensor_view_type(t)) is not None for t in types)


def test_hints_are_read() -> None:
    assert parse_hints("default = {}, sm_90 = {allow_tma = false, latency = 2}") == {
        "default": {},
        "sm_90": {"allow_tma": "false", "latency": "2"},
    }
    with pytest.raises(ValueError, match="hints"):
        parse_hints("sm_90 = {latency = 2}, sm_90 = {latency = 3}")


def test_the_module_keeps_its_text() -> None:
    module: Module = support.module("attend_rs")
    assert module.text == support.text("attend_rs")
    assert module.entry().name == "attend_entry"
