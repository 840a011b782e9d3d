"""One run of what every worker does, in the server, so that its forks find the first time over.

It touches no driver: on a machine with a GPU a fork of a process that did could not use it.
"""

from __future__ import annotations

from typing import Any

import cuda.tile as ct
import torch
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    ScalarConstraint,
)
from torch._subclasses.fake_tensor import FakeTensorMode

from tileport.verify.capture import light_torch
from tileport.verify.capture.export import export_bytecode
from tileport.verify.capture.folded import folded_names
from tileport.verify.compile.model import BYTECODE_VERSION

_SCALE = 0.5


def _kernel(a: Any, b: Any, out: Any, n: int, tile: ct.Constant[int]) -> None:
    i = ct.bid(0)
    acc = ct.zeros((tile, tile), dtype=ct.float32)
    for k in range(ct.cdiv(n, tile)):
        left = ct.load(a, (i, k), (tile, tile), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, 0), (tile, tile))
        acc = ct.mma(left, right, acc)
    acc = ct.exp2(acc - ct.max(acc, axis=1, keepdims=True)) * _SCALE
    acc = ct.where(acc > 0.0, acc / ct.sum(acc, axis=1, keepdims=True), 0.0)
    ct.store(out, (i, 0), acc.astype(out.dtype))
    index = ct.arange(tile, dtype=ct.int32)
    ct.scatter(out, (i, index), ct.gather(out, (i, index)) + 1)


class _Mode(FakeTensorMode):  # type: ignore[no-untyped-call] # torch's own hook
    """Fake tensors of the CPU, which take the same way as those of the GPU but ask no device."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    @property
    def avoid_device_init(self) -> bool:
        return False


def _tensors() -> None:
    with light_torch.making_a_mode():
        mode = _Mode(allow_non_fake_inputs=True)
    with mode:
        x = torch.randn(4, 8, 16, dtype=torch.float16)
        y = torch.empty_like(x)
        w = torch.ones(16, requires_grad=True)
        z = (x.float() * w + 1.0).sum(-1, keepdim=True)
        z = torch.softmax(z.transpose(0, 1).contiguous().view(-1, 4), dim=-1)
        z = torch.cat([z, z]).to(torch.bfloat16)[:, ::2]
        torch.zeros(3, 4), torch.full((2,), 1.0), torch.arange(8), torch.randint(0, 4, (3,))
        y.copy_(x)
        x.reshape(-1, 16) @ torch.randn(16, 8, dtype=torch.float16)
        x.expand(4, 8, 16).unsqueeze(0).clone().zero_()
        z.abs(), z.sigmoid(), -z, z / 2, torch.stack([z, z]).permute(0, 2, 1)


def _array() -> ArrayConstraint:
    return ArrayConstraint(
        ct.float16,
        2,
        index_dtype=ct.int32,
        stride_lower_bound_incl=(0, None),
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=(None, 1),
        shape_divisible_by=(16, 16),
        stride_divisible_by=(16, 1),
        base_addr_divisible_by=16,
    )


def run() -> None:
    """Fake tensors through the usual ops, one kernel to bytecode, its folded names."""
    _tensors()
    parameters = [_array(), _array(), _array(), ScalarConstraint(ct.int32), 16]
    convention = CallingConvention.cutile_python_v1()
    signature = KernelSignature(parameters, convention).with_mangled_symbol("rehearsal")
    kernel = ct.kernel(_kernel)
    export_bytecode(kernel, signature, "sm_90", BYTECODE_VERSION)
    folded_names(kernel._pyfunc)
