"""The elements of an op format: reading a format's text, and the expression it matches by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tileport.verify.ir.grammar_types import TYPE

#: Attribute kinds, as regular expressions over a template.
KINDS: Mapping[str, str] = {
    "BOOL": r"true|false",
    "BOOLS": r"\[(?:true|false)(?:, (?:true|false))*\]",
    "COMPARISON": r"(?:not_)?equal|(?:less|greater)_than(?:_or_equal)?",
    "HINTS": r"[^<>%]*",
    "INT": r"-?\d+",
    "INTS": r"-?\d+(?:, -?\d+)*",
    "LIST": r"[^\[\]%]*",
    "MODE": r"and|or|xor|addf?|u?max|u?min|xchg",
    "ORDERED": r"(?:un)?ordered",
    "ORDERING": r"weak|relaxed|acquire|release|acq_rel",
    "OVERFLOW": r"no_(?:signed_|unsigned_)?wrap",
    "PREDICATE": r"(?:div_by|bounded|same_elements)<[^<>%]*>",
    "ROUNDING": (
        r"nearest_even|zero|negative_inf|positive_inf|approx|full|nearest_int_to_zero|nearest_away"
    ),
    "SCOPE": r"tl_blk|device|sys",
    "SIGN": r"(?:un)?signed",
    "STRING": r'"\d+"',
    "SYMBOL": r'[\w.$]+|"\d+"',
    "VALUE": r"[^%<>]+",
    "VISIBILITY": r"public|private",
    "ELEMENT": r"\w+",
    "TYPE": TYPE,
}

_TOKEN = re.compile(
    r"(?P<open>\[\[)|(?P<close>\]\])|\$(?P<use>\w+)(?P<many>\*?)|#(?P<mixed>\w+)|!(?P<define>\w+)"
    r"|(?P<iter>@iter)|\{(?P<attr>\w+)(?::(?P<kind>\w+)|!(?P<word>\w+))?\}"
    r"|\^(?P<list>[*~]?)(?P<types>\w+(?:=\w+)*)"
)
_OPERAND_LIST = "%(?:, %)*+"
_MIXED_LIST = r"(?:%|-?\d+)(?:, (?:%|-?\d+))*+"
_TYPE_LIST = f"{TYPE}(?:, {TYPE})*+"


@dataclass(frozen=True, slots=True)
class Node:
    """One element of a format; `kind` is the name of its group in `_TOKEN`, or `text`."""

    kind: str
    name: str = ""
    detail: str = ""
    roles: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()
    group: str = ""


def read_format(text: str) -> tuple[Node, ...]:
    """The elements of a format, optional ones nested, each with a group name of its own."""
    tokens = [
        token if token.kind in ("open", "close") else replace(token, group=f"g{number}")
        for number, token in enumerate(_scan(text), 1)
    ]
    nodes, rest = _nest(tokens, 0, closing=False)
    assert rest == len(tokens)
    return nodes


def _nest(tokens: list[Node], at: int, *, closing: bool) -> tuple[tuple[Node, ...], int]:
    nodes: list[Node] = []
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.kind == "close":
            assert closing
            return tuple(nodes), at
        if token.kind == "open":
            children, at = _nest(tokens, at, closing=True)
            nodes.append(Node("optional", children=children))
        else:
            nodes.append(token)
    assert not closing
    return tuple(nodes), at


def _scan(text: str) -> list[Node]:
    nodes: list[Node] = []
    at = 0
    for found in _TOKEN.finditer(text):
        if found.start() > at:
            nodes.append(Node("text", text[at : found.start()]))
        at = found.end()
        kind = found.lastgroup
        if found["open"]:
            nodes.append(Node("open"))
        elif found["close"]:
            nodes.append(Node("close"))
        elif found["use"]:
            nodes.append(Node("use", found["use"], found["many"]))
        elif found["mixed"]:
            nodes.append(Node("mixed", found["mixed"], "*"))
        elif found["define"]:
            nodes.append(Node("define", found["define"]))
        elif found["iter"]:
            nodes.append(Node("iter", "init"))
        elif found["attr"]:
            detail = found["kind"] or ("!" + found["word"] if found["word"] else "")
            nodes.append(Node("attr", found["attr"], detail))
        else:
            assert kind is not None
            roles = tuple(found["types"].split("="))
            nodes.append(Node("types", roles[0], found["list"], roles))
    if at < len(text):
        nodes.append(Node("text", text[at:]))
    return nodes


def flatten(nodes: tuple[Node, ...]) -> list[Node]:
    """All elements that have a group, in the order of the text."""
    flat: list[Node] = []
    for node in nodes:
        if node.kind == "optional":
            flat += flatten(node.children)
        elif node.kind != "text":
            flat.append(node)
    return flat


def expression(node: Node) -> str:
    """The regular expression of an element, over a template."""
    if node.kind == "text":
        return re.escape(node.name)
    if node.kind == "optional":
        return f"(?:{''.join(expression(child) for child in node.children)})?"
    if node.kind == "use":
        inner = f"(?:{_OPERAND_LIST})?" if node.detail else "%"
    elif node.kind == "mixed":
        inner = f"(?:{_MIXED_LIST})?"
    elif node.kind == "define":
        inner = "%"
    elif node.kind == "iter":
        inner = "%=%(?:, %=%)*+"
    elif node.kind == "types":
        inner = _TYPE_LIST if node.detail else TYPE
    elif not node.detail:
        inner = node.name
    elif node.detail.startswith("!"):
        inner = node.detail[1:]
    else:
        inner = KINDS[node.detail]
    return f"(?P<{node.group}>{inner})"
