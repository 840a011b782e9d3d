"""The words of tileport as data: places, findings, stages, specializations, variants.

Everything here crosses process borders, goes to disk, or is printed with `--json`, so everything
is an immutable `msgspec.Struct`. No module of the app defines a second form of these.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Place(msgspec.Struct, frozen=True):
    """A place in a source file; `line` and `column` are 1-based, `column` is 0 where unknown."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")


class Severity(StrEnum):
    """How bad a finding is; declared from worst to mildest."""

    WRONG = "wrong"
    UNSAFE = "unsafe"
    SLOW = "slow"
    NOTE = "note"

    @property
    def letter(self) -> str:
        """The letter shown beside the colour: W, U, S, or n."""
        return {"wrong": "W", "unsafe": "U", "slow": "S", "note": "n"}[self.value]

    @property
    def rank(self) -> int:
        """0 is worst."""
        return list(Severity).index(self)

    def at_least(self, threshold: Severity) -> bool:
        """Whether this is as bad as `threshold` or worse."""
        return self.rank <= threshold.rank


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One difference or fault, told so that a person can act on it.

    `kind` is a stable name (`hint-lost`, `padding-changed`, ...). `message` is one sentence of
    meaning. `reference` and `port` are the two sides as short text, where there are two sides.
    """

    kind: str
    severity: Severity
    message: str
    stage: str
    python: Place | None = None
    rust: Place | None = None
    reference: str = ""
    port: str = ""
    remedy: str = ""
    #: Ids of the variants it was seen in; equal findings of several variants are merged.
    variants: tuple[str, ...] = ()
    #: The reason given in the Rust where the finding is allowed there, else None.
    allowed: str | None = None


class StageState(StrEnum):
    """What is known of one stage of one variant."""

    WAITING = "waiting"
    RUNNING = "running"
    OK = "ok"
    FINDINGS = "findings"
    FAILED = "failed"
    SKIPPED = "skipped"
    STALE = "stale"


class StageResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one stage for one variant (`variant` is empty for a whole-operator stage)."""

    stage: str
    variant: str = ""
    state: StageState
    findings: tuple[Finding, ...] = ()
    #: Why it failed or was skipped, one line, with what to do.
    reason: str = ""
    #: What a command ends with when the stage failed (`tileport.verify.errors.ExitCode`), else 0.
    exit_code: int = 0
    milliseconds: float = 0.0
    cached: bool = False
    #: What the stage produced, by the stage's own struct turned to builtins; for later stages
    #: and for the screen.
    data: Any = None


# ---------------------------------------------------------------- specialization


class ArraySpec(msgspec.Struct, frozen=True, kw_only=True, tag="array"):
    """What Python fixed for an array parameter (`cuda.tile.compilation.ArrayConstraint`).

    Divisibilities of shape and stride are in elements, that of the base address in bytes.
    `dtype` is the short Tile IR name (`f16`, `bf16`, `f32`, `i32`, `f8E4M3FN`, ...).
    """

    dtype: str
    rank: int
    index_dtype: str
    stride_constant: tuple[int | None, ...]
    shape_constant: tuple[int | None, ...]
    stride_divisible_by: tuple[int, ...]
    shape_divisible_by: tuple[int, ...]
    base_divisible_by: int
    stride_lower_bound: tuple[int | None, ...]
    may_alias_internally: bool
    alias_groups: tuple[str, ...]
    #: The array of the launch it was first seen in.
    sample_shape: tuple[int, ...]
    sample_strides: tuple[int, ...]


class ScalarSpec(msgspec.Struct, frozen=True, kw_only=True, tag="scalar"):
    """A runtime scalar; only its dtype is fixed.

    `sample` is what the first launch passed; `inf`, `-inf` and `nan` are strings, as JSON has no
    numbers for them.
    """

    dtype: str
    sample: int | float | bool | str


class ConstantSpec(msgspec.Struct, frozen=True, kw_only=True, tag="constant"):
    """A value folded into the kernel; `python_type` is `int`, `bool`, `float`, `str`, `dtype`...

    A float that is not finite is the string `inf`, `-inf` or `nan`.
    """

    value: int | float | bool | str | None
    python_type: str


class ListSpec(msgspec.Struct, frozen=True, kw_only=True, tag="list"):
    """A list of arrays of one specialization."""

    element: ArraySpec
    length: int
    alias_groups: tuple[str, ...]
    elements_may_alias: bool


class TupleSpec(msgspec.Struct, frozen=True, kw_only=True, tag="tuple"):
    """A tuple of parameters."""

    items: tuple[ParameterSpec, ...]


ParameterSpec = ArraySpec | ScalarSpec | ConstantSpec | ListSpec | TupleSpec


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of the Python kernel and what the launch fixed for it."""

    name: str
    place: Place
    spec: ParameterSpec
    #: The annotation as written (`ct.Constant[int]`), empty where there is none.
    annotation: str = ""


class FoldedName(msgspec.Struct, frozen=True, kw_only=True):
    """A module global or closure value that was folded into the IR without being a parameter."""

    name: str
    value: str
    origin: str  # "global" or "closure"
    place: Place | None


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """Compiler options of one kernel for one target; None means not set by Python."""

    occupancy: int | None = None
    num_ctas: int | None = None
    num_worker_warps: int | None = None
    opt_level: int | None = None


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """A Python kernel function: `name` is its `__name__`, `place` its `def` line."""

    name: str
    qualname: str
    place: Place
    #: Last line of the function, for the screen.
    end_line: int


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """Launches of one kernel with equal specialization, for one target.

    `id` is stable over runs: a hash of kernel, specialization, hints and target.
    """

    id: str
    kernel: Kernel
    target: str
    parameters: tuple[Parameter, ...]
    hints: Hints
    folded: tuple[FoldedName, ...]
    grid: tuple[int, ...]
    #: Names of the cases that launched it.
    cases: tuple[str, ...]
    #: "launch", or "tune" for a candidate of an autotuned launch that was not the launched one.
    via: str
    #: Short text that tells it from its siblings, e.g. `TILE_N=128 f16`.
    label: str
    #: The kernel symbol cuda-tile gave it.
    symbol: str
    #: SHA-256 (hex) of the reference bytecode, kept in the blob store.
    reference: str
    bytecode_version: str
    #: How many further tuning candidates were seen with it but not taken in full.
    candidates: int = 0


class CaptureReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one capture of an operator found."""

    operator: str
    #: The operator's source file.
    source: str
    variants: tuple[Variant, ...]
    findings: tuple[Finding, ...]
    cases: tuple[str, ...]
    #: Hash over the operator file, its case file and all workspace files they imported.
    inputs: str
    #: Files whose change makes this capture stale.
    files: tuple[str, ...]
    #: Versions of cuda-tile, torch and tileiras.
    versions: dict[str, str]
    milliseconds: float
    #: "fake" (no GPU: fake tensors and a stand-in driver) or "gpu".
    mode: str
