"""`write`: a dataset as a sequential archive of arrays, suitable for pipes.

Each variable is one array for awkward0 and Awkward 2: plain numbers, jagged
arrays for lists, texts masked if some are NIL, records as structured elements
or, on request, tables. Cells of lists and texts are flattened in C order;
`metadata` stores the shape. A separate member with the model, ignored by
Awkward readers, makes the archive lossless.
"""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.arrays.sources import bands as streaming
from nczarr.arrays.sources.bands import BlobWrite
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import ArraySource, Descr, Parts, itemsize
from nczarr.arrays.values.parts import Types, descr, escape, is_fixed
from nczarr.ast import CompoundType
from nczarr.ast.json import dump
from nczarr.ast.node import TypeName
from nczarr.diagnostics.report import Report
from nczarr.formats.common.awkward import expressions
from nczarr.formats.common.awkward.expressions import Expression, ExpressionBuilder, describe_rows
from nczarr.options import Options
from nczarr.plan.plans import StreamPlan
from nczarr.plugins.awkward0.write.compression import SMALLEST
from nczarr.plugins.common.part_arrays import own_fills
from nczarr.stores.zip import new_entry

MODEL = "nczarr.ast"
"""Member with the model: the AST as JSON. Readers of `.awkd` consider only members that end in `.json`."""

DELIMITER, SUFFIX, SCHEMA_SUFFIX = "-", ".raw", ".json"
"""As awkward0's own archives have them."""

LARGEST_PACKED = 256 << 20
"""Maximum bytes of a compressed blob: readers limit inflation, but map uncompressed blobs."""

LARGEST_ROW = 1 << 30
"""Maximum bytes of a row as one element; NumPy's limit is 2 GB."""

LARGE = 1 << 30
"""Bytes from which a member gets a ZIP64 header."""


def array_name(path: str) -> str:
    """Return the array name of a variable's FQN: `g1/temp`; invalid member names are escaped (`%2E.`)."""
    return "/".join(map(escape, names.split(path)))


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the pieces of the archive."""
    from zipfile import ZIP_STORED, ZipFile

    sink = _Sink()
    with ZipFile(sink, "w", ZIP_STORED) as archive:
        for name, size, pieces in _list_members(plan, tables=options.target.tables):
            with archive.open(new_entry(name), "w", force_zip64=size >= LARGE) as member:
                for piece in pieces:
                    member.write(piece)
                    yield sink.take()
            yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    """Non-seekable output of the archive."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        data = b"".join(self._written)
        self._written.clear()
        return data


def _list_members(plan: StreamPlan, *, tables: bool) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    """Yield name, uncompressed size and bytes of each member; blobs precede their document."""
    checked = plan.checked
    for path, variable in checked.variables.items():
        shape, name = checked.shapes[path], array_name(path)
        sources = checked.parts.get(path, {})
        made_up = all_fill(checked.fills[path], variable.type, shape, checked.types)
        arrays = _Arrays({**made_up, **sources}, checked.types, tables=tables)
        schema = arrays.schema(variable.type, shape)
        for blob in arrays.blobs:
            yield f"{name}{DELIMITER}{blob.number}{SUFFIX}", blob.size, blob.write_pieces()
        metadata: dict[str, Any] = {"shape": list(shape)}
        fills = own_fills(sources, made_up)
        if fills:
            metadata["fill"] = {part: base64.b64encode(fill).decode("ascii") for part, fill in fills.items()}
        document = expressions.encode(
            expressions.document(schema, prefix=name + DELIMITER, doc="a variable of nczarr", metadata=metadata)
        )
        yield name + SCHEMA_SUFFIX, len(document), iter((document,))
    model = json.dumps(dump(checked.dataset), ensure_ascii=True, allow_nan=False).encode("ascii")
    yield MODEL, len(model), iter((model,))


class _Arrays(ExpressionBuilder):
    """Arrays of one variable, each with its own blobs in numeric order."""

    suffix = SUFFIX

    def __init__(self, sources: Parts, types: Types, *, tables: bool) -> None:
        super().__init__(types)
        self._sources = sources
        self._tables = tables

    def schema(self, type_name: TypeName, shape: tuple[int, ...]) -> Expression:
        """Return the expression of a variable; only fixed-size elements retain their dimensions."""
        types = self._types
        rows = shape[1:] if is_fixed(type_name, types) and 0 not in shape else ()
        if isinstance(types.get(type_name), CompoundType):
            rows = ()  # awkward0 has no tables for records in rows
        if rows and math.prod(rows) * itemsize(descr(type_name, types)) > LARGEST_ROW:
            rows = ()
        return self.column(type_name, math.prod(shape[: 1 if rows else None]), rows)

    def _length(self, part: str) -> int:
        return self._sources[part].layout.shape[0]

    def _packs(self, element: Descr, size: int) -> bool:
        return SMALLEST <= size <= LARGEST_PACKED and isinstance(element, str) and element[1] in "iu"

    def _flat(self, part: str, type_name: str, count: int, rows: tuple[int, ...]) -> Expression:
        """Encode one part of a variable: strings, records as a table, or an array; `rows`: shape of an item."""
        source = self._sources[part]
        if type_name == "string":
            return self._texts(source, rows)
        if self._tables and not rows and isinstance(self._types.get(type_name), CompoundType):
            return self._records(source, type_name, count)
        return self._elements(source, type_name, count, rows)

    def _texts(self, source: ArraySource, rows: tuple[int, ...]) -> Expression:
        """Return texts as bytes and lengths, masked if some are NIL."""
        texts = streaming.texts(source)
        if texts.nil is not None:
            masked = self._numbers.next()
            mask = self._express(texts.nil.view("u1"), "|b1", rows)
        number = self._numbers.next()
        counts = self._express(texts.counts, "<i8", rows)
        content = self._numbers.next()
        size = int(texts.counts.sum())
        blob = BlobWrite(content, lambda: _join_texts(source), size, packed=False)
        bytes_ = self._add(blob, "|u1", size)
        encoding = expressions.constant("utf-8" if texts.utf8 else None)
        expression = expressions.call("StringArray.fromcounts", counts, bytes_, encoding, number=number)
        if texts.nil is None:
            return expression
        return expressions.call("MaskedArray", mask, expression, True, number=masked)

    def _express(self, values: Any, element: str, rows: tuple[int, ...]) -> Expression:
        """Return the expression of values in memory."""
        number, packed = self._numbers.next(), SMALLEST <= values.nbytes <= LARGEST_PACKED
        blob = BlobWrite(number, lambda: iter((values.tobytes(),)), values.nbytes, packed)
        count = len(values) // math.prod(rows) if math.prod(rows) else 0
        return self._add(blob, describe_rows(element, rows), count)


def _join_texts(source: ArraySource) -> Iterator[bytes]:
    """Yield the concatenated bytes of all texts."""
    for values in streaming.slabs(source, streaming.TEXTS):
        yield b"".join(text for text in values.tolist() if text)
