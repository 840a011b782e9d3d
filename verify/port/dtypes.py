"""Element types as Tile IR, Python and Rust name them."""

from __future__ import annotations

from collections.abc import Mapping

#: Short Tile IR names that Rust spells otherwise (`cutile::core`).
_RUST: Mapping[str, str] = {
    "i1": "bool",
    "f8E4M3FN": "f8e4m3fn",
    "f8E5M2": "f8e5m2",
    "f8E8M0FNU": "f8e8m0fnu",
    "f8E5M3FNU": "f8e5m3fnu",
    "f4E2M1FN": "f4e2m1fn",
}
#: Names that cuda.tile gives dtypes, for constants that are dtypes.
_PYTHON: Mapping[str, str] = {
    "bool_": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "tfloat32": "tf32",
    "float64": "f64",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
    "float8_e8m0fnu": "f8e8m0fnu",
    "float4_e2m1fn": "f4e2m1fn",
}
RUST_ELEMENTS = frozenset({*_RUST.values(), *_PYTHON.values(), "i4", "f4e2m1fnx2"})


def rust_name(dtype: str) -> str:
    """The Rust name of a dtype by its short Tile IR name or by cuda.tile's own."""
    return _RUST.get(dtype) or _PYTHON.get(dtype) or dtype
