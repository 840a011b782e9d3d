"""What a recording and the command that it runs in leave for each other in a folder.

Apart from `recording.py`, which brings in torch: the asking side has to stay without.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tileport.verify.files import write_atomically

SETTINGS = "settings"
EVENTS = ".events"
REFUSED = ".refused"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What every process of a recorded command needs to know."""

    target: str
    real: bool
    blobs: str
    bytecode_version: str
    all_candidates: bool
    #: Folders whose files are the user's.
    folders: tuple[str, ...]


def write_settings(folder: Path, settings: Settings) -> None:
    """Puts the settings where the command's processes look for them."""
    content = msgspec.json.encode(settings)
    write_atomically(folder / SETTINGS, content, what="the recording's settings", durable=False)
