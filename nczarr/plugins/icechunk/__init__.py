"""Repositories of icechunk: revisions of a Zarr v3 store.

`open.py` returns a revision as a store, which the Zarr formats read.
`target.py` is a writable store that becomes a commit. The library is called by
`stores/repository/`.
"""
