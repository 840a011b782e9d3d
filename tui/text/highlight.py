"""Syntax highlighting by tree-sitter, asked for a range of rows only.

A query over a whole file is what makes an editor slow (tens of milliseconds per key at 2,000
lines); the rows in view cost the same at any length.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tileport.tui.text.document import CodeDocument

if TYPE_CHECKING:
    from tree_sitter import Language, Query

#: Capture names; a later one wins where two cover the same text.
NAMES = (
    "variable",
    "punctuation",
    "operator",
    "property",
    "type",
    "function",
    "macro",
    "attribute",
    "constant",
    "number",
    "string",
    "escape",
    "keyword",
    "comment",
    "doc",
)
_RANK = {name: rank for rank, name in enumerate(NAMES)}

_RUST = """
(line_comment) @comment
(block_comment) @comment
(line_comment doc: (doc_comment)) @doc
(block_comment doc: (doc_comment)) @doc
(string_literal) @string
(raw_string_literal) @string
(char_literal) @string
(escape_sequence) @escape
(integer_literal) @number
(float_literal) @number
(boolean_literal) @constant
(type_identifier) @type
(primitive_type) @type
(lifetime) @attribute
(attribute_item) @attribute
(inner_attribute_item) @attribute
(function_item name: (identifier) @function)
(function_signature_item name: (identifier) @function)
(call_expression function: (identifier) @function)
(call_expression function: (field_expression field: (field_identifier) @function))
(call_expression function: (scoped_identifier name: (identifier) @function))
(generic_function function: (identifier) @function)
(generic_function function: (scoped_identifier name: (identifier) @function))
(generic_function function: (field_expression field: (field_identifier) @function))
(macro_invocation macro: (identifier) @macro "!" @macro)
(field_identifier) @property
(const_parameter name: (identifier) @constant)
(const_item name: (identifier) @constant)
((identifier) @constant (#match? @constant "^[A-Z][A-Z0-9_]+$"))
(mutable_specifier) @keyword
(self) @keyword
(super) @keyword
(crate) @keyword
["as" "async" "await" "break" "const" "continue" "else" "enum" "extern" "fn" "for" "if" "impl"
 "in" "let" "loop" "match" "mod" "move" "pub" "ref" "return" "static" "struct" "trait" "type"
 "union" "unsafe" "use" "where" "while"] @keyword
["=" "+" "-" "*" "/" "%" "&" "|" "^" "<<" ">>" "==" "!=" "<" ">" "<=" ">=" "&&" "||" "!" "->"
 "=>" "+=" "-=" "*=" "/=" ".." "..=" "?"] @operator
["(" ")" "[" "]" "{" "}" "," ";" ":" "::" "."] @punctuation
"""

_PYTHON = """
(comment) @comment
(string) @string
(escape_sequence) @escape
(integer) @number
(float) @number
[(true) (false) (none)] @constant
(decorator) @attribute
(function_definition name: (identifier) @function)
(class_definition name: (identifier) @type)
(call function: (identifier) @function)
(call function: (attribute attribute: (identifier) @function))
(attribute attribute: (identifier) @property)
((identifier) @constant (#match? @constant "^[A-Z][A-Z0-9_]+$"))
(keyword_argument name: (identifier) @property)
(type) @type
["and" "as" "assert" "async" "await" "break" "class" "continue" "def" "del" "elif" "else"
 "except" "finally" "for" "from" "global" "if" "import" "in" "is" "lambda" "nonlocal" "not" "or"
 "pass" "raise" "return" "try" "while" "with" "yield"] @keyword
["=" "+" "-" "*" "/" "//" "%" "&" "|" "^" "<<" ">>" "==" "!=" "<" ">" "<=" ">=" "->" ":=" "@"
 "+=" "-=" "*=" "/=" "**"] @operator
["(" ")" "[" "]" "{" "}" "," ":" "."] @punctuation
"""


class Span(NamedTuple):
    """Characters `start:end` of a row (`end` None: to its end) and what they are."""

    start: int
    end: int | None
    name: str


@lru_cache(maxsize=4)
def grammar(name: str) -> tuple[Language, Query]:
    """The grammar and the query of `rust` or `python`, loaded at first use."""
    from tree_sitter import Language, Query  # noqa: PLC0415  # after the first paint

    if name == "rust":
        import tree_sitter_rust  # noqa: PLC0415

        language, query = Language(tree_sitter_rust.language()), _RUST
    else:
        import tree_sitter_python  # noqa: PLC0415

        language, query = Language(tree_sitter_python.language()), _PYTHON
    return language, Query(language, query)


def spans(document: CodeDocument, query: Query, top: int, bottom: int) -> dict[int, list[Span]]:
    """Spans of the rows `top:bottom`, in the order in which they are to be painted."""
    found: list[tuple[int, int, int, int, int, str]] = []
    for name, nodes in document.query_syntax_tree(query, (top, 0), (bottom, 0)).items():
        rank = _RANK[name]
        for node in nodes:
            first, last = node.start_point, node.end_point
            if last.row >= top and first.row < bottom:
                found.append((rank, first.row, first.column, last.row, last.column, name))
    found.sort()
    rows: dict[int, list[Span]] = {}
    lines = document.lines
    for _, first_row, first_byte, last_row, last_byte, name in found:
        if first_row == last_row and lines[first_row].isascii():
            rows.setdefault(first_row, []).append(Span(first_byte, last_byte, name))
            continue
        for row in range(max(first_row, top), min(last_row, bottom - 1) + 1):
            line = lines[row]
            start = _column(line, first_byte) if row == first_row else 0
            end = _column(line, last_byte) if row == last_row else None
            rows.setdefault(row, []).append(Span(start, end, name))
    return rows


def _column(line: str, byte: int) -> int:
    if line.isascii():
        return byte
    return len(line.encode("utf-8", "replace")[:byte].decode("utf-8", "ignore"))
