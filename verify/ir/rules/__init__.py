"""The rewrite rules of the canonical form.

Each rule is one small function: its docstring says what is equal and why, a property test runs
both sides. `RULES` is what the graph looks rules up in; for one op they are tried in the order of
`REWRITES`.
"""

from __future__ import annotations

from tileport.verify.ir.rules import (
    casts,
    choose,
    compare,
    division,
    floats,
    logic,
    shapes,
    sums,
    views,
)
from tileport.verify.ir.rules.engine import declared, table

_MODULES = (shapes, sums, logic, compare, choose, division, casts, floats, views)

REWRITES = declared(module.__name__ for module in _MODULES)
RULES = table(REWRITES)

__all__ = ["REWRITES", "RULES"]
