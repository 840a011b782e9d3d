"""Which names a Python kernel uses, and where: from its source, read once for each version."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tree_sitter import Node

from tileport.verify.model import Kernel
from tileport.verify.port.syntax import captures, line_of, text_of, tree_of

#: Far above any file of kernels; what is larger is not read.
_LIMIT = 4 * 1024 * 1024


def uses_of(kernel: Kernel) -> dict[str, tuple[int, ...]] | None:
    """The 1-based lines of each name in the body of a kernel.

    None where the source cannot be read or has no function at that place.
    """
    path = Path(kernel.place.file)
    try:
        found = path.stat()
        if found.st_size > _LIMIT:
            return None
        return _uses(path, found.st_mtime_ns, found.st_size, kernel.name, kernel.place.line)
    except OSError:
        return None


@lru_cache(maxsize=256)
def _uses(
    path: Path, _modified: int, _size: int, name: str, line: int
) -> dict[str, tuple[int, ...]] | None:
    return uses_in(path.read_bytes(), name, line)


def uses_in(source: bytes, name: str, line: int) -> dict[str, tuple[int, ...]] | None:
    """The same from the text of the source.

    Args:
        source: The Python source.
        name: Of the function.
        line: 1-based, of its `def` or of its first decorator.
    """
    function = function_at(tree_of("python", source).root_node, name, line)
    body = function.child_by_field_name("body") if function is not None else None
    if body is None:
        return None
    uses: dict[str, list[int]] = {}
    for node in captures("python", "(identifier) @name", body).get("name", ()):
        if not _is_label(node):
            lines = uses.setdefault(text_of(node), [])
            if line_of(node) not in lines:
                lines.append(line_of(node))
    return {each: tuple(lines) for each, lines in uses.items()}


def function_at(root: Node, name: str, line: int) -> Node | None:
    """The function `name` whose `def` or decorator is on a line; else the only one of the name."""
    query = "(function_definition name: (identifier) @name) @function"
    candidates: list[Node] = []
    for function in captures("python", query, root).get("function", ()):
        if text_of(function.child_by_field_name("name")) != name:
            continue
        outer = function.parent
        decorated = outer is not None and outer.type == "decorated_definition"
        first = line_of(outer) if decorated and outer is not None else line_of(function)
        if first <= line <= line_of(function):
            return function
        candidates.append(function)
    return candidates[0] if len(candidates) == 1 else None


def hint_lines(source: bytes, name: str, line: int) -> dict[str, int]:
    """The 1-based line of each keyword argument of a kernel's decorators; "" is the first one."""
    function = function_at(tree_of("python", source).root_node, name, line)
    outer = function.parent if function is not None else None
    if outer is None or outer.type != "decorated_definition":
        return {}
    lines = {"": line_of(outer)}
    for argument in captures(
        "python", "(decorator (call (argument_list (keyword_argument) @a)))", outer
    ).get("a", ()):
        lines.setdefault(text_of(argument.child_by_field_name("name")), line_of(argument))
    return lines


def _is_label(node: Node) -> bool:
    """Whether an identifier is the name of an attribute or of a keyword argument."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "attribute":
        return parent.child_by_field_name("attribute") == node
    return parent.type == "keyword_argument" and parent.child_by_field_name("name") == node
