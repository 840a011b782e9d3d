"""Ports: reading them, and holding what they declare against what Python fixed."""

from __future__ import annotations

from tileport.verify.port.allow import apply_allows
from tileport.verify.port.bind import bind
from tileport.verify.port.facts import facts_of
from tileport.verify.port.marks import Mark, python_marks, rust_marks
from tileport.verify.port.model import (
    Allow,
    Binding,
    FactRow,
    PortConstant,
    PortEntry,
    PortFile,
    PortGeneric,
    PortParameter,
)
from tileport.verify.port.parse import CUTILE_VERSION, parse_port

__all__ = [
    "CUTILE_VERSION",
    "Allow",
    "Binding",
    "FactRow",
    "Mark",
    "PortConstant",
    "PortEntry",
    "PortFile",
    "PortGeneric",
    "PortParameter",
    "apply_allows",
    "bind",
    "facts_of",
    "parse_port",
    "python_marks",
    "rust_marks",
]
