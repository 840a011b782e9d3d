"""What one comparison of a reference entry with a port entry found, as data.

Everything here crosses process borders and goes to disk, so it is `msgspec.Struct` and frozen.
Findings and places are those of `tileport.verify.model`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tileport.verify.model import Finding, Place


class DiffVerdict(StrEnum):
    """The three answers of a comparison.

    `SAME` is given only when equality is proven for every input the entry accepts; `SAME_IF`
    when it is proven under the assumptions listed; else `DIFFERENT`, with at least one finding.
    """

    SAME = "same"
    SAME_IF = "same-if"
    DIFFERENT = "different"


class Assumption(msgspec.Struct, frozen=True, kw_only=True):
    """A condition under which both sides are equal, where that is not proven without it.

    `condition` is short text over parameter names (`GROUP_SIZE_M > 0`); `rule` is the name of
    the rewrite rule that needed it.
    """

    condition: str
    rule: str
    python: Place | None = None
    rust: Place | None = None


class RowKind(StrEnum):
    """What one row of the canonical view shows."""

    #: Heading of the ops of one source line.
    HEADER = "header"
    #: An op that is equal on both sides.
    SAME = "same"
    #: `count` equal ops, not shown one by one.
    FOLD = "fold"
    #: An op of the reference with no counterpart.
    REMOVED = "removed"
    #: An op of the port with no counterpart.
    ADDED = "added"
    #: An op that both sides have, with a difference in itself (not only in what it is fed).
    CHANGED = "changed"


class DiffRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the canonical view, for the eye.

    `python` and `rust` are 1-based lines of the operator's source and of the port (0: none).
    `depth` is how many loops and branches it is inside. `finding` is an index into
    `Comparison.findings`, -1 where the row has none.
    """

    kind: RowKind
    reference: str = ""
    port: str = ""
    python: int = 0
    rust: int = 0
    depth: int = 0
    count: int = 0
    finding: int = -1


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer for one variant and target.

    Equal hashes mean equal canonical form, facts and hints included. `unknown_ops` are names of
    ops without a grammar here; they were compared as text and as ordered effects.
    """

    verdict: DiffVerdict
    assumptions: tuple[Assumption, ...] = ()
    findings: tuple[Finding, ...] = ()
    rows: tuple[DiffRow, ...] = ()
    reference_hash: str = ""
    port_hash: str = ""
    unknown_ops: tuple[str, ...] = ()
