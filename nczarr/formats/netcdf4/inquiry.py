"""Content of an open netCDF-4 file by the library's inquiry functions: numbers, names, lists.

Thin, like `library.py`: one function for each question.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint, c_void_p, create_string_buffer
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from nczarr.formats.netcdf4.library import Library
from nczarr.names import to_bytes

NAME = 4097
"""Buffer size for names: the library's limit is 256, but HDF5 names may be longer."""

MOST_DIMENSIONS = 1024
"""The library's limit of dimensions of a variable."""

VLEN, OPAQUE, ENUM, COMPOUND = 13, 14, 15, 16
CLASSIC_MODEL_FORMAT = 4
"""Result of `nc_inq_format` for a netCDF-4 file of the classic model."""


class TypeInfo(NamedTuple):
    """A user-defined type."""

    kind: int
    """Class of the type: `NC_VLEN` and the like."""
    name: str
    """Name of the type."""
    size: int
    """Size in memory in bytes."""
    base: int
    """Id of the base type."""
    members: int
    """Number of members."""


class FieldInfo(NamedTuple):
    """A field of a compound type."""

    name: str
    """Name of the field."""
    type: int
    """Id of its type."""
    shape: tuple[int, ...]
    """Shape of its values."""


class VariableInfo(NamedTuple):
    """A variable."""

    name: str
    """Name of the variable."""
    type: int
    """Id of its type."""
    dimensions: tuple[int, ...]
    """Ids of its dimensions."""
    attributes: int
    """Number of attributes."""


class StorageInfo(NamedTuple):
    """Storage of a variable."""

    layout: int
    """0 chunked, 1 contiguous, 2 compact."""
    chunks: tuple[int, ...]
    """Chunk length of each dimension."""
    filters: tuple[tuple[int, ...], ...]
    """Filters in no defined order: number, then parameters."""
    endian: int
    """Byte order as the library names it."""
    no_fill: bool
    """True if unwritten cells are undefined."""


class Inquiry:
    """Queries about groups; `group` is an id from `groups`, or the file's.

    Frequent queries share their output arguments, so that one thread at a time may use an instance.
    """

    def __init__(self, lib: Library) -> None:
        self.lib = lib
        self._do = lib.call
        self._int, self._size, self._kind = c_int(), c_size_t(), c_int()
        self._to_int, self._to_size = byref(self._int), byref(self._size)
        self._rank, self._ids_of_dimensions = c_int(), (c_int * MOST_DIMENSIONS)()
        self._scratch = create_string_buffer(NAME)
        self._attribute_name, self._attribute = lib.dll.nc_inq_attname, lib.dll.nc_inq_att
        self._attribute_values = lib.dll.nc_get_att

    def _name(self, name: str, *arguments: Any) -> str:
        self._do(name, *arguments, self._scratch)
        return _text(self._scratch)

    def _ids(self, name: str, group: int, *more: Any) -> tuple[int, ...]:
        count = self._int
        self._do(name, group, self._to_int, None, *more)
        if not count.value:
            return ()
        ids = (c_int * count.value)()
        self._do(name, group, self._to_int, ids, *more)
        return tuple(ids[: count.value])

    def is_classic_model(self, file: int) -> bool:
        """Return whether the file has the classic model (nc7)."""
        format_id = c_int()
        self._do("nc_inq_format", c_int(file), byref(format_id))
        return format_id.value == CLASSIC_MODEL_FORMAT

    def groups(self, group: int) -> tuple[int, ...]:
        """Return the child groups in definition order."""
        return self._ids("nc_inq_grps", group)

    def group_name(self, group: int) -> str:
        """Return the simple name of a group."""
        return self._name("nc_inq_grpname", c_int(group))

    def dimensions(self, group: int) -> dict[int, tuple[str, int, bool]]:
        """Return a group's own dimensions by id: name, length, whether unlimited."""
        growing = self._ids("nc_inq_unlimdims", group)
        dimensions = {}
        for number in self._ids("nc_inq_dimids", group, c_int(0)):
            self._do("nc_inq_dim", group, number, self._scratch, self._to_size)
            dimensions[number] = _text(self._scratch), self._size.value, number in growing
        return dimensions

    def types(self, group: int) -> dict[int, TypeInfo]:
        """Return a group's own types by id, in definition order."""
        types = {}
        for number in self._ids("nc_inq_typeids", group):
            name, size, base, count, kind = create_string_buffer(NAME), c_size_t(), c_int(), c_size_t(), c_int()
            outs = (name, byref(size), byref(base), byref(count), byref(kind))
            self._do("nc_inq_user_type", c_int(group), c_int(number), *outs)
            types[number] = TypeInfo(kind.value, _text(name), size.value, base.value, count.value)
        return types

    def fields(self, group: int, number: int, count: int) -> list[FieldInfo]:
        """Return the fields of a compound type."""
        fields = []
        for place in range(count):
            name, offset, kind, rank = create_string_buffer(NAME), c_size_t(), c_int(), c_int()
            shape = (c_int * 1024)()
            outs = (name, byref(offset), byref(kind), byref(rank), shape)
            self._do("nc_inq_compound_field", c_int(group), c_int(number), c_int(place), *outs)
            fields.append(FieldInfo(_text(name), kind.value, tuple(shape[: rank.value])))
        return fields

    def members(self, group: int, number: int, count: int) -> list[tuple[str, bytes]]:
        """Return an enum's members; values are eight bytes, of which the base type uses the first."""
        members = []
        for place in range(count):
            name, value = create_string_buffer(NAME), create_string_buffer(8)
            self._do("nc_inq_enum_member", c_int(group), c_int(number), c_int(place), name, value)
            members.append((_text(name), value.raw))
        return members

    def variables(self, group: int) -> dict[int, VariableInfo]:
        """Return a group's variables by id, in definition order.

        Omits those with a multidimensional attribute, on which the library
        fails.
        """
        variables = {}
        rank, dimensions = self._rank, self._ids_of_dimensions
        outs = self._scratch, byref(self._kind), byref(rank), dimensions
        for number in self._ids("nc_inq_varids", group):
            try:  # once: when it is asked again, the library hides its failure
                self._do("nc_inq_var", group, number, *outs, None)
            except OSError:
                continue
            name, type_id, ids = _text(self._scratch), self._kind.value, tuple(dimensions[: rank.value])
            variables[number] = VariableInfo(name, type_id, ids, self._count("nc_inq_varnatts", group, number))
        return variables

    def attribute_count(self, group: int) -> int:
        """Return the number of attributes of a group."""
        return self._count("nc_inq_natts", group)

    def _count(self, name: str, *ids: int) -> int:
        """Return the number of attributes; 0 if the library fails on one."""
        try:
            self._do(name, *ids, self._to_int)
        except OSError:
            return 0
        return self._int.value

    def attribute_name(self, group: int, owner: int, place: int) -> str:
        """Return the name of an attribute by its index, in the file's spelling."""
        status = self._attribute_name(group, owner, place, self._scratch)
        if status:
            self.lib.fail("nc_inq_attname", status)
        return _text(self._scratch)

    def attribute(self, group: int, owner: int, name: str) -> tuple[int, int]:
        """Return type and length of an attribute; the library looks up its name in NFC."""
        status = self._attribute(group, owner, to_bytes(name), self._to_int, self._to_size)
        if status:
            self.lib.fail("nc_inq_att", status)
        return self._int.value, self._size.value

    def storage(self, group: int, variable: int, rank: int, *, filters: bool = True) -> StorageInfo:
        """Return the storage of a variable; without `filters`, the filters are left out."""
        out, chunks = self._int, (c_size_t * max(1, rank))()
        self._do("nc_inq_var_chunking", group, variable, byref(out), chunks)
        layout = out.value
        self._do("nc_inq_var_endian", group, variable, byref(out))
        endian = out.value
        self._do("nc_inq_var_fill", group, variable, byref(out), None)
        no_fill = bool(out.value)
        lengths = tuple(chunks[:rank]) if layout == 0 else ()
        return StorageInfo(layout, lengths, self._filters(group, variable) if filters else (), endian, no_fill)

    def fill(self, group: int, variable: int, size: int) -> bytes:
        """Return the value of an atomic variable's unwritten cells: `size` bytes, native order."""
        value = create_string_buffer(size)
        self._do("nc_inq_var_fill", group, variable, byref(self._int), value)
        return value.raw

    def _filters(self, group: int, variable: int) -> tuple[tuple[int, ...], ...]:
        at = (c_int(group), c_int(variable))
        shuffle, deflate, level, fletcher = c_int(), c_int(), c_int(), c_int()
        self._do("nc_inq_var_deflate", *at, byref(shuffle), byref(deflate), byref(level))
        self._do("nc_inq_var_fletcher32", *at, byref(fletcher))
        filters: list[tuple[int, ...]] = [(3,)] if fletcher.value else []
        filters += [(2,)] if shuffle.value else []
        count = c_size_t()
        self._do("nc_inq_var_filter_ids", *at, byref(count), None)
        ids = (c_uint * max(1, count.value))()
        self._do("nc_inq_var_filter_ids", *at, byref(count), ids)
        for number in ids[: count.value]:
            if number in (2, 3):
                continue
            length = c_size_t()
            self._do("nc_inq_var_filter_info", *at, c_uint(number), byref(length), None)
            values = (c_uint * max(1, length.value))()
            self._do("nc_inq_var_filter_info", *at, c_uint(number), byref(length), values)
            filters.append((number, *values[: length.value]))
        return tuple(filters)

    def read_attribute(self, group: int, owner: int, name: str, address: int) -> None:
        """Read the values of an attribute, as C structs, into memory at an address."""
        self._do("nc_get_att", group, owner, to_bytes(name), c_void_p(address))

    def attribute_bytes(self, group: int, owner: int, name: str, size: int) -> bytes:
        """Return the values of an attribute of an atomic type except string: `size` bytes, native order."""
        buffer = self._scratch if size <= NAME else create_string_buffer(size)
        status = self._attribute_values(group, owner, to_bytes(name), buffer) if size else 0
        if status:
            self.lib.fail("nc_get_att", status)
        return ctypes.string_at(buffer, size)

    def release(self, file: int, kind: int, address: int, count: int) -> None:
        """Free the memory that pointers in an array of values refer to."""
        self._do("nc_reclaim_data", c_int(file), c_int(kind), c_void_p(address), c_size_t(count))


class ModelInquiry(Protocol):
    """Answers about the model of a file, as those of `Inquiry`."""

    def is_classic_model(self, file: int) -> bool:
        """Return whether the file has the classic model (nc7)."""
        ...

    def groups(self, group: int) -> tuple[int, ...]:
        """Return the child groups in definition order."""
        ...

    def group_name(self, group: int) -> str:
        """Return the simple name of a group."""
        ...

    def dimensions(self, group: int) -> dict[int, tuple[str, int, bool]]:
        """Return a group's own dimensions by id: name, length, whether unlimited."""
        ...

    def types(self, group: int) -> dict[int, TypeInfo]:
        """Return a group's own types by id, in definition order."""
        ...

    def fields(self, group: int, number: int, count: int) -> list[FieldInfo]:
        """Return the fields of a compound type."""
        ...

    def members(self, group: int, number: int, count: int) -> list[tuple[str, bytes]]:
        """Return an enum's members."""
        ...

    def variables(self, group: int) -> dict[int, VariableInfo]:
        """Return a group's variables by id, in definition order."""
        ...

    def attribute_count(self, group: int) -> int:
        """Return the number of attributes of a group."""
        ...

    def storage(self, group: int, variable: int, rank: int, *, filters: bool = True) -> StorageInfo:
        """Return the storage of a variable."""
        ...

    def fill(self, group: int, variable: int, size: int) -> bytes:
        """Return the value of an atomic variable's unwritten cells: `size` bytes, native order."""
        ...


@dataclass
class GroupMembers:
    """Members of a group by id."""

    types: dict[int, TypeInfo]
    """Types."""
    dimensions: dict[int, tuple[str, int, bool]]
    """Name, length and whether unlimited of each dimension."""
    variables: dict[int, VariableInfo]
    """Variables."""
    groups: dict[int, str]
    """Names of child groups."""
    shown: dict[int, str]
    """Names of variables in the tree."""
    below: dict[int, str]
    """Names of child groups in the tree."""
    alike: dict[str, list[int]]
    """Variable ids by the file's spelling; several if one is stored under another's name."""

    @classmethod
    def of(cls, ask: ModelInquiry, group: int) -> GroupMembers:
        """Query the members of a group."""
        below = {child: ask.group_name(child) for child in ask.groups(group)}
        members = cls(ask.types(group), ask.dimensions(group), ask.variables(group), below, {}, {}, {})
        for number, info in members.variables.items():
            members.alike.setdefault(info.name, []).append(number)
        return members

    def items(self) -> list[tuple[str, str]]:
        """Return kind and name of each member, in the file's spelling."""
        return [
            *(("type", info.name) for info in self.types.values()),
            *(("dimension", name) for name, _, _ in self.dimensions.values()),
            *(("variable", info.name) for info in self.variables.values()),
            *(("group", name) for name in self.groups.values()),
        ]


def _text(buffer: ctypes.Array[ctypes.c_char]) -> str:
    return buffer.value.decode("utf-8", "surrogateescape")
