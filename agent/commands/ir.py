"""`tileport ir`: the Tile IR of one variant, of either side, raw or canonical."""

from __future__ import annotations

import argparse

from tileport.agent.commands.base import Command, add_capture_options, add_operator_argument
from tileport.agent.commands.select import add_variant_options, one_of
from tileport.agent.headless import resolve, settled, shared_servers
from tileport.agent.output import write
from tileport.agent.report import jsonout
from tileport.verify.safe_text import visible

EXAMPLES = """\
  tileport ir ops/softmax.py                              the reference, from Python
  tileport ir ops/softmax.py --side port --view canonical
  tileport ir ops/softmax.py --kernel softmax_online --variant f16
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    add_operator_argument(parser, many=False)
    add_capture_options(parser)
    add_variant_options(parser)
    parser.add_argument(
        "--side", choices=("reference", "port"), default="reference", help="which side (reference)"
    )
    parser.add_argument(
        "--view", choices=("raw", "canonical"), default="raw", help="which form (raw)"
    )


async def _run(options: argparse.Namespace) -> int:
    operator, config = resolve(options, options.operator)
    until = "compile" if options.side == "port" else "capture"
    async with (
        shared_servers(config) as servers,
        settled(operator, config, servers, until=until) as session,
    ):
        variant = one_of(session, options)
        text = await session.ir(variant.id, options.side, canonical=options.view == "canonical")
    if options.json:
        write(
            jsonout.render(
                {
                    "operator": operator.given,
                    "variant": variant.id,
                    "kernel": variant.kernel.name,
                    "target": variant.target,
                    "side": options.side,
                    "view": options.view,
                    "text": text,
                }
            )
        )
    else:
        write(visible(text) if text.endswith("\n") else visible(text) + "\n")
    return 0


COMMAND = Command(
    name="ir",
    summary="print the Tile IR of the reference or the port",
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)
