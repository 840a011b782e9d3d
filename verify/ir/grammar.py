"""The small language that op formats are written in, read both ways: to parse and to print.

A format is the text of an op after its name, with single spaces and none around `=`:

    $lhs            an operand, by its role
    $index*         any number of operands, separated by commas
    #shape          a list of operands and literal extents (`%a, 8`); the extents are in the type
    !induction      the definition of a region argument
    @iter           `%argument=%init` pairs
    {overflow:X}    an attribute whose text is of kind X (see `grammar_nodes.KINDS`)
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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tileport.verify.ir.grammar_nodes import Node, expression, flatten, read_format
from tileport.verify.ir.grammar_render import DYNAMIC, render
from tileport.verify.ir.grammar_types import format_hints, parse_hints, split_list
from tileport.verify.ir.model import Op


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
        self.nodes = read_format(text)
        self._flat = flatten(self.nodes)
        self.operand_roles = frozenset(
            role
            for node in self._flat
            for role in (("init",) if node.kind == "iter" else (node.name,))
            if node.kind in ("use", "mixed", "iter")
        )
        self._typed = frozenset(role for node in self._flat for role in node.roles)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when first needed: compiling all of them takes longer than reading a program."""
        return re.compile("".join(expression(node) for node in self.nodes))

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
            dynamic = _fit(read.types.get("dynamic"), sum(r in DYNAMIC for r in read.roles))
            if dynamic is None:
                return None
            shared = iter(dynamic)
            return tuple(next(shared) if role in DYNAMIC else None for role in read.roles)
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
        return render(self.nodes, op, names)

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


_SPACES = re.compile(r" *= *| {2,}")


@lru_cache(maxsize=8192)
def normalise(template: str) -> str:
    """`template` with single spaces and no space around `=`; strings are not in it."""
    return _SPACES.sub(lambda found: "=" if "=" in found[0] else " ", template).strip()
