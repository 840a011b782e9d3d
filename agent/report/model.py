"""What `tileport check` found, as data: the one source of every output format."""

from __future__ import annotations

import msgspec

from tileport.verify.model import Finding, Kernel, Severity, StageState


class StageReport(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of one variant."""

    state: StageState
    milliseconds: float
    cached: bool
    reason: str = ""


class VariantReport(msgspec.Struct, frozen=True, kw_only=True):
    """One variant: what it is and what the ladder says of it.

    `verdict` is `same`, `same-if`, `different`, or `none` where the diff did not run.
    """

    id: str
    kernel: str
    label: str
    target: str
    cases: tuple[str, ...]
    verdict: str
    assumptions: tuple[str, ...]
    stages: dict[str, StageReport]
    #: Tuning candidates seen with it and not taken in full.
    candidates: int


class FactReport(msgspec.Struct, frozen=True, kw_only=True):
    """One fact Python fixed; how Rust declares it is empty where there is no port."""

    kernel: str
    variant: str
    parameter: str
    fact: str
    origin: str
    declared_as: str
    state: str


class OperatorReport(msgspec.Struct, frozen=True, kw_only=True):
    """One operator."""

    operator: str
    source: str
    port: str
    port_exists: bool
    kernels: tuple[Kernel, ...]
    variants: tuple[VariantReport, ...]
    findings: tuple[Finding, ...]
    facts: tuple[FactReport, ...]
    verdict: str
    milliseconds: float
    exit_code: int


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run."""

    tileport: str
    versions: dict[str, str]
    threshold: Severity
    targets: tuple[str, ...]
    operators: tuple[OperatorReport, ...]
    exit_code: int
