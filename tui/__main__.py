"""`tileport-tui OPERATOR`: the live session."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from tileport.verify.errors import ExitCode, TileportError

if TYPE_CHECKING:
    from tileport.tui.app import TileportApp

_EXAMPLES = """\
examples:
  tileport-tui ops/mla_decode.py                     port beside it: ops/mla_decode.rs
  tileport-tui ops/softmax.py --port rust/softmax.rs
  tileport-tui tilegym.ops.cutile.softmax            an operator of an installed module
  tileport-tui ops/matmul.py --target sm_90 --theme light

keys: Esc leaves the editor, ? shows all keys, q quits (unsaved text is asked about).
The same checks without a screen: tileport check OPERATOR
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, without the usage block before it."""
        print(f"tileport-tui: {message}; see tileport-tui --help", file=sys.stderr)  # noqa: T201
        raise SystemExit(int(ExitCode.USAGE))


def parser() -> argparse.ArgumentParser:
    """The command line of the app."""
    made = _Parser(
        prog="tileport-tui",
        description="Port a cuTile Python operator to cuTile Rust, checked as you type.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("operator", help="a Python file, or the dotted name of a module")
    made.add_argument("--port", metavar="FILE", help="the Rust port (default: beside the operator)")
    made.add_argument("--cases", metavar="FILE", help="the file with tileport_cases()")
    made.add_argument(
        "--target",
        metavar="ARCH",
        action="append",
        default=[],
        help="GPU architecture, as sm_90; may be given several times",
    )
    made.add_argument(
        "--theme", metavar="NAME", help="dark, light, terminal, or a .toml file (default: fitting)"
    )
    made.add_argument("--log-file", metavar="FILE", help="write a log there")
    made.add_argument("--version", action="store_true", help="print the version and exit")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the app; returns its exit code. Bad input is one line on stderr, before it opens."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--version" in arguments:
        from importlib.metadata import version  # noqa: PLC0415  # only here

        print(f"tileport {version('tileport')}")  # noqa: T201
        return int(ExitCode.CLEAN)
    options = parser().parse_args(arguments)
    try:
        _need_terminal()
        _log_to(options.log_file)
        app = make_app(options)
    except TileportError as error:
        print(f"tileport-tui: {error.line()}", file=sys.stderr)  # noqa: T201
        return int(error.code)
    return _run(app)


def make_app(options: argparse.Namespace) -> TileportApp:
    """The app for parsed options (`parser`); it starts nothing before it runs.

    Raises:
        TileportError: bad input or bad settings.
    """
    from tileport.verify.config import load_config  # noqa: PLC0415  # not for --help
    from tileport.verify.operator import resolve_operator  # noqa: PLC0415

    operator = resolve_operator(options.operator, port=options.port, cases=options.cases)
    config = load_config(operator.workspace)
    from tileport.tui.app import TileportApp  # noqa: PLC0415  # Textual, not for bad input
    from tileport.tui.files import open_text  # noqa: PLC0415
    from tileport.tui.session_like import SessionLike  # noqa: PLC0415
    from tileport.tui.themes import find_theme, fitting_theme  # noqa: PLC0415

    theme = find_theme(options.theme) if options.theme else fitting_theme()

    def make_session(notify: object) -> SessionLike:
        import msgspec  # noqa: PLC0415  # after the first paint

        from tileport.verify.session import Session  # noqa: PLC0415

        targets = tuple(options.target) or config.targets
        chosen = msgspec.structs.replace(config, targets=targets)
        return Session(operator, chosen, notify=notify)  # type: ignore[arg-type]  # the callback

    return TileportApp(
        operator, open_text(operator.source), open_text(operator.port), make_session, theme
    )


def _need_terminal() -> None:
    todo = "without a screen, use: tileport check OPERATOR"
    if not (
        sys.__stdin__ and sys.__stdin__.isatty() and sys.__stderr__ and sys.__stderr__.isatty()
    ):
        raise TileportError("this is not a terminal", todo=todo)
    if os.environ.get("TERM", "") in {"", "dumb"}:
        raise TileportError("this terminal (TERM is dumb or unset) cannot show the app", todo=todo)


def _log_to(path: str | None) -> None:
    if path is None:
        return
    import logging  # noqa: PLC0415  # only with a log

    try:
        logging.basicConfig(
            filename=path,
            level=logging.INFO,
            format="%(asctime)s %(levelname)s %(name)s %(message)s",
        )
    except OSError as error:
        raise TileportError(f"cannot write the log: {error.strerror}", where=path) from error


def _run(app: TileportApp) -> int:
    app.run()
    # Textual ends with 1 after an error of the app itself, which it has then printed.
    code = app.return_code or 0
    return int(ExitCode.INTERNAL) if code == 1 else code


if __name__ == "__main__":
    raise SystemExit(main())
