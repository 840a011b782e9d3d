"""Runs at the start of every Python process of a command under `tileport capture -- COMMAND`.

Python imports the first `sitecustomize` it finds; the one that was found before is run as well.
"""

import os
import sys


def _start() -> None:
    folder = os.environ.get("TILEPORT_RECORDING")
    if not folder:
        return
    try:
        from tileport.verify.capture.recording import start  # noqa: PLC0415
    except ImportError as error:
        # Another Python, in which tileport is not installed; the command goes on without it.
        name = os.path.join(folder, f"{os.getpid()}.refused")  # noqa: PTH118
        with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{sys.executable}\n{error}\n")
    else:
        start(folder)


def _run_next() -> None:
    import importlib.machinery  # noqa: PLC0415
    import importlib.util  # noqa: PLC0415

    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_start()
_run_next()
