"""Repositories of icechunk: revisions of a Zarr v3 store.

`open.py` returns a revision as a store, which the Zarr formats read.
`target.py` is a writable store that becomes a commit. The library is called by
`stores/repository/`.
"""

from __future__ import annotations

from nczarr.registry import Format

FORMAT = Format(
    name="icechunk",
    title="icechunk repositories: Zarr version 3 with branches, tags and snapshots",
    suffixes=(),
    spec="https://icechunk.io/en/stable/spec/",
    holds="nczarr.stores.base:is_versioned",
    opens="nczarr.formats.icechunk.open:opens",
    begins="nczarr.formats.icechunk.target:begin",
    inner=("nczarr3", "zarr3"),
    commits="nczarr.formats.icechunk.target:is_free",
    extends="nczarr.formats.icechunk.target:extend",
    only_reader=True,
)
