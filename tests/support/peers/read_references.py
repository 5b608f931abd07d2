"""Reads a reference document through fsspec and zarr-python: a worker that answers JSON lines.

Asked: {"document": path, "format": 2 or 3, "names": [path of an array or of a group that stands for a variable]}, with
"folder" where relative URLs start. Answer: {name: values}; a group is {"members": {name: values}}, what is not there
{"absent": True}, what fails {"error": why}.
"""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

import fsspec
import numpy as np
import zarr
from worker import serve
from zarr.storage import FsspecStore


def read(line: str) -> dict[str, Any]:
    """What zarr-python sees."""
    warnings.simplefilter("ignore")
    asked = json.loads(line)
    if "folder" in asked:
        os.chdir(asked["folder"])
    opened = store(asked["document"])
    group = zarr.open_group(opened, mode="r", zarr_format=asked["format"], use_consolidated=False)
    return {"values": {name: _read(group, name, list(opened.fs.references)) for name in asked["names"]}}


def store(document: str) -> FsspecStore:
    """The store of a document; nothing of another document of this process counts."""
    made = fsspec.filesystem(
        "reference", fo=document, remote_protocol="file", asynchronous=True, skip_instance_cache=True
    )
    return FsspecStore(made, read_only=True, path="")


def _read(group: zarr.Group, name: str, keys: list[str]) -> Any:
    try:
        found = group[name]
    except KeyError:
        return {"absent": True}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    if isinstance(found, zarr.Group):  # whose members zarr-python 3.1.6 does not find by itself below the root
        below = {key.removeprefix(f"{name}/").split("/")[0] for key in keys if key.startswith(f"{name}/")}
        members = sorted(each for each in below if not each.startswith(".") and each != "zarr.json")
        return {"members": {each: _read(group, f"{name}/{each}", keys) for each in members}}
    try:
        array = np.asarray(found[...])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return array.astype(object) if array.dtype.kind == "T" else array


if __name__ == "__main__":
    serve(read)
