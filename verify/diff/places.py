"""From location chains of Tile IR to places that a person can go to."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePath

from tileport.verify.ir.model import Frame, Location
from tileport.verify.model import Place


@lru_cache(maxsize=1024)
def same_file(one: str, other: str) -> bool:
    """Whether two paths name one file: equal, or one ends with the other."""
    if one == other:
        return True
    left, right = PurePath(one).parts, PurePath(other).parts
    short, long = sorted((left, right), key=len)
    return bool(short) and long[len(long) - len(short) :] == short


def frame_in(location: Location, path: str) -> Frame | None:
    """The innermost frame of `location` in the file `path`."""
    for frame in location:
        if same_file(frame.file, path):
            return frame
    return None


def place_of(location: Location, path: str) -> Place | None:
    """Where to go for `location`: its innermost frame in `path`, else its innermost frame.

    Tile IR counts columns from 0, a place from 1.
    """
    frame = frame_in(location, path)
    if frame is not None:
        return Place(path, frame.line, frame.column + 1)
    if not location:
        return None
    return Place(location[0].file, location[0].line, location[0].column + 1)


def line_of(location: Location, path: str) -> int:
    """The line of the innermost frame in `path`, 0 where there is none."""
    frame = frame_in(location, path)
    return frame.line if frame is not None else 0
