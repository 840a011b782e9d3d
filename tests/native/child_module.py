"""The child that the tests of `tileport.verify.children` ask things of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.serving import serve


class Add(msgspec.Struct):
    left: int
    right: int


def add(payload: Add) -> int:
    return payload.left + payload.right


def echo(payload: Any) -> Any:
    return payload


def pid(payload: dict[str, Any]) -> int:
    return os.getpid()


def slow(payload: dict[str, Any]) -> str:
    time.sleep(payload["seconds"])
    return payload["word"]


def spin(payload: dict[str, Any]) -> None:
    """Holds the interpreter inside C code, so that no thread of the child can act."""
    sum(range(10**18))


def crash(payload: dict[str, Any]) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(payload: dict[str, Any]) -> None:
    print("last words", file=sys.stderr)
    os._exit(payload["code"])


def noise(payload: dict[str, Any]) -> int:
    print("\x00\xff garbage on stdout " * 20_000)
    os.write(1, b"\x00\x00\x00\x01\xc0 not a frame\n")
    os.write(2, b"to stderr \x1b[31m\n")
    return 7


def bad_input(payload: dict[str, Any]) -> None:
    raise TileportError("no kernel", where="x.py:3", todo="add one", code=ExitCode.TOOL_MISSING)


def surprise(payload: dict[str, Any]) -> None:
    raise ZeroDivisionError("of \x1b[2J all things")


def foul(payload: dict[str, Any]) -> int:
    """Writes nonsense into the frame channel itself, as code with a wild descriptor could."""
    for descriptor in range(3, 1024):
        try:
            os.write(descriptor, b"\xff" * 16)
        except OSError:
            continue
    return 1


def family(payload: dict[str, Any]) -> list[int]:
    """Starts processes that try to outlive it: a forked child, its child, and one in a session."""
    pids = Path(payload["pids"])
    script = "import os,time; open(os.sys.argv[1],'a').write(f'{os.getpid()}\\n'); time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", script, str(pids)], start_new_session=True)
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:  # its parent ends: nobody is left who knows it
                with pids.open("a") as file:
                    file.write(f"{os.getpid()}\n")
                time.sleep(600)
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with pids.open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(600)
    while not pids.exists() or len(pids.read_text().splitlines()) < 3:
        time.sleep(0.01)
    if payload["then"] == "sleep":
        time.sleep(600)
    if payload["then"] == "crash":
        os._exit(9)
    return [os.getpid()]


if __name__ == "__main__":
    if "--never-serves" in sys.argv:
        time.sleep(600)
    if "--dies-early" in sys.argv:
        sys.exit("cannot start: nothing to start with")
    serve(
        {
            function.__name__: function
            for function in (
                add,
                bad_input,
                crash,
                echo,
                family,
                foul,
                leave,
                noise,
                pid,
                slow,
                spin,
                surprise,
            )
        }
    )
