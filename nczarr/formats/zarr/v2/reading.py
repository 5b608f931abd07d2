"""Zarr v2 documents as the readers want them, those of netCDF-C's four generations among them (nczarr-storage §2)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from nczarr.arrays.codecs import POINTER
from nczarr.arrays.encode import Encoding
from nczarr.arrays.source import Descr, itemsize
from nczarr.ast import Constant
from nczarr.ast.plain import Plain, encoded, plain
from nczarr.capabilities import ChunkKeys
from nczarr.formats.zarr.core.array_metadata import Described, chain, lengths, sensible
from nczarr.formats.zarr.core.fill_values import FAULTS, INVALID, shown
from nczarr.formats.zarr.v2 import dtypes
from nczarr.json.documents import Documents, Json, pointer

_KNOWN = re.compile(r"([<>|=]?)(?:([iu][1248]|f[248]|b1|c8|c16)|([SV])([1-9][0-9]{0,8})|(O)|(U1))")
_TEXTS = frozenset({"vlen-utf8", "vlen-bytes"})
_OBJECTS = {"superblock": (".nczarr",), "group": (".nczgroup",), "array": (".nczvar", ".nczarray"),
            "attr": (".nczattr", ".nczattrs")}  # fmt: skip
"""The objects of the first generation."""


class Version2:
    """Reads the keys of Zarr v2. `netcdf`: fill values of texts are the texts, and `<U1` is a char of one byte."""

    texts_are_strings = True
    axes_member = "_ARRAY_DIMENSIONS"
    portable_names = False
    named_by_file = True
    fill_stands_for_attribute = True
    names: tuple[str, ...] = (".zarray", ".zattrs", ".zgroup")

    def __init__(self, documents: Documents, *, netcdf: bool = False) -> None:
        self.documents = documents
        self._netcdf = netcdf
        self._described: dict[int, Described] = {}
        """What a document says, by its identity: equal ones are mostly the same object, and `documents` keeps them."""
        if not (documents.store.listed and (documents.has(".zgroup") or documents.has(".zarray"))):
            consolidated = documents.get(".zmetadata") or {}
            members = consolidated.get("metadata")
            documents.extra = members if isinstance(members, dict) else {}

    def name(self, prefix: str) -> str:
        """The segment of its keys."""
        return prefix[:-1].rpartition("/")[2]

    def is_array(self, prefix: str) -> bool:
        """Whether there is a `.zarray`."""
        return self.documents.has(prefix + ".zarray")

    def is_group(self, prefix: str) -> bool:
        """Whether there is a `.zgroup`."""
        return self.documents.has(prefix + ".zgroup")

    def key(self, prefix: str) -> str:
        """`.zattrs`."""
        return prefix + ".zattrs"

    def attributes(self, prefix: str) -> Json:
        """The object `.zattrs`."""
        return self.documents.get(prefix + ".zattrs") or {}

    def hidden(self, prefix: str, what: str) -> tuple[Json | None, str]:
        """From the attributes, from `.zgroup` or `.zarray`, or an object of its own, in that order."""
        spoken = (f"_nczarr_{what}", f"_NCZARR_{what.upper()}")
        holders = [".zattrs", ".zarray" if what == "array" else ".zgroup"]
        for holder in holders:
            document = self.documents.get(prefix + holder) or {}
            for name in spoken:
                if isinstance(document.get(name), dict):
                    return document[name], prefix + holder
        for name in _OBJECTS[what]:
            if self.documents.has(prefix + name):
                return self.documents.get(prefix + name), prefix + name
        return None, prefix + ".zattrs"

    def own_fill(self, type_name: str, value: Any) -> Constant | None:
        """None: `_FillValue` stands there as any other attribute."""
        return None

    def shown_fill(self, constant: Constant) -> Plain:
        """As any other attribute."""
        return plain(constant)

    def array(self, prefix: str) -> Described | None:
        """What `.zarray` says; None (reported) if it is no array that can be read."""
        key = prefix + ".zarray"
        document = self.documents.get(key)
        if document is None:
            return None
        found, before = self._described.get(id(document)), self.documents.said
        if found is None:
            found = self._array(document, key)
            if found is None:
                return None
            if self.documents.said == before:  # else the next one has the same to say
                self._described[id(document)] = found
        attributes = self.attributes(prefix)
        axes = _axes(attributes.get("_ARRAY_DIMENSIONS"))
        chunk_keys = found.chunk_keys.below(prefix)
        return found._replace(key=key, prefix=prefix, attributes=attributes, axes=axes, chunk_keys=chunk_keys)

    def _array(self, document: Json, key: str) -> Described | None:
        """What the document says by itself."""
        if document.get("zarr_format", 2) != 2:
            self._bad("the document is not of Zarr format 2", key, "zarr_format")
            return None
        shape, chunks = lengths(document.get("shape")), lengths(document.get("chunks"), least=1)
        if shape is None or not sensible(shape):
            self._bad("the shape is no list of lengths", key, "shape")
            return None
        if chunks is None or len(chunks) != len(shape):
            self._bad("the chunks are no list of lengths, one a dimension", key, "chunks")
            return None
        configs = self._configs(document, key)
        if configs is None:
            return None
        dtype = self._dtype(document.get("dtype"), configs, key)
        if dtype is None:
            return None
        configs = [_sized(each, dtype) for each in configs if each.get("id") not in _TEXTS]
        order = document.get("order", "C")
        if order not in ("C", "F"):
            self._bad("the order is neither C nor F", key, "order")
            return None
        separator = "/" if document.get("dimension_separator") == "/" else "."
        permutation = tuple(reversed(range(len(shape)))) if order == "F" and len(shape) > 1 else None
        return Described(
            key,
            "",
            shape,
            chunks,
            Encoding(dtype, tuple(configs), permutation),
            self._fill(dtype, document.get("fill_value"), key),
            chain(configs),
            None,
            {},
            None,
            ChunkKeys(separator=separator),
        )

    def _bad(self, message: str, key: str, *steps: str) -> None:
        self.documents.lost("bad-metadata", message, key, pointer(*steps))

    def _configs(self, document: Json, key: str) -> list[Json] | None:
        """Filters and compressor in the order of encoding."""
        filters, compressor = document.get("filters") or [], document.get("compressor")
        steps = [*filters, *([compressor] if compressor is not None else [])] if isinstance(filters, list) else [None]
        found = [each for each in steps if isinstance(each, dict) and isinstance(each.get("id"), str)]
        if len(found) < len(steps):
            self._bad("a filter or compressor is no configuration with an `id`", key, "filters")
            return None
        return found

    def _dtype(self, written: Any, configs: list[Json], key: str) -> Descr | None:
        """The stored dtype; None (reported) for one that the model has no type for."""
        try:
            found = self._known(dtypes.descr(written), configs)
        except (ValueError, TypeError) as fault:
            self.documents.lost("unreadable-array", f"no type of the model lies as {fault}", key, "/dtype")
            return None
        return found

    def _known(self, written: Descr, configs: list[Json], *, field: bool = False) -> Descr:
        """The dtype in the form of `Descr`. Raises ValueError, whose text is the dtype."""
        if not isinstance(written, str):
            if not written or len({name for name, _, _ in written}) < len(written):
                raise ValueError(f"a record of {len(written)} fields")
            return tuple(self._field(name, inner, shape) for name, inner, shape in written)
        match = _KNOWN.fullmatch(written)
        if match is None:
            raise ValueError(f"dtype `{written}`")
        order, number, letter, length, texts, wide = match.groups()
        if number:
            return ("|" if number[1:] == "1" and order != ">" else ">" if order == ">" else "<") + number
        if letter:
            return f"{'>' if (order, letter, length) == ('>', 'S', '1') and not field else '|'}{letter}{length}"
        if wide and self._netcdf and not field:
            return ">S1"
        if texts and not field and sum(each["id"] in _TEXTS for each in configs) == 1:
            return "|O"
        raise ValueError(f"dtype `{written}`")

    def _field(self, name: Any, inner: Descr, shape: Any) -> tuple[str, Descr, tuple[int, ...]]:
        if not isinstance(name, str) or not name or lengths(list(shape), least=1) is None:
            raise ValueError("a record with a field that has no name or shape")
        return name, self._known(inner, [], field=True), tuple(shape)

    def _fill(self, dtype: Descr, written: Any, key: str) -> bytes | None:
        """Return one element in the bytes of the dtype; None for null, and (reported) for an invalid `fill_value`."""
        if isinstance(written, list) and len(written) == 1 and isinstance(dtype, str) and dtype[1] != "c":
            written = written[0]
        try:
            return self._element(dtype, written)
        except FAULTS as fault:
            self.documents.lost("bad-metadata", f"{INVALID}: {fault}", key, "/fill_value")
            return None

    def _element(self, dtype: Descr, written: Any) -> bytes | None:
        if written is None or (type(written) is int and written == 0 and not isinstance(dtype, str)):
            return None
        if isinstance(dtype, str) and dtype[1] == "S":
            return self._chars(int(dtype[2:]), written)
        if dtype == "|O" and isinstance(written, str):
            return encoded(written)
        return dtypes.fill_bytes(dtype, written)

    def _chars(self, size: int, written: Any) -> bytes:
        """The fill value of texts of fixed length: base64, or the text itself as the netCDF library writes it."""
        number = type(written) is int and self._netcdf
        if not isinstance(written, str) and not number:
            raise ValueError(f"{shown(written)} is not a text")
        text = encoded(str(written))
        coded = _is_base64(text, size) and (len(text) > size or not self._netcdf)
        plainly = base64.b64decode(text, validate=True) if coded else text
        if len(plainly) > size:
            raise ValueError(f"{shown(written)} has {len(plainly)} bytes where the type has {size}")
        return plainly.ljust(size, b"\0")


def _sized(config: Json, dtype: Descr) -> Json:
    """A shuffle without an element size, as netCDF-C writes it, with the one that netCDF-C takes."""
    if config.get("id") != "shuffle" or config.get("elementsize") != 0 or not isinstance(dtype, str):
        return config
    return {**config, "elementsize": POINTER if dtype[:2] == "|S" else itemsize(dtype)}


def _is_base64(text: bytes, size: int) -> bool:
    """Whether a fill value of texts is written in base64: no other program writes one that is whole."""
    try:
        return 0 < len(base64.b64decode(text, validate=True)) <= size
    except binascii.Error:
        return False


def _axes(written: Any) -> tuple[str | None, ...] | None:
    if not isinstance(written, list):
        return None
    return tuple(each if isinstance(each, str) else None for each in written)
