"""What the parts of a binding share while it is made."""

from __future__ import annotations

from tileport.verify.compile.model import TensorSpecialization
from tileport.verify.model import Finding, Place, Severity, Variant
from tileport.verify.port.facts import Facts
from tileport.verify.port.model import PortEntry, PortFile
from tileport.verify.port.names import leaves

#: How a row says that nothing needs to be written.
LAUNCHER = "from the launcher"


class BindState:
    """The variant, the entry, and what is known of them so far."""

    def __init__(self, entry: PortEntry, port: PortFile, variant: Variant) -> None:
        self.entry = entry
        self.port = port
        self.variant = variant
        self.leaves = leaves(variant)
        self.facts = Facts(variant)
        self.findings: list[Finding] = []
        #: Values of the generics that have one: Rust text by name, a list for an array.
        self.generics: dict[str, tuple[str, ...]] = {}
        self.constants: dict[str, int | float | bool] = {}
        #: Python names that some generic or parameter of the port stands for.
        self.covered: set[str] = set()
        self.tensors: list[TensorSpecialization] = []
        self.scalar_divs: dict[str, int] = {}
        self.options: dict[str, int] = {}
        self.port_parameters: list[str] = []

    def find(
        self,
        kind: str,
        severity: Severity,
        message: str,
        *,
        line: int,
        python: Place | None = None,
        reference: str = "",
        port: str = "",
        remedy: str = "",
    ) -> Severity:
        """Adds a finding of this stage; gives its severity back, for the row of the fact."""
        self.findings.append(
            Finding(
                kind=kind,
                severity=severity,
                message=message,
                stage="declare",
                python=python or self.variant.kernel.place,
                rust=Place(self.port.path, line),
                reference=reference,
                port=port,
                remedy=remedy,
            )
        )
        return severity
