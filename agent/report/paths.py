"""Paths as a report shows them."""

from __future__ import annotations

import os
from pathlib import Path


def relative(path: str) -> str:
    """`path` from the current folder where it lies below it, else as it is."""
    if not Path(path).is_absolute():
        return path
    short = os.path.relpath(path)
    return path if short.startswith("..") else short
