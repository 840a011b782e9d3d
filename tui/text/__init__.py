"""Text as the panes need it: documents, highlighting, merging, line maps. No widgets."""
