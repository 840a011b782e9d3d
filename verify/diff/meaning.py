"""What a finding says, and what differing hints mean."""

from __future__ import annotations

from dataclasses import dataclass

from tileport.verify.model import Severity


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a finding will say. `severity` is None where that of the kind is right."""

    kind: str
    message: str
    reference: str
    port: str
    remedy: str = ""
    severity: Severity | None = None
    #: Differences with one group are one finding.
    group: str = ""


def hint_values(text: str) -> dict[str, str]:
    """Hints as the canonical form writes them, by name."""
    return dict(part.split(" = ", 1) for part in text.split(", ") if " = " in part)


def hint_meanings(have: dict[str, str], got: dict[str, str], where: str) -> list[Meaning]:
    """What differing hints mean. `where` is the op they stand at, or `the kernel`."""
    found = []
    for name in sorted({*have, *got}):
        left, right = have.get(name), got.get(name)
        if left == right:
            continue
        shown = f"{name} = {left}" if left else "", f"{name} = {right}" if right else ""
        if right is None:
            message = f"{where}: {name} {left} is set in the reference, not here"
            found.append(Meaning("hint-lost", message, *shown, f"set {name} to {left}"))
        elif left is None:
            message = f"{where}: {name} {right} is set here, not in the reference"
            found.append(Meaning("hint-extra", message, *shown, f"leave {name} out"))
        else:
            message = f"{where}: {name} is {right} here, {left} in the reference"
            found.append(Meaning("hint-changed", message, *shown, f"set {name} to {left}"))
    return found
