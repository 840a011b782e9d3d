"""Verdicts and assumptions, and the pairs of ops/."""

from __future__ import annotations

import pytest

from tileport.verify.diff.compare import compare
from tileport.verify.diff.model import DiffVerdict, RowKind
from tileport.verify.errors import TileportError
from tileport.verify.ir.text import parse_module
from tileport.verify.model import Severity

from ..ir_canonical.texts import IDENTITIES, compared, program, store
from .pairs import NAMES, pairs


@pytest.mark.parametrize("name", [name for name in NAMES if name != "softmax"])
def test_the_ports_of_ops_are_the_same(name: str) -> None:
    found = pairs()[name].compare()
    assert found.verdict is DiffVerdict.SAME, found.findings
    assert found.findings == ()
    assert found.assumptions == ()
    assert found.reference_hash == found.port_hash
    assert all(row.kind in (RowKind.SAME, RowKind.FOLD) for row in found.rows)
    assert sum(max(row.count, 1) for row in found.rows) > 15


def test_a_view_used_twice_where_python_makes_two_is_told() -> None:
    found = pairs()["softmax"].compare()
    assert found.verdict is DiffVerdict.DIFFERENT
    (finding,) = found.findings
    assert finding.kind == "view-merged"
    assert finding.severity is Severity.NOTE
    assert finding.python is not None
    assert finding.rust is not None


def _division(rounding: str, numerator: str = "%n") -> str:
    suffix = f" rounding<{rounding}>" if rounding else ""
    return f"%d = divi {numerator}, %c8 signed{suffix} : tile<i32>\n" + store("%d")


def test_truncating_for_flooring_is_same_if_the_dividend_is_not_negative() -> None:
    found = compared(_division("negative_inf"), _division(""))
    assert found.verdict is DiffVerdict.SAME_IF
    (assumption,) = found.assumptions
    assert assumption.condition == "n >= 0"
    assert assumption.rule == "rounding-down"
    assert found.findings == ()


def test_the_same_on_both_sides_needs_no_assumption() -> None:
    assert compared(_division(""), _division("")).verdict is DiffVerdict.SAME


def test_roundings_that_changed_places_are_not_the_same() -> None:
    """Each side truncates once and floors once, but not in the same place."""

    def both(first: str, second: str) -> str:
        one = f"%d = divi %n, %c8 signed{first} : tile<i32>\n" + store("%d")
        return one + f"\n%e = divi %n, %c8 signed{second} : tile<i32>\n" + store("%e", to="%q")

    floor = " rounding<negative_inf>"
    found = compared(both(floor, ""), both("", floor))
    assert found.verdict is DiffVerdict.SAME_IF
    assert [each.condition for each in found.assumptions] == ["n >= 0"]


def test_a_proven_rounding_needs_no_assumption() -> None:
    head = "%b, %u, %w = get_tile_block_id : tile<i32>\n"
    found = compared(head + _division("negative_inf", "%b"), head + _division("", "%b"))
    assert found.verdict is DiffVerdict.SAME
    assert found.assumptions == ()


def test_a_condition_on_loaded_values_is_no_assumption_but_a_finding() -> None:
    load = "%v, %t = load_ptr_tko weak %q token=%root : tile<ptr<i32>> -> tile<i32>, token\n"
    found = compared(load + _division("negative_inf", "%v"), load + _division("", "%v"))
    assert found.verdict is DiffVerdict.DIFFERENT
    assert [each.kind for each in found.findings] == ["rounding-lost"]
    assert found.findings[0].severity is Severity.WRONG
    assert found.assumptions == ()


def test_a_ceiling_by_hand_is_same_if_it_does_not_overflow() -> None:
    by_hand = (
        "%a = assume bounded<0, ?>, %n : tile<i32>\n%t = addi %a, %c8 : tile<i32>\n"
        "%s = subi %t, %c1 : tile<i32>\n%d = divi %s, %c8 signed : tile<i32>\n" + store("%d")
    )
    ceiling = (
        "%a = assume bounded<0, ?>, %n : tile<i32>\n"
        "%d = divi %a, %c8 signed rounding<positive_inf> : tile<i32>\n" + store("%d")
    )
    found = compared(ceiling, by_hand)
    assert found.verdict is DiffVerdict.SAME_IF
    assert [each.condition for each in found.assumptions] == [f"n <= {2**31 - 8}"]


def test_a_width_is_told_where_a_value_may_wrap() -> None:
    head = "%v = muli %n, %m : tile<i32>\n"
    found = compared(head + _division("negative_inf", "%v"), head + _division("", "%v"))
    assert [each.condition for each in found.assumptions] == ["m * n >= 0 (in i32)"] or [
        each.condition for each in found.assumptions
    ] == ["n * m >= 0 (in i32)"]


def test_a_python_constant_that_comes_in_at_run_time() -> None:
    identities = tuple("const:GROUP" if each == "n" else each for each in IDENTITIES)
    found = compared(
        "%v = muli %m, %c8 : tile<i32>\n" + store("%v"),
        "%v = muli %m, %n : tile<i32>\n" + store("%v"),
        port_parameters=identities,
        constants={"GROUP": 8},
    )
    assert found.verdict is DiffVerdict.SAME_IF
    assert [each.condition for each in found.assumptions] == ["GROUP == 8"]
    assert [each.kind for each in found.findings] == ["constant-as-runtime"]
    wrong = compared(
        "%v = muli %m, %c8 : tile<i32>\n" + store("%v"),
        "%v = muli %m, %n : tile<i32>\n" + store("%v"),
        port_parameters=identities,
        constants={"GROUP": 4},
    )
    assert wrong.verdict is DiffVerdict.DIFFERENT
    assert "constant-changed" in {each.kind for each in wrong.findings}


def test_a_division_out_of_its_guard_needs_its_divisor() -> None:
    inside = (
        "for %i in (%c0 to %m, step %c1) : tile<i32> {\n"
        "%d = divi %c8, %n signed rounding<negative_inf> : tile<i32>\n" + store("%d")
        + "\ncontinue\n}"
    )  # fmt: skip
    above = (
        "%d = divi %c8, %n signed rounding<negative_inf> : tile<i32>\n"
        "for %i in (%c0 to %m, step %c1) : tile<i32> {\n" + store("%d") + "\ncontinue\n}"
    )
    hoisted = compared(inside, above)
    assert hoisted.verdict is DiffVerdict.SAME_IF
    assert [each.condition for each in hoisted.assumptions] == ["n != 0"]
    assert compared(above, inside).verdict is DiffVerdict.SAME


def test_a_short_circuit_guards_its_remainder() -> None:
    guarded = (
        "%k = cmpi not_equal %n, %c0, signed : tile<i32> -> tile<i1>\n"
        "%r = if %k -> (tile<i1>) {\n%s = remi %m, %n signed : tile<i32>\n"
        "%e = cmpi equal %s, %c0, signed : tile<i32> -> tile<i1>\nyield %e : tile<i1>\n"
        "} else {\n%false = constant <i1: false> : tile<i1>\nyield %false : tile<i1>\n}\n"
        "if %r {\n" + store("%m") + "\n}"
    )
    plain = (
        "%k = cmpi not_equal %n, %c0, signed : tile<i32> -> tile<i1>\n"
        "%s = remi %m, %n signed : tile<i32>\n"
        "%e = cmpi equal %s, %c0, signed : tile<i32> -> tile<i1>\n"
        "%r = andi %k, %e : tile<i1>\nif %r {\n" + store("%m") + "\n}"
    )
    found = compared(guarded, plain)
    assert found.verdict is DiffVerdict.SAME_IF
    assert "n != 0" in [each.condition for each in found.assumptions]
    assert compared(plain, guarded).verdict is DiffVerdict.SAME


def test_an_unguarded_division_by_a_loaded_value_is_unsafe() -> None:
    load = "%v, %t = load_ptr_tko weak %q token=%root : tile<ptr<i32>> -> tile<i32>, token\n"
    divide = "%d = divi %c8, %v signed rounding<negative_inf> : tile<i32>\n"
    inside = load + f"if %c {{\n{divide}{store('%d')}\n}}"
    above = load + f"{divide}if %c {{\n{store('%d')}\n}}"
    found = compared(inside, above)
    assert found.verdict is DiffVerdict.DIFFERENT
    assert [each.kind for each in found.findings] == ["division-unguarded"]


def test_adding_zero_is_told_as_a_note() -> None:
    end = "%u = store_ptr_tko weak %f, {0} token=%root : tile<ptr<f32>>, tile<f32> -> token"
    zero = "%z = constant <f32: 0.000000e+00> : tile<f32>\n%s = addf %x, %z : tile<f32>\n"
    found = compared(zero + end.format("%s"), end.format("%x"))
    assert found.verdict is DiffVerdict.SAME_IF
    assert [each.condition for each in found.assumptions] == ["x is not -0.0"]
    assert [(each.kind, each.severity) for each in found.findings] == [("zero-sign", Severity.NOTE)]
    minus = zero.replace("0.000000e+00", "-0.000000e+00")
    assert compared(minus + end.format("%s"), end.format("%x")).verdict is DiffVerdict.SAME


def test_hints_count_for_their_target_only() -> None:
    body = store("%n")
    both = "sm_100 = {occupancy = 2}, sm_90 = {occupancy = 4}"
    one = "sm_90 = {occupancy = 4}"
    default = "default = {occupancy = 4}"
    same = DiffVerdict.SAME
    assert compared(body, body, reference_hints=both, port_hints=one).verdict is same
    assert compared(body, body, reference_hints=default, port_hints=one).verdict is same
    found = compared(body, body, reference_hints=both, port_hints=one, target="sm_100")
    assert [(each.kind, each.severity) for each in found.findings] == [("hint-lost", Severity.SLOW)]
    assert found.verdict is DiffVerdict.DIFFERENT
    empty = compared(body, body, reference_hints="default = {}", port_hints="")
    assert empty.verdict is same


def test_unknown_ops_are_listed_and_compared_as_text() -> None:
    body = "%r = mystery %n, %m : tile<i32>\n" + store("%r")
    found = compared(body, body)
    assert found.verdict is DiffVerdict.SAME
    assert found.unknown_ops == ("mystery",)
    other = compared(body, body.replace("mystery %n", "mystery fast %n"))
    assert other.verdict is DiffVerdict.DIFFERENT
    assert other.findings


def test_parameters_are_matched_by_identity_not_by_place() -> None:
    swapped = tuple({"n": "m", "m": "n"}.get(each, each) for each in IDENTITIES)
    found = compared(store("%n"), store("%m"), port_parameters=swapped)
    assert found.verdict is DiffVerdict.SAME
    assert compared(store("%n"), store("%n"), port_parameters=swapped).verdict is (
        DiffVerdict.DIFFERENT
    )


def test_identities_have_to_fit_the_entry() -> None:
    module = parse_module(program(store("%n")))
    with pytest.raises(TileportError, match="parameters"):
        compare(
            module,
            module,
            target="sm_90",
            reference_parameters=IDENTITIES,
            port_parameters=IDENTITIES[:-1],
        )
    with pytest.raises(TileportError, match="entry"):
        compare(
            module,
            module,
            target="sm_90",
            reference_parameters=IDENTITIES,
            port_parameters=IDENTITIES,
            port_entry="other",
        )


def test_a_deep_program_is_compared() -> None:
    body = ["%v0 = addi %n, %m : tile<i32>"]
    for at in range(6000):
        op = ("muli", "xori", "mini")[at % 3]
        sign = " signed" if op == "mini" else ""
        body.append(f"%v{at + 1} = {op} %v{at}, %{'nm'[at % 2]}{sign} : tile<i32>")
    text = "\n".join([*body, store("%v6000")])
    found = compared(text, text.replace("%v1 = muli %v0, %n", "%v1 = muli %v0, %m"))
    assert found.verdict is DiffVerdict.DIFFERENT
    assert len(found.findings) == 1
