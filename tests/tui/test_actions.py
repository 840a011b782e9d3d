"""The one registry: a key means one thing, and everything shown can be done."""

import inspect

from tileport.tui import keymap
from tileport.tui.actions import ACTIONS, BY_NAME, Place, actions_in, is_letter
from tileport.tui.app import TileportApp
from tileport.tui.screens.live import LiveScreen
from tileport.tui.screens.pager import HelpScreen, PagerScreen, help_rows
from tileport.tui.screens.specialization import SpecializationScreen
from tileport.tui.screens.variants import VariantsScreen

SCREENS = {
    Place.LIVE: LiveScreen,
    Place.VARIANTS: VariantsScreen,
    Place.FACTS: SpecializationScreen,
    Place.TEXT: PagerScreen,
    Place.HELP: HelpScreen,
}
#: Keys of screens.md whose features come later, and the actions they are kept for.
LATER = {"d", "g", "a", "A", "r", "f", "f4", "f5", "s", "c"}


def test_a_key_means_one_action_in_all_screens():
    owners = {}
    for action in ACTIONS:
        for key in action.keys:
            assert owners.setdefault(key, action.name) == action.name
    assert len(BY_NAME) == len(ACTIONS)


def test_keys_of_later_features_are_neither_bound_nor_shown():
    assert not LATER & {key for action in ACTIONS for key in action.keys}


def test_every_action_of_a_screen_is_a_method_of_it():
    for place, screen in SCREENS.items():
        for action in actions_in(place):
            if action.name == "leave":
                continue
            assert callable(getattr(screen, f"action_{action.name}", None)), (place, action.name)


def test_no_screen_binds_a_key_that_the_registry_does_not_know():
    known = {key for action in ACTIONS for key in action.keys}
    plain = {"up", "down", "left", "right", "enter", "pageup", "pagedown", "home", "end"}
    plain |= {"tab", "shift+tab", "ctrl+c", "super+c", "escape"}
    for screen in (*SCREENS.values(), TileportApp):
        for binding in screen.BINDINGS:
            key = binding.key if hasattr(binding, "key") else binding[0]
            for one in key.split(","):
                assert one in known | plain, (screen.__name__, one)


def test_letters_wait_for_the_focused_widget_and_other_keys_come_first():
    for place in Place:
        for binding in keymap.bindings(place):
            assert binding.priority is not is_letter(binding.key)


def test_keys_of_the_editor_for_typing_are_not_taken_by_actions():
    taken = {key for action in ACTIONS for key in action.keys if not is_letter(key)}
    editing = {"ctrl+z", "ctrl+y", "ctrl+x", "ctrl+c", "ctrl+v", "ctrl+a", "ctrl+e", "ctrl+k"}
    assert not taken & (editing | {"ctrl+u", "ctrl+w", "ctrl+d", "tab", "enter"})


def test_no_action_needs_a_key_that_tmux_or_screen_keep_or_that_ends_programs():
    taken = {key for action in ACTIONS for key in action.keys}
    assert not taken & {"ctrl+b", "ctrl+a", "ctrl+c", "ctrl+z", "ctrl+d", "ctrl+backslash"}
    assert not any("shift+" in key or "super+" in key for key in taken)


def test_the_help_names_every_action():
    text = "\n".join("".join(part for part, _ in row) for row in help_rows())
    for action in ACTIONS:
        assert action.shown in text
        assert action.help in text


def test_the_bar_always_has_help_and_fits():
    for width in (20, 40, 80, 120, 200):
        for in_editor in (True, False):
            parts = keymap.bar(Place.LIVE, in_editor=in_editor, width=width)
            text = "".join(part for part, _ in parts)
            assert "help" in text
            assert len(text) <= max(width, 12)


def test_the_bar_of_the_editor_shows_no_letters():
    parts = keymap.bar(Place.LIVE, in_editor=True, width=200)
    keys = [text.strip() for text, style in parts if style == "ui.key"]
    assert keys
    assert all(len(key) > 1 for key in keys)


def test_actions_are_documented():
    for action in ACTIONS:
        assert action.help.endswith(".")
        method = getattr(LiveScreen, f"action_{action.name}", None)
        assert method is None or inspect.getdoc(method)
