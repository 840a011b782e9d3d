"""The rows of the canonical view: both sides as one list, equal stretches folded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tileport.verify.diff.alignment import Alignment
from tileport.verify.diff.model import DiffRow, RowKind
from tileport.verify.diff.places import line_of
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.text import CanonicalLine, Namer, lines_of


@dataclass(frozen=True, slots=True)
class _Line:
    reference: CanonicalLine | None
    port: CanonicalLine | None


def rows_of(
    alignment: Alignment,
    findings: Mapping[Node, int],
    python_source: str,
    rust: str,
) -> tuple[DiffRow, ...]:
    """The rows for an alignment.

    Args:
        alignment: Both sides.
        findings: The finding (by index) that a node of either side belongs to.
        python_source: The operator's source, for line numbers.
        rust: The port, for line numbers.
    """
    left_names = Namer()
    left = lines_of(
        alignment.reference.root,
        alignment.reference.nodes,
        alignment.reference.receiver,
        left_names,
    )
    backward = alignment.backward

    def given(node: Node) -> str | None:
        twin = backward.get(node)
        return left_names.name(twin) if twin is not None and twin.live else f"%p{node.number}"

    right = lines_of(
        alignment.port.root, alignment.port.nodes, alignment.port.receiver, Namer(given)
    )
    rows: list[DiffRow] = []
    group: list[DiffRow] = []
    for line in _merge(left, right, alignment):
        row = _row(line, findings, python_source, rust)
        if group and (row.python, row.rust) != (group[0].python, group[0].rust):
            rows.extend(_grouped(group))
            group = []
        group.append(row)
    rows.extend(_grouped(group))
    return tuple(rows)


def _merge(
    left: list[CanonicalLine], right: list[CanonicalLine], alignment: Alignment
) -> list[_Line]:
    """Lines of both sides in one order: that of the reference, the port's own in between."""
    shown = {line.node for line in left if line.node is not None}
    by_node = {line.node: line for line in right if line.node is not None}
    following: dict[Node | None, list[CanonicalLine]] = {}
    last: Node | None = None
    for line in right:
        if line.node is None:
            continue
        twin = alignment.backward.get(line.node)
        if twin in shown and alignment.forward.get(twin) is line.node:
            last = twin
        else:
            following.setdefault(last, []).append(line)
    found = [_Line(None, line) for line in following.get(None, [])]
    for line in left:
        if line.node is None:
            continue
        twin = alignment.forward.get(line.node)
        other = by_node.get(twin) if twin is not None else None
        if other is not None and twin is not None and alignment.backward.get(twin) is line.node:
            found.append(_Line(line, other))
        else:
            found.append(_Line(line, None))
        found.extend(_Line(None, each) for each in following.get(line.node, []))
    return found


def _row(line: _Line, findings: Mapping[Node, int], python_source: str, rust: str) -> DiffRow:
    one, other = line.reference, line.port
    python = line_of(one.location, python_source) if one else 0
    port = line_of(other.location, rust) if other else 0
    index = -1
    for side in (one, other):
        if side is not None and side.node is not None and side.node in findings:
            index = findings[side.node]
            break
    depth = (one or other).depth if (one or other) else 0  # type: ignore[union-attr]
    if one is None:
        kind = RowKind.ADDED
    elif other is None:
        kind = RowKind.REMOVED
    elif index >= 0 and one.text != other.text:
        kind = RowKind.CHANGED
    else:
        kind = RowKind.SAME
    return DiffRow(
        kind=kind,
        reference=one.text if one else "",
        port=other.text if other else "",
        python=python,
        rust=port,
        depth=depth,
        finding=index,
    )


def _grouped(group: list[DiffRow]) -> list[DiffRow]:
    """A heading and the rows of one source line; one folded row where all are equal."""
    if not group:
        return []
    first = group[0]
    if all(row.kind is RowKind.SAME and row.finding < 0 for row in group):
        last = group[-1]
        if len(group) == 1:
            return group
        return [
            DiffRow(
                kind=RowKind.FOLD,
                reference=last.reference,
                port=last.port,
                python=first.python,
                rust=first.rust,
                depth=first.depth,
                count=len(group),
            )
        ]
    header = DiffRow(kind=RowKind.HEADER, python=first.python, rust=first.rust, depth=first.depth)
    return [header, *group]
