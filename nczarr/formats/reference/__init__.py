"""Reference documents: maps from the keys of a Zarr store to byte ranges of other files, or to data as they are.

`wire.py` reads a document, `expansion.py` turns version 1 into version 0, `compaction.py` version 0 into version 1.
Nothing here opens a target: documents are texts. Source: specs/references.
"""
