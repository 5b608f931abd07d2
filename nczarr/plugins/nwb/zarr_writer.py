"""Writer of NWB files in Zarr v2, in the layout of hdmf-zarr.

What HDF5 has and that layout has no place for stands as JSON in the attribute
`_nczarr_hdf5` of its node, a text: types of attributes, shapes that may grow, kinds
of links. Readers ignore it.

Compounds with references or texts are rows that are lists, in one chunk with an
empty row behind them: of JSON numcodecs makes no compounds, and an array of lists
only if one item differs from the others.
"""

from __future__ import annotations

import base64
import json
import posixpath
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nczarr.arrays.codecs import chain
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast.dataset import FLETCHER32, SHUFFLE
from nczarr.plugins.nwb import model
from nczarr.plugins.nwb.model import (
    NwbArray,
    NwbAttribute,
    NwbGroup,
    NwbLink,
    NwbReference,
    NwbTree,
    UnkeptError,
    is_piece,
)

if TYPE_CHECKING:
    from nczarr.stores.base import Store

NOTES = "_nczarr_hdf5"
"""Attribute with what only HDF5 has."""

SPECIFICATIONS = ".specloc"
"""Attribute of the root that names the group of cached specifications."""

SUFFIX = ".zarr"
"""End of the name of a copy in Zarr."""


def write_zarr(tree: NwbTree, store: Store) -> None:
    """Put all keys of a tree. Raises OSError, UnkeptError with a note of the path, errors of the reader."""
    documents: dict[str, Any] = {}
    for path, node in tree.nodes.items():
        prefix = path[1:] + "/" * (path != "/")
        notes: dict[str, Any] = {}
        attributes = _encode_attributes(tree, node.attributes, notes, is_root=path == "/")
        try:
            if isinstance(node, NwbGroup):
                documents[f"{prefix}.zgroup"] = {"zarr_format": 2}
                links = [_encode_link(name, link, notes) for name, link in node.links.items()]
                attributes |= {"zarr_link": kept} if (kept := [link for link in links if link]) else {}
            else:
                documents[f"{prefix}.zarray"] = document = describe_array(node)
                attributes["zarr_dtype"] = _name_type(node)
                _note_array(node, notes)
                _write_chunks(tree, node, document, prefix, store)
        except UnkeptError as error:
            error.add_note(path)
            raise
        if notes:
            attributes[NOTES] = json.dumps(notes)
        if attributes:
            documents[f"{prefix}.zattrs"] = attributes
    for key, document in documents.items():
        store.put(key, _print_json(document))
    store.put(".zmetadata", _print_json({"metadata": documents, "zarr_consolidated_format": 1}))


def _print_json(document: Any) -> bytes:
    return json.dumps(document, indent=4, sort_keys=True).encode()


def _encode_attributes(
    tree: NwbTree, attributes: dict[str, NwbAttribute], notes: dict[str, Any], *, is_root: bool
) -> dict[str, Any]:
    encoded: dict[str, Any] = {}
    for name, (value, kind, shape) in attributes.items():
        if is_root and name == SPECIFICATIONS and isinstance(value, NwbReference):
            encoded[name] = value[1:]
            continue
        encoded[name] = _encode_value(tree, value, is_attribute=True)
        with suppress(UnkeptError):
            if model.guess_type(value) == (kind, shape):
                continue
        notes.setdefault("attributes", {})[name] = [kind, shape]
    return encoded


def _encode_value(tree: NwbTree, value: Any, *, is_attribute: bool = False) -> Any:
    if isinstance(value, (list, tuple)):
        return [_encode_value(tree, each, is_attribute=is_attribute) for each in value]
    if not isinstance(value, NwbReference):
        return value
    ids = (tree.nodes[path].attributes.get("object_id") for path in (value, "/"))
    one, root = (None if each is None else each.value for each in ids)
    reference = {"source": ".", "path": str(value), "object_id": one, "source_object_id": root}
    return {"zarr_dtype": "object", "value": reference} if is_attribute else reference


def _encode_link(name: str, link: NwbLink, notes: dict[str, Any]) -> dict[str, str]:
    """Return an item of `zarr_link`; empty for a link to nothing, which readers refuse."""
    is_known_by_path = link == NwbLink("soft", link.text, link.text)
    if not is_known_by_path:  # the way back to HDF5 needs the kind, or the path as it was written
        notes.setdefault("links", {})[name] = link
    if link.kind == "external":
        file = link.file if posixpath.isabs(link.file) else f"../{link.file}"  # relative to the store, a folder
        return {"name": name, "path": link.path, "source": file + SUFFIX}
    return {"name": name, "path": link.path, "source": "."} if link.path else {}


def _name_type(array: NwbArray) -> Any:
    is_row = isinstance(array.type, list) or array.type == "reference"
    return "scalar" if not array.shape and not is_row else model.zarr_name(array.type)


def describe_array(array: NwbArray) -> dict[str, Any]:
    """Return the document of an array."""
    is_object = model.has_objects(array.type)
    itemsize = 1 if is_object else array.fill.dtype.itemsize
    has_rows = is_object and isinstance(array.type, list)  # and an empty one behind them
    steps: list[Any] = [*chain.to_configs(array.codecs, itemsize)]
    if is_object:
        steps.insert(0, {"id": "vlen-utf8" if model.zarr_name(array.type) == "str" else "json2"})
    has_compressor = bool(array.codecs) and array.codecs[-1].id not in (SHUFFLE, FLETCHER32)
    compressor = steps.pop() if has_compressor else None
    return {
        "zarr_format": 2,
        "shape": list(array.shape) if array.shape else [1],
        "chunks": [max(1, length) for length in array.chunks] if array.shape else [1 + has_rows],
        "dtype": model.zarr_type(array.type),
        "fill_value": _encode_fill(array),
        "order": "C",
        "filters": steps or None,
        "compressor": compressor,
    }


def _encode_fill(array: NwbArray) -> Any:
    if array.fill is None:
        return "" if array.type in ("utf8", "ascii") else None
    if array.fill.dtype.kind in "SV":
        return base64.b64encode(array.fill.tobytes()).decode()
    value = array.fill.item()
    parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    encoded = [words.get(str(part), part) for part in parts]
    return encoded if len(encoded) > 1 else encoded[0]


def _note_array(array: NwbArray, notes: dict[str, Any]) -> None:
    """Note what HDF5 knows of a dataset beyond the document."""
    document = {"dtype": model.zarr_type(array.type), "name": _name_type(array)}
    kind = model.read_zarr_type(document["dtype"], document["name"], "")
    if kind != array.type:
        notes["type"] = array.type
    if not array.shape and document["name"] != "scalar":
        notes["scalar"] = True
    if array.limits != array.shape:
        notes["limits"] = array.limits
    if array.shape and array.contiguous != is_piece(array):
        notes["contiguous"] = array.contiguous


def _write_chunks(tree: NwbTree, array: NwbArray, document: dict[str, Any], prefix: str, store: Store) -> None:
    for index in array.list_stored():
        data = array.read_raw(index) if array.raw else None
        if data is None:
            data = _encode_chunk(tree, array, array.read(index), document)
        store.put(prefix + (".".join(map(str, index)) or "0"), data)


def _encode_chunk(tree: NwbTree, array: NwbArray, values: NDArray[Any], document: dict[str, Any]) -> bytes:
    """Return the bytes of a chunk, with the cells outside of the array."""
    kind, is_object = array.type, model.has_objects(array.type)
    if isinstance(kind, list) and is_object:
        rows = _encode_value(tree, model.list_values(values.reshape(-1).tolist()))
        rows += [None] * (document["chunks"][0] - len(rows))
        return chain.encode(array.codecs, _print_rows(rows, document["chunks"]), 1)
    chunk = np.empty(document["chunks"], model.array_type(kind))
    chunk[...] = array.fill if not is_object else None if kind == "reference" else ""
    chunk[tuple(slice(length) for length in values.shape or (1,))] = values
    if kind == "reference":
        data = _print_rows(_encode_value(tree, chunk.reshape(-1).tolist()), chunk.shape)
    elif is_object:
        from numcodecs import VLenUTF8

        data = bytes(VLenUTF8().encode(chunk.reshape(-1)))
    else:
        data = chunk.tobytes()
    return chain.encode(array.codecs, data, 1 if is_object else chunk.dtype.itemsize)


def _print_rows(rows: list[Any], shape: Sequence[int]) -> bytes:
    """Return items as numcodecs' JSON codec has them; those of several dimensions are nested."""
    for length in reversed(shape[1:]):
        rows = [rows[at : at + length] for at in range(0, len(rows), length)]
    return json.dumps([*rows, "|O", list(shape)], separators=(",", ":"), sort_keys=True).encode()
