"""Reference documents: keys of a Zarr store → byte ranges of other files, or inline data.

`wire.py` reads a document, `expansion.py` converts version 1 to 0,
`compaction.py` version 0 to 1, without opening targets. `open.py` makes a store
of a document, which the store formats read; `target.py` is a writable store of
references.
"""

from __future__ import annotations

from nczarr.registry import Format

FORMAT = Format(
    name="reference",
    title="reference documents: keys of a Zarr store as byte ranges of other files",
    suffixes=(".json", ".parq", ".parquet"),
    spec="https://fsspec.github.io/kerchunk/spec.html",
    detects=r'\s*\{(?:\s*"[^"]*"\s*:\s*\[\s*(?:"|null)'
    r'|.*?"(?:refs|gen|templates|(?:[^"]*/)?(?:\.zgroup|\.zarray|\.zattrs|zarr\.json))"\s*:)',
    holds="nczarr.formats.reference.detect:is_parquet",
    opens="nczarr.formats.reference.open:opens",
    begins="nczarr.formats.reference.target:begin",
    inner=("nczarr", "zarr2", "nczarr3", "zarr3"),
    document="nczarr.formats.reference.target:text",
    resident=True,
    only_reader=True,
)
