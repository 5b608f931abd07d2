"""One group of a dataset as a data store of xarray: variables, attributes and encodings, before decoding."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray.backends.common import AbstractDataStore, BackendArray
from xarray.core import indexing
from xarray.core.indexing import LazilyIndexedArray
from xarray.core.variable import Variable

from nczarr import names
from nczarr.arrays.sources.source import ArraySource
from nczarr.ast import Group
from nczarr.ast import Variable as Declared
from nczarr.ast.dataset import Storage
from nczarr.ast.rectilinear import Lengths, largest
from nczarr.pipeline.select.indexing import read_outer, read_points
from nczarr.plugins.xarray.values import OpenedDataset, native, pop_fill, warn

_NO_FILTERS: dict[str, Any] = {
    **dict.fromkeys(("zlib", "szip", "zstd", "bzip2", "blosc", "shuffle"), False),
    "complevel": 0,
    "fletcher32": False,
}
_BLOSC = ("blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_snappy", "blosc_zlib", "blosc_zstd")
"""Names of blosc's compressors by number, as netCDF4-python spells them."""

MOST_PREFERRED = 1 << 16
"""Maximum number of chunks of a dimension whose different lengths are named."""

_SZIP = {4: "ec", 32: "nn"}
"""Coding of szip by bit of its options."""


def storage_encoding(storage: Storage, dimensions: Sequence[str], source: ArraySource | None) -> dict[str, Any]:
    """Return the members of an encoding that describe layout and codecs; none for formats without either.

    `source`: the variable's array, if it has one. `chunksizes`, `contiguous` and the
    codecs are those of the netCDF4 engine. A store also has `chunks`, those of its
    keys even if another layout is recorded, and `shards` if it has some. Blosc of
    stores is not named: HDF5's blosc refuses chunks that it cannot make smaller.
    """
    encoding: dict[str, Any] = {}
    chunks = storage.chunks if dimensions else None
    if storage.layout is not None or storage.chunks is not None:
        encoding.update(_NO_FILTERS)
        for codec in storage.codecs:
            name = codec.name or ""
            add = _CODECS.get(name)
            if add is not None and not (storage.layout is None and add is _blosc):
                add(encoding, name, codec.parameters)
        encoding.update(contiguous=chunks is None, chunksizes=None if chunks is None else largest(chunks))
    if source is not None and source.keyed and dimensions and (chunks is None or storage.layout is None):
        layout = source.layout
        chunks, encoding["chunks"] = layout.chunks, largest(layout.chunks)
        if layout.shards is not None:
            encoding["shards"] = largest(layout.shards)
    if chunks is not None:
        encoding["preferred_chunks"] = dict(zip(dimensions, map(_choose_length, chunks), strict=True))
    return encoding


def _choose_length(length: int) -> int | tuple[int, ...]:
    """Return a chunk length, or those of all chunks if they differ and are not too many for a graph."""
    if not isinstance(length, Lengths):
        return length
    return length.expand() if length.count <= MOST_PREFERRED else int(length)


def _deflate(encoding: dict[str, Any], name: str, parameters: tuple[int, ...]) -> None:
    encoding["zlib"] = True
    encoding["complevel"] = parameters[0] if parameters else 4


def _add_level(encoding: dict[str, Any], name: str, parameters: tuple[int, ...]) -> None:
    """Enter a codec with its level, as `{"zstd": True, "complevel": 4}`."""
    encoding[name] = True
    if parameters:
        level = parameters[0]
        encoding["complevel"] = level - 2**32 if level >= 2**31 else level  # zstd has negative levels


def _add_flag(encoding: dict[str, Any], name: str, parameters: tuple[int, ...]) -> None:
    encoding[name] = True


def _blosc(encoding: dict[str, Any], name: str, parameters: tuple[int, ...]) -> None:
    """Describe blosc as netCDF4-python does, and in the words that its `createVariable` takes."""
    if len(parameters) < 7 or parameters[6] >= len(_BLOSC):
        return
    level, shuffle, compressor = parameters[4:7]
    compression = _BLOSC[compressor]
    encoding.update(blosc={"compressor": compression, "shuffle": shuffle}, complevel=level)
    encoding.update(compression=compression, blosc_shuffle=shuffle)


def _szip(encoding: dict[str, Any], name: str, parameters: tuple[int, ...]) -> None:
    """Describe szip where netCDF4-python can write it; elsewhere it does not show it either.

    It writes no szip with a `complevel` of 0.
    """
    if len(parameters) < 2:
        return
    coding = next((word for bit, word in _SZIP.items() if parameters[0] & bit), None)
    if coding is None or find_spec("netCDF4") is None or not import_module("netCDF4").__has_szip_support__:
        return
    pixels = parameters[1]
    encoding["complevel"] = encoding["complevel"] or 4
    encoding.update(
        szip={"coding": coding, "pixels_per_block": pixels}, szip_coding=coding, szip_pixels_per_block=pixels
    )


_CODECS: dict[str, Callable[[dict[str, Any], str, tuple[int, ...]], None]] = {
    "deflate": _deflate,
    "gzip": _deflate,
    "shuffle": _add_flag,
    "fletcher32": _add_flag,
    "zstd": _add_level,
    "bzip2": _add_level,
    "blosc": _blosc,
    "szip": _szip,
}


class NczarrArray(BackendArray):
    """Variable of a dataset. Reads take no lock, and only the chunks that an index needs."""

    __slots__ = ("dtype", "opened", "path", "shape")

    def __init__(self, opened: OpenedDataset, path: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.opened = opened
        self.path = path
        self.shape = shape
        self.dtype = dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> NDArray[Any]:
        """Return the values at an index, in the shape that xarray expects of it.

        Raises CompileError for an unreadable chunk, OSError for an unreachable one.
        """
        checked = self.opened.handle.checked
        by_points = isinstance(key, indexing.VectorizedIndexer)
        values = (read_points if by_points else read_outer)(checked, self.path, key.tuple)
        form = self.opened.form(checked.variables[self.path])
        if form is not None and form.convert is not None:
            return form.convert(values)
        return native(values)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> NDArray[Any]:
        """Return the values at an index, read in another thread."""
        return await asyncio.to_thread(self.__getitem__, key)


@functools.lru_cache(maxsize=64)
def _everything(rank: int) -> indexing.BasicIndexer:
    """Return the index of all values, which arrays of one rank share: to make one takes as long as the rest of one."""
    return indexing.BasicIndexer((slice(None),) * rank)


class DataStore(AbstractDataStore):
    """Group of an open dataset.

    `source`: path or URL that encodings name; `drop`: names of variables to leave
    out.
    """

    def __init__(self, opened: OpenedDataset, group: str, source: str, drop: Collection[str] = ()) -> None:
        self._opened = opened
        self._group = group
        self._source = source
        self._drop = drop

    @property
    def _node(self) -> Group:
        return self._opened.handle.checked.groups[self._group]

    def get_variables(self) -> dict[str, Variable]:
        """Return the variables by name, with lazy values."""
        declared = (variable for variable in self._node.variables if variable.name not in self._drop)
        converted = ((variable.name, self._convert_variable(variable)) for variable in declared)
        return {name: variable for name, variable in converted if variable is not None}

    def get_attrs(self) -> dict[str, Any]:
        """Return the attributes of the group."""
        return self._opened.attributes(self._node.attributes)

    def get_dimensions(self) -> dict[str, int]:
        """Return the lengths of the group's own dimensions."""
        return {dimension.name: dimension.size for dimension in self._node.dimensions}

    def get_parent_dimensions(self) -> dict[str, int]:
        """Return the lengths of dimensions of the groups above, the nearest of each name."""
        checked, lengths = self._opened.handle.checked, dict[str, int]()
        parts = names.split(self._group)
        for depth in range(len(parts)):
            group = checked.groups[names.fqn(parts[:depth])]
            lengths.update({dimension.name: dimension.size for dimension in group.dimensions})
        return lengths

    def get_encoding(self) -> dict[str, Any]:
        """Return the source, and the names of the group's unlimited dimensions."""
        unlimited = {dimension.name for dimension in self._node.dimensions if dimension.unlimited}
        return {"unlimited_dims": unlimited, "source": self._source}

    def _convert_variable(self, declared: Declared) -> Variable | None:
        """Return a variable; None, with a warning, if xarray has no model for it."""
        checked, path = self._opened.handle.checked, names.join(self._group, declared.name)
        named, renamed = self._opened.axes
        types, shape, axes = checked.types, checked.shapes[path], named[path]
        if path in renamed:
            warn(f"variable `{path}`: two dimensions in its group have one name, and {renamed[path]}")
        form = self._opened.form(declared)
        if form is None:
            warn(f"variable `{path}` is left out: xarray has no lists of strings or of lists")
            return None
        source = checked.parts.get(path, {}).get("")
        cuts = (source.layout.chunks, source.layout.shards) if source is not None and source.keyed else None
        alike, encodings = (id(declared.storage), id(form), axes, shape, cuts, self._source), self._opened.encodings
        described = encodings.get(alike)
        if described is None:
            described = {**storage_encoding(declared.storage, axes, source), "source": self._source}
            described["original_shape"] = shape
            # xarray reads texts of the encoded dtype `str` at once, and fails if an axis repeats. Those of stores are
            # lazy.
            if form.encoded is not str or ("chunks" not in described and len(set(axes)) == len(axes)):
                described["dtype"] = form.encoded
            encodings[alike] = described
        encoding = described.copy()
        if "preferred_chunks" in encoding:
            encoding["preferred_chunks"] = encoding["preferred_chunks"].copy()
        members = self._opened.attributes(declared.attributes)
        if form.encoded is str and "_Encoding" in members:  # xarray would decode the texts again, as bytes
            encoding["_Encoding"] = members.pop("_Encoding")
        encoding.update(pop_fill(members, form, declared, types))
        array = NczarrArray(self._opened, path, shape, form.dtype)
        return Variable(axes, LazilyIndexedArray(array, _everything(len(shape))), members, encoding, fastpath=True)
