"""Encoding of values as data messages in pieces, the inverse of `decode`.

`Data` messages are big-endian and flagged so, columns little-endian. Invariant:
memory holds only the input and deflated blocks. Raises UnwritableError for
unrepresentable values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire import protobuf
from nczarr.plugins.ncstream.wire.element_types import RAGGED, Section, dtype_of, write_section
from nczarr.plugins.ncstream.wire.framing import COLUMN, DATA, frame
from nczarr.plugins.ncstream.wire.trees import (
    FixedNumbers,
    Opaque,
    RaggedLists,
    RawStrings,
    Records,
    Tree,
    UnknownRows,
    element_type,
    nil_runs,
)
from nczarr.plugins.ncstream.write import pack_rows
from nczarr.plugins.ncstream.write.pack_rows import (
    VERSION,
    Piece,
    Raw,
    UnwritableError,
    check_block,
    check_places,
    deflate_pieces,
    head,
    raw,
    size_of,
    write_pieces,
)


def data_message(
    name: bytes, tree: Tree, section: Section | None, *, deflate: int | None = None, ragged: int | None = None
) -> Iterator[Piece]:
    """Return a `Data` message. `section` is None for a sequence, whose records need none.

    `deflate`: level, for numbers. `ragged`: position of the lists' ragged
    dimension; None: last.
    """
    match tree:
        case FixedNumbers():
            return numbers_message(name, tree.data_type, section, [tree.values], len(tree), deflate=deflate)
        case RawStrings() | Opaque():
            return _items_message(name, tree, section)
        case RaggedLists():
            return _lists_message(name, tree, section, ragged)
        case Records() | UnknownRows():
            return pack_rows.sequence(name, tree) if section is None else pack_rows.structure(name, tree, section)


def numbers_message(
    name: bytes,
    data_type: int,
    section: Section | None,
    arrays: Iterable[NDArray[Any]],
    count: int,
    *,
    deflate: int | None = None,
) -> Iterator[Piece]:
    """Yield a message of numbers from consecutive `arrays` with `count` elements in total.

    `arrays`: any shapes, dtypes of the width of the type. Raises
    UnwritableError.
    """
    dtype = dtype_of(data_type, big=True)
    size = count * dtype.itemsize
    check_block(size, "a variable")
    if section is not None:
        check_places(count, section)
    message = head(name, data_type, section)
    pieces: Iterable[Piece] = itertools.chain.from_iterable(raw(values, dtype) for values in arrays)
    if deflate is not None:
        message.compress = pb.Data.DEFLATE
        message.uncompressedSize = size
        block = deflate_pieces(pieces, deflate)
        size = size_of(block)
        check_block(size, "a deflated variable")
        pieces = block
    yield frame(DATA, message) + protobuf.encode(size)
    yield from pieces


def _items_message(name: bytes, tree: RawStrings | Opaque, section: Section | None) -> Iterator[Piece]:
    """Yield a message of strings or opaque values."""
    message = head(name, element_type(tree), section)
    if isinstance(tree, RawStrings):
        message.nil.extend(nil_runs(tree.items))
    if section is not None:
        check_places(len(tree), section)
    yield frame(DATA, message) + protobuf.encode(len(tree))
    yield add_prefixes(tree.items)


_SHORT = [bytes([length]) for length in range(128)]


def add_prefixes(items: Sequence[bytes | memoryview | None], tag: bytes = b"") -> bytes:
    """Return the items, each after the tag and its length."""
    short = [tag + prefix for prefix in _SHORT] if tag else _SHORT
    parts: list[Piece] = []
    for item in items:
        data = item or b""
        length = len(data)
        parts += (short[length] if length < 128 else tag + protobuf.encode(length), data)
    return b"".join(parts)


def _lists_message(name: bytes, tree: RaggedLists, section: Section | None, ragged_axis: int | None) -> Iterator[Piece]:
    """Yield a `Data` message of ragged lists, each with its length before it; `ragged_axis`: that of the lists."""
    content = tree.content
    if not isinstance(content, FixedNumbers):
        raise UnwritableError("lists in a message without columns must contain numbers")
    message = head(name, content.data_type, section)
    message.vdata = True
    if section is not None:
        leading_rank = len(section) if ragged_axis is None else ragged_axis
        del message.section.range[:]
        write_section(section[:leading_rank], message.section)
        message.section.range.add(size=RAGGED)  # as TDS 4 sends it
        write_section(section[leading_rank:], message.section)
    yield frame(DATA, message) + protobuf.encode(len(tree))
    dtype = dtype_of(content.data_type, big=True)
    data = b"".join(raw(content.values, dtype))
    lengths = tree.counts * (dtype.itemsize * math.prod(tree.inner))
    view = memoryview(data)
    yield add_prefixes([view[start:stop] for start, stop in itertools.pairwise([0, *lengths.cumsum().tolist()])])


# ---- columns ---------------------------------------------------------------------------------------------------------


def column_message(name: bytes, tree: Tree, section: Section | None) -> Iterator[Piece]:
    """Yield a column message, for values of any type."""
    pieces = _column(name, tree, section, top=True)
    size = size_of(pieces)
    check_block(size, "a message of columns")
    yield COLUMN + protobuf.encode(size)
    yield from write_pieces(pieces)


def _column(name: bytes, tree: Tree, section: Section | None, *, top: bool = False) -> list[Piece | Raw]:
    """Return the fields of a column in field number order."""
    message = pb.DataCol()
    if name:
        message.name = name
    if element_type(tree):
        message.dataType = pb.DataType.Name(element_type(tree))  # type: ignore[assignment]
    if section is not None:
        write_section(section, message.section)
    if top:  # as TDS 5: members have neither version nor byte order
        message.version = VERSION
    counts: NDArray[np.int64] | None = None
    content_section: Section = section if section is not None else (range(len(tree)),)
    content = tree
    if isinstance(tree, RaggedLists):
        message.isVlen = True
        counts = tree.counts * math.prod(tree.inner)
        content = tree.content
        content_section = (range(len(content)),)
    element_shape = tree.inner if isinstance(tree, RaggedLists) else ()
    if section is not None:
        check_places(len(tree), section, places_each=math.prod(element_shape))
    if len(content) >= 1 << 32:  # `nelems` has 32 bits
        raise UnwritableError(f"{len(content)} elements exceed the limit of a column")
    if len(content):
        message.nelems = len(content)
    return [message.SerializeToString(deterministic=True), *_values(content, counts, content_section)]


def _values(content: Tree, counts: NDArray[np.int64] | None, section: Section) -> Iterator[Piece | Raw]:
    """Yield the value fields; `section` is that of the elements.

    `counts`: elements of each list, int64, shape (lists,). Raises
    UnwritableError.
    """
    numbered = pb.DataCol  # fields are written in the order of their numbers
    strings = opaque = b""
    members: list[Piece | Raw] = []
    match content:
        case FixedNumbers():
            numbers = Raw(content.values, dtype_of(content.data_type, big=False))
            if numbers.size:
                yield protobuf.write_tag(numbered.PRIMDATA_FIELD_NUMBER, numbers.size)
                yield numbers
        case RawStrings():
            strings = add_prefixes(
                content.items, protobuf.encode(numbered.STRINGDATA_FIELD_NUMBER << 3 | protobuf.BYTES)
            )
        case Opaque():
            opaque = add_prefixes(
                content.items, protobuf.encode(numbered.OPAQUEDATA_FIELD_NUMBER << 3 | protobuf.BYTES)
            )
        case RaggedLists():
            members = _column(b"", content, (range(len(content)),))
            members = [protobuf.write_tag(1, size_of(members)), *members]
        case Records():
            members = list(_encode_members(content, section))
        case UnknownRows():
            raise UnwritableError("undefined rows cannot be written as columns")
    if strings:
        yield strings
    if counts is not None and len(counts):
        if int(counts.max()) >= 1 << 32:
            raise UnwritableError("a list exceeds the limit of a column")
        lengths = protobuf.pack(counts)
        yield protobuf.write_tag(numbered.VLENS_FIELD_NUMBER, len(lengths)) + lengths
    if opaque:
        yield opaque
    if members:
        yield protobuf.write_tag(numbered.STRUCTDATA_FIELD_NUMBER, size_of(members))
        yield from members
    if isinstance(content, RawStrings) and (nil := nil_runs(content.items)):
        yield pb.DataCol(nil=nil).SerializeToString()


def _encode_members(records: Records, section: Section) -> Iterator[Piece | Raw]:
    for name, shape, member in zip(records.names, records.shapes, records.members, strict=True):
        whole = (*section, *map(range, shape))
        one = _column(name.encode("utf-8", "surrogateescape"), member, whole)
        yield protobuf.write_tag(1, size_of(one))
        yield from one
