"""Tile IR: its text form, its model, and the canonical form that equality is decided on."""
