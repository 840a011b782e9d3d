"""The ladder as a library: capture, declare, compile, diff and what follows them."""
