"""Types and small lists of Tile IR as text: splitting them, and reading what a view type says.

Types stay text everywhere else (`Value.type`); this is the one place that looks inside them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_OPEN = "<([{"
_CLOSE = ">)]}"

#: One balanced type: a name and, in angle brackets, anything balanced to a depth of five. Never a
#: `%`: a value is no part of a type.
TYPE = r"[a-z_][\w.$]*+(?:<(?:[^<>%]|<(?:[^<>%]|<(?:[^<>%]|<(?:[^<>%]|<[^<>%]*+>)*+>)*+>)*+>)*+>)?+"


@lru_cache(maxsize=4096)
def split_list(text: str) -> tuple[str, ...]:
    """The items of a comma-separated list; commas inside brackets do not count. `""` is empty."""
    items: list[str] = []
    depth = 0
    start = 0
    for at, char in enumerate(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            # The `>` of an arrow closes nothing.
            if not (char == ">" and at and text[at - 1] == "-"):
                depth -= 1
        elif char == "," and depth == 0:
            items.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    if last or items:
        items.append(last)
    return tuple(items)


@dataclass(frozen=True, slots=True)
class TensorViewType:
    """`tensor_view<?x8xf16, strides=[?,1]>`: None stands for a dynamic extent or stride."""

    element: str
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class ViewType:
    """A partition, strided or gather/scatter view: `kind` is the name Tile IR gives it.

    `padding_value` is "" where out-of-bounds elements are undefined. `dim_map` is filled in also
    where the text leaves out the identity. `rest` is what only one kind has
    (`sparse_dim=0`, `traversal_strides=[4,4]`).
    """

    kind: str
    tile: tuple[int, ...]
    padding_value: str
    tensor: TensorViewType
    dim_map: tuple[int, ...]
    rest: tuple[str, ...]


_TENSOR_VIEW = re.compile(
    r"tensor_view<((?:(?:\?|\d+)x)*)([^,]+?)(?:, strides=\[([^\]]*)\])?(?:, .*)?>"
)
_TILE = re.compile(r"tile<((?:\d+x)*)(.+)>")


def _extents(items: list[str]) -> tuple[int | None, ...]:
    return tuple(None if item == "?" else int(item) for item in items)


@lru_cache(maxsize=1024)
def tensor_view_type(text: str) -> TensorViewType | None:
    """What a `tensor_view<...>` says, or None where `text` is not one."""
    match = _TENSOR_VIEW.fullmatch(text)
    if match is None:
        return None
    try:
        strides = _extents([part.strip() for part in match[3].split(",")] if match[3] else [])
    except ValueError:
        return None
    shape = _extents(match[1].split("x")[:-1])
    if len(shape) != len(strides):
        return None
    return TensorViewType(match[2], shape, strides)


@lru_cache(maxsize=1024)
def view_type(text: str) -> ViewType | None:
    """What a `partition_view<...>`, `strided_view<...>` or `gather_scatter_view<...>` says.

    None where `text` is none of them, or says something this reader does not know.
    """
    kind, _, body = text.partition("<")
    if kind not in ("partition_view", "strided_view", "gather_scatter_view"):
        return None
    tile: tuple[int, ...] | None = None
    tensor: TensorViewType | None = None
    padding = ""
    dim_map: tuple[int, ...] | None = None
    rest: list[str] = []
    try:
        for item in split_list(body[:-1]):
            key, equals, value = item.partition("=")
            key, value = key.strip(), value.strip()
            if item.startswith("tensor_view<"):
                tensor = tensor_view_type(item)
            elif equals and key == "tile":
                tile = tuple(int(extent) for extent in value[1:-1].split("x") if extent)
            elif equals and key == "padding_value":
                padding = value
            elif equals and key == "dim_map":
                dim_map = tuple(int(dim) for dim in value[1:-1].split(",") if dim.strip())
            else:
                rest.append(item)
    except ValueError:
        return None
    if tile is None or tensor is None:
        return None
    if dim_map is None:
        dim_map = tuple(range(len(tile)))
    return ViewType(kind, tile, padding, tensor, dim_map, tuple(rest))


@lru_cache(maxsize=4096)
def tile_type(text: str) -> tuple[tuple[int, ...], str] | None:
    """Shape and element of a `tile<4x8xf32>`; None where `text` is not a tile."""
    match = _TILE.fullmatch(text)
    if match is None:
        return None
    return tuple(int(extent) for extent in match[1].split("x")[:-1]), match[2]


def parse_hints(text: str) -> dict[str, dict[str, str]]:
    """Optimization hints `default={}, sm_90={latency=2}` as `{target: {hint: value}}`.

    Works on what stands between the angle brackets, with or without spaces around `=`.

    Raises:
        ValueError: `text` is no list of hints.
    """
    hints: dict[str, dict[str, str]] = {}
    for item in split_list(text):
        target, equals, body = (part.strip() for part in item.partition("="))
        if not equals or not (body.startswith("{") and body.endswith("}")) or target in hints:
            raise ValueError(f"not optimization hints: {text}")
        values: dict[str, str] = {}
        for pair in split_list(body[1:-1]):
            name, equals, value = (part.strip() for part in pair.partition("="))
            if not equals or not name or name in values:
                raise ValueError(f"not optimization hints: {text}")
            values[name] = value
        hints[target] = values
    return hints


def format_hints(hints: dict[str, dict[str, str]]) -> str:
    """The inverse of `parse_hints`, spaced as tileirdisasm prints it."""
    return ", ".join(
        f"{target} = {{{', '.join(f'{name} = {value}' for name, value in values.items())}}}"
        for target, values in hints.items()
    )
