"""Save to diff shown, through the real app in a terminal, beside the loop people have without it.

    python -m tests.benchmarks.live_loop [--saves 200] [--peer 10] [--only NAME]

For each kernel one constant of the Rust port gets a new value at each save, as an editor saves:
a temporary file renamed over the port. The clock runs from the rename until the terminal has been
sent the new value in the diff, so it has the watcher, the compile, the comparison and the paint
in it. The peer, in the same run and in turns with the app: write the kernel, `cargo build` of a
crate that prints its Tile IR, run it, `diff -u` with the reference. Also printed: first paint and
first diff of a cold start.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tests.benchmarks.ports import attention_port
from tests.support.pty import Terminal
from tileport.ffi.build_env import build_environment
from tileport.verify.compile.model import CompileRequest
from tileport.verify.config import Config
from tileport.verify.operator import resolve_operator
from tileport.verify.port import bind, parse_port
from tileport.verify.session import Session

ROOT = Path(__file__).resolve().parents[2]
PEER = Path(__file__).with_name("peer")
#: The app is at rest, and ready for the next save, when it wrote nothing for this long.
REST = 0.3
CONSTANT = re.compile(r"constant\(0\.0(?=f32|,)")
MASK = re.compile(r"constant\(-1000000\.0(?=f32)")
#: The strip of stages once the variant in view has been compared.
DIFFED = re.compile(r"\bdiff +(ok|\d+ found)")


def with_constant(text: str, value: float) -> str:
    """A port with another value for one constant: the mask of attention, else the first zero."""
    pattern = MASK if MASK.search(text) else CONSTANT
    changed, count = pattern.subn(f"constant({value:.1f}", text, count=1)
    assert count == 1, "the port has no constant to change"
    return changed


@dataclass
class Subject:
    """One operator with its port, in a folder of its own."""

    name: str
    operator: str
    port: Path
    text: str
    folder: Path
    size: str
    times: list[float] = field(default_factory=list)
    peer_times: list[float] = field(default_factory=list)
    first_paint: float = 0.0
    first_diff: float = 0.0

    def changed(self, value: float) -> str:
        """The port with another constant in it."""
        return with_constant(self.text, value)


def subjects(folder: Path) -> list[Subject]:
    """mla_decode, matmul, and an attention-sized kernel (TileGym's published port)."""
    found = []
    for name in ("mla_decode", "matmul"):
        home = folder / name
        home.mkdir(parents=True)
        (home / "pyproject.toml").write_text("[tool.tileport]\n")
        for file in (ROOT / "ops").glob(f"{name}.*"):
            shutil.copy(file, home)
        port = home / f"{name}.rs"
        found.append(Subject(name, str(home / f"{name}.py"), port, port.read_text(), home, "small"))
    home = folder / "attention_sink"
    home.mkdir()
    (home / "pyproject.toml").write_text("[tool.tileport]\n")
    port = home / "attention_sink.rs"
    port.write_text(attention_port())
    found.append(
        Subject(
            "attention_sink",
            "tilegym.ops.cutile.attention_sink",
            port,
            port.read_text(),
            home,
            "attention-sized",
        )
    )
    return found


def save(path: Path, text: str) -> float:
    """Write as editors do; the time of the rename."""
    temporary = path.with_name(f".{path.name}.swap")
    temporary.write_text(text)
    started = time.monotonic()
    temporary.replace(path)
    return started


def rest(app: Terminal) -> None:
    """Wait until the app has done what the save asked for, all variants, as between two saves."""
    end = time.monotonic() + 20.0
    while app.pump(REST) and time.monotonic() < end:
        pass


class Peer:
    """The loop without tileport."""

    def __init__(self, subject: Subject, target: Path) -> None:
        self.subject = subject
        self.crate = subject.folder / "peer"
        self.environment = {
            **os.environ,
            **build_environment(),
            "CARGO_TARGET_DIR": str(target),
            "CARGO_TERM_COLOR": "never",
        }
        self.kernel = self.crate / "src" / "kernel.rs"
        self.request = self.crate / "request.json"
        self.reference = self.crate / "reference.mlir"
        self.binary = target / "debug" / "peer"

    def prepare(self) -> None:
        """Write the crate and build it once, dependencies included."""
        (self.crate / "src").mkdir(parents=True)
        request, reference = asyncio.run(_request(self.subject))
        self.request.write_bytes(msgspec.json.encode(request))
        self.reference.write_text(reference)
        module = re.search(r"pub mod (\w+)", self.subject.text)
        assert module is not None
        main = (PEER / "main.rs.in").read_text()
        main = main.replace("@PATH@", "kernel.rs").replace("@MODULE@", module[1])
        (self.crate / "src" / "main.rs").write_text(main)
        shutil.copy(PEER / "Cargo.toml.in", self.crate / "Cargo.toml")
        self.kernel.write_text(self.subject.text)
        self._round()

    def _round(self) -> None:
        build = ["cargo", "build", "--quiet"]
        subprocess.run(build, cwd=self.crate, env=self.environment, check=True)
        printed = subprocess.run(
            [self.binary, self.request],
            cwd=self.crate,
            env=self.environment,
            check=True,
            capture_output=True,
        )
        port = self.crate / "port.mlir"
        port.write_bytes(printed.stdout)
        subprocess.run(["diff", "-u", self.reference, port], check=False, stdout=subprocess.DEVNULL)

    def once(self, value: float) -> None:
        """One save, from the write to the text diff."""
        started = time.monotonic()
        self.kernel.write_text(self.subject.changed(value))
        self._round()
        self.subject.peer_times.append(time.monotonic() - started)


async def _request(subject: Subject) -> tuple[CompileRequest, str]:
    """What the app compiles for the variant it shows first, and the reference IR."""
    operator = resolve_operator(subject.operator, port=str(subject.port))
    session = Session(operator, Config(), live=False, until="declare")
    try:
        await session.start()
        await session.settle()
        variant = next(v for v in session.variants if v.id == session.view)
        port = parse_port(subject.text, str(subject.port))
        entry = next(e for e in port.entries if e.kernel == variant.kernel.name)
        request = bind(entry, port, variant).request
        assert request is not None
        return request, await session.ir(variant.id, "reference")
    finally:
        await session.close()


def measure(subject: Subject, saves: int, peer_rounds: int, target: Path) -> None:
    """All saves of one subject, a round of the peer between batches of them."""
    peer = Peer(subject, target)
    if peer_rounds:
        peer.prepare()
    shutil.rmtree(subject.folder / ".tileport", ignore_errors=True)
    command = [sys.executable, "-m", "tileport.tui", subject.operator, "--port", str(subject.port)]
    value = 1000.5
    with Terminal(command, size=(180, 50), cwd=subject.folder) as app:
        subject.first_paint = app.wait_for(subject.port.name, what="the first paint")
        subject.first_diff = app.wait_for(
            lambda text: DIFFED.search(text) is not None, timeout=120, what="the first diff"
        )
        app.pump(3.0)
        save(subject.port, subject.changed(value))
        app.wait_for(f"{value:.1f}", timeout=60)
        app.pump(2.0)
        batch = max(1, saves // max(1, peer_rounds))
        for index in range(saves):
            value += 1.0
            started = save(subject.port, subject.changed(value))
            shown = app.wait_for_change(f"{value:.1f}", timeout=60)
            subject.times.append(shown - started)
            rest(app)
            if peer_rounds and index % batch == batch - 1 and len(subject.peer_times) < peer_rounds:
                peer.once(value)
        save(subject.port, subject.text)
        app.pump(1.0)
        app.press("escape")
        app.pump(0.5)
        app.press("q")
        app.wait()


def percentile(times: list[float], share: float) -> float:
    """The value below which `share` of the times lie, in milliseconds."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


def report(subject: Subject) -> str:
    """One row: figures in milliseconds, and the ratio to the peer."""
    p50, p95 = percentile(subject.times, 0.5), percentile(subject.times, 0.95)
    row = (
        f"{subject.name:16} {subject.size:16} {len(subject.times):5} saves"
        f"  p50 {p50:7.1f} ms  p95 {p95:7.1f} ms"
        f"  first paint {subject.first_paint:4.2f} s  first diff {subject.first_diff:4.1f} s"
    )
    if subject.peer_times:
        peer = statistics.median(subject.peer_times) * 1000
        row += f"  peer p50 {peer:7.0f} ms ({len(subject.peer_times)})  ratio {peer / p50:5.1f}"
    return row


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--saves", type=int, default=200)
    parser.add_argument("--peer", type=int, default=10, help="rounds of the peer loop")
    parser.add_argument("--only", help="one of the kernels")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tileport-live-") as name:
        folder = Path(name)
        for subject in subjects(folder):
            if options.only in (None, subject.name):
                measure(subject, options.saves, options.peer, folder / "target")
                print(report(subject), flush=True)


if __name__ == "__main__":
    main()
