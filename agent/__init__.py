"""Who proposes patches, and the `tileport` command."""
