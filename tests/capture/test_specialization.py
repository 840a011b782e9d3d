"""What Python fixed for a launch is recorded as it was: arrays, constants, hints, folded names."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.capture.conftest import Capture
from tests.capture.support import ADD, line_of, only, with_cases
from tileport.verify.model import (
    ArraySpec,
    ConstantSpec,
    FoldedName,
    ListSpec,
    ParameterSpec,
    ScalarSpec,
    TupleSpec,
    Variant,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

# A kernel with one parameter `x` that does as little as is allowed with it.
ONE = """
import cuda.tile as ct
import torch

@ct.kernel
def one(x, out):
    ct.store(out, (0,), ct.zeros((16,), dtype=ct.float32))

def run(x):
    out = torch.empty(16, device="cuda")
    ct.launch(torch.cuda.current_stream(), (1,), one, (x, out))

def empty(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, device="cuda")

def tileport_cases():
"""


def spec(variant: Variant, name: str) -> ParameterSpec:
    return next(p.spec for p in variant.parameters if p.name == name)


async def specs_of(capture: Capture, *arguments: str) -> dict[str, ParameterSpec]:
    """What a launch fixes for each argument, given as Python text."""
    lines = [f"    yield {argument!r}, lambda: run({argument})\n" for argument in arguments]
    report = await capture(ONE + "".join(lines))
    assert not report.findings, report.findings
    return {case: spec(v, "x") for v in report.variants for case in v.cases}


async def test_a_contiguous_array_has_stride_one_and_what_divides_its_shape(
    capture: Capture,
) -> None:
    argument = "empty(48, 1000, dtype=torch.float16)"
    assert (await specs_of(capture, argument))[argument] == ArraySpec(
        dtype="f16",
        rank=2,
        index_dtype="i32",
        stride_constant=(None, 1),
        shape_constant=(None, None),
        stride_divisible_by=(8, 1),
        shape_divisible_by=(16, 1),
        base_divisible_by=16,
        stride_lower_bound=(0, None),
        may_alias_internally=False,
        alias_groups=(),
        sample_shape=(48, 1000),
        sample_strides=(1000, 1),
    )


async def test_a_view_keeps_what_is_true_of_it(capture: Capture) -> None:
    expected: dict[str, tuple[str, object]] = {
        "empty(64)[1:]": ("base_divisible_by", 1),
        "empty(64)[4:]": ("base_divisible_by", 16),
        "empty(64)[:, None].expand(64, 3)": ("may_alias_internally", True),
        "empty(64)[::2]": ("stride_constant", (None,)),
        "empty(64)[None]": ("shape_constant", (1, None)),
    }
    specs = await specs_of(capture, *expected)
    assert {
        case: (field, getattr(specs[case], field)) for case, (field, _) in expected.items()
    } == expected


async def test_dtypes_have_their_tile_ir_names(capture: Capture) -> None:
    names = {
        "torch.bfloat16": "bf16",
        "torch.float8_e4m3fn": "f8E4M3FN",
        "torch.float8_e5m2": "f8E5M2",
        "torch.int64": "i64",
        "torch.uint8": "u8",
        "torch.bool": "i1",
    }
    expected = {f"empty(64, dtype={dtype})": name for dtype, name in names.items()}
    specs = await specs_of(capture, *expected)
    assert {case: getattr(s, "dtype", None) for case, s in specs.items()} == expected


async def test_scalars_have_a_dtype_and_a_sample(capture: Capture) -> None:
    expected = {
        "7": ScalarSpec(dtype="i32", sample=7),
        "0.5": ScalarSpec(dtype="f32", sample=0.5),
        "True": ScalarSpec(dtype="i1", sample=True),
    }
    assert await specs_of(capture, *expected) == expected
    (infinite,) = (await specs_of(capture, "float('-inf')")).values()
    assert infinite == ScalarSpec(dtype="f32", sample="-inf")


async def test_lists_have_one_specialization_and_tuples_one_per_item(capture: Capture) -> None:
    specs = await specs_of(capture, "[empty(n, 64) for n in (32, 48)]", "(empty(64), 3)")
    several, pair = specs.values()
    assert isinstance(several, ListSpec)
    assert several.length == 2
    assert (several.element.rank, several.element.sample_shape) == (2, (32, 64))
    assert isinstance(pair, TupleSpec)
    array, scalar = pair.items
    assert isinstance(array, ArraySpec)
    assert scalar == ScalarSpec(dtype="i32", sample=3)


async def test_the_calling_convention_is_the_launcher_s(capture: Capture) -> None:
    # As seen of cuda-tile 1.7.0 launching on a GPU.
    expected = {"empty(64)": "Kt1", "7": "Kt1", "[empty(64)]": "Kt1"}
    expected |= {"empty(1, 64)": "Kt2", "[empty(3, 1)]": "Kt2", "(empty(64), 3)": "Kt2"}
    lines = [f"    yield {argument!r}, lambda: run({argument})\n" for argument in expected]
    report = await capture(ONE + "".join(lines))
    assert not report.findings, report.findings
    found = {case: v.symbol.split("_")[1] for v in report.variants for case in v.cases}
    assert found == expected


async def test_parameters_have_names_places_and_annotations(capture: Capture) -> None:
    text = with_cases('yield "one", lambda: op(vector(), vector())')
    variant = only(await capture(text))
    tile = variant.parameters[-1]
    assert (tile.name, tile.annotation) == ("TILE", "ct.Constant[int]")
    assert tile.spec == ConstantSpec(value=256, python_type="int")
    assert tile.place.line == line_of(text, "def add")
    assert text.splitlines()[tile.place.line - 1][tile.place.column - 1 :].startswith("TILE:")
    assert variant.kernel.place.line == line_of(text, "def add")
    assert variant.kernel.end_line == line_of(text, "ct.store")
    assert variant.grid == (4,)


CONSTANTS = """
import cuda.tile as ct
import torch

@ct.kernel
def constants(out, i: ct.Constant[int], b: ct.Constant[bool], f: ct.Constant[float]):
    ct.store(out, (0,), ct.full((16,), f if b else i, dtype=ct.float32))

def tileport_cases():
    for f in (0.5, float("-inf")):
        out = torch.empty(16, device="cuda")
        args = (out, 4, True, f)
        yield str(f), lambda: ct.launch(torch.cuda.current_stream(), (1,), constants, args)
"""


async def test_constants_keep_value_and_type(capture: Capture) -> None:
    report = await capture(CONSTANTS)
    assert not report.findings
    half, infinite = report.variants
    assert spec(half, "i") == ConstantSpec(value=4, python_type="int")
    assert spec(half, "b") == ConstantSpec(value=True, python_type="bool")
    assert spec(half, "f") == ConstantSpec(value=0.5, python_type="float")
    # JSON has no infinities.
    assert spec(infinite, "f") == ConstantSpec(value="-inf", python_type="float")


# ---------------------------------------------------------------- hints


async def test_hints_are_those_of_the_target(capture: Capture) -> None:
    decorator = (
        "@ct.kernel(occupancy=ct.ByTarget(sm_90=2, default=1), num_ctas=ct.ByTarget(sm_100=2),"
        " num_worker_warps=8, opt_level=2)"
    )
    text = with_cases('yield "one", lambda: op(vector(), vector())')
    report = await capture(text.replace("@ct.kernel", decorator), targets=("sm_90", "sm_100"))
    hints = {v.target: v.hints for v in report.variants}
    assert (hints["sm_90"].occupancy, hints["sm_90"].num_ctas) == (2, None)
    assert (hints["sm_100"].occupancy, hints["sm_100"].num_ctas) == (1, 2)
    assert hints["sm_90"].num_worker_warps == 8
    assert hints["sm_90"].opt_level == 2


async def test_hints_that_are_not_set_are_none(capture: Capture) -> None:
    variant = only(await capture(with_cases('yield "one", lambda: op(vector(), vector())')))
    assert set(msgspec.to_builtins(variant.hints).values()) == {None}


async def test_replaced_hints_make_another_variant(capture: Capture) -> None:
    text = with_cases(
        'yield "own", lambda: op(vector(), vector())',
        "global add",
        "add = add.replace_hints(occupancy=4)",
        'yield "four", lambda: op(vector(), vector())',
    )
    report = await capture(text)
    assert [v.hints.occupancy for v in report.variants] == [None, 4]
    assert len({v.id for v in report.variants}) == 2


# ---------------------------------------------------------------- folded names

FOLDED = """
import cuda.tile as ct
import torch
import config
from config import SHIFT
from math import inf

SCALE = 0.5
DTYPE = torch.float32
unused = 7

class Sizes:
    TILE = 16

def helper(x):
    return x * SCALE + SHIFT

@ct.function
def marked(x):
    return x + config.BIAS

def make(depth):
    def other(x):
        return x * depth

    @ct.kernel
    def kernel(out):
        local = 3
        tile = ct.zeros((Sizes.TILE,), dtype=DTYPE)
        ct.store(out, (0,), other(marked(helper(tile))) + local + depth)

    return kernel

def tileport_cases():
    out = torch.empty(16, device="cuda")
    yield "one", lambda: ct.launch(torch.cuda.current_stream(), (1,), make(4), (out,))
"""


async def test_globals_and_closure_values_that_are_folded_in_are_listed(
    capture: Capture, workspace: Path
) -> None:
    (workspace / "config.py").write_text("SHIFT = 2\nBIAS = 1.5\nOTHER = 3\n")
    variant = only(await capture(FOLDED))
    found = {name.name: name for name in variant.folded}
    assert {name: (f.value, f.origin) for name, f in found.items()} == {
        "Sizes.TILE": ("16", "global"),
        "DTYPE": ("torch.float32", "global"),
        "depth": ("4", "closure"),
        "SCALE": ("0.5", "global"),
        "SHIFT": ("2", "global"),
        "config.BIAS": ("1.5", "global"),
    }
    assert place(found["SCALE"]) == ("op.py", line_of(FOLDED, "SCALE = "))
    assert place(found["SHIFT"]) == ("config.py", 1)
    assert place(found["config.BIAS"]) == ("config.py", 2)
    assert place(found["Sizes.TILE"]) == ("op.py", line_of(FOLDED, "    TILE = "))
    assert place(found["depth"]) == ("op.py", line_of(FOLDED, "def make"))


def place(name: FoldedName) -> tuple[str, int]:
    assert name.place is not None
    return Path(name.place.file).name, name.place.line


async def test_kernels_of_one_factory_differ_by_what_they_close_over(capture: Capture) -> None:
    text = ADD + (
        "def make(n):\n"
        "    @ct.kernel\n"
        "    def fill(out):\n"
        "        ct.store(out, (0,), ct.full((16,), n, dtype=ct.float32))\n"
        "    return fill\n"
        "def tileport_cases():\n"
        "    out = vector(16)\n"
        "    for n in (1, 2, 1):\n"
        '        yield f"fill {n}", lambda: ct.launch(0, (1,), make(n), (out,))\n'
    )
    report = await capture(text)
    assert not report.findings
    assert [[f.value for f in v.folded] for v in report.variants] == [["1"], ["2"]]
    first, second = report.variants
    assert first.reference != second.reference
    assert first.cases == ("fill 1", "fill 1 (2)")
    assert "n=1" in first.label and "n=2" in second.label
