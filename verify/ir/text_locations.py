"""The location table at the end of `tileirdisasm -g` text, read into chains of frames.

Only what points into a source file is kept. A location this reader does not understand is an
empty chain: places never decide whether two programs are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tileport.verify.ir.model import Frame, Location

_STRING = r'"((?:[^"\\]|\\.)*)"'
_FILE_LINE = re.compile(_STRING + r":(\d+):(\d+)")
_SCOPED = re.compile(r"#cuda_tile\.di_loc<(#[\w.$]+) in .*>")
_CALL = re.compile(r"loc\(callsite\((#[\w.$]+) at (#[\w.$]+)\)\)")
_ALIAS = re.compile(r"#[\w$]+")
_ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)

#: Longest chain that is followed; inlining is never that deep, a cycle would be.
_DEPTH = 64


def unescape(text: str) -> str:
    r"""What is between the quotes of an MLIR string: `\22` and `\\` become characters."""
    if "\\" not in text:
        return text
    raw = _ESCAPE.sub(
        lambda found: bytes([int(found[1], 16)]) if found[1] else found[2],
        text.encode("utf-8", "surrogatepass"),
    )
    return raw.decode("utf-8", "replace")


class Locations:
    """The locations of one text, each read when it is first asked for."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._texts: dict[str, str] = {}
        self._chains: dict[str, Location] = {}
        for line in lines:
            alias, equals, text = line.partition(" = ")
            if equals:
                self._texts[alias] = text.rstrip()

    def chain(self, text: str) -> Location:
        """The chain for what stands inside `loc(...)` at an op, innermost frame first."""
        known = self._chains.get(text)
        if known is None:
            known = self._chains[text] = self._resolve(text, 0)
        return known

    def _resolve(self, text: str, depth: int) -> Location:
        if depth > _DEPTH:
            return ()
        if text.startswith("#") and text in self._texts:
            known = self._chains.get(text)
            if known is None:
                known = self._resolve(self._texts[text], depth + 1)
                self._chains[text] = known
            return known
        scoped = _SCOPED.fullmatch(text)
        if scoped is not None:
            return self._resolve(scoped[1], depth + 1)
        call = _CALL.fullmatch(text)
        if call is not None:
            return (self._resolve(call[1], depth + 1) + self._resolve(call[2], depth + 1))[:_DEPTH]
        chain, _ = self._read(text, 0, depth + 1)
        return chain[:_DEPTH]

    def _read(self, text: str, at: int, depth: int) -> tuple[Location, int]:
        """One location from `at` on, and where it ends; an empty chain for what is not one."""
        if depth > _DEPTH:
            return (), len(text)
        if text.startswith("loc(", at):
            chain, at = self._read(text, at + 4, depth + 1)
            return chain, at + 1
        if text.startswith("callsite(", at):
            callee, at = self._read(text, at + 9, depth + 1)
            if not text.startswith(" at ", at):
                return callee, len(text)
            caller, at = self._read(text, at + 4, depth + 1)
            return callee + caller, at + 1
        if text.startswith("fused", at):
            return self._read_fused(text, at + 5, depth)
        if text.startswith("#cuda_tile.di_loc<", at):
            chain, _ = self._read(text, at + 18, depth + 1)
            return chain, _closing(text, at + 17)
        if text.startswith("#", at):
            alias = _ALIAS.match(text, at)
            if alias is not None:
                return self._resolve(alias[0], depth + 1), alias.end()
        if text.startswith('"', at):
            return self._read_name(text, at, depth)
        end = at
        while end < len(text) and (text[end].isalnum() or text[end] == "_"):
            end += 1
        return (), end

    def _read_name(self, text: str, at: int, depth: int) -> tuple[Location, int]:
        """`"file":1:2`, a range of it, or `"name"(child)`."""
        place = _FILE_LINE.match(text, at)
        if place is not None:
            end = place.end()
            if text.startswith(" to ", end):
                while end < len(text) and text[end] not in ",)]":
                    end += 1
            return (Frame(unescape(place[1]), int(place[2]), int(place[3])),), end
        name = re.compile(_STRING).match(text, at)
        if name is None:
            return (), len(text)
        end = name.end()
        if text.startswith("(", end):
            chain, end = self._read(text, end + 1, depth + 1)
            return chain, end + 1
        return (), end

    def _read_fused(self, text: str, at: int, depth: int) -> tuple[Location, int]:
        """`fused<data>[a, b]`: the first of the fused places that says something."""
        if text.startswith("<", at):
            at = _closing(text, at)
        if not text.startswith("[", at):
            return (), len(text)
        at += 1
        best: Location = ()
        while at < len(text) and text[at] != "]":
            chain, end = self._read(text, at, depth + 1)
            best = best or chain
            if text.startswith(", ", end):
                end += 2
            elif not text.startswith("]", end):
                return best, len(text)
            at = end
        return best, at + 1


def _closing(text: str, at: int) -> int:
    """Just behind the `>` that closes the `<` at `at`; strings are skipped."""
    depth = 0
    quoted = False
    while at < len(text):
        char = text[at]
        if quoted:
            if char == "\\":
                at += 1
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char == "<":
            depth += 1
        elif char == ">":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return at
