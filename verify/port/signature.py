"""Generics and parameters of an entry's signature."""

from __future__ import annotations

import re

from tree_sitter import Node

from tileport.verify.port.model import ParameterKind, PortGeneric, PortParameter
from tileport.verify.port.syntax import line_of, text_of, tree_of

_ARRAY = re.compile(r"\[\s*i32\s*;\s*(\d+)\s*\]")
_HEAD = re.compile(
    r"(?:\s|//[^\n]*|/\*.*?\*/|#\[[^\]\n]*\])*"
    r"(?:pub(?:\s*\([^)]*\))?\s+)?(?:(?:unsafe|const|async)\s+)*fn\s+([A-Za-z_]\w*)",
    re.DOTALL,
)
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}

#: Definitions of `type NAME<A, B> = ...` in the module: parameters and the type's text.
Aliases = dict[str, tuple[tuple[str, ...], str]]


def generics_of(function: Node) -> tuple[PortGeneric, ...]:
    """The generic parameters in order, without lifetimes."""
    listed = function.child_by_field_name("type_parameters")
    generics: list[PortGeneric] = []
    for child in listed.named_children if listed is not None else ():
        name = text_of(child.child_by_field_name("name")) or text_of(child)
        if child.type == "const_parameter":
            rust_type = text_of(child.child_by_field_name("type"))
            array = _ARRAY.fullmatch(rust_type)
            generics.append(
                PortGeneric(
                    name=name,
                    kind="const",
                    rust_type=rust_type,
                    line=line_of(child),
                    length=int(array[1]) if array else None,
                )
            )
        elif child.type in ("type_parameter", "type_identifier", "constrained_type_parameter"):
            bound = text_of(child.child_by_field_name("bounds")).lstrip(": ")
            generics.append(
                PortGeneric(name=name, kind="type", rust_type=bound, line=line_of(child))
            )
    return tuple(generics)


def parameters_of(
    function: Node, generics: tuple[PortGeneric, ...], aliases: Aliases
) -> tuple[PortParameter, ...]:
    """The parameters in order; one that does not parse is left out."""
    listed = function.child_by_field_name("parameters")
    lengths = {generic.name: generic.length for generic in generics if generic.length is not None}
    parameters: list[PortParameter] = []
    for child in listed.named_children if listed is not None else ():
        if child.type != "parameter":
            continue
        pattern, kind = child.child_by_field_name("pattern"), child.child_by_field_name("type")
        if pattern is None or kind is None:
            continue
        name = text_of(pattern).removeprefix("mut ").strip()
        parameters.append(_parameter(name, kind, line_of(child), lengths, aliases))
    return tuple(parameters)


def _parameter(
    name: str, kind: Node, line: int, lengths: dict[str, int], aliases: Aliases
) -> PortParameter:
    written = " ".join(text_of(kind).split())
    node = _without_aliases(kind, aliases)
    mutable = any(child.type == "mutable_specifier" for child in node.children)
    if node.type == "pointer_type":
        element = text_of(node.child_by_field_name("type"))
        return PortParameter(
            name=name, kind="pointer", rust_type=written, line=line, element=element
        )
    inner = node.child_by_field_name("type") if node.type == "reference_type" else node
    if inner is not None and inner.type == "generic_type":
        head = text_of(inner.child_by_field_name("type")).rpartition("::")[2]
        arguments = inner.child_by_field_name("type_arguments")
        listed = arguments.named_children if arguments is not None else []
        if head in ("Tensor", "MappedPartitionMut") and len(listed) >= 2:
            tensor: ParameterKind = "tensor_mut" if mutable else "tensor"
            shape, generic = _shape(listed[1], lengths)
            rank = lengths.get(generic) if shape is None else len(shape)
            return PortParameter(
                name=name,
                kind="mapped" if head == "MappedPartitionMut" else tensor,
                rust_type=written,
                line=line,
                element=text_of(listed[0]),
                shape=shape,
                shape_generic=generic,
                rank=rank,
            )
    if node.type in ("primitive_type", "type_identifier"):
        return PortParameter(
            name=name, kind="scalar", rust_type=written, line=line, element=text_of(node)
        )
    return PortParameter(name=name, kind="other", rust_type=written, line=line)


def _shape(argument: Node, lengths: dict[str, int]) -> tuple[tuple[str, ...] | None, str]:
    """The dimensions of `{ [-1, H, 4] }` or `{ [-1; 3] }`, or the name of a generic array."""
    if argument.type in ("type_identifier", "identifier"):
        return None, text_of(argument)
    array = argument
    while array.type != "array_expression":
        if len(array.named_children) != 1:
            return None, ""
        array = array.named_children[0]
    elements = [text_of(element).replace(" ", "") for element in array.named_children]
    if any(child.type == ";" for child in array.children):
        count = elements[-1] if len(elements) == 2 else ""
        return ((elements[0],) * int(count), "") if count.isdigit() else (None, "")
    return tuple(elements), ""


def _without_aliases(kind: Node, aliases: Aliases) -> Node:
    """The type with the module's `type` items put in, also behind a reference."""
    for _ in range(8 if aliases else 0):
        inner = kind.child_by_field_name("type") if kind.type == "reference_type" else kind
        if inner is None:
            return kind
        name = inner.child_by_field_name("type") if inner.type == "generic_type" else inner
        definition = aliases.get(text_of(name))
        if definition is None:
            return kind
        arguments = inner.child_by_field_name("type_arguments")
        values = [text_of(each) for each in arguments.named_children] if arguments else []
        text = definition[1]
        for parameter, value in zip(definition[0], values, strict=False):
            # Type arguments are names and braces: nothing in them is special to `sub`.
            text = re.sub(rf"\b{re.escape(parameter)}\b", value.replace("\\", ""), text)
        prefix = ""
        if kind.type == "reference_type":
            mutable = any(child.type == "mutable_specifier" for child in kind.children)
            prefix = "&mut " if mutable else "&"
        found = _first_type(f"fn f(p: {prefix}{text}) {{}}")
        if found is None:
            return kind
        kind = found
    return kind


def _first_type(function: str) -> Node | None:
    root = tree_of("rust", function.encode("utf-8", "replace")).root_node
    if root.has_error or not root.named_children:
        return None
    parameters = root.named_children[0].child_by_field_name("parameters")
    first = parameters.named_children[0] if parameters and parameters.named_children else None
    return first.child_by_field_name("type") if first is not None else None


def recover(text: str, at: int) -> tuple[str, Node | None, int, int]:
    """The signature that follows the attribute ending at `at`, where the tree has none.

    Returns its name ("" where there is no function), a function node with what could be read,
    whose lines are those of `text`, and the offsets of the name and of the end.
    """
    head = _HEAD.match(text, at)
    if head is None:
        return "", None, at, at
    start, end = head.start(1), head.end()
    generics, end = _bracketed(text, end, "<")
    parameters, end = _bracketed(text, end, "(")
    lines = "\n" * text.count("\n", 0, start)
    snippet = f"{lines}fn {head[1]}{generics}{parameters or '()'} {{}}"
    root = tree_of("rust", snippet.encode("utf-8", "replace")).root_node
    functions = [child for child in root.named_children if child.type == "function_item"]
    return head[1], functions[0] if functions else None, start, end


def _bracketed(text: str, at: int, opening: str) -> tuple[str, int]:
    """The bracketed text from `at` on, spaces before it skipped; "" where it never closes."""
    begin = at
    while begin < len(text) and text[begin].isspace():
        begin += 1
    if not text.startswith(opening, begin):
        return "", at
    waiting: list[str] = []
    here = begin
    while here < len(text):
        char = text[here]
        if text.startswith("//", here):
            here = text.find("\n", here)
            if here < 0:
                break
        elif char in _PAIRS:
            waiting.append(_PAIRS[char])
        elif char in ")]}>" and not (char == ">" and text[here - 1] in "-="):
            if not waiting or waiting.pop() != char:
                return "", at
            if not waiting:
                # The lines between the function's name and here are kept.
                return text[at : here + 1], here + 1
        elif char == '"' or (char == ";" and waiting[-1] != "]"):
            # No signature has this: the bracket never closes.
            return "", at
        here += 1
    return "", at
