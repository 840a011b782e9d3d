"""Which values of the IR itself something live depends on, before any rewriting.

A promise about a value counts as long as the value is used, also where the canonical form has
taken the value apart: `8 * i` promised not to overflow and then added to `j` is no node of its own
in the sum `8 * i + j`, but the promise is still one of the program.
"""

from __future__ import annotations

from collections.abc import Callable

from tileport.verify.ir.model import Entry, Op, Region, Value


class _Uses:
    """What each region argument and each result of an op with regions stands for."""

    def __init__(self, entry: Entry) -> None:
        self.sources: dict[Value, list[Value]] = {}
        self.ops: list[Op] = []
        self._region(entry.body, None)

    def _region(self, region: Region, loop: Op | None) -> None:
        for op in region.ops:
            self.ops.append(op)
            if op.name in ("for", "loop"):
                self._carried(op)
            for inner in op.regions:
                if op.name == "if":
                    self._yields(op, inner)
                self._region(inner, op if op.name in ("for", "loop") else loop)
            if op.name in ("continue", "break") and loop is not None:
                self._ends(op, loop)

    def _carried(self, op: Op) -> None:
        initial = op.operands_in("init")
        for argument, start in zip(_inside(op), initial, strict=False):
            self.sources.setdefault(argument, []).append(start)
        if op.name == "for":
            for result, start in zip(op.results, initial, strict=False):
                self.sources.setdefault(result, []).append(start)

    def _ends(self, end: Op, loop: Op) -> None:
        if end.name == "continue":
            for argument, value in zip(_inside(loop), end.operands, strict=False):
                self.sources.setdefault(argument, []).append(value)
        if end.name == "break" or loop.name == "for":
            for result, value in zip(loop.results, end.operands, strict=False):
                self.sources.setdefault(result, []).append(value)

    def _yields(self, op: Op, region: Region) -> None:
        end = region.ops[-1] if region.ops else None
        if end is not None and end.name == "yield":
            for result, value in zip(op.results, end.operands, strict=False):
                self.sources.setdefault(result, []).append(value)


def _inside(op: Op) -> tuple[Value, ...]:
    arguments = op.regions[0].arguments
    return arguments[1:] if op.name == "for" else arguments


def raw_live(entry: Entry, is_live: Callable[[Op], bool]) -> set[Value]:
    """The values that live effects and live control flow depend on.

    Args:
        entry: The entry.
        is_live: Whether an effect, loop or branch is live in the canonical form.
    """
    uses = _Uses(entry)
    found: set[Value] = set()
    pending: list[Value] = []
    for op in uses.ops:
        if op.name in ("for", "loop", "if"):
            if is_live(op):
                pending.extend(op.operands[: {"for": 3, "if": 1}.get(op.name, 0)])
        elif is_live(op):
            pending.extend(op.operands)
    while pending:
        value = pending.pop()
        if value in found or value.type == "token":
            continue
        found.add(value)
        pending.extend(uses.sources.get(value, ()))
        owner = value.owner
        if owner is not None and owner.name not in ("for", "loop", "if"):
            pending.extend(owner.operands)
            for region in owner.regions:
                pending.extend(region.ops[-1].operands if region.ops else ())
    return found
