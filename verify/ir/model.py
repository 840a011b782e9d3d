"""The one IR model, for the Python reference and the Rust port alike.

It is read from `tileirdisasm -g` text (see `tileport.verify.ir.text`) and never mutated after
that. SSA names are unique only inside their region in that text, so identity is the `Value`
object, never its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Frame:
    """One place in a source file; `line` is 1-based, `column` 0-based as Tile IR prints it."""

    file: str
    line: int
    column: int


#: Innermost frame first: where the op was written, then each call that was inlined around it.
#: Empty when the bytecode carries no location for the op.
Location = tuple[Frame, ...]


@dataclass(slots=True, eq=False)
class Value:
    """An SSA value: the result of an op or an argument of a region (or of the entry)."""

    name: str
    type: str
    owner: Op | None = None
    index: int = 0

    def __repr__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(slots=True, eq=False)
class Region:
    """A single-block region: its arguments and its ops, the last one the terminator."""

    arguments: tuple[Value, ...] = ()
    ops: list[Op] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Op:
    """One operation.

    `roles` runs parallel to `operands` and says what each operand is for (`lhs`, `rhs`, `token`,
    `mask`, `padding`, `index`, `shape`, `stride`, `init`, ...), so that nobody counts commas.
    `attributes` holds everything that is neither an SSA name nor a type, by the name the Tile IR
    specification gives it, as normalised text. Absent means the default of the specification.
    `known` is false for an op the text parser has no grammar for; then `verbatim` is compared as
    text, with each SSA name replaced by `%`.
    """

    name: str
    operands: tuple[Value, ...]
    roles: tuple[str, ...]
    results: tuple[Value, ...]
    attributes: dict[str, str]
    regions: tuple[Region, ...]
    location: Location
    verbatim: str
    text_line: int
    known: bool = True

    def operand(self, role: str) -> Value | None:
        """The first operand with this role, or None."""
        for have, value in zip(self.roles, self.operands, strict=True):
            if have == role:
                return value
        return None

    def operands_in(self, role: str) -> tuple[Value, ...]:
        """All operands with this role, in order."""
        return tuple(v for r, v in zip(self.roles, self.operands, strict=True) if r == role)


@dataclass(slots=True, eq=False)
class Entry:
    """One kernel entry: flattened parameters and, per target key, its optimization hints."""

    name: str
    parameters: tuple[Value, ...]
    #: `{"sm_90": {"occupancy": "2"}, "default": {...}}` as printed; empty when none.
    hints: dict[str, dict[str, str]]
    body: Region
    location: Location


@dataclass(slots=True, eq=False)
class Module:
    """One disassembled bytecode file."""

    entries: tuple[Entry, ...]
    #: Module-level ops other than entries (globals, for example), in order.
    globals: tuple[Op, ...]
    #: The text it was read from.
    text: str
    #: Names of ops without a grammar, for the report; the comparison stays sound without one.
    unknown: frozenset[str] = frozenset()

    def entry(self, name: str | None = None) -> Entry:
        """The entry called `name`, or the only one.

        Raises:
            KeyError: there is not exactly one such entry.
        """
        found = [entry for entry in self.entries if name in (None, entry.name)]
        if len(found) != 1:
            raise KeyError(f"expected one entry {name or ''}, found {len(found)}")
        return found[0]


def walk(region: Region) -> Iterator[Op]:
    """Every op of a region and of the regions inside it, in textual order."""
    for op in region.ops:
        yield op
        for inner in op.regions:
            yield from walk(inner)
