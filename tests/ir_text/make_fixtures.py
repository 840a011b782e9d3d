"""Writes the fixtures: `python -m tests.ir_text.make_fixtures`.

`every_op.txt` and `attend_py.txt` are made here. `attend_rs.txt` is `kernels/attend.rs` compiled
by cutile 0.5.0 for sm_90 with E = f16, D = M = 64, N = 32 and disassembled; write it anew with
`tileport ir` when cutile changes.
"""

from __future__ import annotations

import importlib.util
import io
import re
from pathlib import Path

from tests.ir_text import every_op

FIXTURES = Path(__file__).parent / "fixtures"
KERNELS = Path(__file__).parent / "kernels"


def _python_bytecode() -> bytes:
    import cuda.tile as ct
    from cuda.tile import compilation

    spec = importlib.util.spec_from_file_location("attend", KERNELS / "attend.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    array = compilation.ArrayConstraint(
        ct.float16,
        3,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=[],
        may_alias_internally=False,
        stride_constant=[None, None, 1],
        stride_divisible_by=[8, 8, 1],
        shape_divisible_by=[1, 1, 16],
        base_addr_divisible_by=16,
    )
    scalar = compilation.ScalarConstraint(ct.float32)
    signature = compilation.KernelSignature(
        [array] * 4 + [scalar, 64, 64, 32],
        compilation.CallingConvention.cutile_python_v1(),
        symbol="attend_f16",
    )
    output = io.BytesIO()
    compilation.export_kernel(
        module.attend,
        [signature],
        output,
        gpu_code="sm_90",
        output_format="tileir_bytecode",
        bytecode_version="13.4",
    )
    return output.getvalue()


def main() -> None:
    FIXTURES.mkdir(exist_ok=True)
    for name, program in (
        ("every_op.txt", every_op.bytecode()),
        ("attend_py.txt", _python_bytecode()),
    ):
        text = "\n".join(every_op.disassembled(program)) + "\n"
        # No path of the machine the fixtures were made on.
        text = text.replace(str(KERNELS), "kernels")
        text = re.sub(r'"[^"]*/site-packages/', '"site-packages/', text)
        (FIXTURES / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
