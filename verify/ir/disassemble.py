"""Tile IR bytecode to text, through `tileirdisasm -g`, which verifies it on the way."""

from __future__ import annotations

import re
import subprocess

from tileport.verify import toolchain
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.ir.text_locations import Locations
from tileport.verify.model import Place
from tileport.verify.safe_text import one_line

#: Seconds; a file takes a few milliseconds, the largest seen 30.
DEADLINE = 30.0

_ERROR = re.compile(r"^(?:(?P<where>.+?): )?error: (?P<what>.*)$", re.MULTILINE)
_PLAIN_PLACE = re.compile(r'"?([^"]+?)"?:(\d+):(\d+)')
#: What the disassembler says after the first error, which tells no more.
_NOISE = ("verification failed for", "failed to read provided", "failed to create function")


class VerifyError(TileportError):
    """Bytecode that the disassembler rejects.

    `message` is its first error, without the place; `place` is where the op was written, the
    innermost place of an inlined one, or None where the bytecode does not say.
    """

    def __init__(self, message: str, place: Place | None) -> None:
        self.message = message
        self.place = place
        super().__init__(message, where=str(place) if place else None)


def disassemble(bytecode: bytes, *, deadline: float = DEADLINE) -> str:
    """The text of a bytecode file, with its location table.

    Args:
        bytecode: A whole Tile IR bytecode file (13.4 or 13.5).
        deadline: Seconds after which the disassembler is stopped.

    Raises:
        VerifyError: the disassembler rejects the bytecode.
        TileportError: there is no usable tileirdisasm (`ExitCode.TOOL_MISSING`), or it crashed or
            went over the deadline (`ExitCode.INTERNAL`).
    """
    program = toolchain.require("tileirdisasm")
    try:
        done = subprocess.run(
            # Through a pipe: nothing of the program lies in a folder that others can read.
            [str(program), "-g", "/dev/stdin"],
            input=bytecode,
            capture_output=True,
            timeout=deadline,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TileportError(
            f"tileirdisasm took more than {deadline:g} s",
            todo="the bytecode may be damaged; `tileport cache clean` makes it anew",
            code=ExitCode.INTERNAL,
        ) from None
    except OSError as error:
        raise TileportError(
            f"tileirdisasm does not start: {error.strerror}",
            where=str(program),
            todo="see `tileport doctor`",
            code=ExitCode.TOOL_MISSING,
        ) from None
    messages = done.stderr.decode("utf-8", "replace")
    if done.returncode < 0:
        raise TileportError(
            f"tileirdisasm was ended by signal {-done.returncode}",
            todo="the bytecode may be damaged; `tileport cache clean` makes it anew",
            code=ExitCode.INTERNAL,
        )
    if done.returncode != 0 or not done.stdout.strip():
        raise verify_error(messages)
    return done.stdout.decode("utf-8", "replace")


def verify_error(messages: str) -> VerifyError:
    """The error that the disassembler's standard error tells about."""
    chosen: re.Match[str] | None = None
    for match in _ERROR.finditer(messages):
        if chosen is None or (chosen["what"].startswith(_NOISE) and match["where"]):
            chosen = match
        if chosen["where"]:
            break
    if chosen is None:
        return VerifyError(one_line(messages) or "the disassembler rejects the bytecode", None)
    return VerifyError(one_line(chosen["what"]), _place(chosen["where"] or ""))


def _place(text: str) -> Place | None:
    """The innermost place of a location as diagnostics spell it; columns become 1-based."""
    chain = Locations(()).chain(text)
    if chain:
        return Place(chain[0].file, chain[0].line, chain[0].column + 1)
    plain = _PLAIN_PLACE.fullmatch(text)
    if plain is not None:
        return Place(plain[1], int(plain[2]), int(plain[3]) + 1)
    return None
