"""The Tile IR of either side as text, for reading."""

from __future__ import annotations

import asyncio
from typing import Literal

from tileport.verify.errors import TileportError
from tileport.verify.ir.disassemble import disassemble
from tileport.verify.ladder.engine import Ladder
from tileport.verify.model import Severity
from tileport.verify.port.names import flattened
from tileport.verify.store import Store


async def listing(
    ladder: Ladder,
    store: Store,
    variant: str,
    side: Literal["reference", "port"],
    *,
    canonical: bool,
) -> str:
    """The IR of one side of one variant.

    Args:
        ladder: Has the variants and what the port compiled to.
        store: Has the reference bytecode.
        variant: Id of the variant.
        side: Which side.
        canonical: The canonical form; else what the disassembler prints.

    Raises:
        TileportError: there is none, or no disassembler.
    """
    known = ladder.board.by_id.get(variant)
    if known is None:
        raise TileportError(f"no variant {variant}", where=ladder.operator.given)
    binding = ladder.binding(variant)
    if side == "reference":
        bytecode = await asyncio.to_thread(store.blob, known.reference)
        parameters = flattened(known)
        missing = "the reference was removed from the cache; capture again"
    else:
        compiled = ladder.compiled(variant)
        bytecode = compiled.bytecode if compiled else None
        parameters = binding.port_parameters if binding else ()
        missing = f"the port has no IR for this variant: {_why(ladder, variant)}"
    if bytecode is None:
        raise TileportError(missing, where=ladder.operator.given)
    constants = binding.constants if binding else {}

    def read() -> str:
        text = disassemble(bytecode)
        if not canonical:
            return text
        # Here, since they take a while to load and few sessions need them.
        from tileport.verify.ir.canonical import canonicalize  # noqa: PLC0415
        from tileport.verify.ir.canonical.text import lines_of  # noqa: PLC0415
        from tileport.verify.ir.text import parse_module  # noqa: PLC0415

        entry = parse_module(text).entries[0]
        form = canonicalize(entry, target=known.target, parameters=parameters, constants=constants)
        lines = lines_of(form.root, form.nodes, form.receiver)
        hints = "".join(f"hint {name} = {value}\n" for name, value in form.hints)
        return hints + "".join(f"{'  ' * line.depth}{line.text}\n" for line in lines)

    return await asyncio.to_thread(read)


def _why(ladder: Ladder, variant: str) -> str:
    """What stands in the way of the port's IR, in a few words."""
    for stage in ("declare", "compile"):
        result = ladder.board.current(variant, stage)
        if result is None:
            return f"{stage} is not done"
        if result.reason:
            return result.reason
        worst = [f for f in result.findings if f.severity is Severity.WRONG]
        if worst:
            return f"{worst[0].rust}: {worst[0].message}" if worst[0].rust else worst[0].message
    return "unknown"
