"""Awkward 0.x persistence as data: expressions, schemas of variables, and the sidecar documents of stores.

Shared by the Zarr writers and the awkward0 format. Uses the tree and array sources.
"""
