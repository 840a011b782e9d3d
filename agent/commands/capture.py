"""`tileport capture`: capture an operator anew, or record what any Python command launches."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from tileport.agent.commands.base import Command, add_capture_options
from tileport.agent.commands.cases import report_lines, variant_lines
from tileport.agent.headless import resolve, settled, shared_servers
from tileport.agent.output import Progress, say, write
from tileport.agent.report import jsonout
from tileport.agent.report.style import style_for
from tileport.verify.capture.command import capture_command
from tileport.verify.capture.request import CommandRequest
from tileport.verify.capture.targets import default_targets
from tileport.verify.config import load_config
from tileport.verify.errors import ExitCode, TileportError
from tileport.verify.ladder.recorded import keep_recording
from tileport.verify.model import CaptureReport
from tileport.verify.workspace import find_workspace, open_state

EXAMPLES = """\
  tileport capture ops/softmax.py                    run its cases again
  tileport capture -- python examples/run_softmax.py
  tileport capture -- pytest tests/test_softmax.py -k f16
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operator",
        nargs="*",
        metavar="OPERATOR | -- COMMAND",
        help="an operator, or after -- any Python command, whose launches are recorded",
    )
    add_capture_options(parser)
    parser.add_argument(
        "--deadline", type=float, metavar="S", help="seconds the command may take, per target (600)"
    )


def _show(report: CaptureReport, options: argparse.Namespace) -> int:
    if options.json:
        write(jsonout.render(report))
    else:
        style = style_for(options.color)
        lines = [*report_lines(report, style), *variant_lines(list(report.variants), style)]
        write("".join(line + "\n" for line in lines))
    return int(ExitCode.CLEAN if report.variants else ExitCode.FINDINGS)


async def _record(options: argparse.Namespace, command: tuple[str, ...]) -> int:
    workspace = find_workspace(Path())
    config = load_config(str(workspace))
    state = open_state(workspace)
    if state.notice:
        say(f"tileport: {state.notice}")
    targets = tuple(options.target or config.targets) or await default_targets()
    request = CommandRequest(
        workspace=str(workspace),
        targets=targets,
        blobs=str(state.blobs),
        all_candidates=options.all_candidates or config.all_candidates,
        bytecode_version=config.bytecode_version,
    )
    if options.deadline is not None:
        request = msgspec.structs.replace(request, deadline=options.deadline)
    report = await capture_command(command, request)
    keep_recording(state, command, report)
    return _show(report, options)


async def _again(options: argparse.Namespace) -> int:
    operator, config = resolve(options, options.operator[0])
    progress = Progress(enabled=not options.json)
    async with (
        shared_servers(config) as servers,
        settled(operator, config, servers, until="capture", progress=progress) as session,
    ):
        await session.recapture()
        await session.settle()
        if session.report is None:
            raise TileportError("nothing was captured", where=operator.given)
        return _show(session.report, options)


async def _run(options: argparse.Namespace) -> int:
    words: list[str] = options.operator
    if options.command_words:
        if words:
            raise TileportError(
                "an operator and a command", todo="give one: OPERATOR, or -- COMMAND"
            )
        return await _record(options, tuple(options.command_words))
    if len(words) != 1:
        raise TileportError(
            "nothing to capture" if not words else "several operators",
            todo="give one OPERATOR, or -- and a command",
        )
    return await _again(options)


COMMAND = Command(
    name="capture",
    summary="capture an operator anew, or record what a command launches",
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)
