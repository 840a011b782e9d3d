"""Pairs that look alike and are not the same: each was once taken for equal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tileport.verify.diff.compare import compare
from tileport.verify.diff.model import Comparison, DiffVerdict
from tileport.verify.errors import TileportError
from tileport.verify.ir.model import Module
from tileport.verify.ir.text import parse_module

from ..ir_canonical.texts import IDENTITIES, compared, program, store


def _swapping(start: tuple[str, str], after: str, following: tuple[str, str]) -> str:
    """A store before a loop, and one in it after one of two tokens that the loop carries."""
    return (
        store("%c8", name="%before")
        + "\n%out:2 = for %i in (%c0 to %n, step %c1) : tile<i32> "
        + f"iter_values(%one = {start[0]}, %two = {start[1]}) -> (token, token) {{\n"
        + store("%c1", token=after, name="%done")
        + f"\ncontinue {following[0]}, {following[1]} : token, token\n}}"
    )


@pytest.mark.parametrize(
    ("reference", "port"),
    [
        pytest.param(
            # After the earlier store in the first iteration; in every other one.
            _swapping(("%root", "%before"), "%two", ("%root", "%one")),
            _swapping(("%before", "%root"), "%one", ("%two", "%one")),
            id="tokens-that-swap-places",
        ),
        pytest.param(
            # After the earlier store in all iterations but the second; in all of them.
            _swapping(("%before", "%root"), "%one", ("%two", "%before")),
            _swapping(("%before", "%before"), "%two", ("%before", "%one")),
            id="what-starts-and-what-is-handed-on",
        ),
    ],
)
def test_orders_that_hold_in_other_iterations_are_not_the_same(reference: str, port: str) -> None:
    assert compared(reference, port).verdict is DiffVerdict.DIFFERENT
    assert compared(reference, reference).verdict is DiffVerdict.SAME
    assert compared(port, port).verdict is DiffVerdict.SAME


def test_an_order_on_some_paths_that_is_dropped_after_one_iteration_is_told() -> None:
    """The loop hands the token of a branch on, or starts again from the root."""

    def body(following: str) -> str:
        return (
            "%t = if %c -> (token) {\n"
            + store("%c8", name="%inside")
            + "\nyield %inside : token\n} else {\n"
            + store("%c2", name="%other")
            + "\nyield %root : token\n}\n"
            + "%out = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%one = %t) "
            + "-> (token) {\n"
            + store("%c1", token="%one", name="%done")
            + f"\ncontinue {following} : token\n}}"
        )

    assert compared(body("%one"), body("%root")).verdict is DiffVerdict.DIFFERENT
    assert compared(body("%one"), body("%one")).verdict is DiffVerdict.SAME


def test_one_value_reached_in_two_ways_needs_the_conditions_of_both() -> None:
    """Rounded down and rounded to zero become one ceiling, but not for the same `n`."""

    def ceiling(rounding: str) -> str:
        return (
            "%c7 = constant <i32: 7> : tile<i32>\n%s = addi %n, %c7 : tile<i32>\n"
            + f"%d = divi %s, %c8 signed{rounding} : tile<i32>\n"
            + store("%d")
        )

    found = compared(ceiling(" rounding<negative_inf>"), ceiling(""))
    assert found.verdict is DiffVerdict.SAME_IF
    assert any("n >= 0" in each.condition for each in found.assumptions)


def test_comparisons_decided_alike_keep_their_own_conditions() -> None:
    def body(signedness: str) -> str:
        lines = []
        for value, to in (("%n", "%p"), ("%m", "%q")):
            name = value[1:]
            lines += [
                f"%{name}1 = assume bounded<?, 5>, {value} : tile<i32>",
                f"%{name}2 = cmpi less_than %{name}1, %c8, {signedness} : tile<i32> -> tile<i1>",
                f"%{name}3 = exti %{name}2 unsigned : tile<i1> -> tile<i32>",
                store(f"%{name}3", to=to),
            ]
        return "\n".join(lines)

    found = compared(body("unsigned"), body("signed"))
    assert {each.condition for each in found.assumptions} >= {"n >= 0", "m >= 0"}
    assert found.verdict is DiffVerdict.SAME_IF


def test_an_integer_narrower_than_a_byte_is_compared_too() -> None:
    def body(signedness: str) -> str:
        return (
            "%a = trunci %n : tile<i32> -> tile<i4>\n"
            + f"%b = exti %a {signedness} : tile<i4> -> tile<i32>\n"
            + store("%b")
        )

    assert compared(body("signed"), body("signed")).verdict is DiffVerdict.SAME
    assert compared(body("signed"), body("unsigned")).verdict is DiffVerdict.DIFFERENT


GLOBAL = "global @table alignment = 16 <i32: [{}, 2, 3, 4]> : tile<4xi32>\n"
READ = (
    "%g = get_global @table : tile<ptr<i32>>\n"
    "%v, %t = load_ptr_tko weak %g token=%root : tile<ptr<i32>> -> tile<i32>, token\n"
)


def _with_global(first: int) -> Module:
    return parse_module(GLOBAL.format(first) + program(READ + store("%v")))


def _compare(reference: Module, port: Module, names: Sequence[str] = IDENTITIES) -> Comparison:
    return compare(
        reference, port, target="sm_90", reference_parameters=names, port_parameters=names
    )


def test_globals_are_compared_by_what_they_hold() -> None:
    assert _compare(_with_global(1), _with_global(1)).verdict is DiffVerdict.SAME
    assert _compare(_with_global(1), _with_global(9)).verdict is DiffVerdict.DIFFERENT


def test_a_global_that_is_not_there_is_an_error() -> None:
    with pytest.raises(TileportError, match="global table"):
        _compare(_with_global(1), parse_module(program(READ + store("%v"))))


def test_two_parameters_cannot_have_one_name() -> None:
    names = (IDENTITIES[0], *IDENTITIES[:-1])
    module = parse_module(program(store("%c1")))
    with pytest.raises(TileportError, match="two parameters"):
        _compare(module, module, names)


@pytest.mark.parametrize(
    ("assumed", "decided"),
    [
        ("bounded<0, ?>", "%d = cmpi less_than %m2, %c0, signed : tile<i32> -> tile<i1>"),
        ("div_by<8>", "%r = remi %m2, %c8 signed : tile<i32>\n"
         "%d = cmpi not_equal %r, %c0, signed : tile<i32> -> tile<i1>"),
    ],
)  # fmt: skip
def test_a_promise_that_decided_and_is_gone_is_told(assumed: str, decided: str) -> None:
    """What the port promises makes it store 2; the reference stores 2 whatever comes in."""
    port = (
        f"%m2 = assume {assumed}, %m : tile<i32>\n{decided}\n"
        "%s = select %d, %c1, %c2 : tile<i1>, tile<i32>\n" + store("%s")
    )
    found = compared(store("%c2"), port)
    assert found.verdict is DiffVerdict.SAME_IF
    assert any("m" in each.condition for each in found.assumptions)
    assert compared(port, port).verdict is DiffVerdict.SAME
