"""Whatever the user's Python does, it becomes one line with the user's own place."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.capture.conftest import Capture
from tests.capture.support import ADD, kinds, line_of, with_cases
from tileport.verify.capture.client import CaptureServer
from tileport.verify.capture.request import CaptureRequest, OperatorSource
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.model import CaptureReport, Finding

pytestmark = pytest.mark.asyncio(loop_scope="session")

GOOD = 'yield "good", lambda: op(vector(), vector())'
LAST = 'yield "last", lambda: op(vector(), vector(), tile=64)'


async def refused(capture: Capture, text: str | bytes, **changes: object) -> TileportError:
    with pytest.raises(TileportError) as caught:
        await capture(text, **changes)
    assert "Traceback" not in caught.value.line()
    assert "\n" not in caught.value.line()
    return caught.value


def place(finding: Finding) -> tuple[str, int]:
    assert finding.python is not None
    return Path(finding.python.file).name, finding.python.line


# ---------------------------------------------------------------- the import


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("x = 1\ndef broken(:\n", 2, "not valid Python"),
        ("x = 1\n  y = 2\n", 2, "indent"),
        ("x = 1\nx = '\\0".replace("\\0", "\0") + "'\n", 1, "not valid Python"),
        ("x = 1\nraise RuntimeError('no luck')\n", 2, "RuntimeError: no luck"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        ("raise KeyboardInterrupt\n", 1, "KeyboardInterrupt"),
        ("\nimport surely_not_installed\n", 2, "surely_not_installed"),
        ("def f():\n    return 1 / 0\n\nf()\n", 2, "division by zero"),
        ("class E(Exception):\n    def __str__(self): 1 / 0\n\nraise E\n", 4, "raised E"),
        ("def f(): f()\nf()\n", 1, "RecursionError"),
        ("raise Exception('red \\x1b[31m text\\nmore lines')\n", 1, "red ␛[31m text"),
    ],
)
async def test_a_module_that_does_not_import(
    capture: Capture, text: str, line: int, says: str
) -> None:
    error = await refused(capture, text)
    assert error.code == ExitCode.USAGE
    assert says in error.what
    if "\0" not in text:
        assert (error.where or "").partition("op.py:")[2].split(":")[0] == str(line)
    assert "\x1b" not in error.line()


async def test_the_place_is_that_of_the_imported_file_that_fails(
    capture: Capture, workspace: Path
) -> None:
    (workspace / "helper.py").write_text("\n\nvalue = undefined_name\n")
    error = await refused(capture, "import helper\n")
    assert (error.where or "").endswith("helper.py:3")
    (workspace / "helper2.py").write_text("\ndef broken(:\n")
    error = await refused(capture, "import helper2\n")
    assert "helper2.py:2" in (error.where or "")


async def test_bytes_that_are_no_utf8_are_told_with_their_line(capture: Capture) -> None:
    error = await refused(capture, b"x = 1\ny = '\xff\xfe'\n")
    assert "UTF-8" in error.what
    assert (error.where or "").endswith("op.py:2")


async def test_a_case_file_that_does_not_parse(capture: Capture) -> None:
    error = await refused(capture, ADD, cases="def tileport_cases(:\n")
    assert (error.where or "").endswith("op.cases.py:1")


async def test_an_operator_that_is_gone(capture: Capture, workspace: Path) -> None:
    error = await refused(capture, workspace / "gone.py")
    assert "not there" in error.what


async def test_an_import_that_asks_the_driver_says_so(capture: Capture) -> None:
    text = "import ctypes\nctypes.CDLL('libcuda.so.1.no.such')\n"
    error = await refused(capture, text)
    assert "GPU" in (error.todo or "")


async def test_a_module_that_is_not_installed(
    server: CaptureServer, workspace: Path, tmp_path: Path
) -> None:
    request = CaptureRequest(
        operator=OperatorSource(kind="module", name="surely.not.there"),
        workspace=str(workspace),
        targets=("sm_90",),
        blobs=str(tmp_path),
    )
    with pytest.raises(TileportError) as caught:
        await server.capture(request)
    assert caught.value.what == "no module named surely"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import os\nos._exit(3)\n", "called os._exit(3)"),
        ("import os\nos.abort()\n", "SIGABRT"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "SIGKILL"),
        ("import ctypes\nctypes.string_at(0)\n", "SIGSEGV"),
    ],
)
async def test_a_module_that_ends_the_process(capture: Capture, text: str, says: str) -> None:
    error = await refused(capture, text)
    assert says in error.what
    line = "" if says == "SIGKILL" else ":2"
    assert (error.where or "").endswith(f"op.py{line}")


async def test_a_module_that_never_ends(capture: Capture) -> None:
    begun = time.monotonic()
    error = await refused(capture, "def spin():\n    while True: pass\n\nspin()\n", deadline=4.0)
    assert "did not end within 1 s" in error.what
    assert (error.where or "").endswith("op.py:2")
    assert time.monotonic() - begun < 15


async def test_a_failure_on_one_target_does_not_lose_the_others(capture: Capture) -> None:
    text = with_cases(GOOD) + (
        "if torch.cuda.get_device_capability() == (9, 0):\n    raise RuntimeError('not here')\n"
    )
    report = await capture(text, targets=("sm_90", "sm_100"))
    assert [v.target for v in report.variants] == ["sm_100"]
    (finding,) = report.findings
    assert finding.kind == "import-failed"
    assert finding.message.startswith("on sm_90: ")


# ---------------------------------------------------------------- cases


async def others_kept(report: CaptureReport) -> Finding:
    """The one finding of a capture of which the first and last case went well."""
    (finding,) = report.findings
    cases = [case for variant in report.variants for case in variant.cases]
    assert cases == ["good", "last"]
    return finding


RAISING = {
    "1 / 0": "ZeroDivisionError",
    "sys.exit('bye')": "SystemExit: bye",
    "[0] * (1 << 60)": "MemoryError",
    "input()": "EOFError",
    "op(vector(), 'text')": "TypeError",
    "op(vector())": "TypeError",
    "op(vector().cpu(), vector())": "Input array is not on a CUDA device",
    "1 / 0; vector().item()": "ZeroDivisionError",
}


async def test_cases_that_raise_cost_no_other(capture: Capture) -> None:
    text = "import sys\n" + ADD
    for number, statement in enumerate(RAISING):
        text += f"def bad{number}():\n    x = {statement}\n"
    cases = [f"    yield 'bad{n}', bad{n}\n" for n in range(len(RAISING))]
    text += "def tileport_cases():\n" + f"    {GOOD}\n" + "".join(cases) + f"    {LAST}\n"
    report = await capture(text)
    assert [case for v in report.variants for case in v.cases] == ["good", "last"]
    assert kinds(report) == ["case-failed"] * len(RAISING)
    inside = {"op(vector(), 'text')", "op(vector().cpu(), vector())"}
    for finding, (statement, says) in zip(report.findings, RAISING.items(), strict=True):
        assert says in finding.message
        expected = "    ct.launch(torch" if statement in inside else f"x = {statement}\n"
        assert place(finding) == ("op.py", line_of(text, expected))


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ("os._exit(5)", "called os._exit(5)"),
        ("os.abort()", "SIGABRT"),
        ("os.kill(os.getpid(), 9)", "SIGKILL"),
        ("ctypes.string_at(0)", "SIGSEGV"),
    ],
)
async def test_a_case_that_ends_the_process_costs_no_other(
    capture: Capture, case: str, says: str
) -> None:
    text = "import ctypes, os\n" + with_cases(
        GOOD, "def bad():", f"    return {case}", 'yield "bad", bad', LAST
    )
    finding = await others_kept(await capture(text))
    assert finding.kind == "case-failed"
    assert "'bad'" in finding.message and says in finding.message
    if "SIGKILL" not in says:
        assert place(finding) == ("op.py", line_of(text, f"return {case}"))


async def test_a_case_that_hangs_costs_no_other(capture: Capture) -> None:
    text = "import time\n" + with_cases(
        GOOD, "def bad():", "    time.sleep(1000)", 'yield "bad", bad', LAST
    )
    finding = await others_kept(await capture(text, deadline=8.0))
    assert "did not end within 2 s" in finding.message
    assert place(finding) == ("op.py", line_of(text, "time.sleep"))


async def test_after_two_hangs_the_rest_is_not_run(capture: Capture) -> None:
    hang = "lambda: sum(iter(int, 1))"  # in C, deaf to signals
    text = with_cases(GOOD, f'yield "a", {hang}', f'yield "b", {hang}', LAST)
    report = await capture(text, deadline=6.0)
    assert kinds(report) == ["case-failed"] * 3
    assert "not run" in report.findings[2].message
    assert [v.cases for v in report.variants] == [("good",)]


async def test_a_case_that_forks_is_run_once(capture: Capture) -> None:
    text = "import os\n" + with_cases(
        GOOD,
        "def bad():",
        "    os.fork()",
        "    op(vector(), vector(), tile=32)",
        'yield "f", bad',
        LAST,
    )
    report = await capture(text)
    assert not report.findings
    assert [v.cases for v in report.variants] == [("good",), ("f",), ("last",)]


async def test_what_a_case_prints_goes_to_the_log_and_never_blocks(
    capture: Capture, server: CaptureServer
) -> None:
    text = "import os\n" + with_cases(
        "def loud():",
        "    for _ in range(2000):",
        "        print('x' * 10000)",
        "    os.write(2, b'the last words\\x1b[31m')",
        "    op(vector(), vector())",
        'yield "loud", loud',
    )
    report = await capture(text)
    assert not report.findings
    assert "the last words␛[31m" in server.printed()


async def test_a_generator_that_raises_keeps_what_came_before(capture: Capture) -> None:
    text = with_cases(GOOD, "1 / 0", LAST)
    report = await capture(text)
    (finding,) = report.findings
    assert "tileport_cases raised ZeroDivisionError" in finding.message
    assert place(finding) == ("op.py", line_of(text, "1 / 0"))
    assert [v.cases for v in report.variants] == [("good",)]


async def test_a_case_that_deletes_its_own_file(capture: Capture) -> None:
    text = "import os\n" + with_cases("os.unlink(__file__)", GOOD)
    assert (await capture(text)).variants


async def test_what_user_code_does_to_the_interpreter_stays_there(capture: Capture) -> None:
    text = with_cases(
        GOOD,
        "import os, signal, sys, torch",
        "sys.stdout.close(); os.close(0); os.close(1)",
        "sys.path.clear(); os.environ.clear(); os.chdir('/')",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "torch.set_default_dtype(torch.float64)",
        LAST,
    )
    report = await capture(text)
    assert not report.findings
    assert len(report.variants) == 2
    assert (await capture(with_cases(GOOD))).variants[0].label == "f32"


# ---------------------------------------------------------------- launches


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("x = undefined_thing", "undefined_thing"),
        ("x = ct.load(a, (i,), (100,))", "power of two"),
        ("x = ct.load(a, (i, 0), (TILE,))", ""),
    ],
)
async def test_a_kernel_that_does_not_compile_is_told_at_its_line(
    capture: Capture, statement: str, says: str
) -> None:
    text = with_cases(GOOD, LAST).replace(
        "    i = ct.bid(0)\n", f"    i = ct.bid(0)\n    {statement}\n"
    )
    report = await capture(text)
    assert kinds(report) == ["launch-not-exportable"] * 2
    finding = report.findings[0]
    assert says in finding.message
    assert place(finding) == ("op.py", line_of(text, statement))


async def test_host_code_may_catch_what_a_kernel_raises(capture: Capture) -> None:
    text = with_cases(
        "def attempt():",
        "    try:",
        "        op(vector(), vector(), tile=100)",
        "    except ct.TileError:",
        "        op(vector(), vector(), tile=128)",
        'yield "attempt", attempt',
    )
    report = await capture(text)
    assert not report.findings
    assert report.variants[0].parameters[-1].spec.value == 128  # type: ignore[union-attr]


# ---------------------------------------------------------------- data of the GPU


NEEDS = [
    "vector().sum().item()",
    "int(vector()[0])",
    "vector().tolist()",
    "bool((vector() > 0).any())",
    "vector().cpu().numpy()",
    "vector().nonzero()",
    "vector()[vector() > 0]",
    "torch.zeros(1024).copy_(vector())",
    "max(vector())",
    "torch.equal(vector(), vector())",
]


async def test_host_code_that_needs_data_is_told_with_the_ways_out(capture: Capture) -> None:
    text = ADD
    for number, expression in enumerate(NEEDS):
        text += f"def bad{number}():\n    return {expression}\n"
    cases = [f"    yield 'bad{n}', bad{n}\n" for n in range(len(NEEDS))]
    text += "def tileport_cases():\n" + f"    {GOOD}\n" + "".join(cases) + f"    {LAST}\n"
    report = await capture(text)
    assert [case for v in report.variants for case in v.cases] == ["good", "last"]
    assert kinds(report) == ["capture-needs-data"] * len(NEEDS)
    assert [place(finding) for finding in report.findings] == [
        ("op.py", line_of(text, f"return {expression}")) for expression in NEEDS
    ]
    for number, finding in enumerate(report.findings):
        assert f"'bad{number}'" in finding.message
        assert "tileport_cases" in finding.remedy and "GPU" in finding.remedy


async def test_a_driver_query_is_told_the_same_way(capture: Capture) -> None:
    text = "import ctypes\n" + with_cases(
        GOOD, 'yield "bad", lambda: ctypes.CDLL("libcuda.so.1.no.such")', LAST
    )
    finding = await others_kept(await capture(text))
    assert finding.kind == "capture-needs-data"


async def test_data_that_host_code_can_do_without_is_no_finding(capture: Capture) -> None:
    text = with_cases(
        "def attempt():",
        "    try:",
        "        n = int(vector()[0])",
        "    except Exception:",
        "        n = 1024",
        "    op(vector(n), vector(n))",
        'yield "attempt", attempt',
    )
    assert not (await capture(text)).findings


async def test_the_place_is_never_in_tileport_itself(capture: Capture) -> None:
    # Not even where its own tree is the workspace, as for the operators that come with it.
    text = with_cases('yield "bad", lambda: vector().tolist()')
    report = await capture(text, workspace=str(Path(__file__).parents[2]))
    (finding,) = report.findings
    assert place(finding) == ("op.py", line_of(text, "tolist"))
    assert [Path(file).name for file in report.files] == ["op.py"]


# ---------------------------------------------------------------- the request


@pytest.mark.parametrize("targets", [(), ("sm_1",), ("sm_90", "gfx942")])
async def test_targets_that_are_not_known(capture: Capture, targets: tuple[str, ...]) -> None:
    await refused(capture, ADD, targets=targets)


async def test_gpu_mode_without_a_gpu(capture: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    async def none() -> tuple[str, ...]:
        return ()

    monkeypatch.setattr("tileport.verify.capture.client.local_targets", none)
    error = await refused(capture, ADD, mode="gpu")
    assert "no GPU" in error.what


async def test_a_workspace_that_is_gone(capture: Capture, workspace: Path) -> None:
    error = await refused(capture, ADD, workspace=str(workspace / "gone"))
    assert "workspace cannot be entered" in error.what


async def test_a_blob_folder_that_cannot_be_made(capture: Capture, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = await refused(capture, with_cases(GOOD), blobs=str(tmp_path / "file" / "blobs"))
    assert "reference bytecode" in error.what
