"""Whether a capture is still that of the files on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

#: Part of every hash; raise it when a capture of the same files would say something else.
_FORMAT = b"tileport capture 1\n"


def hash_inputs(files: Iterable[str]) -> str:
    """SHA-256 (hex) over names and contents of `files`, in sorted order; a missing file counts.

    Equal to `CaptureReport.inputs` as long as none of `CaptureReport.files` changed.
    """
    digest = hashlib.sha256(_FORMAT)
    for file in sorted(set(files)):
        try:
            content = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        except OSError:
            content = "missing"
        digest.update(f"{content} {file}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()
