"""HTML of handles for notebooks."""
