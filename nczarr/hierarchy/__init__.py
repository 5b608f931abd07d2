"""Reading Zarr hierarchies, whatever their version: what the front ends of store formats share.

A version says what its documents say (`described.py`); `plain.py` makes the tree of a pure hierarchy, `extended.py`
that of one with netCDF-C's hidden attributes and our extension.
"""
