"""What a binding says of the flattened parameters, held against the IR cutile makes of the port."""

from __future__ import annotations

import re

import pytest

from tests.port.support import array, bound, constant, scalar, variant
from tileport.ffi.native_helper import NativeMissingError, load_native
from tileport.verify.compile.model import CompileRequest
from tileport.verify.compile.server import PortServer
from tileport.verify.ir.disassemble import disassemble
from tileport.verify.ir.model import Entry, walk
from tileport.verify.ir.text import parse_module
from tileport.verify.port import parse_port

try:
    load_native()
    _MISSING = ""
except NativeMissingError as error:
    _MISSING = str(error)

pytestmark = pytest.mark.skipif(bool(_MISSING), reason=_MISSING or "native helper")

_PORT = """\
#[cutile::module]
pub mod m {
    use cutile::core::*;

    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,),))]
    pub unsafe fn scale<E: ElementType, const D: i32>(
        x: &Tensor<E, { [D, -1] }>,
        b: &Tensor<E, { [-1, -1] }>,
        out: &mut Tensor<E, { [8, 8] }>,
        y_ptr: *mut E,
        y_stride0: i32,
        s: f32,
    ) {
        let t: Tile<E, { [8, 8] }> = x.partition(shape![8, 8]).load([0, 0]);
        let u: Tile<E, { [8, 8] }> = b.partition(shape![8, 8]).load([0, 0]);
        let v: f32 = s * 2.0f32;
        let v: Tile<f32, { [8, 8] }> = v.broadcast(shape![8, 8]);
        let v: Tile<E, { [8, 8] }> = convert_tile(v);
        let n: Tile<i32, { [8, 8] }> = y_stride0.broadcast(shape![8, 8]);
        let n: Tile<E, { [8, 8] }> = convert_tile(n);
        let p: PointerTile<*mut E, { [] }> = pointer_to_tile(y_ptr);
        let (w, _): (Tile<E, { [] }>, Token) = unsafe {
            load_ptr_tko(p, ordering::Weak, None::<scope::TileBlock>, None, None, None,
                Latency::<0>)
        };
        let w: Tile<E, { [1, 1] }> = w.reshape(shape![1, 1]);
        out.store(t + u + v + n + w.broadcast(shape![8, 8]));
    }
}
"""


async def _compiled(request: CompileRequest) -> Entry:
    server = PortServer(workers=1)
    try:
        result = await server.compile(request)
    finally:
        await server.close()
    assert result.bytecode is not None, result.diagnostics
    return parse_module(disassemble(result.bytecode)).entry()


async def test_names_types_and_facts_are_those_of_the_compiled_entry() -> None:
    port = parse_port(_PORT, "m.rs")
    binding = bound(
        port,
        variant(
            x=array(shape=(8, None), shape_div=(4, 2)),
            b=array(shape_div=(4, 2), stride=(1, None), stride_div=(1, 8)),
            out=array(),
            y=array(stride_div=(4, 1), base=8),
            s=scalar(),
            D=constant(8),
            annotations={"x": "Static"},
        ),
    )
    assert binding.request is not None
    entry = await _compiled(binding.request)

    # One name for each parameter, pointers and scalars where the names say so.
    assert len(binding.port_parameters) == len(entry.parameters)
    for name, value in zip(binding.port_parameters, entry.parameters, strict=True):
        element = re.fullmatch(r"tile<(.*)>", value.type)
        assert element is not None
        wanted = "ptr<f16>" if name.endswith(".ptr") else "f32" if name == "s" else "i32"
        assert element[1] == wanted, name

    # Each fact is promised of the parameter it is a fact of.
    names = {id(v): n for n, v in zip(binding.port_parameters, entry.parameters, strict=True)}
    promised: dict[str, str] = {}
    for op in walk(entry.body):
        if op.name == "assume" and id(op.operands[0]) in names:
            names[id(op.results[0])] = names[id(op.operands[0])]
            if op.attributes["predicate"].startswith("div_by"):
                promised[names[id(op.operands[0])]] = op.attributes["predicate"]
    assert promised == {
        "x.ptr": "div_by<16>",
        "x.shape[1]": "div_by<2>",
        "x.stride[0]": "div_by<8>",
        "b.ptr": "div_by<16>",
        "b.shape[0]": "div_by<4>",
        "b.shape[1]": "div_by<2>",
        "b.stride[1]": "div_by<8>",
        "out.ptr": "div_by<16>",
        "out.stride[0]": "div_by<8>",
        "y.ptr": "div_by<8>",
        "y.stride[0]": "div_by<4>",
    }
    assert entry.hints == {"sm_90": {"occupancy": "2"}}
