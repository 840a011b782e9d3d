"""The disassembler, what it rejects, and what happens without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport.verify import toolchain
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.ir.disassemble import VerifyError, disassemble, verify_error
from tileport.verify.ir.text import parse_module
from tileport.verify.model import Place


def _script(folder: Path, text: str) -> Path:
    path = folder / "tileirdisasm"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a script in the place of tileirdisasm."""

    def put(text: str) -> Path:
        path = _script(tmp_path, text)
        monkeypatch.setattr(toolchain, "_cuda_folders", list)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return path

    return put


_VERSION = 'case "$1" in --version) echo "release 13.5, V13.5.37"; exit 0;; esac'


def test_bytecode_becomes_text_that_is_read() -> None:
    from tests.ir_text import every_op

    module = parse_module(disassemble(every_op.bytecode()))
    assert [entry.name for entry in module.entries] == list(every_op.BODIES)


@pytest.mark.parametrize("program", [b"", b"garbage", b"\x7fTileIR\x00\r\x05\x00\x00"])
def test_what_is_no_bytecode_is_rejected_with_a_message(program: bytes) -> None:
    with pytest.raises(VerifyError) as caught:
        disassemble(program)
    assert caught.value.message
    assert caught.value.place is None


def test_a_rejected_op_names_its_place() -> None:
    from cuda.tile._bytecode import encodings as E
    from cuda.tile._bytecode.type import SimpleType

    from tests.ir_text import every_op

    def wrong(kit: every_op.Kit) -> None:
        kind = kit.tile(SimpleType.F32, 8)
        E.encode_ExpOp(kit.code, kind, kit.floats(), E.RoundingMode.ZERO)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(every_op, "BODIES", {"wrong": wrong})
        program = every_op.bytecode()
    with pytest.raises(VerifyError, match="invalid rounding mode") as caught:
        disassemble(program)
    assert caught.value.place == Place("/src/helper.py", 9, 2)
    assert caught.value.line().startswith("/src/helper.py:9:2: 'cuda_tile.exp' op invalid")


@pytest.mark.parametrize(
    ("messages", "message", "place"),
    [
        ("error: input is not Tile IR\n", "input is not Tile IR", None),
        ('loc("a.rs":3:4): error: wrong\nerror: verification failed for x\n', "wrong",
         Place("a.rs", 3, 5)),
        ("a.rs:3:4: error: wrong\n", "wrong", Place("a.rs", 3, 5)),
        ('loc(callsite("h.rs":1:0 at "a.rs":3:4)): error: wrong', "wrong", Place("h.rs", 1, 1)),
        ("error: verification failed for x\nloc(\"a.rs\":3:4): error: wrong", "wrong",
         Place("a.rs", 3, 5)),
        ("", "the disassembler rejects the bytecode", None),
        ("\x1b[31msomething else\n", "\u241b[31msomething else", None),
    ],
)  # fmt: skip
def test_messages_of_the_disassembler_are_read(
    messages: str, message: str, place: Place | None
) -> None:
    error = verify_error(messages)
    assert (error.message, error.place) == (message, place)


def test_a_disassembler_that_hangs_is_stopped(tool) -> None:
    tool(f"{_VERSION}\nexec sleep 20")
    with pytest.raises(TileportError, match=r"took more than 0\.3 s") as caught:
        disassemble(b"x", deadline=0.3)
    assert caught.value.code is ExitCode.INTERNAL


def test_a_disassembler_that_crashes_is_told(tool) -> None:
    tool(f"{_VERSION}\nkill -SEGV $$")
    with pytest.raises(TileportError, match="ended by signal 11"):
        disassemble(b"x")


def test_output_that_is_no_utf8_is_no_crash(tool) -> None:
    tool(f"{_VERSION}\nprintf 'entry @k() {{ \\377\\n'")
    assert "\ufffd" in disassemble(b"x")


def test_a_missing_disassembler_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "_cuda_folders", list)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TileportError, match="pip install 'nvidia-cuda-tileiras") as caught:
        disassemble(b"x")
    assert caught.value.code is ExitCode.TOOL_MISSING


def test_a_disassembler_that_is_too_old_is_refused(tool) -> None:
    tool('echo "release 13.2, V13.2.11"')
    with pytest.raises(TileportError, match=r"13\.2\.11.*too old, 13\.4 or newer") as caught:
        disassemble(b"x")
    assert caught.value.code is ExitCode.TOOL_MISSING
