"""What is only written differently is the same: names, order, duplicates, dead code."""

from __future__ import annotations

import random

import pytest

from tileport.verify.ir.model import Entry, Module, Op, Region, Value, walk

from .pairs import NAMES, pairs

_ORDERED = ("load", "store", "atomic", "print", "assert", "return", "continue", "break", "yield")


def _rename(entry: Entry, choose: random.Random) -> None:
    for op in walk(entry.body):
        for value in (*op.results, *(a for r in op.regions for a in r.arguments)):
            value.name = f"%v{choose.getrandbits(60)}"


def _is_pure(op: Op) -> bool:
    return not op.regions and not op.name.startswith(_ORDERED)


def _reorder(region: Region, choose: random.Random) -> None:
    """Another topological order; ops with effects or regions keep theirs."""
    ops = list(region.ops)
    inside: dict[Op, set[Op]] = {}
    for op in ops:
        every = {op, *(each for r in op.regions for each in walk(r))}
        for each in every:
            inside[each] = {op}
    needs: dict[Op, set[Op]] = {op: set() for op in ops}
    last: Op | None = None
    for op in ops:
        for each in (op, *(e for r in op.regions for e in walk(r))):
            for value in each.operands:
                if value.owner is not None and value.owner in inside:
                    needs[op] |= inside[value.owner] - {op}
        if not _is_pure(op):
            if last is not None:
                needs[op].add(last)
            last = op
    terminator = ops.pop()
    done: set[Op] = set()
    ordered: list[Op] = []
    while ops:
        ready = [op for op in ops if needs[op] <= done]
        op = choose.choice(ready)
        ops.remove(op)
        done.add(op)
        ordered.append(op)
    region.ops[:] = [*ordered, terminator]
    for op in region.ops:
        for inner in op.regions:
            _reorder(inner, choose)


def _duplicate(entry: Entry, choose: random.Random) -> None:
    """A constant or pure op of its own for some of the uses."""
    for region in _regions(entry.body):
        for place in range(len(region.ops) - 1, -1, -1):
            op = region.ops[place]
            if (
                not _is_pure(op)
                or op.name.startswith("make_")
                or op.name in ("assume", "join_tokens")
            ):
                continue
            if len(op.results) != 1 or choose.random() < 0.5:
                continue
            twin = Op(op.name, op.operands, op.roles, (), dict(op.attributes), (), op.location,
                      op.verbatim, op.text_line)  # fmt: skip
            twin.results = (Value(op.results[0].name + "_twin", op.results[0].type, twin),)
            region.ops.insert(place, twin)
            for user in walk(region):
                if user is not twin and user.name != "assume" and choose.random() < 0.5:
                    user.operands = tuple(
                        twin.results[0] if value is op.results[0] else value
                        for value in user.operands
                    )


def _dead(entry: Entry, choose: random.Random) -> None:
    """Pure ops that nobody uses, and a weak load that nobody uses."""
    for region in _regions(entry.body):
        for op in list(region.ops):
            pure = op.name in ("muli", "addf", "cmpi", "divi", "reduce") and choose.random() < 0.7
            weak = op.attributes.get("memory_ordering_semantics") == "weak"
            if pure or (weak and op.name.startswith("load")):
                twin = Op(op.name, op.operands, op.roles, (), dict(op.attributes),
                          tuple(_copy(each) for each in op.regions),
                          op.location, op.verbatim, op.text_line)  # fmt: skip
                twin.results = tuple(
                    Value(each.name + "_dead", each.type, twin, each.index) for each in op.results
                )
                region.ops.insert(region.ops.index(op) + 1, twin)


def _copy(region: Region) -> Region:
    """The region of a reduction, with values of its own."""
    new = {each: Value(each.name + "_dead", each.type, None, each.index)
           for each in region.arguments}  # fmt: skip
    ops = []
    for op in region.ops:
        twin = Op(op.name, tuple(new.get(each, each) for each in op.operands), op.roles, (),
                  dict(op.attributes), (), op.location, op.verbatim, op.text_line)  # fmt: skip
        twin.results = tuple(Value(v.name + "_dead", v.type, twin, v.index) for v in op.results)
        new.update(zip(op.results, twin.results, strict=True))
        ops.append(twin)
    return Region(tuple(new[each] for each in region.arguments), ops)


def _hoist(entry: Entry, choose: random.Random) -> None:
    """Loop-invariant pure ops out of the loop; divisions stay, their divisor may be zero."""
    for place in range(len(entry.body.ops) - 1, -1, -1):
        loop = entry.body.ops[place]
        if loop.name != "for":
            continue
        inside = set(loop.regions[0].arguments)
        kept, out = [], []
        for op in loop.regions[0].ops:
            pure = _is_pure(op) and op.name not in ("divi", "remi", "assume", "join_tokens")
            if pure and not inside.intersection(op.operands):
                out.append(op)
            else:
                kept.append(op)
                inside.update(op.results)
        loop.regions[0].ops[:] = kept
        entry.body.ops[place:place] = out
    del choose


def _regions(region: Region) -> list[Region]:
    found = [region]
    for op in region.ops:
        for inner in op.regions:
            if op.name not in ("reduce", "scan"):
                found.extend(_regions(inner))
    return found


_CHANGES = {
    "renamed": _rename,
    "reordered": lambda entry, choose: _reorder(entry.body, choose),
    "duplicated": _duplicate,
    "dead": _dead,
    "hoisted": _hoist,
}


def _sides(name: str) -> list[tuple[Module, bool]]:
    pair = pairs()[name]
    return [(pair.reference(), False), (pair.port(), True)]


@pytest.mark.parametrize("change", _CHANGES)
@pytest.mark.parametrize("name", NAMES)
def test_writing_it_differently_changes_nothing(name: str, change: str) -> None:
    for module, port in _sides(name):
        before = pairs()[name].canonical(module, port=port)
        count = len(list(walk(module.entry().body)))
        _CHANGES[change](module.entry(), random.Random(1))
        after = pairs()[name].canonical(module, port=port)
        assert after.hash == before.hash, _first_difference(before.lines, after.lines)
        if change in ("duplicated", "dead"):
            assert len(list(walk(module.entry().body))) > count


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("name", NAMES)
def test_all_of_it_at_once_changes_nothing(name: str, seed: int) -> None:
    choose = random.Random(seed)
    for module, port in _sides(name):
        before = pairs()[name].canonical(module, port=port).hash
        for change in choose.sample(list(_CHANGES.values()), len(_CHANGES)):
            change(module.entry(), choose)
        assert pairs()[name].canonical(module, port=port).hash == before


def _first_difference(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    for left, right in zip(one, other, strict=False):
        if left != right:
            return f"{left}\n{right}"
    return f"{len(one)} and {len(other)} lines"
