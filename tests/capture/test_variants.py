"""Launches become variants: equal ones merged, ids that stay, labels that tell them apart."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.capture.conftest import Capture
from tests.capture.support import ADD, only, with_cases

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_equal_specializations_are_one_variant_whatever_the_sizes(capture: Capture) -> None:
    report = await capture(
        with_cases(
            'yield "long", lambda: op(vector(1024), vector(1024))',
            'yield "short", lambda: op(vector(512), vector(512))',
            'yield "ragged", lambda: op(vector(1000), vector(1000))',
        )
    )
    assert [v.cases for v in report.variants] == [("long", "short"), ("ragged",)]
    assert report.cases == ("long", "short", "ragged")


async def test_one_variant_per_target(capture: Capture) -> None:
    report = await capture(
        with_cases('yield "one", lambda: op(vector(), vector())'),
        targets=("sm_80", "sm_90", "sm_100", "sm_120"),
    )
    assert [v.target for v in report.variants] == ["sm_80", "sm_90", "sm_100", "sm_120"]
    assert len({v.id for v in report.variants}) == 4


async def test_ids_stay_when_lines_move_and_sizes_change(capture: Capture) -> None:
    before = only(await capture(with_cases('yield "one", lambda: op(vector(1024), vector(1024))')))
    moved = "# a comment\n\n" + with_cases('yield "two", lambda: op(vector(512), vector(512))')
    after = only(await capture(moved))
    assert after.id == before.id
    assert after.kernel.place.line == before.kernel.place.line + 2


async def test_ids_differ_by_what_is_fixed(capture: Capture) -> None:
    report = await capture(
        with_cases(
            'yield "f32", lambda: op(vector(), vector())',
            'yield "f16", lambda: op(*[vector(dtype=torch.float16)] * 2)',
            'yield "tile", lambda: op(vector(), vector(), tile=128)',
            'yield "view", lambda: op(vector()[1:], vector()[1:])',
        )
    )
    assert len({v.id for v in report.variants}) == 4


async def test_labels_name_what_tells_siblings_apart_and_no_more(capture: Capture) -> None:
    report = await capture(
        with_cases(
            'yield "1", lambda: op(vector(), vector())',
            'yield "2", lambda: op(*[vector(dtype=torch.float16)] * 2)',
            'yield "3", lambda: op(vector(), vector(), tile=128)',
        )
    )
    assert [v.label for v in report.variants] == ["f32 TILE=256", "f16 TILE=256", "f32 TILE=128"]


async def test_a_single_variant_is_called_by_its_dtype(capture: Capture) -> None:
    variant = only(await capture(with_cases('yield "1", lambda: op(vector(), vector())')))
    assert variant.label == "f32"


async def test_labels_are_unique_among_siblings(capture: Capture) -> None:
    cases = [
        f'yield "{n} {t}", lambda: op(*[vector({n}, dtype=torch.{d})[{o}:]] * 2, tile={t})'
        for n in (1000, 1024)
        for t in (64, 128)
        for d in ("float16", "float32")
        for o in (0, 1)
    ]
    report = await capture(with_cases(*cases))
    labels = [v.label for v in report.variants]
    # Of the views that begin at 1, neither size is divisible by 16: 12 specializations.
    assert len(labels) == len(set(labels)) == 12


async def test_several_kernels_in_one_case(capture: Capture) -> None:
    second = (
        ADD.replace("def add", "def twice").replace("kernel_args", "").replace(", add,", ", x,")
    )
    text = (
        ADD
        + second.replace("def op", "def op2").replace(", x,", ", twice,")
        + "\ndef tileport_cases():\n    x = vector()\n    yield 'both', lambda: op2(op(x, x), x)\n"
    )
    report = await capture(text)
    assert [v.kernel.name for v in report.variants] == ["add", "twice"]
    assert {v.cases for v in report.variants} == {("both",)}


async def test_two_kernels_of_one_name_are_told_apart(capture: Capture) -> None:
    text = (
        ADD
        + "first, first_op = add, op\n"
        + ADD.replace("(TILE,)) + ct.load", "(TILE,)) - ct.load")
        + "def both(x):\n"
        "    out = torch.empty_like(x)\n"
        "    for kernel in (first, add):\n"
        "        ct.launch(0, (4,), kernel, (x, x, out, 256))\n"
        "def tileport_cases():\n"
        "    yield 'both', lambda: both(vector())\n"
    )
    report = await capture(text)
    assert not report.findings
    one, two = report.variants
    assert one.kernel.name == two.kernel.name == "add"
    assert one.kernel.place.line < two.kernel.place.line
    assert one.id != two.id and one.reference != two.reference and one.label != two.label


async def test_the_reference_is_a_blob_of_that_name(capture: Capture, tmp_path: Path) -> None:
    variant = only(await capture(with_cases('yield "1", lambda: op(vector(), vector())')))
    data = (tmp_path / "blobs" / variant.reference).read_bytes()
    assert data.startswith(b"\x7fTileIR")
    assert variant.bytecode_version == "13.4"
    assert variant.symbol.startswith("add_")


async def test_capturing_again_gives_the_same(capture: Capture) -> None:
    text = with_cases('yield "1", lambda: op(vector(), vector())')
    first, second = await capture(text), await capture(text)
    assert msgspec.structs.replace(first, milliseconds=0, inputs="") == msgspec.structs.replace(
        second, milliseconds=0, inputs=""
    )
    assert first.versions["cuda-tile"] and first.versions["torch"]


# ---------------------------------------------------------------- tuning

TUNED = (
    ADD
    + """
from types import SimpleNamespace as Config

def tuned(a, launch=True, tiles=(64, 128, 256), hints=None):
    out = torch.empty_like(a)
    stream = torch.cuda.current_stream()
    result = ct.tune.exhaustive_search(
        [Config(tile=t) for t in tiles],
        stream,
        lambda c: (ct.cdiv(a.numel(), c.tile),),
        add,
        lambda c: (a, a, out, c.tile),
        lambda c: {"occupancy": 2},
    )
    tile = result.best.config.tile
    kernel = add.replace_hints(**(hints or {"occupancy": 2}))
    if launch:
        ct.launch(stream, (ct.cdiv(a.numel(), tile),), kernel, (a, a, out, tile))
    return result

def tileport_cases():
    CASE
"""
)


def tuned(case: str) -> str:
    return TUNED.replace("CASE", case)


async def test_of_a_tuned_launch_the_launched_candidate_is_a_variant_and_others_counted(
    capture: Capture,
) -> None:
    variant = only(await capture(tuned('yield "1", lambda: tuned(vector())')))
    assert (variant.via, variant.candidates) == ("launch", 2)
    assert variant.hints.occupancy == 2


async def test_all_candidates_are_taken_when_asked_for(capture: Capture) -> None:
    report = await capture(tuned('yield "1", lambda: tuned(vector())'), all_candidates=True)
    tiles = {v.parameters[-1].spec.value: v.via for v in report.variants}  # type: ignore[union-attr]
    assert tiles == {64: "launch", 128: "tune", 256: "tune"}


async def test_a_launch_with_other_hints_than_tuned_with_is_the_tuned_one(
    capture: Capture,
) -> None:
    variant = only(
        await capture(tuned('yield "1", lambda: tuned(vector(), hints={"occupancy": 4})'))
    )
    assert (variant.via, variant.candidates, variant.hints.occupancy) == ("launch", 2, 4)


async def test_a_kernel_that_was_tuned_but_not_launched_is_a_variant(capture: Capture) -> None:
    variant = only(await capture(tuned('yield "1", lambda: tuned(vector(), launch=False)')))
    assert (variant.via, variant.candidates) == ("tune", 2)


async def test_candidates_that_do_not_compile_are_passed_over(capture: Capture) -> None:
    # 100 is no power of two.
    report = await capture(tuned('yield "1", lambda: tuned(vector(), tiles=(100, 128))'))
    variant = only(report)
    assert variant.parameters[-1].spec.value == 128  # type: ignore[union-attr]


async def test_tuning_without_a_valid_candidate_fails_the_case(capture: Capture) -> None:
    report = await capture(tuned('yield "1", lambda: tuned(vector(), tiles=(100,))'))
    (finding,) = report.findings
    assert finding.kind == "case-failed"
    assert "No valid config found" in finding.message


# ---------------------------------------------------------------- backward

BACKWARD = (
    ADD
    + """
from tileport.verify.capture.case_api import backward

@ct.kernel
def scale(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (TILE,)) * 2)

class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, factor, b):
        ctx.save_for_backward(a, b)
        ctx.factor = factor
        return op(a, b)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        assert grad.shape == a.shape and grad.dtype == a.dtype, (grad.shape, grad.dtype)
        assert ctx.needs_input_grad == (True, False, False), ctx.needs_input_grad
        out = torch.empty_like(grad)
        ct.launch(torch.cuda.current_stream(), (4,), scale, (grad, out, 256))
        return out, None, None

def leaf():
    return vector(requires_grad=True)

def tileport_cases():
    CASE
"""
)


@pytest.mark.parametrize(
    "case",
    [
        "Add.apply(leaf(), 2.0, vector()).sum().backward()",
        "backward(Add.apply(leaf(), 2.0, vector()))",
        "(Add.apply(leaf().view(32, 32).t().reshape(-1) * 3, 2.0, vector()) + 1).mean().backward()",
        "Add.apply(leaf().half().float(), 2.0, vector()).backward(vector())",
        "torch.autograd.backward([Add.apply(leaf(), 2.0, vector())], [vector()])",
    ],
)
async def test_backward_runs_the_operators_own(capture: Capture, case: str) -> None:
    report = await capture(BACKWARD.replace("CASE", f'yield "train", lambda: {case}'))
    assert not report.findings, report.findings
    assert [v.kernel.name for v in report.variants] == ["add", "scale"]


async def test_gradients_reach_the_leaves_with_their_shapes(capture: Capture) -> None:
    case = (
        "x, w = leaf(), torch.randn(4, 1, device='cuda', requires_grad=True)\n"
        "    def check():\n"
        "        y = Add.apply(x, 2.0, vector())\n"
        "        (y.view(4, 256) * w).sum().backward()\n"
        "        assert x.grad.shape == x.shape and w.grad.shape == (4, 1)\n"
        "        z = Add.apply(x, 2.0, vector())\n"
        "        (gx,) = torch.autograd.grad(z, [x], vector())\n"
        "        assert gx.shape == x.shape\n"
        "        (gz, none) = torch.autograd.grad(z * 2, [z, w], vector(), allow_unused=True)\n"
        "        assert gz.shape == z.shape and none is None\n"
        '    yield "train", check'
    )
    report = await capture(BACKWARD.replace("CASE", case))
    assert not report.findings, report.findings


async def test_backward_of_what_needs_no_gradient_is_torchs_error(capture: Capture) -> None:
    report = await capture(BACKWARD.replace("CASE", 'yield "x", lambda: vector().backward()'))
    (finding,) = report.findings
    assert "does not require grad" in finding.message
