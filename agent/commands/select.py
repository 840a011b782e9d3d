"""Which variant a command is about."""

from __future__ import annotations

import argparse

from tileport.agent.output import say
from tileport.verify.errors import TileportError
from tileport.verify.model import Variant
from tileport.verify.session import Session


def add_variant_options(parser: argparse.ArgumentParser) -> None:
    """`--kernel` and `--variant`."""
    parser.add_argument("--kernel", metavar="NAME", help="only this kernel")
    parser.add_argument(
        "--variant", metavar="ID", help="a variant's id, or text its label holds (`tileport cases`)"
    )


def selected(session: Session, options: argparse.Namespace) -> list[Variant]:
    """The variants that `--kernel` and `--variant` leave.

    Raises:
        TileportError: none is left.
    """
    found = [
        v
        for v in session.variants
        if (options.kernel is None or options.kernel in (v.kernel.name, v.kernel.qualname))
        and (
            options.variant is None
            or v.id.startswith(options.variant)
            or options.variant in v.label
        )
    ]
    if not found:
        raise TileportError(
            "no variant like that",
            where=session.operator.given,
            todo=f"`tileport cases {session.operator.given}` lists them",
        )
    return found


def one_of(session: Session, options: argparse.Namespace) -> Variant:
    """The first selected variant; says which it is where there are others."""
    found = selected(session, options)
    if len(found) > 1:
        first = found[0]
        say(
            f"tileport: {first.kernel.name} {first.label} {first.target} ({first.id}), "
            f"the first of {len(found)}; --variant chooses another"
        )
    return found[0]
