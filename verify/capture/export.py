"""The reference: Tile IR bytecode of a kernel for one signature and target."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel
from torch.utils._python_dispatch import _disable_current_modes

from tileport.verify.files import content_hash, write_atomically

#: The convention cuda.tile launches by. Version 1 cannot say a constant shape (a dimension of 1).
CONVENTION = CallingConvention.cutile_python_v2()


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
