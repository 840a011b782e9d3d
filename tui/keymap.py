"""Textual bindings and the words of the key bar, made from the registry of actions."""

from __future__ import annotations

from textual.binding import Binding

from tileport.tui.actions import Action, Place, actions_in, is_letter
from tileport.tui.text.parts import Part


def bindings(place: Place) -> list[Binding]:
    """The bindings of a screen. Keys that type nothing come before those of the focused widget."""
    made: list[Binding] = []
    for action in actions_in(place):
        for key in action.keys:
            if key == "escape":
                continue  # The widget in focus gives it up first; see the screens.
            made.append(
                Binding(key, action.name, action.title, show=False, priority=not is_letter(key))
            )
    return made


def letter_action(place: Place, key: str) -> Action | None:
    """The action of a letter key in a screen."""
    for action in actions_in(place):
        if key in action.keys and is_letter(key):
            return action
    return None


def bar(place: Place, *, in_editor: bool, width: int) -> list[Part]:
    """The key bar: the keys that act now, as many as fit in `width` cells."""
    shown = sorted((action for action in actions_in(place) if action.bar), key=lambda a: a.bar)
    entries: list[tuple[str, str]] = [("Esc", "leave the editor")] if in_editor else []
    last: list[tuple[str, str]] = []
    for action in shown:
        if in_editor and all(is_letter(key) for key in action.keys):
            continue
        names = action.shown.split(" ")
        entry = (names[-1] if in_editor else names[0], action.title)
        (last if action.name == "help" else entries).append(entry)
    room = width - sum(_size(entry) for entry in last)
    parts: list[Part] = []
    for entry in [*entries, *last]:
        if entry not in last:
            room -= _size(entry)
            if room < 0:
                continue
        parts += ((f" {entry[0]}", "ui.key"), (f" {entry[1]}  ", "ui.muted"))
    return parts


def _size(entry: tuple[str, str]) -> int:
    return len(entry[0]) + len(entry[1]) + 4
