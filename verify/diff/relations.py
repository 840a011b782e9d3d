"""What is not in the nodes themselves: memory order, promises, shared views, guards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileport.verify.diff.alignment import Alignment
from tileport.verify.diff.meaning import Meaning
from tileport.verify.ir.canonical.expression import expression
from tileport.verify.ir.canonical.facts import Facts, essential
from tileport.verify.ir.canonical.graph import UNSHARED
from tileport.verify.ir.canonical.memory import Aliasing
from tileport.verify.ir.canonical.nodes import Block, Node, Obligation
from tileport.verify.ir.canonical.order import bits_of
from tileport.verify.model import Severity


@dataclass(frozen=True, slots=True)
class Relation:
    """A difference between pairs: what it means, and where it is on both sides."""

    meaning: Meaning
    reference: Node | None
    port: Node | None


# ---------------------------------------------------------------- memory order


def order_differences(alignment: Alignment, aliasing: Aliasing) -> Iterator[Relation]:
    """Order between memory operations that only one side asks for.

    Only pairs of operations that both sides have, and whose order could be seen, count.
    """
    forward, backward = alignment.forward, alignment.backward
    for node, twin in forward.items():
        if node.before is None or twin.before is None or not node.live or not twin.live:
            continue
        want = _before(node, alignment.reference.effects, aliasing)
        have = _before(twin, alignment.port.effects, aliasing)
        mapped = {(forward[other], when) for other, when in want if other in forward}
        for other, when in sorted(want, key=_by_number):
            there = forward.get(other)
            if there is not None and (there, when) not in have:
                yield Relation(_missing(other, node, when), node, twin)
        for other, when in sorted(have, key=_by_number):
            if other in backward and (other, when) not in mapped:
                yield Relation(_extra(other, twin, when), node, twin)


def _by_number(item: tuple[Node, str]) -> tuple[int, str]:
    return item[0].number, item[1]


def _before(node: Node, effects: list[Node], aliasing: Aliasing) -> set[tuple[Node, str]]:
    """What has to be before an effect, and when: `""` always, else in words."""
    before = node.before
    assert before is not None
    found: set[tuple[Node, str]] = set()
    for number in bits_of(before.mask):
        if _counts(effects[number], node, aliasing):
            found.add((effects[number], ""))
    for (_, number), distances in before.carried.items():
        if _counts(effects[number], node, aliasing):
            every = (1, True) in distances
            found.add((effects[number], "of earlier iterations" if every else "of some iterations"))
    for element, reason in before.odd:
        if isinstance(element, int) and _counts(effects[element], node, aliasing):
            words = " ".join(str(each) for each in reason if isinstance(each, str))
            found.add((effects[element], f"on some paths ({words})"))
    return found


def _counts(other: Node, node: Node, aliasing: Aliasing) -> bool:
    if not other.live or other.access is None or node.access is None:
        return False
    return aliasing.conflict(other.access, node.access)


def _name(node: Node) -> str:
    arrays = node.access.arrays if node.access is not None else None
    verb = node.op.partition("_")[0]
    return f"{verb} of {', '.join(sorted(arrays))}" if arrays else verb


def _missing(other: Node, node: Node, when: str) -> Meaning:
    text = (
        f"the reference orders this {_name(node)} after the {_name(other)} {when}".rstrip()
        + "; here nothing does, so they may be swapped"
    )
    remedy = "pass the token of the earlier operation"
    return Meaning("token-missing", text, f"after {_name(other)} {when}".rstrip(), "", remedy)


def _extra(other: Node, node: Node, when: str) -> Meaning:
    text = (
        f"this {_name(node)} waits for the {_name(other)} {when}".rstrip()
        + "; in the reference it does not"
    )
    remedy = "start from the token that the reference starts from"
    return Meaning("token-extra", text, "", f"after {_name(other)} {when}".rstrip(), remedy)


# ---------------------------------------------------------------- promises


def promise_differences(alignment: Alignment) -> Iterator[Relation]:
    """Facts about paired values that only one side promises."""
    for node, twin in alignment.forward.items():
        if node.op == "assume" or not (node.facts or twin.facts):
            continue
        if essential(node) == essential(twin) or not node.live or not twin.live:
            continue
        for meaning in _promises(node, twin):
            yield Relation(meaning, node, twin)
    others = {node.key: node for node in alignment.port.nodes if node.live and node.facts}
    for node in alignment.reference.nodes:
        if node.live and node.facts and node not in alignment.forward:
            other = others.get(node.key)
            if other is not None:
                for meaning in _promises(node, other):
                    yield Relation(meaning, node, other)
    yield from _lone_promises(alignment)


def _lone_promises(alignment: Alignment) -> Iterator[Relation]:
    """Promises about values that are kept for them on one side and are no values on the other."""
    left = {node.key for node in alignment.reference.kept}
    right = {node.key for node in alignment.port.kept}
    for node in alignment.reference.kept:
        if node.key not in right and node not in alignment.forward:
            for meaning in _promises(node, None):
                yield Relation(meaning, node, None)
    for node in alignment.port.kept:
        if node.key not in left and node not in alignment.backward:
            for meaning in _promises(None, node):
                yield Relation(meaning, None, node)


def _promises(node: Node | None, twin: Node | None) -> Iterator[Meaning]:
    """What two values are promised differently; None is a value without promises."""
    known = node or twin
    assert known is not None
    left = (node.facts if node is not None else None) or Facts()
    right = (twin.facts if twin is not None else None) or Facts()
    node, twin = node or known, twin or known
    name = expression(known)
    have = max(left.divisor, node.derived[1])
    got = max(right.divisor, twin.derived[1])
    unit = " bytes" if "ptr<" in known.type else ""
    if got < have:
        text = f"{name} is a multiple of {have}{unit} in the reference, of {got}{unit} here"
        remedy = f"promise that {name} is divisible by {have}"
        yield Meaning("div-by-missing", text, f"div_by {have}", f"div_by {got}", remedy, group=name)
    elif got > have:
        text = (
            f"{name} is promised to be a multiple of {got}{unit} here, of {have} in the reference"
        )
        remedy = f"promise no more than {have}"
        yield Meaning("div-by-extra", text, f"div_by {have}", f"div_by {got}", remedy, group=name)
    for word, wanted, promised, tighter in (
        ("at least", left.low, right.low, 1),
        ("at most", left.high, right.high, -1),
    ):
        first, second = _beyond(wanted, node, tighter), _beyond(promised, twin, tighter)
        if first == second:
            continue
        if second is None or (first is not None and tighter * first > tighter * second):
            text = f"{name} is known to be {word} {first} in the reference, not here"
            remedy = f"assume {name} {word} {first}"
            yield Meaning("bound-missing", text, f"{word} {first}", "", remedy, group=name)
        else:
            text = f"{name} is promised to be {word} {second} here, not in the reference"
            remedy = "do not promise it"
            yield Meaning("bound-extra", text, "", f"{word} {second}", remedy, group=name)
    yield from _overflow(left.other, right.other, name)
    for predicate in sorted(left.other - right.other):
        if predicate.startswith("overflow<"):
            continue
        text = f"{name} has {predicate} in the reference, not here"
        yield Meaning("assume-missing", text, predicate, "", group=name + predicate)
    for predicate in sorted(right.other - left.other):
        if predicate.startswith("overflow<"):
            continue
        text = f"{name} is promised {predicate} here, not in the reference"
        yield Meaning("assume-extra", text, "", predicate, group=name + predicate)


def _overflow(have: set[str], got: set[str], name: str) -> Iterator[Meaning]:
    """Promises that what computes a value does not overflow, by which kind of overflow."""
    wanted, given = (
        {each.partition(">")[0].removeprefix("overflow<") for each in side if each[0] == "o"}
        for side in (have - got, got - have)
    )
    if wanted:
        flags = ", ".join(sorted(wanted))
        text = f"{name} is computed with the promise {flags} in the reference, without it here"
        yield Meaning("overflow-flag", text, flags, "none", severity=Severity.SLOW, group=text)
    if given:
        flags = ", ".join(sorted(given))
        text = f"{name} is computed with the promise {flags} here, without it in the reference"
        yield Meaning("overflow-flag", text, "none", flags, "leave overflow out", group=text)


def _beyond(bound: int | None, node: Node, tighter: int) -> int | None:
    """A promised bound that says more than what is derived, else None."""
    derived = node.derived[0]
    if bound is None or derived is None:
        return bound
    end = derived[0] if tighter > 0 else derived[1]
    return bound if tighter * bound > tighter * end else None


# ---------------------------------------------------------------- shared views


def view_differences(alignment: Alignment) -> Iterator[Relation]:
    """Accesses that go through one view on one side and through two equal ones on the other."""
    users: dict[Node, list[Node]] = {}
    twins: dict[Node, list[Node]] = {}
    for node, twin in alignment.forward.items():
        if not (node.live and twin.live) or node.op in UNSHARED or node.op != twin.op:
            continue
        for first, second in zip(node.operands, twin.operands, strict=False):
            if first.op in UNSHARED and first.op == second.op and first.key == second.key:
                users.setdefault(first, []).append(second)
                twins.setdefault(second, []).append(first)
    for view, others in users.items():
        distinct = list(dict.fromkeys(others))
        if len(distinct) > 1:
            text = f"{len(distinct)} equal views are made here where the reference makes one"
            remedy = "make the view once and use it for all"
            yield Relation(
                Meaning("view-split", text, "one view", f"{len(distinct)} views", remedy),
                view,
                distinct[1],
            )
    for twin, views in twins.items():
        distinct = list(dict.fromkeys(views))
        if len(distinct) > 1:
            text = f"one view is used here where the reference makes {len(distinct)} equal ones"
            remedy = "make a view for each access"
            yield Relation(
                Meaning("view-merged", text, f"{len(distinct)} views", "one view", remedy),
                distinct[1],
                twin,
            )


# ---------------------------------------------------------------- divisions and their guards


def unguarded_divisions(alignment: Alignment) -> Iterator[Obligation]:
    """Divisions that the port runs where the reference does not, with a divisor that may be zero.

    A division by zero is undefined behaviour even where its result is not used. A division of the
    port is covered if the reference divides by the same value in the same region or one around
    it, under no more conditions.
    """
    covered: dict[Block, list[Obligation]] = {}
    for block, twin in alignment.blocks.items():
        covered.setdefault(twin, []).extend(_around(block))
    root = alignment.port.root
    pending = [root]
    seen: set[Block] = set()
    while pending:
        block = pending.pop()
        if block in seen:
            continue
        seen.add(block)
        have = covered.get(block, [])
        for obligation in block.obligations:
            if not obligation.witness.live:
                continue
            divisor = alignment.backward.get(obligation.divisor)
            if not any(
                (each.divisor.key == obligation.divisor.key or each.divisor is divisor)
                and each.divisor.live
                and each.guards <= obligation.guards
                for each in have
            ):
                yield obligation
        for node in [*block.effects, block.terminator]:
            if node is not None and node.live:
                pending.extend(node.blocks)


def _around(block: Block) -> list[Obligation]:
    found: list[Obligation] = []
    at: Block | None = block
    while at is not None:
        found.extend(at.obligations)
        at = at.parent
    return found


def severity_for_unguarded(obligation: Obligation) -> Severity | None:
    """None where the condition can be told at launch; else it stays a finding."""
    return None if obligation.divisor.launch else Severity.UNSAFE
