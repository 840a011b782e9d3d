"""Whether the port has Python's constants, module globals and closure values."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence

from tileport.verify.model import ConstantSpec, Severity, Variant
from tileport.verify.port.model import PortConstant
from tileport.verify.port.names import Leaf, leaves
from tileport.verify.port.python_source import uses_of
from tileport.verify.port.state import BindState


def declare_constants(state: BindState, siblings: Sequence[Variant]) -> None:
    """Constants of the Python kernel that no generic and no parameter of the port stands for.

    One that the kernel does not use needs no declaration. A `const` item of its name with its
    value declares it, but for this value only. Without one, the value can only be written into
    the code: a note where all variants have that value, for the diff decides whether it is right,
    and wrong where they have several, for one entry cannot be right for all of them.
    """
    uses: dict[str, tuple[int, ...]] | None = None
    for leaf in state.leaves.values():
        spec = leaf.spec
        if not isinstance(spec, ConstantSpec) or leaf.name in state.covered:
            continue
        uses = uses if uses is not None else uses_of(state.variant.kernel) or {}
        if uses and leaf.name.partition("[")[0] not in uses:
            state.facts.settle(leaf.name, "inferred", "not used by the kernel")
            continue
        item = _item(state, leaf.name)
        equal = item is not None and _equal(item, spec.value)
        several = len(_values(leaf.name, state.variant, siblings)) > 1
        if item is not None and equal and not several:
            state.facts.settle(leaf.name, "declared", _shown(item), item.line)
            continue
        line = item.line if item is not None else state.entry.line
        if item is not None and not equal and not several:
            _changed(state, leaf, item, f"{spec.value}")
            continue
        severity = state.find(
            "constant-not-declared",
            Severity.WRONG if several else Severity.NOTE,
            f"{leaf.name} is {spec.value} in Python and no generic of the port"
            + (", and other variants have other values." if several else "."),
            line=line,
            python=leaf.place,
            reference=f"{leaf.name} = {spec.value}",
            port=_shown(item) if item is not None else "",
            remedy=f"add `const {leaf.name}: i32`, or say which generic it is: "
            f"`/// tileport: RUST_NAME = {leaf.name}`",
        )
        state.facts.settle(leaf.name, "missing", "", None, severity)


def _values(name: str, variant: Variant, siblings: Sequence[Variant]) -> set[object]:
    found: set[object] = set()
    for each in (variant, *siblings):
        leaf = leaves(each).get(name) if each.kernel.name == variant.kernel.name else None
        if leaf is not None and isinstance(leaf.spec, ConstantSpec):
            found.add((type(leaf.spec.value), leaf.spec.value))
    return found


def declare_folded(state: BindState) -> None:
    """Module globals and closure values: a `const` of the name, or the number in the code."""
    for folded in state.variant.folded:
        key = f"folded:{folded.name}"
        item = _item(state, folded.name)
        if item is None:
            number = folded.value.lstrip("-")
            line = _literal_line(state.port.text, number)
            if line is not None:
                state.facts.settle(key, "declared", f"literal {number}", line)
            continue
        if _equal(item, folded.value):
            state.facts.settle(key, "declared", _shown(item), item.line)
            continue
        severity = state.find(
            "global-changed",
            Severity.NOTE,
            f"{folded.name} is {folded.value} in Python and {item.value} in the port; the "
            "comparison of the IR tells whether it matters.",
            line=item.line,
            python=folded.place,
            reference=folded.value,
            port=_shown(item),
            remedy=f"write {folded.value}",
        )
        state.facts.settle(key, "contradicted", _shown(item), item.line, severity)


def _literal_line(text: str, number: str) -> int | None:
    """The first line of code with a number, with or without a type behind it."""
    if not number[:1].isdigit():
        return None
    literal = re.compile(rf"(?<![\w.]){re.escape(number)}(?:_?[iuf]\d+)?(?![\w.])")
    for line, code in enumerate(text.split("\n"), 1):
        if literal.search(code.partition("//")[0]):
            return line
    return None


def _changed(state: BindState, leaf: Leaf, item: PortConstant, value: str) -> None:
    severity = state.find(
        "constant-changed",
        Severity.WRONG,
        f"{leaf.name} is {value} in Python and {item.value} in the port.",
        line=item.line,
        python=leaf.place,
        reference=f"{leaf.name} = {value}",
        port=_shown(item),
        remedy=f"make it a generic of the entry: `const {leaf.name}: {item.rust_type}`",
    )
    state.facts.settle(leaf.name, "contradicted", _shown(item), item.line, severity)


def _item(state: BindState, name: str) -> PortConstant | None:
    """The `const` item for a Python name; an alias line may give it another name."""
    names = {rust for rust, python in state.entry.aliases.items() if python == name} | {name}
    return next((item for item in state.port.constants if item.name in names), None)


def _shown(item: PortConstant) -> str:
    return f"const {item.name}: {item.rust_type} = {item.value}"


def _equal(item: PortConstant, value: object) -> bool:
    """Whether a `const` item has a Python value, in the precision of the item's type."""
    if item.value in ("true", "false"):
        return str(value).lower() == item.value
    try:
        rust = _float(item.value)
        python = float(str(value))
    except ValueError:
        return False
    if math.isnan(rust) or math.isnan(python):
        return math.isnan(rust) and math.isnan(python)
    if item.rust_type == "f32":
        try:
            return struct.pack("<f", rust) == struct.pack("<f", python)
        except OverflowError:
            return False
    return rust == python


def _float(text: str) -> float:
    """The value of a Rust number, with or without underscores and a type behind it."""
    plain = text.replace("_", "").replace(" ", "")
    for suffix in ("f32", "f64", "i32", "i64", "u32", "u64", "usize", "i8", "u8", "i16", "u16"):
        if plain.endswith(suffix) and plain != suffix:
            plain = plain.removesuffix(suffix)
            break
    return float(plain)
