"""Sample operators to start from, with their cases and ports."""
