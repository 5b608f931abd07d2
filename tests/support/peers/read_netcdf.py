"""Reads a dataset through libnetcdf's C API: exact types, lengths and bytes, which netCDF4-python hides in part.

Answer: {"groups": {path: {"dimensions": {name: (length, unlimited)}, "attributes": {name: (type, value)}, "variables":
{name: {"type", "dimensions", "shape", "attributes", "values"}}}}}. Values of strings are lists of bytes or None.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_int, c_size_t, create_string_buffer
from typing import Any

import netCDF4
import numpy as np
from worker import serve

LIB = ctypes.CDLL(netCDF4._netCDF4.__file__)
LIB.nc_strerror.restype = c_char_p
NAMES = {1: "byte", 2: "char", 3: "short", 4: "int", 5: "float", 6: "double", 7: "ubyte", 8: "ushort", 9: "uint",
         10: "int64", 11: "uint64", 12: "string"}  # fmt: skip
NUMPY = {1: "i1", 2: "S1", 3: "i2", 4: "i4", 5: "f4", 6: "f8", 7: "u1", 8: "u2", 9: "u4", 10: "i8", 11: "u8"}
CLASSES = {13: "vlen", 14: "opaque", 15: "enum", 16: "compound"}


def call(name: str, *arguments: Any) -> None:
    status = getattr(LIB, name)(*arguments)
    if status:
        raise OSError(f"{name}: {status} {LIB.nc_strerror(status).decode()}")


def ids(name: str, *before: Any, after: tuple[Any, ...] = ()) -> list[int]:
    count = c_int()
    call(name, *before, byref(count), None, *after)
    found = (c_int * max(1, count.value))()
    call(name, *before, byref(count), found, *after)
    return list(found)[: count.value]


def type_of(group: int, number: int) -> tuple[str, int]:
    """Name of a type (`enum` and so on for user types) and the atomic type that its values are read as (0: none)."""
    if number in NAMES:
        return NAMES[number], number
    size, fields, base, kind = c_size_t(), c_size_t(), c_int(), c_int()
    name = create_string_buffer(257)
    call("nc_inq_user_type", group, number, name, byref(size), byref(base), byref(fields), byref(kind))
    return CLASSES[kind.value], base.value if kind.value == 15 else 0


def take(read: str, group: int, where: tuple[Any, ...], number: int, shape: tuple[int, ...]) -> Any:
    count = int(np.prod(shape, dtype=np.int64))
    if number == 12:
        texts = (c_char_p * max(1, count))()
        if count:
            call(read, group, *where, texts)
        return list(texts)[:count]
    values = np.zeros(shape, NUMPY[number])
    if count:
        call(read, group, *where, values.ctypes.data_as(ctypes.c_void_p))
    return values


def attributes(group: int, variable: int, count: int) -> dict[str, Any]:
    found = {}
    for number in range(count):
        name = create_string_buffer(257)
        call("nc_inq_attname", group, variable, number, name)
        kind, length = c_int(), c_size_t()
        call("nc_inq_att", group, variable, name, byref(kind), byref(length))
        type_name, base = type_of(group, kind.value)
        value = None
        if base:
            value = take("nc_get_att", group, (variable, name), base, (length.value,))
            value = value if base == 12 else value.tobytes()
        found[name.value.decode("utf-8", "surrogateescape")] = (type_name, value)
    return found


def variable(group: int, number: int) -> tuple[str, dict[str, Any]]:
    name, kind, rank, dims, count = create_string_buffer(257), c_int(), c_int(), (c_int * 1024)(), c_int()
    call("nc_inq_var", group, number, name, byref(kind), byref(rank), dims, byref(count))
    shape, names = [], []
    for dimension in list(dims)[: rank.value]:
        simple, length = create_string_buffer(257), c_size_t()
        call("nc_inq_dim", group, dimension, simple, byref(length))
        shape.append(length.value)
        names.append(simple.value.decode())
    type_name, base = type_of(group, kind.value)
    values: Any = None
    if base and int(np.prod(shape, dtype=np.int64)) <= 1 << 20:
        values = take("nc_get_var", group, (number,), base, tuple(shape))
    return name.value.decode(), {
        "type": type_name,
        "dimensions": names,
        "shape": tuple(shape),
        "attributes": attributes(group, number, count.value),
        "values": values,
    }


def walk(group: int, path: str, found: dict[str, Any]) -> None:
    unlimited = set(ids("nc_inq_unlimdims", group))
    dimensions = {}
    for dimension in ids("nc_inq_dimids", group, after=(0,)):
        name, length = create_string_buffer(257), c_size_t()
        call("nc_inq_dim", group, dimension, name, byref(length))
        dimensions[name.value.decode()] = (length.value, dimension in unlimited)
    count = c_int()
    call("nc_inq_natts", group, byref(count))
    variables = dict(variable(group, number) for number in ids("nc_inq_varids", group))
    found[path] = {
        "dimensions": dimensions,
        "attributes": attributes(group, -1, count.value),
        "variables": variables,
    }
    for child in ids("nc_inq_grps", group):
        name = create_string_buffer(257)
        call("nc_inq_grpname", child, name)
        walk(child, (path if path != "/" else "") + "/" + name.value.decode(), found)


def read(path: str) -> dict[str, Any]:
    url = f"file://{path}#mode=nczarr,file" if os.path.isdir(path) else path
    root = c_int()
    call("nc_open", url.encode(), 0, byref(root))
    found: dict[str, Any] = {}
    try:
        walk(root.value, "/", found)
    finally:
        LIB.nc_close(root)
    return {"groups": found}


if __name__ == "__main__":
    serve(read)
