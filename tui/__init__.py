"""The Textual app: shows a session, owns no truth."""
