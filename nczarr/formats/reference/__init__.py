"""Reference documents: maps from the keys of a Zarr store to byte ranges of other files, or to data as they are.

`wire.py` reads a document, `expansion.py` turns version 1 into version 0, `compaction.py` version 0 into version 1:
nothing there opens a target. `opening.py` makes a store of a document, which the formats of stores read; `target.py` is
a store in the making that holds references.
"""

from __future__ import annotations

from nczarr.capabilities import Format

FORMAT = Format(
    name="reference",
    title="reference documents: keys of a Zarr store as byte ranges of other files",
    suffixes=(".json", ".parq", ".parquet"),
    spec="https://fsspec.github.io/kerchunk/spec.html",
    detects=r'\s*\{(?:\s*"[^"]*"\s*:\s*\[\s*(?:"|null)'
    r'|.*?"(?:refs|gen|templates|(?:[^"]*/)?(?:\.zgroup|\.zarray|\.zattrs|zarr\.json))"\s*:)',
    holds="nczarr.formats.reference.open:holds",
    opens="nczarr.formats.reference.open:opens",
    begins="nczarr.formats.reference.target:begin",
    inner=("nczarr", "zarr2", "nczarr3", "zarr3"),
    document="nczarr.formats.reference.target:text",
    resident=True,
)
