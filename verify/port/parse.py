"""Reads a port: its module, entries, hints, constants and `tileport:` lines.

Any text can be read. Where the Rust does not parse (a person is typing), the entries that can be
made out are there all the same, and `errors` says where it does not parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from tileport.verify.model import Finding, Place, Severity
from tileport.verify.port.attributes import hints_of, is_entry, is_module
from tileport.verify.port.directives import (
    EntryLines,
    directive,
    read_allow,
    read_entry_lines,
)
from tileport.verify.port.model import Allow, PortConstant, PortEntry, PortFile
from tileport.verify.port.signature import Aliases, generics_of, parameters_of, recover
from tileport.verify.port.syntax import (
    captures,
    end_line_of,
    first_error,
    line_of,
    named_siblings_after,
    text_of,
    tree_of,
)

#: The version of the cutile crates that ports are compiled with.
CUTILE_VERSION = "0.5.0"

_QUERY = """
(attribute_item) @attribute
(mod_item) @module
(line_comment) @comment
(const_item) @constant
(type_item) @alias
"""
#: What has statements of its own, which an allow comment above it does not cover.
_BRANCHES = """
[(for_expression) (while_expression) (loop_expression) (if_expression) (match_expression)] @branch
"""
#: Statements an allow comment above them covers to their last line.
_STATEMENTS = frozenset({"let_declaration", "expression_statement", "const_item", "parameter"})


def parse_port(text: str, path: str) -> PortFile:
    """What the text of a port declares.

    Args:
        text: The Rust text; it need not parse.
        path: Where it is from, for places.
    """
    reader = _Reader(text, path)
    return reader.read()


class _Reader:
    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.lines = text.split("\n")
        self.source = text.encode("utf-8", "surrogatepass")
        self.root = tree_of("rust", self.source).root_node
        self.found = captures("rust", _QUERY, self.root)
        self.errors: list[Finding] = []

    def read(self) -> PortFile:
        module, module_line = self._module()
        self._syntax()
        aliases = self._aliases()
        entries = [
            entry
            for attribute in self.found.get("attribute", ())
            if is_entry(attribute)
            for entry in (self._entry(attribute, aliases),)
            if entry is not None
        ]
        self._check_names(entries)
        self._check_version()
        allows = tuple(self._allows(entries))
        return PortFile(
            path=self.path,
            text=self.text,
            module=module,
            module_line=module_line,
            entries=tuple(entries),
            allows=allows,
            errors=tuple(self.errors),
            constants=tuple(self._constants()),
        )

    def _error(
        self, kind: str, severity: Severity, message: str, place: Place, *, remedy: str = ""
    ) -> None:
        self.errors.append(
            Finding(
                kind=kind,
                severity=severity,
                message=message,
                stage="declare",
                rust=place,
                remedy=remedy,
            )
        )

    # ------------------------------------------------------------ the file

    def _module(self) -> tuple[str, int]:
        for attribute in self.found.get("attribute", ()):
            if not is_module(attribute):
                continue
            for following in named_siblings_after(attribute):
                if following.type == "mod_item":
                    return text_of(following.child_by_field_name("name")), line_of(following)
                if following.type not in ("attribute_item", "line_comment", "block_comment"):
                    break
            return "", line_of(attribute)
        if self.text.strip():
            self._error(
                "module-missing",
                Severity.WRONG,
                "There is no #[cutile::module] in the port.",
                Place(self.path, 1),
                remedy="put the entries into `#[cutile::module] pub mod NAME { ... }`",
            )
        return "", 0

    def _syntax(self) -> None:
        node = first_error(self.root)
        if node is None:
            return
        row, column = node.start_point
        what = f"`{node.type}` is missing here" if node.is_missing else "it does not parse here"
        self._error(
            "rust-syntax",
            Severity.WRONG,
            f"The port is not complete Rust: {what}.",
            Place(self.path, row + 1, column + 1),
        )

    def _check_names(self, entries: list[PortEntry]) -> None:
        seen: dict[str, PortEntry] = {}
        for entry in entries:
            first = seen.setdefault(entry.kernel, entry)
            if first is not entry:
                self._error(
                    "entry-twice",
                    Severity.WRONG,
                    f"Two entries port the kernel {entry.kernel}; the first, on line "
                    f"{first.line}, is the one that is compared.",
                    Place(self.path, entry.line),
                )

    def _check_version(self) -> None:
        for number, line in enumerate(self.lines, 1):
            said = directive(line) if "tileport" in line else None
            found = re.fullmatch(r"cutile\s*=\s*[\^=~\"]*([\d.]+)\"?", said) if said else None
            if found is None:
                continue
            wanted = found[1].rstrip(".").split(".")
            if wanted != CUTILE_VERSION.split(".")[: len(wanted)]:
                self._error(
                    "other-cutile",
                    Severity.WRONG,
                    f"The port is for cutile {found[1]}; tileport compiles with {CUTILE_VERSION}.",
                    Place(self.path, number),
                    remedy="bring the port to that version, then change this line",
                )

    def _aliases(self) -> Aliases:
        aliases: Aliases = {}
        for item in self.found.get("alias", ()):
            listed = item.child_by_field_name("type_parameters")
            parameters = tuple(
                text_of(child.child_by_field_name("name")) or text_of(child)
                for child in (listed.named_children if listed is not None else ())
            )
            name = text_of(item.child_by_field_name("name"))
            aliases[name] = (parameters, text_of(item.child_by_field_name("type")))
        return aliases

    def _constants(self) -> Iterator[PortConstant]:
        for item in self.found.get("constant", ()):
            yield PortConstant(
                name=text_of(item.child_by_field_name("name")),
                rust_type=text_of(item.child_by_field_name("type")),
                value=text_of(item.child_by_field_name("value")),
                line=line_of(item),
            )

    # ------------------------------------------------------------ entries

    def _entry(self, attribute: Node, aliases: Aliases) -> PortEntry | None:
        function: Node | None = None
        for following in named_siblings_after(attribute):
            if following.type == "function_item":
                function = following
            if following.type not in ("attribute_item", "line_comment", "block_comment"):
                break
        if function is not None:
            name_node = function.child_by_field_name("name")
            name = text_of(name_node)
            line = line_of(name_node) if name_node is not None else line_of(function)
            end_line = end_line_of(function)
            parts = [function.child_by_field_name(f) for f in ("type_parameters", "parameters")]
            complete = not any(part is not None and part.has_error for part in parts)
        else:
            # Offsets of tree-sitter are in bytes.
            at = len(self.source[: attribute.end_byte].decode("utf-8", "surrogatepass"))
            name, function, start, end = recover(self.text, at)
            if not name:
                return None
            line = self.text.count("\n", 0, start) + 1
            end_line = self.text.count("\n", 0, end) + 1
            complete = False
        generics = generics_of(function) if function is not None else ()
        parameters = parameters_of(function, generics, aliases) if function is not None else ()
        hints, hint_lines = hints_of(attribute)
        header = line_of(attribute)
        own = frozenset({g.name for g in generics} | {p.name for p in parameters})
        said = read_entry_lines(list(self._comments(header, line)), own)
        self._check_lines(said, own, complete)
        return PortEntry(
            name=name,
            kernel=said.kernel or name,
            line=line,
            end_line=end_line,
            header_line=header,
            generics=generics,
            parameters=parameters,
            hints=hints,
            hint_lines=hint_lines,
            aliases=said.aliases,
            alias_lines=said.alias_lines,
            launch=said.launch,
            complete=complete,
        )

    def _comments(self, header: int, line: int) -> Iterator[tuple[int, str]]:
        """Comment lines that belong to an entry: right above its attributes, and among them."""
        first = header
        while first > 1 and self.lines[first - 2].lstrip().startswith(("//", "#[")):
            first -= 1
        for number in range(first, line):
            if self.lines[number - 1].lstrip().startswith("//"):
                yield number, self.lines[number - 1]

    def _check_lines(self, said: EntryLines, own: frozenset[str], complete: bool) -> None:
        for text, number in said.unreadable:
            self._error(
                "line-unreadable",
                Severity.NOTE,
                f"This line says nothing tileport knows: {text}",
                Place(self.path, number),
                remedy="write `/// tileport: RUST_NAME = PYTHON_NAME`",
            )
        for name, number in said.alias_lines.items():
            if complete and name not in own:
                self._error(
                    "line-unused",
                    Severity.NOTE,
                    f"The entry has no parameter {name}, so this line does nothing.",
                    Place(self.path, number),
                )

    # ------------------------------------------------------------ allowed findings

    def _allows(self, entries: list[PortEntry]) -> Iterator[Allow]:
        for comment in self.found.get("comment", ()):
            read = read_allow(text_of(comment).rstrip("\r\n"))
            if read is None:
                continue
            kinds, reason = read
            line = line_of(comment)
            if not kinds or not reason:
                self._error(
                    "allow-without-reason" if kinds else "line-unreadable",
                    Severity.NOTE,
                    "An allowed finding needs a reason, so this line allows nothing."
                    if kinds
                    else "This line allows nothing that can be read.",
                    Place(self.path, line),
                    remedy="write `// tileport: allow(kind) because REASON`",
                )
                continue
            before = self.lines[line - 1].encode("utf-8", "surrogatepass")[: comment.start_point[1]]
            first, last = (line, line) if before.strip() else self._covered(line, entries)
            yield Allow(kinds=kinds, reason=reason, line=line, first=first, last=last)

    def _covered(self, line: int, entries: list[PortEntry]) -> tuple[int, int]:
        """The lines an allow comment on a line of its own is for.

        That is the next line of code, to the end of its statement where that has no block, and
        for the attributes of an entry, all lines up to its name.
        """
        number = line + 1
        while number <= len(self.lines):
            text = self.lines[number - 1].strip()
            if text and not text.startswith("//"):
                break
            number += 1
        else:
            return line, line
        for entry in entries:
            if entry.header_line <= number <= entry.line:
                return number, entry.line
        indent = len(self.lines[number - 1]) - len(self.lines[number - 1].lstrip())
        point = (number - 1, indent)
        node = self.root.descendant_for_point_range(point, point)
        while node is not None and node.start_point[0] == number - 1:
            if node.type in _STATEMENTS:
                holds_others = captures("rust", _BRANCHES, node)
                return number, number if holds_others else end_line_of(node)
            node = node.parent
        return number, number
