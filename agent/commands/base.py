"""What a tileport command is, and the options that all of them share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import shtab

#: File completion for operator arguments in the generated shell completions.
PYTHON_FILE = shtab.FILE


@dataclass(frozen=True)
class Command:
    """One subcommand.

    `run` gets the parsed options and returns an exit code, at once or as an awaitable.
    """

    name: str
    summary: str
    examples: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | Awaitable[int]]


def common_options() -> argparse.ArgumentParser:
    """The options every command takes, as a parent parser."""
    parent = argparse.ArgumentParser(add_help=False)
    group = parent.add_argument_group("on every command")
    group.add_argument("--json", action="store_true", help="print JSON, all of what a person sees")
    group.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colour (auto)"
    )
    group.add_argument("-v", "--verbose", action="store_true", help="show notes and details too")
    group.add_argument("--log-file", metavar="FILE", help="write a debug log there")
    return parent


def add_operator_argument(parser: argparse.ArgumentParser, *, many: bool) -> None:
    """The operator argument: a path or a module name, one or several."""
    text = "a Python file (ops/mla_decode.py) or a module (tilegym.ops.cutile.softmax)"
    if many:
        action = parser.add_argument("operator", nargs="+", metavar="OPERATOR", help=text)
    else:
        action = parser.add_argument("operator", metavar="OPERATOR", help=text)
    action.complete = PYTHON_FILE  # type: ignore[attr-defined] # shtab's way to mark file arguments


def add_capture_options(parser: argparse.ArgumentParser) -> None:
    """Options about which variants exist."""
    parser.add_argument(
        "--target",
        action="append",
        metavar="SM",
        help="GPU architecture, such as sm_90; repeatable (the local GPU, else sm_100 and sm_90)",
    )
    parser.add_argument(
        "--port", metavar="FILE.rs", help="the Rust port, where it is not beside the operator"
    )
    parser.add_argument(
        "--cases", metavar="FILE.py", help="the case file, where it is not beside the operator"
    )
    parser.add_argument(
        "--all-candidates",
        action="store_true",
        help="take every tuning candidate of an autotuned kernel as a variant in full",
    )


def terminal_width(default: int = 100) -> int:
    """Columns of the terminal, or `default` where there is none."""
    try:
        return os.get_terminal_size().columns
    except OSError:
        return default
