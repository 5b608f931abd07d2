"""`read`: DMR++ document → dataset whose arrays are byte ranges of the target, or values in the document."""

from __future__ import annotations

import math
from array import array
from functools import cached_property
from typing import cast

from nczarr import names
from nczarr.arrays.chunks.grid import Encoding
from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray
from nczarr.arrays.codecs.chain import to_configs
from nczarr.arrays.regions import Index, even_chunks, grid_of, index_of
from nczarr.arrays.sources.memory import fill_source
from nczarr.arrays.sources.source import ArraySource, Descr, Layout, Parts, big_descr, itemsize
from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.ast import ATOMIC, Codec, Storage
from nczarr.ast.dataset import DEFLATE, SHUFFLE, building
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity, Source, Span
from nczarr.options import Options, RunOptions
from nczarr.plugins.common.xml_reader import XmlElement, parse
from nczarr.plugins.opendap.common.declarations import FaultError, whole
from nczarr.plugins.opendap.common.document_reader import DescribedVariable, DocumentReader
from nczarr.plugins.opendap.common.words import PREFIXES
from nczarr.plugins.opendap.dmrpp import elements, references
from nczarr.plugins.opendap.dmrpp.elements import Pad, PaddedMember, RawElements, layout_of, pad_fill, record_fill
from nczarr.plugins.opendap.dmrpp.references import PLACEHOLDER, SUFFIX, DmrppReferences, foreign_kind
from nczarr.registry import ChunkKeys
from nczarr.semantics.checked import Unchecked
from nczarr.stores import local_paths
from nczarr.stores.base import Store, is_safe
from nczarr.stores.reference_policy import ForbiddenTargetError, Policy, home_of
from nczarr.stores.references import ReferenceStore
from nczarr.stores.spool import origin

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


VariableArrays = tuple[Parts, Storage, bool]
"""Arrays of a variable, its storage, and whether missing chunks have undefined values."""


class ArrayReader:
    """Factory of array sources. `url`: default target, None for the reader's. `old`: the document has no version."""

    def __init__(self, store: Store, references: references.DmrppReferences, url: str | None, *, old: bool) -> None:
        self.store, self.references, self.url, self.old = store, references, url, old

    def read(self, variable: DescribedVariable) -> VariableArrays:
        """Return the arrays of a variable. Raises FaultError."""
        element = variable.element
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
        stored = _StoredVariable(self, variable, block)
        if values:
            if len(block.chunks):
                raise FaultError("it has both values in the document and chunks")
            return *stored.inline(values[0]), False
        if not chunks and not alone:
            raise FaultError("the document does not give the place of its values")
        return stored.read_chunked()


class _StoredVariable:
    """A variable with the element `dmrpp:chunks`. Methods raise FaultError."""

    def __init__(self, reader: ArrayReader, variable: DescribedVariable, block: XmlElement) -> None:
        self.reader, self.variable, self.block = reader, variable, block
        self.is_text, self.is_fixed = variable.type == "string", is_fixed(variable.type, variable.types)
        self.big = block.attributes.get("byteOrder") == "BE"
        self.filters = block.attributes.get("compressionType", "").split()

    def inline(self, values: XmlElement) -> tuple[Parts, Storage]:
        """Return the arrays of values in the document."""
        variable, compact = self.variable, values.tag == "dmrpp:compact"
        if values.tag == "dmrpp:vlsa":
            if not self.is_text:
                raise FaultError("it has a list of strings, but is not one")
            return elements.texts_of(values, variable.shape), Storage()
        if values.tag == "dmrpp:specialstructuredata":
            return elements.records_of(values.text, variable.type, variable.types, variable.shape), Storage()
        data = elements.unbase64(values.text, values.tag.partition(":")[2])
        storage = Storage(layout="compact") if compact else Storage()
        if self.is_text:
            if not compact:
                raise FaultError("`dmrpp:missingdata` of strings is unknown")
            if not variable.shape and variable.element.first("dmrpp:FixedLengthStringArray") is None:
                return {"": elements.in_memory([data.partition(b"\0")[0]], "|O", ())}, storage
        elif not self.is_fixed:
            raise FaultError("its records have strings")
        count, size = math.prod(variable.shape), self.element[0]
        plain = compact or count == 1
        if plain and len(data) != count * size:
            raise FaultError(f"the document holds {len(data)} bytes of its {count * size}")
        self.reader.references.add(self.prefix, references.Inline(data, ".".join("0" for _ in variable.shape) or "0"))
        shape = variable.shape
        layout = Layout("", shape, tuple(max(1, length) for length in shape), () if plain else (Codec(id=DEFLATE),))
        return {"": self._source(layout, {}, big=compact and self.big, undefined=False)}, storage

    @property
    def prefix(self) -> str:
        """Key prefix: the path, in hexadecimal if invalid as key."""
        prefix = "/".join(names.split(self.variable.path))
        return f"{prefix}/" if is_safe(prefix) else self.variable.path.encode().hex() + "/"

    @cached_property
    def element(self) -> tuple[int, Pad]:
        """Size of a stored element in bytes, and the padding of texts."""
        if not self.is_text:
            layout = self.padded
            return (itemsize(self.dtype) if layout is None else layout[0]), "null_term"
        fixed = self.variable.element.first("dmrpp:FixedLengthStringArray")
        if fixed is None:
            return self._text_length(), "null_term"
        pad = fixed.attributes.get("pad", "")
        if pad not in PADS or fixed.attributes.keys() - {"string_length", "pad", "value"}:
            raise FaultError(f"the padding `{pad[:40]}` of its strings is unknown")
        return whole(fixed.attributes.get("string_length", ""), "length of strings"), cast("Pad", pad)

    @property
    def padded(self) -> tuple[int, tuple[PaddedMember, ...]] | None:
        """Size and member offsets of padded records; None for others."""
        return None if self.is_text else layout_of(self.variable.element, self.variable.type, self.variable.types)

    @property
    def dtype(self) -> Descr:
        """Element type of the model."""
        return "|O" if self.is_text else descr(self.variable.type, self.variable.types)

    def _text_length(self) -> int:
        """Return an undeclared length of texts, from the size of chunks."""
        sizes, shape = set(self.block.chunks.lengths), self.variable.shape
        cells = math.prod(references.chunk_lengths(self.block, shape) or shape)
        if len(sizes) != 1 or self.filters or not cells or min(sizes) % cells:
            raise FaultError("the document does not give the length of its strings")
        length = min(sizes) // cells
        if length == HEAP_REFERENCE and (shape or self.reader.old):
            raise FaultError("its chunks refer to variable-length strings, which the document does not contain")
        return length

    def read_chunked(self) -> VariableArrays:
        """Return the arrays of a variable with values in a target, or without any."""
        variable, rows = self.variable, self.block.chunks
        lengths = references.chunk_lengths(self.block, variable.shape)
        if not self.is_fixed and not self.is_text:
            raise FaultError("its records have strings, which the document does not contain")
        codecs = self._codecs()
        is_number = variable.type in ATOMIC and ATOMIC[variable.type].size > 1
        storage = Storage(
            layout="contiguous" if lengths is None else "chunked",
            chunks=lengths or None,
            codecs=codecs,
            endian="big" if self.big and is_number else None,
        )
        if self.is_text and not len(rows):
            layout = Layout("|O", variable.shape, variable.shape, fill=self.fill)
            if layout.fill is None and 0 not in variable.shape:
                raise FaultError("the document has neither its values nor their fill value")
            return {"": fill_source(layout)}, storage, False
        size = self.element[0]
        if not 0 < size < LONGEST_ELEMENT:
            raise FaultError(f"its elements have {size} bytes")
        chunks = lengths or tuple(max(1, length) for length in variable.shape)
        ranges, masks = self._ranges(chunks, is_whole=lengths is None)
        needed = math.prod(variable.shape) * size
        if lengths is None and not codecs and len(rows) and needed != rows.lengths[0]:
            raise FaultError(f"it has {rows.lengths[0]} bytes in the target, but its shape requires {needed}")
        if ranges.stride is not None:
            chunks = next(even_chunks(variable.shape, size), variable.shape)
            counts = grid_of(variable.shape, chunks)
            ranges = ranges._replace(counts=counts, stride=(math.prod(chunks) * size, math.prod(counts)))
        self.reader.references.add(self.prefix, ranges)
        source = self._source(Layout("", variable.shape, chunks, codecs), masks, big=self.big, undefined=True)
        missing = ranges.stride is None and len(rows) < math.prod(ranges.counts)
        return {"": source}, storage, missing and source.undefined

    def _codecs(self) -> tuple[Codec, ...]:
        """Return the codecs of the chunks, from the words of `compressionType`, with deflate levels of one digit."""
        attributes, codecs = self.block.attributes, list[Codec]()
        levels = (attributes.get("deflateLevel") or attributes.get("deflate_level") or "").split()
        for word in self.filters:
            if word not in references.FILTERS:
                raise FaultError(f"its chunks are encoded with the filter `{word[:40]}`, which is unknown")
            level = levels.pop(0) if references.FILTERS[word] == DEFLATE and levels else ""
            is_digit = level.isascii() and level.isdigit() and len(level) == 1
            codecs.append(Codec(id=references.FILTERS[word], parameters=(int(level),) if is_digit else ()))
        if self.reader.old and [codec.id for codec in codecs] == [DEFLATE, SHUFFLE]:
            codecs.reverse()  # documents without a version name filters in no order, and HDF5 shuffles first
        return tuple(codecs)

    def _ranges(self, chunks: tuple[int, ...], *, is_whole: bool) -> tuple[references.Ranges, dict[Index, int]]:
        """Return chunk byte ranges, and the masks of omitted filters. `is_whole`: the array is one chunk."""
        rows, shape = self.block.chunks, self.variable.shape
        counts = grid_of(shape, chunks)
        urls, targets = references.targets_of(rows, self.reader.url)
        if is_whole:
            if len(rows) > 1 or (rows.rank and any(rows.positions)):
                raise FaultError("it has several chunks, but the document does not give their shape")
            stride = (rows.lengths[0], 1) if len(rows) and not self.filters and 0 not in shape else None
            counts, numbers = tuple(1 for _ in counts), array("q", [0] * len(rows))
            ranges = references.Ranges(counts, numbers, rows.offsets, rows.lengths, urls, None, stride)
        else:
            numbers = array("q", [0])
            if not len(rows) or (rows.rank or 0) == len(counts):
                numbers = references.numbers_of(rows, shape, chunks, counts)
            elif len(rows) > 1 or rows.rank:
                text = f"its chunk positions have {rows.rank} indices, but its number of dimensions is {len(counts)}"
                raise FaultError(text)
            ranges = references.in_order(references.Ranges(counts, numbers, rows.offsets, rows.lengths, urls, targets))
        for mask in rows.masks.values():
            if mask >> len(self.filters):
                raise FaultError(f"the filter mask {mask} of a chunk names more filters than there are")
        return ranges, {index_of(numbers[row], counts): mask for row, mask in rows.masks.items()}

    def _source(self, layout: Layout, masks: dict[Index, int], *, big: bool, undefined: bool) -> ArraySource:
        """Return the array in the store. `undefined`: missing chunks have no value without a fill value."""
        (size, pad), dtype, fill, padded = self.element, self.dtype, self.fill, self.padded
        stored = big_descr(dtype) if big else dtype
        raw, raw_fill = stored, fill
        if self.is_text:
            raw, blank = f"|V{size}", b" " if pad == "space_pad" else b"\0"
            raw_fill = None if fill is None else fill[:size].ljust(size, blank)
        elif padded is not None:
            raw = f"|V{size}"
            raw_fill = None if fill is None else pad_fill(fill, dtype, stored, padded)
        stored_array = KeyChunkArray(
            layout._replace(dtype=raw if self.is_text or padded else dtype, fill=raw_fill),
            self.reader.store,
            ChunkKeys(self.prefix),
            Encoding(raw, tuple(to_configs(layout.codecs, size))),
            undefined=undefined and fill is None,
            masks=masks,
        )
        whole_layout = layout._replace(dtype=dtype, fill=fill)
        if self.is_text:
            return RawElements(stored_array, whole_layout, pad)
        return stored_array if padded is None else RawElements(stored_array, whole_layout, (stored, padded[1]))

    @property
    def fill(self) -> bytes | None:
        """Value of unwritten cells, None if unknown."""
        variable, attributes = self.variable, self.block.attributes
        exact, text = attributes.get("nczarr:fill"), attributes.get("fillValue")
        known = text is not None and not text.startswith("unsupported-")  # Hyrax's mark for values that it cannot write
        if self.is_text:
            return text.encode() if text is not None and known else None
        if exact is not None:
            data = elements.unbase64(exact, "nczarr:fill")
            if len(data) != itemsize(self.dtype):
                raise FaultError(f"its fill value has {len(data)} bytes, but an element has {itemsize(self.dtype)}")
            return data
        if text is None or not known:
            return None
        if variable.type == "char":
            return (text.encode("latin-1", "replace") or b"\0")[:1]
        if not isinstance(self.dtype, str):
            return record_fill(text, self.dtype)
        name = variable.type
        number = references.fill_number(
            text, name if name in ATOMIC else getattr(variable.types[name], "base", "int"), variable.declared
        )
        if number is None:
            raise FaultError(f"`{text[:40]}` is not a fill value of its type")
        return number


def read(source: Source, report: Report, options: Options) -> Unchecked | None:
    """Return the dataset of a document, None after an error.

    Reports bad-dmrpp, foreign-target, forbidden-target; unreadable-array and
    foreign-member for omissions.
    """
    policy = Policy(home_of(source), options.reading.following)
    if options.reading.following.target is not None and not _is_hdf5(None, policy, source, report):
        return None
    root = parse(source, report, "bad-dmrpp", PREFIXES)
    if root is None:
        return None
    if root.tag != "Dataset":
        text = f"`{source.name}`: the root element is `{root.tag}`, not a `Dataset` of DAP4"
        report.error("bad-dmrpp", text, Span(source, root.offset, root.offset))
        return None
    url = None if options.reading.following.target is not None else _target(root, source)
    if url is not None and not _is_hdf5(url, policy, source, report):
        return None
    references = DmrppReferences()
    store = ReferenceStore(references, policy, source.name, options.run.storage.of("source"))
    with building():
        old = not root.attributes.get("dmrpp:version")
        reader = _DmrppReader(ArrayReader(store, references, url, old=old), source, report, options.run)
        unchecked = reader.read(root)
    before = report.errors
    store.check(report, options.run.accepts)
    return unchecked if report.errors == before else None


def _target(root: XmlElement, source: Source) -> str:
    """Return the URL of the target; empty if the document has none."""
    url = root.attributes.get("dmrpp:href", "")
    if url != PLACEHOLDER:
        return url
    fetched = origin(source.path)
    name = (fetched[0].partition("?")[0] if fetched else source.name).rpartition("/")[2]
    return name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else ""


def _is_hdf5(url: str | None, policy: Policy, source: Source, report: Report) -> bool:
    """Report foreign-target for an existing local file other than HDF5; return False then."""
    try:
        path = policy.follow(url).path
        kind = None if path is None else foreign_kind(path)
    except (ForbiddenTargetError, OSError):
        return True  # reported where a variable refers to it
    if path is None or kind is None:
        return True
    text = f"`{source.name}` describes `{local_paths.name_of(path)}`, which is {kind}"
    report.error("foreign-target", text, helps=["documents of HDF5 and netCDF-4 files can be read"])
    return False


class _DmrppReader(DocumentReader):
    def __init__(self, arrays: ArrayReader, source: Source, report: Report, run: RunOptions) -> None:
        super().__init__(source, report, run)
        self.arrays = arrays

    def values(self, described: DescribedVariable) -> tuple[Parts, Storage]:
        element, path = described.element, described.path
        parts, storage, unknown_fill = self.arrays.read(described)
        if unknown_fill:
            text = (
                f"chunks of `{path}` are missing, and the document has no fill value for them; they are read as zeros"
            )
            self.report.add(Diagnostic("undefined-fill", Severity.NOTE, text, Label(self.span(element))))
        return parts, _read_storage(described, storage)


def _read_storage(described: DescribedVariable, plain: Storage) -> Storage:
    """Return the storage of a variable, with our notes; HDF5 chunks may be longer than dimensions."""
    if plain.chunks is not None:
        plain = plain.model_copy(update={"chunks": described.chunk_storage(plain.chunks).chunks})
    noted = described.element.attributes.get("nczarr:storage")
    try:
        storage = plain if noted is None else Storage.model_validate_json(noted)
    except ValueError:
        return plain
    if storage.chunks is None:
        return storage
    fits = (
        len(storage.chunks) == len(described.shape) and described.chunk_storage(storage.chunks).chunks == storage.chunks
    )
    return storage if fits else plain
