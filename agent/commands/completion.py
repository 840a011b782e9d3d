"""`tileport completion SHELL`: a completion script on standard output."""

from __future__ import annotations

import argparse

import shtab

from tileport.agent.commands.base import Command

EXAMPLES = """\
  tileport completion bash > ~/.local/share/bash-completion/completions/tileport
  tileport completion zsh  > ~/.zfunc/_tileport
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=shtab.SUPPORTED_SHELLS)


def _run(options: argparse.Namespace) -> int:
    # Imported here: the parser is built from all commands, this one among them.
    from tileport.agent.cli import build_parser  # noqa: PLC0415

    print(shtab.complete(build_parser(), options.shell))  # noqa: T201
    return 0


COMMAND = Command(
    name="completion",
    summary="print a shell completion script",
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)
