"""GPU targets: what a device of each looks like to host code, and which one is here."""

from __future__ import annotations

import asyncio

import msgspec

from tileport.verify.errors import TileportError
from tileport.verify.gpus import gpus

#: What is taken when there is no GPU and nothing is configured.
WITHOUT_GPU = ("sm_100", "sm_90")

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One well-known device of a target, as CUDA describes it; sizes are in bytes.

    Host code picks tile sizes and grids from these numbers, so a captured variant is that of
    this device. Sources: the CUDA programming guide's table of compute capabilities (memory per
    multiprocessor, threads) and the data sheet of the named device (count, memory, L2).
    """

    name: str
    multiprocessors: int
    memory: int
    l2: int
    shared_per_multiprocessor: int
    shared_optin: int
    threads_per_multiprocessor: int


def _device(  # noqa: PLR0917 - a row of the table below
    name: str, sms: int, memory_gib: int, l2_mib: int, shared_kib: int, threads: int
) -> Device:
    # A block may opt in to all of a multiprocessor's shared memory but 1 KiB, which CUDA keeps.
    return Device(
        name=name,
        multiprocessors=sms,
        memory=memory_gib * _GIB,
        l2=l2_mib * _MIB,
        shared_per_multiprocessor=shared_kib * _KIB,
        shared_optin=(shared_kib - 1) * _KIB,
        threads_per_multiprocessor=threads,
    )


DEVICES: dict[str, Device] = {
    "sm_80": _device("NVIDIA A100-SXM4-80GB", 108, 80, 40, 164, 2048),
    "sm_86": _device("NVIDIA GeForce RTX 3090", 82, 24, 6, 100, 1536),
    "sm_87": _device("Orin", 16, 64, 4, 164, 1536),
    "sm_89": _device("NVIDIA L40S", 142, 48, 96, 100, 1536),
    "sm_90": _device("NVIDIA H100 80GB HBM3", 132, 80, 50, 228, 2048),
    "sm_100": _device("NVIDIA B200", 148, 180, 126, 228, 2048),
    "sm_103": _device("NVIDIA B300", 148, 268, 126, 228, 2048),
    "sm_110": _device("NVIDIA Thor", 20, 128, 32, 228, 1536),
    "sm_120": _device("NVIDIA GeForce RTX 5090", 170, 32, 96, 100, 1536),
    "sm_121": _device("NVIDIA GB10", 48, 128, 24, 100, 1536),
}


def capability(target: str) -> tuple[int, int]:
    """Compute capability of a target: `sm_103` is (10, 3)."""
    number = int(target.removeprefix("sm_"))
    return number // 10, number % 10


def check_targets(targets: tuple[str, ...]) -> None:
    """Refuses a target that is not known.

    Raises:
        TileportError: names it and the ones that are.
    """
    for target in targets:
        if target not in DEVICES:
            known = ", ".join(DEVICES)
            raise TileportError(f"unknown target {target!r}", todo=f"known are {known}")
    if not targets:
        raise TileportError("no target given", todo="name one, such as --target sm_90")


async def local_targets() -> tuple[str, ...]:
    """Target of each GPU of this machine in order, asked of its driver once per process.

    Needs neither torch nor a CUDA toolkit; with no GPU it takes microseconds.
    """
    return tuple(gpu.target for gpu in await asyncio.to_thread(gpus))


async def default_targets() -> tuple[str, ...]:
    """The targets to take when none are configured: the first local GPU's, else `WITHOUT_GPU`."""
    return tuple(t for t in await local_targets() if t in DEVICES)[:1] or WITHOUT_GPU
