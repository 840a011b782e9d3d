"""The reference: Tile IR bytecode of a kernel for one signature and target."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    ConstantConstraint,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    export_kernel,
)
from torch.utils._python_dispatch import _disable_current_modes

from tileport.verify.files import content_hash, write_atomically

_VERSION_1 = CallingConvention.cutile_python_v1()
_VERSION_2 = CallingConvention.cutile_python_v2()


def signature_of(kernel: Any, args: tuple[Any, ...]) -> KernelSignature:
    """The signature that a launch compiles for.

    By version 1 of cuda.tile's calling convention, unless it takes version 2 to say it: a
    constant shape (a dimension of 1), a tuple. So does the launcher of 1.7.0 on a GPU.

    Raises:
        Exception: what the launch itself raises for arguments it does not take.
    """
    signature = KernelSignature.from_kernel_args(kernel, args, _VERSION_2)
    if any(_takes_version_2(constraint) for constraint in signature.parameters):
        return signature
    first = KernelSignature(signature.parameters, _VERSION_1)
    return first.with_mangled_symbol(kernel._pyfunc.__name__)


def _takes_version_2(constraint: Any) -> bool:
    if isinstance(constraint, ListConstraint):
        return _takes_version_2(constraint.element)
    if isinstance(constraint, ArrayConstraint):
        return any(size is not None for size in constraint.shape_constant)
    return not isinstance(constraint, ScalarConstraint | ConstantConstraint)


def export_bytecode(kernel: Any, signature: KernelSignature, target: str, version: str) -> bytes:
    """Bytecode of one kernel entry.

    Args:
        version: Of the bytecode; left out, cuda.tile would take what the `tileiras` it finds
            can read, which is not always the one tileport uses.

    Raises:
        cuda.tile.TileError: the kernel is not valid for this signature and target.
    """
    buffer = io.BytesIO()
    # A kernel may run host code while it compiles (`ct.static_eval`); that is not device work.
    with _disable_current_modes():
        export_kernel(
            kernel,
            [signature],
            buffer,
            gpu_code=target,
            output_format="tileir_bytecode",
            bytecode_version=version,
        )
    return buffer.getvalue()


def store_blob(folder: str, data: bytes) -> str:
    """Puts `data` into a folder of blobs; its SHA-256 (hex), which is its name there.

    Raises:
        TileportError: the folder cannot be written.
    """
    name = content_hash(data)
    path = Path(folder, name)
    try:
        if path.read_bytes() == data:
            os.utime(path)  # the store drops first what was unused longest
            return name
    except OSError:
        pass  # not there yet, or not readable: written anew
    write_atomically(path, data, what="the reference bytecode", durable=False)
    return name
