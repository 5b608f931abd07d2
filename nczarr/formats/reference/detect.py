"""Detection of Parquet references: every store is asked, so nothing else loads with it."""

from __future__ import annotations

from nczarr.stores.base import Store
from nczarr.syntax.json.tolerant import NotJsonError, parse

METADATA = ".zmetadata"
ARRAY = ".zarray"


def is_parquet(store: Store) -> bool:
    """Return whether a store is a folder of Parquet references. Raises OSError."""
    data = store.get(METADATA)
    if data is None or b'"record_size"' not in data:
        return False
    try:
        value = parse(data).value
    except NotJsonError:
        return store.get(".zgroup") is None and store.get(ARRAY) is None
    return isinstance(value, dict) and "record_size" in value
