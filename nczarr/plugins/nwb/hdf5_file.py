"""Files of Neurodata Without Borders in HDF5: their reader, and their writer."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from nczarr.arrays.codecs import chain
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast.dataset import FLETCHER32, SHUFFLE, Codec
from nczarr.plugins.nwb import model
from nczarr.plugins.nwb.model import (
    Index,
    Lose,
    NwbArray,
    NwbAttribute,
    NwbGroup,
    NwbLink,
    NwbReference,
    NwbTree,
    UnkeptError,
    region_of,
)

PIECE = 8 << 20
"""Bytes of a piece of a contiguous dataset at most."""

RESERVED = {"zarr_dtype", "zarr_link", "_nczarr_hdf5"}
"""Names of attributes that mean something else in Zarr."""

Find = Callable[[Any], NwbReference | None]
"""Returns what a reference of h5py leads to. Raises UnkeptError."""


def read_hdf5(file: Any, lose: Lose) -> NwbTree:
    """Return the tree of an open file of h5py. `lose` gets what Zarr has no place for."""
    from h5py import h5o, h5r

    objects, links = _list_objects(file, lose)
    places = {h5o.get_info(found.id).addr: path for path, found in objects.items()}

    def find(reference: Any) -> NwbReference | None:
        if not reference:
            return None
        try:
            path = places.get(h5o.get_info(h5r.dereference(reference, file.id)).addr)
        except (ValueError, RuntimeError):
            path = None
        if path is None:
            raise UnkeptError("refers to an object that is not kept")
        return NwbReference(path)

    nodes: dict[str, Any] = {}
    for path, found in objects.items():
        attributes = _read_attributes(path, found, find, lose)
        if hasattr(found, "dtype"):
            nodes[path] = Hdf5Array(found, attributes, find)
        else:
            nodes[path] = NwbGroup(attributes, links.get(path, {}))
    for path, named in links.items():
        for name, link in named.items():
            if link.kind == "soft":
                named[name] = link._replace(path=model.resolve(nodes, links, path, link.text))
    return NwbTree(nodes)


def _list_objects(file: Any, lose: Lose) -> tuple[dict[str, Any], dict[str, dict[str, NwbLink]]]:
    """Return groups and datasets by the first of their paths, and the links of each group."""
    import h5py

    objects: dict[str, Any] = {"/": file}
    links: dict[str, dict[str, NwbLink]] = {}
    seen = {h5py.h5o.get_info(file.id).addr: "/"}
    groups = deque([("/", file)])
    while groups:
        folder, group = groups.popleft()
        for name in group:
            path = model.join(folder, name)
            link = group.get(name, getlink=True)
            if name.startswith(".z") or name.encode(errors="replace").decode() != name:
                lose(path, "has a name that no folder of Zarr may have")
            elif isinstance(link, h5py.SoftLink):
                links.setdefault(folder, {})[name] = NwbLink("soft", "", link.path)
            elif isinstance(link, h5py.ExternalLink):
                links.setdefault(folder, {})[name] = NwbLink("external", link.path, link.path, str(link.filename))
            else:
                found = group[name]
                address = h5py.h5o.get_info(found.id).addr
                reason = "" if address in seen else _find_reason(found)
                if address in seen:
                    links.setdefault(folder, {})[name] = NwbLink("hard", seen[address], seen[address])
                elif reason:
                    lose(path, reason)
                else:
                    seen[address], objects[path] = path, found
                    if isinstance(found, h5py.Group):
                        groups.append((path, found))
    return objects, links


def _find_reason(found: Any) -> str:
    """Return why an object has no place in Zarr; empty if it has one."""
    import h5py

    if isinstance(found, h5py.Datatype):
        return "is a named type, for which NWB in Zarr has no form"
    if isinstance(found, h5py.Group):
        return ""
    if found.shape is None:
        return "has no values, not even an empty list, for which NWB in Zarr has no form"
    if found.is_virtual or found.external:
        return "has its values in other files"
    try:
        kind = model.read_hdf5_type(found.dtype)
    except UnkeptError as error:
        return str(error)
    if isinstance(kind, list) and model.has_objects(kind) and found.ndim > 1:
        return "is a table of compounds with references or texts that has several dimensions"
    unknown = [number for number, _ in _list_filters(found) if not h5py.h5z.filter_avail(number)]
    return f"has the filter {unknown[0]}, which HDF5 does not know here" if unknown else ""


def _list_filters(found: Any) -> list[tuple[int, tuple[int, ...]]]:
    plist = found.id.get_create_plist()
    filters = (plist.get_filter(place) for place in range(plist.get_nfilters()))
    return [(number, tuple(parameters)) for number, _, parameters, _ in filters]


def _list_codecs(found: Any) -> tuple[Codec, ...]:
    """Return the filters of a dataset if Zarr can name all of them, in an order that its readers take."""
    codecs = tuple(Codec(id=number, parameters=parameters) for number, parameters in _list_filters(found))
    if not chain.expressible(codecs) or chain.portable(codecs, found.dtype.itemsize) != codecs:
        return ()
    return tuple(codec for codec in codecs if not found.dtype.hasobject or codec.id not in (SHUFFLE, FLETCHER32))


def _read_attributes(path: str, found: Any, find: Find, lose: Lose) -> dict[str, NwbAttribute]:
    attributes = {}
    for name in found.attrs:
        try:
            if name in RESERVED:
                raise UnkeptError("has a name that NWB in Zarr uses itself")
            attributes[name] = _read_attribute(found.attrs, name, find)
        except UnkeptError as error:
            lose(f"{path}@{name}", str(error))
    return attributes


def _read_attribute(attributes: Any, name: str, find: Find) -> NwbAttribute:
    model.decode_text(name)
    opened = attributes.get_id(name)
    kind = model.read_hdf5_type(opened.dtype)
    value = attributes[name]
    if type(value).__name__ == "Empty":
        raise UnkeptError("has no value, not even an empty list")
    array = np.asarray(value, opened.dtype) if model.has_objects(kind) else np.asarray(value)
    array = model.convert_objects(array.reshape(opened.shape), kind, model.array_type(kind), _make_reader(find))
    return NwbAttribute(model.list_values(array.tolist()), kind, opened.shape)


def _make_reader(find: Find) -> Callable[[Any, str], Any]:
    """Return the function that turns objects of h5py into texts and references."""
    return lambda value, kind: find(value) if kind == "reference" else model.decode_text(value)


class Hdf5Array(model.NwbArray):
    """A dataset of an open file."""

    def __init__(self, found: Any, attributes: dict[str, NwbAttribute], find: Find) -> None:
        self.attributes = attributes
        self._found, self._find = found, find
        self.type = model.read_hdf5_type(found.dtype)
        self.shape, self.limits = found.shape, found.maxshape
        self.contiguous = found.chunks is None
        self.codecs = _list_codecs(found)
        is_object = model.has_objects(self.type)
        self.fill = None if is_object else np.asarray(found.fillvalue, model.array_type(self.type))
        if isinstance(self.type, list) and is_object:
            self.chunks = tuple(length + 1 for length in self.shape)  # why: see `zarr_writer.py`
        else:
            self.chunks = found.chunks or _choose_chunks(self.shape, found.dtype.itemsize)
        self.raw = not is_object and found.chunks is not None and self._is_packed()

    def _is_packed(self) -> bool:
        """Return whether values have in the file the bytes that they have in Zarr, and all filters can be named."""
        from h5py import h5t

        same = h5t.py_create(model.hdf5_type(self.type), logical=True).equal(self._found.id.get_type())
        return same and len(self.codecs) == len(_list_filters(self._found))

    def list_stored(self) -> Iterable[Index]:
        """Return the indices of allocated chunks, and of all pieces of what is contiguous."""
        if self.contiguous:
            if self._found.id.get_storage_size() == 0:
                return []
            lengths = zip(self.shape, self.chunks, strict=True)
            return itertools.product(*(range(-(-length // chunk)) for length, chunk in lengths))
        indices: set[Index] = set()
        self._found.id.chunk_iter(
            lambda info: indices.add(tuple(o // c for o, c in zip(info.chunk_offset, self.chunks, strict=True)))
        )
        return sorted(indices)

    def read(self, index: Index) -> NDArray[Any]:
        """Return the values of a chunk. Raises UnkeptError, OSError."""
        values = np.asarray(self._found[model.region_of(index, self.chunks, self.shape)])
        return model.convert_objects(values, self.type, model.array_type(self.type), _make_reader(self._find))

    def read_raw(self, index: Index) -> bytes | None:
        """Return the bytes of a chunk; None if it is without some of the filters."""
        offset = tuple(i * chunk for i, chunk in zip(index, self.chunks, strict=True))
        mask, data = self._found.id.read_direct_chunk(offset)
        return bytes(data) if mask == 0 else None


def _choose_chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the largest pieces of whole rows within `PIECE`."""
    chunks, size = [1] * len(shape), itemsize
    for axis in reversed(range(len(shape))):
        chunks[axis] = max(1, min(shape[axis], PIECE // size))
        size *= chunks[axis]
    return tuple(chunks)


def write_hdf5(tree: NwbTree, path: str) -> None:
    """Write a tree into a new file. Raises OSError, UnkeptError with a note of the path, errors of the reader."""
    import h5py

    with h5py.File(path, "w") as file:
        for place, node in tree.nodes.items():
            if isinstance(node, NwbGroup):
                file.require_group(place)
            else:
                _create_array(file, place, node)
        targets = {place: file[place].ref for place in tree.nodes}
        for place, node in tree.nodes.items():
            try:
                if isinstance(node, NwbGroup):
                    for name, link in node.links.items():
                        file[place][name] = _make_link(file, link)
                else:
                    _write_values(targets, file[place], node)
                for name, attribute in node.attributes.items():
                    _write_attribute(targets, file[place], name, attribute)
            except UnkeptError as error:
                error.add_note(place)
                raise


def _make_link(file: Any, link: NwbLink) -> Any:
    import h5py

    if link.kind == "external":
        return h5py.ExternalLink(link.file, link.path)
    return file[link.path] if link.kind == "hard" else h5py.SoftLink(link.text)


def _fit_chunks(array: NwbArray) -> tuple[int, ...]:
    """Return the chunks that HDF5 takes: it wants none larger than what a dataset can become."""
    limits = zip(array.chunks, array.limits, strict=True)
    return tuple(chunk if limit is None else min(chunk, max(limit, 1)) for chunk, limit in limits)


def _create_array(file: Any, path: str, array: NwbArray) -> None:
    from h5py import h5d, h5p, h5s, h5t, h5z

    properties = h5p.create(h5p.DATASET_CREATE)
    is_growing = array.limits != array.shape
    if array.shape and (is_growing or not array.contiguous) and (is_growing or 0 not in array.shape):
        properties.set_chunk(_fit_chunks(array))
        for codec in array.codecs:
            properties.set_filter(codec.id, h5z.FLAG_OPTIONAL, codec.parameters)
    if array.fill is not None and not isinstance(array.type, list) and any(array.fill.tobytes()):
        properties.set_fill_value(array.fill)
    limits = tuple(h5s.UNLIMITED if limit is None else limit for limit in array.limits)
    space = h5s.create_simple(array.shape, limits) if array.shape else h5s.create(h5s.SCALAR)
    kind = h5t.py_create(model.hdf5_type(array.type), logical=True)
    folder, _, name = path.rpartition("/")
    h5d.create(file[folder or "/"].id, name.encode(), kind, space, properties)


def _write_values(targets: dict[str, Any], dataset: Any, array: NwbArray) -> None:
    raw = array.raw and dataset.chunks == array.chunks
    for index in array.list_stored():
        data = array.read_raw(index) if raw else None
        if data is not None and (array.codecs or len(data) == math.prod(array.chunks) * dataset.dtype.itemsize):
            offset = tuple(i * chunk for i, chunk in zip(index, array.chunks, strict=True))
            dataset.id.write_direct_chunk(offset, data)
        else:
            values = _make_objects(targets, array.read(index), array.type)
            dataset[region_of(index, array.chunks, array.shape)] = values if array.shape else values[()]


def _write_attribute(targets: dict[str, Any], owner: Any, name: str, attribute: NwbAttribute) -> None:
    value, kind, shape = attribute
    values = np.empty(math.prod(shape), model.array_type(kind))
    for place, each in enumerate(model.list_flat(value, len(shape))[1] if values.size else ()):
        values[place] = _make_item(each, kind)
    values = _make_objects(targets, values.reshape(shape), kind)
    owner.attrs.create(name, values if shape else values[()], shape, model.hdf5_type(kind))


def _make_item(value: Any, kind: Any) -> Any:
    """Return a value for NumPy: rows of compounds are tuples, texts of a length bytes."""
    if isinstance(kind, list):
        return tuple(_make_item(each, member[1]) for each, member in zip(value, kind, strict=True))
    return value.encode() if isinstance(value, str) and kind not in model.OBJECTS else value


def _make_objects(targets: dict[str, Any], values: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Return values with references and texts of h5py."""
    import h5py

    def convert(value: Any, of: str) -> Any:
        if of == "reference" and value is not None and value not in targets:
            raise UnkeptError(f"refers to `{value}`, which is missing")
        return value if of != "reference" else h5py.Reference() if value is None else targets[value]

    if not model.has_objects(kind):  # the dtype tells h5py of enums, and of the encoding of texts
        return np.asarray(values, order="C").view(model.hdf5_type(kind))
    return model.convert_objects(values, kind, model.hdf5_type(kind), convert)
