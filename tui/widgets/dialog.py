"""The frame of what opens above the live screen."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content

from tileport.tui.text.glyphs import glyphs


class Dialog(Vertical):
    """A box with a title at its top and a note at its bottom, on the background of the bars."""

    DEFAULT_CSS = """
    Dialog { height: auto; border: round $secondary; background: $surface; padding: 0 1;
             border-title-color: $primary; border-title-style: bold;
             border-subtitle-color: $secondary; }
    """

    def name_it(self, title: str, note: str = "") -> None:
        """Set title and note; they are plain text, never markup."""
        self.border_title = Content(f" {glyphs(title)} ")
        self.border_subtitle = Content(f" {glyphs(note)} ") if note else None
