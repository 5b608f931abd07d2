"""`zarr2`: any pure Zarr v2 store → `Unchecked`, consolidated or not.

`Zarr2Reader` also serves netCDF-C's four generations.
"""

import base64
import binascii
import functools
import math
import re
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.chunks.grid import Encoding
from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.table import TextCodec
from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.arrays.values.elements import element_of, halves, is_element_name, with_times
from nczarr.arrays.values.parts import POINTER
from nczarr.ast.plain_json import encode
from nczarr.diagnostics.report import Report
from nczarr.formats.common.documents import DocumentCache, Json
from nczarr.formats.zarr.core import hierarchy
from nczarr.formats.zarr.core.array_metadata import ArrayMetadata, chain, chunk_lengths, lengths, record, sensible
from nczarr.formats.zarr.core.fill_values import decode_base64, number, show, type_name
from nczarr.formats.zarr.core.reader import BadDocumentError, Masking, NodeReader, axes_of
from nczarr.options import Options
from nczarr.registry import ChunkKeys
from nczarr.semantics.checked import Unchecked
from nczarr.stores.base import Store

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_REAL = r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|(?i:nan|inf(?:inity)?))"

_KNOWN = re.compile(
    r"([<>|=]?)(?:([iu][1248]|f[248]|b1|c8|c16)|([SV])([1-9][0-9]{0,8})|(O)|(U1)|U([1-9][0-9]{0,8})|([Mm]8(?:\[[^]]*\])?))"
)
_TEXTS = frozenset({"vlen-utf8", "vlen-bytes"})
HIDDEN_OBJECTS = {"superblock": (".nczarr",), "group": (".nczgroup",), "array": (".nczvar", ".nczarray"),
            "attr": (".nczattr", ".nczattrs")}  # fmt: skip
"""Objects of the first generation."""
HIDDEN_NAMES = {what: (f"_nczarr_{what}", f"_NCZARR_{what.upper()}") for what in HIDDEN_OBJECTS}  # capitals until 4.9.0
"""Attributes of the later generations."""

ROOTS = (".zgroup", ".zarray", ".zattrs", ".zmetadata", ".nczarr")
"""Documents of which the root of a Zarr v2 store has at least one."""


def holds(store: Store) -> bool:
    """Return whether the root has a Zarr v2 document.

    Stores with a superblock match `nczarr` first.
    """
    if store.get("zarr.json") is not None:  # netCDF-C 4.10.2, too, takes a store with both for Zarr v3
        return False
    return any(store.get(key) is not None for key in ROOTS)


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a store. Reports unreadable parts; raises OSError."""
    reader = Zarr2Reader(DocumentCache(store, report, options.run))
    reader.masks_every_fill = options.reading.masking_fill
    return hierarchy.read(reader)


class Zarr2Reader(NodeReader):
    """Documents of Zarr v2. `netcdf`: text fill values are plain, and `<U1` is a char of one byte."""

    axes_member = "_ARRAY_DIMENSIONS"
    masks_every_fill = False
    consolidated_key = ".zmetadata"
    names = (".zarray", ".zattrs", ".zgroup")

    def __init__(self, documents: DocumentCache, *, netcdf: bool = False) -> None:
        """Begin with `.zmetadata`, which stands for the documents if the root has none. `netcdf`: `|S1` is text."""
        super().__init__(documents)
        self.texts_are_strings = netcdf
        self._described: dict[int, ArrayMetadata] = {}
        """Metadata by the document's `id`: equal documents are mostly one object, which `documents` keeps alive."""
        documents.consolidate_document(".zmetadata", whole=documents.has(".zgroup") or documents.has(".zarray"))

    def find_masking(self, described: ArrayMetadata) -> Masking:
        """Return as xarray does, whose `_ARRAY_DIMENSIONS` mark arrays that it reads so.

        NetCDF-C states its default fill values in all arrays, in documents that begin with `zarr_format`: there only
        those of packed numbers mean missing cells.
        """
        if self.masks_every_fill:
            return "every"
        if self.axes_member not in described.attributes:
            return ""
        if self.documents.store.refers:
            is_zero = described.fill is None or not described.fill.strip(b"\0")
            return "" if is_zero and self._masking_of_references == "stated" else self._masking_of_references
        by_netcdf = next(iter(self.documents.get(described.key) or {}), "") == "zarr_format"
        return "every" if not by_netcdf or {"scale_factor", "add_offset"} & described.attributes.keys() else "stated"

    @functools.cached_property
    def _masking_of_references(self) -> Masking:
        """Masking of all arrays, by the way in which their writer states `_FillValue`.

        Some leave it among the attributes, beside fill values of HDF5, zeros too. Kerchunk 0.2.10 takes it out and
        states it as the fill value, which is null for variables of netCDF without one.
        """
        arrays = list(self._list_arrays())
        if any("_FillValue" in self.attributes(prefix) for prefix in arrays):
            return ""
        documents = (self.documents.get(prefix + ".zarray") or {} for prefix in arrays)
        return "every" if any(document.get("fill_value") is None for document in documents) else "stated"

    def _list_arrays(self) -> Iterator[str]:
        """Yield the prefixes of all arrays. Keys of chunks are not listed: generators may make millions."""
        prefixes = [""]
        while prefixes:
            prefix = prefixes.pop()
            below = [f"{prefix}{name}/" for name in self.documents.children(prefix)]
            yield from filter(self.is_array, below)
            prefixes += [one for one in below if not self.is_array(one)]

    def is_array(self, prefix: str) -> bool:
        return self.documents.has(prefix + ".zarray")

    def is_group(self, prefix: str) -> bool:
        """Return whether `.zgroup` exists. Fast if not: it is called for each array."""
        key, documents = prefix + ".zgroup", self.documents
        return (key in documents.extra or not documents.store.lacks(key)) and documents.has(key)

    def key(self, prefix: str) -> str:
        return prefix + ".zattrs"

    def array_key(self, prefix: str) -> str:
        return prefix + ".zarray"

    def attributes(self, prefix: str) -> Json:
        return self.documents.get(prefix + ".zattrs") or {}

    def read_hidden(self, prefix: str, what: str) -> tuple[Json | None, str]:
        """Search the attributes, `.zgroup` or `.zarray`, then separate objects."""
        for holder in (".zattrs", ".zarray" if what == "array" else ".zgroup"):  # `.zattrs` since 4.9.3
            document = self.documents.get(prefix + holder)
            if document is None:
                continue
            for name in HIDDEN_NAMES[what]:
                if isinstance(found := document.get(name), dict):
                    return found, prefix + holder
        for name in HIDDEN_OBJECTS[what]:  # netCDF-C 4.8.0
            if self.documents.has(prefix + name):
                return self.documents.get(prefix + name), prefix + name
        return None, prefix + ".zattrs"

    def describe(self, prefix: str) -> ArrayMetadata | None:
        """Read `.zarray` below a prefix, with the attributes; equal documents are read once."""
        key = prefix + ".zarray"
        document = self.documents.get(key)
        if document is None:
            return None
        metadata, before = self._described.get(id(document)), self.documents.findings
        if metadata is None:
            metadata = self._read_array(document, key)
            if self.documents.findings == before:  # else the next one has the same to say
                self._described[id(document)] = metadata
        attributes = with_times(self.attributes(prefix), metadata.encoding.dtype, metadata.fill)
        axes = axes_of(attributes.get("_ARRAY_DIMENSIONS"))
        return ArrayMetadata(
            key, prefix, *metadata[2:8], attributes, axes, metadata.chunk_keys.below(prefix), metadata.raw_texts
        )

    def _read_array(self, document: Json, key: str) -> ArrayMetadata:
        """Return the part of the metadata that depends on the document alone."""
        if document.get("zarr_format", 2) != 2:
            raise BadDocumentError("the document is not of Zarr format 2", "zarr_format")
        shape = lengths(document.get("shape"))
        if shape is None:
            raise BadDocumentError("the shape is not a list of lengths", "shape")
        if not sensible(shape):
            raise BadDocumentError("the array has more than 2⁶³ - 1 cells", "shape", "unreadable-array")
        chunks = chunk_lengths(document.get("chunks"), shape)
        if chunks is None:
            raise BadDocumentError("the chunks are not a list of one length for each dimension", "chunks")
        configs = _configs(document)
        try:
            dtype = self._parse_dtype(_read_dtype(document.get("dtype")), configs)
        except (ValueError, TypeError) as fault:
            raise BadDocumentError(f"the model has no type for {fault}", "dtype", "unreadable-array") from None
        raw_texts = any(config.get("id") == "vlen-bytes" for config in configs)
        configs = [_add_size(config, dtype) for config in configs if config.get("id") not in _TEXTS]
        order = document.get("order", "C")
        if order not in ("C", "F"):
            raise BadDocumentError("the order must be C or F", "order")
        separator = document.get("dimension_separator") or "."
        if separator not in (".", "/"):
            if len(shape) > 1:
                raise BadDocumentError("the separator must be `/` or `.`", "dimension_separator")
            separator = "."  # the keys have none
        permutation = tuple(reversed(range(len(shape)))) if order == "F" and len(shape) > 1 else None
        return ArrayMetadata(
            key,
            "",
            shape,
            chunks,
            Encoding(dtype, tuple(configs), permutation),
            self.fill(key, lambda: self._element(dtype, document.get("fill_value"))),
            chain(configs),
            None,
            {},
            None,
            ChunkKeys(separator=separator),
            raw_texts,
        )

    def _parse_dtype(self, written: Descr, configs: list[Json], *, field: bool = False) -> Descr:
        """Return the dtype as a `Descr`. Raises ValueError with the dtype as its text."""
        if not isinstance(written, str):
            return record((name, self._parse_dtype(inner, [], field=True), shape) for name, inner, shape in written)
        match = _KNOWN.fullmatch(written)
        if match is None:
            raise ValueError(f"dtype `{written}`")
        order, number, letter, length, texts, wide, wider, time = match.groups()
        objects = [config["id"] for config in configs if config["id"] in _TEXTS or _is_object_codec(config)]
        if objects and not texts:  # numcodecs encodes the characters of `U` as texts of any length
            if (wide or wider) and len(objects) == 1 and objects[0] != "vlen-bytes":
                return "|O"
            raise ValueError(f"dtype `{written}` with filter `{objects[0]}`")
        byte_order = ">" if order == ">" else "<"
        if number:
            return ("|" if number[1:] == "1" and byte_order == "<" else byte_order) + number
        if letter:
            return f"{'>' if (order, letter, length) == ('>', 'S', '1') and not field else '|'}{letter}{length}"
        if wide and self.texts_are_strings and not field:
            return ">S1"  # the char of netCDF-C up to 4.9.0: one byte, not four
        if wide or wider:
            return f"{byte_order}U{wider or 1}"
        if time and is_element_name(element_of("<" + time)):
            return byte_order + time
        if texts and not field and len(objects) == 1:
            return "|O"
        if any(config["id"] == "pickle" for config in configs):
            raise ValueError(f"dtype `{written}` with filter `pickle`, which runs code")
        if texts and configs:
            raise ValueError(f"dtype `{written}` with filter `{configs[0]['id'][:60]}`")
        raise ValueError(f"dtype `{written}`")

    def _element(self, dtype: Descr, written: Any) -> bytes | None:
        """Return one element in the stored dtype; None for null, which is NaT of times. Raises one of `FAULTS`."""
        if isinstance(written, list) and len(written) == 1 and isinstance(dtype, str) and dtype[1] != "c":
            written = written[0]  # netCDF-C takes a list of one
        if written is None and isinstance(dtype, str) and dtype[1] in "Mm":
            return number(dtype, "NaT")
        if written is None or (type(written) is int and written == 0 and not isinstance(dtype, str)):
            return None
        if isinstance(dtype, str) and dtype[1] == "S":
            return self._chars(int(dtype[2:]), written)
        return encode(written) if dtype == "|O" and isinstance(written, str) else _read_fill(dtype, written)

    def _chars(self, size: int, written: Any) -> bytes:
        """Return a fixed-length text fill value: base64, or netCDF-C's plain text."""
        number = type(written) is int and self.texts_are_strings  # netCDF-C writes the char `5` as a number
        if not isinstance(written, str) and not number:
            raise ValueError(f"{show(written)} is not a string")
        text = encode(str(written))
        coded = _is_base64(text, size) and (len(text) > size or not self.texts_are_strings)  # zarr-python's base64
        plainly = base64.b64decode(text, validate=True) if coded else text
        if len(plainly) > size:
            raise ValueError(f"{show(written)} has {len(plainly)} bytes, but the type has {size}")
        return plainly.ljust(size, b"\0")


def _is_object_codec(config: Json) -> bool:
    """Return whether a filter encodes texts of any length."""
    return isinstance(table.of_config_id(config["id"]), TextCodec) and config.get("dtype", "|O") == "|O"


def _configs(document: Json) -> list[Json]:
    """Return filters and compressor in encoding order. Raises BadDocumentError."""
    filters, compressor = document.get("filters") or [], document.get("compressor")
    steps = [*filters, *([compressor] if compressor is not None else [])] if isinstance(filters, list) else [None]
    configs = [step for step in steps if isinstance(step, dict) and isinstance(step.get("id"), str)]
    if len(configs) < len(steps):
        raise BadDocumentError("a filter or compressor is not a configuration with an `id`", "filters")
    return configs


def _add_size(config: Json, dtype: Descr) -> Json:
    """Add netCDF-C's implied element size to a shuffle that it wrote without one."""
    if config.get("id") != "shuffle" or config.get("elementsize") != 0 or not isinstance(dtype, str):
        return config
    return {**config, "elementsize": POINTER if dtype[:2] == "|S" else itemsize(dtype)}


def _is_base64(text: bytes, size: int) -> bool:
    """Return whether a fill value is base64 of at most `size` bytes; plain texts are not valid base64."""
    try:
        return 0 < len(base64.b64decode(text, validate=True)) <= size
    except binascii.Error:
        return False


def _read_dtype(written: Any) -> Descr:
    """Return the type that a `dtype` member names; nested fields become raw bytes. Raises ValueError."""
    if isinstance(written, str):
        return written
    if not isinstance(written, list) or not all(isinstance(field, list) and len(field) >= 2 for field in written):
        raise ValueError(f"not a dtype of Zarr v2: {written!r}")
    return tuple(
        # NumPy gives padding, which has no name, that of its place
        (f"f{place}" if field[0] == "" else field[0], _read_dtype(field[1]), _read_shape(*field[2:3]))
        for place, field in enumerate(written)
    )


def _read_shape(written: Any = ()) -> tuple[int, ...]:
    """Return the shape of a field; one number is a length, as in NumPy. Raises ValueError."""
    shape = (written,) if type(written) is int else written
    if not isinstance(shape, list | tuple):
        raise ValueError(f"a record whose field has the shape {show(written)}")
    return tuple(shape)


def _read_fill(descr: Descr, written: Any) -> bytes | None:
    """Return the bytes of a `fill_value` member. Raises ValueError for an invalid value.

    Accepts other writers' variants: numbers as texts, integers as `1.0`,
    booleans as 0 and 1, complex numbers without imaginary part.
    """
    if written is None:
        return None
    if not isinstance(descr, str) or descr[1] == "V":
        return decode_base64(written, itemsize(descr))
    if descr == "|O" or descr[1] == "U":
        if isinstance(written, bool) or not isinstance(written, str | int | float):
            raise ValueError(f"{show(written)} is not a string")
        return ("" if descr != "|O" and written == 0 else str(written)).encode("utf-8")
    if descr[1] == "S":
        return decode_base64(written, itemsize(descr), shorter=True)
    if descr[1] == "b" and type(written) is int and written in (0, 1):
        return bytes([written])
    if descr[1] == "c":
        parts = written if isinstance(written, list) else [written, 0.0]
        if len(parts) != 2:
            raise ValueError(f"{show(written)} is not a list of two numbers")
        return b"".join(number(part, _to_number(part, half)) for part, half in zip(halves(descr), parts, strict=True))
    return number(descr, _to_number(descr, written))


def _to_number(descr: str, written: Any) -> Any:
    """Convert a numeric text or integral float; return other values unchanged."""
    if isinstance(written, str):
        if descr[1] in "iu" and _INTEGER.fullmatch(written):
            return int(written)
        if descr[1] == "f" and re.fullmatch(_REAL, written):
            value = float(written)
            if not math.isinf(value) or not any(sign.isdigit() for sign in written):
                return value
            raise ValueError(f"{show(written)} is out of range for {type_name(descr)}")
    if descr[1] in "iu" and isinstance(written, float) and written.is_integer():
        return int(written)
    return written
