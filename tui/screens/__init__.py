"""The screens of the app: the live session and what opens above it."""
