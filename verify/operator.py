"""From what a person typed to the files of an operator, without running any of its code."""

from __future__ import annotations

from typing import Literal

import msgspec


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """An operator and where its files lie; all paths are absolute."""

    #: What was typed, for messages: `ops/mla_decode.py`, `tilegym.ops.cutile.softmax`.
    given: str
    kind: Literal["path", "module"]
    #: The last part, for titles: `mla_decode`, `softmax`.
    name: str
    #: Unlike that of any other operator of the workspace, and fit for a file name.
    key: str
    #: Dotted name for kind `module`, else empty.
    module: str = ""
    #: The Python file; None only for a module without a source file.
    source: str | None
    #: The case file, where one was found or given.
    cases: str | None
    #: The Rust port, also where it does not exist yet.
    port: str
    #: The folder `.tileport` lies in.
    workspace: str


def resolve_operator(
    given: str, *, port: str | None = None, cases: str | None = None, cwd: str | None = None
) -> Operator:
    """Find the files of the operator `given`: a path or a dotted module name.

    Args:
        given: `ops/x.py`, or `package.module`.
        port: The Rust port, where it is not in its usual place; need not exist.
        cases: The case file, where it is not in its usual place; must exist.
        cwd: What relative paths are taken from; the current folder if None.

    Raises:
        TileportError: there is no such file or module, or it cannot be read as Python text.
    """
    raise NotImplementedError
