"""What pairing two canonical graphs gives: which nodes belong together, and the causes."""

from __future__ import annotations

from dataclasses import dataclass, field

from tileport.verify.ir.canonical import Canonical
from tileport.verify.ir.canonical.nodes import Block, Node


@dataclass(frozen=True, slots=True)
class Cause:
    """One place where the two sides differ in themselves.

    `kind` is `attribute`, `type`, `data`, `op`, `missing` (only in the reference), `extra` (only in
    the port) or `use` (another value is used). `name` is the attribute, where it is one. `role` is
    what the value is for in the effect it was reached from (`mask`, `index`, `bound`, ...), and
    `reference_user` and `port_user` are the nodes it is an operand of.
    """

    kind: str
    reference: Node | None
    port: Node | None
    name: str = ""
    role: str = ""
    reference_user: Node | None = None
    port_user: Node | None = None


@dataclass(slots=True)
class Alignment:
    """What is paired with what, and the causes."""

    reference: Canonical
    port: Canonical
    #: Reference node to port node, and back; the first pair found for a node counts.
    forward: dict[Node, Node] = field(default_factory=dict)
    backward: dict[Node, Node] = field(default_factory=dict)
    blocks: dict[Block, Block] = field(default_factory=dict)
    causes: list[Cause] = field(default_factory=list)
