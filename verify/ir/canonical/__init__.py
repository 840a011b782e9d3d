"""The canonical form of a Tile IR entry: what it means, freed of how it was written.

Two entries with equal canonical hash mean the same for every input they accept, under the
conditions listed. See `tileport.verify.ir.rules` for what is rewritten and why that is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tileport.verify.errors import TileportError
from tileport.verify.ir.canonical.control import Control
from tileport.verify.ir.canonical.facts import Facts, essential
from tileport.verify.ir.canonical.finish import Finish
from tileport.verify.ir.canonical.graph import Graph, Reliance
from tileport.verify.ir.canonical.memory import Aliasing
from tileport.verify.ir.canonical.nodes import Block, Node
from tileport.verify.ir.canonical.ops import hints_for
from tileport.verify.ir.canonical.rawlive import raw_live
from tileport.verify.ir.canonical.serialize import Serializer, hash_of
from tileport.verify.ir.model import Entry, Module
from tileport.verify.ir.rules import RULES
from tileport.verify.safe_text import one_line

Constant = int | float | bool
RelianceKey = tuple[str, bytes]


@dataclass(slots=True, eq=False)
class Canonical:
    """The canonical form of one entry for one target."""

    hash: str
    root: Block
    #: All nodes made, dead ones too, by number.
    nodes: list[Node]
    #: The effects that tokens order, by their own number.
    effects: list[Node]
    #: Loops and branches by number.
    controls: dict[int, Node]
    receiver: dict[Node, Node]
    #: Conditions that rules relied on.
    reliances: tuple[Reliance, ...]
    #: Parameters that stand for a constant of the reference, with that constant.
    bound: dict[str, Constant]
    #: Entry hints of the target.
    hints: tuple[tuple[str, str], ...]
    #: Values that are live for a promise about them alone.
    kept: tuple[Node, ...]
    unknown_ops: tuple[str, ...]
    #: The text that was hashed.
    lines: tuple[str, ...]


def canonicalize(
    entry: Entry,
    *,
    target: str,
    parameters: Sequence[str],
    constants: Mapping[str, Constant] | None = None,
    aliasing: Aliasing | None = None,
    allowed: frozenset[RelianceKey] | None = None,
    limits: Mapping[bytes, Facts] | None = None,
    globals: Mapping[str, str] | None = None,
) -> Canonical:
    """The canonical form of an entry.

    Args:
        entry: An entry of the IR model; it is not changed.
        target: Whose optimization hints count, e.g. `sm_90`.
        parameters: The identity of each flattened parameter (`q.ptr`, `q.shape[0]`, `scale`,
            `const:BLOCK`); parameters of two entries are the same if their identities are.
        constants: Values for `const:` parameters.
        aliasing: Which arrays may overlap; without it all may.
        allowed: Conditions that rules may rely on, by key; None allows all.
        limits: By digest of a value, which of its facts rules may use; None allows all.
        globals: From `globals_of`, for an entry whose module has globals.

    Raises:
        TileportError: the identities are not one for each parameter, or a global is missing.
    """
    graph = Graph(RULES, allowed)
    builder = Control(graph, target, constants or {}, limits, globals)
    builder.parameters(entry, parameters)
    builder.promises(entry.body.ops, entry.parameters)
    builder.body(entry.body.ops)
    finish = Finish(graph.root, graph.nodes)
    finish.mark()
    finish.keep(_promised(entry, builder, graph))
    finish.run()
    serializer = Serializer(
        finish.receiver,
        builder.effects,
        builder.controls,
        builder.orders,
        aliasing or Aliasing(),
    )
    hints = hints_for(entry.hints, target)
    lines = [f"hints {hints}", *serializer.write(graph.root, finish.kept)]
    return Canonical(
        hash=hash_of(lines),
        root=graph.root,
        nodes=graph.nodes,
        effects=builder.effects,
        controls=builder.controls,
        receiver=finish.receiver,
        reliances=tuple(graph.reliances.values()),
        bound=builder.bound,
        hints=hints,
        kept=tuple(finish.kept),
        unknown_ops=tuple(sorted(builder.unknown)),
        lines=tuple(lines),
    )


def globals_of(module: Module) -> dict[str, str]:
    """What each module global holds, as text, by symbol.

    Raises:
        TileportError: the module has something beside entries that is no global.
    """
    found: dict[str, str] = {}
    for op in module.globals:
        if op.name != "global" or not op.known:
            raise TileportError(f"cannot compare a module with `{one_line(op.verbatim, 80)}`")
        parts = sorted(f"{key}={text}" for key, text in op.attributes.items() if key != "sym_name")
        found[op.attributes["sym_name"]] = " ".join(parts)
    return found


def _promised(entry: Entry, builder: Control, graph: Graph) -> list[Node]:
    """Values that promises are about and that are used, but not as nodes of their own."""
    waiting = {
        node
        for node in graph.nodes
        if node.facts is not None and not node.live and node.op != "parameter" and essential(node)
    }
    waiting |= {
        node.operands[0]
        for node in builder.effects
        if node.op == "assume" and not node.operands[0].live
    }
    if not waiting:
        return []
    live = raw_live(entry, builder.is_live)
    found = {node for value, node in builder.values.items() if node in waiting and value in live}
    return sorted(found, key=lambda node: node.number)
