"""A value as a short formula over parameter names, for conditions and messages."""

from __future__ import annotations

from collections.abc import Iterable

from tileport.verify.ir.canonical.floats import float_text
from tileport.verify.ir.canonical.graph import Condition
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import element_of, width_of
from tileport.verify.ir.intervals import exact, fit

_LIMIT = 120
_INFIX = {"remi": "%", "andi": "&", "ori": "|", "xori": "^", "addf": "+", "subf": "-", "mulf": "*"}
_PREDICATES = {
    "equal": "==",
    "not_equal": "!=",
    "less_than": "<",
    "less_than_or_equal": "<=",
    "greater_than": ">",
    "greater_than_or_equal": ">=",
}
_AXES = "xyz"
_ROUNDINGS = {"positive_inf": "ceil", "negative_inf": "floor", "": "trunc", "zero": "trunc"}
#: Deeper than this a formula is cut off with an ellipsis; no one reads further.
_DEPTH = 12


def expression(node: Node) -> str:
    """`node` as a formula, e.g. `min(ceil(a.shape[0] / 128) - 8 * (block_x % 4), 8)`.

    What has no short form (a loaded value, a large formula) is shown by its op; text longer than
    120 characters is cut.
    """
    text = _text(node, 0, top=True)
    return text if len(text) <= _LIMIT else text[: _LIMIT - 3] + "..."


def condition_text(conditions: Iterable[Condition]) -> str:
    """Conditions as text: `a.shape[0] <= 2147483520 and GROUP > 0`.

    Where a value may wrap on the way, its width is told: the condition is about what is computed,
    `16384 * n >= 0 (in i16)` is false for `n = 3`.
    """
    parts: list[str] = []
    for condition in conditions:
        left = " + ".join(expression(term) for term in condition.terms)
        if condition.constant:
            sign = "-" if condition.constant < 0 else "+"
            left += f" {sign} {abs(condition.constant)}"
        if condition.relation == "is not":
            parts.append(f"{left} is not -0.0")
            continue
        wraps = any(may_wrap(term) for term in condition.terms)
        width = f" (in {element_of(condition.terms[0].type)})" if wraps else ""
        parts.append(f"{left} {condition.relation} {condition.bound}{width}")
    return " and ".join(dict.fromkeys(parts))


def may_wrap(node: Node) -> bool:
    """Whether a sum or product that `node` is computed from may leave its type."""
    seen: set[Node] = set()
    pending = [node]
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        if at.op in ("sum", "product"):
            bits = width_of(at.type)
            low, high = exact(at)
            if fit(low, high, bits) != (low, high):
                return True
        pending.extend(at.operands)
    return False


def _text(node: Node, depth: int, *, top: bool = False) -> str:
    op = node.op
    if op == "parameter":
        return node.attribute("identity")
    if op == "constant":
        return constant_text(node)
    if op in ("splat", "broadcast", "reshape", "exti", "trunci"):
        return _text(node.operands[0], depth, top=top) if depth < _DEPTH else "..."
    if op == "get_tile_block_id":
        return f"block_{_AXES[node.data[0]]}"
    if op == "get_num_tile_blocks":
        return f"blocks_{_AXES[node.data[0]]}"
    if op == "iota":
        return "lane"
    if op == "argument":
        return "i" if node.data[0] == 0 and node.launch else "loop value"
    if op == "result":
        return _effect(node.operands[0])
    if depth >= _DEPTH:
        return "..."
    if op in ("mini", "maxi", "minf", "maxf"):
        return f"{op[:3]}({', '.join(_text(each, depth + 1, top=True) for each in node.operands)})"
    inner = [_text(each, depth + 1) for each in node.operands]
    if op == "divi":
        plain = _text(node.operands[0], depth + 1), _text(node.operands[1], depth + 1)
        return f"{_ROUNDINGS[node.attribute('rounding')]}({plain[0]} / {plain[1]})"
    if op == "sum":
        return _enclosed(_sum(node, inner), top)
    if op == "product":
        return " * ".join(inner)
    if op == "cmpi":
        sign = _PREDICATES.get(node.attribute("comparison_predicate"), "?")
        return _enclosed(f"{inner[0]} {sign} {inner[1]}", top)
    if op in _INFIX:
        return _enclosed(f"{inner[0]} {_INFIX[op]} {inner[1]}", top)
    return f"{op}({', '.join(inner)})"


def _enclosed(text: str, top: bool) -> str:
    return text if top else f"({text})"


def _sum(node: Node, inner: list[str]) -> str:
    text = ""
    parts = [(by, term) for by, term in zip(node.data[1:], inner, strict=True)]
    parts.sort(key=lambda part: part[0] < 0)
    for by, term in parts:
        shown = term if abs(by) == 1 else f"{abs(by)} * {term}"
        if not text:
            text = f"-{shown}" if by < 0 else shown
        else:
            text += f" - {shown}" if by < 0 else f" + {shown}"
    constant = node.data[0]
    if constant:
        text += f" - {-constant}" if constant < 0 else f" + {constant}"
    return text


def _effect(effect: Node) -> str:
    if effect.op.startswith("load"):
        return "loaded value"
    if effect.op in ("for", "loop"):
        return "loop result"
    return f"result of {effect.op}"


def constant_text(node: Node) -> str:
    """The value of a constant node as Tile IR writes it."""
    if node.range is not None and node.data:
        if node.type.endswith("i1>"):
            return "true" if node.data[0] else "false"
        return str(node.data[0])
    if node.data:
        return float_text(node.data[0], node.type)
    return node.attribute("value")
