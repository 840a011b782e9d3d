"""Answers to the questions the app asks."""

from __future__ import annotations

from typing import NamedTuple


class Answer(NamedTuple):
    """One answer: what it returns, its words, and a key beside Enter (not a letter)."""

    value: str
    words: str
    key: str = ""
    shown: str = ""
