"""Pieces of operators that many tests use."""

from __future__ import annotations

from tileport.verify.model import CaptureReport, Variant

#: A kernel `add` and its wrapper `op(a, b)`.
ADD = """
import cuda.tile as ct
import torch

@ct.kernel
def add(a, b, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(a, (i,), (TILE,)) + ct.load(b, (i,), (TILE,)))

def op(a, b, tile=256):
    out = torch.empty_like(a)
    grid = (ct.cdiv(a.numel(), tile),)
    ct.launch(torch.cuda.current_stream(), grid, add, (a, b, out, tile))
    return out

def vector(n=1024, dtype=torch.float32, **options):
    return torch.randn(n, dtype=dtype, device="cuda", **options)
"""


def with_cases(*lines: str) -> str:
    """`ADD` with a `tileport_cases` of these lines."""
    body = "\n".join(f"    {line}" for line in lines)
    return f"{ADD}\ndef tileport_cases():\n{body}\n"


def kinds(report: CaptureReport) -> list[str]:
    """The kinds of the findings."""
    return [finding.kind for finding in report.findings]


def line_of(text: str, piece: str) -> int:
    """The line, from 1, that `piece` is in."""
    return text[: text.index(piece)].count("\n") + 1


def only(report: CaptureReport) -> Variant:
    """The one variant of a capture without findings."""
    assert not report.findings, report.findings
    (variant,) = report.variants
    return variant
