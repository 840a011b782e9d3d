"""Textual themes as data."""
