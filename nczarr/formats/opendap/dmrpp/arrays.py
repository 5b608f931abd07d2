"""Array sources of variables: byte ranges of targets, or values in the document."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from nczarr import names
from nczarr.arrays.chunks.grid import Encoding
from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray
from nczarr.arrays.codecs.chain import to_configs
from nczarr.arrays.regions import Index, even_chunks, grid_of, index_of
from nczarr.arrays.sources.memory import fill_source
from nczarr.arrays.sources.source import ArraySource, Descr, Layout, Parts, big_descr, itemsize
from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.ast import ATOMIC, Codec, Storage
from nczarr.ast.storage import DEFLATE, SHUFFLE
from nczarr.formats.opendap.common.declarations import FaultError, whole
from nczarr.formats.opendap.common.document_reader import DescribedVariable
from nczarr.formats.opendap.common.xml_reader import XmlElement
from nczarr.formats.opendap.dmrpp import inline_values
from nczarr.formats.opendap.dmrpp.raw_elements import Pad, RawElements, layout_of, padded_fill, record_fill
from nczarr.formats.opendap.dmrpp.references import (
    DmrppReferences,
    Inline,
    Ranges,
    chunk_lengths,
    in_order,
    numbers_of,
    targets_of,
)
from nczarr.formats.opendap.dmrpp.wire import FILTERS, fill_number
from nczarr.registry import ChunkKeys
from nczarr.stores.base import Store, is_safe

PADS = ("null_term", "null_pad", "space_pad")

HEAP_REFERENCE = 16
"""Bytes of a variable-length text in an HDF5 dataset: a heap reference, not text."""

LONGEST_ELEMENT = 1 << 31

_KNOWN = {
    *("compressionType", "deflateLevel", "deflate_level", "fillValue", "byteOrder", "structOffset", "DIO"),
    "nczarr:fill",
}
"""Attributes of `dmrpp:chunks`."""

_VALUES = ("dmrpp:compact", "dmrpp:missingdata", "dmrpp:vlsa", "dmrpp:specialstructuredata")
"""Elements that hold values."""

_ELEMENTS = {*_VALUES, "dmrpp:chunks", "dmrpp:chunk", "dmrpp:FixedLengthStringArray"}


class VariableArrays(NamedTuple):
    """Arrays of a variable."""

    parts: Parts
    """The arrays."""
    storage: Storage
    """Storage of the variable."""
    unknown_fill: bool = False
    """True if missing chunks have undefined values."""


class ArrayReader:
    """Factory of array sources. `url`: default target, None for the reader's. `old`: the document has no version."""

    def __init__(self, store: Store, references: DmrppReferences, url: str | None, *, old: bool) -> None:
        self._store, self._references, self._url, self._old = store, references, url, old

    def read(self, it: DescribedVariable) -> VariableArrays:
        """Return the arrays of a variable. Raises FaultError."""
        element = it.element
        for child in element.children:
            if child.tag.startswith("dmrpp:") and child.tag not in _ELEMENTS:
                raise FaultError(f"`{child.tag}` is unknown")
        values = [child for child in element.children if child.tag in _VALUES]
        chunks = element.all("dmrpp:chunks")
        alone = element.all("dmrpp:chunk")  # old documents name data in one piece without `chunks`
        if len(values) > 1 or len(chunks) + len(alone) > 1:
            raise FaultError("its values or chunks are in several places")
        block = chunks[0] if chunks else XmlElement("dmrpp:chunks", {}, element.offset)
        for child in alone:
            block.chunks.add(child.attributes)
        unknown = block.attributes.keys() - _KNOWN
        if unknown:
            raise FaultError(f"`dmrpp:chunks` has the attribute `{min(unknown)}`, which is unknown")
        for child in block.children:
            if child.tag != "dmrpp:chunkDimensionSizes":
                raise FaultError(f"`{child.tag}` is unknown")
        if block.chunks.fault is not None:
            raise FaultError(block.chunks.fault)
        if block.attributes.get("byteOrder", "LE") not in ("LE", "BE"):
            raise FaultError(f"`{block.attributes['byteOrder'][:40]}` is not a byte order")
        if values:
            if len(block.chunks):
                raise FaultError("it has both values in the document and chunks")
            return VariableArrays(*self._values(it, values[0], block))
        if not chunks and not alone:
            raise FaultError("the document does not give the place of its values")
        return self._chunked(it, block)

    def _values(self, it: DescribedVariable, values: XmlElement, block: XmlElement) -> tuple[Parts, Storage]:
        """Return the arrays of values in the document."""
        compact = values.tag == "dmrpp:compact"
        if values.tag == "dmrpp:vlsa":
            if it.type != "string":
                raise FaultError("it has a list of strings, but is not one")
            return inline_values.texts_of(values, it.shape), Storage()
        if values.tag == "dmrpp:specialstructuredata":
            return inline_values.records_of(values.text, it.type, it.types, it.shape), Storage()
        data = inline_values.unbase64(values.text, values.tag.partition(":")[2])
        storage = Storage(layout="compact") if compact else Storage()
        if it.type == "string":
            if not compact:
                raise FaultError("`dmrpp:missingdata` of strings is unknown")
            if not it.shape and it.element.first("dmrpp:FixedLengthStringArray") is None:
                text = data.partition(b"\0")[0]
                return {"": inline_values.in_memory([text], "|O", ())}, storage
        if not is_fixed(it.type, it.types) and it.type != "string":
            raise FaultError("its records have strings")
        count, size = math.prod(it.shape), self._element(it, block)[0]
        plain = compact or count == 1
        if plain and len(data) != count * size:
            raise FaultError(f"the document holds {len(data)} bytes of its {count * size}")
        codecs = () if plain else (Codec(id=DEFLATE),)
        self._references.add(_prefix(it.path), Inline(data, ".".join("0" for _ in it.shape) or "0"))
        big = compact and block.attributes.get("byteOrder") == "BE"
        layout = Layout("", it.shape, tuple(max(1, length) for length in it.shape), codecs)
        return {"": self._source(it, block, layout, big=big, is_inline=True)}, storage

    def _element(self, it: DescribedVariable, block: XmlElement) -> tuple[int, Pad]:
        """Return the size of a stored element in bytes, and the padding of texts."""
        if it.type != "string":
            layout = layout_of(it.element, it.type, it.types)
            return (itemsize(descr(it.type, it.types)) if layout is None else layout[0]), "null_term"
        fixed = it.element.first("dmrpp:FixedLengthStringArray")
        if fixed is not None:
            pad = fixed.attributes.get("pad", "")
            if pad not in PADS or fixed.attributes.keys() - {"string_length", "pad", "value"}:
                raise FaultError(f"the padding `{pad[:40]}` of its strings is unknown")
            return whole(fixed.attributes.get("string_length", ""), "length of strings"), cast("Pad", pad)
        return self._text_length(it, block), "null_term"

    def _text_length(self, it: DescribedVariable, block: XmlElement) -> int:
        """Return an undeclared length of texts, from the size of chunks."""
        sizes = set(block.chunks.lengths)
        cells = math.prod(chunk_lengths(block, it.shape) or it.shape)
        if len(sizes) != 1 or block.attributes.get("compressionType") or not cells or min(sizes) % cells:
            raise FaultError("the document does not give the length of its strings")
        length = min(sizes) // cells
        if length == HEAP_REFERENCE and (it.shape or self._old):
            raise FaultError("its chunks refer to variable-length strings, which the document does not contain")
        return length

    def _chunked(self, it: DescribedVariable, block: XmlElement) -> VariableArrays:
        """Return the arrays of a variable with values in a target, or without any."""
        lengths = chunk_lengths(block, it.shape)
        rows, fixed = block.chunks, is_fixed(it.type, it.types)
        if not fixed and it.type != "string":
            raise FaultError("its records have strings, which the document does not contain")
        codecs = self._codecs(block)
        big = block.attributes.get("byteOrder") == "BE"
        numbers = it.type != "string" and not isinstance(descr(it.type, it.types), str)
        wide = it.type in ATOMIC and ATOMIC[it.type].size > 1
        storage = Storage(
            layout="contiguous" if lengths is None else "chunked",
            chunks=lengths or None,
            codecs=codecs,
            endian="big" if big and (wide or numbers) and it.type in ATOMIC else None,
        )
        if it.type == "string" and not len(rows):
            layout = Layout("|O", it.shape, it.shape, fill=self._text_fill(block))
            if layout.fill is None and 0 not in it.shape:
                raise FaultError("the document has neither its values nor their fill value")
            return VariableArrays({"": fill_source(layout)}, storage)
        size = self._element(it, block)[0]
        if not 0 < size < LONGEST_ELEMENT:
            raise FaultError(f"its elements have {size} bytes")
        masks: dict[Index, int] = {}
        chunks = lengths or tuple(max(1, length) for length in it.shape)
        ranges = self._ranges(it, block, chunks, size, masks)
        if lengths is None and not codecs and len(rows) and math.prod(it.shape) * size != rows.lengths[0]:
            raise FaultError(
                f"it has {rows.lengths[0]} bytes in the target, but its shape requires {math.prod(it.shape) * size}"
            )
        if ranges.stride is not None:
            chunks = next(even_chunks(it.shape, size), it.shape)
            step = math.prod(chunks) * size
            counts = grid_of(it.shape, chunks)
            ranges = ranges._replace(counts=counts, stride=(step, math.prod(counts)))
        self._references.add(_prefix(it.path), ranges)
        source = self._source(it, block, Layout("", it.shape, chunks, codecs), big=big, masks=masks)
        missing = ranges.stride is None and len(rows) < math.prod(ranges.counts)
        return VariableArrays({"": source}, storage, missing and source.undefined)

    def _text_fill(self, block: XmlElement) -> bytes | None:
        """Return the fill value of texts, None if unknown."""
        text = block.attributes.get("fillValue")
        return None if text is None or text.startswith("unsupported-") else text.encode()

    def _codecs(self, block: XmlElement) -> tuple[Codec, ...]:
        words = block.attributes.get("compressionType", "").split()
        levels = (block.attributes.get("deflateLevel") or block.attributes.get("deflate_level") or "").split()
        codecs: list[Codec] = []
        for word in words:
            if word not in FILTERS:
                raise FaultError(f"its chunks are encoded with the filter `{word[:40]}`, which is unknown")
            level = levels.pop(0) if FILTERS[word] == DEFLATE and levels else ""
            number = int(level) if level.isascii() and level.isdigit() and len(level) == 1 else None
            codecs.append(Codec(id=FILTERS[word], parameters=() if number is None else (number,)))
        if self._old and [codec.id for codec in codecs] == [DEFLATE, SHUFFLE]:
            codecs.reverse()  # documents without a version name filters in no order, and HDF5 shuffles first
        return tuple(codecs)

    def _ranges(
        self, it: DescribedVariable, block: XmlElement, chunks: tuple[int, ...], size: int, masks: dict[Index, int]
    ) -> Ranges:
        """Return chunk byte ranges, and set omitted filters in `masks`. Raises FaultError."""
        rows, counts = block.chunks, grid_of(it.shape, chunks)
        whole_array = chunk_lengths(block, it.shape) is None
        urls, targets = targets_of(rows, self._url)
        if whole_array:
            if len(rows) > 1 or (rows.rank and any(rows.positions)):
                raise FaultError("it has several chunks, but the document does not give their shape")
            plain = bool(len(rows)) and not block.attributes.get("compressionType") and 0 not in it.shape
            counts = tuple(1 for _ in counts)
            numbers = array("q", [0] * len(rows))
            chunk_ranges = Ranges(
                counts, numbers, rows.offsets, rows.lengths, urls, None, (rows.lengths[0], 1) if plain else None
            )
        else:
            if len(rows) and (rows.rank or 0) != len(counts):
                if not (len(rows) == 1 and not rows.rank):
                    raise FaultError(
                        f"its chunk positions have {rows.rank} indices, but its number of dimensions is {len(counts)}"
                    )
                numbers = array("q", [0])
            else:
                numbers = numbers_of(rows, it.shape, chunks, counts)
            chunk_ranges = in_order(Ranges(counts, numbers, rows.offsets, rows.lengths, urls, targets))
        for row, mask in rows.masks.items():
            if mask >> len(block.attributes.get("compressionType", "").split()):
                raise FaultError(f"the filter mask {mask} of a chunk names more filters than there are")
            masks[index_of(numbers[row], counts)] = mask
        return chunk_ranges

    def _source(
        self,
        it: DescribedVariable,
        block: XmlElement,
        layout: Layout,
        *,
        big: bool,
        masks: Mapping[Index, int] = MappingProxyType({}),
        is_inline: bool = False,
    ) -> ArraySource:
        """Return a variable's array in the store. `is_inline`: the document has all values."""
        size, pad = self._element(it, block)
        text = it.type == "string"
        dtype: Descr = "|O" if text else descr(it.type, it.types)
        stored = big_descr(dtype) if big else dtype
        fill = self._text_fill(block) if text else self._fill(it, block, dtype)
        padded = None if text else layout_of(it.element, it.type, it.types)
        raw, raw_fill = stored, fill
        if text:
            raw, blank = f"|V{size}", b" " if pad == "space_pad" else b"\0"
            raw_fill = None if fill is None else fill[:size].ljust(size, blank)
        elif padded is not None:
            raw = f"|V{size}"
            raw_fill = None if fill is None else padded_fill(fill, dtype, stored, padded)
        stored_array = KeyChunkArray(
            layout._replace(dtype=raw if text or padded else dtype, fill=raw_fill),
            self._store,
            ChunkKeys(_prefix(it.path)),
            Encoding(raw, tuple(to_configs(layout.codecs, size))),
            undefined=fill is None and not is_inline,
            masks={**masks},
        )
        whole_layout = layout._replace(dtype=dtype, fill=fill)
        if text:
            return RawElements(stored_array, whole_layout, pad)
        return stored_array if padded is None else RawElements(stored_array, whole_layout, (stored, padded[1]))

    def _fill(self, it: DescribedVariable, block: XmlElement, dtype: Descr) -> bytes | None:
        """Return the value of unwritten cells, None if unknown. Raises FaultError."""
        exact = block.attributes.get("nczarr:fill")
        if exact is not None:
            data = inline_values.unbase64(exact, "nczarr:fill")
            if len(data) != itemsize(dtype):
                raise FaultError(f"its fill value has {len(data)} bytes, but an element has {itemsize(dtype)}")
            return data
        text = block.attributes.get("fillValue")
        if text is None or text.startswith("unsupported-"):
            return None
        if it.type == "char":
            return (text.encode("latin-1", "replace") or b"\0")[:1]
        if isinstance(dtype, str):
            type_name = it.type if it.type in ATOMIC else getattr(it.types[it.type], "base", "int")
            number = fill_number(text, type_name, it.declared)
            if number is None:
                raise FaultError(f"`{text[:40]}` is not a fill value of its type")
            return number
        return record_fill(text, dtype)


def _prefix(path: str) -> str:
    """Return the key prefix of a variable: its path, in hexadecimal if invalid as key."""
    segments = names.split(path)
    prefix = "/".join(segments)
    return f"{prefix}/" if is_safe(prefix) else path.encode().hex() + "/"
