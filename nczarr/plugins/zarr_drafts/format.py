"""The row of the format."""

from __future__ import annotations

from nczarr.registry import Arrays, Capabilities, ChunkKeys, Display, Format

ARRAYS = Arrays(
    codecs="all",
    fill_needed=True,
    nested_records=True,
    elements=True,
    chunk_keys=ChunkKeys("data/"),
    portable_names=True,
    orders=True,
    separators=True,
    undefined_fill=True,
)
"""Filters with a URI: deflate, shuffle, fletcher32, bzip2, blosc, zstd, gzip and crc32c."""

FORMAT = Format(
    name="zarr3-2019",
    title="the 2019 draft of the Zarr v3 core protocol, with the netCDF model in an extension",
    suffixes=(),
    spec="https://github.com/zarr-developers/zarr-specs/tree/core-protocol-v3.0-dev",
    capabilities=Capabilities(extensions=True, json_attributes="strict", arrays=ARRAYS),
    holds="nczarr.plugins.zarr_drafts.frontend:holds",
    read="nczarr.plugins.zarr_drafts.frontend:read",
    emit="nczarr.plugins.zarr_drafts.backend:emit",
    display=Display(label="Zarr v3, draft of 2019"),
)
