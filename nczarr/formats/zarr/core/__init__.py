"""Zarr hierarchies, whatever their version: what the front ends, and the back ends, of store formats share.

A version says what its documents say (`described.py`); `plain.py` makes the tree of a pure hierarchy, `extended.py`
that of one with netCDF-C's hidden attributes and our extension.
`emitting.py` walks the tree for the back ends.
"""
