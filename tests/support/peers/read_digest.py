"""Reads a netCDF file through libnetcdf's C API, whole, and hashes it as `digest_reference.py` does.

Answer: {"digest": hexadecimal digits}; {"large": values} for a file of more values than are read at once.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_size_t, c_void_p, create_string_buffer
from typing import Any

import numpy as np
from digest_reference import group  # type: ignore[import-not-found]
from read_netcdf import CLASSES, LIB, NAMES, NUMPY, call, ids
from worker import serve

MOST = 1 << 25
"""Values that are read."""


class File:
    """An open file: its types by number, its dimensions by number."""

    def __init__(self, root: int) -> None:
        self.names: dict[int, str] = dict(NAMES)
        self.definitions: dict[int, Any] = {}
        self.memory: dict[int, Any] = {number: np.dtype(code) for number, code in NUMPY.items()} | {12: np.dtype("u8")}
        self.plain: dict[int, Any] = {**self.memory, 12: np.dtype(object)}
        self.dimensions: dict[int, tuple[str, int]] = {}
        self.values = 0
        self.root = self.group(root, "/")

    def group(self, group: int, path: str) -> dict[str, Any]:
        types = {}
        for number in ids("nc_inq_typeids", group):
            name = self.declare(group, number, path)
            types[name] = self.definitions[number]
        unlimited = set(ids("nc_inq_unlimdims", group))
        dimensions = {}
        for number in ids("nc_inq_dimids", group, after=(0,)):
            raw, length = create_string_buffer(257), c_size_t()
            call("nc_inq_dim", group, number, raw, byref(length))
            dimensions[text(raw)] = (length.value, number in unlimited)
            self.dimensions[number] = (below(path, text(raw)), length.value)
        count = c_int()
        call("nc_inq_natts", group, byref(count))
        return {
            "types": types,
            "dimensions": dimensions,
            "attributes": self.attributes(group, -1, count.value),
            "variables": dict(self.variable(group, number) for number in ids("nc_inq_varids", group)),
            "groups": dict(self.child(number, path) for number in ids("nc_inq_grps", group)),
        }

    def child(self, group: int, path: str) -> tuple[str, dict[str, Any]]:
        raw = create_string_buffer(257)
        call("nc_inq_grpname", group, raw)
        return text(raw), self.group(group, below(path, text(raw)))

    def declare(self, group: int, number: int, path: str) -> str:
        raw, size, base, count, kind = create_string_buffer(257), c_size_t(), c_int(), c_size_t(), c_int()
        call("nc_inq_user_type", group, number, raw, byref(size), byref(base), byref(count), byref(kind))
        word, items, fields = CLASSES[kind.value], [], []
        for at in range(count.value):
            name = create_string_buffer(257)
            if word == "enum":
                value = create_string_buffer(8)
                call("nc_inq_enum_member", group, number, at, name, value)
                items.append((text(name), value.raw[: self.memory[base.value].itemsize]))
            else:
                place, inner, rank, lengths = c_size_t(), c_int(), c_int(), (c_int * 1024)()
                call(
                    "nc_inq_compound_field", group, number, at, name,
                    byref(place), byref(inner), byref(rank), lengths,
                )  # fmt: skip
                shape = tuple(lengths[: rank.value])
                items.append((text(name), self.names[inner.value], shape))
                fields.append((text(name), inner.value, shape, place.value))
        names, shapes = [each[0] for each in fields], [each[2] for each in fields]
        if word == "compound":
            self.definitions[number] = (word, items)
            parts = [(self.memory[each[1]], each[2]) for each in fields]
            layout = {"names": names, "formats": parts, "offsets": [each[3] for each in fields], "itemsize": size.value}
            self.memory[number] = np.dtype(layout)  # type: ignore[call-overload]
            kinds = [self.plain[each[1]] for each in fields]
            self.plain[number] = np.dtype(list(zip(names, kinds, shapes, strict=True)))
        elif word == "enum":
            self.definitions[number] = (word, self.names[base.value], items)
            self.memory[number] = self.plain[number] = self.memory[base.value]
        elif word == "opaque":
            self.definitions[number] = (word, size.value)
            self.memory[number] = self.plain[number] = np.dtype(f"V{size.value}")
        else:
            self.definitions[number] = (word, self.names[base.value])
            self.memory[number], self.plain[number] = np.dtype([("n", "u8"), ("p", "u8")]), np.dtype(object)
            self.definitions[number, "base"] = base.value  # type: ignore[index]
        self.names[number] = below(path, text(raw))
        self.definitions[number, "fields"] = fields  # type: ignore[index]
        return text(raw)

    def taken(self, number: int, raw: Any) -> Any:
        """Values in C's memory, one dimension of them, as Python has them."""
        if number == 12:
            found = np.empty(len(raw), object)
            found[:] = [ctypes.string_at(place) if place else None for place in raw.tolist()]
            return found
        word = self.definitions.get(number, ("",))[0]
        if word == "vlen":
            base = self.definitions[number, "base"]  # type: ignore[index]
            found = np.empty(len(raw), object)
            for at, (count, place) in enumerate(raw.tolist()):
                size = count * self.memory[base].itemsize
                data = ctypes.string_at(place, size) if size else b""
                found[at] = self.taken(base, np.frombuffer(data, self.memory[base]))
            return found
        if word == "compound":
            found = np.empty(len(raw), self.plain[number])
            for name, inner, shape, _ in self.definitions[number, "fields"]:  # type: ignore[index]
                found[name] = self.taken(inner, raw[name].reshape(-1)).reshape(len(raw), *shape)
            return found
        return raw

    def attributes(self, group: int, variable: int, count: int) -> list[Any]:
        found = []
        for number in range(count):
            name, kind, length = create_string_buffer(257), c_int(), c_size_t()
            call("nc_inq_attname", group, variable, number, name)
            call("nc_inq_att", group, variable, name, byref(kind), byref(length))
            raw = np.zeros(length.value, self.memory[kind.value])
            if length.value:
                call("nc_get_att", group, variable, name, c_void_p(raw.ctypes.data))
            found.append((text(name), self.names[kind.value], self.taken(kind.value, raw)))
        return found

    def variable(self, group: int, number: int) -> tuple[str, Any]:
        raw, kind, rank, dims, count = create_string_buffer(257), c_int(), c_int(), (c_int * 1024)(), c_int()
        call("nc_inq_var", group, number, raw, byref(kind), byref(rank), dims, byref(count))
        axes = [self.dimensions[each] for each in dims[: rank.value]]
        shape = tuple(length for _, length in axes)
        total = int(np.prod(shape, dtype=object))
        self.values += total
        if self.values > MOST:
            raise OverflowError(self.values)
        values = np.zeros(total, self.memory[kind.value])
        if total:
            call("nc_get_var", group, number, c_void_p(values.ctypes.data))
        attributes = self.attributes(group, number, count.value)
        return text(raw), (self.names[kind.value], axes, attributes, self.taken(kind.value, values).reshape(shape))


def text(raw: Any) -> str:
    """A name."""
    return str(raw.value.decode("utf-8", "surrogateescape"))


def below(path: str, name: str) -> str:
    """The FQN of something in a group."""
    for special in "\\/ ":
        name = name.replace(special, "\\" + special)
    return (path if path != "/" else "") + "/" + name


def read(path: str) -> dict[str, Any]:
    root = c_int()
    call("nc_open", path.encode("utf-8", "surrogateescape"), 0, byref(root))
    try:
        file = File(root.value)
        types = {file.names[number]: each for number, each in file.definitions.items() if isinstance(number, int)}
        return {"digest": group(file.root, types).hex()}
    except OverflowError as error:
        return {"large": error.args[0]}
    finally:
        LIB.nc_close(root)


if __name__ == "__main__":
    serve(read)
