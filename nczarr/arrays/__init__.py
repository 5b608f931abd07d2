"""Format-independent data plane: array sources, their chunks and codecs, values of nested types, and running work."""
