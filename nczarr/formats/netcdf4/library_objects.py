"""Objects of an HDF5 file by the HDF5 library, where the header reader does not know a structure or finds damage.

The library gives types in the encoding of headers, so that they are parsed as in headers. They are those in memory:
texts and lists are pointers. It finds chunks, and reads the values of types with pointers.
"""

import ctypes
import errno
import math
import os
from ctypes import POINTER, byref, c_int, c_size_t, c_uint, c_uint64, c_void_p, create_string_buffer
from struct import unpack_from
from typing import Any, TypeAlias

from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import grid_of, ravel
from nczarr.ast.dataset import SHUFFLE
from nczarr.formats.netcdf4.hdf5 import Hdf5, closing, find, hdf5, open_for_values
from nczarr.formats.netcdf4.header.chunk_addresses import (
    BY_LIBRARY,
    ChunkIndex,
    ChunkTable,
    order_by_growth,
    table_of_chunks,
)
from nczarr.formats.netcdf4.header.dataset_info import CHUNKED, COMPACT, DatasetInfo, HeaderDataset, codec_of
from nczarr.formats.netcdf4.header.datatypes import STRING, Datatype, datatype, text_of
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, UNDEFINED, UnreadableHeaderError, reason_of
from nczarr.formats.netcdf4.header.file_objects import HARD, FileObject, Link
from nczarr.formats.netcdf4.header.heaps import EXPANSION, ROOM, TOO_MUCH
from nczarr.formats.netcdf4.header.messages import Dataspace, HeaderAttribute, nest
from nczarr.formats.netcdf4.isolation import call
from nczarr.formats.netcdf4.library import is_installed, library, sizes
from nczarr.stores.places import find_remote_file

_GROUP, _DATATYPE, _DATASET = 2, 3, 5
"""Kinds of identifiers (H5I_type_t)."""

_BY_NAME, _BY_CREATION = 0, 1
"""Orders of links and attributes (H5_index_t)."""

_NULL = 2
"""Class of a dataspace without values (H5S_class_t)."""

_WHOLE_EDGES = 2
"""H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS."""

_USER_DEFINED, _NO_FILL, _NEVER = 2, 0, 1
"""H5D_FILL_VALUE_USER_DEFINED, H5D_FILL_VALUE_UNDEFINED, H5D_FILL_TIME_NEVER."""

_LONGEST_NAME = 1 << 16
"""Bytes for the name of a file or of a filter."""

_Names = ctypes.CFUNCTYPE(c_int, ctypes.c_int64, c_void_p, c_void_p, c_void_p)
"""H5L_iterate1_t and H5A_operator2_t: owner, name, description, data."""

_Chunks = ctypes.CFUNCTYPE(c_int, POINTER(c_uint64), c_uint, c_uint64, c_uint64, c_void_p)
"""H5D_chunk_iter_op_t: first cell, filter mask, address, size, data."""


def ask(path: str, addresses: list[int]) -> tuple[int, list[FileObject]]:
    """Return the address of a file's root, and objects by address, in the guard process. Raises OSError."""
    _need_library()
    answer: tuple[int, list[FileObject]] = call(path, _read_objects, path, addresses, about_headers=True)
    return answer


def _need_library() -> None:
    """Raise OSError if there is no library."""
    if not is_installed():
        text = (
            "the HDF5 library of netCDF4-python, which may read it, is not installed (`pip install 'nczarr[netcdf]'`)"
        )
        raise OSError(errno.ENOSYS, text)


def _read_objects(path: str, addresses: list[int]) -> tuple[int, list[FileObject]]:
    """Return the address of the root group, and the objects at these addresses."""
    h5 = hdf5(library())
    with LOCK, open_for_values(h5, path) as file:
        length = c_uint64()
        h5.do("H5Fget_filesize", file, byref(length))
        is_local = find_remote_file(path) is None  # HDF5 does not look at the length of a file that is being written
        reader = _ObjectReader(h5, file, os.path.getsize(path) if is_local else length.value)
        return _address(h5, file), [reader.read(address) for address in addresses]


def _address(h5: Hdf5, one: int) -> int:
    """Return the address of an open object; of a file, that of its root. Raises OSError."""
    info = create_string_buffer(256)
    h5.do("H5Oget_info1", one, info)
    return int(unpack_from("<Q", info, 8)[0])  # H5O_info1_t: number of the file, then the address


def read_space(h5: Hdf5, space: int) -> Dataspace:
    """Return an open dataspace. Raises OSError."""
    if h5.do("H5Sget_simple_extent_type", space) == _NULL:
        return Dataspace(None, ())
    rank = h5.do("H5Sget_simple_extent_ndims", space)
    shape, most = sizes((0,) * rank), sizes((0,) * rank)
    h5.do("H5Sget_simple_extent_dims", space, shape, most)
    return Dataspace(tuple(shape), tuple(most))


class _Memory:
    """Texts and lists of variable length in memory. `size`: bytes of the file."""

    def __init__(self, size: int) -> None:
        self._room = ROOM + EXPANSION * size

    def find(self, element: bytes, size: int) -> bytes | None:
        """Return the bytes of a list or text; None for NIL. A text is a pointer, a list has a count before it."""
        pointer = int.from_bytes(element[-8:], "little")  # hvl_t: length, then pointer; a text is a pointer
        if not pointer:
            return None
        is_text = len(element) == 8
        data = ctypes.string_at(pointer, -1 if is_text else int.from_bytes(element[:8], "little") * size)
        self._room -= len(data)
        if self._room < 0:
            raise UnreadableHeaderError(TOO_MUCH)
        return data


class _ObjectReader:
    """Reader of the objects of an open file. Everything raises OSError, and UnreadableHeaderError for types."""

    def __init__(self, h5: Hdf5, file: int, size: int) -> None:
        self._h5 = h5
        self._file = file
        self._size = size
        self._memory = _Memory(size)

    def read(self, address: int) -> FileObject:
        """Return the object at an address; it has a `problem` if it cannot be read."""
        h5 = self._h5
        try:
            with closing(h5, "H5Oclose", h5.do("H5Oopen_by_addr", self._file, address)) as one:
                kind, attributes = h5.do("H5Iget_type", one), self._read_attributes(one)
                if kind == _GROUP:
                    return FileObject(attributes, links=self._read_links(one))
                if kind == _DATASET:
                    return FileObject(attributes, dataset=self._read_dataset(one, address))
                return FileObject(attributes, type=self._read_type(one)[0] if kind == _DATATYPE else None)
        except OSError as error:
            return FileObject([], problem=error.strerror or str(error))
        except DAMAGE as error:
            return FileObject([], problem=reason_of(error))

    # ---- links and attributes -----------------------------------------------------------------------------------
    def _list_names(self, function: str, one: int) -> list[tuple[bytes, bytes]]:
        """Return the name and the description of each link or attribute, by creation if that is noted."""
        items: list[tuple[bytes, bytes]] = []

        def note(_: int, name: int, info: int, __: int) -> int:
            items.append((ctypes.string_at(name), ctypes.string_at(info, 32)))
            return 0

        callback, start = _Names(note), c_uint64()
        if getattr(self._h5, function)(one, _BY_CREATION, 0, byref(start), callback, None) < 0:
            items.clear()  # HDF5 refuses this order where it was not tracked
            self._h5.do(function, one, _BY_NAME, 0, byref(c_uint64()), callback, None)
        return items

    def _read_links(self, group: int) -> dict[bytes, Link]:
        links = {}
        for name, info in self._list_names("H5Literate1", group):
            kind, value = unpack_from("<i", info)[0], unpack_from("<Q", info, 24)[0]  # offsets in H5L_info1_t
            if kind == HARD:
                links[name] = Link(name, kind, value)
                continue
            target = create_string_buffer(max(1, value))
            self._h5.do("H5Lget_val", group, name, target, value, 0)
            links[name] = Link(name, kind, UNDEFINED, target.raw[:value])
        return links

    def _read_attributes(self, one: int) -> list[HeaderAttribute]:
        return [self._read_attribute(one, name) for name, _ in self._list_names("H5Aiterate2", one)]

    def _read_attribute(self, one: int, name: bytes) -> HeaderAttribute:
        h5, decoded = self._h5, name.decode("utf-8", "surrogateescape")
        with (
            closing(h5, "H5Aclose", h5.do("H5Aopen", one, name, 0)) as attribute,
            closing(h5, "H5Tclose", h5.do("H5Aget_type", attribute)) as stored,
            closing(h5, "H5Sclose", h5.do("H5Aget_space", attribute)) as space,
        ):
            (kind, declared), shape = self._read_type(stored), read_space(self._h5, space).shape
            size = 0 if shape is None else math.prod(shape) * kind.size
            values = create_string_buffer(max(1, size))
            if size and h5.H5Aread(attribute, stored, values) < 0:
                return HeaderAttribute(decoded, kind, declared, shape, b"", is_damaged=True)
            cell, whole = kind.cell, None if shape is None else (*shape, *kind.shape)
            nested = nest(cell, values.raw[:size], self._memory)
            if size and kind.has_lists:
                h5.do("H5Treclaim", stored, space, 0, values)
            return HeaderAttribute(decoded, cell, declared, whole, values.raw[:size], nested)

    # ---- types and shapes ---------------------------------------------------------------------------------------
    def _read_type(self, one: int) -> tuple[Datatype, int | None]:
        """Return an open type as it is in memory, and its address if it is a named one."""
        h5, length = self._h5, c_size_t()
        with closing(h5, "H5Tclose", h5.do("H5Tcopy", one)) as in_memory:
            h5.do("H5Tencode", in_memory, None, byref(length))
            encoded = create_string_buffer(length.value)
            h5.do("H5Tencode", in_memory, encoded, byref(length))
        return datatype(encoded.raw[2:]), _address(h5, one) if h5.do("H5Tcommitted", one) else None

    # ---- datasets -----------------------------------------------------------------------------------------------
    def _read_dataset(self, one: int, address: int) -> HeaderDataset:
        """Return what the header reader would find; values only of compact datasets."""
        h5 = self._h5
        with (
            closing(h5, "H5Tclose", h5.do("H5Dget_type", one)) as stored,
            closing(h5, "H5Sclose", h5.do("H5Dget_space", one)) as space,
            closing(h5, "H5Pclose", h5.do("H5Dget_create_plist", one)) as plist,
        ):
            kind, declared = self._read_type(stored)
            extent, most = read_space(self._h5, space)
            layout = h5.do("H5Pget_layout", plist)
            filters = self._read_filters(plist)
            codecs = tuple([codec_of(*each) for each in filters]) if layout == CHUNKED else ()
            fill_state, fill_time, space_state = c_int(), c_int(), c_int()
            h5.do("H5Pfill_value_defined", plist, byref(fill_state))
            h5.do("H5Pget_fill_time", plist, byref(fill_time))
            fill, text = self._read_fill(plist, stored, kind) if fill_state.value == _USER_DEFINED else (b"", None)
            files = self._list_files(plist)
            chunks, index, compact, offset = (), None, None, UNDEFINED
            if layout == CHUNKED:
                lengths, options = sizes((0,) * len(most)), c_uint()
                h5.do("H5Pget_chunk", plist, len(lengths), lengths)
                h5.do("H5Pget_chunk_opts", plist, byref(options))
                chunks = tuple(lengths)
                edges = bool(options.value & _WHOLE_EDGES)
                if _has_places(h5, one, chunks, extent or (), most):
                    index = ChunkIndex(BY_LIBRARY, address, kind.size, bool(filters), edges, most=most)
            elif layout == COMPACT and extent is not None and not kind.has_lists:
                values = create_string_buffer(max(1, math.prod(extent) * kind.size))
                h5.do("H5Dread", one, stored, 0, 0, 0, values)
                compact = values.raw[: math.prod(extent) * kind.size]
            elif layout != COMPACT and not files:
                h5.do("H5Dget_space_status", one, byref(space_state))
                if space_state.value:  # else HDF5 2.2 adds the user block to its mark for no address
                    offset = h5.H5Dget_offset(one)
                    if offset != UNDEFINED and offset + math.prod(extent or ()) * kind.size > self._size:
                        raise UnreadableHeaderError("the file ends before its values")
            info = DatasetInfo(
                dtype=kind.descr,
                extent=extent,
                layout=layout,
                chunks=chunks,
                filters=codecs,
                fill=(fill or bytes(kind.size)) if kind.descr is not None else None,
                address=None if offset == UNDEFINED else offset,
                elsewhere=bool(files),
                unfiltered_edges=index is not None and index.unfiltered_edges,
                shuffled=next((values[0] if values else 0 for number, values in filters if number == SHUFFLE), None),
                undefined=fill_state.value == _NO_FILL or fill_time.value == _NEVER,
                has_own_fill=bool(fill),
                text=text,
                unwritten=fill or bytes(kind.size),
                compact=compact,
                chunk_index=index,
                by_library=kind.has_lists or (layout == CHUNKED and index is None),
            )
            return HeaderDataset(info, kind, declared, most, fill, files)

    def _read_fill(self, plist: int, stored: int, kind: Datatype) -> tuple[bytes, bytes | None]:
        """Return the fill value as it is in memory, and as a text; None for other types."""
        values = create_string_buffer(kind.size)
        self._h5.do("H5Pget_fill_value", plist, stored, values)
        cell = kind.cell
        if cell.is_text:
            return values.raw, self._memory.find(values.raw[: cell.size], 1) or None
        text = text_of(values.raw[: cell.size], cell.form) if cell.family == STRING else b""
        return values.raw, text or None

    def _read_filters(self, plist: int) -> list[tuple[int, tuple[int, ...]]]:
        filters = []
        for place in range(self._h5.do("H5Pget_nfilters", plist)):
            flags, count, settings = c_uint(), c_size_t(), c_uint()
            for length in (0, None):  # first the number of the parameters
                values = (c_uint * (count.value if length is None else 0))()
                arguments = place, byref(flags), byref(count), values, 0, None, byref(settings)
                number = self._h5.do("H5Pget_filter2", plist, *arguments)
            filters.append((number, tuple(values)))
        return filters

    def _list_files(self, plist: int) -> tuple[bytes | None, ...]:
        """Return the names of other files that have the values."""
        h5, names = self._h5, []
        name, count = create_string_buffer(_LONGEST_NAME), c_size_t()
        for place in range(h5.do("H5Pget_external_count", plist)):
            h5.do("H5Pget_external", plist, place, len(name), name, byref(c_uint64()), byref(c_uint64()))
            names.append(name.value)
        if h5.do("H5Pget_layout", plist) > CHUNKED:  # H5D_VIRTUAL is 3
            h5.do("H5Pget_virtual_count", plist, byref(count))
        for place in range(count.value):
            h5.do("H5Pget_virtual_filename", plist, place, name, len(name))
            names.append(name.value)
        return tuple(each for each in dict.fromkeys(names) if each != b".")  # the file itself


# ---- chunks ---------------------------------------------------------------------------------------------------------
Place: TypeAlias = tuple[tuple[str, ...], str]
"""Group and name of a dataset, in the spelling of the file."""

Shape: TypeAlias = tuple[int, ...]
"""Length of each dimension."""

_WITH_CELLS = (0, 1, 5)
"""Indexes that have the first cell of each chunk (H5D_chunk_index_t): B-trees and single chunks."""


def _has_places(h5: Hdf5, dataset: int, chunks: Shape, extent: Shape, most: Shape) -> bool:
    """Return whether HDF5 knows the places of chunks.

    HDF5 2.2 numbers the chunks in other indexes in a grid of the extent. The index has a grid of the maximum.
    """
    kind = c_int()
    h5.do("H5Dget_chunk_index_type", dataset, byref(kind))
    limits = tuple([length if limit == UNDEFINED else limit for length, limit in zip(extent, most, strict=True)])
    return kind.value in _WITH_CELLS or grid_of(extent, chunks) == grid_of(limits, chunks)


def find_chunks(path: str, place: Place, chunks: Shape, extent: Shape, shape: Shape) -> ChunkTable:
    """Return the chunks of a dataset, in the guard process. Raises OSError."""
    _need_library()
    table: ChunkTable = call(path, _find_chunks, path, place, chunks, extent, shape, about_headers=True)
    return table


def _find_chunks(path: str, place: Place, chunks: Shape, extent: Shape, shape: Shape) -> ChunkTable:
    """Ask the HDF5 library for the chunks of a dataset; some of its indexes need their places put right."""
    h5 = hdf5(library())
    rows, rank, kind = [], len(chunks), c_int()

    def note(cell: Any, mask: int, address: int, size: int, _: int) -> int:
        rows.append((*cell[:rank], address, size, mask))
        return 0

    with (
        LOCK,
        open_for_values(h5, path) as file,
        closing(h5, "H5Dclose", find(h5, file, *place)) as dataset,
        closing(h5, "H5Sclose", h5.do("H5Dget_space", dataset)) as space,
    ):
        most = read_space(h5, space).most
        if not _has_places(h5, dataset, chunks, extent, most):
            raise OSError(errno.ENOTSUP, "the HDF5 library lists wrong places of chunks in such an index")
        h5.do("H5Dget_chunk_index_type", dataset, byref(kind))
        h5.do("H5Dchunk_iter", dataset, 0, _Chunks(note), None)
    table = np.array(rows, np.uint64).reshape(-1, rank + 3)
    places = table[:, :rank].astype(np.int64) // np.array(chunks, np.int64)
    if kind.value not in _WITH_CELLS and UNDEFINED in most:
        counts = grid_of(extent, chunks)
        places = order_by_growth(ravel(places, counts), most, counts)
    return table_of_chunks(places, np.ascontiguousarray(table[:, rank:]), chunks, extent, shape)
