"""The frames between a child server and who asks it.

A frame is 4 bytes of length (big-endian) and that many bytes of msgpack, over a socket pair. The
server says hello first, then answers each request with one reply.
"""

from __future__ import annotations

import struct

import msgspec

#: The length in front of each frame.
LENGTH = struct.Struct(">I")
#: Names the descriptor of the server's end in its environment.
CHANNEL = "TILEPORT_CHILD_FRAMES"
#: Far above any real frame; a length above it means that something else wrote to the channel.
LIMIT = 1 << 30


class Request(msgspec.Struct, frozen=True, array_like=True):
    """A call of one of the server's functions."""

    method: str
    payload: msgspec.Raw


class Fault(msgspec.Struct, frozen=True, array_like=True):
    """Why a call failed; `code` is -1 where the function raised something unforeseen."""

    what: str
    where: str | None
    todo: str | None
    code: int


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """What became of a call: its result, or a fault."""

    result: msgspec.Raw = msgspec.Raw(b"\xc0")
    fault: Fault | None = None


class Hello(msgspec.Struct, frozen=True, array_like=True):
    """Said by the server when it is ready."""

    pid: int


def frame(message: msgspec.Struct) -> bytes:
    """The bytes that carry a message."""
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body
