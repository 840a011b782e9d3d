"""A capture knows when the files it came from have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.conftest import Capture
from tests.capture.support import with_cases
from tileport.verify.capture.inputs import hash_inputs

pytestmark = pytest.mark.asyncio(loop_scope="session")

TEXT = "import helper\n" + with_cases('yield "one", lambda: op(vector(), vector())')


async def test_the_hash_is_that_of_the_files_until_one_changes(
    capture: Capture, workspace: Path
) -> None:
    helper = workspace / "helper.py"
    helper.write_text("A = 1\n")
    report = await capture(TEXT)
    assert hash_inputs(report.files) == report.inputs
    helper.write_text("A = 2\n")
    assert hash_inputs(report.files) != report.inputs
    helper.write_text("A = 1\n")
    assert hash_inputs(report.files) == report.inputs
    helper.unlink()
    assert hash_inputs(report.files) != report.inputs


async def test_a_file_that_changes_meanwhile_makes_the_capture_stale(
    capture: Capture, workspace: Path
) -> None:
    (workspace / "helper.py").write_text("A = 1\n")
    text = TEXT + "import pathlib\npathlib.Path(helper.__file__).write_text('A = 1\\n')\n"
    report = await capture(text)
    assert hash_inputs(report.files) != report.inputs


async def test_an_edit_of_one_digit_within_a_second_is_seen(capture: Capture) -> None:
    text = with_cases('yield "one", lambda: op(vector(), vector(), tile=128)')
    for tile in ("128", "256", "512"):
        report = await capture(text.replace("tile=128", f"tile={tile}"))
        assert report.variants[0].parameters[-1].spec.value == int(tile)  # type: ignore[union-attr]


async def test_the_name_of_a_file_counts_and_its_order_does_not(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("x")
    two.write_text("x")
    assert hash_inputs([str(one), str(two)]) == hash_inputs([str(two), str(one)])
    assert hash_inputs([str(one)]) != hash_inputs([str(two)])
