"""Program that hashes arrays as read by another library. It imports nothing of this package.

`python foreign_reader.py` reads JSON requests on standard input, one per line, until its end:
`{"library": a key of READERS, "path": …, "arrays": [{"name": [group, …, variable],
"descr": …, "shape": […], "block": […], "indices": [[…], …] | null}]}`.
It answers one JSON object per line: first `{"library": "libnetcdf 4.10.1"}`,
then for each array, in order, `{"opened": its name}` before it is read, and
`{"sha256": …}` after that; `{"error": why}` in place of either ends its answer;
last `{"closed": path}`, from when on the path may be written.

An array is hashed by the blocks with these indices, or all blocks in C order:
numbers and records little-endian and packed, texts as length (four bytes,
little-endian) and UTF-8 bytes. A NIL text
counts as empty, because neither library distinguishes them in every format.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import itertools
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from ctypes import CDLL, byref, c_char_p, c_int, c_size_t, c_void_p, create_string_buffer
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

STRING, ENUM, OPAQUE, COMPOUND = 12, 15, 14, 16
"""Numbers of types, and of classes of user-defined types, in netCDF's C interface."""

ATOMIC = {1: "<i1", 2: "S1", 3: "<i2", 4: "<i4", 5: "<f4", 6: "<f8", 7: "<u1", 8: "<u2", 9: "<u4", 10: "<i8", 11: "<u8"}
"""Native types in memory; the library converts the byte order. Expects a little-endian machine."""

Read = Callable[[tuple[slice, ...]], NDArray[Any]]


def dtype_of(descr: Any) -> np.dtype[Any]:
    """Return the packed dtype of a description: a string, or fields as [name, description, shape]."""
    if isinstance(descr, str):
        return np.dtype(descr)
    return np.dtype([(name, dtype_of(inner), tuple(shape)) for name, inner, shape in descr])


def regions(shape: tuple[int, ...], block: tuple[int, ...], indices: Any = None) -> Iterator[tuple[slice, ...]]:
    """Yield some blocks of an array, all in C order by default, clipped at the edges."""
    if 0 in shape:
        return
    counts = [-(-length // block_length) for length, block_length in zip(shape, block, strict=True)]
    for index in itertools.product(*map(range, counts)) if indices is None else indices:
        yield tuple(
            slice(number * block_length, min((number + 1) * block_length, length))
            for number, block_length, length in zip(index, block, shape, strict=True)
        )


def canonical(values: NDArray[Any], dtype: np.dtype[Any]) -> bytes:
    """Return the bytes of a block to hash; `dtype` is `O` for texts. Raises ValueError if types disagree."""
    if dtype.hasobject:
        return b"".join(_text(value) for value in values.reshape(-1).tolist())
    return np.ascontiguousarray(_pack(values, dtype)).tobytes()


def _text(value: Any) -> bytes:
    data = (
        b"" if value is None else value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    )
    return len(data).to_bytes(4, "little") + data


def _pack(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert values to a little-endian, packed dtype of the same kind. Raises ValueError for another kind.

    Raw bytes of the right length are accepted: stores hold arrays in records
    so. Elements that netCDF's types lack are what they stand for there.
    """
    shape, base, whole = values.shape, dtype.base, values.dtype.itemsize
    order, kind = values.dtype.str[0], values.dtype.kind
    if kind == "c":
        part = f"{order}f{whole // 2}"
        values = np.ascontiguousarray(values).view([("r", part), ("i", part)]).reshape(shape)
    elif kind == "b":
        values = values.view(base if base.itemsize == 1 else "u1")
    elif kind in "mM":
        values = values.view(f"{order}i8")
    elif kind == "f" and whole == 2 and base == np.dtype("<f4"):
        values = values.astype(base)
    elif kind in "US" and dtype.shape and whole == dtype.itemsize:  # a text in a record is an array of characters
        values = np.ascontiguousarray(values).view(f"{order}u4" if kind == "U" else "S1").reshape(shape + dtype.shape)
    elif kind == "V" and values.dtype.names is None and whole == dtype.itemsize:
        return np.ascontiguousarray(values).reshape(-1).view(base).reshape(shape + dtype.shape)
    if base.names is None:
        if values.dtype.kind != base.kind or values.dtype.itemsize != base.itemsize:
            raise ValueError(f"elements are {values.dtype}, not {dtype}")
        return values.astype(base, copy=False)
    if values.dtype.names is None or len(values.dtype.names) != len(base.names):
        raise ValueError(f"elements are {values.dtype}, not {dtype}")
    packed = np.empty(values.shape, base)
    for name, field_name in zip(base.names, values.dtype.names, strict=True):
        packed[name] = _pack(values[field_name], base[name])
    return packed


class NetcdfReader:
    """Variables of one netCDF file, through netCDF4-python's C library."""

    def __init__(self, path: str) -> None:
        lib = CDLL(importlib.import_module("netCDF4._netCDF4").__file__)
        lib.nc_strerror.restype = lib.nc_inq_libvers.restype = c_char_p
        self.library = f"libnetcdf {lib.nc_inq_libvers().split()[0].decode()}"
        self._lib = lib
        number = c_int()
        self._call("nc_open", os.fsencode(path), 0, byref(number))
        self._file = number.value

    def _call(self, name: str, *arguments: Any) -> None:
        """Call the library. Raises OSError."""
        status = getattr(self._lib, name)(*arguments)
        if status:
            raise OSError(f"{name}: {self._lib.nc_strerror(status).decode()}")

    def array(self, name: list[str], dtype: np.dtype[Any]) -> Read:
        """Return a function that reads regions of a variable. Raises OSError."""
        group = c_int(self._file)
        for group_name in name[:-1]:
            self._call("nc_inq_grp_ncid", group.value, group_name.encode(), byref(group))
        variable, kind = c_int(), c_int()
        self._call("nc_inq_varid", group.value, name[-1].encode(), byref(variable))
        self._call("nc_inq_vartype", group.value, variable.value, byref(kind))
        memory = self._memory(group.value, kind.value)

        def read(region: tuple[slice, ...]) -> NDArray[Any]:
            """Return the values of a region, read by the C library; strings as an array of objects."""
            shape = [part.stop - part.start for part in region]
            start = (c_size_t * max(1, len(shape)))(*(part.start for part in region))
            count = (c_size_t * max(1, len(shape)))(*shape)
            if kind.value == STRING:
                return self._read_texts(group.value, variable.value, start, count, shape)
            values = np.zeros(shape, memory)
            self._call("nc_get_vara", group.value, variable.value, start, count, values.ctypes.data_as(c_void_p))
            return values

        return read

    def _read_texts(self, group: int, variable: int, start: Any, count: Any, shape: list[int]) -> NDArray[Any]:
        cells = math.prod(shape)
        pointers = (c_char_p * cells)()
        self._call("nc_get_vara_string", group, variable, start, count, pointers)
        values = np.empty(cells, object)
        values[:] = list(pointers)
        self._call("nc_free_string", c_size_t(cells), pointers)
        return values.reshape(shape)

    def _memory(self, group: int, kind: int) -> np.dtype[Any]:
        """Return a type's dtype in the library's memory layout. Raises OSError for lists."""
        if kind == STRING:
            return np.dtype(object)
        if kind in ATOMIC:
            return np.dtype(ATOMIC[kind])
        size, base, fields, form = c_size_t(), c_int(), c_size_t(), c_int()
        self._call("nc_inq_user_type", group, kind, None, byref(size), byref(base), byref(fields), byref(form))
        if form.value == ENUM:
            return np.dtype(ATOMIC[base.value])
        if form.value == OPAQUE:
            return np.dtype(f"V{size.value}")
        if form.value != COMPOUND:
            raise OSError("lists are not compared with another library")
        names, formats, offsets = [], [], []
        for number in range(fields.value):
            name, offset, inner, rank = create_string_buffer(257), c_size_t(), c_int(), c_int()
            lengths = (c_int * 1024)()
            self._call(
                "nc_inq_compound_field", group, kind, number, name, byref(offset), byref(inner), byref(rank), lengths
            )
            member = self._memory(group, inner.value)
            if member.hasobject:
                raise OSError("records with strings are not compared with another library")
            names.append(name.value.decode())
            formats.append((member, tuple(lengths[: rank.value])))
            offsets.append(offset.value)
        return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size.value})

    def close(self) -> None:
        """Close the file."""
        self._lib.nc_close(self._file)


class ZarrReader:
    """Arrays of one store, a folder or zip archive, through zarr-python."""

    version: int | None = None
    """Zarr version; None: either, detected."""

    def __init__(self, path: str) -> None:
        import zarr

        self.library = f"zarr-python {zarr.__version__}"
        self._store = self._open(path, zarr.storage)
        self._zarr = zarr

    def _open(self, path: str, storage: Any) -> Any:
        """Return a store."""
        if os.path.isdir(path):
            return storage.LocalStore(path)
        return storage.ZipStore(path, mode="r")

    def array(self, name: list[str], dtype: np.dtype[Any]) -> Read:
        """Return a function that reads regions of an array."""
        with self._zarr.config.set({"array.rectilinear_chunks": True}):  # releases without it ignore it
            version = self.version
            array: Any = self._zarr.open_array(self._store, path="/".join(name), mode="r", zarr_format=version)

        def read(region: tuple[slice, ...]) -> NDArray[Any]:
            scalar = not region and array.ndim == 1  # NCZarr has scalars of one element
            values = np.asarray(array[0] if scalar else array[region] if region else array[...])
            if dtype.hasobject and values.dtype.kind == "S":
                return values.astype(object)
            return values

        return read

    def close(self) -> None:
        """Close the store."""
        self._store.close()


class ReferenceReader(ZarrReader):
    """Arrays of one reference document with local targets, through zarr-python and fsspec."""

    def _open(self, path: str, storage: Any) -> Any:
        """Return a store."""
        from fsspec import filesystem

        if os.path.isdir(path):
            self.version = 2
        os.chdir(os.path.dirname(path))  # relative targets
        documents = filesystem(
            "reference", fo=path, remote_protocol="file", asynchronous=True, skip_instance_cache=True
        )
        return storage.FsspecStore(documents, read_only=True, path="")


READERS: dict[str, Callable[[str], Any]] = {
    "libnetcdf": NetcdfReader,
    "zarr": ZarrReader,
    "references": ReferenceReader,
}
"""Reader of each library."""


def main() -> None:
    """Answer the requests on standard input."""
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin.buffer:
        _answer(json.loads(line), out)


def _answer(asked: Any, out: TextIO) -> None:
    """Answer one request. Raises what a library raises that cannot open the path."""
    reader = READERS[asked["library"]](asked["path"])
    with contextlib.closing(reader):
        print(json.dumps({"library": reader.library}), file=out, flush=True)
        for array in asked["arrays"]:
            try:
                dtype, shape = dtype_of(array["descr"]), tuple(array["shape"])
                values_hash = hashlib.sha256()
                read = reader.array(array["name"], dtype) if 0 not in shape else None
                print(json.dumps({"opened": array["name"]}), file=out, flush=True)
                if read is not None:
                    for values in _read_ahead(read, regions(shape, tuple(array["block"]), array["indices"])):
                        values_hash.update(canonical(values, dtype))
                answer = {"sha256": values_hash.hexdigest()}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=out, flush=True)
    print(json.dumps({"closed": asked["path"]}), file=out, flush=True)


def _read_ahead(read: Read, wanted: Iterator[tuple[slice, ...]]) -> Iterator[NDArray[Any]]:
    """Yield the values of regions; the next one is read while its predecessor is hashed, all by one thread."""
    with ThreadPoolExecutor(1) as reading:
        following: Future[NDArray[Any]] | None = None
        for region in wanted:
            current, following = following, reading.submit(read, region)
            if current is not None:
                yield current.result()
        if following is not None:
            yield following.result()


if __name__ == "__main__":
    main()
