"""The stages of the ladder as data; a new stage is a new row, and a function in `climb`."""

from __future__ import annotations

from typing import Literal

import msgspec


class StageSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One stage.

    `short` is its name where there are few columns. `scope` says whether it runs once for the
    operator or once per variant. `after` are the stages whose results it needs. `budget_ms` is
    what it should take at p50 for a small kernel, in milliseconds. `behind` stages run only once
    the others are done and the text has rested.
    """

    name: str
    short: str
    scope: Literal["operator", "variant"]
    after: tuple[str, ...]
    budget_ms: float
    behind: bool = False


STAGES: tuple[StageSpec, ...] = (
    StageSpec(name="capture", short="cap", scope="operator", after=(), budget_ms=200),
    StageSpec(name="declare", short="decl", scope="variant", after=("capture",), budget_ms=5),
    StageSpec(name="compile", short="comp", scope="variant", after=("declare",), budget_ms=60),
    StageSpec(name="diff", short="diff", scope="variant", after=("compile",), budget_ms=20),
    StageSpec(
        name="build",
        short="bld",
        scope="operator",
        after=("compile",),
        budget_ms=10_000,
        behind=True,
    ),
)

STAGE_NAMES: tuple[str, ...] = tuple(stage.name for stage in STAGES)


def stage_named(name: str) -> StageSpec:
    """The stage called `name`; KeyError where there is none."""
    for stage in STAGES:
        if stage.name == name:
            return stage
    raise KeyError(name)


def stages_until(name: str | None) -> tuple[StageSpec, ...]:
    """The stages up to and including `name`, all of them where it is None."""
    if name is None:
        return STAGES
    return STAGES[: STAGE_NAMES.index(stage_named(name).name) + 1]
