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
from nczarr.arrays.sources.memory import all_fill, own_fills
from nczarr.arrays.sources.source import ArraySource, Descr, Parts, itemsize
from nczarr.arrays.values.parts import Types, descr, escape, is_fixed
from nczarr.ast import CompoundType
from nczarr.ast.json import dump
from nczarr.ast.node import TypeName
from nczarr.diagnostics.report import Report
from nczarr.formats.awkward0.write.compression import SMALLEST
from nczarr.formats.common.awkward import expressions
from nczarr.formats.common.awkward.expressions import Expression, ExpressionBuilder, ExpressionIds, records
from nczarr.formats.common.awkward.sidecar import described, described_rows
from nczarr.options import Options
from nczarr.plan.plans import StreamPlan
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
        for name, size, pieces in _members(plan, tables=options.tables):
            with archive.open(new_entry(name), "w", force_zip64=size >= LARGE) as member:
                for piece in pieces:
                    member.write(piece)
                    yield sink.taken()
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """Non-seekable output of the archive."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        """Return the bytes written since the last call."""
        data = b"".join(self._written)
        self._written.clear()
        return data


def _members(plan: StreamPlan, *, tables: bool) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    """Yield name, uncompressed size and bytes of each member; blobs precede their document."""
    checked = plan.checked
    for path, variable in checked.variables.items():
        shape, name = checked.shapes[path], array_name(path)
        sources = checked.parts.get(path, {})
        made_up = all_fill(checked.fills[path], variable.type, shape, checked.types)
        arrays = _Arrays({**made_up, **sources}, checked.types, tables=tables)
        schema = _schema(variable.type, shape, arrays, checked.types)
        for blob in arrays.blobs:
            yield f"{name}{DELIMITER}{blob.number}{SUFFIX}", blob.size, blob.written()
        metadata: dict[str, Any] = {"shape": list(shape)}
        fills = own_fills(sources, made_up)
        if fills:
            metadata["fill"] = {part: base64.b64encode(fill).decode("ascii") for part, fill in fills.items()}
        document = expressions.encoded(
            expressions.document(schema, prefix=name + DELIMITER, doc="a variable of nczarr", metadata=metadata)
        )
        yield name + SCHEMA_SUFFIX, len(document), iter((document,))
    model = json.dumps(dump(checked.dataset), ensure_ascii=True, allow_nan=False).encode("ascii")
    yield MODEL, len(model), iter((model,))


def _schema(type_name: TypeName, shape: tuple[int, ...], arrays: _Arrays, types: Types) -> Expression:
    """Return the expression of a variable; only fixed-size elements retain their dimensions."""
    schema = ExpressionBuilder(arrays, types)
    rows = shape[1:] if is_fixed(type_name, types) and 0 not in shape else ()
    if isinstance(types.get(type_name), CompoundType):
        rows = ()  # awkward0 has no tables for records in rows
    if rows and math.prod(rows) * itemsize(descr(type_name, types)) > LARGEST_ROW:
        rows = ()
    return schema.column(type_name, math.prod(shape[: 1 if rows else None]), rows=rows)


class _Arrays:
    """Arrays of one variable, each with its own blobs in numeric order."""

    def __init__(self, sources: Parts, types: Types, *, tables: bool) -> None:
        self._sources = sources
        self._types = types
        self._tables = tables
        self.blobs: list[BlobWrite] = []

    def length(self, part: str) -> int:
        """Return the length of a content array."""
        return self._sources[part].layout.shape[0]

    def flat(self, part: str, type_name: str, count: int, rows: tuple[int, ...], numbers: ExpressionIds) -> Expression:
        """Return the expression of one array."""
        source = self._sources[part]
        if type_name == "string":
            return self._texts(source, rows, numbers)
        if self._tables and not rows and isinstance(self._types.get(type_name), CompoundType):
            return records(
                type_name,
                self._types,
                numbers,
                count,
                lambda members, element, inner: self._buffer(source, element, members, count, inner, numbers),
            )
        return self._buffer(source, descr(type_name, self._types), (), count, rows, numbers)

    def _buffer(
        self,
        source: ArraySource,
        element: Descr,
        members: tuple[str, ...],
        count: int,
        rows: tuple[int, ...],
        numbers: ExpressionIds,
    ) -> Expression:
        """Return elements in one blob; `members`: path to them in the source elements."""
        number = numbers.next()
        size = count * math.prod(rows) * itemsize(element)
        packed = SMALLEST <= size <= LARGEST_PACKED and isinstance(element, str) and element[1] in "iu"
        blob = BlobWrite(number, lambda: streaming.elements(source, members), size, packed)
        return self._added(blob, described_rows(element, rows), count)

    def _added(self, blob: BlobWrite, element: Any, count: int) -> Expression:
        """Add a blob; return the expression of its elements."""
        self.blobs.append(blob)
        raw: Expression = {"read": f"{blob.number}{SUFFIX}"}
        raw = expressions.inflated(raw) if blob.packed else raw
        return expressions.buffer(raw, element, count, blob.number)

    def _texts(self, source: ArraySource, rows: tuple[int, ...], numbers: ExpressionIds) -> Expression:
        """Return texts as bytes and lengths, masked if some are NIL."""
        texts = streaming.texts(source)
        if texts.nil is not None:
            masked = numbers.next()
            mask = self._known(texts.nil.view("u1"), "|b1", rows, numbers)
        number = numbers.next()
        counts = self._known(texts.counts, "<i8", rows, numbers)
        content = numbers.next()
        size = int(texts.counts.sum())
        blob = BlobWrite(content, lambda: streaming.characters(source), size, packed=False)
        bytes_ = self._added(blob, described("|u1"), size)
        encoding = expressions.constant("utf-8" if texts.utf8 else None)
        expression = expressions.call("StringArray.fromcounts", counts, bytes_, encoding, number=number)
        if texts.nil is None:
            return expression
        return expressions.call("MaskedArray", mask, expression, True, number=masked)

    def _known(self, values: Any, element: str, rows: tuple[int, ...], numbers: ExpressionIds) -> Expression:
        """Return the expression of values in memory."""
        number, packed = numbers.next(), SMALLEST <= values.nbytes <= LARGEST_PACKED
        blob = BlobWrite(number, lambda: iter((values.tobytes(),)), values.nbytes, packed)
        count = len(values) // math.prod(rows) if math.prod(rows) else 0
        return self._added(blob, described_rows(element, rows), count)
