"""Read DMR++ documents with VirtualiZarr: `python read_dmrpp.py DOCUMENT…` prints one JSON line a document.

Each line has the digest of every variable's values, little-endian and in C order; or why there are none.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from typing import Any

import numpy as np


def variables(path: str) -> dict[str, Any]:
    """Digests of the variables of the root group."""
    import zarr
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import DMRPPParser

    registry = ObjectStoreRegistry()
    registry.register("file://", LocalStore(prefix="/"))
    group = zarr.open_group(DMRPPParser()(f"file://{path}", registry), mode="r", zarr_format=3)
    found = {}
    for name, array in group.arrays():
        try:
            values = np.ascontiguousarray(array[...])
            found[name] = hashlib.sha256(values.astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()
        except Exception as error:
            found[name] = type(error).__name__
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for document in sys.argv[1:]:
        try:
            print(json.dumps(variables(document)))
        except Exception as error:
            print(json.dumps(f"{type(error).__name__}: {error}"))
    sys.stdout.flush()
    os._exit(0)  # threads of obstore may abort a process that ends
