"""Tree-sitter, as far as ports and their Python sources need it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import tree_sitter_python
import tree_sitter_rust
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree


@cache
def _language(name: str) -> Language:
    module = {"rust": tree_sitter_rust, "python": tree_sitter_python}[name]
    return Language(module.language())


@cache
def _query(name: str, text: str) -> Query:
    return Query(_language(name), text)


def tree_of(name: str, text: bytes) -> Tree:
    """The syntax tree of a text; there is one for any text, with errors in it where need be."""
    return Parser(_language(name)).parse(text)


def captures(name: str, query: str, node: Node) -> dict[str, list[Node]]:
    """What a query finds below a node, by capture name, in the order of the text."""
    found = QueryCursor(_query(name, query)).captures(node)
    for nodes in found.values():
        nodes.sort(key=lambda each: each.start_byte)
    return found


def text_of(node: Node | None) -> str:
    """The text of a node; "" for None."""
    if node is None or node.text is None:
        return ""
    return node.text.decode("utf-8", "replace")


def line_of(node: Node) -> int:
    """The 1-based line a node starts on."""
    return node.start_point[0] + 1


def end_line_of(node: Node) -> int:
    """The 1-based line a node ends on."""
    return node.end_point[0] + 1


def first_error(root: Node) -> Node | None:
    """The first node that does not parse or that the parser had to make up; None without one."""
    node = root
    if not node.has_error:
        return None
    while True:
        if node.is_error or node.is_missing:
            inner = next((child for child in node.children if child.has_error), None)
            if inner is None or inner.is_missing:
                return inner or node
            node = inner
            continue
        following = next((child for child in node.children if child.has_error), None)
        if following is None:
            return node
        node = following


def named_siblings_after(node: Node) -> Iterator[Node]:
    """The named nodes that follow a node under the same parent."""
    following = node.next_named_sibling
    while following is not None:
        yield following
        following = following.next_named_sibling
