"""No small change to a program is called the same, unless it is one that changes nothing.

`_why_equal` lists the changes that provably change nothing; it looks at the program before the
canonical form, not at the canonical form itself, so it is a second opinion.
"""

from __future__ import annotations

import pytest

from tileport.verify.diff.model import DiffVerdict
from tileport.verify.ir.model import Entry, Op, Value, walk

from .mutate import Mutation, mutations
from .pairs import NAMES, pairs

_COMMUTATIVE = {"addi", "muli", "andi", "ori", "xori", "mini", "maxi", "addf", "mulf", "maxf",
                "minf"}  # fmt: skip
_EFFECTS = {"store_view_tko", "store_ptr_tko", "atomic_rmw_tko", "return", "continue", "break"}


def _live(entry: Entry) -> set[Op]:
    """Ops that something stored depends on, by plain reachability (regions keep all they use)."""
    found: set[Op] = set()
    pending = [op for op in walk(entry.body) if op.name in _EFFECTS or op.regions]
    while pending:
        op = pending.pop()
        if op in found:
            continue
        found.add(op)
        for value in op.operands:
            if value.type != "token" and value.owner is not None:
                pending.append(value.owner)
        for region in op.regions:
            pending.extend(each for each in region.ops if each.name == "yield")
    return found


def _plain(value: Value) -> Value:
    """The value without assumes around it, and without a factor of one."""
    while value.owner is not None:
        owner = value.owner
        factor_one = owner.name == "muli" and _is_one(owner.operands[1])
        if owner.name != "assume" and not factor_one:
            break
        value = owner.operands[0]
    return value


def _constant(value: Value) -> str | None:
    """What a constant is filled with, also one that was reshaped and broadcast."""
    owner = _plain(value).owner
    while owner is not None and owner.name in ("reshape", "broadcast"):
        owner = _plain(owner.operands[0]).owner
    return owner.attributes["value"] if owner is not None and owner.name == "constant" else None


def _is_one(value: Value) -> bool:
    owner = value.owner
    return owner is not None and owner.name == "constant" and owner.attributes["value"] == "1"


def _same(one: Value, other: Value, depth: int = 6) -> bool:
    """Whether two values are computed in the same way from the same values."""
    one, other = _plain(one), _plain(other)
    if one is other or (one.type == other.type and None is not _constant(one) == _constant(other)):
        return True
    left, right = one.owner, other.owner
    if left is None or right is None or depth == 0 or left.regions or right.regions:
        return False
    if left.name.startswith(("load", "atomic")) or left.name.startswith("make_"):
        return False
    return (
        left.name == right.name
        and left.attributes == right.attributes
        and one.type == other.type
        and one.index == other.index
        and all(_same(a, b, depth - 1) for a, b in zip(left.operands, right.operands, strict=True))
    )


def _not_negative(value: Value, depth: int = 8) -> bool:
    """Whether a value is plainly not negative: block ids, loop counters, assumed and their like."""
    while value.owner is not None and value.owner.name == "assume":
        if value.owner.attributes["predicate"].startswith("bounded<0"):
            return True
        value = value.owner.operands[0]
    op = value.owner
    if op is None:
        # The counter of a loop that starts at zero.
        return value.index == 0 and value.name.startswith("%loopIdx")
    if op.name in ("get_tile_block_id", "iota", "get_num_tile_blocks", "get_index_space_shape"):
        return True
    if op.name == "constant":
        return op.attributes["value"].isdecimal() or op.attributes["value"] == "true"
    if depth and op.name in ("exti", "reshape", "broadcast", "divi", "remi", "mini", "maxi"):
        return all(_not_negative(each, depth - 1) for each in op.operands)
    if depth and op.name in ("addi", "muli"):
        # Small enough not to wrap is left to the canonical form.
        return all(_not_negative(each, depth - 1) for each in op.operands)
    if depth and op.name == "select":
        return all(_not_negative(each, depth - 1) for each in op.operands[1:])
    return False


def _why_equal(mutation: Mutation, live: set[Op], entry: Entry) -> str:
    """Why a mutation changes nothing, "" where it should."""
    op = mutation.op
    if op.name == "assume":
        return _why_promise(mutation, live, entry)
    if op not in live and mutation.kind != "removal":
        return "nothing that is stored depends on it"
    if mutation.kind == "swap" and op.name in _COMMUTATIVE:
        return "the operation is commutative"
    if mutation.kind == "swap" and op.name == "fma" and mutation.detail == "lhs and rhs":
        return "the product of an fma is commutative"
    equality = op.attributes.get("comparison_predicate", "") in ("equal", "not_equal")
    if mutation.kind == "swap" and op.name == "cmpi" and equality:
        return "equality is symmetric"
    if mutation.before is not None and mutation.after is not None:
        if mutation.before.type == "token":
            return _why_token(op, mutation.before, mutation.after)
        if _same(mutation.before, mutation.after):
            return "both values are computed in the same way"
    if mutation.kind == "token":
        return _why_token(op, op.operands_in("token")[0], None)
    if op.name == "make_partition_view" and _counted_only(op, entry):
        return "tiles are counted along another dimension"
    if mutation.detail.startswith("signedness") and all(_not_negative(v) for v in op.operands):
        return "the operands are not negative"
    if mutation.detail.startswith("signedness") and op.name == "cmpi" and equality:
        return "equality does not depend on signedness"
    if mutation.detail.startswith("unsignedCmp") and all(map(_not_negative, op.operands[:2])):
        return "the bounds are not negative"
    down = op.name == "divi" and "positive_inf" not in mutation.detail
    if mutation.detail.startswith("rounding") and down and all(map(_not_negative, op.operands)):
        return "division of what is not negative"
    if op.name in ("exp", "tanh") and mutation.detail == "rounding_mode full added":
        return "that is the default"
    if op.name == "select" and mutation.kind in ("operand", "swap"):
        return _why_select(op)
    return ""


def _why_promise(mutation: Mutation, live: set[Op], entry: Entry) -> str:
    """A promise that follows from others, or is about a value that nothing uses."""
    op = mutation.op
    root = _plain(op.operands[0])
    users = [each for each in walk(entry.body) if each in live
             and any(_plain(value) is root for value in each.operands)]  # fmt: skip
    if not users:
        return "the value is not used"
    if mutation.before is not None and mutation.after is not None:
        return "the same value" if _same(mutation.before, mutation.after) else ""
    return _implied(mutation, root, entry)


def _implied(mutation: Mutation, root: Value, entry: Entry) -> str:
    """Whether the changed promise is no weaker and no stronger than all promises together."""
    op = mutation.op
    before = _promises(root, entry)
    mutation.apply()
    after = _promises(root, entry)
    mutation.undo()
    if before == after:
        return "other promises say the same"
    if root.owner is not None and root.owner.name == "get_tile_block_id":
        return "" if "100" in mutation.detail or "1, ?" in mutation.detail else "known anyway"
    del op
    return ""


def _promises(root: Value, entry: Entry) -> tuple[int, int | None, int | None]:
    divisor, low, high = 1, None, None
    for op in walk(entry.body):
        if op.name != "assume" or _plain(op.operands[0]) is not root:
            continue
        word, _, rest = op.attributes["predicate"].partition("<")
        if word == "div_by":
            divisor = max(divisor, int(rest[:-1]))
        else:
            least, most = rest[:-1].split(", ")
            if least != "?":
                low = int(least) if low is None else max(low, int(least))
            if most != "?":
                high = int(most) if high is None else min(high, int(most))
    return divisor, low, high


def _why_select(op: Op) -> str:
    """Python's `%` is a select that is never taken where the dividend is not negative."""
    remainder = op.operands[2].owner
    if (
        remainder is not None
        and remainder.name == "remi"
        and all(_not_negative(each) for each in remainder.operands)
    ):
        return "the adjustment of a remainder that is not negative"
    return ""


def _counted_only(op: Op, entry: Entry) -> bool:
    users = [each for each in walk(entry.body) if op.results[0] in each.operands]
    return all(each.name == "get_index_space_shape" for each in users)


def _why_token(op: Op, before: Value, after: Value | None) -> str:
    """Tokens that stand for the same operations, as far as their order could be seen."""
    left, right = _stands_for(before), _stands_for(after) if after is not None else set()
    if op.name.startswith("load"):
        # Loads among themselves need no order.
        left, right = ({each for each in side if not _loads(each)} for side in (left, right))
    return "the token stands for nothing else that matters" if left == right else ""


def _loads(item: Op | Value) -> bool:
    return isinstance(item, Op) and item.name.startswith("load")


def _stands_for(token: Value) -> set[Op | Value]:
    found: set[Op | Value] = set()
    pending = [token]
    while pending:
        value = pending.pop()
        op = value.owner
        if op is None or op.regions:
            # Carried by a loop or out of a region: taken as it is.
            found.add(value)
            continue
        if op.name not in ("make_token", "join_tokens"):
            found.add(op)
        pending.extend(op.operands_in("token"))
    return found


def _check(name: str, step: int) -> tuple[int, int]:
    """Try every `step`-th mutation; returns how many there were and how many changed nothing."""
    pair = pairs()[name]
    module = pair.reference()
    entry = module.entry()
    before = pair.canonical(module).hash
    tried = equal = 0
    for at, mutation in enumerate(mutations(entry)):
        if at % step:
            continue
        live = _live(entry)
        reason = _why_equal(mutation, live, entry)
        mutation.apply()
        after = pair.canonical(module)
        conditions = after.reliances
        mutation.undo()
        tried += 1
        if after.hash == before and not (conditions and not reason):
            equal += 1
            assert reason, f"{name}: {mutation} was called the same"
    assert pair.canonical(module).hash == before, "a mutation was not undone"
    return tried, equal


@pytest.mark.parametrize("name", ["rms_norm", "matmul"])
def test_a_changed_program_is_not_called_the_same(name: str) -> None:
    tried, equal = _check(name, 3)
    assert tried > 100
    assert equal < tried * 0.7


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_changed_program_is_called_the_same(name: str) -> None:
    tried, _ = _check(name, 1)
    assert tried > 300


@pytest.mark.parametrize("name", ["rms_norm", "silu_and_mul"])
def test_a_different_program_has_findings(name: str) -> None:
    """Every change that changes the hash is told, with a place in the source that was changed."""
    pair = pairs()[name]
    reference = pair.reference()
    changed = pair.reference()
    seen: set[str] = set()
    for at, mutation in enumerate(mutations(changed.entry())):
        if at % 5:
            continue
        mutation.apply()
        found = pair.compare(reference, changed, port_parameters=pair.reference_parameters)
        mutation.undo()
        if found.verdict is DiffVerdict.DIFFERENT:
            assert found.findings, str(mutation)
            seen.update(each.kind for each in found.findings)
    assert len(seen) > 5, seen
