"""Conversions between integer widths, and of float constants."""

from __future__ import annotations

from tileport.verify.ir.canonical.floats import FORMATS, decode, encode
from tileport.verify.ir.canonical.graph import Draft, Graph, as_constant
from tileport.verify.ir.canonical.nodes import Node
from tileport.verify.ir.canonical.types import element_of, shape_of, tile, width_of
from tileport.verify.ir.intervals import range_of
from tileport.verify.ir.rules.engine import rewrites


@rewrites("exti")
def extended_constant(graph: Graph, draft: Draft) -> Node | None:
    """A constant, sign- or zero-extended, is a constant. Proof: the value is kept.

    A signed `i1` true is -1, an unsigned one 1.
    """
    source = draft.operands[0]
    value = as_constant(source)
    width = width_of(source.type)
    if value is None or not width or not width_of(draft.type):
        return None
    if draft.attribute("signedness") == "unsigned":
        value &= (1 << width) - 1
    elif width == 1:
        value = -value
    return graph.constant(value, draft.type)


@rewrites("exti")
def signed_extension(graph: Graph, draft: Draft) -> Node | None:
    """Zero-extending a value that is not negative is sign-extending it; extensions join.

    Proof: its top bit is clear, so both fill with zeros. Extending twice the same way fills with
    the same bit as extending once.
    """
    source = draft.operands[0]
    width = width_of(source.type)
    if width < 2 or not width_of(draft.type):
        return None
    if draft.attribute("signedness") == "unsigned" and range_of(source)[0] >= 0:
        return graph.make("exti", draft.operands, (("signedness", "signed"),), draft.type)
    if source.op == "exti" and source.attributes == draft.attributes:
        return graph.make("exti", source.operands, draft.attributes, draft.type)
    return None


@rewrites("trunci")
def truncated(graph: Graph, draft: Draft) -> Node | None:
    """A truncated constant is a constant; truncating back what was extended gives it back.

    Proof: truncation keeps the low bits, extension does not change them.
    """
    source = draft.operands[0]
    if draft.attributes or width_of(draft.type) < 2 or not width_of(source.type):
        return None
    value = as_constant(source)
    if value is not None:
        return graph.constant(value, draft.type)
    if source.op == "exti" and source.operands[0].type == draft.type:
        return source.operands[0]
    return None


@rewrites("ftof")
def converted_constant(graph: Graph, draft: Draft) -> Node | None:
    """A finite float constant, converted, is the constant rounded to nearest, ties to even.

    Proof: that is what `ftof` does; it is computed exactly here, subnormals and overflow to
    infinity included.
    """
    if draft.attributes:
        return None
    source = draft.operands[0]
    scalar = source.operands[0] if source.op == "splat" else source
    wanted, have = element_of(draft.type), element_of(scalar.type)
    if scalar.op != "constant" or not scalar.data or wanted not in FORMATS or have not in FORMATS:
        return None
    found = decode(scalar.data[0], have)
    if found is None:
        return None
    size, negative = found
    bits = encode(size, negative, wanted)
    constant = graph.node("constant", (), (), tile((), wanted), (bits,))
    return graph.splat(constant, shape_of(draft.type))


@rewrites("negf")
def negated_float(graph: Graph, draft: Draft) -> Node | None:
    """`-(-x)` is `x`, and a negated constant is the constant with the other sign bit.

    Proof: `negf` flips the sign bit, of zeros and NaNs too.
    """
    source = draft.operands[0]
    if source.op == "negf":
        return source.operands[0]
    scalar = source.operands[0] if source.op == "splat" else source
    element = element_of(scalar.type)
    if scalar.op != "constant" or not scalar.data or element not in FORMATS:
        return None
    exponent, mantissa = FORMATS[element]
    bits = scalar.data[0] ^ (1 << (exponent + mantissa))
    constant = graph.node("constant", (), (), scalar.type, (bits,))
    return graph.splat(constant, shape_of(draft.type))
