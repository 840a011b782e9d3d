"""The NVIDIA GPUs of this machine, without loading a driver into this process."""

from __future__ import annotations

import re
import shutil
import sys
from functools import lru_cache
from pathlib import Path

import msgspec

from tileport.verify.short_command import output_of


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU of this machine; `target` is what `tileiras --gpu-name` calls its architecture."""

    name: str
    target: str
    driver: str


@lru_cache(maxsize=1)
def gpus() -> tuple[Gpu, ...]:
    """The NVIDIA GPUs of this machine, asked for once; empty where there is none or no driver."""
    listed = _from_nvidia_smi()
    return listed if listed is not None else _from_driver()


#: Asks the driver in a child, so that a driver that hangs or crashes harms nobody.
_ASK_DRIVER = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
count, version, value = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
name = ctypes.create_string_buffer(256)
assert cuda.cuInit(0) == 0
cuda.cuDriverGetVersion(ctypes.byref(version))
cuda.cuDeviceGetCount(ctypes.byref(count))
for device in range(count.value):
    cuda.cuDeviceGetName(name, 256, device)
    capability = []
    for attribute in (75, 76):
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        capability.append(str(value.value))
    made = "%d.%d" % (version.value // 1000, version.value % 1000 // 10)
    print(name.value.decode(), ".".join(capability), "CUDA " + made, sep=", ")
"""


def _from_nvidia_smi() -> tuple[Gpu, ...] | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    query = "--query-gpu=name,compute_cap,driver_version"
    output = output_of([program, query, "--format=csv,noheader"])
    return _read_gpus(output) if output is not None else None


def _from_driver() -> tuple[Gpu, ...]:
    if not any(Path("/dev").glob("nvidia[0-9]*")):
        return ()
    output = output_of([sys.executable, "-I", "-c", _ASK_DRIVER])
    return _read_gpus(output) if output is not None else ()


def _read_gpus(text: str) -> tuple[Gpu, ...]:
    """Lines of `name, 9.0, driver`; anything else is passed over."""
    found: list[Gpu] = []
    for line in text.splitlines():
        name, _, rest = line.rpartition(", ")
        name, _, capability = name.rpartition(", ")
        if name and re.fullmatch(r"\d+\.\d+", capability):
            found.append(
                Gpu(name=name.strip(), target="sm_" + capability.replace(".", ""), driver=rest)
            )
    return tuple(found)
