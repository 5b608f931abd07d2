"""Reads all of a netCDF file through libnetcdf's C API, as a worker: one path a line.

Answer: {"facts": [(where, fact), …]}. The facts are everything that the C API shows: the kind of file; groups, types,
dimensions, variables and attributes with their order; every bit of the values; chunks, filters, byte order, fill
values and fill modes. Two files are equal if their facts are.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
from collections.abc import Iterator
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p, create_string_buffer
from typing import Any

from read_netcdf import LIB, call, ids
from worker import serve

Facts = Iterator[tuple[str, Any]]

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8, 12: 8}
"""Bytes of a value in memory by the number of its atomic type; a string is a pointer."""

STRING, VLEN, OPAQUE, ENUM, COMPOUND = 12, 13, 14, 15, 16
NETCDF4 = (3, 4)
"""Kinds of file that are HDF5: netCDF-4, and netCDF-4 with the classic model."""

SLAB = 32 << 20
"""Bytes of values that are read at once."""

LIB.nc_reclaim_data.argtypes = [c_int, c_int, c_void_p, c_size_t]


class Type:
    """A type of a file. `definition` names and describes it; `value` makes a value of Python of bytes in memory."""

    def __init__(self, group: int, number: int) -> None:
        self.number = number
        self.fields: list[tuple[int, Type, int]] = []
        self.kind, self.size, self.definition = number, SIZES.get(number, 0), str(number)
        if number in SIZES:
            return
        size, base, count, kind = c_size_t(), c_int(), c_size_t(), c_int()
        name = create_string_buffer(257)
        call("nc_inq_user_type", group, number, name, byref(size), byref(base), byref(count), byref(kind))
        self.kind, self.size = kind.value, size.value
        parts: list[str] = []
        if self.kind in (VLEN, ENUM):
            self.fields = [(0, Type(group, base.value), 1)]
        for index in range(count.value if self.kind in (ENUM, COMPOUND) else 0):
            member = create_string_buffer(257)
            if self.kind == ENUM:
                value = create_string_buffer(8)
                call("nc_inq_enum_member", group, number, index, member, value)
                parts.append(f"{member.value!r} = {value.raw[: self.size].hex()}")
                continue
            offset, inner, rank, lengths = c_size_t(), c_int(), c_int(), (c_int * 1024)()
            call(
                "nc_inq_compound_field", group, number, index, member, byref(offset), byref(inner), byref(rank), lengths
            )
            shape = list(lengths)[: rank.value]
            self.fields.append((offset.value, Type(group, inner.value), math.prod(shape)))
            parts.append(f"{member.value!r}: {self.fields[-1][1].definition}{shape}")
        bases = (
            [self.fields[0][1].definition] if self.kind in (VLEN, ENUM) else [str(self.size)] * (self.kind == OPAQUE)
        )
        self.definition = f"{name.value!r} {self.kind} {bases} {parts}"

    def is_plain(self) -> bool:
        """Whether its bytes in memory are the value: no pointers and no padding."""
        return self.kind != STRING and self.kind not in (VLEN, COMPOUND)

    def value(self, address: int) -> Any:
        """Return the value at an address; padding does not belong to it."""
        if self.kind == STRING:
            pointer = c_void_p.from_address(address).value
            return None if pointer is None else ctypes.string_at(pointer)
        if self.kind == VLEN:
            length, start = c_size_t.from_address(address).value, c_void_p.from_address(address + 8).value or 0
            inner = self.fields[0][1]
            return [inner.value(start + inner.size * index) for index in range(length)]
        if self.kind == COMPOUND:
            return [
                inner.value(address + offset + inner.size * index)
                for offset, inner, count in self.fields
                for index in range(count)
            ]
        return ctypes.string_at(address, self.size)

    def values(self, group: int, count: int, read: str, *where: Any) -> bytes:
        """Read values, and return their bytes or, where these are pointers, a text with all of them."""
        memory = create_string_buffer(max(1, self.size * count))
        call(read, group, *where, memory)
        if self.is_plain():
            return memory.raw[: self.size * count]
        start = ctypes.addressof(memory)
        text = repr([self.value(start + self.size * index) for index in range(count)]).encode()
        call("nc_reclaim_data", group, self.number, memory, count)
        return text


def name_of(function: str, *arguments: Any) -> str:
    name = create_string_buffer(257)
    call(function, *arguments, name)
    return name.value.decode("utf-8", "surrogateescape")


def attributes(group: int, variable: int, count: int, where: str) -> Facts:
    """Attributes in order. `_NCProperties` tells which library made the file, and nothing of what it holds."""
    for number in range(count):
        name = name_of("nc_inq_attname", group, variable, number)
        kind, length = c_int(), c_size_t()
        encoded = name.encode("utf-8", "surrogateescape")
        call("nc_inq_att", group, variable, encoded, byref(kind), byref(length))
        found = Type(group, kind.value)
        value = found.values(group, length.value, "nc_get_att", variable, encoded) if length.value else b""
        if name != "_NCProperties":
            yield f"{where}@{name}", (found.definition, length.value, value)


def filters(group: int, number: int) -> list[tuple[int, list[int]]]:
    """Filters of a variable in order, each with its parameters."""
    count = c_size_t()
    call("nc_inq_var_filter_ids", group, number, byref(count), None)
    listed = (c_uint * max(1, count.value))()
    call("nc_inq_var_filter_ids", group, number, byref(count), listed)
    found = []
    for each in list(listed)[: count.value]:
        size = c_size_t()
        call("nc_inq_var_filter_info", group, number, c_uint(each), byref(size), None)
        parameters = (c_uint * max(1, size.value))()
        call("nc_inq_var_filter_info", group, number, c_uint(each), byref(size), parameters)
        found.append((each, list(parameters)[: size.value]))
    return found


def storage(group: int, number: int, rank: int, found: Type) -> Facts:
    """Layout and chunks, byte order, checksums, filters, quantization, fill mode and fill value."""
    layout, chunks, order, checksum = c_int(), (c_size_t * max(1, rank))(), c_int(), c_int()
    call("nc_inq_var_chunking", group, number, byref(layout), chunks)
    yield "layout", (layout.value, list(chunks)[:rank] if layout.value == 0 else [])
    kind = c_int()
    call("nc_inq_format", group, byref(kind))
    if kind.value in NETCDF4:  # the library refuses these questions about classic files, which have no choice
        call("nc_inq_var_endian", group, number, byref(order))
        yield "byte order", order.value
        call("nc_inq_var_fletcher32", group, number, byref(checksum))
        yield "checksum", checksum.value
        yield "filters", filters(group, number)
    unfilled, value = c_int(), create_string_buffer(max(1, found.size))
    call("nc_inq_var_fill", group, number, byref(unfilled), value)
    yield "fill mode", unfilled.value
    yield "fill value", found.value(ctypes.addressof(value))


def variable(group: int, number: int, where: str, unlimited: frozenset[int]) -> Facts:
    """`unlimited`: dimensions of its group and those above that grow."""
    kind, rank, dims, count = c_int(), c_int(), (c_int * 1024)(), c_int()
    name = create_string_buffer(257)
    call("nc_inq_var", group, number, name, byref(kind), byref(rank), dims, byref(count))
    path = f"{where}/{name.value.decode('utf-8', 'surrogateescape')}"
    used = list(dims)[: rank.value]
    lengths = []
    for dimension in used:
        length = c_size_t()
        call("nc_inq_dimlen", group, dimension, byref(length))
        lengths.append(length.value)
    found = Type(group, kind.value)
    yield path, (found.definition, [name_of("nc_inq_dimname", group, each) for each in used], lengths)
    yield from ((f"{path}: {what}", fact) for what, fact in storage(group, number, rank.value, found))
    yield from attributes(group, number, count.value, path)
    digest = hashlib.sha256()
    most = max(1, SLAB // max(1, found.size))
    if unlimited & set(used[1:]):  # libnetcdf 4.10.1 misplaces values of larger parts, if the array ends before it
        most = 1
    for start, shape in slabs(lengths, most):
        corner, edges = (c_size_t * max(1, len(shape)))(*start), (c_size_t * max(1, len(shape)))(*shape)
        digest.update(found.values(group, math.prod(shape), "nc_get_vara", number, corner, edges))
    yield f"{path}: values", digest.hexdigest()


def slabs(lengths: list[int], most: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield start and shape of parts in C order, each with at most so many values."""
    if not lengths:
        yield [], []
        return
    row = math.prod(lengths[1:])
    if row > most:
        for first in range(lengths[0]):
            for start, shape in slabs(lengths[1:], most):
                yield [first, *start], [1, *shape]
        return
    rows = most // max(1, row)
    for first in range(0, lengths[0], rows):
        yield [first, *[0] * (len(lengths) - 1)], [min(rows, lengths[0] - first), *lengths[1:]]


def group_facts(group: int, where: str, above: frozenset[int] = frozenset()) -> Facts:
    """`above`: unlimited dimensions of the groups above."""
    children, variables = ids("nc_inq_grps", group), ids("nc_inq_varids", group)
    yield f"{where}/: types", [Type(group, number).definition for number in ids("nc_inq_typeids", group)]
    unlimited = above.union(ids("nc_inq_unlimdims", group))
    dimensions = []
    for number in ids("nc_inq_dimids", group, after=(0,)):
        length = c_size_t()
        call("nc_inq_dimlen", group, number, byref(length))
        dimensions.append((name_of("nc_inq_dimname", group, number), length.value, number in unlimited))
    yield f"{where}/: dimensions", dimensions
    yield f"{where}/: variables", [name_of("nc_inq_varname", group, number) for number in variables]
    yield f"{where}/: groups", [name_of("nc_inq_grpname", number) for number in children]
    count = c_int()
    call("nc_inq_natts", group, byref(count))
    yield from attributes(group, -1, count.value, f"{where}/")
    for number in variables:
        yield from variable(group, number, where, unlimited)
    for number in children:
        yield from group_facts(number, f"{where}/{name_of('nc_inq_grpname', number)}", unlimited)


def read(path: str) -> dict[str, Any]:
    root, kind = c_int(), c_int()
    call("nc_open", c_char_p(path.encode()), 0, byref(root))
    try:
        call("nc_inq_format", root, byref(kind))
        facts = [("kind of file", kind.value), *group_facts(root.value, "")]
    finally:
        LIB.nc_close(root)
    return {"facts": facts}


if __name__ == "__main__":
    serve(read)
