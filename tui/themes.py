"""Themes as data: TOML files turned into a Textual theme and a palette of Rich styles.

The app's own are in `tileport.themes`; more come from a folder of the user's, and a theme there
may leave out whatever it does not change.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path

import msgspec
from rich.errors import StyleSyntaxError
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme

from tileport.verify.errors import TileportError

DARK = "tileport-dark"
LIGHT = "tileport-light"
#: For terminals with 16 colours or none.
TERMINAL = "tileport-terminal"

_Styles = dict[str, str]


class ThemeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A theme as written in its file."""

    name: str
    dark: bool = True
    ansi: bool = False
    colors: _Styles = {}
    #: Variables of Textual's own style sheets.
    variables: _Styles = {}
    ui: _Styles = {}
    verdict: _Styles = {}
    severity: _Styles = {}
    state: _Styles = {}
    mark: _Styles = {}
    diff: _Styles = {}
    syntax: _Styles = {}


_GROUPS = ("ui", "verdict", "severity", "state", "mark", "diff", "syntax")
_COLORS = (
    "primary",
    "secondary",
    "accent",
    "success",
    "warning",
    "error",
    "foreground",
    "background",
    "surface",
    "panel",
)


@dataclass(frozen=True)
class Palette:
    """Every style the widgets use, by group and name (`palette["severity.wrong"]`)."""

    name: str
    dark: bool
    ansi: bool
    styles: Mapping[str, Style] = field(repr=False)

    def __getitem__(self, key: str) -> Style:
        return self.styles[key]

    @property
    def base(self) -> Style:
        """Text on the background of a pane."""
        return self.styles["ui.text"]

    @property
    def chrome(self) -> Style:
        """Text on the background of the bars around the panes."""
        return self.styles["ui.chrome"]


class LoadedTheme(msgspec.Struct, frozen=True):
    """A theme in both forms."""

    theme: Theme
    palette: Palette


def user_folder() -> Path:
    """Where a user's own themes lie: `$XDG_CONFIG_HOME/tileport/themes`."""
    config = os.environ.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "tileport" / "themes"


@lru_cache(maxsize=1)
def builtin_themes() -> dict[str, LoadedTheme]:
    """The themes that come with the app, by name."""
    loaded: dict[str, LoadedTheme] = {}
    for entry in sorted(resources.files("tileport.themes").iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".toml"):
            file = _decode(entry.read_bytes(), entry.name)
            loaded[file.name] = _build(file, None, entry.name)
    return loaded


def load_theme(path: Path) -> LoadedTheme:
    """A theme from one file, what it leaves out taken from the dark or the light one.

    Raises:
        TileportError: the file cannot be read, is not TOML, or names an unknown key, colour or
            style; one line that says which.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TileportError(f"cannot read the theme: {error.strerror}", where=str(path)) from error
    file = _decode(data, str(path))
    return _build(file, builtin_themes()[DARK if file.dark else LIGHT], str(path))


def find_theme(name: str) -> LoadedTheme:
    """The theme called `name`: built in, a file `NAME.toml` of the user's, or a path to a file.

    Raises:
        TileportError: there is none, or its file is bad.
    """
    built_in = builtin_themes()
    for candidate in (name, f"tileport-{name}"):
        if candidate in built_in:
            return built_in[candidate]
    path = Path(name) if name.endswith(".toml") else user_folder() / f"{name}.toml"
    if path.is_file():
        return load_theme(path)
    known = ", ".join(built_in)
    raise TileportError(
        f"no theme {name!r}", todo=f"known are {known}; or put {name}.toml in {user_folder()}"
    )


def fitting_theme() -> LoadedTheme:
    """The theme that suits the terminal this process runs in."""
    from rich.console import Console  # noqa: PLC0415  # only where a theme is to be chosen

    colors = Console(force_terminal=True, file=io.StringIO()).color_system
    return builtin_themes()[default_theme(colors, os.environ)]


def default_theme(color_system: str | None, environ: Mapping[str, str]) -> str:
    """The theme that suits a terminal: its colours, and its background where it says so.

    `color_system` is Rich's name (`truecolor`, `256`, `standard`, None). `COLORFGBG` is set by
    some terminals to "foreground;background", 7 and 9 to 15 being light.
    """
    if "NO_COLOR" in environ or color_system not in ("truecolor", "256", "eight_bit"):
        return TERMINAL
    background = environ.get("COLORFGBG", "").rsplit(";", 1)[-1]
    light = background.isdigit() and int(background) in {7, *range(9, 16)}
    return LIGHT if light else DARK


def _decode(data: bytes, where: str) -> ThemeFile:
    try:
        return msgspec.toml.decode(data, type=ThemeFile)
    except (msgspec.DecodeError, ValueError) as error:
        raise TileportError(f"bad theme: {error}", where=where) from error


def _build(file: ThemeFile, base: LoadedTheme | None, where: str) -> LoadedTheme:
    colors: dict[str, str | None] = {}
    for name, value in file.colors.items():
        if name not in _COLORS:
            raise TileportError(f"bad theme: colors.{name} is unknown", where=where)
        try:
            Color.parse(value)
        except ColorParseError as error:
            raise TileportError(
                f"bad theme: colors.{name} = {value!r} is no colour", where=where
            ) from error
        colors[name] = value
    for name in _COLORS:
        if name not in colors:
            if base is None:
                raise TileportError(f"bad theme: colors.{name} is missing", where=where)
            colors[name] = getattr(base.theme, name)
    primary = colors.pop("primary")
    theme = Theme(
        name=file.name,
        primary=primary or "",
        dark=file.dark,
        ansi=file.ansi,
        secondary=colors["secondary"],
        accent=colors["accent"],
        success=colors["success"],
        warning=colors["warning"],
        error=colors["error"],
        foreground=colors["foreground"],
        background=colors["background"],
        surface=colors["surface"],
        panel=colors["panel"],
        variables=dict(file.variables),
    )
    known = builtin_themes()[DARK].palette.styles if base is not None else None
    styles: dict[str, Style] = dict(base.palette.styles) if base is not None else {}
    for group in _GROUPS:
        entries: _Styles = getattr(file, group)
        for name, value in entries.items():
            key = f"{group}.{name}"
            if known is not None and key not in known:
                raise TileportError(f"bad theme: {key} is unknown", where=where)
            try:
                styles[key] = Style.parse(value)
            except StyleSyntaxError as error:
                raise TileportError(
                    f"bad theme: {key} = {value!r} is no style", where=where
                ) from error
    return LoadedTheme(theme, Palette(file.name, file.dark, file.ansi, styles))
