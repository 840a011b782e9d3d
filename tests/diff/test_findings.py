"""One change, one finding, of the right kind, at the right place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tileport.verify.diff
from tileport.verify.diff.kinds import KINDS
from tileport.verify.diff.model import Comparison, DiffVerdict, RowKind
from tileport.verify.ir.text import parse_module
from tileport.verify.model import Severity

from ..ir_canonical.texts import compared, store
from .pairs import Pair, pairs


def _changed(name: str, old: str, new: str, count: int = 1) -> tuple[Pair, Comparison]:
    """The pair, and the comparison after a change of the port's text."""
    pair = pairs()[name]
    assert old in pair.port_text
    text = pair.port_text.replace(old, new, count)
    return pair, pair.compare(port=parse_module(text))


#: Name of the pair, what is changed in the port, kind and severity of the finding.
_CHANGES = [
    ("mla_decode", "{latency = 4}", "{latency = 2}", "hint-changed", Severity.SLOW),
    ("mla_decode", "occupancy = 2", "occupancy = 4", "hint-changed", Severity.SLOW),
    ("matmul", "tile=(128x64), padding_value = zero", "tile=(128x64)", "padding-changed",
     Severity.WRONG),
    ("mla_decode", "tile=(1x64x512), padding_value = zero",
     "tile=(1x64x512), padding_value = nan", "padding-changed", Severity.WRONG),
    ("rms_norm", "div_by<16>, %arg0", "div_by<4>, %arg0", "div-by-missing", Severity.SLOW),
    ("rms_norm", "div_by<16>, %arg0", "div_by<32>, %arg0", "div-by-extra", Severity.UNSAFE),
    ("rms_norm", "addf %reduce_lhs", "maxf %reduce_lhs", "op-changed", Severity.WRONG),
    ("rms_norm", "identities=[0.000000e+00", "identities=[1.000000e+00", "identity-changed",
     Severity.WRONG),
    ("matmul", "signed rounding<positive_inf>", "signed", "rounding-lost", Severity.WRONG),
    ("softmax", "dim=1", "dim=0", "dim-map", Severity.WRONG),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "kind", "severity"), _CHANGES)
def test_a_change_of_the_port_is_told(
    name: str, old: str, new: str, kind: str, severity: Severity
) -> None:
    if old not in pairs()[name].port_text:
        pytest.fail(f"{old} is not in the port of {name}: the fixture changed")
    everywhere = old.startswith(("padding", "tile"))
    pair, found = _changed(name, old, new, -1 if everywhere else 1)
    assert found.verdict is DiffVerdict.DIFFERENT
    mine = [each for each in found.findings if each.kind not in ("view-merged",)]
    assert [(each.kind, each.severity) for each in mine] == [(kind, severity)], mine
    (finding,) = mine
    assert finding.python is not None
    assert finding.rust is not None
    assert (finding.python.file, finding.rust.file) == (pair.python, pair.rust)
    assert finding.python.line > 0
    assert finding.rust.line > 0
    assert finding.message
    assert finding.stage == "diff"


_F = "%u = store_ptr_tko weak %f, {0} token=%root : tile<ptr<f32>>, tile<f32> -> token"
_LOAD = "%v, %t = load_ptr_tko weak {0} token=%root : {1} -> tile<i32>, token\n"
_LOOP = "for %i in ({0} to {1}, step {2}) : tile<i32> {{\n" + store("%i") + "\ncontinue\n}}"


def _fma(fused: bool) -> str:
    if fused:
        return "%r = fma %x, %y, %x : tile<f32>\n" + _F.format("%r")
    return "%p1 = mulf %x, %y : tile<f32>\n%r = addf %p1, %x : tile<f32>\n" + _F.format("%r")


def _axis(name: str) -> str:
    return "%bx, %by, %bz = get_tile_block_id : tile<i32>\n" + store(name)


def _compare(text: str) -> str:
    return f"%k = cmpf {text} %x, %y : tile<f32> -> tile<i1>\nif %k {{\n{store('%n')}\n}}"


def _compare_loaded(sign: str) -> str:
    head = _LOAD.format("%q", "tile<ptr<i32>>")
    test = f"%k = cmpi less_than %v, %n, {sign} : tile<i32> -> tile<i1>\n"
    return head + test + f"if %k {{\n{store('%n')}\n}}"


def _atomic(text: str) -> str:
    return (
        f"%a, %at = atomic_rmw_tko {text}, %n token=%root "
        ": tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
    )


def _masked(mask: str) -> str:
    types = "tile<ptr<i32>>, tile<i1>" if mask else "tile<ptr<i32>>"
    head = f"%v, %t = load_ptr_tko weak %q{mask} token=%root : {types} -> tile<i32>, token\n"
    return head + store("%v")


def _wide(first: bool) -> str:
    if first:
        steps = "%e = exti %n signed : tile<i32> -> tile<i64>\n%o = addi %e, %e : tile<i64>\n"
        kind = "tile<i64>"
    else:
        steps = "%o = addi %n, %n : tile<i32>\n"
        kind = "tile<i32>"
    move = f"%a = offset %p, %o : tile<ptr<i32>>, {kind} -> tile<ptr<i32>>\n"
    return steps + move + store("%n", to="%a")


#: Reference, port, kind, severity.
_SMALL = [
    (_fma(True), _fma(False), "fma-split", Severity.WRONG),
    (_fma(False), _fma(True), "fma-fused", Severity.WRONG),
    (_axis("%bx"), _axis("%by"), "grid-axis", Severity.WRONG),
    (_compare("less_than ordered"), _compare("less_than unordered"), "compare-ordering",
     Severity.WRONG),
    (_compare("less_than ordered"), _compare("greater_than ordered"), "compare-changed",
     Severity.WRONG),
    (_compare_loaded("unsigned"), _compare_loaded("signed"), "signedness", Severity.WRONG),
    (_atomic("acq_rel device %p, add"), _atomic("relaxed device %p, add"), "ordering-changed",
     Severity.UNSAFE),
    (_atomic("acq_rel sys %p, add"), _atomic("acq_rel device %p, add"), "scope", Severity.UNSAFE),
    (_atomic("relaxed device %p, add"), _atomic("relaxed device %p, max"), "atomic-mode",
     Severity.WRONG),
    (_masked(", %c"), _masked(""), "mask-dropped", Severity.UNSAFE),
    (_masked(""), _masked(", %c"), "mask-added", Severity.WRONG),
    (_wide(True), _wide(False), "width-narrowed", Severity.WRONG),
    (_LOOP.format("%c0", "%n", "%c1"), _LOOP.format("%c1", "%n", "%c1"), "trip-count",
     Severity.WRONG),
    (_LOOP.format("%c0", "%n", "%c1"), _LOOP.format("%c0", "%n", "%c2"), "trip-count",
     Severity.WRONG),
    (store("%n"), "%s = addi %n, %c1 : tile<i32>\n" + store("%s"), "op-extra", Severity.WRONG),
    (store("%n") + "\n" + store("%m", to="%q"), store("%n"), "op-missing", Severity.WRONG),
    (store("%n"), store("%m"), "value-changed", Severity.WRONG),
    ("%s = muli %n, %c8 : tile<i32>\n" + store("%s"),
     "%s = muli %n, %c2 : tile<i32>\n" + store("%s"), "constant-changed", Severity.WRONG),
    ("%s = addi %n, %m : tile<i32>\n" + store("%s"),
     "%s = addi %n, %m overflow<no_signed_wrap> : tile<i32>\n" + store("%s"), "overflow-flag",
     Severity.UNSAFE),
    ("%s = muli %n, %c8 : tile<i32>\n%r = addi %s, %m : tile<i32>\n" + store("%r"),
     "%s = muli %n, %c8 overflow<no_signed_wrap> : tile<i32>\n%r = addi %s, %m : tile<i32>\n"
     + store("%r"), "overflow-flag", Severity.UNSAFE),
    ("%s = addi %n, %m : tile<i32>\n%a = assume div_by<8>, %s : tile<i32>\n"
     "%r = addi %a, %c1 : tile<i32>\n" + store("%r"),
     "%s = addi %n, %m : tile<i32>\n%r = addi %s, %c1 : tile<i32>\n" + store("%r"),
     "div-by-missing", Severity.SLOW),
    ("%r = maxf %x, %y : tile<f32>\n" + _F.format("%r"),
     "%r = maxf %x, %y propagate_nan : tile<f32>\n" + _F.format("%r"), "nan-propagation",
     Severity.WRONG),
    ("%r = mulf %x, %y flush_to_zero : tile<f32>\n" + _F.format("%r"),
     "%r = mulf %x, %y : tile<f32>\n" + _F.format("%r"), "ftz-changed", Severity.WRONG),
    ("%r = divf %x, %y rounding<approx> : tile<f32>\n" + _F.format("%r"),
     "%r = divf %x, %y : tile<f32>\n" + _F.format("%r"), "rounding-changed", Severity.WRONG),
]  # fmt: skip


@pytest.mark.parametrize(("reference", "port", "kind", "severity"), _SMALL)
def test_one_difference_is_one_finding(
    reference: str, port: str, kind: str, severity: Severity
) -> None:
    found = compared(reference, port)
    assert found.verdict is DiffVerdict.DIFFERENT
    told = [(each.kind, each.severity) for each in found.findings]
    assert told == [(kind, severity)], found.findings


def _ordered(second: str) -> str:
    return (
        store("%n", name="%s") + "\n" + store("%m", token=second, name="%r") + "\n"
        + store("%n", to="%q", token="%root")
    )  # fmt: skip


def test_a_missing_order_is_unsafe_and_an_extra_one_slow() -> None:
    missing = compared(_ordered("%s"), _ordered("%root"))
    assert [(each.kind, each.severity) for each in missing.findings] == [
        ("token-missing", Severity.UNSAFE)
    ]
    extra = compared(_ordered("%root"), _ordered("%s"))
    assert [(each.kind, each.severity) for each in extra.findings] == [
        ("token-extra", Severity.SLOW)
    ]


def test_order_between_arrays_counts_only_where_they_may_overlap() -> None:
    free = store("%n", name="%s") + "\n" + store("%m", to="%q")
    tied = store("%n", name="%s") + "\n" + store("%m", to="%q", token="%s")
    assert compared(tied, free).verdict is DiffVerdict.DIFFERENT
    apart = {"p": (), "q": ()}
    assert compared(tied, free, alias_groups=apart).verdict is DiffVerdict.SAME
    together = {"p": ("g",), "q": ("g",)}
    assert compared(tied, free, alias_groups=together).verdict is DiffVerdict.DIFFERENT


def test_order_carried_from_one_iteration_to_the_next() -> None:
    loop = (
        "%r = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %root) -> (token) {{\n"
        + store("%m", token="%a", name="%s") + "\ncontinue {0} : token\n}}"
    )  # fmt: skip
    found = compared(loop.format("%s"), loop.format("%a"))
    assert [each.kind for each in found.findings] == ["token-missing"]
    assert "earlier iterations" in found.findings[0].message


def test_a_constant_changed_in_several_places_is_one_finding() -> None:
    body = (
        "%k = constant <i32: {0}> : tile<i32>\n%a = muli %n, %k : tile<i32>\n"
        "%b = muli %m, %k : tile<i32>\n" + store("%a") + "\n" + store("%b", to="%q")
    )
    found = compared(body.format(8), body.format(4))
    assert [each.kind for each in found.findings] == ["constant-changed"]


def test_what_is_computed_from_a_change_is_not_told_again() -> None:
    tail = "".join(f"%t{at + 1} = xori %t{at}, %m : tile<i32>\n" for at in range(50))
    body = "%t0 = {0} %n, %m signed : tile<i32>\n" + tail + store("%t50")
    found = compared(body.format("mini"), body.format("maxi"))
    assert [each.kind for each in found.findings] == ["op-changed"]
    changed = [row for row in found.rows if row.kind is RowKind.CHANGED]
    assert len(changed) == 1
    assert changed[0].finding == 0


def test_every_kind_has_a_meaning_and_every_finding_a_known_kind() -> None:
    for kind in KINDS.values():
        assert kind.meaning
        assert kind.name == kind.name.lower()


def test_every_kind_that_is_told_is_listed() -> None:
    source = Path(tileport.verify.diff.__file__ or "").parent
    told: set[str] = set()
    for path in source.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Meaning":
                kind = node.args[0]
                if isinstance(kind, ast.Constant):
                    told.add(kind.value)
                elif isinstance(kind, ast.JoinedStr):
                    told |= {f"{word}-static" for word in ("shape", "stride")}
                    told |= {f"{word}-not-static" for word in ("shape", "stride")}
    assert len(told) > 25
    assert told <= set(KINDS)
