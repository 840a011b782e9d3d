"""Where cases come from and what they may look like."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.conftest import Capture
from tests.capture.support import ADD, kinds, line_of, only, with_cases
from tileport.verify.capture.client import CaptureServer
from tileport.verify.capture.request import CaptureRequest, OperatorSource

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_cases_come_from_a_sidecar_that_gets_the_module(capture: Capture) -> None:
    cases = 'def tileport_cases(op):\n    yield "side", lambda: op.op(op.vector(), op.vector())\n'
    report = await capture(ADD, cases=cases)
    assert only(report).cases == ("side",)
    assert [Path(file).name for file in report.files] == ["op.cases.py", "op.py"]


async def test_a_sidecar_goes_before_the_file_itself(capture: Capture) -> None:
    text = with_cases('yield "own", lambda: op(vector(), vector())')
    cases = 'def tileport_cases(op):\n    yield "side", lambda: op.op(op.vector(), op.vector())\n'
    assert (await capture(text, cases=cases)).cases == ("side",)


@pytest.mark.parametrize(
    "given",
    ["(vector(), vector())", "[vector(), vector()]", '{"a": vector(), "b": vector(), "tile": 64}'],
)
async def test_cases_may_be_arguments_of_a_named_function(capture: Capture, given: str) -> None:
    text = with_cases(f'yield "args", {given}') + 'tileport_operator = "op"\n'
    assert only(await capture(text)).cases == ("args",)


async def test_a_sidecar_may_name_the_function(capture: Capture) -> None:
    cases = (
        'tileport_operator = "op"\n'
        'def tileport_cases(m):\n    yield "args", (m.vector(), m.vector())\n'
    )
    assert only(await capture(ADD, cases=cases)).kernel.name == "add"


@pytest.mark.parametrize(
    "body",
    [
        'return {"a": lambda: op(vector(), vector())}',
        'return [("a", lambda: op(vector(), vector()))]',
        'yield ["a", lambda: op(vector(), vector())]',
    ],
)
async def test_any_collection_of_pairs_will_do(capture: Capture, body: str) -> None:
    assert (await capture(with_cases(body))).cases == ("a",)


async def test_equal_names_are_numbered(capture: Capture) -> None:
    report = await capture(with_cases(*['yield "a", lambda: op(vector(), vector())'] * 3))
    assert report.cases == ("a", "a (2)", "a (3)")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("yield op", "it gave function for a case"),
        ("yield 1, op", "it gave int for a case's name"),
        ('yield "a", 3', "case 'a' is int"),
        ("return 5", "it returned int"),
        ('yield "a", (vector(), vector())', "no tileport_operator says for which function"),
    ],
)
async def test_what_is_no_case_is_told_with_its_line(
    capture: Capture, body: str, says: str
) -> None:
    text = with_cases(body)
    (finding,) = (await capture(text)).findings
    assert finding.kind == "case-failed"
    assert says in finding.message
    assert finding.remedy
    assert finding.python is not None
    assert finding.python.line == line_of(text, "def tileport_cases")


async def test_a_wrong_function_name_is_told(capture: Capture) -> None:
    text = with_cases('yield "a", (1,)') + 'tileport_operator = "opp"\n'
    (finding,) = (await capture(text)).findings
    assert "'opp'" in finding.message


async def test_no_cases_shows_three_lines_to_write(capture: Capture) -> None:
    report = await capture(ADD)
    (finding,) = report.findings
    assert finding.kind == "no-cases"
    assert not report.variants
    example = finding.remedy.splitlines()[-3:]
    assert example[0] == "def tileport_cases():"
    assert example[2].lstrip().startswith("yield ") and "op(" in example[2]


async def test_no_kernel_is_told(capture: Capture) -> None:
    assert kinds(await capture("x = 1\n")) == ["no-kernel"]


async def test_a_case_file_without_the_function_is_told(capture: Capture) -> None:
    (finding,) = (await capture(ADD, cases="x = 1\n")).findings
    assert finding.kind == "no-cases"
    assert finding.python is not None and finding.python.file.endswith("op.cases.py")
    assert "lambda: op.op(x)" in finding.remedy


async def test_cases_that_launch_nothing_are_told(capture: Capture) -> None:
    (finding,) = (await capture(with_cases('yield "a", lambda: None'))).findings
    assert finding.kind == "no-kernel"
    assert "none of its kernels" in finding.message


# ---------------------------------------------------------------- modules


@pytest.fixture
def package(workspace: Path) -> Path:
    package = workspace / "pack"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("LOADED = 'pack'\n")
    (package / "sizes.py").write_text("TILE = 64\n")
    (package / "deep" / "__init__.py").write_text("")
    text = with_cases('yield "one", lambda: op(vector(), vector(), tile=TILE)')
    relative = "from ..sizes import TILE\nfrom .. import LOADED\n"
    (package / "deep" / "op.py").write_text(relative + text)
    return package


async def test_a_file_in_a_package_is_imported_as_part_of_it(
    capture: Capture, package: Path
) -> None:
    report = await capture(package / "deep" / "op.py")
    variant = only(report)
    assert variant.parameters[-1].spec.value == 64  # type: ignore[union-attr]
    names = {str(Path(file).relative_to(package)) for file in report.files}
    assert names == {"__init__.py", "sizes.py", "deep/__init__.py", "deep/op.py"}


async def test_a_module_is_imported_by_its_name(
    server: CaptureServer, package: Path, workspace: Path, tmp_path: Path
) -> None:
    source = str(package / "deep" / "op.py")
    report = await server.capture(
        CaptureRequest(
            operator=OperatorSource(kind="module", name="pack.deep.op", source=source),
            workspace=str(workspace),
            targets=("sm_90",),
            blobs=str(tmp_path / "blobs"),
        )
    )
    assert only(report).cases == ("one",)
    assert report.source == source
    assert report.operator == "pack.deep.op"


async def test_files_beside_the_operator_can_be_imported(capture: Capture, workspace: Path) -> None:
    folder = workspace / "sub"
    folder.mkdir()
    (folder / "sizes.py").write_text("TILE = 32\n")
    (workspace / "shared_sizes.py").write_text("SHARED = 1\n")
    (folder / "op.py").write_text(
        "from sizes import TILE\nfrom shared_sizes import SHARED\n"
        + with_cases('yield "one", lambda: op(vector(), vector(), tile=TILE)')
    )
    report = await capture(folder / "op.py")
    assert {Path(file).name for file in report.files} == {"op.py", "sizes.py", "shared_sizes.py"}


async def test_an_operator_may_be_called_like_a_standard_module(capture: Capture) -> None:
    text = "import random\nrandom.random()\n" + with_cases(
        'yield "one", lambda: op(vector(), vector())'
    )
    assert only(await capture(text, name="string")).cases == ("one",)
