"""Small stores with one fault each, for the pages of codes that other readers have."""

from __future__ import annotations

import json
from typing import Any

GONE = object()
"""Stands for a member or document that there is not."""


def array(**members: Any) -> dict[str, Any]:
    """A `.zarray`; GONE takes a member away."""
    made = {"zarr_format": 2, "shape": [2], "dtype": "<i4", "chunks": [2], "fill_value": 0, "order": "C",
            "compressor": None, "filters": None, **members}  # fmt: skip
    return {name: value for name, value in made.items() if value is not GONE}


def store(peer: str, documents: dict[str, Any]) -> str:
    """The command that finds the fault, and the store."""
    blocks = (
        f"== {key}\n{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}\n"
        for key, value in documents.items()
        if value is not GONE
    )
    return f"$ nczarr check . --for {peer}\n" + "".join(blocks)


def nczarr(
    members: dict[str, Any] | None = None,
    described: Any = None,
    attributes: dict[str, Any] | None = None,
    types: Any = None,
    group: Any = None,
    root: dict[str, Any] | None = None,
    documents: dict[str, Any] | None = None,
) -> str:
    """A store of one array that netCDF-C takes for NCZarr, with one fault."""
    lists = {"dimensions": {"x": 2}, "arrays": ["v"], "groups": [], **(group or {})}
    lists = {name: value for name, value in lists.items() if value is not GONE}
    own = {"_nczarr_group": lists, "_nczarr_superblock": {"version": "2.0.0"}, **(root or {})}
    inside = {"dimension_references": ["/x"], **(described or {})}
    inside = {name: value for name, value in inside.items() if value is not GONE}
    attrs = {
        "_ARRAY_DIMENSIONS": ["x"],
        **(attributes or {}),
        "_nczarr_array": inside,
        "_nczarr_attr": {"types": types or {}},
    }
    made = {
        ".zgroup": {"zarr_format": 2},
        ".zattrs": {name: value for name, value in own.items() if value is not GONE},
        "v/.zarray": array(**(members or {})),
        "v/.zattrs": attrs,
    }
    return store("netcdf-c", {**made, **(documents or {})})


def pure(
    peer: str,
    members: dict[str, Any] | None = None,
    attributes: dict[str, Any] | None = None,
    documents: dict[str, Any] | None = None,
) -> str:
    """A pure Zarr v2 store of one array, with one fault."""
    made = {
        ".zgroup": {"zarr_format": 2},
        "v/.zarray": array(**(members or {})),
        "v/.zattrs": {"_ARRAY_DIMENSIONS": ["x"], **(attributes or {})},
    }
    made |= documents or {}
    if peer == "xarray":
        told = {key: value for key, value in made.items() if key.rpartition("/")[2].startswith(".z")}
        made[".zmetadata"] = {"zarr_consolidated_format": 1, "metadata": told}
    return store(peer, made)


ANEW = "`nczarr convert SRC DST` writes the store anew."


def version_3(peer: str, members: dict[str, Any]) -> str:
    """A Zarr v3 store of one array, with one fault."""
    made = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [2],
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "dimension_names": ["x"],
    }
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    return store(peer, {"zarr.json": group, "v/zarr.json": {**made, **members}})


def file(peer: str, text: str) -> str:
    """A netCDF file with one fault."""
    return f"$ nczarr compile - -o t.nc\n$ nczarr check t.nc --for {peer}\nnetcdf t {{\n{text}}}\n"
