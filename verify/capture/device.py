"""`torch.cuda` as host code would see it with one GPU of a target; for a worker process only.

Streams and events do nothing, memory is always free, and an event measures one millisecond, so
a home-made tuner takes its first candidate. What asks the device for more raises.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from tileport.verify.capture.targets import DEVICES, capability


class _Stream:
    """Stands in for `torch.cuda.Stream`: the default stream, whichever is asked for."""

    cuda_stream = 0
    stream_id = 0
    device_index = 0

    def __init__(self, *_: object, **__: object) -> None:
        self.device = torch.device("cuda", 0)

    def query(self) -> bool:
        return True

    def record_event(self, event: _Event | None = None) -> _Event:
        return event or _Event()

    def _nothing(self, *_: object) -> None:
        pass

    synchronize = wait_event = wait_stream = _nothing

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Event:
    """Stands in for `torch.cuda.Event`."""

    cuda_event = 0

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def _nothing(self, *_: object) -> None:
        pass

    record = synchronize = wait = _nothing

    def query(self) -> bool:
        return True

    def elapsed_time(self, _end: object) -> float:
        return 1.0


class _Context:
    """Stands in for `torch.cuda.device`, `.device_of`, `.stream` and `.graph`."""

    def __init__(self, *_: object, **__: object) -> None:
        self.idx = 0
        self.prev_idx = 0

    def __enter__(self) -> _Context:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Graph:
    """Stands in for `torch.cuda.CUDAGraph`: what is captured is recorded once, replays are not."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def _nothing(self, *_: object, **__: object) -> None:
        pass

    capture_begin = capture_end = replay = reset = instantiate = _nothing


class _Generator(torch.Generator):
    """A generator of the GPU: one of the CPU, since no number of it will be seen."""

    def __new__(cls, device: object = "cpu") -> _Generator:
        return super().__new__(cls)


def _properties(target: str) -> SimpleNamespace:
    """What `torch.cuda.get_device_properties` has; sizes in bytes."""
    device = DEVICES[target]
    major, minor = capability(target)
    return SimpleNamespace(
        name=device.name,
        major=major,
        minor=minor,
        multi_processor_count=device.multiprocessors,
        total_memory=device.memory,
        L2_cache_size=device.l2,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=device.shared_optin,
        shared_memory_per_multiprocessor=device.shared_per_multiprocessor,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=device.threads_per_multiprocessor,
        max_threads_per_block=1024,
        warp_size=32,
        is_integrated=int(target in {"sm_87", "sm_110", "sm_121"}),
        is_multi_gpu_board=0,
        gcnArchName="",
        pci_bus_id=0,
        pci_device_id=0,
        pci_domain_id=0,
        uuid="00000000-0000-0000-0000-000000000000",
    )


def _constant(value: Any) -> Callable[..., Any]:
    return lambda *_args, **_kwargs: value


def _any_fake(*values: object) -> bool:
    return any(
        isinstance(value, FakeTensor)
        or (isinstance(value, list | tuple) and _any_fake(*value))
        or (isinstance(value, dict) and _any_fake(*value.values()))
        for value in values
    )


def _unless_fake(check: Callable[..., Any], answer: Any) -> Callable[..., Any]:
    """`check`, but with `answer` where a tensor has no data: tests go on to their next launch."""

    def checked(*args: Any, **kwargs: Any) -> Any:
        return answer if _any_fake(*args, *kwargs.values()) else check(*args, **kwargs)

    return checked


def _compile(model: Any = None, **_: Any) -> Any:
    """`torch.compile` that compiles nothing: what it would make cannot run here."""
    return model if model is not None else lambda function: function


def install(target: str) -> None:
    """Replaces, in this process and for good, what host code asks a GPU through torch.

    Args:
        target: One of `tileport.verify.capture.targets.DEVICES`.
    """
    cuda = torch.cuda
    stream = _Stream()
    properties = _properties(target)
    free = (properties.total_memory, properties.total_memory)
    answers: dict[str, Any] = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": capability(target),
        "get_device_properties": properties,
        "get_device_name": properties.name,
        "get_arch_list": [target],
        "current_stream": stream,
        "default_stream": stream,
        "is_current_stream_capturing": False,
        "is_bf16_supported": True,
        "is_tf32_supported": True,
        "can_device_access_peer": False,
        "mem_get_info": free,
        "utilization": 0,
        "init": None,
        "_lazy_init": None,
        "set_device": None,
        "set_stream": None,
        "synchronize": None,
        "empty_cache": None,
        "ipc_collect": None,
        "reset_peak_memory_stats": None,
        "reset_max_memory_allocated": None,
        "set_rng_state": None,
    }
    for name, answer in answers.items():
        _replace(cuda, name, _constant(answer))
    classes = {
        "Stream": _Stream, "ExternalStream": _Stream, "Event": _Event, "CUDAGraph": _Graph,
        "device": _Context, "device_of": _Context, "graph": _Context, "StreamContext": _Context,
        "stream": _Context,
    }  # fmt: skip
    for name, stand_in in classes.items():
        _replace(cuda, name, stand_in)
    _replace(cuda, "get_rng_state", lambda *_: torch.empty(16, dtype=torch.uint8))
    _replace(torch._C, "_cuda_getCurrentRawStream", _constant(0))
    _replace(torch, "Generator", _Generator)
    _replace(torch, "compile", _compile)
    _replace(torch, "allclose", _unless_fake(torch.allclose, True))
    _replace(torch.testing, "assert_close", _unless_fake(torch.testing.assert_close, None))
    _replace(torch.Tensor, "pin_memory", lambda self, *_: self)
    _replace(torch.Tensor, "record_stream", lambda self, *_: None)
    for name, value in {
        "is_available": True,
        "device_count": 1,
        "current_device_index": 0,
        "synchronize": None,
        "set_device_index": None,
    }.items():
        _replace(torch.accelerator, name, _constant(value))


def _replace(owner: object, name: str, value: object) -> None:
    setattr(owner, name, value)
