"""`[tool.tileport]` of the workspace's pyproject.toml."""

from __future__ import annotations

import msgspec

from tileport.verify.model import Severity


class Deadlines(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds each stage may take for one variant (or capture) before it is ended."""

    capture: float = 120.0
    compile: float = 20.0
    diff: float = 20.0
    build: float = 600.0


class OperatorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files of one operator lie, as paths from the workspace root."""

    port: str | None = None
    cases: str | None = None


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a workspace; every field has a default."""

    #: GPU architectures (`sm_90`); empty: the local GPU, else sm_100 and sm_90.
    targets: tuple[str, ...] = ()
    #: A check ends with exit code 1 from findings of this severity on.
    threshold: Severity = Severity.SLOW
    deadlines: Deadlines = Deadlines()
    #: Compile workers; 0: as many as there are cores, at most 8.
    workers: int = 0
    #: Bytes that blobs and results under `.tileport` may take; older ones are removed.
    cache_size: int = 1 << 30
    bytecode_version: str = "13.4"
    #: Take every tuning candidate of an autotuned launch as a variant in full.
    all_candidates: bool = False
    #: `fake` (no GPU), `gpu`, or `auto`: the GPU where there is one.
    capture_mode: str = "auto"
    #: By path from the workspace root (`ops/x.py`) or module name.
    operators: dict[str, OperatorConfig] = {}


def load_config(workspace: str) -> Config:
    """The settings in `workspace`/pyproject.toml, or the defaults where there are none.

    Raises:
        TileportError: the file is not TOML, has an unknown key or a bad value; with its line and
            the nearest valid key.
    """
    raise NotImplementedError
