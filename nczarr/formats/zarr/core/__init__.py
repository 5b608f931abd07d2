"""Zarr hierarchies, whatever their version: what the front ends, and the back ends, of store formats share.

`Reader` (reader.py) and `Writer` (writer.py) are the two sides of a version, with one subclass a version.
`read_zarr.py` makes the tree of a pure hierarchy, `../nczarr/read_nczarr.py` that of one with netCDF-C's hidden
attributes and our extension.
"""
