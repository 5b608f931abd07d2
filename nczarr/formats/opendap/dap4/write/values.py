"""Data response: the document, then values in little-endian order, cut into chunks.

A checksum follows each variable. Fixed-size values are sent as they are in
memory; arrays are never held whole.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.codecs.crc32c import crc32
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, all_of, linear_pieces
from nczarr.arrays.sources.bands import slabs
from nczarr.arrays.sources.source import Descr, Parts, itemsize, little, numpy_dtype
from nczarr.arrays.values.parts import (
    ListTree,
    PartLeaf,
    PartTree,
    Types,
    descr,
    inner_types,
    is_fixed,
    part_tree,
    size,
)
from nczarr.ast import CompoundType, OpaqueType
from nczarr.check.checked import Checked
from nczarr.formats.opendap.common.dmr_writer import Projection, SelectedVariable
from nczarr.formats.opendap.common.document_text import escaped
from nczarr.formats.opendap.dap4.chunks import ERROR, HEADER, LAST, LITTLE, UNCHECKED
from nczarr.formats.opendap.dap4.write.document import dmr
from nczarr.select.reader import selected_parts

PIECE = 4 << 20
"""Approximate bytes of values read at once."""

CELLS = 1 << 12
"""Cells of variable size read at once."""

CHUNK = (1 << 20) - HEADER
"""Bytes of values in a chunk; the last has fewer."""

LONGEST = (1 << 24) - 1
"""Maximum bytes of a chunk."""

TEXT_SIZE = 64
"""Estimated bytes of a value of unknown size."""


def response(checked: Checked, projection: Projection, name: str, *, checksums: bool = True) -> Iterator[bytes]:
    """Yield the data response of a projection: whole chunks. Raises OSError."""
    flags = LITTLE | (0 if checksums else UNCHECKED)
    document = dmr(checked, projection, name).encode("utf-8", "replace") + b"\r\n"
    for start in range(0, len(document), LONGEST):
        yield _chunk(flags, document[start : start + LONGEST])
    pieces, size = list[bytes](), 0
    for piece in _values(checked, projection.variables, checksums):
        start = 0
        while len(piece) - start > CHUNK - size:
            stop = start + CHUNK - size
            yield _chunk(flags, *pieces, piece[start:stop])
            pieces, size, start = [], 0, stop
        pieces.append(bytes(piece[start:]))  # a view of a mapped file must not be read when the file has changed
        size += len(pieces[-1])
    yield _chunk(flags | LAST, *pieces)


def _chunk(flags: int, *parts: bytes | memoryview) -> bytes:
    """Return a chunk with the bytes of all parts."""
    return b"".join((struct.pack(">I", flags << 24 | sum(map(len, parts))), *parts))


def error_chunk(status: int, message: str) -> bytes:
    """Return the last chunk of a response that failed."""
    document = error_document(status, message).encode("utf-8", "replace")
    return _chunk(LITTLE | ERROR | LAST, document)


def error_document(status: int, message: str) -> str:
    """Return the document of an error: an HTTP status and a text."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<Error xmlns="http://xml.opendap.org/ns/DAP/4.0#" httpcode="{status}">\n'
        f"    <Message>{escaped(message)}</Message>\n</Error>\n"
    )


def _values(checked: Checked, variables: tuple[SelectedVariable, ...], checksums: bool) -> Iterator[bytes | memoryview]:
    for variable in variables:
        checksum = 0
        for piece in values(checked, variable):
            checksum = crc32(piece, checksum) if checksums else 0
            yield piece
        if checksums:
            yield struct.pack("<I", checksum)


def values(checked: Checked, selected: SelectedVariable) -> Iterator[bytes | memoryview]:
    """Yield the values of a variable. Raises OSError."""
    variable = checked.variables[selected.fqn]
    sources = selected_parts(checked, selected.fqn, selected.ranges)
    lengths = tuple(map(len, selected.ranges))
    if is_fixed(variable.type, checked.types):
        prefix = _prefixed(variable.type, checked.types)
        for part in slabs(sources[""], max(1, PIECE // max(1, itemsize(sources[""].layout.dtype)))):
            packed = np.ascontiguousarray(little(part) if prefix is None else _with_sizes(part, prefix))
            yield memoryview(packed.view(np.uint8).data)
        return
    cells = _Cells(sources, checked.types)
    tree = part_tree(variable.type, checked.types)
    for region in linear_pieces(all_of(lengths), CELLS):
        yield b"".join(cells.rows(tree, region, ()))


def _prefixed(type_name: str, types: Types) -> Descr | None:
    """Return the wire dtype of a fixed-size type that contains opaque values, with `size` fields; else None."""
    if not any(isinstance(types.get(inner), OpaqueType) for inner in inner_types(type_name, types)):
        return None
    return _wire(type_name, types)


def _wire(type_name: str, types: Types) -> Descr:
    declared = types.get(type_name)
    if isinstance(declared, OpaqueType):
        return (("size", "<u8", ()), ("value", f"|V{declared.size}", ()))
    if isinstance(declared, CompoundType):
        return tuple((field.name, _wire(field.type, types), field.shape) for field in declared.fields)
    return descr(type_name, types)


def _with_sizes(part: NDArray[Any], prefix: Descr) -> NDArray[Any]:
    """Return fixed-size values with the length of each opaque one before it."""
    sized = np.zeros(part.shape, numpy_dtype(prefix))
    _fill(sized, part)
    return sized


def _fill(sized: NDArray[Any], part: NDArray[Any]) -> None:
    if part.dtype.names is not None:
        for name in part.dtype.names:
            _fill(sized[name], part[name])
    elif sized.dtype.names is not None:
        sized["size"] = part.dtype.itemsize
        sized["value"] = part
    else:
        sized[...] = part


class _Cells:
    """Cells of variable size in C order; the content of lists is read on from where the last cell ended."""

    def __init__(self, sources: Parts, types: Types) -> None:
        self.sources = sources
        self.types = types
        self._at: dict[str, int] = {}

    def rows(self, tree: PartTree, region: Selection | int, inner: tuple[int, ...]) -> list[bytes]:
        """Return the bytes of each cell. `region`: cells, or a number of elements of lists; `inner`: field shape."""
        match tree:
            case PartLeaf():
                return self._leaf(tree, self._read(tree.path, region, inner))
            case ListTree():
                counts = self._read(tree.counts.path, region, inner).reshape(-1).tolist()
                items = self.rows(tree.content, sum(counts), ())
                lists, at = [], 0
                for count in counts:
                    lists.append(struct.pack("<Q", count) + b"".join(items[at : at + count]))
                    at += count
                return lists
        columns = []
        for field, member in tree.members:
            items = self.rows(member, region, (*inner, *field.shape))
            count = math.prod(field.shape)
            columns.append(
                items if not field.shape else [b"".join(items[at : at + count]) for at in range(0, len(items), count)]
            )
        return [b"".join(parts) for parts in zip(*columns, strict=True)]

    def _read(self, path: str, region: Selection | int, inner: tuple[int, ...]) -> NDArray[Any]:
        rest = all_of(inner)
        if isinstance(region, int):
            start = self._at.get(path, 0)
            self._at[path] = start + region
            region = (slice(start, start + region),)
        return self.sources[path].read((*region, *rest))

    def _leaf(self, leaf: PartLeaf, values: NDArray[Any]) -> list[bytes]:
        if leaf.type == "string":
            texts = (text or b"" for text in values.reshape(-1).tolist())
            return [struct.pack("<Q", len(text)) + text for text in texts]
        prefix = _prefixed(leaf.type, self.types)
        flat = np.ascontiguousarray(little(values) if prefix is None else _with_sizes(values, prefix)).reshape(-1)
        data, width = flat.tobytes(), flat.dtype.itemsize
        return [data[at : at + width] for at in range(0, len(data), width)]


def size_of(checked: Checked, projection: Projection) -> int:
    """Return the bytes of the values of a projection, estimated for types of variable size."""
    total = 0
    for variable in projection.variables:
        type_name = checked.variables[variable.fqn].type
        width = size(type_name, checked.types) if is_fixed(type_name, checked.types) else TEXT_SIZE
        total += math.prod(map(len, variable.ranges)) * width
    return total
