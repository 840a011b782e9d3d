"""Tensors of the stand-in GPU: shape, strides, dtype and an address, but no data.

Only tensors on the GPU are fake. Tensors in host memory are real, so host code that computes
sizes from them runs as it is; the moment it asks for data of the GPU, there is none, and it gets
an exception of `NEEDS_DATA`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)

from tileport.verify.capture import light_torch


class NeedsDataError(RuntimeError):
    """Host code asked for data of a tensor that has none."""


NEEDS_DATA: tuple[type[BaseException], ...] = (
    NeedsDataError,
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)


def _flat(values: Iterable[object]) -> Iterable[object]:
    """The values, and those in lists and tuples of them: ops nest no deeper."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from value
        else:
            yield value


def _names_gpu(value: object) -> bool:
    return isinstance(value, torch.device) and value.type == "cuda"


class GpuTensorMode(FakeTensorMode):  # type: ignore[no-untyped-call] # torch's own hook
    """Fake tensors for what touches the GPU, real ones for the rest.

    Args:
        on_need: Called with the exception when host code asks for data that is not there.
    """

    def __init__(self, on_need: Callable[[BaseException], None] = lambda _: None) -> None:
        with light_torch.making_a_mode():
            super().__init__(allow_non_fake_inputs=True)
        self._on_need = on_need
        # FakeTensorMode computes by running other ops under itself; those must stay fake,
        # also when they name the CPU.
        self._depth = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    @property
    def avoid_device_init(self) -> bool:
        """There is no device to initialize, whatever the faked `torch.cuda` says."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        kwargs = kwargs or {}
        if self._depth == 0:
            values = list(_flat((*args, *kwargs.values())))
            fake = any(isinstance(value, FakeTensor) for value in values)
            if not fake and not any(_names_gpu(value) for value in values):
                if kwargs.get("pin_memory"):
                    kwargs = {**kwargs, "pin_memory": False}
                return func(*args, **kwargs)
            if fake:
                self._refuse_write_to_host(func, args, kwargs)
        self._depth += 1
        try:
            return super().__torch_dispatch__(func, types, args, kwargs)
        except NEEDS_DATA as error:
            if self._depth == 1:
                self._on_need(error)
            raise
        finally:
            self._depth -= 1

    def _refuse_write_to_host(self, func: Any, args: Any, kwargs: Any) -> None:
        """A real tensor cannot take up data that is not there; torch would leave it as it was."""
        schema = func._schema
        if not schema.is_mutable:
            return
        for position, argument in enumerate(schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            for tensor in _flat([value]):
                if isinstance(tensor, torch.Tensor) and not isinstance(tensor, FakeTensor):
                    error = NeedsDataError(f"{func} writes data of the GPU into host memory")
                    self._on_need(error)
                    raise error


# Where the CUDA allocator's addresses lie, so that they look like ones.
_FIRST_ADDRESS = 0x7F00_0000_0000
# The allocator aligns every block to this.
_ALIGNMENT = 512

_blocks: dict[int, tuple[int, object]] = {}
_next_address = _FIRST_ADDRESS


def _data_ptr(tensor: FakeTensor) -> int:
    """The address the tensor would have: blocks aligned as CUDA does, views inside theirs."""
    global _next_address  # noqa: PLW0603 - an allocator is state
    if tensor.numel() == 0:
        return 0
    storage = tensor.untyped_storage()
    key = storage._cdata
    if key not in _blocks:
        # Holding the storage keeps its identity from being used again.
        _blocks[key] = (_next_address, storage)
        _next_address += -(-int(storage.nbytes()) // _ALIGNMENT) * _ALIGNMENT + _ALIGNMENT
    return _blocks[key][0] + int(tensor.storage_offset()) * tensor.element_size()


def _no_data(tensor: FakeTensor, *_: object, **__: object) -> Any:
    raise NeedsDataError("the data of a GPU tensor was asked for")


def install() -> None:
    """Gives fake tensors addresses, and refuses what would read their data past torch's ops."""
    torch._C._ensureCUDADeviceGuardSet()
    # It would make a real tensor, to have a context, as soon as `torch.cuda` says it is available.
    fake_tensor.__dict__["init_gpu_context"] = lambda device: None
    for name, function in {"data_ptr": _data_ptr, "numpy": _no_data, "__array__": _no_data}.items():
        setattr(FakeTensor, name, function)
