"""Ends of a run: the source at a path, and the target format and place."""
