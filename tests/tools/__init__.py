"""Programs that make what the documentation shows."""
