"""What the canonical form has to know of each op of Tile IR."""

from __future__ import annotations

from tileport.verify.ir.canonical.nodes import Attributes
from tileport.verify.ir.grammar_types import parse_hints
from tileport.verify.ir.model import Op
from tileport.verify.ir.rules.shapes import ELEMENTWISE

#: No memory, no order, no effect: the result depends on operands and attributes alone.
PURE = frozenset(ELEMENTWISE) | frozenset(
    {
        "broadcast", "cat", "constant", "extract", "get_global", "get_index_space_shape",
        "get_num_tile_blocks", "get_tensor_shape", "get_tile_block_id", "insert", "iota",
        "make_gather_scatter_view", "make_partition_view", "make_strided_view",
        "make_tensor_view", "mmaf", "mmaf_scaled", "mmai", "pack", "permute", "reshape", "unpack",
    }
)  # fmt: skip

TERMINATORS = frozenset({"yield", "continue", "break", "return"})

#: Attributes that say what is the default anyway.
_DEFAULTS = {
    "rounding_mode": "nearest_even",
    "rounding": "zero",
    "overflow": "none",
    "reverse": "false",
}
#: Ops with another default rounding.
_ROUNDING = {"exp": "full", "tanh": "full", "ftoi": "nearest_int_to_zero"}

#: Ops with optional operands: which ones there are is part of what the op says.
OPTIONAL = frozenset({"load_ptr_tko", "store_ptr_tko", "atomic_rmw_tko", "atomic_cas_tko"})


def attributes_of(op: Op, target: str) -> Attributes:
    """The op's attributes, sorted, without defaults, hints reduced to those of the target."""
    if not op.attributes and op.name not in OPTIONAL:
        return ()
    found: list[tuple[str, str]] = []
    for name, text in op.attributes.items():
        if name == "optimization_hints":
            hints = hints_for(parse_hints(text), target)
            if hints:
                found.append(("hints", ", ".join(f"{key} = {value}" for key, value in hints)))
            continue
        default = _DEFAULTS.get(name)
        if name == "rounding_mode":
            default = _ROUNDING.get(op.name, default)
        if text != default:
            found.append((name, text))
    if op.name in OPTIONAL:
        roles = ", ".join(role for role in op.roles if role != "token")
        found.append(("operands", roles))
    found.sort()
    return tuple(found)


def hints_for(hints: dict[str, dict[str, str]], target: str) -> tuple[tuple[str, str], ...]:
    """The hints that count for a target: its own, and the default ones it does not set. Sorted.

    The dialect looks up each hint under the target's key and then under `default`.
    """
    found = {**hints.get("default", {}), **hints.get(target, {})}
    return tuple(sorted(found.items()))
