"""The report as JSON: everything a person sees, by name."""

from __future__ import annotations

import msgspec


def render(value: object) -> str:
    """`value` (a struct or builtins) as indented JSON with a final newline."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
