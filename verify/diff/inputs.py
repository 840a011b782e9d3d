"""The two entries that are compared, and their canonical forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tileport.verify.ir.canonical import Canonical, Constant, canonicalize
from tileport.verify.ir.canonical.facts import Facts
from tileport.verify.ir.canonical.memory import Aliasing
from tileport.verify.ir.model import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What `compare` is given, with the entries looked up."""

    reference: Entry
    port: Entry
    target: str
    reference_parameters: Sequence[str]
    port_parameters: Sequence[str]
    constants: Mapping[str, Constant]
    aliasing: Aliasing
    reference_globals: Mapping[str, str]
    port_globals: Mapping[str, str]
    python_source: str
    rust: str

    def canonical(
        self,
        *,
        allowed: frozenset[tuple[str, bytes]] | None = None,
        limits: Mapping[bytes, Facts] | None = None,
    ) -> tuple[Canonical, Canonical]:
        """The canonical forms of both sides."""
        reference = canonicalize(
            self.reference,
            target=self.target,
            parameters=self.reference_parameters,
            constants=self.constants,
            aliasing=self.aliasing,
            allowed=allowed,
            limits=limits,
            globals=self.reference_globals,
        )
        port = canonicalize(
            self.port,
            target=self.target,
            parameters=self.port_parameters,
            constants=self.constants,
            aliasing=self.aliasing,
            allowed=allowed,
            limits=limits,
            globals=self.port_globals,
        )
        return reference, port


def common_facts(left: Canonical, right: Canonical) -> dict[bytes, Facts]:
    """By digest, what both sides promise of values of which they promise different things."""
    sides = []
    for canonical in (left, right):
        sides.append({node.digest: node.facts for node in canonical.nodes if node.facts})
    found: dict[bytes, Facts] = {}
    for digest in {*sides[0], *sides[1]}:
        first, second = sides[0].get(digest), sides[1].get(digest)
        if first != second:
            found[digest] = (first or Facts()).common(second or Facts())
    return found
