"""Reader of NWB files in Zarr v2, as hdmf-zarr and `zarr_writer.py` write them.

Chunks of objects that hdmf-zarr has pickled are read without running anything
that they name. Nothing of NumPy is unpickled either: the state of a dtype could
make it read bytes as pointers. Arrays and dtypes become plain records of their state.
"""

from __future__ import annotations

import base64
import io
import json
import math
import pickle
import posixpath
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nczarr.arrays.codecs import chain
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast.dataset import DEFLATE, FLETCHER32, SHUFFLE
from nczarr.plugins.nwb import model
from nczarr.plugins.nwb.model import Index, Lose, NwbAttribute, NwbGroup, NwbLink, NwbReference, NwbTree, UnkeptError
from nczarr.plugins.nwb.zarr_writer import NOTES, SPECIFICATIONS, SUFFIX

if TYPE_CHECKING:
    from nczarr.stores.base import Store


class _PickledType:
    """A dtype: its name, such as `i4`, `V16` or `O8`, and its byte order."""

    def __init__(self, name: str, align: Any = None, copy: Any = None) -> None:
        self.name, self.order = name, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def read(self, data: bytes) -> Any:
        """Return the values of numbers. Raises ValueError for other types."""
        found = np.dtype(self.name)
        if found.kind not in "biufSU":
            raise ValueError(f"it has bytes of type {self.name}")
        return np.frombuffer(data, found.newbyteorder(">" if self.order == ">" else "<")).tolist()


class _PickledArray:
    """An array: a list of its items; rows are tuples."""

    def __init__(self, *of: Any) -> None:
        self.items: list[Any] = []

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        kind, data = state[2], state[4]
        self.items = data if isinstance(data, list) else kind.read(data)


def _make_scalar(kind: _PickledType, data: Any) -> Any:
    return kind.read(data)[0] if isinstance(data, bytes) else data


_KNOWN: dict[tuple[str, str], Any] = {
    ("hdmf_zarr.utils", "ZarrReference"): dict,
    ("numpy", "dtype"): _PickledType,
    ("numpy", "ndarray"): object,  # its name alone is used
}
for _core in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _KNOWN |= {(_core, "_reconstruct"): _PickledArray, (_core, "scalar"): _make_scalar}
"""Our objects for the names in chunks of hdmf-zarr."""


class _RecordUnpickler(pickle.Unpickler):
    """Reader of pickles that loads none of their names."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"it names `{module}.{name}`, which is not read")
        return _KNOWN[module, name]


def read_pickle(data: bytes) -> list[Any]:
    """Return the items of a pickled array. Raises ValueError for anything else."""
    try:
        array = _RecordUnpickler(io.BytesIO(data)).load()
        return [*array.items]
    except (pickle.UnpicklingError, ArithmeticError, LookupError, AttributeError, TypeError, EOFError) as error:
        raise ValueError(f"the pickled chunk is not one of hdmf-zarr: {error}") from error
    except (MemoryError, RecursionError, ImportError) as error:
        raise ValueError("the pickled chunk is damaged") from error


RESERVED = {"zarr_dtype", "zarr_link", NOTES}
"""Attributes that the file itself does not have."""


class DocumentError(ValueError):
    """A document or chunk that is not one of NWB in Zarr, and its key."""


def read_zarr(store: Store, lose: Lose) -> NwbTree:
    """Return the tree of a store. Raises DocumentError, OSError. `lose` gets what HDF5 has no place for."""
    if store.get(".zgroup") is None:
        raise DocumentError("`.zgroup` is missing: NWB in Zarr is a group of Zarr v2")
    nodes: dict[str, Any] = {}
    paths = ["/"]
    for path in paths:
        prefix = path[1:] + "/" * (path != "/")
        attributes = _parse(store.get(f"{prefix}.zattrs"), f"{prefix}.zattrs")
        notes = _parse(attributes.get(NOTES), f"{prefix}.zattrs#{NOTES}")
        document = _parse(store.get(f"{prefix}.zarray"), f"{prefix}.zarray")
        try:
            own = _read_attributes(path, attributes, notes, lose)
            if document:
                nodes[path] = ZarrArray(store, prefix, {**notes, **document, "name": attributes.get("zarr_dtype")}, own)
                continue
            links = _read_links(path, attributes.get("zarr_link") or [], notes.get("links") or {}, lose)
            nodes[path] = NwbGroup(own, links)
        except UnkeptError as error:
            lose(path, str(error))
            continue
        except (LookupError, TypeError, ValueError, AttributeError, SyntaxError, RecursionError) as error:
            raise DocumentError(f"the documents of `{path}` are not those of NWB: {error}") from error
        below = (f"{prefix}{name}" for name in store.children(prefix) if not name.startswith(".z"))
        paths += [f"/{key}" for key in below if any(not store.lacks(f"{key}/{end}") for end in (".zgroup", ".zarray"))]
    _check_targets(nodes, lose)
    return NwbTree(nodes)


def _check_targets(nodes: dict[str, Any], lose: Lose) -> None:
    """Remove links and references of attributes that lead to nothing."""
    for path, node in nodes.items():
        links = node.links if isinstance(node, NwbGroup) else {}
        for name, link in [*links.items()]:
            is_lost = link.kind != "external" and link.path not in nodes and (link.path or link.kind == "hard")
            if is_lost or "/" in name or name in ("", ".") or model.join(path, name) in nodes:
                lose(model.join(path, name), f"is a link to `{links.pop(name).path}`, which is missing, or has no name")
        for name in [name for name, each in node.attributes.items() if not _is_found(each.value, nodes)]:
            lose(f"{path}@{name}", "refers to an object that is missing")
            del node.attributes[name]


def _is_found(value: Any, nodes: dict[str, Any]) -> bool:
    if isinstance(value, list):
        return all(_is_found(each, nodes) for each in value)
    return not isinstance(value, NwbReference) or value in nodes


def _parse(text: bytes | str | None, key: str) -> dict[str, Any]:
    """Return an object of JSON, empty without a text. Raises DocumentError."""
    try:
        document = json.loads(text or "{}")
    except (TypeError, ValueError, RecursionError) as error:
        raise DocumentError(f"`{key}` is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise DocumentError(f"`{key}` is not an object of JSON")
    return document


def _read_attributes(path: str, found: dict[str, Any], notes: dict[str, Any], lose: Lose) -> dict[str, NwbAttribute]:
    noted = notes.get("attributes") or {}
    attributes = {}
    for name, encoded in found.items():
        if name in RESERVED:
            continue
        try:
            if path == "/" and name == SPECIFICATIONS and isinstance(encoded, str):
                attributes[name] = NwbAttribute(NwbReference(f"/{encoded.strip('/')}"), "reference", ())
                continue
            value = _decode_value(encoded)
            kind, shape = noted[name] if name in noted else model.guess_type(value)
            if len(model.list_flat(value, len(shape))[1]) != math.prod(shape):
                raise UnkeptError("has not the shape that is noted")
            if kind == "<f8":
                value = np.asarray(value, "<f8").tolist()
            attributes[name] = NwbAttribute(value, kind, tuple(shape))
        except UnkeptError as error:
            lose(f"{path}@{name}", str(error))
    return attributes


def _decode_value(value: Any) -> Any:
    """Return a value of an attribute, with references for what stands for them. Raises UnkeptError."""
    if isinstance(value, list):
        return [*map(_decode_value, value)]
    if isinstance(value, dict) and value.get("zarr_dtype") == "object":
        return _read_reference(value.get("value"))
    return value


def _read_reference(value: Any) -> NwbReference | None:
    """Return the reference that an object of JSON stands for. Raises UnkeptError."""
    if value is None:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("path"), str):
        raise UnkeptError("has a value that is no reference")
    if value.get("source") not in (".", "", None):
        raise UnkeptError("refers to an object of another file, for which HDF5 has no form")
    return NwbReference("/" + value["path"].strip("/"))


def _read_links(folder: str, items: list[Any], noted: dict[str, Any], lose: Lose) -> dict[str, NwbLink]:
    """Return the links of a group. Raises LookupError, TypeError, ValueError."""
    links = {name: NwbLink(*map(str, parts)) for name, parts in noted.items()}
    for item in items:
        name, path, source = (str(item[member]) for member in ("name", "path", "source"))
        path = "/" + path.strip("/")
        if name in links:
            continue
        if source == ".":
            links[name] = NwbLink("soft", path, path)
        elif "://" in source:
            lose(model.join(folder, name), f"is a link to `{source}`, and HDF5 has none to URLs")
        else:
            links[name] = NwbLink("external", path, path, _name_file(source))
    return links


def _name_file(source: str) -> str:
    """Return the name of the HDF5 file that a linked store is a copy of, relative to the folder of the copy."""
    relative = source if posixpath.isabs(source) else posixpath.relpath(source, "..")
    file = relative.removesuffix(SUFFIX)
    return file if posixpath.splitext(file)[1] else f"{file}.nwb"


class ZarrArray(model.NwbArray):
    """An array of a store."""

    def __init__(self, store: Store, prefix: str, document: dict[str, Any], own: dict[str, NwbAttribute]) -> None:
        """Set up. `document` has notes too. Raises UnkeptError, LookupError, TypeError, ValueError for a wrong one."""
        self.attributes, self._store, self._prefix = own, store, prefix
        steps = [*(document.get("filters") or ()), *filter(None, [document.get("compressor")])]
        is_object = "|O" in str(document["dtype"])
        self._object_codec, self._steps = (str(steps[0]["id"]), steps[1:]) if is_object else ("", steps)
        self._lengths, self._chunks = (tuple(map(int, document[member])) for member in ("shape", "chunks"))
        if len(self._lengths) != len(self._chunks) or min(self._lengths, default=0) < 0:
            raise ValueError("`shape` and `chunks` do not fit")
        if min(self._chunks, default=1) < 1 or math.prod(self._chunks) >= 1 << 40:
            raise ValueError("`chunks` has an impossible length")
        self._order, self._separator = document.get("order"), str(document.get("dimension_separator", "."))
        name = document["name"]
        self.type = document.get("type") or model.read_zarr_type(document["dtype"], name, self._object_codec)
        if model.has_objects(self.type) != is_object:
            raise ValueError(f"its values are no {self.type}")
        self._scalar = bool(document.get("scalar")) or name == "scalar"
        self.shape, self.chunks = ((), ()) if self._scalar else (self._lengths, self._chunks)
        self.limits = tuple(document.get("limits") or self.shape)
        self._dtype = model.array_type(self.type)
        self.fill = None if is_object else self._decode_fill(document.get("fill_value"))
        codecs = () if is_object else chain.from_configs(self._steps)
        self.raw = codecs is not None and {codec.id for codec in codecs} <= {DEFLATE, SHUFFLE, FLETCHER32}
        self.codecs = codecs if self.raw and codecs is not None else chain.parse("shuffle+zlib:4")
        self.raw = self.raw and not is_object and self._order != "F"
        self.contiguous = bool(document.get("contiguous", model.is_piece(self)))

    def _decode_fill(self, fill: Any) -> NDArray[Any]:
        if self._dtype.kind in "SV":
            data = base64.b64decode(fill) if isinstance(fill, str) else bytes(self._dtype.itemsize)
            return np.frombuffer(data, self._dtype, 1).reshape(())
        if isinstance(fill, (list, str)):
            fill = complex(*map(float, fill)) if isinstance(fill, list) else float(fill)
        return np.array(fill or 0, self._dtype)

    def list_stored(self) -> Iterable[Index]:
        """Yield the indices of keys that are chunks."""
        counts = [-(-length // chunk) for length, chunk in zip(self._lengths, self._chunks, strict=True)]
        for key in self._store.keys(self._prefix):
            parts = key[len(self._prefix) :].split(self._separator)
            if len(parts) == len(counts) and all(part.isdecimal() for part in parts):
                index = tuple(map(int, parts))
                if all(i < count for i, count in zip(index, counts, strict=True)):
                    yield () if self._scalar else index

    def _key(self, index: Index) -> str:
        return self._prefix + self._separator.join(map(str, index or (0,) * len(self._lengths)))

    def read_raw(self, index: Index) -> bytes | None:
        """Return the bytes of a chunk."""
        return self._store.get(self._key(index))

    def read(self, index: Index) -> NDArray[Any]:
        """Return the values of a chunk. Raises UnkeptError, DocumentError, OSError."""
        data, key = self.read_raw(index), self._key(index)
        size = None if self.fill is None else math.prod(self._chunks) * self._dtype.itemsize
        if data is None:
            values = np.full(self._chunks, "" if self.fill is None else self.fill, self._dtype)
        else:
            try:
                data = chain.decode(data, self._steps, self._dtype.itemsize, size)
                values = self._decode_objects(data) if self.fill is None else np.frombuffer(data, self._dtype)
                values = values.reshape(self._chunks, order="F" if self._order == "F" else "C")
            except chain.DECODING_ERRORS as error:
                raise DocumentError(f"the chunk `{key}` cannot be decoded: {error}") from error
        cells = model.region_of(index or (0,) * len(self._lengths), self._chunks, self._lengths)
        found = values[tuple(slice(cell.stop - cell.start) for cell in cells)]
        return found.reshape(()) if self._scalar else found

    def _decode_objects(self, data: bytes) -> NDArray[Any]:
        """Return the flat values of a chunk of objects. Raises ValueError, UnkeptError."""
        items = _list_items(data, self._object_codec)
        if self._object_codec == "json2":
            for _ in self._chunks[1:]:
                items = [each for row in items for each in row]
        values = np.empty(len(items), self._dtype)
        for place, item in enumerate(items):
            if item is not None:  # as behind the last row
                values[place] = _decode_item(item, self.type)
        return values


def _list_items(data: bytes, codec: str) -> list[Any]:
    if codec == "json2":
        return list(json.loads(data)[:-2])
    if codec == "pickle":
        return read_pickle(data)
    if codec not in ("vlen-utf8", "vlen-bytes"):
        raise ValueError(f"codec `{codec}` is unknown")
    import numcodecs

    return list(numcodecs.get_codec({"id": codec}).decode(data))


def _decode_item(item: Any, kind: Any) -> Any:
    """Return the value of an item of a chunk. Raises ValueError, UnkeptError."""
    if isinstance(kind, list):
        return tuple(_decode_item(each, member[1]) for each, member in zip(item, kind, strict=True))
    if kind == "reference":
        return _read_reference(item)
    if kind in model.OBJECTS:
        return model.decode_text(item)
    return item.encode() if isinstance(item, str) else item
