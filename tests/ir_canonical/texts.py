"""Short Tile IR for tests, and its canonical form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tileport.verify.diff.compare import compare
from tileport.verify.diff.model import Comparison
from tileport.verify.ir.canonical import Canonical, Constant, canonicalize
from tileport.verify.ir.canonical.text import lines_of
from tileport.verify.ir.text import parse_module

#: What most of the short programs use; unused lines are dead and count for nothing.
PARAMETERS = {
    "%p": ("tile<ptr<i32>>", "p.ptr"),
    "%q": ("tile<ptr<i32>>", "q.ptr"),
    "%f": ("tile<ptr<f32>>", "f.ptr"),
    "%n": ("tile<i32>", "n"),
    "%m": ("tile<i32>", "m"),
    "%c": ("tile<i1>", "c"),
    "%x": ("tile<f32>", "x"),
    "%y": ("tile<f32>", "y"),
}
IDENTITIES = tuple(identity for _, identity in PARAMETERS.values())
_HEAD = """\
%c0 = constant <i32: 0> : tile<i32>
%c1 = constant <i32: 1> : tile<i32>
%c2 = constant <i32: 2> : tile<i32>
%c8 = constant <i32: 8> : tile<i32>
%root = make_token : token
"""


def program(body: str, *, hints: str = "") -> str:
    """An entry over `PARAMETERS` with this body; constants and a root token are there."""
    parameters = ", ".join(f"{name}: {kind}" for name, (kind, _) in PARAMETERS.items())
    suffix = f" optimization_hints=<{hints}>" if hints else ""
    return f"entry @k({parameters}){suffix} {{\n{_HEAD}{body}\nreturn\n}}"


def store(value: str, *, to: str = "%p", token: str = "%root", name: str = "") -> str:
    """A weak store of a scalar i32."""
    left = f"{name} = " if name else "%unused_" + str(abs(hash((value, to, token)))) + " = "
    return (
        f"{left}store_ptr_tko weak {to}, {value} token={token} : tile<ptr<i32>>, tile<i32> -> token"
    )


def canonical(body: str, *, hints: str = "", target: str = "sm_90") -> Canonical:
    """The canonical form of `program(body)`."""
    entry = parse_module(program(body, hints=hints)).entry()
    return canonicalize(entry, target=target, parameters=IDENTITIES)


def lines(body: str) -> list[str]:
    """The canonical form as lines."""
    found = canonical(body)
    return [line.text for line in lines_of(found.root, found.nodes, found.receiver)]


def same(one: str, other: str) -> bool:
    """Whether two bodies have one canonical form, without conditions."""
    left, right = canonical(one), canonical(other)
    return left.hash == right.hash and not left.reliances and not right.reliances


def compared(
    reference: str,
    port: str,
    *,
    reference_hints: str = "",
    port_hints: str = "",
    target: str = "sm_90",
    port_parameters: Sequence[str] = IDENTITIES,
    constants: Mapping[str, Constant] | None = None,
    alias_groups: Mapping[str, tuple[str, ...]] | None = None,
) -> Comparison:
    """The comparison of two bodies."""
    return compare(
        parse_module(program(reference, hints=reference_hints)),
        parse_module(program(port, hints=port_hints)),
        target=target,
        reference_parameters=IDENTITIES,
        port_parameters=port_parameters,
        constants=constants,
        alias_groups=alias_groups,
        python_source="k.py",
        rust="k.rs",
    )
