"""Shared code of all Zarr versions.

Each version subclasses `NodeReader` and `Writer`. `hierarchy.py` and
`variables.py` read all of them into the tree.
"""
