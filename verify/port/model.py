"""What a port declares, how that meets a variant, and what came of it, as data."""

from __future__ import annotations

from typing import Literal

import msgspec

from tileport.verify.compile.model import CompileRequest
from tileport.verify.model import Finding, Severity

#: How a fact that Python fixed is met by the port. "declared": written in the Rust. "inferred":
#: cutile's launcher finds it in the arguments of a launch. "missing": neither. "contradicted":
#: the Rust says something else.
FactState = Literal["declared", "inferred", "missing", "contradicted"]

ParameterKind = Literal["tensor", "tensor_mut", "mapped", "pointer", "scalar", "other"]


class PortGeneric(msgspec.Struct, frozen=True, kw_only=True):
    """A generic parameter of an entry; `length` is that of `const S: [i32; 3]`."""

    name: str
    kind: Literal["const", "type"]
    rust_type: str
    line: int
    length: int | None = None


class PortParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of an entry.

    `element` is the element type or the name of the generic that stands for it. `shape` has one
    text per dimension of a tensor: `-1` for dynamic, a number, or the name of a generic; it is
    None where the shape is one generic array (`Tensor<E, S>`), whose name is `shape_generic`.
    """

    name: str
    kind: ParameterKind
    rust_type: str
    line: int
    element: str = ""
    shape: tuple[str, ...] | None = None
    shape_generic: str = ""
    rank: int | None = None


class PortConstant(msgspec.Struct, frozen=True, kw_only=True):
    """A `const` item of the module; `value` is its text."""

    name: str
    rust_type: str
    value: str
    line: int


class PortEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One `#[cutile::entry]` function.

    `kernel` is the Python kernel it ports. `line` is that of its name; `header_line` the first
    line of what belongs to it (attributes). `hints` are the optimization hints in the attribute by
    target, `hint_lines` their lines. `aliases` are the `/// tileport: RUST = PYTHON` lines.
    `launch` says which options the launcher passes, by target ("default" for all); None stands for
    the value Python has. `complete` is false where the signature could not be read to its end.
    """

    name: str
    kernel: str
    line: int
    end_line: int
    header_line: int
    generics: tuple[PortGeneric, ...] = ()
    parameters: tuple[PortParameter, ...] = ()
    hints: dict[str, dict[str, int]] = {}
    hint_lines: dict[str, dict[str, int]] = {}
    aliases: dict[str, str] = {}
    alias_lines: dict[str, int] = {}
    launch: dict[str, dict[str, int | None]] = {}
    complete: bool = True


class Allow(msgspec.Struct, frozen=True, kw_only=True):
    """A `// tileport: allow(kind) because reason` comment; it covers `first` to `last`."""

    kinds: tuple[str, ...]
    reason: str
    line: int
    first: int
    last: int


class PortFile(msgspec.Struct, frozen=True, kw_only=True):
    """A port as it was read; `module` is "" where there is no `#[cutile::module]`."""

    path: str
    text: str
    module: str
    module_line: int
    entries: tuple[PortEntry, ...]
    allows: tuple[Allow, ...]
    errors: tuple[Finding, ...]
    constants: tuple[PortConstant, ...] = ()


class FactRow(msgspec.Struct, frozen=True, kw_only=True):
    """One fact that Python fixed, and how the port declares it; `line` is in the Rust.

    `severity` is that of the finding made of it, None where there is none.
    """

    parameter: str
    fact: str
    origin: str
    declared_as: str = ""
    line: int | None = None
    state: FactState = "missing"
    severity: Severity | None = None
    #: Line of the Python source the fact comes from, 0 where there is none.
    python_line: int = 0


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """An entry held against a variant.

    `request` is None where a generic has no value, so that nothing can be compiled.
    `reference_parameters` and `port_parameters` name the flattened parameters of each side's IR
    entry in order: `q.ptr`, `q.shape[0]`, `q.stride[2]`, `scale`, `lists.len`; `const:NAME` is a
    Rust runtime scalar for a Python constant, whose value is in `constants`; `rust:NAME` has no
    counterpart in Python.
    """

    request: CompileRequest | None
    reference_parameters: tuple[str, ...]
    port_parameters: tuple[str, ...]
    constants: dict[str, int | float | bool]
    findings: tuple[Finding, ...]
    facts: tuple[FactRow, ...]
