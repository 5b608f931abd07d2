"""Values in XDR: the body of a DAP2 response, in pieces.

Numbers are converted in cache-sized pieces; arrays are never held whole.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import all_of, lengths_of, linear_pieces
from nczarr.arrays.sources.bands import slabs
from nczarr.arrays.sources.source import ArraySource, Parts, itemsize, little
from nczarr.arrays.values.parts import escape, is_fixed
from nczarr.ast import ATOMIC, CompoundType
from nczarr.ast.types import Field
from nczarr.check.checked import Checked
from nczarr.formats.opendap.common.type_words import EXACT, WIDE, xdr_padding
from nczarr.formats.opendap.dap2.write.declarations import (
    ElementNode,
    GridNode,
    Mapping,
    Node,
    StructureNode,
    count,
    dds,
)
from nczarr.select.reader import selected_parts

PIECE = 4 << 20
"""Approximate bytes of numbers read at once."""

CONVERTED = 1 << 18
"""Bytes converted at once."""

TEXTS = 1 << 14
"""Texts or records converted at once."""

Column: TypeAlias = "NDArray[Any] | list[bytes]"
"""XDR of one member of records: uint8 (records, bytes), or bytes for each record."""


class InexactError(ValueError):
    """A value that no type of DAP2 represents."""


def response(mapped: Mapping, nodes: tuple[Node, ...]) -> Iterator[bytes]:
    """Yield the data response: declarations, `Data:`, values. Raises OSError, InexactError."""
    yield dds(mapped, nodes).encode() + b"\nData:\n"
    for node in nodes:
        yield from values(mapped.checked, node)


def values(checked: Checked, node: Node) -> Iterator[bytes]:
    """Yield the values of a node. Raises OSError, InexactError."""
    match node:
        case ElementNode():
            yield from _array(node, sources_of(checked, node))
        case GridNode():
            for leaf in (node.array, *node.maps):
                yield from values(checked, leaf)
        case StructureNode(fqn=None):
            for part in node.members:
                yield from values(checked, part)
        case StructureNode():
            yield from _records(checked, node)


def sources_of(checked: Checked, node: ElementNode | StructureNode) -> Parts:
    """Return arrays with exactly the requested cells of a variable."""
    fqn = node.fqn
    assert fqn is not None
    shape = checked.shapes[fqn]
    ranges = tuple(axis.indices for axis in node.axes)[: len(shape)]
    ranges += tuple(range(length) for length in shape[len(ranges) :])
    return selected_parts(checked, fqn, ranges)


def _array(leaf: ElementNode, sources: Parts) -> Iterator[bytes]:
    """Yield an array or scalar."""
    source = sources[""]
    number = count(leaf.axes)
    if not leaf.element.array:
        if leaf.axes:
            yield _word(number)
        for texts in text_slabs(leaf, source):
            yield b"".join(map(packed, texts))
        return
    if not leaf.axes:
        yield _numbers(next(slabs(source, 1)), leaf, leaf.element.scalar).tobytes()
        return
    yield _word(number) * 2
    opaque = leaf.type not in ATOMIC
    for part in slabs(source, max(1, PIECE // max(1, itemsize(source.layout.dtype)))):
        if opaque:
            yield opaque_bytes(part, leaf).tobytes()
            continue
        step = CONVERTED // part.dtype.itemsize
        for start in range(0, len(part), step):
            yield _numbers(part[start : start + step], leaf, leaf.element.array).tobytes()
    if leaf.element.array == "|u1":
        yield bytes(xdr_padding(number))


def opaque_bytes(part: NDArray[Any], leaf: ElementNode) -> NDArray[Any]:
    """Return the requested bytes of opaque values (cells,) as uint8 (cells, bytes)."""
    indices = leaf.axes[-1].indices
    cells = np.ascontiguousarray(part).view(np.uint8).reshape(len(part), -1)
    return np.ascontiguousarray(cells[:, indices.start : indices.stop : indices.step])


def _numbers(part: NDArray[Any], leaf: ElementNode, dtype: str) -> NDArray[Any]:
    """Return numbers in their XDR dtype. Raises InexactError."""
    if leaf.type in WIDE and part.size:
        low, high = int(part.min()), int(part.max())
        if low < -EXACT or high > EXACT:
            value = high if high > EXACT else low
            raise InexactError(f"`{leaf.fqn}` has the {leaf.type} value {value}, which no type of DAP2 holds; use DAP4")
    return np.ascontiguousarray(part).astype(dtype)


def text_slabs(leaf: ElementNode, source: ArraySource) -> Iterator[list[bytes]]:
    """Yield the texts of an array, without trailing NULs of chars."""
    if leaf.hidden is None:
        for part in slabs(source, TEXTS):
            yield [text or b"" for text in part.tolist()]
        return
    length = leaf.hidden
    for part in slabs(source, max(1, TEXTS * 16 // max(1, length)) * max(1, length)):
        yield _char_texts(part, length)


def _char_texts(part: NDArray[Any], length: int) -> list[bytes]:
    """Return the texts of chars |S1."""
    texts: list[bytes] = np.ascontiguousarray(part).reshape(-1).view(f"|S{length}").tolist()
    return texts


def packed(text: bytes) -> bytes:
    """Return a text in XDR."""
    return b"%b%b%b" % (struct.pack(">I", len(text)), text, bytes(xdr_padding(len(text))))


def _word(number: int) -> bytes:
    if number >= 1 << 32:
        raise InexactError(f"an array of DAP2 has fewer than 2**32 elements, not {number}")
    return struct.pack(">I", number)


def _records(checked: Checked, node: StructureNode) -> Iterator[bytes]:
    """Yield the structures of a variable, some thousand at once."""
    sources = sources_of(checked, node)
    shape = tuple(len(axis.indices) for axis in node.axes)
    if node.axes:
        yield _word(math.prod(shape))
    type_name = checked.variables[node.fqn or ""].type
    for region in linear_pieces(all_of(shape), TEXTS):
        cells = math.prod(lengths_of(region))
        columns = _read(sources, type_name, checked, region, cells)
        yield from _rows(_structures(node, columns, checked, type_name, cells))


def _read(sources: Parts, type_name: str, checked: Checked, region: tuple[slice, ...], cells: int) -> Any:
    """Return the values of some records: one structured array, or a tuple by member."""

    def member(path: str, type_name: str, lengths: tuple[int, ...]) -> Any:
        declared = checked.types.get(type_name)
        if isinstance(declared, CompoundType) and not is_fixed(type_name, checked.types):
            return tuple(
                member(
                    f"{path}/{escape(field.name)}" if path else escape(field.name), field.type, (*lengths, *field.shape)
                )
                for field in declared.fields
            )
        rest = all_of(lengths)
        return sources[path].read((*region, *rest)).reshape(cells, *lengths)

    return member("", type_name, ())


def _structures(node: StructureNode, records: Any, checked: Checked, type_name: str, cells: int) -> list[Column]:
    """Return the columns of the requested members. `records`: values of `cells` records."""
    declared = checked.types[type_name]
    assert isinstance(declared, CompoundType)
    numbers = {field.name: number for number, field in enumerate(declared.fields)}
    columns: list[Column] = []
    for inner, name in zip(node.members, node.fields, strict=True):
        field = declared.fields[numbers[name]]
        values_of_field = records[numbers[name]] if isinstance(records, tuple) else records[name]
        columns += _member(inner, field, values_of_field, checked, cells)
    return columns


def _member(
    node: ElementNode | StructureNode, field: Field, values_of_field: Any, checked: Checked, cells: int
) -> list[Column]:
    cuts = (slice(None), *(slice(axis.indices.start, axis.indices.stop, axis.indices.step) for axis in node.axes))
    number = count(node.axes)
    if isinstance(node, StructureNode):
        inner = _taken(values_of_field, cuts, cells * number)
        columns = _structures(node, inner, checked, field.type, cells * number)
        if not node.axes:
            return columns
        rows = _joined(columns, cells * number)
        head = _word(number)
        return [[head + b"".join(rows[at : at + number]) for at in range(0, cells * number, number)]]
    if node.element.array:
        if node.type not in ATOMIC:
            chosen = values_of_field[cuts[: values_of_field.ndim]]
            part = opaque_bytes(chosen.reshape(-1), node).reshape(cells, -1)
        else:
            part = _numbers(
                little(values_of_field[cuts]), node, node.element.array if node.axes else node.element.scalar
            )
        data = np.ascontiguousarray(part).reshape(cells, -1).view(np.uint8)
        if not node.axes:
            return [data]
        lengths = np.tile(np.frombuffer(_word(number) * 2, np.uint8), (cells, 1))
        filled = np.zeros((cells, xdr_padding(number) if node.element.array == "|u1" else 0), np.uint8)
        return [lengths, data, filled]
    chosen = values_of_field[cuts[: 1 + len(node.axes)]]
    texts = (
        _char_texts(chosen, node.hidden)
        if node.hidden is not None
        else [text or b"" for text in chosen.reshape(-1).tolist()]
    )
    if not node.axes:
        return [list(map(packed, texts))]
    head = _word(number)
    return [[head + b"".join(map(packed, texts[at : at + number])) for at in range(0, cells * number, number)]]


def _taken(records: Any, cuts: tuple[slice, ...], cells: int) -> Any:
    """Return the requested records inside records, as one dimension of them."""
    if isinstance(records, tuple):
        return tuple(_taken(member, cuts, cells) for member in records)
    chosen = records[cuts]
    return chosen.reshape(cells, *chosen.shape[len(cuts) :])


def _rows(columns: list[Column]) -> Iterator[bytes]:
    if all(not isinstance(column, list) for column in columns):
        yield np.concatenate(columns, axis=1).tobytes()
        return
    yield b"".join(_joined(columns, len(columns[0])))


def _joined(columns: Sequence[Column], cells: int) -> list[bytes]:
    """Return the bytes of each record."""
    lists = [column if isinstance(column, list) else list(map(bytes, column)) for column in columns]
    return [b"".join(parts) for parts in zip(*lists, strict=True)] if lists else [b""] * cells
