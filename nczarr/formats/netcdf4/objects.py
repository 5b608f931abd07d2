"""What HDF5 says of a dataset: type, extent, layout, chunks, filters in their order, fill value, where its bytes lie.

Plain facts, found without looking at a chunk. The names of HDF5's constants stand beside their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p, cast, create_string_buffer
from typing import NamedTuple

from nczarr.arrays.codecs import FLETCHER32, SHUFFLE
from nczarr.arrays.source import Descr, itemsize
from nczarr.ast import Codec
from nczarr.check.duplicate_names import apart
from nczarr.formats.netcdf4.hdf5 import Hdf5, ObjectInfo, closing, hdf5, object_path, open_file
from nczarr.formats.netcdf4.library import Library

NON_COORDINATE = "_nc4_non_coord_"
"""What stands before the name of a variable that is named as a dimension which it does not have alone."""

COMPACT, CONTIGUOUS, CHUNKED = 0, 1, 2
"""Layouts (H5D_layout_t); others are virtual, or of the future."""

INTEGER, FLOAT, STRING, OPAQUE, COMPOUND, ENUM, VLEN, _ARRAY = 0, 1, 3, 5, 6, 8, 9, 10
"""Classes of types (H5T_class_t)."""

_LITTLE, _BIG = 0, 1
"""Byte orders (H5T_order_t)."""

_UNFILTERED_EDGES = 0x2
"""H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS."""

_UNDEFINED_FILL, _OWN_FILL = 0, 2
"""H5D_fill_value_t."""

_NEVER = 1
"""H5D_FILL_TIME_NEVER."""

_NOT_ALLOCATED = 0
"""H5D_SPACE_STATUS_NOT_ALLOCATED."""

_SZIP = 4
_SZIP_CHOICES = 4 | 32
"""The bits of its first parameter that a user gives: entropy coding, or nearest neighbour."""

_MOST_PARAMETERS = 64
"""Parameters of a filter that are asked for at once; those that have more are asked again."""


class Outline(NamedTuple):
    """A type without its bits: class (H5T_class_t), size, members by name (shape and type), the base of a list or
    enum.
    """

    family: int
    size: int
    members: tuple[tuple[str, tuple[int, ...], Outline], ...] = ()
    base: Outline | None = None


_NULL_TERMINATED = 0
"""H5T_STR_NULLTERM; other texts are padded by NULs or spaces."""


class FixedText(NamedTuple):
    """A type of texts of fixed length: bytes of a text, and whether the first NUL ends it."""

    size: int
    terminated: bool


def text_of(data: bytes, *, terminated: bool) -> bytes:
    """Return the text in the bytes of one element."""
    return data.split(b"\0", 1)[0] if terminated else data.rstrip(b"\0")


class DatasetInfo(NamedTuple):
    """A dataset. `dtype`: None where no description of ours says how its elements lie. `layout`: H5D_layout_t.

    `fill`: the fill value in the bytes of `dtype`, zeros where the file gives none; None where `dtype` is.
    `undefined`: HDF5 does not write it into cells that were never written, so that they hold anything.
    `address`: where contiguous data begin in the file; None where they are not allocated, or not there.
    `elsewhere`: the data lie in other files. `unfiltered_edges`: chunks that reach beyond the extent are stored without
    filters.
    """

    dtype: Descr | None
    extent: tuple[int, ...] | None
    layout: int
    chunks: tuple[int, ...]
    filters: tuple[Codec, ...]
    fill: bytes | None
    address: int | None
    elsewhere: bool
    unfiltered_edges: bool
    shuffled: int | None = None
    """The element size that shuffle works with; None if there is none."""
    undefined: bool = False
    given: bool = False
    """Whether the fill value is one that a user gave."""
    text: bytes | None = None
    """The fill value of strings; None: none, or the empty one."""
    outline: Outline | None = None
    """What the elements are, where `dtype` does not say it."""
    fixed: FixedText | None = None
    """The type of texts of fixed length, more than one byte long."""


def find(h5: Hdf5, file: int, group: tuple[str, ...], name: str) -> int:
    """The identifier of the dataset of a netCDF variable, to be closed; -1 if there is none."""
    for stored in (NON_COORDINATE + name, name):
        path = object_path(group, stored)
        if h5.H5Lexists(file, path, 0) > 0:
            return int(h5.H5Dopen2(file, path, 0))
    return -1


class Datasets:
    """The datasets of one open HDF5 file, by the names that variables have."""

    def __init__(self, h5: Hdf5, file: int) -> None:
        self.h5 = h5
        self.file = file

    def cut_texts(
        self, group: tuple[str, ...], name: str | None, attribute: str, count: int
    ) -> tuple[bytes, ...] | None:
        """Return the texts of an attribute of fixed length in which a NUL stands before the end; None for any other.

        The netCDF library cuts these at the NUL. `name`: of a variable, None: the group has the attribute.
        """
        h5, places = self.h5, [object_path(group, each) for each in (NON_COORDINATE + (name or ""), name or "")]
        place = next((each for each in places if name is not None and h5.H5Lexists(self.file, each, 0) > 0), None)
        opened = h5.H5Aopen_by_name(self.file, place or places[1], attribute.encode("utf-8", "surrogateescape"), 0, 0)
        if opened < 0:
            return None
        with closing(h5, "H5Aclose", opened) as found, closing(h5, "H5Tclose", h5.do("H5Aget_type", found)) as kind:
            if h5.H5Tget_class(kind) != STRING or h5.H5Tis_variable_str(kind) != 0:
                return None
            size = h5.H5Tget_size(kind)
            buffer = create_string_buffer(max(1, size * count))
            h5.do("H5Aread", found, kind, buffer)
        data = [buffer.raw[at : at + size].rstrip(b"\0") for at in range(0, size * count, size)]
        return tuple(data) if any(b"\0" in each for each in data) else None

    def of(self, group: tuple[str, ...], name: str) -> DatasetInfo | None:
        """What HDF5 says of a variable's dataset; None if there is none."""
        dataset = find(self.h5, self.file, group, name)
        if dataset < 0:
            return None
        with closing(self.h5, "H5Dclose", dataset):
            found = describe(self.h5, dataset)
            linked = _file_number(self.h5, dataset, b".") != _file_number(self.h5, self.file, b"/")
            return found._replace(elsewhere=True, address=None) if linked else found


def _file_number(h5: Hdf5, place: int, name: bytes) -> int:
    """HDF5's number of the file that holds an object: an external link leads into another one. Raises OSError."""
    info = ObjectInfo()
    h5.do("H5Oget_info_by_name3", place, name, byref(info), 1, 0)
    return int(info.file)


@contextmanager
def datasets(lib: Library, path: str) -> Iterator[Datasets | None]:
    """The datasets of a file that the library has open as well; None if HDF5 does not open it a second time."""
    h5 = hdf5(lib)
    file = open_file(h5, path)
    if file < 0:
        yield None
        return
    with closing(h5, "H5Fclose", file):
        yield Datasets(h5, file)


def describe(h5: Hdf5, dataset: int) -> DatasetInfo:
    """What there is to know of an open dataset. Raises OSError where HDF5 cannot say."""
    extent = _extent(h5, dataset)
    with (
        closing(h5, "H5Tclose", h5.do("H5Dget_type", dataset)) as kind,
        closing(h5, "H5Pclose", h5.do("H5Dget_create_plist", dataset)) as made,
    ):
        dtype = descr_of(h5, kind)
        layout = h5.H5Pget_layout(made)
        rank = len(extent or ())
        chunks: tuple[int, ...] = ()
        options = c_uint()
        filters: tuple[Codec, ...] = ()
        shuffled = None
        if layout == CHUNKED:
            lengths = (c_uint64 * max(1, rank))()
            h5.do("H5Pget_chunk", made, rank, lengths)
            chunks = tuple(lengths[:rank])
            h5.H5Pget_chunk_opts(made, byref(options))
            filters, shuffled = _filters(h5, made)
        elsewhere = layout == CONTIGUOUS and h5.H5Pget_external_count(made) != 0
        fill, undefined, given = _fill(h5, made, kind, dtype)
        address = _address(h5, dataset) if layout == CONTIGUOUS and not elsewhere else None
        return DatasetInfo(
            dtype,
            extent,
            layout,
            chunks,
            filters,
            fill,
            address,
            elsewhere,
            bool(options.value & _UNFILTERED_EDGES),
            shuffled,
            undefined,
            given,
            _fill_text(h5, made, kind) if given and dtype is None else None,
            outline(h5, kind) if dtype is None else None,
            fixed_text(h5, kind) if dtype is None else None,
        )


def _extent(h5: Hdf5, dataset: int) -> tuple[int, ...] | None:
    """The shape of a dataset; None if its dataspace is none that has one."""
    with closing(h5, "H5Sclose", h5.do("H5Dget_space", dataset)) as space:
        rank = h5.H5Sget_simple_extent_ndims(space)
        lengths = (c_uint64 * max(1, rank))()
        if rank < 0 or h5.H5Sget_simple_extent_dims(space, lengths, None) < 0:
            return None
        return tuple(lengths[:rank])


def _address(h5: Hdf5, dataset: int) -> int | None:
    """Where contiguous data begin; None where they are not allocated: then HDF5 gives no address that says so."""
    status = c_int()
    h5.do("H5Dget_space_status", dataset, byref(status))
    return None if status.value == _NOT_ALLOCATED else int(h5.H5Dget_offset(dataset))


def _filters(h5: Hdf5, made: int) -> tuple[tuple[Codec, ...], int | None]:
    """The pipeline in the order of encoding, in the words of our tree: shuffle and checksum without what HDF5 notes of
    them, szip with the two parameters that a user gives; and the element size of shuffle.
    """
    found, shuffled = [], None
    for place in range(h5.H5Pget_nfilters(made)):
        flags, count = c_uint(), c_size_t(_MOST_PARAMETERS)
        values = (c_uint * _MOST_PARAMETERS)()
        number = h5.do("H5Pget_filter2", made, place, byref(flags), byref(count), values, 0, None, None)
        if count.value > _MOST_PARAMETERS:
            values = (c_uint * count.value)()
            h5.do("H5Pget_filter2", made, place, byref(flags), byref(count), values, 0, None, None)
        given = tuple(values[: count.value])
        if number == SHUFFLE:
            shuffled = given[0] if given else 0
        parameters = () if number in (SHUFFLE, FLETCHER32) else given
        if number == _SZIP and len(given) > 1:
            parameters = given[0] & _SZIP_CHOICES, given[1]
        found.append(Codec(id=number, parameters=parameters))
    return tuple(found), shuffled


def _fill(h5: Hdf5, made: int, kind: int, dtype: Descr | None) -> tuple[bytes | None, bool, bool]:
    """The fill value in the bytes of the file's type; whether cells that were never written are without it; whether a
    user gave it.
    """
    status, when = c_int(), c_int()
    h5.H5Pfill_value_defined(made, byref(status))
    h5.H5Pget_fill_time(made, byref(when))
    size = 0 if dtype is None else itemsize(dtype)
    undefined = status.value == _UNDEFINED_FILL or when.value == _NEVER
    given = status.value == _OWN_FILL
    if not size:
        return None, undefined, given
    buffer = create_string_buffer(size)
    if given and h5.H5Pget_fill_value(made, kind, buffer) < 0:
        return None, True, given
    return buffer.raw, undefined, given


def fixed_text(h5: Hdf5, kind: int) -> FixedText | None:
    """The type of texts of fixed length; None for any other type."""
    if h5.H5Tget_class(kind) != STRING or h5.H5Tis_variable_str(kind) > 0:
        return None
    return FixedText(h5.H5Tget_size(kind), h5.H5Tget_strpad(kind) == _NULL_TERMINATED)


def _fill_text(h5: Hdf5, made: int, kind: int) -> bytes | None:
    """The fill value of strings; None where it is empty, or the elements are no strings."""
    if h5.H5Tget_class(kind) != STRING:
        return None
    fixed = fixed_text(h5, kind)
    if fixed is not None:
        buffer = create_string_buffer(fixed.size)
        if h5.H5Pget_fill_value(made, kind, buffer) < 0:
            return None
        return text_of(buffer.raw, terminated=fixed.terminated) or None
    address = c_void_p()
    if h5.H5Pget_fill_value(made, kind, byref(address)) < 0 or not address.value:
        return None
    try:
        return cast(address, c_char_p).value or None
    finally:
        h5.H5free_memory(address)


def descr_of(h5: Hdf5, kind: int) -> Descr | None:
    """The description of a type as it lies in the file, byte order included; None for types of variable size, numbers
    of odd widths, records with gaps, texts of more than one byte, and classes that netCDF has not.
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
    """An integer or float of a usual width, without padding; a float as IEEE 754 has it."""
    order = h5.H5Tget_order(kind)
    if order not in (_LITTLE, _BIG):
        return None
    if family == FLOAT:
        known = h5.floats.get((size, order))
        return f"{'<>'[order]}f{size}" if known is not None and h5.H5Tequal(kind, known) > 0 else None
    if size not in (1, 2, 4, 8) or h5.H5Tget_precision(kind) != 8 * size:
        return None
    letter = "i" if h5.H5Tget_sign(kind) else "u"
    return f"|{letter}1" if size == 1 else f"{'<>'[order]}{letter}{size}"


def _record(h5: Hdf5, kind: int, size: int) -> Descr | None:
    """A compound type whose members lie one behind the other, in order, without gaps."""
    members: list[tuple[str, Descr, tuple[int, ...]]] = []
    called = _member_names(h5, kind)
    end = 0
    for place in range(h5.H5Tget_nmembers(kind)):
        if h5.H5Tget_member_offset(kind, place) != end:
            return None
        with closing(h5, "H5Tclose", h5.H5Tget_member_type(kind, place)) as member:
            end += h5.H5Tget_size(member)
            shape = array_shape(h5, member)
            with closing(h5, "H5Tclose", _element(h5, member)) as element:
                field = descr_of(h5, element)
        if field is None:
            return None
        members.append((called[place], field, shape))
    return tuple(members) if end == size and members else None


def array_shape(h5: Hdf5, kind: int) -> tuple[int, ...]:
    """The lengths of an array type; `()` for any other."""
    if h5.H5Tget_class(kind) != _ARRAY:
        return ()
    rank = h5.H5Tget_array_ndims(kind)
    lengths = (c_uint64 * max(1, rank))()
    h5.H5Tget_array_dims2(kind, lengths)
    return tuple(lengths[:rank])


def _element(h5: Hdf5, kind: int) -> int:
    """The type of an array type's elements, else the type itself; to be closed."""
    return h5.do("H5Tget_super" if h5.H5Tget_class(kind) == _ARRAY else "H5Tcopy", kind)


def outline(h5: Hdf5, kind: int) -> Outline:
    """The outline of a type."""
    family, size = h5.H5Tget_class(kind), h5.H5Tget_size(kind)
    if family in (VLEN, ENUM):
        with closing(h5, "H5Tclose", h5.do("H5Tget_super", kind)) as base:
            return Outline(family, size, base=outline(h5, base))
    if family != COMPOUND:
        return Outline(family, size)
    members = []
    called = _member_names(h5, kind)
    for place in range(h5.H5Tget_nmembers(kind)):
        with closing(h5, "H5Tclose", h5.H5Tget_member_type(kind, place)) as member:
            shape = array_shape(h5, member)
            with closing(h5, "H5Tclose", _element(h5, member)) as element:
                members.append((called[place], shape, outline(h5, element)))
    return Outline(family, size, tuple(members))


def _member_names(h5: Hdf5, kind: int) -> list[str]:
    """Return the names of a record's members as the tree has them: in NFC, each once."""
    written = [_member_name(h5, kind, place) for place in range(h5.H5Tget_nmembers(kind))]
    return [name for name, _ in apart([("field", name) for name in written])]


def _member_name(h5: Hdf5, kind: int, place: int) -> str:
    address = h5.H5Tget_member_name(kind, place)
    try:
        return (cast(address, c_char_p).value or b"").decode("utf-8", "surrogateescape")
    finally:
        h5.H5free_memory(address)
