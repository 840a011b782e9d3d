"""The pairs in `fixtures`: Tile IR of operators in ops/ and of their ports, as disassembled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tileport.verify.diff.compare import compare
from tileport.verify.diff.model import Comparison
from tileport.verify.ir.canonical import Canonical, canonicalize
from tileport.verify.ir.model import Module
from tileport.verify.ir.text import parse_module

_FIXTURES = Path(__file__).parent / "fixtures"


@dataclass(frozen=True)
class Pair:
    """One variant: text and parameter identities of both sides."""

    name: str
    target: str
    python: str
    rust: str
    reference_text: str
    port_text: str
    reference_parameters: tuple[str, ...]
    port_parameters: tuple[str, ...]

    def reference(self) -> Module:
        return parse_module(self.reference_text)

    def port(self) -> Module:
        return parse_module(self.port_text)

    def compare(
        self,
        reference: Module | None = None,
        port: Module | None = None,
        *,
        alias_groups: Mapping[str, tuple[str, ...]] | None = None,
        port_parameters: tuple[str, ...] | None = None,
    ) -> Comparison:
        return compare(
            reference or self.reference(),
            port or self.port(),
            target=self.target,
            reference_parameters=self.reference_parameters,
            port_parameters=port_parameters or self.port_parameters,
            alias_groups=alias_groups,
            python_source=self.python,
            rust=self.rust,
        )

    def canonical(self, module: Module, *, port: bool = False) -> Canonical:
        parameters = self.port_parameters if port else self.reference_parameters
        return canonicalize(module.entry(), target=self.target, parameters=parameters)


@lru_cache
def pairs() -> dict[str, Pair]:
    """All pairs by name."""
    index = json.loads((_FIXTURES / "index.json").read_text())
    return {
        name: Pair(
            name=name,
            target=known["target"],
            python=known["python"],
            rust=known["rust"],
            reference_text=(_FIXTURES / f"{name}.py.ct.mlir").read_text(),
            port_text=(_FIXTURES / f"{name}.rs.ct.mlir").read_text(),
            reference_parameters=tuple(known["reference"]),
            port_parameters=tuple(known["port"]),
        )
        for name, known in index.items()
    }


NAMES = ("matmul", "mla_decode", "rms_norm", "rope", "silu_and_mul", "softmax")
