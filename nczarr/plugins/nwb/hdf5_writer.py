"""Writer of NWB files in HDF5."""

from __future__ import annotations

import math
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.nwb import types
from nczarr.plugins.nwb.tree import NwbArray, NwbAttribute, NwbGroup, NwbLink, NwbTree, UnkeptError, region_of


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
    kind = h5t.py_create(types.hdf5_type(array.type), logical=True)
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
    values = np.empty(math.prod(shape), types.array_type(kind))
    for place, each in enumerate(types.list_flat(value, len(shape))[1] if values.size else ()):
        values[place] = _make_item(each, kind)
    values = _make_objects(targets, values.reshape(shape), kind)
    owner.attrs.create(name, values if shape else values[()], shape, types.hdf5_type(kind))


def _make_item(value: Any, kind: Any) -> Any:
    """Return a value for NumPy: rows of compounds are tuples, texts of a length bytes."""
    if isinstance(kind, list):
        return tuple(_make_item(each, member[1]) for each, member in zip(value, kind, strict=True))
    return value.encode() if isinstance(value, str) and kind not in types.OBJECTS else value


def _make_objects(targets: dict[str, Any], values: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Return values with references and texts of h5py."""
    import h5py

    def convert(value: Any, of: str) -> Any:
        if of == "reference" and value is not None and value not in targets:
            raise UnkeptError(f"refers to `{value}`, which is missing")
        return value if of != "reference" else h5py.Reference() if value is None else targets[value]

    if not types.has_objects(kind):  # the dtype tells h5py of enums, and of the encoding of texts
        return np.asarray(values, order="C").view(types.hdf5_type(kind))
    return types.convert_objects(values, kind, types.hdf5_type(kind), convert)
