"""What an effect touches, and which pairs of effects need an order.

Two operations need an order only if swapping them could be seen. Weak loads among themselves do
not: nothing is written in between that a weak load may see. Operations on different arrays do not
where the arrays are declared not to overlap. Everything that is not weak (atomics, acquire,
release) synchronizes with other tile blocks, so it needs its order against everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tileport.verify.ir.canonical.nodes import Node

#: Operations whose operands and tokens are understood.
MEMORY = frozenset(
    {
        "load_ptr_tko", "store_ptr_tko", "load_view_tko", "store_view_tko",
        "atomic_rmw_tko", "atomic_cas_tko", "atomic_red_view_tko",
    }
)  # fmt: skip

_THROUGH = frozenset(
    {
        "offset", "splat", "reshape", "broadcast", "permute", "ptr_to_ptr", "extract",
        "make_tensor_view", "make_partition_view", "make_strided_view",
        "make_gather_scatter_view",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Access:
    """`kind` is `read`, `write`, `print`, `promise` (an assume) or `any` (an unknown op).

    `weak`: no other tile block takes part.

    `arrays` are the parameters the address comes from, None where that is not known.
    """

    kind: str
    weak: bool
    arrays: frozenset[str] | None


def access_of(op: str, ordering: str, address: Node | None) -> Access:
    """The access that a memory op or a print makes."""
    if op == "print_tko":
        return Access("print", True, frozenset())
    kind = "read" if op.startswith("load") else "write"
    weak = ordering == "weak" and not op.startswith("atomic")
    return Access(kind, weak, None if address is None else arrays_of(address))


def arrays_of(address: Node) -> frozenset[str] | None:
    """The parameters that an address or a view is made of, None where it is not known."""
    found: set[str] = set()
    pending = [address]
    while pending:
        node = pending.pop()
        if node.op == "parameter":
            found.add(array_of(node.attribute("identity")))
        elif node.op in _THROUGH:
            pending.append(node.operands[0])
        elif node.op == "select":
            pending.extend(node.operands[1:])
        else:
            return None
    return frozenset(found)


def array_of(identity: str) -> str:
    """The array that a flattened parameter belongs to: `q` for `q.ptr`."""
    return identity.rpartition(".ptr")[0] or identity


class Aliasing:
    """Which arrays may overlap.

    Args:
        groups: Alias groups by array name, as the launch declared them: arrays overlap only if
            they share a group. None, or an array that is not named: it may overlap anything.
    """

    def __init__(self, groups: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._groups = {name: frozenset(found) for name, found in (groups or {}).items()}

    def overlap(self, first: str, second: str) -> bool:
        """Whether two arrays may share memory."""
        if first == second:
            return True
        left, right = self._groups.get(first), self._groups.get(second)
        return left is None or right is None or bool(left & right)

    def conflict(self, first: Access, second: Access) -> bool:
        """Whether an order between these two accesses could be seen."""
        kinds = {first.kind, second.kind}
        if "any" in kinds:
            return True
        if "promise" in kinds:
            return False
        if "print" in kinds:
            return len(kinds) == 1
        if not (first.weak and second.weak):
            return True
        if kinds == {"read"}:
            return False
        if first.arrays is None or second.arrays is None:
            return True
        return any(self.overlap(one, other) for one in first.arrays for other in second.arrays)
