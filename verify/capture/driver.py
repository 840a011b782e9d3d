"""A stand-in for libcuda, so that cuda.tile's C code describes arguments without a GPU.

`cuda.tile._cext` takes every driver function from the pointer that `cuda.tile._load_libcuda`
holds, at its first use. A module of that name put in place before then gives it ours. It asks
little to describe arguments; whatever would need a device answers "no device", so a program that
goes past the recorder gets an error and not a wrong answer.
"""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable
from typing import Any

from tileport.verify.capture.targets import DEVICES, capability

_MODULE = "cuda.tile._load_libcuda"

# CUresult
_SUCCESS = 0
_INVALID_VALUE = 1
_NO_DEVICE = 100

# The oldest driver of CUDA 13.2; only compared against minimum versions.
_DRIVER_VERSION = 13020

# CUdevice_attribute
_MULTIPROCESSOR_COUNT = 16
_CAPABILITY_MAJOR = 75
_CAPABILITY_MINOR = 76
# CUpointer_attribute and CUmemorytype
_POINTER_MEMORY_TYPE = 2
_POINTER_DEVICE_POINTER = 3
_POINTER_DEVICE_ORDINAL = 9
_MEMORY_TYPE_DEVICE = 2

_Entry = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
_GetProcAddress = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_int,
    ctypes.c_uint64,
    ctypes.c_void_p,
)

# ctypes callbacks live as long as something holds them; C code keeps bare pointers to these.
_alive: list[Any] = []


def _put_int(address: int | None, value: int) -> int:
    if address:
        ctypes.c_int.from_address(address).value = value
    return _SUCCESS


def _functions(target: str) -> dict[bytes, Callable[..., int]]:
    major, minor = capability(target)
    attributes = {
        _MULTIPROCESSOR_COUNT: DEVICES[target].multiprocessors,
        _CAPABILITY_MAJOR: major,
        _CAPABILITY_MINOR: minor,
    }
    no_device = ctypes.create_string_buffer(b"this capture has no GPU: only launches are recorded")
    _alive.append(no_device)

    def device_attribute(out: int, attribute: int | None, *_: int) -> int:
        value = attributes.get(attribute or 0)
        return _INVALID_VALUE if value is None else _put_int(out, value)

    def pointer_attribute(out: int, attribute: int | None, pointer: int | None, *_: int) -> int:
        if attribute == _POINTER_MEMORY_TYPE:
            return _put_int(out, _MEMORY_TYPE_DEVICE)
        if attribute == _POINTER_DEVICE_ORDINAL:
            return _put_int(out, 0)
        if attribute == _POINTER_DEVICE_POINTER:
            ctypes.c_void_p.from_address(out).value = pointer
            return _SUCCESS
        return _INVALID_VALUE

    def error_string(_code: int | None, out: int, *_: int) -> int:
        ctypes.c_void_p.from_address(out).value = ctypes.addressof(no_device)
        return _SUCCESS

    return {
        b"cuInit": lambda *_: _SUCCESS,
        b"cuDriverGetVersion": lambda out, *_: _put_int(out, _DRIVER_VERSION),
        b"cuDeviceGetCount": lambda out, *_: _put_int(out, 1),
        b"cuDeviceGet": lambda out, *_: _put_int(out, 0),
        b"cuCtxGetDevice": lambda out, *_: _put_int(out, 0),
        b"cuDeviceGetAttribute": device_attribute,
        b"cuPointerGetAttribute": pointer_attribute,
        b"cuGetErrorString": error_string,
    }


def install(target: str) -> None:
    """Puts the stand-in in place for this process, as a driver with one device of `target`.

    Must come before the first use of a kernel; importing cuda.tile does not count.
    """
    entries = {name: _Entry(function) for name, function in _functions(target).items()}
    missing = _Entry(lambda *_: _NO_DEVICE)

    def lookup(name: bytes, out: Any, _version: int, _flags: int, _status: int) -> int:
        out[0] = ctypes.cast(entries.get(name, missing), ctypes.c_void_p).value
        return _SUCCESS

    get_proc_address = _GetProcAddress(lookup)
    pointer = ctypes.c_void_p(ctypes.cast(get_proc_address, ctypes.c_void_p).value)
    _alive.extend([entries, missing, get_proc_address, pointer])
    module = types.ModuleType(_MODULE)
    setattr(module, "cuGetProcAddress_v2_ptrptr", ctypes.addressof(pointer))  # noqa: B010
    sys.modules[_MODULE] = module
