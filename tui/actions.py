"""The one registry of what a person can do: keys, words, and where each acts.

Bindings, the key bar and the help screen are all made from it, and a key means one action in
every screen (a test holds that).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Place(StrEnum):
    """The screens that actions act in."""

    LIVE = "live"
    VARIANTS = "variants"
    FACTS = "specialization"
    TEXT = "text"
    HELP = "help"


class Action(NamedTuple):
    """One action.

    `keys` are Textual key names. A key that is a single printable character acts only when the
    focus is outside the editor; all others act everywhere. `shown` is how the key is written for
    people. `bar` orders the key bar, smaller first; 0 leaves it out.
    """

    name: str
    keys: tuple[str, ...]
    shown: str
    title: str
    help: str
    places: frozenset[Place]
    bar: int = 0


_LIVE = frozenset({Place.LIVE})
_LISTS = frozenset({Place.LIVE, Place.FACTS})
_ALL = frozenset(Place)
_OVER = _ALL - _LIVE

ACTIONS: tuple[Action, ...] = (
    Action("save", ("ctrl+s",), "^S", "save", "Save the Rust file.", _LIVE, 1),
    Action(
        "variants",
        ("f2",),
        "F2",
        "variant",
        "Choose the variant in view: one specialization of one kernel for one target.",
        frozenset({Place.LIVE, Place.VARIANTS}),
        2,
    ),
    Action(
        "facts",
        ("f3",),
        "F3",
        "specialization",
        "What Python fixed for this variant, and where the Rust declares it.",
        frozenset({Place.LIVE, Place.FACTS}),
        3,
    ),
    Action(
        "ir_view",
        ("f6",),
        "F6",
        "raw/canonical",
        "Show the canonical difference, the raw IR of Python, or the raw IR of the port.",
        _LIVE,
        4,
    ),
    Action(
        "next",
        ("n",),
        "n",
        "next",
        "Go to the next finding; all panes follow.",
        _LISTS,
        5,
    ),
    Action("explain", ("x",), "x", "explain", "Read the finding in full.", _LISTS, 6),
    Action("edit", ("e",), "e", "edit", "Go to the Rust editor.", _LIVE, 7),
    Action(
        "open",
        ("o",),
        "o",
        "open in $EDITOR",
        "Open the file of the focused pane in $VISUAL or $EDITOR, at the cursor.",
        _LIVE,
        8,
    ),
    Action(
        "undo_save",
        ("u",),
        "u",
        "undo save",
        "Put the Rust file back to the bytes it had before the last save.",
        _LIVE,
        9,
    ),
    Action(
        "search",
        ("slash", "ctrl+f"),
        "/ ^F",
        "search",
        "Search in the focused pane. Enter: next match, Up: previous, Esc: close.",
        _LIVE,
        10,
    ),
    Action(
        "help",
        ("question_mark", "f1"),
        "? F1",
        "help",
        "This screen.",
        _ALL - {Place.VARIANTS},
        11,
    ),
    Action(
        "quit", ("q", "ctrl+q"), "q ^Q", "quit", "Leave; unsaved text is asked about.", _LIVE, 12
    ),
    Action("pane_1", ("1",), "1", "Python", "Go to the Python source.", _LIVE),
    Action("pane_2", ("2",), "2", "Rust", "Go to the Rust port.", _LIVE),
    Action("pane_3", ("3",), "3", "IR", "Go to the IR difference.", _LIVE),
    Action("pane_4", ("4",), "4", "Findings", "Go to the list of findings.", _LIVE),
    Action(
        "leave",
        ("escape",),
        "Esc",
        "leave",
        "Leave the editor (then letters act), or close what is open.",
        _ALL,
    ),
    Action(
        "redraw",
        ("ctrl+l",),
        "^L",
        "redraw",
        "Draw the whole screen again, if something else wrote on it.",
        _LIVE,
    ),
)

BY_NAME: dict[str, Action] = {action.name: action for action in ACTIONS}


def is_letter(key: str) -> bool:
    """Whether a key types a character, so that it acts only outside the editor."""
    return len(key) == 1 or key in {"slash", "question_mark"}


def actions_in(place: Place) -> tuple[Action, ...]:
    """The actions of one screen, in the order of the registry."""
    return tuple(action for action in ACTIONS if place in action.places)
