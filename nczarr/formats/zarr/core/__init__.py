"""Code shared by all Zarr versions.

Each version subclasses `Reader` (reader.py) and `Writer` (writer.py). `read_zarr.py` reads pure hierarchies,
`../nczarr/read_nczarr.py` those with netCDF-C's hidden attributes and our extension.
"""
