"""Reference documents: keys of a Zarr store → byte ranges of other files, or inline data.

`wire.py` reads a document, without opening targets; a plugin renders templates and
generators. `lookup.py` makes a store of a document, which the store formats read;
`target.py` is a writable store of references.
"""

from nczarr.registry import Format, ReadingTraits, RepresentedStore, TargetTraits
from nczarr.stores.base import Store

METADATA, ARRAY = ".zmetadata", ".zarray"
"""Document of a folder of Parquet references, and last segment of an array's."""

TEXT = "base64:"
"""Prefix of base64 texts."""

FORMAT = Format(
    name="reference",
    title="references as of kerchunk: keys of a Zarr store as byte ranges of other files",
    suffixes=(".json", ".parq", ".parquet"),
    spec="https://fsspec.github.io/kerchunk/spec.html",
    detects=r'\s*\{(?:\s*"[^"]*"\s*:\s*\[\s*(?:"|null)'
    r'|.*?"(?:refs|gen|templates|(?:[^"]*/)?(?:\.zgroup|\.zarray|\.zattrs|zarr\.json))"\s*:)',
    holds="nczarr.formats.reference:is_parquet",
    store=RepresentedStore(
        opens="nczarr.formats.reference.lookup:opens",
        inner=("nczarr", "zarr2", "nczarr3", "zarr3"),
        begins="nczarr.formats.reference.target:begin",
        document="nczarr.formats.reference.target:text",
    ),
    reading=ReadingTraits(resident=5, only_reader=True),
    target=TargetTraits(second_reader="references"),
)


def is_parquet(store: Store) -> bool:
    """Return whether a store is a folder of Parquet references. Raises OSError."""
    from nczarr.syntax.json.tolerant import NotJsonError, parse

    data = store.get(METADATA)
    if data is None or b'"record_size"' not in data:
        return False
    try:
        value = parse(data).value
    except NotJsonError:
        return store.get(".zgroup") is None and store.get(ARRAY) is None
    return isinstance(value, dict) and "record_size" in value
