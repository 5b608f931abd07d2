"""Repositories of icechunk: revisions of a Zarr v3 store.

`open.py` returns a revision as a store, which the Zarr formats read.
`target.py` is a writable store that becomes a commit. `location.py` knows
the places of repositories; `library.py` alone loads icechunk.
"""
