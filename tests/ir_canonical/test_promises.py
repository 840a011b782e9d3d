"""Assumes become facts of the value they are about, and facts count."""

from __future__ import annotations

from tileport.verify.ir.canonical.facts import Facts

from .texts import canonical, same, store


def test_a_promise_counts_on_any_value() -> None:
    plain = "%v = addi %n, %m : tile<i32>\n" + store("%v")
    promised = "%v = addi %n, %m : tile<i32>\n%w = assume div_by<8>, %v : tile<i32>\n" + store("%w")
    assert not same(plain, promised)


def test_promises_join_and_weaker_ones_vanish() -> None:
    chain = (
        "%a = assume div_by<4>, %n : tile<i32>\n%b = assume bounded<0, ?>, %a : tile<i32>\n"
        "%d = assume div_by<16>, %b : tile<i32>\n" + store("%d")
    )
    once = (
        "%a = assume div_by<16>, %n : tile<i32>\n%b = assume bounded<0, ?>, %a : tile<i32>\n"
        + store("%b")
    )  # fmt: skip
    assert same(chain, once)
    assert not same(once, once.replace("div_by<16>", "div_by<8>"))
    assert not same(once, once.replace("bounded<0, ?>", "bounded<1, ?>"))


def test_what_is_known_anyway_is_no_promise() -> None:
    block = "%b, %u, %w = get_tile_block_id : tile<i32>\n"
    promised = block + "%a = assume bounded<0, ?>, %b : tile<i32>\n" + store("%a")
    assert same(block + store("%b"), promised)
    scaled = "%v = muli %n, %c8 : tile<i32>\n"
    assert same(
        scaled + store("%v"), scaled + "%w = assume div_by<8>, %v : tile<i32>\n" + store("%w")
    )
    loop = "for %i in (%c0 to %n, step %c2) : tile<i32> {{\n{0}\ncontinue\n}}"
    assert same(
        loop.format(store("%i")),
        loop.format("%a = assume bounded<0, ?>, %i : tile<i32>\n" + store("%a")),
    )


def test_a_promise_about_a_value_that_nobody_uses_says_nothing() -> None:
    assert same("%a = assume div_by<16>, %n : tile<i32>\n" + store("%m"), store("%m"))


def test_a_promise_under_a_condition_is_weaker() -> None:
    above = f"%a = assume div_by<16>, %n : tile<i32>\nif %c {{\n{store('%n')}\n}}"
    below = f"if %c {{\n%a = assume div_by<16>, %n : tile<i32>\n{store('%n')}\n}}"
    none = f"if %c {{\n{store('%n')}\n}}"
    assert not same(above, below)
    assert not same(below, none)
    assert same(
        above, above.replace(store("%n"), "%z = assume div_by<8>, %n : tile<i32>\n" + store("%n"))
    )


def test_a_promise_after_an_early_exit_is_one_under_a_condition() -> None:
    after = f"if %c {{\nreturn\n}}\n%a = assume div_by<16>, %n : tile<i32>\n{store('%a')}"
    before = f"%a = assume div_by<16>, %n : tile<i32>\nif %c {{\nreturn\n}}\n{store('%a')}"
    assert not same(after, before)


def test_a_conditional_promise_proves_nothing_elsewhere() -> None:
    body = (
        "if %c {{\n%a = assume bounded<0, ?>, %n : tile<i32>\n" + store("%a") + "\n}}\n"
        "%v, %t = load_ptr_tko weak %q token=%root : tile<ptr<i32>> -> tile<i32>, token\n"
        "%s = addi %n, %v : tile<i32>\n%d = divi %n, %c8 signed{0} : tile<i32>\n"
        + store("%d")
    )  # fmt: skip
    rounded = canonical(body.format(" rounding<negative_inf>"))
    assert canonical(body.format("")).hash != rounded.hash or canonical(body.format("")).reliances


def test_a_promise_of_elements_of_a_splat_is_one_of_the_scalar() -> None:
    spread = (
        "%e = reshape %n : tile<i32> -> tile<1xi32>\n"
        "%t = broadcast %e : tile<1xi32> -> tile<4xi32>\n"
    )
    end = (
        "%fp = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>\n"
        "%fs = broadcast %fp : tile<1xptr<i32>> -> tile<4xptr<i32>>\n"
        "%u = store_ptr_tko weak %fs, {0} token=%root : tile<4xptr<i32>>, tile<4xi32> -> token"
    )
    on_tile = spread + "%a = assume div_by<16>, %t : tile<4xi32>\n" + end.format("%a")
    on_scalar = "%z = assume div_by<16>, %n : tile<i32>\n" + spread + end.format("%t")
    assert same(on_tile, on_scalar)
    every = on_tile.replace("div_by<16>", "div_by<16, every 4 along 0>")
    assert not same(every, on_tile)
    assert not same(every, spread + end.format("%t"))


def test_facts_join_and_meet() -> None:
    one, other = Facts(), Facts()
    one.add("div_by<16>")
    one.add("bounded<0, 100>")
    other.add("div_by<4>")
    other.add("bounded<-5, ?>")
    other.add("same_elements<[4]>")
    common = one.common(other)
    assert (common.divisor, common.low, common.high, common.other) == (4, -5, None, set())
    one.merge(other)
    assert (one.divisor, one.low, one.high, one.other) == (16, 0, 100, {"same_elements<[4]>"})


def test_a_promise_about_overflow_counts_and_changes_nothing_else() -> None:
    plain = "%s = addi %n, %m : tile<i32>\n%t = subi %s, %m : tile<i32>\n" + store("%t")
    flagged = plain.replace("%m : tile<i32>", "%m overflow<no_signed_wrap> : tile<i32>", 1)
    unused = flagged.replace("%t = subi %s, %m", "%t = subi %n, %m")
    assert not same(plain, flagged), "n + m - m is n, but n + m is promised not to overflow"
    assert not same(flagged, flagged.replace("no_signed_wrap", "no_unsigned_wrap"))
    assert same(unused, unused.replace(" overflow<no_signed_wrap>", ""))


def test_a_promise_about_part_of_a_sum_counts() -> None:
    body = "%s = muli %n, %c8 : tile<i32>\n{0}%r = addi {1}, %m : tile<i32>\n" + store("%r")
    plain = body.format("", "%s")
    promised = body.format("%a = assume bounded<0, 99>, %s : tile<i32>\n", "%a")
    assert not same(plain, promised)
    assert not same(promised, promised.replace("99", "98"))
    beside = body.format("%a = assume bounded<0, 99>, %s : tile<i32>\n", "%s")
    assert same(promised, beside), "a false promise is undefined behaviour whoever uses its result"


def test_a_promise_about_overflow_is_about_its_operands() -> None:
    left = (
        "%a = addi %n, %m : tile<i32>\n%s = addi %a, %c8 overflow<no_signed_wrap> : tile<i32>\n"
        + store("%s")
    )  # fmt: skip
    right = (
        "%a = addi %m, %c8 : tile<i32>\n%s = addi %n, %a overflow<no_signed_wrap> : tile<i32>\n"
        + store("%s")
    )  # fmt: skip
    flag = " overflow<no_signed_wrap>"
    assert same(left.replace(flag, ""), right.replace(flag, ""))
    assert not same(left, right)
