"""The `tileport` command: options, exit codes, and errors as one line."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from tileport.agent.commands import (
    cache,
    capture,
    cases,
    check,
    completion,
    diff,
    doctor,
    ir,
)
from tileport.agent.commands.base import Command, common_options
from tileport.agent.output import say, write
from tileport.agent.report import jsonout
from tileport.agent.versions import version
from tileport.verify.errors import ExitCode, TileportError

COMMANDS: tuple[Command, ...] = (
    check.COMMAND,
    diff.COMMAND,
    ir.COMMAND,
    cases.COMMAND,
    capture.COMMAND,
    doctor.COMMAND,
    cache.COMMAND,
    completion.COMMAND,
)

_DESCRIPTION = """\
Port GPU kernels from cuTile Python to cuTile Rust, proven by their Tile IR.
The live session is `tileport-tui OPERATOR`."""

_EXIT_CODES = """\
exit codes:
  0 clean   1 findings at or above the threshold   2 bad usage or input
  3 a tool is missing   4 internal error   130 interrupted
"""


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="tileport",
        description=_DESCRIPTION,
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tileport {version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    common = common_options()
    for command in COMMANDS:
        sub = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=f"examples:\n{command.examples}\n{_EXIT_CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[common],
        )
        command.configure(sub)
        sub.set_defaults(run=command.run)
    return parser


def _start_log(path: str | None) -> None:
    """Send the `tileport` loggers to `path`; without one they stay silent below warnings."""
    logger = logging.getLogger("tileport")
    handler: logging.Handler = logging.NullHandler()
    if path is not None:
        try:
            handler = logging.FileHandler(Path(path), encoding="utf-8")
        except OSError as error:
            raise TileportError(
                f"cannot write the log file ({error.strerror})",
                where=path,
                todo="choose another --log-file",
            ) from error
        handler.setFormatter(
            logging.Formatter("%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s")
        )
        logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    logger.propagate = False


async def _wait(result: object) -> int:
    assert inspect.isawaitable(result)
    code: int = await result
    return code


def _fail(error: TileportError, *, as_json: bool) -> int:
    say(f"tileport: {error.line()}")
    if as_json:
        write(
            jsonout.render(
                {
                    "error": {
                        "what": error.what,
                        "where": error.where,
                        "todo": error.todo,
                    },
                    "exit_code": int(error.code),
                }
            )
        )
    return int(error.code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    # What follows `--` is a command of the person's own: none of its words are ours.
    split = words.index("--") if "--" in words else len(words)
    options = build_parser().parse_args(words[:split])
    options.command_words = words[split + 1 :]
    try:
        if options.command_words and options.command != "capture":
            raise TileportError(f"`--` has no meaning for {options.command}")
        _start_log(options.log_file)
        result = options.run(options)
        return result if isinstance(result, int) else asyncio.run(_wait(result))
    except TileportError as error:
        return _fail(error, as_json=options.json)
    except (KeyboardInterrupt, asyncio.CancelledError):
        say("tileport: interrupted")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader went away (`tileport ir ... | head`): not an error of ours.
        sys.stderr.close()
        return int(ExitCode.CLEAN)
    except Exception as error:  # The last line of defence: a fault of ours is told as one.
        logging.getLogger("tileport").exception("internal error")
        hint = "the log has the details" if options.log_file else "run again with --log-file FILE"
        return _fail(
            TileportError(
                f"internal error: {type(error).__name__}: {error}",
                todo=hint,
                code=ExitCode.INTERNAL,
            ),
            as_json=options.json,
        )


if __name__ == "__main__":
    sys.exit(main())
