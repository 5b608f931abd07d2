"""Reads a store or file as the reader that a request names does, each time in a process forked for it.

Request: `READER PATH`, READER one of netcdf-c, zarr-python, xarray. Answer: {"groups": …} of `read_netcdf.py`, or
{"variables": {path: {"dtype", "dimensions", "values", "attributes"}}}, or {"error": text}; a crash is an error as well.
"""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from pathlib import Path
from typing import Any

import netCDF4  # before the others, as netCDF4-python asks for
import numpy as np
import read_netcdf
import xarray
import zarr
from worker import serve


def plain(values: Any) -> Any:
    """Values as lists: NaN as a text, bytes as they are."""
    array = np.asarray(values)
    if array.dtype.kind in "fc":
        return [str(each) for each in array.reshape(-1).tolist()]
    return [each if isinstance(each, int | bytes | str) else str(each) for each in array.reshape(-1).tolist()]


def netcdf_c(path: str) -> dict[str, Any]:
    groups = read_netcdf.read(path)["groups"]
    found: dict[str, Any] = {}
    for where, group in groups.items():
        found[where] = {"dimensions": group["dimensions"], "attributes": shown(group["attributes"])}
        for name, variable in group["variables"].items():
            values = variable["values"]
            seen = {key: variable[key] for key in ("type", "dimensions", "shape")}
            seen["values"] = values if values is None or isinstance(values, list) else plain(values)
            seen["attributes"] = shown(variable["attributes"])
            found[where.rstrip("/") + "/" + name] = seen
    if os.path.isdir(path):  # the Python interface looks at more, and earlier
        netCDF4.Dataset(f"file://{path}#mode=nczarr,file").close()
    return found


def shown(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: f"{kind} {value!r}" for name, (kind, value) in attributes.items()}


def zarr_python(path: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    top = zarr.open(path, mode="r")
    if isinstance(top, zarr.Array):
        return {"/": array(top)}
    members(top, "", found)
    return found


def members(group: Any, path: str, found: dict[str, Any]) -> None:
    found[path or "/"] = {"attributes": dict(group.attrs)}
    for name, member in sorted(group.members()):
        if isinstance(member, zarr.Group):
            members(member, f"{path}/{name}", found)
        else:
            found[f"{path}/{name}"] = array(member)


def array(member: Any) -> dict[str, Any]:
    return {
        "type": str(member.dtype),
        "shape": member.shape,
        "values": plain(member[...]),
        "attributes": dict(member.attrs),
    }


def through_xarray(path: str) -> dict[str, Any]:
    engine = {"engine": "zarr"} if os.path.isdir(path) else {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        dataset = xarray.open_dataset(path, **engine)  # type: ignore[arg-type]
        found: dict[str, Any] = {
            "/": {
                "attributes": dict(dataset.attrs),
                "dimensions": dict(sorted(dataset.sizes.items(), key=lambda item: str(item[0]))),
            }
        }
        for name in dataset.variables:
            variable = dataset[name]
            found[f"/{name}"] = {
                "type": str(variable.dtype),
                "dimensions": list(variable.dims),
                "shape": variable.shape,
                "values": plain(variable.load().values),
                "attributes": {key: str(value) for key, value in variable.attrs.items()},
            }
    found["warnings"] = sorted({f"{each.category.__name__}: {str(each.message)[:120]}" for each in said})
    return found


READERS = {"netcdf-c": netcdf_c, "zarr-python": zarr_python, "xarray": through_xarray}


def read(request: str) -> dict[str, Any]:
    """Read in a child, which may crash."""
    reader, _, path = request.partition(" ")
    out, into = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(60)
        os.close(out)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            answer = READERS[reader](path)
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        with open(into, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(into)
    data = Path(f"/dev/fd/{out}").read_bytes()
    os.close(out)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"error": f"crash: signal {os.WTERMSIG(status)}"}
    found: dict[str, Any] = pickle.loads(data)
    return found


if __name__ == "__main__":
    serve(read)
