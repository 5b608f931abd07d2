"""The row of the format."""

from __future__ import annotations

from nczarr.registry import Display, Format, ReadingTraits, RepresentedStore

FORMAT = Format(
    name="icechunk",
    title="icechunk repositories: Zarr version 3 with branches, tags and snapshots",
    suffixes=(),
    spec="https://icechunk.io/en/stable/spec/",
    holds="nczarr.plugins.icechunk.open:is_repository",
    store=RepresentedStore(
        opens="nczarr.plugins.icechunk.open:opens",
        inner=("nczarr3", "zarr3"),
        begins="nczarr.plugins.icechunk.target:begin",
        commits="nczarr.plugins.icechunk.target:is_free",
        extends="nczarr.plugins.icechunk.target:extend",
    ),
    reading=ReadingTraits(only_reader=True),
    display=Display(label="icechunk, Zarr v3"),
)
