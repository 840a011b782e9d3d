"""Kernels for the tests of the compile server, written for them."""

from __future__ import annotations

from typing import Any

from tileport.verify.compile.model import CompileRequest, TensorSpecialization

#: Reads a tile, doubles it, writes it; `SCALE` is a knob for edits.
TWICE = """\
//! A kernel for the tests.
#[cutile::module]
pub mod doubled {
    use cutile::core::*;

    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,),))]
    pub fn twice<E: ElementType, const N: i32>(x: &Tensor<E, { [-1] }>, y: &Tensor<E, { [-1] }>) {
        let block: i32 = get_tile_block_id().0;
        let parts: Partition<E, { [N] }> = x.partition(shape![N]);
        let tile: Tile<E, { [N] }> = parts.load([block]);
        let mut out: PartitionMut<E, { [N] }> = unsafe { y.partition_full_mut(shape![N]) };
        out.store(tile + tile, [block]);
    }
}
"""

#: Takes many seconds to compile: the time grows with the square of the chain's length.
RUNAWAY = TWICE.replace("tile + tile", "tile" + " + tile" * 20_000)


def vector(name: str) -> TensorSpecialization:
    """A contiguous, aligned vector."""
    return TensorSpecialization(
        name=name,
        strides=(1,),
        shape_div=(16,),
        stride_div=(1,),
        base_div=16,
        stride_one=(True,),
        disjoint=True,
    )


def request(text: str = TWICE, **changes: Any) -> CompileRequest:
    """A request for `twice` of `text` in f32 with tiles of 128."""
    fields: dict[str, Any] = {
        "path": "ports/twice.rs",
        "text": text,
        "entry": "twice",
        "generics": ("f32", "128"),
        "tensors": (vector("x"), vector("y")),
        "target": "sm_90",
    }
    return CompileRequest(**{**fields, **changes})


def place_of(text: str, part: str) -> tuple[int, int]:
    """Line and column, from 1, of the first `part` in `text`."""
    before = text[: text.index(part)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
