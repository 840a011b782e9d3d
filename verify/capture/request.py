"""What a capture is asked to do, and what a worker reports while it does it."""

from __future__ import annotations

from typing import Literal

import msgspec

from tileport.verify.compile.model import BYTECODE_VERSION
from tileport.verify.model import Finding, FoldedName, Hints, Kernel, Parameter

Mode = Literal["auto", "fake", "gpu"]


class OperatorSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where an operator's Python is.

    `kind` "path": `source` is the file. "module": `name` is the dotted module name, and `source`
    is not needed. `cases` is a case file to use in place of the one that would be found.
    """

    kind: Literal["path", "module"]
    name: str
    source: str | None = None
    cases: str | None = None


class CaptureRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One capture of one operator.

    `workspace` is the folder the user's Python runs in and may import from. `deadline` is in
    seconds, for one target; the import and each case may take a quarter of it. `mode` "auto"
    captures on the stand-in device, and takes to the GPU only the cases that need data, if there
    is one of that target; "gpu" runs all cases on the local GPU. Reference bytecode goes to the
    folder `blobs`, each file named by its SHA-256.
    """

    operator: OperatorSource
    workspace: str
    targets: tuple[str, ...]
    blobs: str
    all_candidates: bool = False
    mode: Mode = "auto"
    deadline: float = 120.0
    bytecode_version: str = BYTECODE_VERSION


class CommandRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What recording any Python command needs to know; the command runs once per target."""

    workspace: str
    targets: tuple[str, ...]
    blobs: str
    all_candidates: bool = False
    mode: Mode = "auto"
    deadline: float = 600.0
    bytecode_version: str = BYTECODE_VERSION


# ---------------------------------------------------------------- what the server is sent


class ServerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and the target of the local GPU, empty if there is none."""

    request: CaptureRequest
    local_target: str = ""


class Warmed(msgspec.Struct, frozen=True, kw_only=True):
    """The server is warm; how long that took, in milliseconds."""

    milliseconds: float


# ---------------------------------------------------------------- what a worker reports


class LaunchRecord(msgspec.Struct, frozen=True, kw_only=True, tag="launch"):
    """One launch with a specialization not seen before in its process, exported.

    `reference` is the SHA-256 of its bytecode. `candidates` counts the tuning candidates beside
    it. The other fields are those of `tileport.verify.model.Variant`.
    """

    kernel: Kernel
    parameters: tuple[Parameter, ...]
    hints: Hints
    folded: tuple[FoldedName, ...]
    grid: tuple[int, ...]
    case: str
    via: Literal["launch", "tune"]
    symbol: str
    reference: str
    candidates: int = 0


class RepeatedLaunch(msgspec.Struct, frozen=True, kw_only=True, tag="repeated"):
    """A launch equal to the one reported as number `launch` (from 0) of the same process."""

    launch: int
    case: str
    via: Literal["launch", "tune"]
    candidates: int = 0


class Loaded(msgspec.Struct, frozen=True, kw_only=True, tag="loaded"):
    """The operator and its cases are imported; their files."""

    source: str
    cases_file: str | None


class CaseStarted(msgspec.Struct, frozen=True, kw_only=True, tag="started"):
    """Case number `index` (from 0) is about to run."""

    index: int
    name: str


class CaseDone(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """The case ended, well or not; what went wrong was reported before."""

    index: int


class Reported(msgspec.Struct, frozen=True, kw_only=True, tag="finding"):
    """A finding about one case (its index) or about no single one (-1)."""

    finding: Finding
    index: int = -1


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """Nothing can be captured; the parts of a `TileportError`."""

    what: str
    where: str | None
    todo: str | None
    code: int


class Exiting(msgspec.Struct, frozen=True, kw_only=True, tag="exiting"):
    """The user's Python called `os._exit(code)` at `where`."""

    code: int
    file: str
    line: int


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag="finished"):
    """The worker is through: the files whose change makes the capture stale."""

    files: tuple[str, ...]
    kernels_defined: int


Event = (
    LaunchRecord
    | RepeatedLaunch
    | Loaded
    | CaseStarted
    | CaseDone
    | Reported
    | Failed
    | Exiting
    | Finished
)
