"""Changes of bytes and documents in place: the patch, its commit with a journal, and its undo."""
