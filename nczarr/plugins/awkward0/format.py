"""The row of the format."""

from __future__ import annotations

from nczarr.registry import Capabilities, Display, Format, ReadingTraits

FORMAT = Format(
    name="awkward0",
    title="Awkward 0.x archives of ragged arrays",
    suffixes=(".awkd",),
    spec="https://github.com/scikit-hep/awkward-0.x/blob/master/docs/serialization.adoc",
    capabilities=Capabilities(),
    holds="nczarr.plugins.awkward0.read.frontend:holds",
    read="nczarr.plugins.awkward0.read.frontend:read",
    write="nczarr.plugins.awkward0.write.backend:write",
    reading=ReadingTraits(only_reader=True),
    display=Display(binary=True),
)
