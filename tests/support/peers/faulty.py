"""Small stores with one fault each: the bases, edits of their documents, and what a reader saw in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

GONE = object()
"""An edit that takes away."""

Store = dict[str, Any]
"""Documents by key: objects, or bytes as they are."""


def number(dtype: str = "<i4", shape: tuple[int, ...] = (3,), fill: Any = -9, **members: Any) -> dict[str, Any]:
    """A `.zarray`."""
    made = {"zarr_format": 2, "shape": list(shape), "dtype": dtype, "chunks": list(shape), "fill_value": fill}
    return {**made, "order": "C", "compressor": None, "filters": None, **members}


INTS = b"\1\0\0\0\2\0\0\0\3\0\0\0"
TYPES = {"_nczarr_group": "|J0", "_nczarr_superblock": "|J0", "_nczarr_attr": "|J0"}

NCZARR: Store = {
    ".zgroup": {"zarr_format": 2},
    ".zattrs": {
        "title": "T",
        "_nczarr_group": {
            "dimensions": {"x": 3, "t": {"size": 3, "unlimited": 1}},
            "arrays": ["v", "w"],
            "groups": ["a", "b"],
        },
        "_nczarr_superblock": {"version": "2.0.0"},
        "_nczarr_attr": {"types": {"title": ">S1"}},
    },
    "v/.zarray": number(),
    "v/.zattrs": {
        "units": "m",
        "n": 5,
        "_ARRAY_DIMENSIONS": ["x"],
        "_nczarr_array": {"dimension_references": ["/x"], "storage": "chunked"},
        "_nczarr_attr": {"types": {"units": ">S1", "n": "<i4"}},
    },
    "v/0": INTS,
    "w/.zarray": number(),
    "w/.zattrs": {
        "_ARRAY_DIMENSIONS": ["t"],
        "_nczarr_array": {"dimension_references": ["/t"], "storage": "chunked"},
        "_nczarr_attr": {"types": {}},
    },
    "w/0": INTS,
    "a/.zgroup": {"zarr_format": 2},
    "a/.zattrs": {
        "_nczarr_group": {"dimensions": {"y": 3}, "arrays": ["p"], "groups": []},
        "_nczarr_attr": {"types": {}},
    },
    "a/p/.zarray": number(),
    "a/p/.zattrs": {"_ARRAY_DIMENSIONS": ["y"], "_nczarr_array": {"dimension_references": ["/a/y"]}},
    "a/p/0": INTS,
    "b/.zgroup": {"zarr_format": 2},
    "b/.zattrs": {
        "_nczarr_group": {"dimensions": {"z": 3}, "arrays": ["q"], "groups": []},
        "_nczarr_attr": {"types": {}},
    },
    "b/q/.zarray": number(),
    "b/q/.zattrs": {"_ARRAY_DIMENSIONS": ["z"], "_nczarr_array": {"dimension_references": ["/b/z"]}},
    "b/q/0": INTS,
}
"""As netCDF-C 4.10.1 lays it down: two dimensions, two arrays and two groups with one of each."""

PURE: Store = {
    ".zgroup": {"zarr_format": 2},
    ".zattrs": {"title": "T"},
    "v/.zarray": number(),
    "v/.zattrs": {"_ARRAY_DIMENSIONS": ["x"], "units": "m", "n": 5},
    "v/0": INTS,
    "w/.zarray": number(),
    "w/.zattrs": {"_ARRAY_DIMENSIONS": ["t"]},
    "w/0": INTS,
}
"""Pure Zarr v2 with names of dimensions."""


def edit(base: Mapping[str, Any], changes: Mapping[str, Any]) -> Store:
    """A copy of a store with changes by key, or by `key#/pointer`."""
    made: Store = {
        key: json.loads(json.dumps(value)) if not isinstance(value, bytes) else value for key, value in base.items()
    }
    for place, value in changes.items():
        key, _, pointer = place.partition("#")
        if not pointer:
            if value is GONE:
                made.pop(key, None)
            else:
                made[key] = value
            continue
        *steps, last = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
        inside = made[key]
        for step in steps:
            inside = inside[step] if isinstance(inside, dict) else inside[int(step)]
        if value is GONE:
            inside.pop(last, None)
        else:
            inside[last] = value
    return made


def write(store: Store, folder: Path) -> Path:
    """Put a store into a new folder."""
    for key, value in store.items():
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode())
    return folder


def described(seen: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """What a reader saw, where it differs from what it should: an error, `hidden /v`, `values /v: …` and so on."""
    if "error" in seen:
        return [str(seen["error"])]
    found = [f"hidden {path}" for path in right if path not in seen]
    found += [f"surplus {path}" for path in seen if path not in right]
    for path, wanted in right.items():
        if path not in seen:
            continue
        if not isinstance(wanted, dict):
            if wanted != seen[path]:
                found.append(f"{path} {seen[path]}")
            continue
        for member, value in wanted.items():
            if seen[path].get(member) != value:
                found.append(f"{member} {path}: {seen[path].get(member)!r}")
    return found


class Fault(NamedTuple):
    """One store that a reader does wrong with.

    `code`: what we say; `changes`: of the base; `saw`: how the description of what the reader saw begins, one text
    for each release that says it otherwise, "" where it only looks right; `repaired`: changes of the base that make it
    right, and that nothing is said of.
    """

    code: str
    changes: dict[str, Any]
    saw: str | tuple[str, ...]
    repaired: dict[str, Any] = {}  # noqa: RUF012
    base: Mapping[str, Any] = NCZARR
    until: str = ""
    """The release of zarr-python that first reads the store right."""

    @property
    def name(self) -> str:
        """A name of the case for people."""
        shown = " ".join(f"{place}={'—' if value is GONE else value}" for place, value in self.changes.items())
        return f"{self.code} {shown}"[:90]
