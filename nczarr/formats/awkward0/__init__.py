"""Awkward 0.x persistence: JSON expressions over named blobs (contract: awkward0-persistence).

A dataset is an archive (`.awkd`) or other store of named arrays.
`nczarr.awkward0` is the API for single arrays.
"""

from __future__ import annotations

from nczarr.registry import Capabilities, Format

FORMAT = Format(
    name="awkward0",
    title="Awkward 0.x archives of ragged arrays",
    suffixes=(".awkd",),
    spec="https://github.com/scikit-hep/awkward-0.x/blob/master/docs/serialization.adoc",
    capabilities=Capabilities(),
    holds="nczarr.formats.awkward0.read.frontend:holds",
    read="nczarr.formats.awkward0.read.frontend:read",
    write="nczarr.formats.awkward0.write.backend:write",
    binary=True,
    only_reader=True,
)
