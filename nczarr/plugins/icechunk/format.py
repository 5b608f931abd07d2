"""The row of the format."""

from __future__ import annotations

from nczarr.registry import Format

FORMAT = Format(
    name="icechunk",
    label="icechunk, Zarr v3",
    title="icechunk repositories: Zarr version 3 with branches, tags and snapshots",
    suffixes=(),
    spec="https://icechunk.io/en/stable/spec/",
    holds="nczarr.plugins.icechunk.open:is_repository",
    opens="nczarr.plugins.icechunk.open:opens",
    begins="nczarr.plugins.icechunk.target:begin",
    inner=("nczarr3", "zarr3"),
    commits="nczarr.plugins.icechunk.target:is_free",
    extends="nczarr.plugins.icechunk.target:extend",
    only_reader=True,
)
