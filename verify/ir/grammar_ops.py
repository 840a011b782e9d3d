"""The format of every op that cutile 0.5, cuda-tile 1.7 and Tile IR 13.5 know.

Attribute names are those of the Tile IR specification (`comparison_predicate`, `rounding_mode`,
`memory_ordering_semantics`, ...). An attribute the text leaves out has the default of the
specification and is absent from `Op.attributes`. tileirdisasm prints what the bytecode holds in
words for either front end; the numeric forms that cutile-ir's own printer shows
(`{rounding_mode = 0}`, `{mode = 4}`) do not occur in its output, so nothing is normalised here.

Not in the table, and so kept verbatim: the multimem ops, which need a multicast pointer that
neither front end can make, and the ops of preview features.

Roles of operands: `source` (the operand of a unary op; the operands of reduce and scan), `lhs`,
`rhs`, `acc`, `lhs_scale`, `rhs_scale`, `exponent`, `condition`, `if_true`, `if_false`, `pointer`,
`offset`, `view`, `index`, `base`, `shape`, `stride`, `value` (stored, yielded, assumed on),
`compare`, `destination`, `mask`, `padding`, `token`, `argument` (printed), `lower`, `upper`,
`step`, `init`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tileport.verify.ir.grammar import Format, Shape
from tileport.verify.ir.grammar_types import tensor_view_type, tile_type

_FTZ = "[[ {flush_to_zero}]]"
_ROUNDING_MODE = "[[ rounding<{rounding_mode:ROUNDING}>]]"
_OVERFLOW = "[[ overflow<{overflow:OVERFLOW}>]]"
_SIGNEDNESS = " {signedness:SIGN}"
_ORDERING = "{memory_ordering_semantics:ORDERING}[[ {memory_scope:SCOPE}]] "
_TOKEN = "[[ token=$token]]"
_HINTS = "[[ optimization_hints=<{optimization_hints:HINTS}>]]"
_INBOUNDS = "[[ inbounds={inbounds:BOOLS}]]"
_BINARY = "$lhs, $rhs"
_SAME = " : ^lhs=rhs=result"
_UNARY = " : ^source=result"
_CAST = " : ^source -> ^result"
_COMPARE = " : ^lhs=rhs -> ^result"


def _static_extents(match: re.Match[str], shape: Shape) -> Shape | None:
    """The literal extents of a make_tensor_view have to be those of its type."""
    view = tensor_view_type(shape.result_types[0])
    printed = re.fullmatch(r"%, shape=\[([^\]]*)\], strides=\[([^\]]*)\] : .*", match.string)
    if view is None or printed is None:
        return None
    for text, extents in ((printed[1], view.shape), (printed[2], view.strides)):
        if text != ", ".join("%" if extent is None else str(extent) for extent in extents):
            return None
    return shape


def _constant_element(_match: re.Match[str], shape: Shape) -> Shape | None:
    """The element type in front of a constant's value has to be that of its result."""
    tile = tile_type(shape.result_types[0])
    element = shape.attributes.pop("element")
    return shape if tile is not None and tile[1] == element else None


def _mask_or_padding(_match: re.Match[str], shape: Shape) -> Shape | None:
    """Tells the mask of a load from its padding by the element type, which is all there is.

    The text of a load with one of the two does not say which; a mask has elements of i1. A load
    of i1 elements with one of the two cannot be told (cuda-tile writes a padding without a mask
    for a `gather` that does not check bounds), so it has no format and is reported as such.
    """
    extra = [role for role in shape.roles if role in ("mask", "padding")]
    if not extra:
        return shape
    at = shape.roles.index("mask")
    of_i1 = _element(shape.operand_types[at]) == "i1"
    if len(extra) == 2:
        return shape if of_i1 else None
    if of_i1:
        return None if _element(shape.result_types[0]) == "i1" else shape
    return replace(shape, roles=(*shape.roles[:at], "padding", *shape.roles[at + 1 :]))


def _element(type_text: str | None) -> str:
    tile = tile_type(type_text or "")
    return tile[1] if tile is not None else ""


def _plain(*names: str, text: str) -> dict[str, tuple[Format, ...]]:
    return dict.fromkeys(names, (Format(text),))


#: Formats by op name; where there are several, the first that fits is the one.
FORMATS: Mapping[str, tuple[Format, ...]] = {
    # arithmetic on one operand
    **_plain(
        "absf",
        "absi",
        "ceil",
        "cos",
        "cosh",
        "floor",
        "log",
        "log2",
        "negf",
        "sin",
        "sinh",
        "tan",
        text="$source" + _UNARY,
    ),
    **_plain("exp", "tanh", text="$source" + _ROUNDING_MODE + _UNARY),
    **_plain("exp2", "rsqrt", text="$source" + _FTZ + _UNARY),
    **_plain("sqrt", text="$source" + _ROUNDING_MODE + _FTZ + _UNARY),
    **_plain("negi", text="$source" + _OVERFLOW + _UNARY),
    # arithmetic on two and three operands
    **_plain("andi", "ori", "xori", "mulhii", "atan2", "remf", text=_BINARY + _SAME),
    **_plain("addi", "subi", "muli", "shli", text=_BINARY + _OVERFLOW + _SAME),
    **_plain("maxi", "mini", "remi", "shri", text=_BINARY + _SIGNEDNESS + _SAME),
    **_plain("divi", text=_BINARY + _SIGNEDNESS + "[[ rounding<{rounding:ROUNDING}>]]" + _SAME),
    **_plain("addf", "subf", "mulf", "divf", text=_BINARY + _ROUNDING_MODE + _FTZ + _SAME),
    **_plain("maxf", "minf", text=_BINARY + _FTZ + "[[ {propagate_nan}]]" + _SAME),
    **_plain("fpowf", text="$source, $exponent : ^source=exponent=result"),
    **_plain("fpowi", text="$source, $exponent : ^source=result, ^exponent"),
    **_plain(
        "fma",
        text="$lhs, $rhs, $acc" + _ROUNDING_MODE + _FTZ + " : ^lhs=rhs=acc=result",
    ),
    **_plain("mmaf", text="$lhs, $rhs, $acc[[ {fast_acc}]] : ^lhs, ^rhs, ^acc=result"),
    **_plain(
        "mmaf_scaled",
        text="$lhs, $rhs, $acc, $lhs_scale, $rhs_scale"
        " : ^lhs, ^rhs, ^acc=result, ^lhs_scale, ^rhs_scale",
    ),
    **_plain(
        "mmai",
        text="$lhs, $rhs, $acc {signedness_lhs:SIGN} {signedness_rhs:SIGN}"
        " : ^lhs, ^rhs, ^acc=result",
    ),
    # comparison and choice
    **_plain(
        "cmpi", text="{comparison_predicate:COMPARISON} $lhs, $rhs, {signedness:SIGN}" + _COMPARE
    ),
    **_plain(
        "cmpf",
        text="{comparison_predicate:COMPARISON} {comparison_ordering:ORDERED} $lhs, $rhs"
        + _COMPARE,
    ),
    **_plain(
        "select", text="$condition, $if_true, $if_false : ^condition, ^if_true=if_false=result"
    ),
    # conversion and shape
    **_plain(
        "bitcast",
        "reshape",
        "broadcast",
        "ptr_to_int",
        "int_to_ptr",
        "ptr_to_ptr",
        "pack",
        "unpack",
        text="$source" + _CAST,
    ),
    **_plain("exti", text="$source" + _SIGNEDNESS + _CAST),
    **_plain("trunci", text="$source" + _OVERFLOW + _CAST),
    **_plain("ftof", text="$source" + _ROUNDING_MODE + _CAST),
    **_plain("itof", text="$source" + _SIGNEDNESS + _ROUNDING_MODE + _CAST),
    **_plain("ftoi", text="$source" + _SIGNEDNESS + _ROUNDING_MODE + "[[ {saturating}]]" + _CAST),
    **_plain("permute", text="$source [{permutation:INTS}]" + _CAST),
    **_plain("cat", text="$lhs, $rhs dim={dim:INT} : ^lhs, ^rhs -> ^result"),
    **_plain("extract", text="$source[$index*]" + _CAST),
    **_plain("insert", text="$source, $destination[$index*] : ^source, ^destination=result"),
    **_plain("iota", "make_token", text=": ^result"),
    "constant": (Format("<{element:ELEMENT}: {value:VALUE}> : ^result", check=_constant_element),),
    **_plain("assume", text="{predicate:PREDICATE}, $value : ^value=result"),
    # the grid and views
    **_plain("get_tile_block_id", "get_num_tile_blocks", text=": ^~result"),
    **_plain("get_tensor_shape", "get_index_space_shape", text="$source : ^source -> ^~result"),
    "make_tensor_view": (
        Format(
            "$base, shape=[#shape], strides=[#stride] : [[^~dynamic -> ]]^result",
            check=_static_extents,
        ),
    ),
    **_plain(
        "make_partition_view",
        "make_strided_view",
        "make_gather_scatter_view",
        text="$base : ^result",
    ),
    # memory
    **_plain("offset", text="$pointer, $offset : ^pointer, ^offset -> ^result"),
    **_plain("get_global", text="@{name:SYMBOL} : ^result"),
    **_plain(
        "alloca", text="num_elem={num_elem:INT}, alignment={alignment:INT}[[ {global}]] : ^result"
    ),
    "load_ptr_tko": (
        Format(
            _ORDERING
            + "$pointer[[, $mask]][[, $padding]]"
            + _TOKEN
            + _HINTS
            + " : ^pointer[[, ^mask]][[, ^padding]] -> ^*result",
            check=_mask_or_padding,
        ),
    ),
    **_plain(
        "store_ptr_tko",
        text=_ORDERING
        + "$pointer, $value[[, $mask]]"
        + _TOKEN
        + _HINTS
        + " : ^pointer, ^value[[, ^mask]] -> ^*result",
    ),
    **_plain(
        "load_view_tko",
        text=_ORDERING
        + "$view[$index*]"
        + _TOKEN
        + _HINTS
        + _INBOUNDS
        + " : ^view[[, ^~index]] -> ^*result",
    ),
    **_plain(
        "store_view_tko",
        text=_ORDERING
        + "$value, $view[$index*]"
        + _TOKEN
        + _HINTS
        + _INBOUNDS
        + " : ^value, ^view[[, ^~index]] -> ^*result",
    ),
    **_plain(
        "atomic_rmw_tko",
        text=_ORDERING
        + "$pointer, {mode:MODE}, $value[[, $mask]]"
        + _TOKEN
        + " : ^pointer, ^value[[, ^mask]] -> ^*result",
    ),
    **_plain(
        "atomic_cas_tko",
        text=_ORDERING
        + "$pointer, $compare, $value[[, $mask]]"
        + _TOKEN
        + " : ^pointer, ^compare=value[[, ^mask]] -> ^*result",
    ),
    **_plain(
        "atomic_red_view_tko",
        text=_ORDERING
        + "$view[$index*], {mode:MODE}, $value"
        + _TOKEN
        + _INBOUNDS
        + " : ^value, ^view[[, ^~index]] -> ^*result",
    ),
    # tokens and side effects
    **_plain("join_tokens", text="$token* : ^result"),
    "memory_fence_alias_tko": (Format("$token", results=("token",)),),
    **_plain("gdc_wait_tko", "gdc_launch_dependents_tko", text="[[token=$token ]]-> ^result"),
    **_plain("assert", text="$condition, {message:STRING} : ^condition"),
    **_plain(
        "print_tko",
        text="{str:STRING}[[, $argument*]]" + _TOKEN + "[[ : ^*argument]] -> ^*result",
    ),
    # control flow
    **_plain("yield", "continue", "break", "return", text="[[$value* : ^*value]]"),
    **_plain("if", text="$condition[[ -> (^*result)]]"),
    **_plain(
        "for",
        text="[[{unsignedCmp!unsigned} ]]!induction in ($lower to $upper, step $step)"
        " : ^lower=upper=step=induction[[ iter_values(@iter) -> (^*init=result)]]",
    ),
    "loop": (
        Format("[[: ^*result]]"),
        Format("iter_values(@iter) : ^*init[[ -> ^*result]]"),
    ),
    **_plain(
        "reduce",
        text="$source* dim={dim:INT} identities=[{identities:LIST}] : ^*source -> ^*result",
    ),
    **_plain(
        "scan",
        text="$source* dim={dim:INT} reverse={reverse:BOOL} identities=[{identities:LIST}]"
        " : ^*source -> ^*result",
    ),
}

#: What a region's last op may be; where the text leaves it out, the op of the region says which.
TERMINATORS = frozenset({"yield", "continue", "break", "return"})
IMPLIED_TERMINATOR: Mapping[str, str] = {"for": "continue", "loop": "continue", "if": "yield"}

#: How many regions each op with regions may have.
REGIONS: Mapping[str, tuple[int, ...]] = {
    "for": (1,),
    "loop": (1,),
    "if": (1, 2),
    "reduce": (1,),
    "scan": (1,),
}

#: Ops whose region arguments are printed on a line of their own.
OWN_LINE = frozenset({"reduce", "scan"})

#: The op at module level that is not an entry. Its type is the attribute `type`.
GLOBAL = Format(
    "[[{symbol_visibility:VISIBILITY} ]][[{constant} ]]@{sym_name:SYMBOL} alignment={alignment:INT}"
    " <{element:ELEMENT}: {value:VALUE}> : {type:TYPE}"
)
