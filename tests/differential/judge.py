"""A process that makes sources and reads files with the libraries of others; it never imports nczarr.

Each request is a pickled tuple behind its length on standard input, each answer a pickled object behind its length:
`("make", script, path)` runs the lines of a script that writes `path`; `("see", reader, path)` answers what a library
reads there, as `{"arrays": {name: values}, "attributes": {name: {attribute: value}}}`; the name of the root is "".
Values that a library refuses are strings that begin with "error: ".
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import warnings
from typing import Any

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"

import numpy as np

Seen = dict[str, dict[str, Any]]


def make(script: str, path: str) -> None:
    """Run a script that writes `path`."""
    exec(compile(script, "<source>", "exec"), {"path": path, "np": np})


def see_hdf5(path: str) -> Seen:
    """Every dataset of an HDF5 file, by h5py."""
    import h5py

    seen: Seen = {"arrays": {}, "attributes": {}}
    with h5py.File(path) as file:
        seen["attributes"][""] = _hdf5_attributes(file)

        def visit(name: str, item: Any) -> None:
            if not isinstance(item, h5py.Dataset) or item.shape is None:
                return
            if b"This is a netCDF dimension but" in np.bytes_(item.attrs.get("NAME", b"")):
                return
            seen["arrays"][name] = _tried(lambda: item[()])
            seen["attributes"][name] = _hdf5_attributes(item)

        file.visititems(visit)
    return seen


def _hdf5_attributes(item: Any) -> dict[str, Any]:
    hidden = ("CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "DIMENSION_LABELS")
    return {
        name: _tried(lambda name=name: item.attrs[name])
        for name in item.attrs
        if name not in hidden and not name.startswith(("_Netcdf4", "_NC", "_nc3"))
    }


def see_netcdf(path: str) -> Seen:
    """Every variable of a netCDF file, or of a store that the netCDF library takes, by netCDF4-python."""
    import netCDF4

    seen: Seen = {"arrays": {}, "attributes": {}, "dimensions": {}}
    place = f"file://{path}#mode=nczarr,{'zip' if path.endswith('.zip') else 'file'}" if "zarr" in path else path
    with netCDF4.Dataset(place) as file:
        pending = [("", file)]
        while pending:
            prefix, group = pending.pop()
            pending += [(f"{prefix}{name}/", each) for name, each in group.groups.items()]
            seen["attributes"][prefix.rstrip("/")] = {name: group.getncattr(name) for name in group.ncattrs()}
            for name, variable in group.variables.items():
                variable.set_auto_maskandscale(False)
                variable.set_always_mask(False)
                variable.set_auto_chartostring(False)
                seen["dimensions"][prefix + name] = variable.dimensions
                seen["arrays"][prefix + name] = _tried(lambda it=variable: _rows(it) if it.shape else _scalar(it))
                seen["attributes"][prefix + name] = {
                    each: _tried(lambda it=variable, each=each: it.getncattr(each)) for each in variable.ncattrs()
                }
    return seen


def _rows(variable: Any) -> Any:
    """Read a variable row by row where a dimension grows.

    libnetcdf 4.10.1 mixes up cells where a variable ends before an unlimited dimension that is not its first, and
    several rows are read in one call; ncdump reads rows, too.
    """
    growing = any(dimension.isunlimited() for dimension in variable.get_dims())
    if variable.ndim < 2 or not growing or 0 in variable.shape:
        return variable[...]
    rows = {index: variable[index] for index in np.ndindex(variable.shape[:-1])}
    first = np.asarray(next(iter(rows.values())))
    made = np.empty(variable.shape, first.dtype)
    for index, row in rows.items():
        made[index] = row
    return made


def _scalar(variable: Any) -> Any:
    found = variable[...]
    if isinstance(found, np.ndarray) and found.dtype == object and found.shape == (1,):
        return found.reshape(())
    return found


def see_zarr(path: str) -> Seen:
    """Every array of a Zarr store, by zarr-python."""
    import zarr

    store = zarr.storage.ZipStore(path, mode="r") if path.endswith(".zip") else path
    return _zarr(store, None)


def see_references(path: str) -> Seen:
    """Every array of a reference document, by fsspec and zarr-python."""
    import fsspec
    from zarr.storage import FsspecStore

    made = fsspec.filesystem(
        "reference", fo=path, remote_protocol="file", asynchronous=True, skip_instance_cache=True, lazy=False
    )
    return _zarr(FsspecStore(made, read_only=True, path=""), list(made.references))


def _zarr(store: Any, keys: list[str] | None) -> Seen:
    import zarr

    seen: Seen = {"arrays": {}, "attributes": {}}

    def walk(group: Any, prefix: str) -> None:
        seen["attributes"][prefix.rstrip("/")] = dict(group.attrs)
        if keys is None:
            names = [name for name, _ in sorted(group.members())]
        else:  # zarr-python does not list the members of groups below the root of a reference file system
            below = {key.removeprefix(prefix).split("/")[0] for key in keys if key.startswith(prefix) and "/" in key}
            names = sorted(each for each in below if not each.startswith(".") and each != "zarr.json")
        for name in names:
            try:
                member = group[name]
            except Exception as error:
                seen["arrays"][prefix + name] = f"error: {type(error).__name__}: {error}"
                continue
            if isinstance(member, zarr.Group):
                walk(member, f"{prefix}{name}/")
            else:
                seen["arrays"][prefix + name] = _tried(lambda it=member: _plain(it[...]))
                seen["attributes"][prefix + name] = dict(member.attrs)

    opened = zarr.open(store, mode="r")
    if isinstance(opened, zarr.Array):
        seen["arrays"]["data"] = _tried(lambda: _plain(opened[...]))
        seen["attributes"]["data"] = dict(opened.attrs)
    else:
        walk(opened, "")
    return seen


def _plain(values: Any) -> Any:
    array = np.asarray(values)
    return array.astype(object) if array.dtype.kind == "T" else array


def see_tensorstore(path: str) -> Seen:
    """The array of one Zarr array, by tensorstore."""
    import tensorstore

    seen: Seen = {"arrays": {}, "attributes": {}}
    for name in sorted(os.listdir(path)):
        for driver, document in (("zarr3", "zarr.json"), ("zarr", ".zarray")):
            if os.path.exists(os.path.join(path, name, document)):
                where = {"driver": "file", "path": os.path.join(path, name)}
                opened = tensorstore.open({"driver": driver, "kvstore": where}).result()
                seen["arrays"][name] = np.asarray(opened.read().result())
    return seen


def _tried(read: Any) -> Any:
    try:
        found = read()
    except Exception as error:
        return f"error: {type(error).__name__}: {error}"
    return found


READERS = {
    "hdf5": see_hdf5,
    "netcdf": see_netcdf,
    "zarr": see_zarr,
    "references": see_references,
    "tensorstore": see_tensorstore,
}


def answer(request: tuple[Any, ...]) -> Any:
    """What a request asks for; a failure is a string."""
    try:
        if request[0] == "make":
            make(request[1], request[2])
            return None
        return READERS[request[1]](request[2])
    except Exception as error:
        return f"error: {type(error).__name__}: {error}"


def main() -> None:
    """Answer requests until standard input ends."""
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    while len(head := sys.stdin.buffer.read(8)) == 8:
        data = pickle.dumps(answer(pickle.loads(sys.stdin.buffer.read(struct.unpack("<q", head)[0]))))
        out.write(struct.pack("<q", len(data)) + data)
        out.flush()


if __name__ == "__main__":
    main()
