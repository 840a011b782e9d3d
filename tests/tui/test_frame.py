"""What is written to the terminal: only what changed, and always enough."""

import random

from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from tileport.tui.frame import Frame

STYLES = [None, Style(color="red"), Style(bgcolor="blue")]


def strip_of(text, style=None):
    return Strip([Segment(text, style)])


def whole(rows):
    region = Region(0, 0, 10, len(rows))
    return LayoutUpdate([[row] for row in rows], region)


def put(screen, frame, update):
    """Apply what the frame writes to a screen made of cells."""
    for x, y, strip in frame.changes(update):
        at = x
        for text, style, _ in strip:
            for char in text:
                size = 2 if char == "漢" else 1
                screen[y][at] = (char, style)
                if size == 2:
                    screen[y][at + 1] = ("", style)
                at += size
    return screen


def test_an_equal_frame_writes_nothing():
    frame = Frame()
    assert list(frame.changes(whole([strip_of("a" * 10)])))
    assert not list(frame.changes(whole([strip_of("a" * 10)])))


def test_one_changed_cell_is_one_cell_written():
    frame = Frame()
    list(frame.changes(whole([strip_of("aaaaaaaaaa")])))
    runs = list(frame.changes(whole([strip_of("aaaaXaaaaa")])))
    assert [(x, y, strip.text) for x, y, strip in runs] == [(4, 0, "X")]


def test_after_a_reset_everything_is_written_again():
    frame = Frame()
    list(frame.changes(whole([strip_of("aaaaaaaaaa")])))
    frame.reset()
    assert [s.text for _, _, s in frame.changes(whole([strip_of("aaaaaaaaaa")]))] == ["aaaaaaaaaa"]


def test_a_partial_update_writes_only_inside_its_spans():
    frame = Frame()
    list(frame.changes(whole([strip_of("aaaaaaaaaa")])))
    chops = [{0: strip_of("bbbbb"), 5: strip_of("bbbbb")}]
    runs = list(frame.changes(ChopsUpdate(chops, [(0, 2, 7)], [[5, 10]])))
    assert [(x, strip.text) for x, _, strip in runs] == [(2, "bbb"), (5, "bb")]


def test_a_wide_character_is_never_cut_in_half():
    frame = Frame()
    list(frame.changes(whole([strip_of("漢aaaaaaaa")])))
    runs = list(frame.changes(whole([strip_of("a漢aaaaaaa")])))
    assert [(x, strip.text) for x, _, strip in runs] == [(0, "a漢")]


def test_any_series_of_frames_leaves_the_terminal_as_the_last_one():
    chance = random.Random(7)
    frame = Frame()
    screen = [[(" ", None)] * 10 for _ in range(3)]
    truth = [[(" ", None)] * 10 for _ in range(3)]
    for _ in range(300):
        if chance.random() < 0.3:
            rows = []
            for y in range(3):
                text, at = "", 0
                while at < 10:
                    char = "漢" if chance.random() < 0.2 and at < 9 else chance.choice("abc")
                    text += char
                    at += 2 if char == "漢" else 1
                rows.append(strip_of(text, chance.choice(STYLES)))
                cells = []
                for char in text:
                    cells.append((char, rows[-1]._segments[0].style))
                    if char == "漢":
                        cells.append(("", rows[-1]._segments[0].style))
                truth[y] = cells
            put(screen, frame, whole(rows))
        else:
            y, low = chance.randrange(3), chance.randrange(8)
            high = chance.randrange(low + 1, 11)
            style = chance.choice(STYLES)
            text = "".join(chance.choice("abc") for _ in range(10))
            chops = [{0: strip_of(text, style)} for _ in range(3)]
            put(screen, frame, ChopsUpdate(chops, [(y, low, high)], [[10]] * 3))
            for x in range(low, high):
                truth[y][x] = (text[x], style)
        assert screen == truth
