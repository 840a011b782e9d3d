"""The subcommands of `tileport`, one module each."""
