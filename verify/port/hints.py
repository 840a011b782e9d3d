"""Whether the port has the compiler options that Python sets for the variant's target."""

from __future__ import annotations

from tileport.verify.model import Severity
from tileport.verify.port.facts import HINTS
from tileport.verify.port.model import FactRow, FactState
from tileport.verify.port.state import BindState


def declare_hints(state: BindState) -> None:
    """Occupancy, CTAs and warps for the variant's target, and options the launcher passes."""
    entry, target, hints = state.entry, state.variant.target, state.variant.hints
    key = target if target in entry.hints else "default"
    written = entry.hints.get(key, {})
    lines = entry.hint_lines.get(key, {})
    launch = {**entry.launch.get("default", {}), **entry.launch.get(target, {})}
    for python_name, rust_name in HINTS:
        python = getattr(hints, python_name)
        line = lines.get(rust_name, entry.header_line)
        declared = f"{key} = ({rust_name} = {written[rust_name]})" if rust_name in written else ""
        rust = written.get(rust_name)
        if rust_name in launch:
            passed = launch[rust_name]
            rust = python if passed is None else passed
            declared, line = f"launch {rust_name} = {rust}", entry.header_line
            if rust is not None:
                state.options[rust_name] = rust
        _declare_hint(state, (python_name, rust_name), (python, rust), declared, line)
    for rust_name, value in written.items():
        if rust_name not in {rust for _, rust in HINTS}:
            line = lines.get(rust_name, entry.header_line)
            declared = f"{key} = ({rust_name} = {value})"
            _declare_hint(state, (rust_name, rust_name), (None, value), declared, line)
    _declare_opt_level(state, launch)


def _declare_hint(
    state: BindState,
    names: tuple[str, str],
    values: tuple[int | None, int | None],
    declared: str,
    line: int,
) -> None:
    (python_name, rust_name), (python, rust) = names, values
    key, target = f"hint:{python_name}", state.variant.target
    if python == rust:
        if python is not None:
            state.facts.settle(key, "declared", declared, line)
        return
    said = f"{rust_name} = {python}"
    if rust is None:
        kind = "hint-lost"
        message = f"Python sets {python_name} to {python} on {target}; the port does not."
        remedy = f"write `{target} = ({said},)` into optimization_hints"
    elif python is None:
        kind = "hint-extra"
        message = f"The port sets {rust_name} on {target}; Python does not."
        remedy = "remove it"
    else:
        kind = "hint-changed"
        message = f"{rust_name} is {python} on {target} in Python and {rust} in the port."
        remedy = f"write {said}"
    severity = state.find(
        kind,
        Severity.SLOW,
        message,
        line=line,
        reference="" if python is None else said,
        port="" if rust is None else f"{rust_name} = {rust}",
        remedy=remedy,
    )
    if python is None:
        state.facts.add(
            key,
            FactRow(
                parameter=python_name,
                fact=f"not set on {target}",
                origin="@ct.kernel",
                declared_as=declared,
                line=line,
                state="contradicted",
                severity=severity,
                python_line=state.variant.kernel.place.line,
            ),
        )
        return
    fault: FactState = "missing" if rust is None else "contradicted"
    state.facts.settle(key, fault, declared, line, severity)


def _declare_opt_level(state: BindState, launch: dict[str, int | None]) -> None:
    """The level is no part of the IR and of no attribute in Rust: the launcher has to pass it."""
    python = state.variant.hints.opt_level
    line = state.entry.header_line
    if python is None:
        return
    if "opt_level" in launch and launch["opt_level"] in (None, python):
        state.facts.settle("hint:opt_level", "declared", f"launch opt_level = {python}", line)
        return
    severity = state.find(
        "hint-lost",
        Severity.SLOW,
        f"Python compiles with opt_level {python}; the port has no place for it but the launch.",
        line=line,
        reference=f"opt_level = {python}",
        remedy="have the launcher pass it, and say `/// tileport: launch opt_level`",
    )
    state.facts.settle("hint:opt_level", "missing", "", line, severity)
