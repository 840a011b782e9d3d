"""The app on a scripted session, as a program: `python -m tests.tui.scripted FOLDER`.

For tests and measurements that need a real terminal but no compiler.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.tui.fake import FakeSession
from tileport.tui.app import TileportApp
from tileport.tui.files import open_text
from tileport.tui.themes import find_theme, fitting_theme
from tileport.verify.operator import Operator


def operator_in(folder: Path) -> Operator:
    """The operator whose files are `ops/softmax.py` and `ops/softmax.rs` in a folder."""
    return Operator(
        given="ops/softmax.py",
        kind="path",
        name="softmax",
        key="softmax",
        source=str(folder / "ops" / "softmax.py"),
        cases=None,
        port=str(folder / "ops" / "softmax.rs"),
        workspace=str(folder),
    )


class TellingSession(FakeSession):
    """Writes what it holds beside the operator when it is closed."""

    async def close(self) -> None:
        await super().close()
        (Path(self.operator.workspace) / "closed").write_text(self.text or "")


def main() -> int:
    operator = operator_in(Path(sys.argv[1]))
    theme = find_theme(sys.argv[2]) if len(sys.argv) > 2 else fitting_theme()
    app = TileportApp(
        operator,
        open_text(operator.source),
        open_text(operator.port),
        lambda notify: TellingSession(operator, notify),
        theme,
    )
    app.run()
    return app.return_code or 0


if __name__ == "__main__":
    raise SystemExit(main())
