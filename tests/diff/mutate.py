"""All small changes to a program: each says what it changed and how to undo it.

Together they touch every attribute, operand, token, hint, padding, promise and type of every op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tileport.verify.ir.grammar_types import format_hints, parse_hints
from tileport.verify.ir.model import Entry, Op, Region, Value

#: Other texts for an attribute, by name.
_OTHERS = {
    "comparison_predicate": ("equal", "not_equal", "less_than", "greater_than_or_equal"),
    "comparison_ordering": ("ordered", "unordered"),
    "signedness": ("signed", "unsigned"),
    "rounding": ("zero", "negative_inf", "positive_inf"),
    "rounding_mode": ("nearest_even", "zero", "approx", "full"),
    "memory_ordering_semantics": ("weak", "relaxed", "acquire", "release"),
    "memory_scope": ("device", "sys"),
    "mode": ("add", "addf", "max", "xchg"),
    "dim": ("0", "1", "2"),
    "overflow": ("no_signed_wrap", "no_unsigned_wrap"),
    "reverse": ("true", "false"),
}
#: Attributes that an op may have and does not.
_OPTIONAL = {
    "addf": ("rounding_mode", "flush_to_zero"),
    "subf": ("rounding_mode", "flush_to_zero"),
    "mulf": ("rounding_mode", "flush_to_zero"),
    "divf": ("rounding_mode", "flush_to_zero"),
    "fma": ("rounding_mode", "flush_to_zero"),
    "maxf": ("propagate_nan", "flush_to_zero"),
    "minf": ("propagate_nan", "flush_to_zero"),
    "exp2": ("flush_to_zero",),
    "exp": ("rounding_mode",),
    "rsqrt": ("flush_to_zero",),
    "addi": ("overflow",),
    "subi": ("overflow",),
    "muli": ("overflow",),
    "divi": ("rounding",),
    "mmaf": ("fast_acc",),
    "for": ("unsignedCmp",),
}
_CONVERSIONS = ("exti", "trunci", "ftof", "itof", "ftoi", "bitcast", "iota", "mmaf")


@dataclass
class Mutation:
    """One change: `kind` and `detail` say what, `apply` makes it, `undo` takes it back."""

    kind: str
    detail: str
    op: Op
    apply: Callable[[], None]
    undo: Callable[[], None]
    #: For a replaced operand: what was there and what is there now.
    before: Value | None = None
    after: Value | None = None

    def __str__(self) -> str:
        return f"line {self.op.text_line}: {self.op.name}: {self.kind} {self.detail}"


def mutations(entry: Entry) -> Iterator[Mutation]:
    """Every mutation of an entry, one after the other; undo one before the next is applied."""
    yield from _region(entry.body, list(entry.parameters))
    for target, hints in list(entry.hints.items()):
        for name, value in list(hints.items()):
            yield _setting(entry.body.ops[0], f"entry {name}", hints, name, str(int(value) + 1))
            yield _setting(entry.body.ops[0], f"entry {name} gone", hints, name, None)
        del target


def _region(region: Region, outer: list[Value]) -> Iterator[Mutation]:
    scope = [*outer, *region.arguments]
    for op in region.ops:
        yield from _of(op, scope)
        for inner in op.regions:
            yield from _region(inner, scope)
        scope.extend(op.results)
    used = {value for op in region.ops for value in op.operands}
    for place, op in enumerate(list(region.ops)):
        if op.name.startswith("store") and not used.intersection(op.results):
            yield _removal(region, place, op)


def _of(op: Op, scope: list[Value]) -> Iterator[Mutation]:
    yield from _attributes(op)
    yield from _operands(op, scope)
    if op.name.startswith("make_") or op.name in _CONVERSIONS:
        # Elsewhere the type of the result follows from the operands.
        yield from _types(op)


def _attributes(op: Op) -> Iterator[Mutation]:
    have = op.attributes
    for name, text in list(have.items()):
        if name == "optimization_hints":
            yield from _hints(op, text)
        elif name == "predicate":
            yield from _predicates(op, text)
        elif name == "value":
            other = "7" if text not in ("7", "true", "false") else "8"
            if text in ("true", "false"):
                other = "false" if text == "true" else "true"
            elif "." in text or text.startswith("0x"):
                other = "7.000000e+00"
            yield _setting(op, f"value {text} to {other}", have, name, other)
        elif name == "identities":
            changed = text.replace("0.000000e+00", "1.000000e+00").replace("0xFF8", "0x7F8")
            yield _setting(op, "identities", have, name, changed)
        elif text == "true" and name not in ("reverse",):
            yield _setting(op, f"{name} gone", have, name, None)
        else:
            for other in _OTHERS.get(name, ()):
                if other != text:
                    yield _setting(op, f"{name} {text} to {other}", have, name, other)
    for name in _OPTIONAL.get(op.name, ()):
        if name not in have:
            for other in _OTHERS.get(name, ("true",))[1:] or ("true",):
                yield _setting(op, f"{name} {other} added", have, name, other)


def _hints(op: Op, text: str) -> Iterator[Mutation]:
    hints = parse_hints(text)
    for target, values in hints.items():
        for name, value in values.items():
            other = {"true": "false", "false": "true"}.get(value) or str(int(value) + 1)
            changed = {**hints, target: {**values, name: other}}
            new = format_hints(changed)
            yield _setting(op, f"hint {name}", op.attributes, "optimization_hints", new)
    yield _setting(op, "hints gone", op.attributes, "optimization_hints", None)


def _predicates(op: Op, text: str) -> Iterator[Mutation]:
    word, _, rest = text.partition("<")
    if word == "div_by":
        for factor in (2, 4):
            value = int(rest[:-1])
            for other in (value * factor, max(1, value // factor)):
                if other != value:
                    new = f"div_by<{other}>"
                    yield _setting(op, f"{text} to {new}", op.attributes, "predicate", new)
    elif word == "bounded":
        for new in ("bounded<1, ?>", "bounded<-5, ?>", "bounded<0, 100>"):
            if new != text:
                yield _setting(op, f"{text} to {new}", op.attributes, "predicate", new)


def _operands(op: Op, scope: list[Value]) -> Iterator[Mutation]:
    for place, value in enumerate(op.operands):
        others = [each for each in scope if each.type == value.type and each is not value]
        # The last one is what a slip of the pen would take; the first one is often a parameter.
        for other in {id(each): each for each in (*others[-2:], *others[:1])}.values():
            yield _replacement(op, place, other)
        if op.roles[place] == "token":
            yield _without_operand(op, place)
        for at in range(place + 1, len(op.operands)):
            if op.operands[at].type == value.type and op.operands[at] is not value:
                yield _swap(op, place, at)


_VIEW_CHANGES = (
    ("padding_value=zero, ", ""),
    ("padding_value=zero", "padding_value=nan"),
    ("padding_value=neg_inf", "padding_value=zero"),
    ("tile=(1x", "tile=(2x"),
    ("tile=(", "tile=(2x"),
    (", strides=[?,1]", ", strides=[?,?]"),
    (", strides=[?,?,1]", ", strides=[?,?,?]"),
    (">>", ">, dim_map=[1, 0]>"),
    ("tensor_view<?x?x", "tensor_view<?x64x"),
)


def _types(op: Op) -> Iterator[Mutation]:
    for value in op.results:
        text = value.type
        if op.name.startswith("make_") and text != "token":
            for old, new in _VIEW_CHANGES:
                if old in text:
                    yield _retype(op, value, text.replace(old, new, 1))
        for old, new in (("f32>", "f16>"), ("f16>", "bf16>"), ("bf16>", "f16>"), ("i32>", "i64>")):
            if text.startswith("tile<") and text.endswith(old) and "ptr" not in text:
                yield _retype(op, value, text[: -len(old)] + new)
                break


def _setting(op: Op, detail: str, have: dict[str, str], name: str, new: str | None) -> Mutation:
    old = have.get(name)

    def put(text: str | None) -> None:
        if text is None:
            have.pop(name, None)
        else:
            have[name] = text

    return Mutation("attribute", detail, op, lambda: put(new), lambda: put(old))


def _replacement(op: Op, place: int, other: Value) -> Mutation:
    old = op.operands
    new = (*old[:place], other, *old[place + 1 :])
    detail = f"{op.roles[place]} {old[place].name} to {other.name}"
    return Mutation(
        "operand", detail, op, _operand_setter(op, new), _operand_setter(op, old), old[place], other
    )


def _swap(op: Op, place: int, at: int) -> Mutation:
    old = op.operands
    new = list(old)
    new[place], new[at] = new[at], new[place]
    detail = f"{op.roles[place]} and {op.roles[at]}"
    return Mutation(
        "swap",
        detail,
        op,
        _operand_setter(op, tuple(new)),
        _operand_setter(op, old),
        old[place],
        old[at],
    )


def _operand_setter(op: Op, operands: tuple[Value, ...]) -> Callable[[], None]:
    def put() -> None:
        op.operands = operands

    return put


def _without_operand(op: Op, place: int) -> Mutation:
    operands, roles = op.operands, op.roles

    def drop() -> None:
        op.operands = operands[:place] + operands[place + 1 :]
        op.roles = roles[:place] + roles[place + 1 :]

    def restore() -> None:
        op.operands, op.roles = operands, roles

    return Mutation("token", "gone", op, drop, restore)


def _retype(op: Op, value: Value, new: str) -> Mutation:
    old = value.type

    def put(text: str) -> None:
        value.type = text

    return Mutation("type", f"{old} to {new}", op, lambda: put(new), lambda: put(old))


def _removal(region: Region, place: int, op: Op) -> Mutation:
    def drop() -> None:
        del region.ops[place]

    def restore() -> None:
        region.ops.insert(place, op)

    return Mutation("removal", "", op, drop, restore)
