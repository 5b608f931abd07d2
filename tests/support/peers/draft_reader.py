"""A reader of the 2019 draft of Zarr v3 that shares no code with ours: the only other judge that the layout has.

It knows what the draft says, and the codecs gzip and zlib of numcodecs; extensions only by their fallback.
"""

from __future__ import annotations

import itertools
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

CODECS = {
    "http://purl.org/zarr/spec/codec/gzip": lambda data: zlib.decompress(data, 31),
    "http://purl.org/zarr/spec/codec/zlib": zlib.decompress,
}


def children(store: Mapping[str, bytes], path: str) -> dict[str, str]:
    """Names below a group and what they are, by `listdir("meta" + path + "/")`."""
    prefix = "meta/" if path == "/" else f"meta{path}/"
    found = {}
    for key in store:
        if not key.startswith(prefix):
            continue
        name, slash, _ = key[len(prefix) :].partition("/")
        if slash:
            found.setdefault(name, "group")
        elif name.endswith(".array.json"):
            found[name.removesuffix(".array.json")] = "array"
        elif name.endswith(".group.json"):
            found[name.removesuffix(".group.json")] = "group"
    return found


def arrays(store: Mapping[str, bytes], path: str = "/") -> dict[str, dict[str, Any]]:
    """The documents of all arrays by path, found by descending."""
    found = {}
    for name, kind in children(store, path).items():
        inside = f"/{name}" if path == "/" else f"{path}/{name}"
        if kind == "array":
            found[inside] = json.loads(store[f"meta{inside}.array.json"])
        else:
            found.update(arrays(store, inside))
    return found


def read(store: Mapping[str, bytes], path: str, document: Mapping[str, Any]) -> NDArray[Any] | None:
    """The values of an array; None if its type is one of an extension without fallback, or its codecs are others."""
    kind = document["data_type"]
    kind = kind.get("fallback") if isinstance(kind, dict) else kind
    if kind is None or any(step["codec"] not in CODECS for step in document["chunk_codecs"]):
        return None
    dtype = np.dtype(kind)
    shape, grid = tuple(document["shape"]), document["chunk_grid"]
    lengths, order = tuple(grid["chunk_shape"]), document["chunk_memory_layout"]
    fill = document["fill_value"]
    value = complex(*map(float, fill)) if isinstance(fill, list) else float(fill) if isinstance(fill, str) else fill
    out = np.zeros(shape, dtype) if value is None else np.full(shape, value, dtype)
    for index in itertools.product(*(range(math.ceil(n / d)) for n, d in zip(shape, lengths, strict=True))):
        identifier = grid.get("separator", ".").join(map(str, index)) or "0"
        data = store.get(f"data{path}/{identifier}")
        if data is None:
            continue
        for step in reversed(document["chunk_codecs"]):
            data = CODECS[step["codec"]](data)
        chunk = np.frombuffer(data, dtype).reshape(lengths, order=order)
        inside = tuple(slice(i * d, min((i + 1) * d, n)) for i, d, n in zip(index, lengths, shape, strict=True))
        out[inside] = chunk[tuple(slice(0, part.stop - part.start) for part in inside)]
    return out
