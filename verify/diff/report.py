"""Collects what a comparison found: findings, assumptions and rows."""

from __future__ import annotations

from collections.abc import Mapping

from tileport.verify.diff.alignment import Alignment, Cause
from tileport.verify.diff.classify import classify
from tileport.verify.diff.inputs import Inputs
from tileport.verify.diff.kinds import severity_of
from tileport.verify.diff.meaning import Meaning, hint_meanings
from tileport.verify.diff.model import Assumption, Comparison, DiffVerdict
from tileport.verify.diff.places import place_of
from tileport.verify.diff.relations import (
    order_differences,
    promise_differences,
    unguarded_divisions,
    view_differences,
)
from tileport.verify.diff.roots import roots
from tileport.verify.diff.rows import rows_of
from tileport.verify.ir.canonical.expression import condition_text, expression
from tileport.verify.ir.canonical.facts import essential, implied
from tileport.verify.ir.canonical.graph import Reliance
from tileport.verify.ir.canonical.nodes import Node, Obligation
from tileport.verify.ir.canonical.types import element_of
from tileport.verify.ir.model import Location
from tileport.verify.model import Finding, Place

_STAGE = "diff"


class Report:
    """Collects findings and assumptions of one comparison."""

    def __init__(
        self, inputs: Inputs, alignment: Alignment, relied: frozenset[tuple[str, bytes]]
    ) -> None:
        self.inputs = inputs
        #: Conditions that were relied on before promises were cut down to the common ones.
        self.relied = relied
        self.alignment = alignment
        self.findings: list[Finding] = []
        self.assumptions: list[Assumption] = []
        #: Which finding a node belongs to.
        self.nodes: dict[Node, int] = {}
        self._merged: dict[tuple[object, ...], int] = {}

    # ------------------------------------------------------------ findings

    def differences(self) -> None:
        """Everything in which the two sides differ."""
        self._hints()
        causes = roots(self.alignment.causes)
        told = [(cause, meaning) for cause in causes for meaning in classify(cause)]
        for cause, meaning in told:
            if not _follows(cause, meaning, told):
                self._add(meaning, cause.reference, cause.port, cause)
        for relation in promise_differences(self.alignment):
            self._add(relation.meaning, relation.reference, relation.port)
        for relation in order_differences(self.alignment, self.inputs.aliasing):
            self._add(relation.meaning, relation.reference, relation.port)
        for relation in view_differences(self.alignment):
            self._add(relation.meaning, relation.reference, relation.port)

    def _hints(self) -> None:
        left, right = self.alignment.reference, self.alignment.port
        for meaning in hint_meanings(dict(left.hints), dict(right.hints), "the kernel"):
            self._finding(
                meaning,
                place_of(self.inputs.reference.location, self.inputs.python_source),
                place_of(self.inputs.port.location, self.inputs.rust),
            )

    def _add(
        self,
        meaning: Meaning,
        reference: Node | None,
        port: Node | None,
        cause: Cause | None = None,
    ) -> None:
        users = (cause.reference_user, cause.port_user) if cause else (None, None)
        python = self._place(reference, users[0], self.inputs.python_source)
        rust = self._place(port, users[1], self.inputs.rust)
        if python is None and port is not None:
            python = self._nearby(
                port, users[1], self.alignment.backward, self.inputs.python_source
            )
        if rust is None and reference is not None:
            rust = self._nearby(reference, users[0], self.alignment.forward, self.inputs.rust)
        # Better the head of the kernel than nowhere.
        python = python or place_of(self.inputs.reference.location, self.inputs.python_source)
        rust = rust or place_of(self.inputs.port.location, self.inputs.rust)
        index = self._finding(meaning, python, rust)
        for node in (reference, port):
            if node is not None:
                self.nodes.setdefault(node, index)

    def _place(self, node: Node | None, user: Node | None, path: str) -> Place | None:
        """A constant or parameter is best shown where it is used."""
        if node is None:
            return None
        if node.op in ("constant", "parameter", "splat", "argument") and user is not None:
            return place_of(user.location, path) or place_of(node.location, path)
        return place_of(node.location, path)

    def _nearby(
        self, node: Node, user: Node | None, across: Mapping[Node, Node], path: str
    ) -> Place | None:
        """For a node without a partner: the place of the partner of what it is next to."""
        for near in (user, *node.operands):
            twin = across.get(near) if near is not None else None
            if twin is not None and twin.location:
                return place_of(twin.location, path)
        owner = node.block.owner
        twin = across.get(owner) if owner is not None else None
        return place_of(twin.location, path) if twin is not None else None

    def _finding(self, meaning: Meaning, python: Place | None, rust: Place | None) -> int:
        where = (python and python.line, rust and rust.line)
        key: tuple[object, ...] = (meaning.kind, meaning.reference, meaning.port, where)
        if meaning.group:
            key = (meaning.kind, meaning.group)
        have = self._merged.get(key)
        if have is not None:
            return have
        self._merged[key] = len(self.findings)
        self.findings.append(
            Finding(
                kind=meaning.kind,
                severity=meaning.severity or severity_of(meaning.kind),
                message=meaning.message,
                stage=_STAGE,
                python=python,
                rust=rust,
                reference=meaning.reference,
                port=meaning.port,
                remedy=meaning.remedy,
            )
        )
        return len(self.findings) - 1

    def structure(self) -> None:
        """The graphs differ, but no node does: say at least that."""
        text = "the same operations are put together differently; see the canonical view"
        self._finding(
            Meaning("structure-changed", text, "", ""),
            place_of(self.inputs.reference.location, self.inputs.python_source),
            place_of(self.inputs.port.location, self.inputs.rust),
        )

    # ------------------------------------------------------------ assumptions

    def guards(self) -> None:
        """Divisions that the port runs and the reference may skip."""
        for obligation in unguarded_divisions(self.alignment):
            condition = f"{expression(obligation.divisor)} != 0"
            if obligation.divisor.launch:
                self._assume(condition, "division-unguarded", (), obligation.location)
                continue
            text = f"this division runs where the reference skips it; {condition} has to hold"
            self._unguarded(Meaning("division-unguarded", text, "", condition), obligation)

    def _unguarded(self, meaning: Meaning, obligation: Obligation) -> None:
        self._finding(meaning, None, place_of(obligation.location, self.inputs.rust))

    def spent_promises(self) -> None:
        """Promises of the port that decided something and are gone with what they were about.

        `assume n >= 0; n < 0` is `false`, and nothing of `n` is left to compare: equality then
        rests on the promise, unless the reference makes it as well. Array fields are left out:
        what is promised of them comes with the launch, and is compared when it is declared.
        """
        reference = {node.digest: node for node in self.alignment.reference.nodes if node.facts}
        for node in self.alignment.port.nodes:
            if node.facts is None or node.live or _of_an_array(node):
                continue
            other = reference.get(node.digest)
            for predicate in essential(node):
                if other is None or not implied(other, predicate):
                    condition = f"{expression(node)} is {predicate}"
                    self._assume(condition, "promise", (), node.location)

    def bound_constants(self) -> None:
        """Runtime parameters of the port that stand for constants of the reference."""
        port = self.alignment.port
        for name, value in port.bound.items():
            self._assume(f"{name} == {value}", "constant-as-runtime", (), ())
            text = f"{name} is {value}, a constant, in the reference; here it comes in at run time"
            self._finding(
                Meaning(
                    "constant-as-runtime",
                    text,
                    str(value),
                    "runtime value",
                    f"make {name} a const generic",
                    group=name,
                ),
                place_of(self.inputs.reference.location, self.inputs.python_source),
                place_of(self.inputs.port.location, self.inputs.rust),
            )

    def reliances(self, same: bool) -> None:
        """The conditions that equality rests on."""
        for side, reliance in self._needed(same):
            location: tuple[Location, Location] = (reliance.location, ())
            if side == "port":
                location = ((), reliance.location)
            condition = condition_text(reliance.conditions)
            self._assume(condition, reliance.rule, *location)
            if reliance.harmless:
                text = f"{reliance.harmless} can differ: {condition} is taken for granted"
                node = reliance.node
                port = self.alignment.forward.get(node) if side == "reference" else node
                back = self.alignment.backward.get(node) if side == "port" else node
                self._finding(
                    Meaning("zero-sign", text, "", "", group=condition),
                    place_of(
                        location[0] or (back.location if back else ()), self.inputs.python_source
                    ),
                    place_of(location[1] or (port.location if port else ()), self.inputs.rust),
                )

    def _needed(self, same: bool) -> list[tuple[str, Reliance]]:
        """The conditions that only one side relied on, if those are enough; else all.

        Both sides relying on one condition for one value usually wrote it the same way, and then
        the condition is not needed. Whether that is so is checked by canonicalizing again with the
        others alone.
        """
        left, right = (
            {each.key: each for each in side.reliances if each.key in self.relied}
            for side in (self.alignment.reference, self.alignment.port)
        )
        everything = [
            *(("reference", each) for each in left.values()),
            *(("port", each) for each in right.values() if each.key not in left),
        ]
        one_sided = [
            (side, each)
            for side, each in everything
            if (each.key in left) != (each.key in right) and each.node.live
        ]
        if len(one_sided) == len(everything):
            return one_sided
        if not same:
            return one_sided
        allowed = frozenset(each.key for _, each in one_sided)
        first, second = self.inputs.canonical(allowed=allowed)
        return one_sided if first.hash == second.hash else everything

    def _assume(self, condition: str, rule: str, python: Location, rust: Location) -> None:
        if any(each.condition == condition for each in self.assumptions):
            return
        self.assumptions.append(
            Assumption(
                condition=condition,
                rule=rule,
                python=place_of(python, self.inputs.python_source) if python else None,
                rust=place_of(rust, self.inputs.rust) if rust else None,
            )
        )

    # ------------------------------------------------------------ the answer

    def comparison(self, same: bool, hashes: tuple[str, str]) -> Comparison:
        """The whole answer."""
        order = sorted(
            range(len(self.findings)),
            key=lambda index: (
                self.findings[index].severity.rank,
                _line(self.findings[index].rust),
                index,
            ),
        )
        position = {old: new for new, old in enumerate(order)}
        nodes = {node: position[index] for node, index in self.nodes.items()}
        unsound = any(each.kind == "division-unguarded" for each in self.findings)
        if not same or unsound:
            verdict = DiffVerdict.DIFFERENT
        else:
            verdict = DiffVerdict.SAME_IF if self.assumptions else DiffVerdict.SAME
        left, right = self.alignment.reference, self.alignment.port
        return Comparison(
            verdict=verdict,
            assumptions=tuple(self.assumptions),
            findings=tuple(self.findings[index] for index in order),
            rows=rows_of(self.alignment, nodes, self.inputs.python_source, self.inputs.rust),
            reference_hash=hashes[0],
            port_hash=hashes[1],
            unknown_ops=tuple(sorted({*left.unknown_ops, *right.unknown_ops})),
        )


def _follows(cause: Cause, meaning: Meaning, told: list[tuple[Cause, Meaning]]) -> bool:
    """Whether a difference follows from another one that says more.

    The shape of a value follows from the tile that is loaded or stored, and types around an
    accumulator from the accumulator.
    """
    node = cause.reference or cause.port
    assert node is not None
    if meaning.kind == "tile-shape" and not node.op.startswith("make_"):
        return any(
            other.kind == "tile-shape"
            and other.group == meaning.group
            and each.reference is not None
            and each.reference.op.startswith("make_")
            for each, other in told
        )
    accumulators = [other.group for _, other in told if other.kind == "accumulator-type"]
    if meaning.kind == "dtype-changed":
        return meaning.group in accumulators
    if meaning.kind == "precision-changed" and node.op == "ftof":
        types = element_of(node.operands[0].type), element_of(node.type)
        return f"{types}" in accumulators or f"{types[::-1]}" in accumulators
    return False


def _of_an_array(node: Node) -> bool:
    """Whether it is a parameter for a pointer, an extent or a stride of an array."""
    return node.op == "parameter" and "." in dict(node.attributes).get("identity", "")


def _line(place: Place | None) -> int:
    return place.line if place is not None else 0
