"""Awkward 0.x persistence as data: expressions, schemas of variables, and sidecar documents of stores.

Shared by the Zarr writers and the awkward0 format.
"""
