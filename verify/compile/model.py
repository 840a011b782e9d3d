"""What is asked of the compile server and what it answers, as data."""

from __future__ import annotations

import enum

import msgspec

from tileport.verify.model import Place

#: The bytecode version both sides are written in; every tool of the ladder reads it.
BYTECODE_VERSION = "13.4"


class TensorSpecialization(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch fixes for one `&Tensor` parameter, as cutile's own host code computes it.

    `strides` has 1 where the stride is the constant 1 and -1 where it is known at run time only;
    it has one value per dimension, and so have `shape_div`, `stride_div` and `stride_one`.
    Divisibilities of shape and stride are in elements, that of the base address in bytes.
    `disjoint` says that no two elements share memory.
    """

    name: str
    strides: tuple[int, ...]
    shape_div: tuple[int, ...]
    stride_div: tuple[int, ...]
    base_div: int
    stride_one: tuple[bool, ...]
    disjoint: bool


class CompileRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of one port text, for one specialization and target.

    `path` names the port in places and debug info; `text` is compiled, the file is not read.
    `generics` are the values of the entry's generic parameters in order (`f16`, `128`, `true`;
    an array takes several). `scalar_divs` are divisibilities of integer scalars (in units) and
    raw pointers (in bytes). `options` are what the launcher passes, which override the hints in
    the text: `occupancy`, `num_cta_in_cga`, `num_worker_warps_per_cta`, `max_divisibility`,
    `min_ctas_per_sm`.
    """

    path: str
    text: str
    entry: str
    generics: tuple[str, ...] = ()
    tensors: tuple[TensorSpecialization, ...] = ()
    scalar_divs: dict[str, int] = {}
    options: dict[str, int] = {}
    target: str
    bytecode_version: str = BYTECODE_VERSION


class DiagnosticSeverity(enum.StrEnum):
    """How bad a diagnostic is."""

    ERROR = "error"
    WARNING = "warning"


class DiagnosticSource(enum.StrEnum):
    """Which of the three compilers of a port said it."""

    SYNTAX = "syntax"
    FRONTEND = "frontend"
    VERIFIER = "verifier"
    RUSTC = "rustc"


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a compiler; `place` is None only where it is about no line of the port."""

    severity: DiagnosticSeverity
    message: str
    source: DiagnosticSource
    place: Place | None = None


class CompileResult(msgspec.Struct, frozen=True, kw_only=True):
    """Bytecode, or at least one diagnostic of severity error.

    `bytecode` is set only when the disassembler accepted it as well. `milliseconds` has the
    steps that ran: `parse`, `compile`, `write`, `disassemble`.
    """

    bytecode: bytes | None
    diagnostics: tuple[Diagnostic, ...] = ()
    milliseconds: dict[str, float] = {}


class DiffRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Two bytecode files to compare, each with exactly one entry.

    `reference_parameters` and `port_parameters` name the flattened entry parameters of each side
    in order (`q.ptr`, `q.shape[0]`, `const:GROUP`); `constants` are the Python values of the
    `const:` ones. `alias_groups` are those of the launch by array name: arrays that share none do
    not overlap. `python_source` and `rust_source` are the files places are given in.
    """

    reference: bytes
    port: bytes
    target: str
    reference_parameters: tuple[str, ...]
    port_parameters: tuple[str, ...]
    constants: dict[str, int | float | bool] = {}
    alias_groups: dict[str, tuple[str, ...]] = {}
    python_source: str
    rust_source: str
