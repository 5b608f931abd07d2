"""The row of the format."""

from __future__ import annotations

from nczarr.registry import Display, Format, ReadingTraits, RepresentedStore

FORMAT = Format(
    name="n5",
    title="N5, chunked arrays of microscopy",
    suffixes=(),
    spec="https://github.com/saalfeldlab/n5",
    holds="nczarr.plugins.n5.store:holds",
    store=RepresentedStore(opens="nczarr.plugins.n5.store:opens"),
    reading=ReadingTraits(only_reader=True),
    display=Display(label="N5"),
)
