"""Values of a variable as texts in C order: array sources → lists of strings.

Invariant: each part is read once, sequentially, in bounded slabs; a vlen reads
its counts, then that much content.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Protocol

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.bands import slabs
from nczarr.arrays.sources.source import ArraySource, Parts, itemsize, little
from nczarr.arrays.values.parts import ListTree, PartLeaf, PartTree, RecordTree, Types
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.formats.cdl.spelling import quoted
from nczarr.formats.cdl.write.value_texts import char_texts, grouped, value_texts

SLAB = 1 << 22
"""Bytes read at once; for strings, an eighth of it is the number of values."""


class ValueStream(Protocol):
    """Sequential source of values."""

    def take(self, count: int) -> list[str]:
        """Return the texts of the next `count` values."""


class Stream:
    """Sequential reader of an array in C order."""

    def __init__(self, source: ArraySource) -> None:
        self._slabs = slabs(source, SLAB // max(8, itemsize(source.layout.dtype)))
        self._rest: NDArray[Any] | None = None

    def take(self, count: int) -> NDArray[Any]:
        """Return the next `count` elements: shape (count,), the layout's dtype in little-endian order.

        Raises CompileError if the array is too short.
        """
        pieces = []
        while count > 0:
            if self._rest is None or not len(self._rest):
                self._rest = next(self._slabs, None)
                if self._rest is None:
                    text = f"the content of a list is {count} elements shorter than its counts"
                    raise CompileError([Diagnostic("unreadable-chunk", Severity.ERROR, text)])
                self._rest = little(self._rest)
            piece, self._rest = self._rest[:count], self._rest[count:]
            pieces.append(piece)
            count -= len(piece)
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.empty(0, object)


class PlainColumn:
    """Column of a fixed-size type or of strings: one array."""

    def __init__(self, source: ArraySource, type_name: str, types: Types, fill: bytes | None) -> None:
        self._stream = Stream(source)
        self.type_name = type_name
        self._types = types
        self._fill = fill

    def take(self, count: int) -> list[str]:
        """Return the texts of the next values."""
        return value_texts(self._stream.take(count), self.type_name, self._types, self._fill) if count else []

    def take_chars(self, count: int) -> bytes:
        """Return the next char values as bytes."""
        return self._stream.take(count).tobytes() if count else b""


class VlenColumn:
    """Column of a vlen: counts and content."""

    def __init__(self, parts: Parts, tree: ListTree, types: Types) -> None:
        self._counts = Stream(parts[tree.counts.path])
        self._content = column(parts, tree.content, types)

    def take(self, count: int) -> list[str]:
        """Return the texts of the next values, each in braces."""
        lengths = self._counts.take(count).tolist() if count else []
        cuts = list(itertools.pairwise(itertools.accumulate(lengths, initial=0)))
        if isinstance(self._content, PlainColumn) and self._content.type_name == "char":
            data = self._content.take_chars(sum(lengths))
            return [f"{{{quoted(data[start:stop]) if start < stop else ''}}}" for start, stop in cuts]
        items = self._content.take(sum(lengths))
        return [f"{{{', '.join(items[start:stop])}}}" for start, stop in cuts]


class RecordColumn:
    """Column of a compound with variable-size members: one column per field."""

    def __init__(self, parts: Parts, tree: RecordTree, types: Types) -> None:
        self._fields = [(field, column(parts, inner, types)) for field, inner in tree.members]

    def take(self, count: int) -> list[str]:
        """Return the texts of the next values, each in braces."""
        columns = []
        for field, values in self._fields:
            size = count * math.prod(field.shape)
            if isinstance(values, PlainColumn) and values.type_name == "char":
                columns.append(char_texts(values.take_chars(size), field.shape, count))
            else:
                columns.append(grouped(values.take(size), field.shape, count))
        return [f"{{{', '.join(row)}}}" for row in zip(*columns, strict=True)]


def column(parts: Parts, tree: PartTree, types: Types, fill: bytes | None = None) -> ValueStream:
    """Return the column of a type with this part tree. Raises KeyError if a part is missing."""
    match tree:
        case ListTree():
            return VlenColumn(parts, tree, types)
        case RecordTree():
            return RecordColumn(parts, tree, types)
        case PartLeaf():
            return PlainColumn(parts[tree.path], tree.type, types, fill)
