"""Attributes: which ones make a module or an entry, and the optimization hints of an entry."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from tileport.verify.port.syntax import line_of, text_of

_INTEGER = re.compile(r"(\d[\d_]*)(?:[iu](?:8|16|32|64|128|size))?")


def is_entry(attribute_item: Node) -> bool:
    """Whether an attribute is `#[cutile::entry]`, with or without arguments."""
    attribute = next((c for c in attribute_item.named_children if c.type == "attribute"), None)
    return attribute is not None and _path(attribute) in ("cutile::entry", "entry")


def is_module(attribute_item: Node) -> bool:
    """Whether an attribute is `#[cutile::module]`."""
    attribute = next((c for c in attribute_item.named_children if c.type == "attribute"), None)
    return attribute is not None and _path(attribute) in ("cutile::module", "module")


def _path(attribute: Node) -> str:
    first = attribute.named_children[0] if attribute.named_children else None
    return text_of(first).replace(" ", "")


def hints_of(attribute_item: Node) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """Hints by target and name, and the lines they stand on; what is malformed is left out."""
    hints: dict[str, dict[str, int]] = {}
    lines: dict[str, dict[str, int]] = {}
    attribute = next((c for c in attribute_item.named_children if c.type == "attribute"), None)
    arguments = attribute.child_by_field_name("arguments") if attribute is not None else None
    for name, value in _assignments(arguments):
        if text_of(name) != "optimization_hints":
            continue
        for target, options in _assignments(value):
            key = text_of(target)
            hints.setdefault(key, {})
            lines.setdefault(key, {})
            for option, number in _assignments(options):
                found = _INTEGER.fullmatch(text_of(number))
                if found is not None:
                    hints[key][text_of(option)] = int(found[1].replace("_", ""))
                    lines[key][text_of(option)] = line_of(option)
    return hints, lines


def _assignments(tree: Node | None) -> Iterator[tuple[Node, Node]]:
    """Each `name = value` of a token tree, where the value is a single token or tree."""
    if tree is None or tree.type != "token_tree":
        return
    parts: list[Node] = []
    for child in tree.children[1:]:
        if child.type in (",", ")"):
            # `default` is a keyword to the grammar, not an identifier.
            if len(parts) == 3 and text_of(parts[0]).isidentifier() and parts[1].type == "=":
                yield parts[0], parts[2]
            parts = []
        else:
            parts.append(child)
