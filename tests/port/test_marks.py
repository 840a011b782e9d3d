"""Which lines of both sources are marked."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.port.support import array, bound, constant, port, scalar, variant
from tileport.verify.model import Hints
from tileport.verify.port import python_marks, rust_marks
from tileport.verify.port.python_source import uses_in

_SOURCE = """\
import cuda.tile as ct

GROUP = 8


@ct.kernel(
    occupancy=2,
    num_ctas=ct.ByTarget(sm_90=2),
)
def scale(
    x,
    s,
    TILE: ct.Constant[int],
):
    i = ct.bid(0) // GROUP
    y = ct.load(x, (i,), (TILE,), GROUP=x.GROUP)
    return GROUP + 1
"""


def test_the_python_side_shows_what_is_declared_and_what_is_silent() -> None:
    of = variant(
        x=array(),
        s=scalar(),
        TILE=constant(128),
        hints=Hints(occupancy=2, num_ctas=2),
        folded={"GROUP": "8"},
    )
    marks = [(m.line, m.kind, m.parameter, m.fact) for m in python_marks(_SOURCE, of)]
    assert marks == [
        (3, "implicit", "GROUP", "8"),
        (7, "declared", "occupancy", "2"),
        (8, "declared", "num_ctas", "2"),
        (11, "implicit", "x", "f16, rank 2, strides [?, 1], i32 index"),
        (12, "implicit", "s", "f32"),
        (13, "implicit", "TILE", "128"),
        (15, "implicit", "GROUP", "8"),
        (17, "implicit", "GROUP", "8"),
    ]


def test_the_rust_side_shows_what_must_be_declared() -> None:
    file = port("scale<E: ElementType, const TILE: i32>(x: &Tensor<E, { [-1, -1] }>)")
    of = variant(x=array(), s=scalar(), TILE=constant(128), hints=Hints(occupancy=2))
    binding = bound(file, of)
    marks = [(m.line, m.kind, m.parameter) for m in rust_marks(file.entries[0], binding.facts)]
    assert marks == [
        (4, "must-declare", "occupancy"),
        (5, "declared", "x"),
        (5, "must-declare", "s"),
        (5, "declared", "TILE"),
    ]
    assert rust_marks(None, ()) == ()


def test_names_are_looked_for_in_the_right_function() -> None:
    source = (
        b"def f(a):\n    return a\n\n\n"
        b"class C:\n    @deco\n    def f(b):\n        return b.a(a=b)\n"
    )
    assert uses_in(source, "f", 1) == {"a": (2,)}
    assert uses_in(source, "f", 6) == {"b": (8,)}
    assert uses_in(source, "f", 7) == {"b": (8,)}
    assert uses_in(source, "f", 4) is None
    assert uses_in(source, "g", 1) is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_python_is_marked_without_an_error(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(_SOURCE)))
    new = data.draw(st.text("()[]:@\n \"'#\x00\ud800é", max_size=5))
    of = variant(x=array(), hints=Hints(occupancy=2), folded={"GROUP": "8"})
    python_marks(_SOURCE[:start] + new + _SOURCE[start + 3 :], of)
