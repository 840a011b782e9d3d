"""Reads the text of `tileirdisasm -g` (Tile IR 13.4 and 13.5) into the IR model.

Nothing on an op's line is dropped: a format has to account for every character, printed operand
types have to be those of the values, and what no format accounts for is kept word for word with
`known=False`: there `%` stands for an operand, `%!` for an argument of the first region and
`{...}` for a region. A region whose terminator the text leaves out (`continue` of a loop,
`yield` of an `if` without results) gets it here, with an empty `verbatim`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tileport.verify.errors import TileportError
from tileport.verify.ir.grammar import normalise
from tileport.verify.ir.grammar_ops import OWN_LINE, REGIONS
from tileport.verify.ir.grammar_types import parse_hints, split_list
from tileport.verify.ir.model import Entry, Location, Module, Op, Region, Value
from tileport.verify.ir.text_locations import Locations, unescape
from tileport.verify.ir.text_op import (
    SSA,
    STRING,
    Head,
    Known,
    add_terminator,
    guess_types,
    join_regions,
    known_op,
    lookup,
    restore,
    take_strings,
    types_agree,
)

_NAME = re.compile(r'[\w.$]+|"[\w.$]+"', re.ASCII)
_RESULT = re.compile(r"(%[\w$.\-]+)(?::(\d+))?", re.ASCII)
_ARGUMENT = re.compile(r"(%[\w$.\-]+): (\S.*)", re.ASCII)
_ENTRY = re.compile(
    r'entry @([\w.$\-]+|"(?:[^"\\]|\\.)*")\((.*)\)(?: optimization_hints ?= ?<(.*)>)?', re.ASCII
)
_LABEL = re.compile(r"\^[\w.$]+(?:\((.*)\))?:", re.ASCII)

#: Deepest nesting of regions that is read.
_DEPTH = 100
#: Most results of one op; a number beyond it is damage, and would cost memory.
_RESULTS = 4096


class IRTextError(TileportError):
    """Text that is not Tile IR; `line` is the 1-based line of the text."""

    def __init__(self, what: str, line: int) -> None:
        self.line_number = line
        super().__init__(
            f"{what} (line {line} of the disassembled Tile IR)",
            todo="check the version of tileirdisasm with `tileport doctor`",
        )


def parse_module(text: str) -> Module:
    """The module that `text` describes.

    Args:
        text: What `tileirdisasm` printed, with or without `-g`.

    Raises:
        IRTextError: `text` is not Tile IR: unbalanced regions, an undefined or twice defined
            value, something else than an op where an op is due, or no op at all.
    """
    return _Parser(text).module()


class _Parser:
    """One pass over the lines; `_at` is the next line to read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._at = 0
        self._depth = 0
        self._values: dict[str, Value] = {}
        self._scope: list[str] = []
        self._unknown: set[str] = set()
        self._locations = Locations(line for line in self._lines if line.startswith("#"))

    # ------------------------------------------------------------ module level

    def module(self) -> Module:
        entries: list[Entry] = []
        others: list[Op] = []
        while self._at < len(self._lines):
            line = self._lines[self._at].strip()
            self._at += 1
            if not line or line.startswith("#"):
                continue
            if line.startswith("entry "):
                entries.append(self._entry(line, self._at))
            else:
                others.append(self._op(line, self._at, top=True))
        if not entries and not any(op.known for op in others):
            raise IRTextError("there is no Tile IR in the text", 1)
        return Module(tuple(entries), tuple(others), self._text, frozenset(self._unknown))

    def _entry(self, line: str, number: int) -> Entry:
        body, _ = self._split_location(line, number)
        match = _ENTRY.fullmatch(body[:-1].rstrip()) if body.endswith("{") else None
        if match is None:
            raise IRTextError("an entry that cannot be read", number)
        try:
            hints = parse_hints(match[3]) if match[3] else {}
        except ValueError:
            raise IRTextError("optimization hints that cannot be read", number) from None
        name = unescape(match[1][1:-1]) if match[1].startswith('"') else match[1]
        self._values.clear()
        self._scope = []
        parameters = self._arguments(match[2], number)
        region, closing = self._region(parameters, number)
        rest, location = self._split_location(closing, self._at)
        if rest != "}":
            raise IRTextError("an entry that does not end where its region ends", self._at)
        add_terminator("entry", region, self._at)
        return Entry(name, parameters, hints, region, location)

    # ------------------------------------------------------------ regions

    def _region(self, arguments: tuple[Value, ...], opened: int) -> tuple[Region, str]:
        """The region whose `{` has been read, and the line that closes it."""
        self._depth += 1
        if self._depth > _DEPTH:
            raise IRTextError(f"regions nested more than {_DEPTH} deep", opened)
        outer = self._scope
        self._scope = []
        for argument in arguments:
            self._define(argument, opened)
        region = Region(arguments)
        lines = self._lines
        while True:
            if self._at >= len(lines):
                raise IRTextError("the text ends inside a region", opened)
            line = lines[self._at].strip()
            self._at += 1
            if not line:
                continue
            if line[0] == "}":
                break
            if line[0] == "^":
                self._label(region, line)
                continue
            region.ops.append(self._op(line, self._at))
        for name in self._scope:
            del self._values[name]
        self._scope = outer
        self._depth -= 1
        return region, line

    def _label(self, region: Region, line: str) -> None:
        """`^bb0(%a: T):`, the other way to print the arguments of a region."""
        match = _LABEL.fullmatch(line)
        if match is None or region.ops or region.arguments:
            raise IRTextError("a region of more than one block", self._at)
        region.arguments = self._arguments(match[1] or "", self._at)
        for argument in region.arguments:
            self._define(argument, self._at)

    def _arguments(self, text: str, number: int) -> tuple[Value, ...]:
        arguments: list[Value] = []
        for at, item in enumerate(split_list(text)):
            match = _ARGUMENT.fullmatch(item)
            if match is None:
                raise IRTextError("a parameter list that cannot be read", number)
            arguments.append(Value(match[1], normalise(match[2]), None, at))
        return tuple(arguments)

    def _define(self, value: Value, number: int) -> None:
        if value.name in self._values:
            raise IRTextError(f"{value.name} is defined twice", number)
        self._values[value.name] = value
        self._scope.append(value.name)

    # ------------------------------------------------------------ ops

    def _op(self, line: str, number: int, *, top: bool = False) -> Op:
        body, location = self._split_location(line, number)
        results: list[str] = []
        if body.startswith("%"):
            left, equals, body = body.partition(" = ")
            if not equals:
                raise IRTextError("a value without an op", number)
            results = self._result_names(left, number)
        name, _, rest = body.partition(" ")
        if _NAME.fullmatch(name) is None:
            raise IRTextError("text that is no op", number)
        opened = rest.endswith("{")
        header: str | None = None
        if opened:
            rest = rest[:-1].rstrip()
        elif self._at < len(self._lines):
            following = self._lines[self._at].strip()
            if following.startswith("(") and following.endswith("{"):
                # The arguments of a reduce or scan region stand on a line of their own.
                self._at += 1
                opened = True
                header = following[:-1].rstrip()
        strings: tuple[str, ...] = ()
        if '"' in rest:
            rest, strings = take_strings(rest)
        parts = SSA.split(rest)
        template = "%".join(parts[0::2])
        names = parts[1::2]
        if template.count("%") != len(names):
            raise IRTextError("a `%` without a name", number)
        known = lookup(name, template, strings, len(results), top=top)
        if opened:
            head = Head(name, template, strings, names, header, number)
            return self._op_with_regions(head, known if name in REGIONS else None, results)
        if name in REGIONS:
            known = None
        operands = tuple([self._use(each, number) for each in names])
        types: Sequence[str]
        if known is not None and types_agree(operands, known.shape.operand_types):
            op = known_op(known, name, operands, regions=(), location=location, number=number)
            types = known.shape.result_types
        else:
            normal = normalise(template)
            verbatim = restore(f"{name} {normal}".rstrip(), strings)
            op = self._unknown_op(
                name, operands, regions=(), location=location, verbatim=verbatim, number=number
            )
            types = guess_types(normal, len(results))
        self._add_results(op, results, types, number)
        return op

    def _op_with_regions(self, head: Head, known: Known | None, results: list[str]) -> Op:
        name, number = head.name, head.number
        arguments: tuple[Value, ...] = ()
        operands: tuple[Value, ...] = ()
        if known is not None:
            defines = known.shape.defines
            new = [each for each, is_new in zip(head.names, defines, strict=True) if is_new]
            old = [each for each, is_new in zip(head.names, defines, strict=True) if not is_new]
            operands = tuple([self._use(each, number) for each in old])
            arguments = tuple(map(Value, new, known.shape.argument_types))
            if not types_agree(operands, known.shape.operand_types) or (
                (head.arguments is not None) != (name in OWN_LINE)
            ):
                known = None
        template = head.template
        if known is None:
            # Without a format, a name that means nothing yet is an argument of the first region.
            operands = tuple(self._values[each] for each in head.names if each in self._values)
            arguments = tuple(Value(each, "") for each in head.names if each not in self._values)
            marks = iter("%" if each in self._values else "%!" for each in head.names)
            template = re.sub("%", lambda _: next(marks), template)
        if head.arguments is not None:
            if not head.arguments.endswith(")"):
                raise IRTextError("a region header that cannot be read", number)
            arguments += self._arguments(head.arguments[1:-1], number)
        for at, argument in enumerate(arguments):
            argument.index = at
        regions: list[Region] = []
        connectors: list[str] = []
        while True:
            region, closing = self._region(arguments if not regions else (), number)
            regions.append(region)
            if not closing.endswith("{"):
                break
            connectors.append(closing[1:-1].strip())
        rest, location = self._split_location(closing, self._at)
        connectors.append(rest[1:].strip())
        expected = ["else"] * (len(regions) - 1) + [""]
        types: Sequence[str]
        if known is not None and connectors == expected and len(regions) in REGIONS[name]:
            op = known_op(
                known,
                name,
                operands,
                regions=tuple(regions),
                location=location,
                number=number,
            )
            types = known.shape.result_types
            for region in regions:
                add_terminator(name, region, self._at)
        else:
            normal = normalise(template)
            verbatim, more = join_regions(head, normal, connectors)
            operands += tuple([self._use(each, number) for each in more])
            op = self._unknown_op(
                name,
                operands,
                regions=tuple(regions),
                location=location,
                verbatim=verbatim,
                number=number,
            )
            types = guess_types(normal, len(results))
        self._add_results(op, results, types, number)
        return op

    def _unknown_op(
        self,
        name: str,
        operands: tuple[Value, ...],
        *,
        regions: tuple[Region, ...],
        location: Location,
        verbatim: str,
        number: int,
    ) -> Op:
        self._unknown.add(name)
        roles = ("operand",) * len(operands)
        return Op(name, operands, roles, (), {}, regions, location, verbatim, number, known=False)

    def _add_results(self, op: Op, names: list[str], types: Sequence[str], number: int) -> None:
        if names:
            op.results = tuple([Value(name, types[at], op, at) for at, name in enumerate(names)])
            for value in op.results:
                self._define(value, number)

    def _use(self, name: str, number: int) -> Value:
        value = self._values.get(name)
        if value is None:
            raise IRTextError(f"{name} is not defined here", number)
        return value

    def _result_names(self, left: str, number: int) -> list[str]:
        names: list[str] = []
        for item in left.split(", "):
            match = _RESULT.fullmatch(item)
            if match is None:
                raise IRTextError("results that cannot be read", number)
            if match[2] is None:
                names.append(match[1])
            elif 2 <= int(match[2]) <= _RESULTS and len(match[2]) <= 4:
                names += [f"{match[1]}#{at}" for at in range(int(match[2]))]
            else:
                raise IRTextError("results that cannot be read", number)
        return names

    def _split_location(self, line: str, number: int) -> tuple[str, Location]:
        """The line without its ` loc(...)`, and that location."""
        if not line.endswith(")"):
            return line, ()
        at = line.rfind(" loc(")
        if at < 0:
            return line, ()
        inner = line[at + 5 : -1]
        if '"' in line:
            # The words may stand in a string; look for the last ones outside of all strings.
            masked = STRING.sub(lambda found: "_" * len(found[0]), line)
            if '"' in masked:
                raise IRTextError("a string without an end", number)
            at = masked.rfind(" loc(")
            if at < 0 or not masked.endswith(")"):
                return line, ()
            inner = line[at + 5 : -1]
        return line[:at].rstrip(), self._locations.chain(inner)
