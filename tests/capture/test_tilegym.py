"""The case files that ship for TileGym capture every kernel of its 24 operators."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tileport.verify.capture.client import CaptureServer
from tileport.verify.capture.request import CaptureRequest, OperatorSource
from tileport.verify.errors import TileportError
from tileport.verify.ir.disassemble import disassemble
from tileport.verify.operator import Operator, resolve_operator

pytestmark = pytest.mark.asyncio(loop_scope="session")

CASES = Path(__file__).resolve().parents[2] / "ops" / "tilegym"
NAMES = sorted(file.name.partition(".")[0] for file in CASES.glob("*.cases.py"))


def resolved(name: str) -> Operator:
    try:
        return resolve_operator(f"tilegym.ops.cutile.{name}")
    except TileportError as error:
        pytest.skip(f"tilegym is not installed: {error.line()}")


def kernels_in(source: str) -> set[str]:
    """Names of the functions with a `@ct.kernel` decorator."""
    return {
        node.name
        for node in ast.walk(ast.parse(Path(source).read_text()))
        if isinstance(node, ast.FunctionDef)
        and any("ct.kernel" in ast.unparse(decorator) for decorator in node.decorator_list)
    }


async def test_there_are_cases_for_24_operators() -> None:
    assert len(NAMES) == 24


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "softmax" else pytest.mark.slow) for n in NAMES]
)
async def test_every_kernel_is_captured_and_its_reference_disassembles(
    server: CaptureServer, name: str, tmp_path: Path
) -> None:
    operator = resolved(name)
    assert operator.cases == str(CASES / f"{name}.cases.py")
    targets = ("sm_90", "sm_100")
    report = await server.capture(
        CaptureRequest(
            operator=OperatorSource(
                kind="module", name=operator.module, source=operator.source, cases=operator.cases
            ),
            workspace=operator.workspace,
            targets=targets,
            blobs=str(tmp_path),
        )
    )
    assert not report.findings, report.findings
    defined = kernels_in(operator.source)
    assert defined
    for target in targets:
        variants = [v for v in report.variants if v.target == target]
        captured = {v.kernel.name for v in variants if v.kernel.place.file == operator.source}
        assert captured == defined
        # No two launches of a kernel look the same to a person.
        assert len({(v.kernel.name, v.label) for v in variants}) == len(variants)
        # Every case launched something.
        assert {case for v in variants for case in v.cases} == set(report.cases)
    for variant in report.variants:
        text = disassemble((tmp_path / variant.reference).read_bytes())
        assert f"entry @{variant.symbol}" in text
