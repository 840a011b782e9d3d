"""Every rewrite rule is right: both sides give the same bits, whatever the values are."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable

import numpy as np
import pytest

from tileport.verify.ir.canonical.expression import condition_text
from tileport.verify.ir.canonical.floats import FORMATS
from tileport.verify.ir.canonical.graph import Draft, Graph
from tileport.verify.ir.canonical.nodes import Attributes, Node
from tileport.verify.ir.canonical.types import shape_of, tile
from tileport.verify.ir.intervals import range_of
from tileport.verify.ir.rules import REWRITES, RULES
from tileport.verify.ir.rules.division import as_upper_bound
from tileport.verify.ir.rules.engine import Rewrite, table

from .evaluate import Array, Undefined, equal, evaluate
from .random_nodes import INTEGERS, SHAPES, SIGNED, Maker, ceil_by_hand, floor_mod, special_float

#: Rules that look at views; they have tests of their own.
_VIEWS = {"shape-of-a-tensor-view", "tiles-of-a-partition", "offset-by-nothing"}
_SCALAR_RULES = [rule for rule in REWRITES if rule.name not in _VIEWS]
_FLOATS = ("f16", "bf16", "f32")


class _Plain(Graph):
    """A graph that keeps what it is given, so also what is undefined and what is decided."""

    def make(
        self,
        op: str,
        operands: tuple[Node, ...],
        attributes: Attributes = (),
        type: str = "",
        data: tuple[int, ...] = (),
    ) -> Node:
        return self.node(op, operands, attributes, type, data)


class _Watched:
    """A rule that remembers what it was asked and what it answered."""

    def __init__(self, rewrite: Rewrite) -> None:
        self.rewrite = rewrite
        self.fired: list[tuple[Draft, Node]] = []

    def __call__(self, graph: Graph, draft: Draft) -> Node | None:
        found = self.rewrite.apply(graph, draft)
        if found is not None:
            kept = Draft(draft.op, draft.operands, draft.attributes, draft.type, draft.data)
            self.fired.append((kept, found))
        return found


def _only(rewrite: Rewrite) -> tuple[_Watched, dict[str, tuple[_Watched, ...]]]:
    """A rule table in which only one rule acts, plus what turns `addi` into sums."""
    watched = _Watched(rewrite)
    return watched, dict.fromkeys(rewrite.ops, (watched,))


def _types(rewrite: Rewrite, choose: random.Random) -> str:
    floats = any(op.endswith("f") or op in ("fma", "ftof") for op in rewrite.ops)
    elements = _FLOATS if floats and not set(rewrite.ops) & {"addi", "select"} else INTEGERS
    if "xori" in rewrite.ops or "cmpi" in rewrite.ops:
        elements = ("i1", "i1", *INTEGERS)
    if set(rewrite.ops) & {"reshape", "broadcast", "permute"} or len(rewrite.ops) > 20:
        elements = (*INTEGERS, *_FLOATS, "i1")
    return tile(choose.choice(SHAPES), choose.choice(elements))


def _base_rules(rewrite: Rewrite) -> dict[str, tuple[object, ...]]:
    """Rules that have to act as well, so that a rule on sums meets sums."""
    needed = {"addition-is-a-sum", "multiplication-is-a-product", "collect-sum", "collect-product"}
    if not {"sum", "product", "divi", "remi", "select"} & set(rewrite.ops):
        return {}
    if rewrite.name in ("select-is-maximum-of-neighbours", "floor-remainder"):
        needed |= {"one-direction", "strict-against-constants", "decide-comparison"}
        needed |= {"simplify-bitwise"}
    if rewrite.name in ("select-without-negation", "select-of-truth-values"):
        needed |= {"negation", "one-direction"}
    if rewrite.name in ("remainder-of-less", "ceiling-division"):
        needed |= {"simplify-minimum"}
    needed.discard(rewrite.name)
    return dict(table(rule for rule in REWRITES if rule.name in needed))


def _holds(graph: Graph, values: dict[str, Array]) -> bool:
    """Whether all conditions that were relied on hold."""
    for reliance in graph.reliances.values():
        for condition in reliance.conditions:
            found = sum(evaluate(term, values) for term in condition.terms) + condition.constant
            test = {">=": operator.ge, ">": operator.gt, "<=": operator.le}[condition.relation]
            if not all(test(each, condition.bound) for each in np.asarray(found).reshape(-1)):
                return False
    return True


def _negation(maker: Maker, choose: random.Random) -> Node:
    graph = maker.graph
    truth = maker.truth(choose.choice(SHAPES), 1)
    return graph.make("xori", (truth, graph.constant(1, truth.type)), (), truth.type)


def _negated_choice(maker: Maker, choose: random.Random) -> Node:
    graph, type = maker.graph, tile(choose.choice(SHAPES), "i32")
    condition = maker.truth(shape_of(type), 1)
    if choose.random() < 0.5:
        ones = graph.constant(1, condition.type)
        condition = graph.make("xori", (condition, ones), (), condition.type)
    sides = maker.leaf(type), maker.leaf(type)
    return graph.make("select", (condition, *sides), (), type)


def _choice_of_truths(maker: Maker, choose: random.Random) -> Node:
    type = tile(choose.choice(SHAPES), "i1")
    sides = [maker.leaf(type), maker.graph.constant(choose.randrange(2), type)]
    choose.shuffle(sides)
    return maker.graph.make("select", (maker.truth(shape_of(type), 1), *sides), (), type)


def _small_remainder(maker: Maker, choose: random.Random) -> Node:
    graph, type = maker.graph, tile(choose.choice(SHAPES), "i32")
    value = graph.make("remi", (maker.leaf(type), graph.constant(8, type)), SIGNED, type)
    bound = graph.constant(choose.choice((8, 9, 100)), type)
    value = graph.make("maxi", (value, graph.constant(0, type)), SIGNED, type)
    return graph.make("remi", (value, bound), SIGNED, type)


def _ceiling(maker: Maker, choose: random.Random) -> Node:
    graph, type = maker.graph, tile(choose.choice(SHAPES), choose.choice(INTEGERS))
    value = graph.make("mini", (maker.leaf(type), graph.constant(90, type)), SIGNED, type)
    if choose.random() < 0.6:
        value = graph.make("maxi", (value, graph.constant(0, type)), SIGNED, type)
    by = graph.constant(choose.choice((2, 3, 8, 16)), type)
    return ceil_by_hand(graph, value, by, choose.choice(("zero", "negative_inf")))


#: Expressions on which a rule acts that random ones seldom are.
_AIMED: dict[str, Callable[[Maker, random.Random], Node]] = {
    "negation": _negation,
    "select-without-negation": _negated_choice,
    "select-of-truth-values": _choice_of_truths,
    "remainder-of-less": _small_remainder,
    "ceiling-division": _ceiling,
}
#: Rules that act on a condition only; see `test_conditions_are_enough` and `test_plus_zero`.
_CONDITIONAL = {"floor-remainder", "plus-zero"}


@pytest.mark.parametrize(
    "rewrite",
    [rule for rule in _SCALAR_RULES if rule.name not in _CONDITIONAL],
    ids=lambda rule: rule.name,
)
def test_a_rule_does_not_change_the_value(rewrite: Rewrite) -> None:
    compared = 0
    for seed in range(1500):
        choose = random.Random(seed)
        watched, rules = _only(rewrite)
        for op, acting in _base_rules(rewrite).items():
            rules[op] = tuple(each for each in acting) + rules.get(op, ())
        graph = Graph(rules, frozenset())
        maker = Maker(graph, seed)
        aimed = _AIMED.get(rewrite.name)
        if aimed is not None:
            aimed(maker, choose)
        else:
            maker.value(_types(rewrite, choose), 2)
        for draft, found in watched.fired[:3]:
            before = graph.add(
                draft.op, draft.operands, draft.attributes, draft.type, draft.data, block=graph.root
            )
            for round_ in range(4):
                values = maker.values(seed * 7 + round_)
                try:
                    expected = evaluate(before, values)
                except Undefined:
                    continue
                actual = evaluate(found, values)
                assert equal(expected, actual, draft.type), (draft, found, values)
                compared += 1
        if compared > 150:
            break
    assert compared > 20, f"{rewrite.name} was hardly ever tried ({compared} times)"


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 400))]
)
def test_all_rules_together_do_not_change_the_value(seed: int) -> None:
    choose = random.Random(seed)
    for case in range(25):
        number = seed * 1000 + case
        type = tile(choose.choice(SHAPES), choose.choice((*INTEGERS, *_FLOATS, "i1")))
        plain, ruled = Maker(_Plain({}), number), Maker(Graph(RULES, frozenset()), number)
        before, after = plain.value(type, 4), ruled.value(type, 4)
        for round_ in range(5):
            values = plain.values(number * 11 + round_)
            try:
                expected = evaluate(before, values)
            except Undefined:
                continue
            assert equal(expected, evaluate(after, values), type), (number, round_)


def test_conditions_are_enough() -> None:
    """With the recorded conditions allowed, the value is unchanged wherever they hold."""
    compared = relied = 0
    for number in range(900):
        choose = random.Random(number)
        type = tile(choose.choice(SHAPES), choose.choice(INTEGERS))
        plain, ruled = Maker(_Plain({}), number), Maker(Graph(RULES), number)
        before, after = plain.value(type, 3), ruled.value(type, 3)
        relied += bool(ruled.graph.reliances)
        if not ruled.graph.reliances:
            continue
        for round_ in range(6):
            values = plain.values(number * 13 + round_)
            try:
                if not _holds(ruled.graph, values):
                    continue
                expected = evaluate(before, values)
            except Undefined:
                continue
            assert equal(expected, evaluate(after, values), type), (number, values)
            compared += 1
    assert relied > 40
    assert compared > 60


def test_floor_remainder_holds_where_its_condition_does() -> None:
    compared = 0
    for number in range(120):
        choose = random.Random(number)
        type = tile((), choose.choice(INTEGERS))
        plain, ruled = Maker(_Plain({}), number), Maker(Graph(RULES), number)
        before = floor_mod(plain.graph, plain.parameter(type), plain.parameter(type))
        after = floor_mod(ruled.graph, ruled.parameter(type), ruled.parameter(type))
        for round_ in range(6):
            values = plain.values(number * 23 + round_)
            try:
                if not _holds(ruled.graph, values):
                    continue
                expected = evaluate(before, values)
            except Undefined:
                continue
            assert equal(expected, evaluate(after, values), type)
            compared += bool(ruled.graph.reliances)
    assert compared > 40


def test_plus_zero_changes_nothing_but_the_sign_of_a_zero() -> None:
    graph = Graph(RULES)
    maker = Maker(graph, 1)
    for element in _FLOATS:
        type = tile((), element)
        value = maker.parameter(type)
        zero = graph.node("constant", (), (), type, (0,))
        total = graph.node("addf", (value, zero), (), type)
        assert graph.make("addf", (value, zero), (), type) is value
        assert graph.make("addf", (zero, value), (), type) is value
        name = value.attribute("identity")
        for bits in {special_float(random.Random(seed), element) for seed in range(400)}:
            values = {name: np.array(bits, dtype=object)}
            exponent, mantissa = FORMATS[element]
            if bits != 1 << (exponent + mantissa):
                assert equal(evaluate(total, values), evaluate(value, values), type), hex(bits)
    assert {each.rule for each in graph.reliances.values()} == {"plus-zero"}
    texts = [condition_text(each.conditions) for each in graph.reliances.values()]
    assert all(text.endswith("is not -0.0") for text in texts)


def test_ranges_and_divisors_hold() -> None:
    compared = 0
    for number in range(300):
        choose = random.Random(number)
        type = tile(choose.choice(SHAPES), choose.choice(INTEGERS))
        graph = Graph(RULES, frozenset())
        maker = Maker(graph, number)
        maker.value(type, 3)
        for round_ in range(2):
            values = maker.values(number * 17 + round_)
            for node in graph.nodes:
                if node.range is None or node.op in ("parameter", "constant"):
                    continue
                try:
                    found = evaluate(node, values)
                except Undefined:
                    continue
                low, high = range_of(node)
                for each in found.reshape(-1):
                    assert low <= each <= high, (node, each, node.range)
                    assert each % node.divisor == 0, (node, each, node.divisor)
                compared += 1
    assert compared > 600


def _trips(lower: int, upper: int) -> int:
    return max(0, upper - lower)


def test_a_loop_bound_gives_the_same_number_of_iterations() -> None:
    changed = 0
    for number in range(700):
        choose = random.Random(number)
        type = tile((), choose.choice(INTEGERS))
        graph = Graph(RULES, frozenset())
        maker = Maker(graph, number)
        value = graph.make(
            "mini",
            (maker.value(type, 1), graph.constant(100, type)),
            (("signedness", "signed"),),
            type,
        )
        value.launch = False
        by = graph.constant(choose.choice((1, 2, 3, 4, 8)), type)
        total = value
        if choose.random() < 0.7:
            minus = graph.make("addi", (value, by), (), type)
            total = graph.make("subi", (minus, graph.constant(1, type)), (), type)
        upper = graph.make("divi", (total, by), (("signedness", "signed"),), type)
        lower = graph.constant(choose.choice((0, 0, 1, 5)), type)
        found = as_upper_bound(graph, lower, upper)
        changed += found is not upper
        for round_ in range(6):
            values = maker.values(number * 19 + round_)
            try:
                start = int(evaluate(lower, values).item())
                expected = _trips(start, int(evaluate(upper, values).item()))
            except Undefined:
                continue
            assert _trips(start, int(evaluate(found, values).item())) == expected
    assert changed > 50


def test_every_rule_says_why_it_is_right() -> None:
    for rewrite in REWRITES:
        text = rewrite.apply.__doc__ or ""
        assert "Proof:" in text, rewrite.name
    assert len({rewrite.name for rewrite in REWRITES}) == len(REWRITES)


def test_shapes_of_views_come_from_what_they_are_made_of() -> None:
    graph = Graph(RULES)
    scalar = "tile<i32>"
    pointer = graph.node("parameter", (), (("identity", "a.ptr"),), "tile<ptr<f32>>")
    rows = graph.node("parameter", (), (("identity", "a.shape[0]"),), scalar)
    view = "tensor_view<?x40xf32, strides=[40,1]>"
    tensor = graph.make("make_tensor_view", (pointer, rows), (), view)
    assert graph.make("get_tensor_shape", (tensor,), (), scalar, (0,)) is rows
    assert graph.make("get_tensor_shape", (tensor,), (), scalar, (1,)).data == (40,)

    partition = graph.make(
        "make_partition_view", (tensor,), (), f"partition_view<tile=(8x16), {view}, dim_map=[1, 0]>"
    )
    # Dimension 0 of the tiles runs along the static dimension 1: ceil(40 / 8).
    assert graph.make("get_index_space_shape", (partition,), (), scalar, (0,)).data == (5,)
    unknown = graph.make("get_index_space_shape", (partition,), (), scalar, (1,))
    assert unknown.op == "get_index_space_shape", "an extent that may be negative is left alone"
    rows.range = (0, 2**31 - 1)
    known = graph.make("get_index_space_shape", (partition,), (), scalar, (1,))
    assert known.op == "divi"
    assert known.attribute("rounding") == "positive_inf"
    assert known.operands[0] is rows
    assert known.operands[1].data == (16,)


def test_an_offset_by_zero_is_the_pointer() -> None:
    graph = Graph(RULES)
    pointer = graph.node("parameter", (), (("identity", "a.ptr"),), "tile<ptr<f32>>")
    zero = graph.constant(0, "tile<i64>")
    assert graph.make("offset", (pointer, zero), (), pointer.type) is pointer
