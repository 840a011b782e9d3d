"""Many edits in one session: does the memory of every process level off, and is all gone after?

    python -m tests.benchmarks.soak [--edits 1000]

Edits the port of a copied operator on disk again and again while the app shows it, and prints the
resident memory of the app and of its children. Ends the app with SIGKILL and prints what is left.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.live_loop import save, with_constant
from tests.support.processes import MARK, Process, marked, new_mark, wait_gone
from tests.support.pty import Terminal

OPS = Path(__file__).resolve().parents[2] / "ops"


def role(process: Process) -> str:
    """What a process is for, from its command."""
    for word in ("tileport.tui", "capture.server", "compile.worker", "supervise", "cargo"):
        if word in process.command:
            return word.rpartition(".")[2]
    return process.command.split(" ")[0].rpartition("/")[2] or "?"


def memory(mark: str) -> dict[str, float]:
    """Resident megabytes by role."""
    total: dict[str, float] = {}
    for process in marked(mark):
        total[role(process)] = total.get(role(process), 0.0) + process.rss / 1e6
    return total


def soak(folder: Path, edits: int, every: int) -> tuple[list[dict[str, float]], list[Process]]:
    """Memory after each `every` edits, and the processes left after SIGKILL."""
    (folder / "pyproject.toml").write_text("[tool.tileport]\n")
    for file in OPS.glob("softmax.*"):
        shutil.copy(file, folder)
    port = folder / "softmax.rs"
    original = port.read_text()
    mark = new_mark()
    samples = []
    command = [sys.executable, "-m", "tileport.tui", str(folder / "softmax.py")]
    with Terminal(command, cwd=folder, env={MARK: mark}) as app:
        app.wait_for(lambda text: "SAME IR" in text, timeout=120, what="verdict")
        for index in range(edits):
            value = 1000.5 + index
            save(port, with_constant(original, value))
            app.wait_for_change(f"{value:.1f}", timeout=60)
            if index % every == every - 1:
                samples.append(memory(mark))
                shown = "  ".join(f"{k} {v:.0f}" for k, v in sorted(samples[-1].items()))
                print(f"{index + 1:5} edits, MB: {shown}", flush=True)
        app.kill()
        return samples, wait_gone(mark)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--every", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tileport-soak-") as name:
        _, left = soak(Path(name), options.edits, options.every)
    print(f"processes left after SIGKILL: {len(left)}")


if __name__ == "__main__":
    main()
