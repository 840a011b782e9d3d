"""Themes are data; a bad file is one line."""

import pytest

from tileport.tui.themes import (
    DARK,
    LIGHT,
    TERMINAL,
    builtin_themes,
    default_theme,
    find_theme,
    load_theme,
)
from tileport.verify.errors import TileportError


def test_all_themes_know_the_same_styles():
    names = [set(loaded.palette.styles) for loaded in builtin_themes().values()]
    assert set(builtin_themes()) == {DARK, LIGHT, TERMINAL}
    assert all(name == names[0] for name in names)


def test_severities_differ_in_every_theme():
    for loaded in builtin_themes().values():
        styles = [loaded.palette[f"severity.{s}"] for s in ("wrong", "unsafe", "slow", "note")]
        assert len(set(styles)) == 4


def contrast(one, other):
    def light(triplet):
        parts = [c / 255 for c in triplet]
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", [DARK, LIGHT])
def test_what_carries_meaning_is_readable(name):
    palette = builtin_themes()[name].palette
    background = palette.base.bgcolor.get_truecolor()
    for key, style in palette.styles.items():
        group = key.split(".")[0]
        if style.color is None or group not in {"severity", "verdict", "mark", "syntax", "diff"}:
            continue
        if key in {"diff.fold", "syntax.comment", "syntax.doc", "syntax.punctuation"}:
            least = 3.5
        else:
            least = 4.5
        behind = style.bgcolor.get_truecolor() if style.bgcolor else background
        assert contrast(style.color.get_truecolor(), behind) >= least, key


def test_the_terminal_theme_says_everything_without_colour():
    palette = builtin_themes()[TERMINAL].palette
    for key in ("ui.cursor", "ui.selection", "ui.chosen", "ui.match_current"):
        assert palette[key].reverse
    assert palette["ui.linked"].bold
    assert palette["ui.title_focused"].underline


def test_a_theme_of_the_user_changes_only_what_it_names(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine"\n[severity]\nwrong = "bold magenta"\n[colors]\nerror = "#ff00ff"\n'
    )
    loaded = load_theme(file)
    assert loaded.theme.error == "#ff00ff"
    assert loaded.palette["severity.wrong"].color.name == "magenta"
    assert loaded.palette["severity.slow"] == builtin_themes()[DARK].palette["severity.slow"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = ", "bad theme"),
        ('name = "x"\ncolour = 1\n', "colour"),
        ('name = "x"\n[severity]\nwrnog = "red"\n', "severity.wrnog is unknown"),
        ('name = "x"\n[severity]\nwrong = "rde on"\n', "severity.wrong = 'rde on' is no style"),
        ('name = "x"\n[colors]\nerror = "reddish"\n', "colors.error = 'reddish' is no colour"),
        ('name = "x"\n[colors]\neror = "red"\n', "colors.eror is unknown"),
    ],
)
def test_a_bad_theme_is_one_line_that_says_where(tmp_path, text, says):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(TileportError) as caught:
        load_theme(file)
    line = caught.value.line()
    assert says in line
    assert str(file) in line
    assert "\n" not in line


def test_themes_are_found_by_name_by_path_and_in_the_users_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "tileport" / "themes"
    folder.mkdir(parents=True)
    (folder / "sea.toml").write_text('name = "sea"\n')
    assert find_theme("light").palette.name == LIGHT
    assert find_theme("sea").palette.name == "sea"
    assert find_theme(str(folder / "sea.toml")).palette.name == "sea"
    with pytest.raises(TileportError, match="no theme 'none'"):
        find_theme("none")


@pytest.mark.parametrize(
    ("colors", "environ", "name"),
    [
        ("truecolor", {}, DARK),
        ("256", {"COLORFGBG": "15;0"}, DARK),
        ("256", {"COLORFGBG": "0;15"}, LIGHT),
        ("256", {"COLORFGBG": "0;default;15"}, LIGHT),
        ("standard", {}, TERMINAL),
        (None, {}, TERMINAL),
        ("truecolor", {"NO_COLOR": "1"}, TERMINAL),
    ],
)
def test_the_theme_suits_the_terminal(colors, environ, name):
    assert default_theme(colors, environ) == name
