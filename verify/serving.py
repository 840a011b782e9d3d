"""The serving half of a child server: what a module that runs as a `Child` ends with."""

from __future__ import annotations

import faulthandler
import inspect
import os
import socket
import sys
import traceback
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tileport.verify.errors import TileportError
from tileport.verify.frames import CHANNEL, LENGTH, Fault, Hello, Reply, Request, frame
from tileport.verify.safe_text import one_line


def serve(methods: Mapping[str, Callable[[Any], Any]]) -> None:
    """Answers calls until the asking process hangs up; the last thing a child's module does.

    Each function takes one argument, whose annotation says what the payload is decoded to, and
    returns something msgspec can encode. A `TileportError` reaches the caller as it is; any
    other exception as a `ChildError` of kind `failed`, with its traceback in the log. Functions
    run in the main thread, one at a time. A function may fork: the new process shall not use
    the channel, and all of them end with this one.

    Args:
        methods: Functions by the name they are called by.

    Raises:
        TileportError: the module was not started by a `Child`.
    """
    number = os.environ.pop(CHANNEL, "")
    if not number.isdigit():
        raise TileportError("this module is run by tileport itself", todo="run tileport instead")
    os.set_inheritable(int(number), False)
    faulthandler.enable()
    decoders = {name: _payload_decoder(function) for name, function in methods.items()}
    with socket.socket(fileno=int(number)) as channel:
        _send(channel, Hello(os.getpid()))
        while (body := _receive(channel)) is not None:
            request = msgspec.msgpack.decode(body, type=Request)
            _send(channel, _answer(request, methods, decoders))


def _payload_decoder(function: Callable[[Any], Any]) -> msgspec.msgpack.Decoder[Any]:
    first = next(iter(inspect.signature(function).parameters))
    return msgspec.msgpack.Decoder(typing.get_type_hints(function).get(first, Any))


def _answer(
    request: Request,
    methods: Mapping[str, Callable[[Any], Any]],
    decoders: Mapping[str, msgspec.msgpack.Decoder[Any]],
) -> Reply:
    try:
        result = methods[request.method](decoders[request.method].decode(request.payload))
        return Reply(msgspec.Raw(msgspec.msgpack.encode(result)))
    except TileportError as error:
        return Reply(fault=Fault(error.what, error.where, error.todo, int(error.code)))
    except Exception as error:  # whatever it is, it must not end the server
        traceback.print_exc()
        return Reply(fault=Fault(one_line(f"{type(error).__name__}: {error}"), None, None, -1))


def _send(channel: socket.socket, message: msgspec.Struct) -> None:
    try:
        channel.sendall(frame(message))
    except OSError:
        sys.exit(0)  # nobody is left to answer to


def _receive(channel: socket.socket) -> bytes | None:
    """The body of the next frame, or None when the asking process hung up."""
    head = _read(channel, LENGTH.size)
    return _read(channel, LENGTH.unpack(head)[0]) if head is not None else None


def _read(channel: socket.socket, size: int) -> bytes | None:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        try:
            got = channel.recv_into(view)
        except OSError:
            return None
        if got == 0:
            return None
        view = view[got:]
    return bytes(data)
