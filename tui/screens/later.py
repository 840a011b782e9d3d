"""The screens that are not needed for the first paint, imported when they are opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.screen import ModalScreen

    from tileport.tui.answers import Answer
    from tileport.tui.session_like import SessionLike
    from tileport.tui.text.parts import Parts
    from tileport.verify.model import Variant
    from tileport.verify.port import FactRow

# ruff: noqa: PLC0415  # this is what the module is for


def ask(title: str, lines: list[str], answers: list[Answer]) -> ModalScreen[str]:
    """A question with a few answers."""
    from tileport.tui.screens.ask import AskScreen

    return AskScreen(title, lines, answers)


def pager(title: str, rows: list[Parts], *, fold: bool = True) -> ModalScreen[None]:
    """Text to read."""
    from tileport.tui.screens.pager import PagerScreen

    return PagerScreen(title, rows, fold=fold)


def help_screen() -> ModalScreen[None]:
    """All keys."""
    from tileport.tui.screens.pager import HelpScreen

    return HelpScreen()


def variants(session: SessionLike) -> ModalScreen[str]:
    """The variant picker."""
    from tileport.tui.screens.variants import VariantsScreen

    return VariantsScreen(session)


def specialization(variant: Variant | None, facts: tuple[FactRow, ...]) -> ModalScreen[int]:
    """The specialization of a variant."""
    from tileport.tui.screens.specialization import SpecializationScreen

    return SpecializationScreen(variant, facts)
