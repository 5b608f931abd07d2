"""Changes of Zarr stores in place: edits of their header, and documents of another format.

The back end writes the documents of the header before and after an edit; their
difference (`json_difference.py`) is applied to the documents that are there, so
that everything else stays as it is. A migration makes new documents for the chunks
that the store has.
"""
