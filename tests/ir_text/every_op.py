"""Bytecode that holds every op and every attribute form cuda-tile's writer can encode.

Written with the bytecode encoders of the installed cuda-tile, so that the text in the fixtures is
what tileirdisasm prints for them, not what somebody believes it prints.
"""

from __future__ import annotations

import itertools
import random
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cuda.tile._bytecode import attribute as A
from cuda.tile._bytecode import encodings as E
from cuda.tile._bytecode.type import SimpleType as S
from cuda.tile._bytecode.type_base import PaddingValue, PtrAttr
from cuda.tile._bytecode.version import BytecodeVersion
from cuda.tile._bytecode.writer import BytecodeWriter, write_bytecode

from tileport.verify import toolchain

_DYNAMIC = -(2**63)
_BYTES = {S.I1: 1, S.I8: 1, S.I16: 2, S.I64: 8, S.F16: 2, S.BF16: 2, S.F64: 8} | dict.fromkeys(
    (S.F8E4M3FN, S.F8E5M2, S.F8E8M0FNU), 1
)
_NONE = E.IntegerOverflow.NONE
_EVEN = E.RoundingMode.NEAREST_EVEN
_ORDER = E.MemoryOrderingSemantics
_SCOPE = E.MemoryScope


@dataclass
class Kit:
    """One entry under construction: its code builder, types and parameters."""

    code: Any
    types: Any
    parameters: Sequence[Any]

    def tile(self, element: S, *shape: int) -> Any:
        return self.types.tile(self.types.simple(element), shape)

    def pointer(self, element: S, *shape: int) -> Any:
        pointee = self.types.pointer(self.types.simple(element), PtrAttr.Missing)
        return self.types.tile(pointee, shape)

    def constant(self, element: S, *shape: int, value: int = 1) -> Any:
        return E.encode_ConstantOp(
            self.code, self.tile(element, *shape), value.to_bytes(_BYTES.get(element, 4), "little")
        )

    def floats(self, *shape: int) -> Any:
        return self.constant(S.F32, *(shape or (8,)), value=0x3F800000)

    def ints(self, *shape: int) -> Any:
        return self.constant(S.I32, *(shape or (8,)), value=3)

    def bools(self) -> Any:
        return self.constant(S.I1, 8)

    def token(self) -> Any:
        return E.encode_MakeTokenOp(self.code, self.types.Token)

    def pointers(self, element: S = S.F32) -> Any:
        base = self.parameters[0]
        if element is not S.F32:
            base = E.encode_PtrToPtrOp(self.code, self.pointer(element), base)
        row = E.encode_ReshapeOp(self.code, self.pointer(element, 1), base)
        return E.encode_BroadcastOp(self.code, self.pointer(element, 8), row)

    def view_type(
        self, element: S = S.F32, shape: Any = (None, None), strides: Any = (None, 1)
    ) -> Any:
        return self.types.tensor_view(
            self.types.simple(element),
            tuple(_DYNAMIC if extent is None else extent for extent in shape),
            tuple(_DYNAMIC if extent is None else extent for extent in strides),
            PtrAttr.Missing,
        )

    def view(self, element: S = S.F32) -> Any:
        base, rows, columns, stride = self.parameters
        if element is not S.F32:
            base = E.encode_PtrToPtrOp(self.code, self.pointer(element), base)
        return E.encode_MakeTensorViewOp(
            self.code, self.view_type(element), base, [rows, columns], [stride]
        )

    def partition(
        self,
        element: S = S.F32,
        padding: PaddingValue = PaddingValue.Missing,
        dim_map: tuple[int, int] = (0, 1),
    ) -> Any:
        kind = self.types.partition_view((8, 8), self.view_type(element), dim_map, padding)
        return E.encode_MakePartitionViewOp(self.code, kind, self.view(element))

    def gather(self) -> Any:
        kind = self.types.gather_scatter_view((8, 8), self.view_type(), 0, PaddingValue.Zero)
        return E.encode_MakeGatherScatterViewOp(self.code, kind, self.view())

    def strided(self, dim_map: tuple[int, int]) -> Any:
        kind = self.types.strided_view(
            (8, 8), (4, 4), self.view_type(), dim_map, PaddingValue.Missing
        )
        return E.encode_MakeStridedViewOp(self.code, kind, self.view())


Body = Callable[[Kit], object]


def _unary(kit: Kit) -> None:
    floats = kit.tile(S.F32, 8)
    for name in [
        "AbsF",
        "Ceil",
        "Cos",
        "CosH",
        "Floor",
        "Log",
        "Log2",
        "NegF",
        "Sin",
        "SinH",
        "Tan",
    ]:
        getattr(E, f"encode_{name}Op")(kit.code, floats, kit.floats())
    E.encode_AbsIOp(kit.code, kit.tile(S.I32, 8), kit.ints())
    for rounding in (E.RoundingMode.APPROX, E.RoundingMode.FULL):
        E.encode_ExpOp(kit.code, floats, kit.floats(), rounding)
        E.encode_TanHOp(kit.code, floats, kit.floats(), rounding)
    for flush in (False, True):
        E.encode_Exp2Op(kit.code, floats, kit.floats(), flush)
        E.encode_RsqrtOp(kit.code, floats, kit.floats(), flush)
        E.encode_SqrtOp(kit.code, floats, kit.floats(), _EVEN, flush)
        E.encode_SqrtOp(kit.code, floats, kit.floats(), E.RoundingMode.APPROX, flush)
    for overflow in (_NONE, E.IntegerOverflow.NSW, E.IntegerOverflow.NW):
        E.encode_NegIOp(kit.code, kit.tile(S.I32, 8), kit.ints(), overflow)


def _binary(kit: Kit) -> None:
    floats, ints = kit.tile(S.F32, 8), kit.tile(S.I32, 8)
    for name in ["AndI", "OrI", "XOrI", "MulhiI"]:
        getattr(E, f"encode_{name}Op")(kit.code, ints, kit.ints(), kit.ints())
    for name in ["Atan2", "RemF", "FPowF"]:
        getattr(E, f"encode_{name}Op")(kit.code, floats, kit.floats(), kit.floats())
    E.encode_FPowIOp(kit.code, floats, kit.floats(), kit.ints())
    for name, overflow in itertools.product(["AddI", "SubI", "MulI", "ShLI"], E.IntegerOverflow):
        getattr(E, f"encode_{name}Op")(kit.code, ints, kit.ints(), kit.ints(), overflow)
    for name, sign in itertools.product(["MaxI", "MinI", "RemI", "ShRI"], E.Signedness):
        getattr(E, f"encode_{name}Op")(kit.code, ints, kit.ints(), kit.ints(), sign)
    for sign, rounding in (
        (E.Signedness.Signed, E.RoundingMode.ZERO),
        (E.Signedness.Signed, E.RoundingMode.NEGATIVE_INF),
        (E.Signedness.Unsigned, E.RoundingMode.POSITIVE_INF),
    ):
        E.encode_DivIOp(kit.code, ints, kit.ints(), kit.ints(), sign, rounding)
    rounds = (_EVEN, E.RoundingMode.ZERO, E.RoundingMode.NEGATIVE_INF, E.RoundingMode.POSITIVE_INF)
    for rounding, flush in itertools.product(rounds, (False, True)):
        for name in ["AddF", "SubF", "MulF", "DivF"]:
            operands = (kit.floats(), kit.floats())
            getattr(E, f"encode_{name}Op")(kit.code, floats, *operands, rounding, flush)
        operands = (kit.floats(), kit.floats(), kit.floats())
        E.encode_FmaOp(kit.code, floats, *operands, rounding, flush)
    for rounding in (E.RoundingMode.APPROX, E.RoundingMode.FULL):
        E.encode_DivFOp(kit.code, floats, kit.floats(), kit.floats(), rounding, True)
    for nan, flush in itertools.product((False, True), repeat=2):
        E.encode_MaxFOp(kit.code, floats, kit.floats(), kit.floats(), nan, flush)
        E.encode_MinFOp(kit.code, floats, kit.floats(), kit.floats(), nan, flush)


def _matrix(kit: Kit) -> None:
    accumulator = kit.tile(S.F32, 16, 16)
    halves = (kit.constant(S.F16, 16, 32), kit.constant(S.F16, 32, 16))
    E.encode_MmaFOp(kit.code, accumulator, *halves, kit.floats(16, 16), False)
    eights = (kit.constant(S.F8E4M3FN, 16, 32), kit.constant(S.F8E4M3FN, 32, 16))
    E.encode_MmaFOp(kit.code, accumulator, *eights, kit.floats(16, 16), True)
    scales = (kit.constant(S.F8E8M0FNU, 16, 1), kit.constant(S.F8E8M0FNU, 1, 16))
    E.encode_MmaFScaledOp(kit.code, accumulator, *eights, kit.floats(16, 16), *scales)
    for signs in itertools.product(E.Signedness, repeat=2):
        bytes_ = (kit.constant(S.I8, 16, 32), kit.constant(S.I8, 32, 16))
        E.encode_MmaIOp(kit.code, kit.tile(S.I32, 16, 16), *bytes_, kit.ints(16, 16), *signs)


def _compare(kit: Kit) -> None:
    bools = kit.tile(S.I1, 8)
    for predicate, sign in itertools.product(E.ComparisonPredicate, E.Signedness):
        E.encode_CmpIOp(kit.code, bools, kit.ints(), kit.ints(), predicate, sign)
    for predicate, order in itertools.product(E.ComparisonPredicate, E.ComparisonOrdering):
        E.encode_CmpFOp(kit.code, bools, kit.floats(), kit.floats(), predicate, order)
    E.encode_SelectOp(kit.code, kit.tile(S.I32, 8), kit.bools(), kit.ints(), kit.ints())


def _convert(kit: Kit) -> None:
    ints, floats = kit.tile(S.I32, 8), kit.tile(S.F32, 8)
    to_zero = E.RoundingMode.NEAREST_INT_TO_ZERO
    for sign in E.Signedness:
        E.encode_ExtIOp(kit.code, kit.tile(S.I64, 8), kit.ints(), sign)
        E.encode_IToFOp(kit.code, floats, kit.ints(), sign, _EVEN)
        for saturating in (False, True):
            E.encode_FToIOp(kit.code, ints, kit.floats(), sign, to_zero, saturating)
    for overflow in E.IntegerOverflow:
        E.encode_TruncIOp(kit.code, kit.tile(S.I8, 8), kit.ints(), overflow)
    for rounding in (_EVEN, E.RoundingMode.ZERO):
        E.encode_FToFOp(kit.code, kit.tile(S.F16, 8), kit.floats(), rounding)
    E.encode_BitcastOp(kit.code, floats, kit.ints())
    E.encode_BroadcastOp(kit.code, kit.tile(S.I32, 8, 8), kit.ints(1, 8))
    E.encode_ReshapeOp(kit.code, kit.tile(S.I32, 4, 2), kit.ints())
    E.encode_PermuteOp(kit.code, kit.tile(S.I32, 2, 4), kit.ints(4, 2), (1, 0))
    E.encode_CatOp(kit.code, kit.tile(S.I32, 16), kit.ints(), kit.ints(), 0)
    E.encode_ExtractOp(kit.code, kit.tile(S.I32, 4), kit.ints(), [kit.constant(S.I32)])
    E.encode_InsertOp(kit.code, ints, kit.ints(4), kit.ints(), [kit.constant(S.I32)])
    E.encode_PackOp(kit.code, kit.tile(S.I8, 32), kit.ints())
    E.encode_UnpackOp(kit.code, kit.tile(S.I32, 2), kit.constant(S.I8, 8))
    E.encode_IotaOp(kit.code, ints)
    address = E.encode_PtrToIntOp(kit.code, kit.tile(S.I64), kit.parameters[0])
    E.encode_IntToPtrOp(kit.code, kit.pointer(S.F32), address)
    E.encode_OffsetOp(kit.code, kit.pointer(S.F32, 8), kit.pointers(), kit.ints())


def _constants(kit: Kit) -> None:
    for element, value in (
        (S.I1, 0), (S.I1, 1), (S.I8, 255), (S.I16, 7), (S.I64, 2**63), (S.F16, 0x7C00),
        (S.BF16, 0x3F80), (S.F32, 0xFF800000), (S.F32, 0x7FC00000), (S.F32, 0x3DCCCCCD),
        (S.F64, 0x3FF0000000000000), (S.F8E5M2, 0x3C),
    ):  # fmt: skip
        kit.constant(element, value=value)
    four = struct.pack("<4i", 1, 2, -3, 4)
    E.encode_ConstantOp(kit.code, kit.tile(S.I32, 2, 2), four)
    floats = struct.pack("<4f", 1, 0.5, -3, float("nan"))
    E.encode_ConstantOp(kit.code, kit.tile(S.F32, 4), floats)
    E.encode_ConstantOp(kit.code, kit.tile(S.I1, 8), b"\xa5")
    many = random.Random(1).randbytes(512)
    E.encode_ConstantOp(kit.code, kit.tile(S.I32, 128), many)
    for predicate in (
        A.DivBy(16), A.DivBy(16, 4, 0), A.Bounded(0, None), A.Bounded(None, 5), A.Bounded(-3, 5),
    ):  # fmt: skip
        E.encode_AssumeOp(kit.code, kit.tile(S.I32, 8), kit.ints(), predicate)


def _grid(kit: Kit) -> None:
    scalar = kit.tile(S.I32)
    E.encode_GetTileBlockIdOp(kit.code, scalar, scalar, scalar)
    E.encode_GetNumTileBlocksOp(kit.code, scalar, scalar, scalar)
    E.encode_GetTensorShapeOp(kit.code, [scalar, scalar], kit.view())
    E.encode_GetIndexSpaceShapeOp(kit.code, [scalar, scalar], kit.partition())
    for global_ in (False, True):
        E.encode_AllocaOp(kit.code, kit.pointer(S.F32), 16, 16, global_)
    E.encode_GetGlobalOp(kit.code, kit.pointer(S.F32), "table")


def _views(kit: Kit) -> None:
    base, rows, _, stride = kit.parameters
    for shape, strides, dynamic, step in (
        ((4, 8), (8, 1), [], []),
        ((4, 8), (None, 1), [], [stride]),
        ((None, 8), (8, 1), [rows], []),
        ((), (), [], []),
    ):
        kind = kit.view_type(shape=shape, strides=strides)
        E.encode_MakeTensorViewOp(kit.code, kind, base, dynamic, step)
    for padding in PaddingValue:
        kit.partition(padding=padding)
    kit.partition(padding=PaddingValue.Zero, dim_map=(1, 0))
    kit.gather()
    kit.strided((0, 1))
    kit.strided((1, 0))


def _hints() -> Any:
    return A.make_load_store_hints(
        {"sm_90": A.LoadStoreHints(latency=2, allow_tma=False), "default": A.LoadStoreHints()}
    )


def _pointer_memory(kit: Kit) -> None:
    floats, token = kit.tile(S.F32, 8), kit.types.Token
    orders = ((_ORDER.WEAK, None), (_ORDER.RELAXED, _SCOPE.TL_BLK))
    for (order, scope), extra, threaded, hinted in itertools.product(
        ((_ORDER.ACQUIRE, _SCOPE.SYS), *orders), (0, 1, 2, 3), (False, True), (False, True)
    ):
        mask = kit.bools() if extra in (1, 2) else None
        padding = kit.floats() if extra in (2, 3) else None
        E.encode_LoadPtrTkoOp(
            kit.code, floats, token, kit.pointers(), mask, padding,
            kit.token() if threaded else None, order, scope, _hints() if hinted else None,
        )  # fmt: skip
    for (order, scope), masked, threaded, hinted in itertools.product(
        ((_ORDER.RELEASE, _SCOPE.DEVICE), *orders), (False, True), (False, True), (False, True)
    ):
        E.encode_StorePtrTkoOp(
            kit.code, token, kit.pointers(), kit.floats(), kit.bools() if masked else None,
            kit.token() if threaded else None, order, scope, _hints() if hinted else None,
        )  # fmt: skip


def _atomics(kit: Kit) -> None:
    token = kit.types.Token
    for mode, masked, threaded in itertools.product(E.AtomicRMWMode, (False, True), (False, True)):
        element = S.F32 if mode is E.AtomicRMWMode.ADDF else S.I32
        E.encode_AtomicRMWTkoOp(
            kit.code, kit.tile(element, 8), token, kit.pointers(element), kit.constant(element, 8),
            kit.bools() if masked else None, kit.token() if threaded else None,
            _ORDER.RELAXED, _SCOPE.DEVICE, mode,
        )  # fmt: skip
    for masked, threaded in itertools.product((False, True), (False, True)):
        E.encode_AtomicCASTkoOp(
            kit.code, kit.tile(S.I32, 8), token, kit.pointers(S.I32), kit.ints(), kit.ints(),
            kit.bools() if masked else None, kit.token() if threaded else None,
            _ORDER.ACQ_REL, _SCOPE.SYS,
        )  # fmt: skip
    for mode, threaded in itertools.product(E.AtomicRMWMode, (False, True)):
        if mode is E.AtomicRMWMode.XCHG:
            continue
        element = S.F32 if mode is E.AtomicRMWMode.ADDF else S.I32
        E.encode_AtomicRedViewTkoOp(
            kit.code, token, kit.partition(element), kit.parameters[1:3],
            kit.constant(element, 8, 8), kit.token() if threaded else None,
            _ORDER.RELAXED, _SCOPE.DEVICE, mode, (threaded, False),
        )  # fmt: skip


def _view_memory(kit: Kit) -> None:
    token, index = kit.types.Token, kit.parameters[1:3]
    orders = ((_ORDER.WEAK, None), (_ORDER.RELAXED, _SCOPE.DEVICE))
    for (order, scope), threaded, hinted, inside in itertools.product(
        orders, (False, True), (False, True), (False, True)
    ):
        rest = (kit.token() if threaded else None, order, scope, _hints() if hinted else None)
        tile = kit.tile(S.F32, 8, 8)
        view = kit.partition()
        E.encode_LoadViewTkoOp(kit.code, tile, token, view, index, *rest, (inside, False))
        E.encode_StoreViewTkoOp(
            kit.code, token, kit.floats(8, 8), view, index, *rest, (inside, False)
        )
    E.encode_LoadViewTkoOp(
        kit.code, kit.tile(S.F32, 8, 8), token, kit.gather(), [kit.ints(), index[1]], None,
        _ORDER.WEAK, None, None, (False, False),
    )  # fmt: skip


def _effects(kit: Kit) -> None:
    token = kit.types.Token
    E.encode_AssertOp(kit.code, kit.bools(), 'a "quoted" \n %x : loc(#loc1) \u00e9 \\ {text')
    for threaded in (False, True):
        E.encode_PrintTkoOp(
            kit.code, token, [kit.parameters[1]], kit.token() if threaded else None, "v %d\n"
        )
        E.encode_GdcWaitTkoOp(kit.code, token, kit.token() if threaded else None)
        E.encode_GdcLaunchDependentsTkoOp(kit.code, token, kit.token() if threaded else None)
    E.encode_PrintTkoOp(kit.code, token, kit.parameters[1:3], None, "%d, %d\n")
    E.encode_MemoryFenceAliasTkoOp(kit.code, token, kit.token())
    E.encode_JoinTokensOp(kit.code, token, [kit.token(), kit.token()])


def _folds(kit: Kit) -> None:
    for count, reverse in ((1, False), (2, True)):
        floats = [kit.floats(8, 4) for _ in range(count)]
        zeros = [A.Float(0.0, S.F32, kit.types)] * count
        scan = E.encode_ScanOp(kit.code, [kit.tile(S.F32, 8, 4)] * count, floats, 0, reverse, zeros)
        _adding(kit, scan, count)
        reduce = E.encode_ReduceOp(kit.code, [kit.tile(S.F32, 4)] * count, floats, 0, zeros)
        _adding(kit, reduce, count)
    identities = [A.Integer(kit.types.I32, 32, -5), A.Bool(True)]
    mixed = E.encode_ReduceOp(
        kit.code, [kit.tile(S.I32), kit.tile(S.I1)], [kit.ints(), kit.bools()], 0, identities
    )
    with mixed.new_block([kit.tile(S.I32)] * 2 + [kit.tile(S.I1)] * 2) as arguments:
        E.encode_YieldOp(kit.code, [arguments[0], arguments[2]])
    mixed.done()


def _adding(kit: Kit, nested: Any, count: int) -> None:
    with nested.new_block([kit.tile(S.F32)] * (2 * count)) as arguments:
        sums = [
            E.encode_AddFOp(
                kit.code, kit.tile(S.F32), arguments[2 * at], arguments[2 * at + 1], _EVEN, False
            )
            for at in range(count)
        ]
        E.encode_YieldOp(kit.code, sums)
    nested.done()


def _control(kit: Kit) -> None:
    scalar = kit.tile(S.I32)
    one, two, three = kit.parameters[1:4]
    for unsigned, count in itertools.product((False, True), (0, 1, 2)):
        loop = E.encode_ForOp(kit.code, [scalar] * count, one, two, three, [one] * count, unsigned)
        with loop.new_block([scalar] * (count + 1)) as arguments:
            E.encode_ContinueOp(kit.code, [arguments[0]] * count)
        loop.done()
    for inits, results in ((0, 0), (1, 1), (2, 1), (1, 0), (0, 1), (0, 2)):
        loop = E.encode_LoopOp(kit.code, [scalar] * results, [one] * inits)
        with loop.new_block([scalar] * inits):
            leave = E.encode_IfOp(kit.code, [], kit.constant(S.I1))
            with leave.new_block([]):
                E.encode_BreakOp(kit.code, [two] * results)
            with leave.new_block([]):
                E.encode_YieldOp(kit.code, [])
            leave.done()
            E.encode_ContinueOp(kit.code, [three] * inits)
        loop.done()
    for results in (0, 1, 2):
        choice = E.encode_IfOp(kit.code, [scalar] * results, kit.constant(S.I1))
        with choice.new_block([]):
            E.encode_YieldOp(kit.code, [one] * results)
        with choice.new_block([]):
            E.encode_YieldOp(kit.code, [two] * results)
        values = choice.done()
        if results:
            E.encode_AddIOp(kit.code, scalar, values[0], values[-1], _NONE)
    early = E.encode_IfOp(kit.code, [], kit.constant(S.I1))
    with early.new_block([]):
        E.encode_ReturnOp(kit.code, [])
    with early.new_block([]):
        E.encode_AssertOp(kit.code, kit.constant(S.I1), "x")
        E.encode_YieldOp(kit.code, [])
    early.done()


BODIES: dict[str, Body] = {
    "unary": _unary,
    "binary": _binary,
    "matrix": _matrix,
    "compare": _compare,
    "convert": _convert,
    "constants": _constants,
    "grid": _grid,
    "views": _views,
    "pointer_memory": _pointer_memory,
    "atomics": _atomics,
    "view_memory": _view_memory,
    "effects": _effects,
    "folds": _folds,
    "control-flow": _control,
}


def bytecode() -> bytes:
    """A module with one entry for each of `BODIES`, two globals, hints and inlined places."""
    buffer = bytearray()
    with write_bytecode(len(BODIES), buffer, BytecodeVersion.V_13_5) as writer:
        _write_globals(writer)
        for name, body in BODIES.items():
            _write_entry(writer, name, body)
    return bytes(buffer)


def _write_globals(writer: BytecodeWriter) -> None:
    types, section = writer.type_table, writer.global_section
    table = struct.pack("<4f", 1, 2, 3, 4)
    section.define_global("table", types.tile(types.F32, (4,)), table, 16)
    one = struct.pack("<i", 1)
    kind = types.tile(types.I32, (1,))
    private = E.SymbolVisibility.Private
    section.define_global("one two", kind, one, 4, True, private)


def _write_entry(writer: BytecodeWriter, name: str, body: Body) -> None:
    types, debug = writer.type_table, writer.debug_attr_table
    file = debug.file('a "b".py', "/src")
    unit = debug.compile_unit(file)
    function = debug.subprogram(file, 1, "kernel", name, unit, 2)
    outer = debug.loc(function, '/src/a "b".py', 3, 4)
    block = debug.lexical_block(function, file, 7, 8)
    inner = debug.loc(block, "/src/helper.py", 9, 1)
    inlined = debug.call_site(debug.call_site(inner, outer), debug.loc(function, "/src/c.py", 5, 0))
    hints = {"sm_90": A.EntryHints(2, 3, 4), "default": A.EntryHints(None, 1, None)}
    scalar = types.tile(types.I32, ())
    pointer = types.tile(types.pointer(types.F32, PtrAttr.Missing), ())
    parameters = [pointer, scalar, scalar, scalar]
    with writer.function(name, parameters, (), True, hints, outer) as (code, values):
        with code.debug_attr(inlined):
            body(Kit(code, types, values))
        with code.debug_attr(outer):
            E.encode_ReturnOp(code, ())


def disassembled(program: bytes) -> Iterator[str]:
    """Lines of `tileirdisasm -g`, straight from the tool."""
    tool = toolchain.require("tileirdisasm")
    done = subprocess.run(
        [tool, "-g", "/dev/stdin"], input=program, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return iter(done.stdout.decode().splitlines())
