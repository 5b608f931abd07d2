"""Descriptions of a netCDF-4 file by netCDF4-python, and of a tree, in one form that can be compared."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from nczarr import names
from nczarr.arrays.sources.source import numpy_dtype
from nczarr.arrays.values.parts import Types, descr, is_fixed
from nczarr.ast import Attribute, Dataset, Group
from tests.conftest import ROOT

ATOMIC = {
    "i1": "byte", "S1": "char", "i2": "short", "i4": "int", "f4": "float", "f8": "double", "u1": "ubyte",
    "u2": "ushort", "u4": "uint", "i8": "int64", "u8": "uint64",
}  # fmt: skip


BASIC = frozenset({*ATOMIC.values(), "string"})
"""Names of the types of the library."""


def shown(path: str) -> dict[str, Any]:
    """Return groups, dimensions, types, variables and attributes of a file by netCDF4-python."""
    import netCDF4

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            return {"classic": file.data_model == "NETCDF4_CLASSIC", **_group(file)}


def _group(group: Any) -> dict[str, Any]:
    types = [*group.enumtypes, *group.cmptypes, *group.vltypes]
    return {
        "dimensions": {name: (len(one), one.isunlimited()) for name, one in group.dimensions.items()},
        "types": sorted(types),
        "attributes": {name: _value(group, name) for name in group.ncattrs()},
        "variables": {name: _variable(one) for name, one in group.variables.items()},
        "groups": {name: _group(one) for name, one in group.groups.items()},
    }


def _variable(variable: Any) -> dict[str, Any]:
    kind, chunks = variable.datatype, variable.chunking()
    if isinstance(kind, np.dtype):
        name = ATOMIC.get(kind.str[1:])
    else:
        declared = getattr(kind, "name", None)
        name = "string" if kind is str else None if declared is None else f"/{declared}"
    return {
        "type": name,
        "dimensions": variable.dimensions,
        "chunks": tuple(chunks) if isinstance(chunks, list) else None,
        "big": variable.endian() == "big",
        "attributes": {name: _value(variable, name) for name in variable.ncattrs()},
    }


def _text(data: bytes) -> bytes:
    """Return a text as netCDF4-python shows it: valid UTF-8 without NULs."""
    return data.replace(b"\0", b"").decode("utf-8", "replace").encode()


def _value(owner: Any, name: str) -> object:
    """Return an attribute as a text, or as type and bytes; None for values of user-defined types."""
    try:
        value = owner.getncattr(name, encoding="utf-8")
    except (UnicodeDecodeError, KeyError, AttributeError):
        return None
    if isinstance(value, str):
        return _text(value.encode("utf-8", "surrogateescape"))
    if isinstance(value, list):
        return [_text(text.encode("utf-8", "surrogateescape")) for text in value]
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        return None
    return array.dtype.str[1:], array.astype(array.dtype.newbyteorder("<")).tobytes()


def of_tree(dataset: Dataset, types: Types, shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    """Return the same of a tree, whose kinds of types are `types` and whose shapes of variables are `shapes`."""
    return {"classic": dataset.kind == "nc7", **_of_group(dataset, "/", types, shapes)}


def _of_group(group: Group, path: str, types: Types, shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    variables = {}
    for one in group.variables:
        storage = one.storage
        variables[one.name] = {
            "type": f"/{names.last(one.type)}" if one.type.startswith("/") else one.type,
            "dimensions": tuple(str(one) if isinstance(one, int) else names.last(one) for one in one.dimensions),
            "chunks": storage.chunks if storage.layout == "chunked" else None,
            "big": storage.endian == "big",
            "attributes": {attribute.name: _of_value(attribute, types) for attribute in one.attributes},
        }
    opaque = [one.name for one in group.types if type(one).__name__ == "OpaqueType"]
    return {
        "dimensions": {one.name: (one.size, one.unlimited) for one in group.dimensions},
        "types": sorted(one.name for one in group.types if one.name not in opaque),
        "attributes": {attribute.name: _of_value(attribute, types) for attribute in group.attributes},
        "variables": variables,
        "groups": {one.name: _of_group(one, names.join(path, one.name), types, shapes) for one in group.groups},
    }


def _of_value(attribute: Attribute, types: Types) -> object:
    value = attribute.value
    if value.type == "char":
        assert isinstance(value.data, bytes)
        return _text(value.data)
    if value.type == "string":
        texts = [_text(text.partition(b"\0")[0] if isinstance(text, bytes) else b"") for text in value.data]
        return texts[0] if len(texts) == 1 else texts
    if value.type in types or not is_fixed(value.type, types):
        return None
    return numpy_dtype(descr(value.type, types)).str[1:], value.data


def _fits(ours: tuple[int, bool], theirs: tuple[int, bool]) -> bool:
    """Return whether lengths agree. libnetcdf does not see variables of groups that do not stand below a dimension."""
    return ours == theirs or (ours[1] and theirs[1] and ours[0] > theirs[0])


def is_alike(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Return whether a tree has all that netCDF4-python shows, which lacks records of texts and types of attributes."""
    for key, value in theirs.items():
        if key == "attributes":
            if list(value) != list(ours[key]):
                return False
            pairs = [(ours[key][name], value[name]) for name in value]
            if any(one != other for one, other in pairs if one is not None and other is not None):
                return False
        elif key == "dimensions" and isinstance(value, dict):
            if list(value) != list(ours[key]) or not all(_fits(ours[key][name], value[name]) for name in value):
                return False
        elif key == "types":
            if not set(value) <= set(ours[key]):
                return False
        elif isinstance(value, dict):
            if key == "variables":
                mine = {name: one for name, one in ours[key].items() if name in value or one["type"] in BASIC}
            else:
                mine = ours[key]
            if list(mine) != list(value):
                return False
            for name in value:
                one, other = mine[name], value[name]
                if not (is_alike(one, other) if isinstance(other, dict) else one == other):
                    return False
        elif value is not None and ours[key] != value:
            return False
    return True


def by_library(paths: list[Path]) -> list[Any]:
    """Return what netCDF4-python shows of files, in a process apart; a text for those that it refuses."""
    shown: list[Any] = []
    while len(shown) < len(paths):
        rest = "\n".join(str(path) for path in paths[len(shown) :])
        command = [sys.executable, "-m", "tests.support.peers.netcdf_inquiry"]
        data = subprocess.run(command, input=rest.encode(), stdout=subprocess.PIPE, check=False, cwd=ROOT).stdout
        at = 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 8], "little")
            shown.append(pickle.loads(data[at + 8 : at + 8 + size]))
            at += 8 + size
        if len(shown) < len(paths):
            shown.append("crashed")
    return shown


def main() -> None:
    """Print what netCDF4-python shows of the files that are named, one after the other."""
    for path in sys.stdin.read().splitlines():
        try:
            found: object = shown(path)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        data = pickle.dumps(found)
        sys.stdout.buffer.write(len(data).to_bytes(8, "little") + data)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
