"""From a cause to what it means: its kind, one sentence, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tileport.verify.diff.alignment import Cause
from tileport.verify.diff.meaning import Meaning, hint_meanings, hint_values
from tileport.verify.diff.typed import type_meanings
from tileport.verify.ir.canonical.expression import constant_text, expression
from tileport.verify.ir.canonical.graph import as_constant
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import element_of
from tileport.verify.model import Severity


def classify(cause: Cause) -> list[Meaning]:
    """What a cause means; a view can differ in several ways at once."""
    return _BY_KIND[cause.kind](cause)


# ---------------------------------------------------------------- attributes

_ROUNDS = {
    "zero": "toward zero",
    "negative_inf": "down",
    "positive_inf": "up",
    "nearest_even": "to nearest",
    "approx": "with the fast approximation",
    "full": "with the full-range approximation",
}


def _attribute(cause: Cause) -> list[Meaning]:
    one, other = cause.reference, cause.port
    assert one is not None
    assert other is not None
    name = cause.name
    left, right = one.attribute(name), other.attribute(name)
    if name == "hints":
        return _hints(left, right, one.op)
    if name == "operands":
        return _optional(one, other)
    if name == "rounding":
        return [_integer_rounding(one, left or "zero", right or "zero")]
    if name == "rounding_mode":
        default = "full" if one.op in ("exp", "tanh") else "nearest_even"
        left, right = left or default, right or default
        text = (
            f"{one.op} rounds {_ROUNDS.get(right, right)}, the reference {_ROUNDS.get(left, left)}"
        )
        remedy = f"give it the rounding mode {left}"
        return [Meaning("rounding-changed", text, left, right, remedy)]
    simple = _SIMPLE.get(name)
    if simple is None:
        text = f"{one.op} has {name} {right or 'unset'}, the reference {left or 'unset'}"
        return [Meaning("op-changed", text, f"{name}={left}", f"{name}={right}")]
    kind, text = simple
    shown = left or "no", right or "no"
    sentence = text.format(op=one.op, reference=left or "none", port=right or "none")
    remedy = _remedy(name, left)
    if name == "overflow":
        severity = None if right else Severity.SLOW
        return [Meaning(kind, sentence, *shown, remedy, severity)]
    return [Meaning(kind, sentence, *shown, remedy)]


_SIMPLE = {
    "flush_to_zero": (
        "ftz-changed",
        "{op} flushes subnormal numbers to zero on one side only",
    ),
    "propagate_nan": ("nan-propagation", "{op} passes a NaN on, on one side only"),
    "signedness": ("signedness", "{op} reads its operands as {port}, the reference as {reference}"),
    "signedness_lhs": ("signedness", "{op} reads lhs as {port}, the reference as {reference}"),
    "signedness_rhs": ("signedness", "{op} reads rhs as {port}, the reference as {reference}"),
    "overflow": (
        "overflow-flag",
        "{op} promises {port} about overflow, the reference promises {reference}",
    ),
    "comparison_predicate": ("compare-changed", "{op} tests {port}, the reference {reference}"),
    "comparison_ordering": (
        "compare-ordering",
        "{op} is {port}, the reference {reference}: they differ on NaN",
    ),
    "identities": ("identity-changed", "{op} starts from {port}, the reference from {reference}"),
    "dim": ("dim-map", "{op} runs along dimension {port}, the reference along {reference}"),
    "permutation": (
        "dim-map",
        "dimensions are permuted as {port}, in the reference as {reference}",
    ),
    "reverse": ("scan-direction", "the scan runs in the other direction"),
    "memory_ordering_semantics": ("ordering-changed", "{op} is {port}, the reference {reference}"),
    "memory_scope": ("scope", "{op} has scope {port}, the reference {reference}"),
    "mode": ("atomic-mode", "{op} does {port}, the reference {reference}"),
    "inbounds": ("inbounds-changed", "{op} promises in-bounds {port}, the reference {reference}"),
    "fast_acc": ("precision-changed", "{op} accumulates fast but less exactly on one side only"),
    "unsignedCmp": ("signedness", "the loop compares its counter as unsigned on one side only"),
}


def _remedy(name: str, left: str) -> str:
    if name == "flush_to_zero":
        return "use ftz::Enabled" if left else "use ftz::Disabled"
    if name == "propagate_nan":
        return "use nan::Enabled" if left else "use nan::Disabled"
    if name in ("memory_ordering_semantics", "memory_scope", "comparison_ordering") and left:
        return f"use {left}"
    return ""


def _integer_rounding(one: Node, left: str, right: str) -> Meaning:
    dividend = expression(one.operands[0])
    if {left, right} == {"zero", "negative_inf"}:
        when = f"they differ when {dividend} is negative and not a multiple"
    else:
        when = f"they differ when {dividend} is not a multiple of {expression(one.operands[1])}"
    message = f"division rounds {_ROUNDS[right]} here, {_ROUNDS[left]} in the reference; {when}"
    remedy = {
        "negative_inf": "divide with rounding NegativeInf, or prove that it is never negative",
        "positive_inf": "use ceil_div",
        "zero": "divide with the plain `/`",
    }[left]
    return Meaning(
        "rounding-lost", message, f"rounds {_ROUNDS[left]}", f"rounds {_ROUNDS[right]}", remedy
    )


def _hints(left: str, right: str, op: str) -> list[Meaning]:
    return hint_meanings(hint_values(left), hint_values(right), op)


def _optional(one: Node, other: Node) -> list[Meaning]:
    left = set(one.attribute("operands").split(", "))
    right = set(other.attribute("operands").split(", "))
    found = []
    for role in sorted(left - right):
        if role == "mask":
            text = f"{one.op} has no mask here: it also accesses what the reference leaves out"
            found.append(Meaning("mask-dropped", text, "mask", "no mask", "pass the mask"))
        elif role == "padding":
            value = _of_role(one, "padding")
            text = f"{one.op} has no padding value here; masked elements are undefined"
            shown = f"padding {expression(value)}" if value else "padding"
            found.append(Meaning("padding-changed", text, shown, "undefined", "pass the padding"))
        else:
            found.append(Meaning("op-changed", f"{one.op} has no {role} here", role, ""))
    for role in sorted(right - left):
        if role == "mask":
            text = f"{one.op} has a mask here, none in the reference"
            found.append(Meaning("mask-added", text, "no mask", "mask", "leave the mask out"))
        elif role == "padding":
            value = _of_role(other, "padding")
            text = f"masked elements of {one.op} are undefined in the reference, defined here"
            shown = f"padding {expression(value)}" if value else "padding"
            found.append(Meaning("padding-added", text, "undefined", shown))
        else:
            found.append(Meaning("op-changed", f"{one.op} has a {role} here", "", role))
    return found


def _of_role(node: Node, role: str) -> Node | None:
    roles = node.attribute("operands").split(", ")
    return node.operands[roles.index(role)] if role in roles else None


# ---------------------------------------------------------------- data and ops


def _data(cause: Cause) -> list[Meaning]:
    one, other = cause.reference, cause.port
    assert one is not None
    assert other is not None
    if one.op in ("get_tile_block_id", "get_num_tile_blocks"):
        left, right = "xyz"[one.data[0]], "xyz"[other.data[0]]
        text = f"uses the {right} axis of the grid, the reference the {left} axis"
        remedy = f"use program id {'xyz'.index(left)}"
        return [Meaning("grid-axis", text, f"block_{left}", f"block_{right}", remedy)]
    if one.op == "constant":
        return [_constants(cause, constant_text(one), constant_text(other))]
    if one.op == "sum":
        return [_sums(cause, one, other)]
    text = f"result {other.data} of {one.op} is used, in the reference {one.data}"
    return [Meaning("value-changed", text, str(one.data), str(other.data))]


def _constants(cause: Cause, left: str, right: str) -> Meaning:
    if _is_bound(cause):
        return _bound(cause, left, right)
    if cause.role == "padding":
        text = f"masked elements are {right} here, {left} in the reference"
        return Meaning("padding-changed", text, left, right)
    text = f"the constant is {right} here, {left} in the reference"
    return Meaning("constant-changed", text, left, right, f"use {left}", group=f"{left} {right}")


def _sums(cause: Cause, one: Node, other: Node) -> Meaning:
    """Sums of the same terms that differ in one factor or in the constant."""
    left, right = expression(one), expression(other)
    gone = list((Counter(one.data[1:]) - Counter(other.data[1:])).elements())
    come = list((Counter(other.data[1:]) - Counter(one.data[1:])).elements())
    if _is_bound(cause):
        return _bound(cause, left, right)
    text = f"computes {right}, the reference {left}"
    group = ""
    if len(gone) == len(come) == 1 and one.data[0] == other.data[0]:
        text = f"a factor is {abs(come[0])} here, {abs(gone[0])} in the reference"
        group = f"{abs(gone[0])} {abs(come[0])}"
    return Meaning("constant-changed", text, left, right, group=group)


def _op(cause: Cause) -> list[Meaning]:
    one, other = cause.reference, cause.port
    assert one is not None
    assert other is not None
    if cause.name == "turned":
        left, right = expression(one), f"not ({expression(other)})"
        text = f"chooses where {right}, the reference where {left}"
        return [Meaning("compare-changed", text, left, right)]
    if one.op == "fma" and other.op in ("addf", "subf"):
        text = "a * b + c is rounded twice here; the reference fuses it and rounds once"
        return [Meaning("fma-split", text, "fma", f"mulf, {other.op}", "use fma(a, b, c)")]
    if other.op == "fma" and one.op in ("addf", "subf"):
        text = "a * b + c is fused here; the reference rounds the product first"
        return [Meaning("fma-fused", text, f"mulf, {one.op}", "fma", "write a * b + c")]
    left, right = _short(one), _short(other)
    values = as_constant(one), as_constant(other)
    if cause.role == "mask" and values[1] == 1:
        text = "nothing is masked here; the reference leaves elements out"
        return [Meaning("mask-dropped", text, left, "all elements", "mask as the reference does")]
    if cause.role == "mask" and values[0] == 1:
        text = "elements are masked here; the reference accesses all"
        return [Meaning("mask-added", text, "all elements", right, "leave the mask out")]
    if _is_bound(cause):
        return [_bound(cause, expression(one), expression(other))]
    if cause.name == "text":
        sides = one.attribute("text") or one.op, other.attribute("text") or other.op
        text = f"{one.op} is written in a way that is not known here; its text differs"
        return [Meaning("op-changed", text, *sides)]
    if one.op in ("addi", "sum") and other.op in ("addi", "sum", "muli", "product"):
        flag = other.attribute("overflow") or one.attribute("overflow")
        if flag:
            severity = None if other.attribute("overflow") else Severity.SLOW
            text = f"a promise of {flag} is made on one side only"
            return [Meaning("overflow-flag", text, left, right, severity=severity)]
    text = f"{right} here, {left} in the reference"
    return [Meaning("op-changed", text, left, right)]


def _is_bound(cause: Cause) -> bool:
    """Whether a cause is the bound of a loop itself, not something deep inside of it."""
    user = cause.reference_user
    return cause.role in ("lower", "upper", "step") and user is not None and user.op == "for"


def _bound(cause: Cause, left: str, right: str) -> Meaning:
    word = "step" if cause.role == "step" else f"{cause.role} bound"
    text = f"the loop's {word} is {right} here, {left} in the reference"
    return Meaning("trip-count", text, left, right)


def _short(node: Node) -> str:
    text = expression(node)
    return text if len(text) <= 60 else text[:57] + "..."


_EFFECT_WORDS = {
    "load": "load",
    "store": "store",
    "atomic": "atomic operation",
    "for": "loop",
    "loop": "loop",
    "if": "branch",
    "assert": "assert",
    "print": "print",
}


def _word(node: Node) -> str:
    for prefix, word in _EFFECT_WORDS.items():
        if node.op.startswith(prefix):
            return word
    return node.op


def _missing(cause: Cause) -> list[Meaning]:
    node = cause.reference
    assert node is not None
    return [_lone(cause, node, here=False)]


def _extra(cause: Cause) -> list[Meaning]:
    node = cause.port
    assert node is not None
    return [_lone(cause, node, here=True)]


def _lone(cause: Cause, node: Node, *, here: bool) -> Meaning:
    """A node that only one side has; `here` is the port."""
    shown = ("", _short(node)) if here else (_short(node), "")
    kind = "op-extra" if here else "op-missing"
    if node.op in ("exti", "trunci"):
        narrow = (node.op == "exti") != here
        where = "reference" if not here else "port"
        text = f"the {where} converts {expression(node.operands[0])} to {element_of(node.type)}"
        found = "width-narrowed" if narrow else "width-changed"
        return Meaning(found, f"{text} first, the other side computes without that", *shown)
    if node.op == "ftof":
        types = element_of(node.operands[0].type), element_of(node.type)
        verb = "is converted here only" if here else "is not converted here"
        text = f"a value {verb}: {types[0]} to {types[1]}"
        return Meaning("precision-changed", text, *shown)
    if cause.role == "mask" and node.op in ("andi", "ori"):
        tighter = (node.op == "andi") != here
        text = (
            "the mask lets through elements that the reference leaves out"
            if tighter
            else "the mask leaves out elements that the reference accesses"
        )
        return Meaning("mask-dropped" if tighter else "mask-added", text, *shown)
    if node.op == "select" and _is_remainder_fix(node):
        text = "% takes the sign of the dividend on one side and of the divisor on the other"
        return Meaning("rounding-lost", text, *shown, "add the divisor where the signs differ")
    if _is_bound(cause) and cause.reference is not None and cause.port is not None:
        return _bound(cause, expression(cause.reference), expression(cause.port))
    if node.access is not None or node.blocks:
        verb = "only here" if here else "missing here"
        text = f"a {_word(node)} of the {'port' if here else 'reference'} is {verb}"
        return Meaning(kind, text, *shown)
    verb = f"{_short(node)} is only computed here" if here else f"{_short(node)} is missing here"
    return Meaning(kind, verb, *shown)


def _is_remainder_fix(node: Node) -> bool:
    return any(each.op == "remi" for each in node.operands[1:])


def _use(cause: Cause) -> list[Meaning]:
    one, other = cause.reference, cause.port
    assert one is not None
    assert other is not None
    left, right = expression(one), expression(other)
    if left == right:
        left, right = f"one {left}", f"another {right}"
    text = f"uses {right}, the reference {left}"
    return [Meaning("value-changed", text, left, right)]


_BY_KIND: dict[str, Callable[[Cause], list[Meaning]]] = {
    "attribute": _attribute,
    "type": type_meanings,
    "data": _data,
    "op": _op,
    "missing": _missing,
    "extra": _extra,
    "use": _use,
}
