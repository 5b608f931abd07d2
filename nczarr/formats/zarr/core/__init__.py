"""Shared code of all Zarr versions.

Each version subclasses `NodeReader` and `Writer`. `read_zarr.py` reads pure
hierarchies, `../nczarr/read_nczarr.py` those with netCDF-C's hidden attributes
and our extension.
"""
