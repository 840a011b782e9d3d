"""Ports to measure with that are not ours to ship: TileGym's own, from the installed wheel."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_NAMES = """\
    /// tileport: kernel = _attention_sink_kernel
    /// tileport: q = Q
    /// tileport: k = K
    /// tileport: v = V
    /// tileport: sinks = Sinks
    /// tileport: out = Out
    /// tileport: start_q = Start_q
"""


def attention_port() -> str:
    """TileGym's published port of attention_sink, with the lines that tie its names to Python's."""
    spec = importlib.util.find_spec("tilegym")
    if spec is None or spec.origin is None:
        raise SystemExit("tilegym is not installed: pip install --no-deps tilegym==1.5.1")
    kernel = Path(spec.origin).parent / "ops/cutile_rs/attention_sink_kernel/kernel.rs"
    text = kernel.read_text()
    entry = "    #[cutile::entry("
    assert text.count(entry) == 1
    return text.replace(entry, _NAMES + entry)
