"""Elements of a netCDF-4 variable as they are stored, taken apart into the parts of its type."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import numpy_dtype
from nczarr.arrays.values.parts import ListTree, PartLeaf, Types, descr, part_tree, spread
from nczarr.ast.types import Field
from nczarr.formats.netcdf4.header.datatypes import STRING, Datatype, text_of
from nczarr.formats.netcdf4.header.heaps import GlobalHeap


def unpack_elements(
    elements: NDArray[Any], kind: Datatype, type_name: str, types: Types, heap: GlobalHeap | None
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield path and array of each of `parts(T)` for elements as they are stored, raw bytes in any shape.

    The arrays have the shapes and packed dtypes of their parts; elements that are arrays have further axes.
    `heap`: the parts of variable length, if the type has any. Raises UnreadableHeaderError.
    """

    def array(leaf: PartLeaf, cells: tuple[Datatype, NDArray[np.uint8]]) -> NDArray[Any]:
        """Return the values of one part: counts of lists, numbers, or texts from the heap."""
        kind, data = cells
        if leaf.counts:
            return np.ascontiguousarray(data[..., :4]).view("<u4")[..., 0].astype("<i8")
        if leaf.type != "string":
            return unpack_values(data, kind, numpy_dtype(descr(leaf.type, types)))
        values, texts = _split(data), np.empty(data.shape[:-1], object)
        if kind.is_text:
            assert heap is not None
            heap.load(values)
        pieces = [heap.text(one) if heap and kind.is_text else text_of(one, kind.form) for one in values]
        texts.reshape(-1)[:] = pieces
        return texts

    def items(tree: ListTree, cells: tuple[Datatype, NDArray[np.uint8]]) -> tuple[Datatype, NDArray[np.uint8]]:
        """Return the elements of all lists, from the heap, with their type."""
        base = cells[0].base
        assert base is not None
        assert heap is not None
        lists = [element for element in _split(cells[1]) if any(element[:4])]
        heap.load(lists)
        content = b"".join([heap.get(element, base.size) for element in lists])
        return base, np.frombuffer(content, np.uint8).reshape(-1, base.size)

    def member(
        number: int, field: Field, cells: tuple[Datatype, NDArray[np.uint8]]
    ) -> tuple[Datatype, NDArray[np.uint8]]:
        data, one = cells[1], cells[0].members[number]
        values = data[..., one.offset : one.offset + math.prod(one.shape) * one.type.size]
        return one.type, values.reshape((*data.shape[:-1], *one.shape, one.type.size))

    cell = kind.cell
    data = np.frombuffer(elements.tobytes(), np.uint8).reshape((*elements.shape, *kind.shape, cell.size))
    return spread(part_tree(type_name, types), (cell, data), array, items, member)


def unpack_values(data: NDArray[np.uint8], kind: Datatype, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values of fixed size in the model's dtype. `data`: uint8, the bytes of a value along the last axis.

    The result has the shape of the values; a text of several bytes is an array of chars.
    """
    if kind.numpy is not None and (kind.family != STRING or kind.size == 1):
        return np.ascontiguousarray(data).view(kind.numpy)[..., 0].astype(dtype)
    if kind.bits is not None:
        return kind.bits.decode(data, dtype)
    if kind.family == STRING:
        texts = [text_of(text, kind.form).ljust(kind.size, b"\0") for text in _split(data)]
        return np.frombuffer(b"".join(texts), "S1").reshape(data.shape)
    assert dtype.names is not None
    records = np.empty(data.shape[:-1], dtype)
    for name, one in zip(dtype.names, kind.members, strict=True):
        values = data[..., one.offset : one.offset + math.prod(one.shape) * one.type.size]
        values = values.reshape((*data.shape[:-1], *one.shape, one.type.size))
        records[name] = unpack_values(values, one.type, dtype[name].base)
    return records


def _split(data: NDArray[np.uint8]) -> list[bytes]:
    """Return the bytes of each element. `data`: uint8, the bytes of an element along the last axis."""
    joined, size = data.tobytes(), data.shape[-1]
    return [joined[at : at + size] for at in range(0, len(joined), size)]
