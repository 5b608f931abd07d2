"""The values of netCDF and HDF5 files: a worker that answers a path with what libnetcdf reads, raw. Behind `hdf5:` h5py
alone reads the path.

What netCDF4-python does not show (opaque values, records with texts or lists, types that netCDF has not) comes from
h5py. The answer has the values, the undefined cells, and the classes of docs/how-to/references.md for each
variable.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
os.environ["HDF5_EXTFILE_PREFIX"] = "${ORIGIN}"

import h5py
import netCDF4
import numpy as np
from worker import serve

Box = tuple[tuple[int, int], ...]

FILTERS = {1: "deflate, shuffle", 2: "deflate, shuffle", 4: "szip", 5: "n-bit", 6: "scale-offset", 32000: "lzf"}
NOT_VARIABLES = (b"This is a netCDF dimension but not a netCDF variable",)


def read(text: str) -> dict[str, Any]:
    """What is at a path."""
    alone = text.startswith("hdf5:")
    path = Path(text.removeprefix("hdf5:"))
    warnings.simplefilter("ignore")
    hdf5 = h5py.is_hdf5(path)
    try:
        values, classes = ({}, {}) if alone else _library(path)
    except OSError:  # netCDF opens no file with a dataset without a dataspace, or a link that leads nowhere
        if not hdf5:
            raise
        values, classes = {}, {}
    undefined: dict[str, list[Box]] = {}
    if hdf5:
        with h5py.File(path) as file:
            _hdf5(file, values, undefined, classes)
    return {"values": values, "undefined": undefined, "classes": {name: sorted(classes[name]) for name in values}}


def _library(path: Path) -> tuple[dict[str, Any], dict[str, set[str]]]:
    """Values and classes of what netCDF4-python shows."""
    values: dict[str, Any] = {}
    classes: dict[str, set[str]] = {}
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_always_mask(False)
        file.set_auto_chartostring(False)
        records = [name for name, each in file.variables.items() if each.dimensions and _grows(file, each)]
        pending = [("", file)]
        while pending:
            prefix, group = pending.pop()
            pending += [(f"{prefix}{name}/", each) for name, each in group.groups.items()]
            for name, variable in group.variables.items():
                fqn = f"{prefix}{name}"
                classes[fqn] = found = {"in a group"} if prefix else set()
                if file.data_model.startswith("NETCDF3"):
                    found.add(_classic(file.data_model, name, records))
                if 0 in variable.shape:
                    found.add("a length of 0")
                try:
                    values[fqn] = variable[...] if variable.shape else _scalar(variable)
                except (RuntimeError, OSError, TypeError, ValueError, KeyError):
                    values[fqn] = None
    return values, classes


def _scalar(variable: Any) -> Any:
    """A scalar, which a list as its value does not turn into an axis."""
    found = variable[...]
    if isinstance(variable.datatype, netCDF4.VLType) or (found.dtype == object and found.shape):
        made = np.empty((), object)
        made[()] = found
        return made
    return found


def _grows(file: Any, variable: Any) -> bool:
    return (
        bool(file.dimensions[variable.dimensions[0]].isunlimited())
        if variable.dimensions[0] in file.dimensions
        else False
    )


def _classic(model: str, name: str, records: list[str]) -> str:
    kind = "CDF-5" if model == "NETCDF3_64BIT_DATA" else "netCDF-3"
    if name not in records:
        return f"{kind}, fixed"
    return f"{kind}, the only record variable" if len(records) == 1 else f"{kind}, records"


def _hdf5(file: Any, values: dict[str, Any], undefined: dict[str, list[Box]], classes: dict[str, set[str]]) -> None:
    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape is not None and not _hidden(item):
            shown = name.rpartition("/")
            name = f"{shown[0]}{shown[1]}{shown[2].removeprefix('_nc4_non_coord_')}"
            if values.get(name) is None:
                try:
                    values[name] = item[()]
                except (OSError, TypeError, ValueError):
                    values[name] = None
                if name not in classes:
                    classes[name] = {"hidden from netCDF", *(("in a group",) if "/" in name else ())}

    file.visititems(visit)
    for name in values:
        head, _, last = name.rpartition("/")
        for spelled in (name, f"{head}/_nc4_non_coord_{last}".lstrip("/")):
            if isinstance(file.get(spelled, getlink=False), h5py.Dataset):
                found = file[spelled]
                classes[name] |= _classes(found)
                undefined[name] = _undefined(found)
                if values[name] is not None and found.shape is not None:
                    values[name] = _grown(values[name], found)
                break


def _grown(values: Any, item: Any) -> Any:
    """Values of a dataset that is shorter than its dimensions: netCDF4-python leaves cells as memory had them if one
    dimension is there twice.
    """
    if item.shape == np.shape(values) or len(item.shape) != np.ndim(values) or values.dtype.kind not in "iuf":
        return values
    whole = np.full(np.shape(values), np.ravel(item.attrs.get("_FillValue", item.fillvalue))[0], values.dtype)
    whole[tuple(map(slice, item.shape))] = item[()]
    return whole


def _hidden(item: Any) -> bool:
    if item.dtype.kind == "O" and h5py.check_ref_dtype(item.dtype):
        return True
    return bool(str(item.attrs.get("NAME", b"")).find("This is a netCDF dimension but not a netCDF variable") >= 0)


def _classes(item: Any) -> set[str]:
    plist = item.id.get_create_plist()
    found = {_layout(plist), *_types(item.id.get_type())}
    if item.shape == ():
        found.add("scalar")
    found |= _filters(item, plist)
    if item.dtype.newbyteorder("<") != item.dtype and item.dtype.names is None:
        found.add("big-endian")
    written = _written(item)
    if written is not None and item.size:
        fill = "with `_FillValue`" if "_FillValue" in item.attrs else "default fill"
        if _unfilled(plist):
            fill = "no fill"
        if not written[0]:
            found.add(f"never written, {fill}")
        elif written[0] < written[1]:
            found.add(f"chunks never written, {fill}")
    return found


def _layout(plist: Any) -> str:
    match plist.get_layout():
        case h5py.h5d.COMPACT:
            return "compact"
        case h5py.h5d.CONTIGUOUS:
            return "external files" if plist.get_external_count() else "contiguous"
        case h5py.h5d.CHUNKED:
            return "chunked"
        case _:
            return "virtual"


def _types(kind: Any) -> set[str]:
    match kind.get_class():
        case h5py.h5t.STRING if kind.is_variable_str():
            return {"text of any length"}
        case h5py.h5t.STRING:
            return {"char"} if kind.get_size() == 1 else {"text of fixed length"}
        case h5py.h5t.COMPOUND:
            return {"compound"}
        case h5py.h5t.VLEN:
            return {"vlen"}
        case h5py.h5t.ENUM:
            return {"enum"}
        case h5py.h5t.OPAQUE:
            return {"opaque"}
        case _:
            return set()


def _filters(item: Any, plist: Any) -> set[str]:
    numbers = [plist.get_filter(each)[0] for each in range(plist.get_nfilters())]
    found = {FILTERS.get(each, "other filters") for each in numbers if each != 3}
    if 3 in numbers:
        place = "alone" if len(numbers) == 1 else "first" if numbers[0] == 3 else "last"
        found.add(f"fletcher32, {place}")
        found.discard("deflate, shuffle")
    if numbers and item.chunks:
        masks: set[int] = set()
        item.id.chunk_iter(lambda chunk: masks.add(chunk.filter_mask))
        if masks - {0}:
            found.add("filter masks")
    return found


def _written(item: Any) -> tuple[int, int] | None:
    """How many chunks are written, and how many there are; None where the question has no meaning."""
    match item.id.get_create_plist().get_layout():
        case h5py.h5d.CHUNKED:
            total = int(np.prod([-(-size // chunk) for size, chunk in zip(item.shape, item.chunks, strict=True)]))
            return item.id.get_num_chunks(), total
        case h5py.h5d.CONTIGUOUS if not item.id.get_create_plist().get_external_count():
            return int(item.id.get_storage_size() > 0), 1
        case _:
            return None


def _unfilled(plist: Any) -> bool:
    return bool(
        plist.get_fill_time() == h5py.h5d.FILL_TIME_NEVER or plist.fill_value_defined() == h5py.h5d.FILL_VALUE_UNDEFINED
    )


def _undefined(item: Any) -> list[Box]:
    """Cells that were never written and have no fill value."""
    written = _written(item)
    if written is None or written[0] >= written[1] or not _unfilled(item.id.get_create_plist()):
        return []
    if not item.chunks:
        return [tuple((0, size) for size in item.shape)]
    here: set[tuple[int, ...]] = set()
    item.id.chunk_iter(lambda chunk: here.add(tuple(chunk.chunk_offset)))
    places = np.ndindex(*(-(-size // chunk) for size, chunk in zip(item.shape, item.chunks, strict=True)))
    starts = (tuple(place * chunk for place, chunk in zip(each, item.chunks, strict=True)) for each in places)
    return [
        tuple((first, first + chunk) for first, chunk in zip(start, item.chunks, strict=True))
        for start in starts
        if start not in here
    ]


if __name__ == "__main__":
    serve(read)
