"""How rules are declared: a function with the proof in its docstring, and the ops it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tileport.verify.ir.canonical.graph import Rule


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rule: its name (that of the function, with dashes), its ops, and the function."""

    name: str
    ops: tuple[str, ...]
    apply: Rule


_DECLARED: dict[str, list[Rewrite]] = {}


def rewrites(*ops: str) -> Callable[[Rule], Rule]:
    """Declare a rule for drafts of these ops."""

    def declare(rule: Rule) -> Rule:
        rewrite = Rewrite(rule.__name__.replace("_", "-"), ops, rule)
        _DECLARED.setdefault(rule.__module__, []).append(rewrite)
        return rule

    return declare


def declared(modules: Iterable[str]) -> tuple[Rewrite, ...]:
    """The rules of these modules, in the order of the modules and of their functions."""
    return tuple(rewrite for module in modules for rewrite in _DECLARED[module])


def table(rules: Iterable[Rewrite]) -> Mapping[str, tuple[Rule, ...]]:
    """The rules by op."""
    found: dict[str, list[Rule]] = {}
    for rewrite in rules:
        for op in rewrite.ops:
            found.setdefault(op, []).append(rewrite.apply)
    return {op: tuple(each) for op, each in found.items()}
