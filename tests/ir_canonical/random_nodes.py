"""Random expressions over parameters, and random values for them, edge cases first."""

from __future__ import annotations

import random

import numpy as np

from tileport.verify.ir.canonical.facts import Facts, attach
from tileport.verify.ir.canonical.floats import FORMATS
from tileport.verify.ir.canonical.graph import Graph
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import element_of, shape_of, tile, width_of

from .evaluate import Array, wrap

INTEGERS = ("i8", "i16", "i32", "i64")
SHAPES = ((), (4,), (2, 2), (1, 4), (4, 1), (2, 1))
SIGNED = (("signedness", "signed"),)
SIGNS = (SIGNED, SIGNED, (("signedness", "unsigned"),))
PREDICATES = (
    "equal",
    "not_equal",
    "less_than",
    "less_than_or_equal",
    "greater_than",
    "greater_than_or_equal",
)
ROUNDINGS = ("zero", "negative_inf", "positive_inf")


class Maker:
    """Makes expressions in one graph; the same choices for the same seed."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.graph = graph
        self.random = random.Random(seed)
        self.parameters: dict[str, Node] = {}

    def parameter(self, type: str) -> Node:
        """A parameter, often one that is used already, often one with facts."""
        choose = self.random
        have = [each for each in self.parameters.values() if each.type == type]
        if have and choose.random() < 0.5:
            return choose.choice(have)
        name = f"p{len(self.parameters)}"
        node = self.graph.node("parameter", (), (("identity", name),), type)
        node.launch = True
        if width_of(type) > 1 and choose.random() < 0.6:
            facts = Facts()
            if choose.random() < 0.8:
                facts.low = choose.choice((0, 0, 1, 5))
            if choose.random() < 0.3:
                facts.high = (facts.low or 0) + choose.choice((1, 7, 100))
            if choose.random() < 0.3:
                facts.divisor = choose.choice((2, 8))
                facts.high = None
            attach(node, facts)
        self.parameters[name] = node
        return node

    def leaf(self, type: str) -> Node:
        bits = width_of(type)
        if bits and self.random.random() < 0.3:
            return self.graph.constant(self.constant(bits), type)
        if element_of(type) in FORMATS and self.random.random() < 0.3:
            scalar = tile((), element_of(type))
            data = (special_float(self.random, element_of(type)),)
            return self.graph.splat(
                self.graph.node("constant", (), (), scalar, data), shape_of(type)
            )
        shape = shape_of(type)
        if shape and self.random.random() < 0.3:
            return self.graph.splat(self.leaf(tile((), element_of(type))), shape)
        if len(shape) == 1 and bits > 2 and self.random.random() < 0.3:
            return self.graph.node("iota", (), (), type)
        return self.parameter(type)

    def constant(self, bits: int) -> int:
        top = 1 << (bits - 1)
        if bits == 1:
            return self.random.randrange(2)
        return self.random.choice((0, 1, -1, 2, 3, 4, 7, 8, top - 1, -top, 2 - top))

    def value(self, type: str, depth: int) -> Node:
        """A random expression of a type."""
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf(type)
        shape, element = shape_of(type), element_of(type)
        if shape and self.random.random() < 0.35:
            found = self.layout(shape, element, depth)
            if found is not None:
                return found
        if element == "i1":
            return self.truth(shape, depth)
        if element in FORMATS:
            return self.real(type, depth)
        return self.integer(type, depth)

    def layout(self, shape: tuple[int, ...], element: str, depth: int) -> Node | None:
        type = tile(shape, element)
        kinds = [
            (other, op)
            for other in SHAPES
            for op in ("reshape", "broadcast")
            if _lays_out(other, shape, op)
        ]
        if len(shape) == 2:
            kinds.append((shape[::-1], "permute"))
        if not kinds:
            return None
        other, op = self.random.choice(kinds)
        source = self.value(tile(other, element), depth - 1)
        attributes = (("permutation", "1, 0"),) if op == "permute" else ()
        return self.graph.make(op, (source,), attributes, type)

    def truth(self, shape: tuple[int, ...], depth: int) -> Node:
        type = tile(shape, "i1")
        if self.random.random() < 0.35:
            op = self.random.choice(("andi", "ori", "xori"))
            return self.graph.make(
                op, (self.value(type, depth - 1), self.value(type, depth - 1)), (), type
            )
        element = self.random.choice(("i1", *INTEGERS))
        operand = tile(shape, element)
        attributes = (
            ("comparison_predicate", self.random.choice(PREDICATES)),
            *self.random.choice(SIGNS),
        )
        first, second = self.value(operand, depth - 1), self.value(operand, depth - 1)
        return self.graph.make("cmpi", (first, second), attributes, type)

    def integer(self, type: str, depth: int) -> Node:
        choose, make = self.random, self.graph.make
        bits = width_of(type)
        op = choose.choice(
            ("addi", "subi", "muli", "negi", "shli", "shri", "andi", "ori", "xori", "mini", "maxi",
             "divi", "remi", "select", "exti", "trunci", "floor mod", "ceil", "min by select")
        )  # fmt: skip
        a = self.value(type, depth - 1)
        if op == "negi":
            return make(op, (a,), (), type)
        if op in ("shli", "shri"):
            by = self.graph.constant(choose.randrange(bits), type)
            return make(op, (a, by), choose.choice(SIGNS) if op == "shri" else (), type)
        if op == "select":
            condition = self.value(tile(shape_of(type), "i1"), depth - 1)
            return make(op, (condition, a, self.value(type, depth - 1)), (), type)
        if op in ("exti", "trunci"):
            others = [each for each in INTEGERS if (_bits(each) < bits) == (op == "exti")]
            others = [each for each in others if _bits(each) != bits]
            if not others:
                return a
            source = self.value(tile(shape_of(type), choose.choice(others)), depth - 1)
            return make(op, (source,), choose.choice(SIGNS) if op == "exti" else (), type)
        b = self.value(type, depth - 1)
        if op == "floor mod":
            return floor_mod(self.graph, a, b)
        if op == "ceil":
            return ceil_by_hand(self.graph, a, b, choose.choice(ROUNDINGS[:2]))
        if op == "min by select":
            truth = tile(shape_of(type), "i1")
            attributes = (
                ("comparison_predicate", choose.choice(PREDICATES)),
                *choose.choice(SIGNS),
            )
            condition = make("cmpi", (a, b), attributes, truth)
            sides = (a, b) if choose.random() < 0.5 else (b, a)
            return make("select", (condition, *sides), (), type)
        if op == "divi":
            rounding = choose.choice(ROUNDINGS)
            sign = choose.choice(SIGNS)
            if sign is not SIGNED and rounding == "negative_inf":
                rounding = "zero"
            attributes = sign if rounding == "zero" else (("rounding", rounding), *sign)
            return make(op, (a, b), attributes, type)
        if op in ("remi", "mini", "maxi"):
            return make(op, (a, b), choose.choice(SIGNS), type)
        return make(op, (a, b), (), type)

    def real(self, type: str, depth: int) -> Node:
        choose, make = self.random, self.graph.make
        op = choose.choice(("addf", "subf", "mulf", "divf", "maxf", "minf", "negf", "fma", "ftof"))
        if op == "ftof":
            others = [each for each in ("f16", "bf16", "f32") if each != element_of(type)]
            source = self.value(tile(shape_of(type), choose.choice(others)), depth - 1)
            return make(op, (source,), (), type)
        count = {"negf": 1, "fma": 3}.get(op, 2)
        return make(op, tuple(self.value(type, depth - 1) for _ in range(count)), (), type)

    def values(self, seed: int) -> dict[str, Array]:
        """Values for all parameters that keep the promises made about them."""
        choose = random.Random(seed)
        return {name: _random_value(node, choose) for name, node in self.parameters.items()}


def floor_mod(graph: Graph, a: Node, b: Node) -> Node:
    """Python's `a % b` as cuda-tile writes it."""
    type, truth = a.type, tile(shape_of(a.type), "i1")
    zero = graph.constant(0, type)

    def compare(predicate: str, value: Node) -> Node:
        attributes = (("comparison_predicate", predicate), *SIGNED)
        return graph.make("cmpi", (value, zero), attributes, truth)

    r = graph.make("remi", (a, b), SIGNED, type)
    differ = graph.make("xori", (compare("less_than", r), compare("less_than", b)), (), truth)
    fix = graph.make("andi", (differ, compare("not_equal", r)), (), truth)
    return graph.make("select", (fix, graph.make("addi", (r, b), (), type), r), (), type)


def ceil_by_hand(graph: Graph, a: Node, b: Node, rounding: str) -> Node:
    """`(a + b - 1) / b`."""
    one = graph.constant(1, a.type)
    total = graph.make("subi", (graph.make("addi", (a, b), (), a.type), one), (), a.type)
    attributes = SIGNED if rounding == "zero" else (("rounding", rounding), *SIGNED)
    return graph.make("divi", (total, b), attributes, a.type)


def _bits(element: str) -> int:
    return width_of(tile((), element))


def _lays_out(source: tuple[int, ...], shape: tuple[int, ...], op: str) -> bool:
    if op == "reshape":
        return source != shape and int(np.prod(source)) == int(np.prod(shape))
    return (
        source != shape
        and len(source) == len(shape)
        and all(a in (1, b) for a, b in zip(source, shape, strict=True))
    )


def special_float(choose: random.Random, element: str) -> int:
    exponent, mantissa = FORMATS[element]
    infinity = ((1 << exponent) - 1) << mantissa
    one = ((1 << (exponent - 1)) - 1) << mantissa
    size = choose.choice(
        (0, 1, (1 << mantissa) - 1, 1 << mantissa, one, one + 1, infinity - 1, infinity,
         infinity | 1, infinity | (1 << (mantissa - 1)), choose.getrandbits(exponent + mantissa))
    )  # fmt: skip
    return size | (choose.getrandbits(1) << (exponent + mantissa))


def _random_value(node: Node, choose: random.Random) -> Array:
    shape = shape_of(node.type)
    bits = width_of(node.type)
    count = int(np.prod(shape)) if shape else 1
    if not bits:
        element = element_of(node.type)
        found = [special_float(choose, element) for _ in range(count)]
        return np.array(found, dtype=object).reshape(shape)
    assert node.range is not None
    low, high = node.range
    step = node.divisor if bits > 1 else 1
    found = []
    for _ in range(count):
        value = choose.choice(
            (low, high, low + 1, high - 1, 0, 1, -1, 2, 7, 8, 127, 128,
             choose.randint(low, high), choose.randint(low, high))
        )  # fmt: skip
        value = min(max(value, low), high) // step * step
        if value < low:
            value += step
        found.append(wrap(value, bits))
    return np.array(found, dtype=object).reshape(shape)
