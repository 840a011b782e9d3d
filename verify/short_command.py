"""Runs a program that answers at once, and takes no answer for an answer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

#: Seconds that a program may take to say what it is.
_DEADLINE = 20.0


def output_of(command: Sequence[str]) -> str | None:
    """Standard output of a command that ends well within the deadline; else None."""
    environment = os.environ | {"LC_ALL": "C", "RUSTUP_AUTO_INSTALL": "0"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_DEADLINE,
            check=False,
            # Away from any rust-toolchain file of the folder tileport was started in.
            cwd="/",
            env=environment,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
