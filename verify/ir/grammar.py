"""The small language that op formats are written in, read both ways: to parse and to print.

A format is the text of an op after its name, with single spaces and none around `=`:

    $lhs            an operand, by its role
    $index*         any number of operands, separated by commas
    #shape          a list of operands and literal extents (`%a, 8`); the extents are in the type
    !induction      the definition of a region argument
    @iter           `%argument=%init` pairs
    {overflow:X}    an attribute whose text is of kind X (see `KINDS`)
    {global}        a unit attribute, printed as its name; `{a!b}` is one printed as `b`
    ^lhs=result     the type of `lhs` and of the results, printed once
    ^*source        one type for each `source`
    ^~index         the same, but printed once where all are equal
    [[ ... ]]       present only where what is in it is
    anything else   itself

Matching is against a template: the op's text with each SSA name replaced by `%` and each string
by its number in quotes. A match always accounts for every character, and printed operand types
must agree in number with the operands; otherwise there is no match and the op stays verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tileport.verify.ir.grammar_types import (
    TYPE,
    format_hints,
    parse_hints,
    split_list,
    tensor_view_type,
    tile_type,
)
from tileport.verify.ir.model import Op

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


@dataclass(frozen=True, slots=True)
class Shape:
    """What a format read from a template: everything of an op but its values and its place."""

    roles: tuple[str, ...]
    #: Which `%` of the template define a region argument instead of using a value.
    defines: tuple[bool, ...]
    attributes: dict[str, str]
    #: Type printed for each operand; None where the format prints none.
    operand_types: tuple[str | None, ...]
    result_types: tuple[str, ...]
    argument_types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """What the groups of a match hold, before operands and types are held against each other.

    `types` gives for a role the printed types, and whether one may stand for several.
    """

    roles: list[str]
    defines: list[bool]
    arguments: list[str]
    attributes: dict[str, str]
    types: dict[str, tuple[tuple[str, ...], bool]]


#: The roles that the printed type `dynamic` is for.
_DYNAMIC = frozenset({"shape", "stride"})


class Format:
    """One compiled format.

    Args:
        text: The format.
        results: Types of results that the text never shows.
        check: A last look at what was read; gives None where it does not hold together.
    """

    def __init__(
        self,
        text: str,
        *,
        results: tuple[str, ...] = (),
        check: Callable[[re.Match[str], Shape], Shape | None] | None = None,
    ) -> None:
        self.text = text
        self.results = results
        self.check = check
        self._groups = 0
        tokens = list(_scan(text))
        self.nodes, rest = self._nest(tokens, 0, closing=False)
        assert rest == len(tokens)
        self.pattern = re.compile("".join(_regex(node) for node in self.nodes))
        self._flat = list(_flatten(self.nodes))
        self.operand_roles = frozenset(
            role
            for node in self._flat
            for role in (("init",) if node.kind == "iter" else (node.name,))
            if node.kind in ("use", "mixed", "iter")
        )
        self._typed = frozenset(role for node in self._flat for role in node.roles)

    def _nest(self, tokens: list[Node], at: int, *, closing: bool) -> tuple[tuple[Node, ...], int]:
        nodes: list[Node] = []
        while at < len(tokens):
            token = tokens[at]
            at += 1
            if token.kind == "close":
                assert closing
                return tuple(nodes), at
            if token.kind == "open":
                children, at = self._nest(tokens, at, closing=True)
                nodes.append(Node("optional", children=children))
            else:
                self._groups += 1
                nodes.append(
                    Node(
                        token.kind,
                        token.name,
                        token.detail,
                        token.roles,
                        group=f"g{self._groups}",
                    )
                )
        assert not closing
        return tuple(nodes), at

    def match(self, template: str, strings: tuple[str, ...], results: int) -> Shape | None:
        """What `template` says in this format, or None where it is not of this format.

        Args:
            template: The op's text after its name, normalised (see `normalise`).
            strings: The string literals that the template has numbers for, with their quotes.
            results: How many results the op has.
        """
        match = self.pattern.fullmatch(template)
        if match is None:
            return None
        roles: list[str] = []
        defines: list[bool] = []
        arguments: list[str] = []
        attributes: dict[str, str] = {}
        types: dict[str, tuple[tuple[str, ...], bool]] = {}
        for node in self._flat:
            text = match[node.group] if node.group else None
            if text is None:
                continue
            if node.kind in ("use", "mixed"):
                count = text.count("%")
                roles += [node.name] * count
                defines += [False] * count
            elif node.kind == "define":
                arguments.append(node.name)
                defines.append(True)
            elif node.kind == "iter":
                count = text.count("%") // 2
                roles += ["init"] * count
                arguments += ["init"] * count
                defines += [True, False] * count
            elif node.kind == "attr":
                value = _attribute(node, text, strings)
                if value is None:
                    return None
                attributes[node.name] = value
            elif node.kind == "types":
                listed = split_list(text) if node.detail else (text,)
                for role in node.roles:
                    types[role] = (listed, node.detail == "~")
        if len(defines) != template.count("%"):
            return None
        read = _Read(roles, defines, arguments, attributes, types)
        shape = self._typed_shape(read, results)
        if shape is not None and self.check is not None:
            return self.check(match, shape)
        return shape

    def _typed_shape(self, read: _Read, results: int) -> Shape | None:
        """`Shape` from what was read, or None where operands and printed types disagree."""
        operand_types = self._operand_types(read)
        result_types = self.results or _fit(read.types.get("result"), results)
        if operand_types is None or result_types is None or len(result_types) != results:
            return None
        argument_types: list[str] = []
        taken: dict[str, int] = {}
        for role in read.arguments:
            at = taken.get(role, 0)
            taken[role] = at + 1
            argument_types.append(read.types[role][0][at])
        return Shape(
            tuple(read.roles),
            tuple(read.defines),
            read.attributes,
            operand_types,
            result_types,
            tuple(argument_types),
        )

    def _operand_types(self, read: _Read) -> tuple[str | None, ...] | None:
        """The printed type of each operand; None where their numbers do not agree."""
        if "dynamic" in self._typed:
            # `shape` and `stride` operands share one printed type.
            dynamic = _fit(read.types.get("dynamic"), sum(r in _DYNAMIC for r in read.roles))
            if dynamic is None:
                return None
            shared = iter(dynamic)
            return tuple(next(shared) if role in _DYNAMIC else None for role in read.roles)
        queues: dict[str, list[str]] = {}
        for role in dict.fromkeys((*read.roles, *read.types)):
            if role == "result" or role not in self._typed:
                continue
            owners = read.roles if role in self.operand_roles else read.arguments
            fitted = _fit(read.types.get(role), owners.count(role))
            if fitted is None:
                return None
            queues[role] = list(fitted)
        return tuple(queues[role].pop(0) if role in queues else None for role in read.roles)

    def render(self, op: Op, names: Callable[[object], str]) -> str:
        """The text of `op` after its name, as `match` reads it.

        Args:
            op: An op whose roles and attributes this format knows.
            names: The printed name of a value.
        """
        return "".join(_render(node, op, names) for node in self.nodes)

    def fits(self, op: Op) -> bool:
        """Whether this format can print all of the op's operands."""
        return self.operand_roles.issuperset(op.roles) and all(
            node.name in op.roles for node in self.nodes if node.kind == "use" and not node.detail
        )


def _fit(listed: tuple[tuple[str, ...], bool] | None, count: int) -> tuple[str, ...] | None:
    """The printed types spread over `count` values; None where the numbers do not agree."""
    types, collapsed = listed if listed is not None else ((), False)
    if len(types) == count:
        return types
    if collapsed and len(types) == 1 and count > 1:
        return types * count
    return None


def _attribute(node: Node, text: str, strings: tuple[str, ...]) -> str | None:
    if not node.detail or node.detail.startswith("!"):
        return "true"
    if node.detail == "HINTS":
        try:
            return format_hints(parse_hints(text))
        except ValueError:
            return None
    if '"' in text:
        return _NUMBERED.sub(lambda found: strings[int(found[1])], text)
    return text


_NUMBERED = re.compile(r'"(\d+)"')


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


def _flatten(nodes: tuple[Node, ...]) -> list[Node]:
    flat: list[Node] = []
    for node in nodes:
        if node.kind == "optional":
            flat += _flatten(node.children)
        elif node.kind != "text":
            flat.append(node)
    return flat


def _regex(node: Node) -> str:
    if node.kind == "text":
        return re.escape(node.name)
    if node.kind == "optional":
        return f"(?:{''.join(_regex(child) for child in node.children)})?"
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


def _present(node: Node, op: Op) -> bool:
    if node.kind == "optional":
        return any(_present(child, op) for child in node.children)
    if node.kind in ("use", "mixed", "iter"):
        return node.name in op.roles
    if node.kind == "attr":
        return node.name in op.attributes
    if node.kind == "types":
        return any(
            bool(op.results)
            if role == "result"
            else bool(_DYNAMIC.intersection(op.roles))
            if role == "dynamic"
            else role in op.roles
            for role in node.roles
        )
    return False


def _render(node: Node, op: Op, names: Callable[[object], str]) -> str:
    if node.kind == "text":
        return node.name
    if node.kind == "optional":
        if not any(_present(child, op) for child in node.children):
            return ""
        return "".join(_render(child, op, names) for child in node.children)
    if node.kind == "use":
        return ", ".join(names(value) for value in op.operands_in(node.name))
    if node.kind == "mixed":
        return _render_mixed(node.name, op, names)
    if node.kind == "define":
        return names(op.regions[0].arguments[0])
    if node.kind == "iter":
        inits = op.operands_in("init")
        arguments = op.regions[0].arguments
        arguments = arguments[len(arguments) - len(inits) :]
        return ", ".join(
            f"{names(argument)}={names(init)}"
            for argument, init in zip(arguments, inits, strict=True)
        )
    if node.kind == "attr":
        return _render_attribute(node, op)
    return _render_types(node, op)


def _render_attribute(node: Node, op: Op) -> str:
    if not node.detail:
        return node.name
    if node.detail.startswith("!"):
        return node.detail[1:]
    value = op.attributes.get(node.name)
    if value is None and node.detail == "ELEMENT":
        # The element type of a constant is in its result type, and only there in the model.
        tile = tile_type(op.results[0].type)
        assert tile is not None
        return tile[1]
    assert value is not None
    return value


def _render_mixed(role: str, op: Op, names: Callable[[object], str]) -> str:
    view = tensor_view_type(op.results[0].type)
    assert view is not None
    extents = view.shape if role == "shape" else view.strides
    dynamic = iter(op.operands_in(role))
    return ", ".join(names(next(dynamic)) if extent is None else str(extent) for extent in extents)


def _render_types(node: Node, op: Op) -> str:
    role = node.roles[0]
    if role == "dynamic":
        types = [v.type for v, r in zip(op.operands, op.roles, strict=True) if r in _DYNAMIC]
    elif role == "result":
        types = [value.type for value in op.results]
    else:
        types = [value.type for value in op.operands_in(role)]
    if node.detail == "~" and len(set(types)) == 1:
        types = types[:1]
    return ", ".join(types)


_SPACES = re.compile(r" *= *| {2,}")


@lru_cache(maxsize=8192)
def normalise(template: str) -> str:
    """`template` with single spaces and no space around `=`; strings are not in it."""
    return _SPACES.sub(lambda found: "=" if "=" in found[0] else " ", template).strip()
