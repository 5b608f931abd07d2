"""HDF5 metadata of a dataset: type, extent, layout, chunks, filters, fill value, address."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p, cast, create_string_buffer
from functools import cached_property
from typing import NamedTuple

from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.ast import Codec
from nczarr.ast.storage import FLETCHER32, SHUFFLE, SZIP
from nczarr.check.check_names import apart
from nczarr.formats.netcdf4.hdf5 import Hdf5, closing, hdf5, object_path, opened_file
from nczarr.formats.netcdf4.header.chunk_addresses import ChunkIndex
from nczarr.formats.netcdf4.library import Library

NON_COORDINATE = "_nc4_non_coord_"
"""Name prefix of a variable that has a dimension's name without being its coordinate variable."""

COMPACT, CONTIGUOUS, CHUNKED = 0, 1, 2
"""Layouts (H5D_layout_t), without virtual and unknown ones."""

INTEGER, FLOAT, STRING, OPAQUE, COMPOUND, ENUM, VLEN, _ARRAY = 0, 1, 3, 5, 6, 8, 9, 10
"""Classes of types (H5T_class_t)."""

_LITTLE, _BIG = 0, 1
"""Byte orders (H5T_order_t)."""

_UNFILTERED_EDGES = 0x2
"""H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS."""

_UNDEFINED_FILL, OWN_FILL = 0, 2
"""States of a fill value (H5D_fill_value_t): undefined, user-defined."""

_NEVER = 1
"""H5D_FILL_TIME_NEVER."""

_NOT_ALLOCATED = 0
"""H5D_SPACE_STATUS_NOT_ALLOCATED."""

SZIP_CHOICES = 4 | 32
"""User-defined bits of szip's first parameter: entropy coding or nearest neighbour."""

_MOST_DIMENSIONS = 32
"""H5S_MAX_RANK."""

_MOST_PARAMETERS = 64
"""Filter parameters requested at once; longer lists are requested again."""


class Outline(NamedTuple):
    """Structure of an HDF5 type."""

    family: int
    """Class of the type (`H5T_class_t`)."""
    size: int
    """Size in bytes."""
    members: tuple[tuple[str, tuple[int, ...], Outline], ...] = ()
    """Members: name, shape and type."""
    base: Outline | None = None
    """Base type."""


_NULL_TERMINATED = 0
"""H5T_STR_NULLTERM; other texts are padded with NULs or spaces."""


class FixedText(NamedTuple):
    """Type of fixed-length texts."""

    size: int
    """Size in bytes."""
    terminated: bool
    """True if the first NUL ends a text."""


def text_of(data: bytes, *, terminated: bool) -> bytes:
    """Return the text in the bytes of one element."""
    return data.split(b"\0", 1)[0] if terminated else data.rstrip(b"\0")


class DatasetInfo(NamedTuple):
    """Metadata of a dataset."""

    dtype: Descr | None
    """Type of the elements; None if no `Descr` fits."""
    extent: tuple[int, ...] | None
    """Shape of the dataset; None for a null dataspace."""
    layout: int
    """Layout (`H5D_layout_t`)."""
    chunks: tuple[int, ...]
    """Chunk length of each dimension."""
    filters: tuple[Codec, ...]
    """Filters in encoding order."""
    fill: bytes | None
    """Fill value in the bytes of `dtype`, by default zeros; None without `dtype`."""
    address: int | None
    """File offset of contiguous data; None if unallocated or external."""
    elsewhere: bool
    """True if the data are in other files."""
    unfiltered_edges: bool
    """True if chunks that exceed the extent are unfiltered."""
    shuffled: int | None = None
    """Element size of the shuffle filter; None without one."""
    undefined: bool = False
    """True if HDF5 does not initialize unwritten cells."""
    given: bool = False
    """True if the fill value is user-defined."""
    text: bytes | None = None
    """Fill value of strings; None if missing or empty."""
    outline: Outline | None = None
    """Structure of the elements, if `dtype` is None."""
    fixed: FixedText | None = None
    """Type of fixed-length texts of more than one byte."""
    chunk_index: ChunkIndex | None = None
    """Index of the chunks, if the header was read here."""


class ListedObject(NamedTuple):
    """An object as the list of a file's objects has it."""

    kind: int
    """Kind of object (`H5O_type_t`)."""
    attributes: int
    """Number of attributes."""
    file: int
    """HDF5's number of the file that holds the object; external links lead to others."""
    reserved: int = 0
    """Number of attributes that the netCDF library uses internally, of those that files usually have."""
    is_scale: bool = False
    """True for a dataset that is marked as a dimension scale."""
    dataset: DatasetInfo | None = None
    """Metadata of a dataset of flat elements; None if HDF5 cannot open it."""


def find(h5: Hdf5, file: int, group: tuple[str, ...], name: str) -> int:
    """Open a netCDF variable's dataset; -1 if it does not exist."""
    for stored in (NON_COORDINATE + name, name):
        path = object_path(group, stored)
        if h5.H5Lexists(file, path, 0) > 0:
            return int(h5.H5Dopen2(file, path, 0))
    return -1


class FileDatasets:
    """Datasets of a file by variable name. `objects`: the objects of the file by path.

    The file is opened when HDF5 is asked for more than these.
    """

    def __init__(self, h5: Hdf5, path: str, objects: Mapping[str, ListedObject], files: ExitStack) -> None:
        self.h5 = h5
        self._path = path
        self._objects = objects
        self._files = files

    @cached_property
    def file(self) -> int:
        """HDF5's identifier of the file; -1 if its objects are unknown and it cannot be opened. Raises OSError."""
        return self._files.enter_context(opened_file(self.h5, self._path, needed=bool(self._objects)))

    def cut_texts(
        self, group: tuple[str, ...], name: str | None, attribute: str, count: int
    ) -> tuple[bytes, ...] | None:
        """Return the fixed-length texts of an attribute if one contains an inner NUL; else None.

        The netCDF library cuts them there. `name`: the variable; None for an
        attribute of the group.
        """
        h5, places = self.h5, [object_path(group, spelling) for spelling in (NON_COORDINATE + (name or ""), name or "")]
        place = next(
            (candidate for candidate in places if name is not None and h5.H5Lexists(self.file, candidate, 0) > 0),
            None,
        )
        opened = h5.H5Aopen_by_name(self.file, place or places[1], attribute.encode("utf-8", "surrogateescape"), 0, 0)
        if opened < 0:
            return None
        with (
            closing(h5, "H5Aclose", opened) as attribute_id,
            closing(h5, "H5Tclose", h5.do("H5Aget_type", attribute_id)) as kind,
        ):
            if h5.H5Tget_class(kind) != STRING or h5.H5Tis_variable_str(kind) != 0:
                return None
            size = h5.H5Tget_size(kind)
            buffer = create_string_buffer(max(1, size * count))
            h5.do("H5Aread", attribute_id, kind, buffer)
        data = [buffer.raw[at : at + size].rstrip(b"\0") for at in range(0, size * count, size)]
        return tuple(data) if any(b"\0" in text for text in data) else None

    def of(self, group: tuple[str, ...], name: str) -> DatasetInfo | None:
        """Return the metadata of a variable's dataset; None if it does not exist. Raises OSError."""
        above = "/".join(("", *group, ""))
        place = above + NON_COORDINATE + name
        if place not in self._objects:
            place = above + name
        listed = self._objects.get(place)
        info = None if listed is None else listed.dataset or self._described(place)
        if listed is None or info is None:
            return None
        return info if listed.file == self._objects["/"].file else info._replace(elsewhere=True, address=None)

    def _described(self, place: str) -> DatasetInfo | None:
        """Return the metadata of a dataset from its file; None if HDF5 cannot open it. Raises OSError."""
        dataset = self.h5.H5Dopen2(self.file, place.encode(), 0)
        if dataset < 0:
            return None
        with closing(self.h5, "H5Dclose", dataset):
            return describe(self.h5, dataset)


@contextmanager
def datasets(lib: Library, path: str, objects: Mapping[str, ListedObject]) -> Iterator[FileDatasets]:
    """Yield the datasets of a file that the library has open too."""
    with ExitStack() as files:
        yield FileDatasets(hdf5(lib), path, objects, files)


def describe(h5: Hdf5, dataset: int) -> DatasetInfo:
    """Return the metadata of an open dataset. Raises OSError."""
    return Describer(h5).describe(dataset)


class Describer:
    """Reads the metadata of open datasets. Buffers are shared: one thread at a time may use an instance."""

    def __init__(self, h5: Hdf5) -> None:
        self._h5 = h5
        self._lengths = (c_uint64 * _MOST_DIMENSIONS)()
        self._options, self._flags, self._count = c_uint(), c_uint(), c_size_t()
        self._status, self._when = c_int(), c_int()
        self._values = (c_uint * _MOST_PARAMETERS)()
        self._codecs: dict[tuple[int, tuple[int, ...]], Codec] = {}

    def describe(self, dataset: int) -> DatasetInfo:
        """Return the metadata of an open dataset. Raises OSError."""
        with closing(self._h5, "H5Tclose", self._h5.do("H5Dget_type", dataset)) as kind:
            return self._describe(dataset, kind, descr_of(self._h5, kind))

    def describe_flat(self, dataset: int) -> DatasetInfo | None:
        """Return the metadata of an open dataset; None if its elements may be strings or lists. Raises OSError.

        Of these, HDF5 reads the fill value at once, which never ends in some
        damaged files.
        """
        with closing(self._h5, "H5Tclose", self._h5.do("H5Dget_type", dataset)) as kind:
            dtype = descr_of(self._h5, kind)
            if dtype is None and not is_flat(self._h5, kind):
                return None
            return self._describe(dataset, kind, dtype)

    def _describe(self, dataset: int, kind: int, dtype: Descr | None) -> DatasetInfo:
        h5 = self._h5
        extent = self._extent(dataset)
        with closing(h5, "H5Pclose", h5.do("H5Dget_create_plist", dataset)) as properties:
            layout = h5.H5Pget_layout(properties)
            chunks: tuple[int, ...] = ()
            filters: tuple[Codec, ...] = ()
            shuffled, edges = None, False
            if layout == CHUNKED:
                rank = len(extent or ())
                h5.do("H5Pget_chunk", properties, rank, self._lengths)
                chunks = tuple(self._lengths[:rank])
                self._options.value = 0
                h5.H5Pget_chunk_opts(properties, byref(self._options))
                edges = bool(self._options.value & _UNFILTERED_EDGES)
                filters, shuffled = self._filters(properties)
            elsewhere = layout == CONTIGUOUS and h5.H5Pget_external_count(properties) != 0
            fill, undefined, is_own_fill = self._fill(properties, kind, dtype)
            address = self._address(dataset) if layout == CONTIGUOUS and not elsewhere else None
            return DatasetInfo(
                dtype,
                extent,
                layout,
                chunks,
                filters,
                fill,
                address,
                elsewhere,
                edges,
                shuffled,
                undefined,
                is_own_fill,
                _fill_text(h5, properties, kind) if is_own_fill and dtype is None else None,
                outline(h5, kind) if dtype is None else None,
                fixed_text(h5, kind) if dtype is None else None,
            )

    def _extent(self, dataset: int) -> tuple[int, ...] | None:
        """Return the shape of a dataset; None if its dataspace has none."""
        h5 = self._h5
        with closing(h5, "H5Sclose", h5.do("H5Dget_space", dataset)) as space:
            rank = h5.H5Sget_simple_extent_dims(space, self._lengths, None)
            return None if rank < 0 else tuple(self._lengths[:rank])

    def _address(self, dataset: int) -> int | None:
        """Return the offset of contiguous data; None if unallocated: H5Dget_offset cannot express that."""
        self._h5.do("H5Dget_space_status", dataset, byref(self._status))
        return None if self._status.value == _NOT_ALLOCATED else int(self._h5.H5Dget_offset(dataset))

    def _filters(self, properties: int) -> tuple[tuple[Codec, ...], int | None]:
        """Return the pipeline in encoding order, and shuffle's element size.

        Omits HDF5's own parameters: shuffle and checksum have none, szip the user's
        two.
        """
        h5, flags, count = self._h5, byref(self._flags), byref(self._count)
        codecs, shuffled = [], None
        for place in range(h5.H5Pget_nfilters(properties)):
            values, self._count.value = self._values, _MOST_PARAMETERS
            number = h5.do("H5Pget_filter2", properties, place, flags, count, values, 0, None, None)
            if self._count.value > _MOST_PARAMETERS:
                values = (c_uint * self._count.value)()
                h5.do("H5Pget_filter2", properties, place, flags, count, values, 0, None, None)
            values_of_filter = tuple(values[: self._count.value])
            if number == SHUFFLE:
                shuffled = values_of_filter[0] if values_of_filter else 0
            parameters = () if number in (SHUFFLE, FLETCHER32) else values_of_filter
            if number == SZIP and len(values_of_filter) > 1:
                parameters = values_of_filter[0] & SZIP_CHOICES, values_of_filter[1]
            codec = self._codecs.get((number, parameters))
            if codec is None:
                codec = self._codecs[number, parameters] = Codec(id=number, parameters=parameters)
            codecs.append(codec)
        return tuple(codecs), shuffled

    def _fill(self, properties: int, kind: int, dtype: Descr | None) -> tuple[bytes | None, bool, bool]:
        """Return the fill value in the file's type, whether unwritten cells lack it, whether it is user-defined."""
        h5, status, when = self._h5, self._status, self._when
        status.value = when.value = 0
        h5.H5Pfill_value_defined(properties, byref(status))
        h5.H5Pget_fill_time(properties, byref(when))
        undefined = status.value == _UNDEFINED_FILL or when.value == _NEVER
        is_own_fill = status.value == OWN_FILL
        size = 0 if dtype is None else itemsize(dtype)
        if not is_own_fill or not size:
            return bytes(size) if size else None, undefined, is_own_fill
        buffer = create_string_buffer(size)
        if h5.H5Pget_fill_value(properties, kind, buffer) < 0:
            return None, True, is_own_fill
        return buffer.raw, undefined, is_own_fill


def is_flat(h5: Hdf5, kind: int) -> bool:
    """Return whether a type is a number or a fixed-length text."""
    family = h5.H5Tget_class(kind)
    return family in (INTEGER, FLOAT) or (family == STRING and h5.H5Tis_variable_str(kind) == 0)


def fixed_text(h5: Hdf5, kind: int) -> FixedText | None:
    """Return the type of fixed-length texts; None for other types."""
    if h5.H5Tget_class(kind) != STRING or h5.H5Tis_variable_str(kind) > 0:
        return None
    return FixedText(h5.H5Tget_size(kind), h5.H5Tget_strpad(kind) == _NULL_TERMINATED)


def _fill_text(h5: Hdf5, properties: int, kind: int) -> bytes | None:
    """Return the fill value of strings; None if empty, or for other types."""
    if h5.H5Tget_class(kind) != STRING:
        return None
    fixed = fixed_text(h5, kind)
    if fixed is not None:
        buffer = create_string_buffer(fixed.size)
        if h5.H5Pget_fill_value(properties, kind, buffer) < 0:
            return None
        return text_of(buffer.raw, terminated=fixed.terminated) or None
    address = c_void_p()
    if h5.H5Pget_fill_value(properties, kind, byref(address)) < 0 or not address.value:
        return None
    try:
        return cast(address, c_char_p).value or None
    finally:
        h5.H5free_memory(address)


def descr_of(h5: Hdf5, kind: int) -> Descr | None:
    """Return the `Descr` of a type in the file.

    None for variable size, odd widths, records with gaps, texts of several
    bytes, classes unknown to netCDF.
    """
    size, family = h5.H5Tget_size(kind), h5.H5Tget_class(kind)
    if family in (INTEGER, FLOAT):
        return _number(h5, kind, size, family)
    if family == STRING:
        return "|S1" if size == 1 and h5.H5Tis_variable_str(kind) == 0 else None
    if family == OPAQUE:
        return f"|V{size}"
    if family == COMPOUND:
        return _record(h5, kind, size)
    if family == ENUM:
        with closing(h5, "H5Tclose", h5.H5Tget_super(kind)) as base:
            return descr_of(h5, base)
    return None


def _number(h5: Hdf5, kind: int, size: int, family: int) -> Descr | None:
    """Return the `Descr` of a standard-width integer without padding, or an IEEE 754 float."""
    order = h5.H5Tget_order(kind)
    if order not in (_LITTLE, _BIG):
        return None
    if family == FLOAT:
        float_type = h5.floats.get((size, order))
        return f"{'<>'[order]}f{size}" if float_type is not None and h5.H5Tequal(kind, float_type) > 0 else None
    if size not in (1, 2, 4, 8) or h5.H5Tget_precision(kind) != 8 * size:
        return None
    letter = "i" if h5.H5Tget_sign(kind) else "u"
    return f"|{letter}1" if size == 1 else f"{'<>'[order]}{letter}{size}"


def _record(h5: Hdf5, kind: int, size: int) -> Descr | None:
    """Return the `Descr` of a compound type with ordered members and without gaps."""
    members: list[tuple[str, Descr, tuple[int, ...]]] = []
    end = 0
    for place, (name, shape, element) in enumerate(_members(h5, kind)):
        field = descr_of(h5, element)
        if field is None or h5.H5Tget_member_offset(kind, place) != end:
            return None
        end += math.prod(shape) * h5.H5Tget_size(element)
        members.append((name, field, shape))
    return tuple(members) if end == size and members else None


def _members(h5: Hdf5, kind: int) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """Yield name in the tree (NFC and unique), shape and element type of each member of a record."""
    written = [_member_name(h5, kind, place) for place in range(h5.H5Tget_nmembers(kind))]
    for place, (name, _) in enumerate(apart([("field", name_written) for name_written in written])):
        with closing(h5, "H5Tclose", h5.H5Tget_member_type(kind, place)) as member:
            base = "H5Tget_super" if h5.H5Tget_class(member) == _ARRAY else "H5Tcopy"
            with closing(h5, "H5Tclose", h5.do(base, member)) as element:
                yield name, _array_shape(h5, member), element


def _array_shape(h5: Hdf5, kind: int) -> tuple[int, ...]:
    """Return the shape of an array type; `()` for others."""
    if h5.H5Tget_class(kind) != _ARRAY:
        return ()
    rank = h5.H5Tget_array_ndims(kind)
    lengths = (c_uint64 * max(1, rank))()
    h5.H5Tget_array_dims2(kind, lengths)
    return tuple(lengths[:rank])


def outline(h5: Hdf5, kind: int) -> Outline:
    """Return the structure of a type."""
    family, size = h5.H5Tget_class(kind), h5.H5Tget_size(kind)
    if family in (VLEN, ENUM):
        with closing(h5, "H5Tclose", h5.do("H5Tget_super", kind)) as base:
            return Outline(family, size, base=outline(h5, base))
    if family != COMPOUND:
        return Outline(family, size)
    members = ((name, shape, outline(h5, element)) for name, shape, element in _members(h5, kind))
    return Outline(family, size, tuple(members))


def _member_name(h5: Hdf5, kind: int, place: int) -> str:
    address = h5.H5Tget_member_name(kind, place)
    try:
        return (cast(address, c_char_p).value or b"").decode("utf-8", "surrogateescape")
    finally:
        h5.H5free_memory(address)
