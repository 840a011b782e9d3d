"""Effects are never lost, and stand where they belong."""

from __future__ import annotations

import pytest

from .texts import canonical, lines, same, store

_ATOMIC = (
    "{0}, {0}_t = atomic_rmw_tko relaxed device %p, add, {1} token=%root "
    ": tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
)
_LOAD = "{0}, {0}_t = load_ptr_tko weak {1} token={2} : tile<ptr<i32>> -> tile<i32>, token"


def _ops(body: str, word: str) -> int:
    return sum(word in line for line in lines(body))


@pytest.mark.parametrize(
    "effect",
    [
        _ATOMIC.format("%a", "%n"),
        store("%n"),
        'assert %c, "no" : tile<i1>',
        'print_tko "hello" token=%root -> token',
        "%v, %t = load_ptr_tko acquire device %p token=%root : tile<ptr<i32>> -> tile<i32>, token",
        "mystery %n, %m : tile<i32>",
    ],
    ids=["atomic", "store", "assert", "print", "acquire", "unknown"],
)
def test_an_effect_whose_result_is_not_used_stays(effect: str) -> None:
    assert not same(effect, "")
    assert len(lines(effect)) == len(lines("")) + 1


def test_two_equal_atomics_are_two() -> None:
    one = _ATOMIC.format("%a", "%n")
    two = one + "\n" + _ATOMIC.format("%b", "%n")
    assert not same(one, two)
    assert _ops(two, "atomic") == 2


def test_which_of_two_equal_atomics_is_used_where_counts() -> None:
    head = _ATOMIC.format("%a", "%n") + "\n" + _ATOMIC.format("%b", "%n") + "\n"
    used = head + "%d = subi %a, %b : tile<i32>\n" + store("%d", to="%q")
    unused = head + "%d = subi %a, %a : tile<i32>\n" + store("%d", to="%q")
    assert not same(used, unused)


def test_a_weak_load_that_nobody_uses_is_dropped_and_its_order_kept() -> None:
    assert same(_LOAD.format("%v", "%p", "%root"), "")
    through = (
        store("%n", name="%s") + "\n" + _LOAD.format("%v", "%p", "%s") + "\n"
        + store("%m", token="%v_t")
    )  # fmt: skip
    direct = store("%n", name="%s") + "\n" + store("%m", token="%s")
    assert same(through, direct)
    assert not same(through, store("%n", name="%s") + "\n" + store("%m"))


def test_a_load_before_and_one_after_a_store_are_not_one() -> None:
    around = (
        _LOAD.format("%v", "%p", "%root") + "\n" + store("%n", token="%v_t", name="%s") + "\n"
        + _LOAD.format("%w", "%p", "%s") + "\n%d = subi {0}, {1} : tile<i32>\n"
        + store("%d", to="%q", token="%w_t")
    )  # fmt: skip
    assert not same(around.format("%v", "%w"), around.format("%w", "%v"))
    assert not same(around.format("%v", "%w"), around.format("%v", "%v"))


def test_stores_under_a_condition_stay_under_it() -> None:
    inside = f"if %c {{\n{store('%n')}\n}}"
    assert not same(inside, store("%n"))
    assert not same(inside, "")


def test_a_branch_of_pure_sides_is_a_select() -> None:
    branch = (
        "%r = if %c -> (tile<i32>) {\nyield %n : tile<i32>\n} else {\nyield %m : tile<i32>\n}\n"
    )
    select = "%r = select %c, %n, %m : tile<i1>, tile<i32>\n"
    assert same(branch + store("%r"), select + store("%r"))


def test_a_minimum_by_branch_is_a_minimum() -> None:
    branch = (
        "%l = cmpi less_than %n, %c8, signed : tile<i32> -> tile<i1>\n"
        "%r = if %l -> (tile<i32>) {\nyield %n : tile<i32>\n} else {\nyield %c8 : tile<i32>\n}\n"
    )
    minimum = "%r = mini %n, %c8 signed : tile<i32>\n"
    assert same(branch + store("%r"), minimum + store("%r"))


def test_the_sides_of_a_branch_follow_the_condition() -> None:
    first = f"if %l {{\n{store('%n')}\n}} else {{\n{store('%m')}\n}}"
    second = f"if %l {{\n{store('%m')}\n}} else {{\n{store('%n')}\n}}"
    less = "%l = cmpi less_than %n, %m, signed : tile<i32> -> tile<i1>\n"
    not_less = "%l = cmpi greater_than_or_equal %n, %m, signed : tile<i32> -> tile<i1>\n"
    assert same(less + first, not_less + second)
    assert not same(less + first, not_less + first)


_LOOP = """\
%r = loop iter_values(%i = %c0) : tile<i32> -> tile<i32> {{
%k = cmpi {0} %i, %n, signed : tile<i32> -> tile<i1>
{1}
}}
"""


def test_an_early_break_and_the_rest_under_else_are_one() -> None:
    early = _LOOP.format(
        "greater_than_or_equal",
        "if %k {\nbreak %i : tile<i32>\n}\n" + store("%i")
        + "\n%j = addi %i, %c1 : tile<i32>\ncontinue %j : tile<i32>",
    )  # fmt: skip
    nested = _LOOP.format(
        "less_than",
        "if %k {\n" + store("%i")
        + "\n%j = addi %i, %c1 : tile<i32>\ncontinue %j : tile<i32>\n} else {\n"
        "break %i : tile<i32>\n}\nbreak %i : tile<i32>",
    )  # fmt: skip
    assert same(early, nested)


def test_what_stands_after_an_early_exit_depends_on_it() -> None:
    guarded = f"if %c {{\nreturn\n}}\n{store('%n')}"
    free = f"{store('%n')}\nif %c {{\nreturn\n}}"
    assert not same(guarded, free)


def test_a_break_at_the_end_of_a_loop_is_not_dropped() -> None:
    once = f"loop {{\n{store('%n')}\nbreak\n}}"
    assert not same(once, store("%n"))
    assert "break" in "\n".join(lines(once))


def test_an_unknown_op_is_a_barrier() -> None:
    before = store("%n") + "\nmystery %n : tile<i32>"
    after = "mystery %n : tile<i32>\n" + store("%n")
    assert not same(before, after)
    assert same(before, before)
    assert not same("mystery %n : tile<i32>", "mystery %m : tile<i32>")
    assert not same("mystery %n : tile<i32>", "mystery soft %n : tile<i32>")
    assert canonical(before).unknown_ops == ("mystery",)


def test_stores_without_an_order_may_stand_either_way() -> None:
    assert same(
        store("%n") + "\n" + store("%m", to="%q"), store("%m", to="%q") + "\n" + store("%n")
    )


def test_a_value_that_a_loop_hands_on_unchanged_is_what_it_starts_with() -> None:
    carried = (
        "%r = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %m) -> (tile<i32>) {\n"
        + store("%a") + "\ncontinue %a : tile<i32>\n}"
    )  # fmt: skip
    plain = f"for %i in (%c0 to %n, step %c1) : tile<i32> {{\n{store('%m')}\ncontinue\n}}"
    assert same(carried, plain)


def test_the_order_of_carried_values_says_nothing() -> None:
    loop = (
        "%r:2 = for %i in (%c0 to %n, step %c1) : tile<i32> "
        "iter_values(%a = {0}, %b = {1}) -> (tile<i32>, tile<i32>) {{\n"
        "%s = addi {2}, %i : tile<i32>\n%t = muli {3}, %m : tile<i32>\n"
        "continue {4} : tile<i32>, tile<i32>\n}}\n"
    )
    one = loop.format("%c1", "%c1", "%a", "%b", "%s, %t")
    other = loop.format("%c1", "%c1", "%b", "%a", "%t, %s")
    ends = [store(f"%r#{at}", to=to) for at, to in ((0, "%p"), (1, "%q"))]
    swapped = [store(f"%r#{at}", to=to) for at, to in ((1, "%p"), (0, "%q"))]
    assert same(one + "\n".join(ends), other + "\n".join(swapped))
    assert not same(one + "\n".join(ends), other + "\n".join(ends))


def test_a_carried_value_that_only_feeds_itself_is_dropped() -> None:
    counted = (
        "%r = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %c0) -> (tile<i32>) {\n"
        + store("%i") + "\n%s = addi %a, %c1 : tile<i32>\ncontinue %s : tile<i32>\n}"
    )  # fmt: skip
    plain = f"for %i in (%c0 to %n, step %c1) : tile<i32> {{\n{store('%i')}\ncontinue\n}}"
    assert same(counted, plain)


def test_equal_reductions_are_one_and_their_parts_count() -> None:
    reduce = (
        "{0} = reduce %t dim={2} identities=[{3} : f32] : tile<4x4xf32> -> tile<4xf32>\n"
        "(%a{1}: tile<f32>, %b{1}: tile<f32>) {{\n%o{1} = {4} %a{1}, %b{1} : tile<f32>\n"
        "yield %o{1} : tile<f32>\n}}\n"
    )
    head = (
        "%e = reshape %x : tile<f32> -> tile<1x1xf32>\n"
        "%t = broadcast %e : tile<1x1xf32> -> tile<4x4xf32>\n"
    )
    end = "%fp = reshape %f : tile<ptr<f32>> -> tile<1xptr<f32>>\n"
    end += "%fs = broadcast %fp : tile<1xptr<f32>> -> tile<4xptr<f32>>\n"
    end += "%u = store_ptr_tko weak %fs, %r token=%root : tile<4xptr<f32>>, tile<4xf32> -> token"
    zero = "0.000000e+00"
    base = head + reduce.format("%r", 0, 0, zero, "addf") + end
    assert same(base, head + reduce.format("%z", 1, 0, zero, "addf") + base.removeprefix(head))
    for changed in ((1, zero, "addf"), (0, "1.000000e+00", "addf"), (0, zero, "mulf")):
        assert not same(base, head + reduce.format("%r", 0, *changed) + end)


def test_a_deep_program_is_no_trouble() -> None:
    body = ["%v0 = addi %n, %m : tile<i32>"]
    for at in range(20_000):
        op = ("muli", "xori", "mini")[at % 3]
        sign = " signed" if op == "mini" else ""
        body.append(f"%v{at + 1} = {op} %v{at}, %{'nm'[at % 2]}{sign} : tile<i32>")
    text = "\n".join([*body, store(f"%v{20_000}")])
    assert canonical(text).hash == canonical(text).hash
    assert (
        canonical(text).hash
        != canonical(text.replace("%v9 = ", "%v9 = ", 1) + "\n" + store("%n", to="%q")).hash
    )
