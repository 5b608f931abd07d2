"""Metadata of HDF5 files, read from their bytes without a library.

Owns the structures of the HDF5 File Format Specification that netCDF-4 files have: superblock, object headers,
groups, types, attributes, heaps, chunk indexes. Imports `arrays`, `ast` and `stores`. Nothing here can crash: damage
raises `UnreadableHeaderError`, a structure that is not read here its subclass `UnknownStructureError`, and the HDF5
library is asked for the object.
"""
