"""A picture of the app on a real session, for the README.

    python -m tests.tools.screenshot docs/live.svg

Copies ops/mla_decode, opens the app on it, changes a hint and a constant of the Rust as another
editor would, waits for the findings, and writes the screen as SVG.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from textual.pilot import Pilot

from tileport.tui.__main__ import make_app, parser
from tileport.verify.session import Session

OPS = Path(__file__).resolve().parents[2] / "ops"
#: What is changed in the port: one slow thing, one wrong one.
CHANGES = (
    ("const KV_LATENCY: i32 = 4;", "const KV_LATENCY: i32 = 2;"),
    ("const LN_2: f32 = 0.6931471805599453;", "const LN_2: f32 = 0.6931;"),
)


async def _compared(session: Session, pilot: Pilot[None]) -> None:
    """Wait for the verdict over all variants; `cargo check` may go on."""
    while session.verdict().pending or not session.verdict().total:
        await pilot.pause(0.1)


async def _picture(size: tuple[int, int]) -> str:
    app = make_app(parser().parse_args(["ops/mla_decode.py", "--theme", "dark"]))
    async with app.run_test(size=size) as pilot:
        while not isinstance(app.live.session, Session) or app.live.session.report is None:
            await pilot.pause(0.1)
        session = app.live.session
        await _compared(session, pilot)
        text = session.text
        assert text is not None
        for old, new in CHANGES:
            assert old in text, f"{old!r} is not in the port any more"
            text = text.replace(old, new, 1)
        # As from another editor: the app takes it over into its own.
        await asyncio.to_thread(Path(session.operator.port).write_text, text)
        await pilot.pause(1.0)
        await _compared(session, pilot)
        await pilot.press("escape", "n")
        await pilot.pause(1.0)
        return app.export_screenshot(title="tileport-tui ops/mla_decode.py", simplify=True)


def main() -> None:
    """Make the picture."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("output", type=Path)
    arguments.add_argument("--size", default="172x46", metavar="COLUMNSxROWS")
    options = arguments.parse_args()
    columns, _, rows = options.size.partition("x")
    output = options.output.resolve()
    with tempfile.TemporaryDirectory(prefix="tileport-picture-") as name:
        folder = Path(name)
        (folder / "pyproject.toml").write_text("[tool.tileport]\n")
        (folder / "ops").mkdir()
        for file in OPS.glob("mla_decode.*"):
            shutil.copy(file, folder / "ops")
        os.chdir(folder)
        output.write_text(asyncio.run(_picture((int(columns), int(rows)))))


if __name__ == "__main__":
    main()
