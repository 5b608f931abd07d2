"""Edit of the header of a store in place.

The back end writes the documents of the header before and after the edit; their
difference (`json_difference.py`) is applied to the documents that are there, so
that everything else stays as it is.
"""
