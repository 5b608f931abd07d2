"""Sidecar documents of ragged variables, through which readers of Awkward arrays find the values.

A sidecar is an Awkward 0.x document whose blobs are the chunks; it copies
nothing, and nczarr never reads it. Cells are flattened in C order; `metadata`
stores their shape.

    v/.awkward0/schema.json   {"awkward0": …, "schema": fromcounts(frombuffer(v/counts/0), frombuffer(v/content/0))}

For records as tables (`TargetOptions.tables`), the columns are separate blobs,
`v/.awkward0/1` etc., because no chunk stores them contiguously.

A variable has no sidecar if `frombuffer` cannot read its chunks: codecs other
than zlib, shards, chunks that cut rows, omitted fill-only chunks, or texts,
which are interleaved with their lengths. Parquet references omit sidecars.
"""

import math
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.regions import Index, every_block, grid_of, lengths_of, region_of
from nczarr.arrays.sources.source import Layout, itemsize
from nczarr.arrays.values.parts import descr
from nczarr.ast import CompoundType
from nczarr.ast.dataset import DEFLATE
from nczarr.formats.common.awkward import expressions
from nczarr.formats.common.awkward.expressions import Expression, ExpressionBuilder, NoExpressionError, describe_rows
from nczarr.plan.plans import StorePlan

FOLDER = ".awkward0/"
KEY = FOLDER + "schema.json"
"""Key of the document below that of the variable."""

MOST_CHUNKS = 1 << 14
"""Maximum number of chunks in one document."""


def entries(plan: StorePlan, path: str) -> Iterator[tuple[str, bytes]]:
    """Yield the blobs and then the document of a ragged variable; nothing if no document can locate all values."""
    checked, home = plan.checked, plan.chunk_keys(path).prefix
    shape = checked.shapes[path]
    chunks = _Chunks(plan, path)
    try:
        made = chunks.column(checked.variables[path].type, math.prod(shape))
    except NoExpressionError:
        return
    for blob in chunks.blobs:
        yield f"{home}{FOLDER}{blob.number}", b"".join(blob.write_pieces())
    metadata = {"variable": path, "shape": list(shape)}
    prefix = home + FOLDER if chunks.blobs else ""
    document = expressions.document(made, prefix=prefix, doc="a variable of nczarr", metadata=metadata)
    yield home + KEY, expressions.encode(document)


class _Chunks(ExpressionBuilder):
    """Arrays of a variable as blobs that are their chunks."""

    def __init__(self, plan: StorePlan, path: str) -> None:
        """Take the arrays of the variable at `path`; tables of chunks may use a quarter of the memory."""
        super().__init__(plan.checked.types)
        self._plan = plan
        self._path = path
        self._targets = plan.targets[path]
        self._sources = plan.parts.get(path, {})
        self._chunks = 0
        self._room = plan.options.run.memory // 4 if plan.options.target.tables else 0

    def _length(self, part: str) -> int:
        return self._targets[part].layout.shape[0]

    def _flat(self, part: str, type_name: str, count: int, rows: tuple[int, ...]) -> Expression:
        """Return a buffer, or several. Raises NoExpressionError if chunks are encoded or cut a value."""
        source = self._sources.get(part)
        if source is not None and not rows and isinstance(self._types.get(type_name), CompoundType):
            size = count * itemsize(descr(type_name, self._types))
            if size <= self._room:
                self._room -= size
                return self._records(source, type_name, count)
        target = self._targets[part]
        layout, width = target.layout, math.prod(rows)
        filters = [codec.id for codec in layout.codecs]
        ordered = layout.order == "C" or len(layout.shape) < 2
        simple = ordered and not layout.shards and layout.dtype != "|O"
        if target.sparse or not simple or filters not in ([], [DEFLATE]):
            raise NoExpressionError("encoded chunks")
        described = describe_rows(layout.dtype, rows)
        pieces = list(self._list_pieces(layout))
        if any(length % width for _, length in pieces) or sum(length for _, length in pieces) != count * width:
            raise NoExpressionError("chunks that cut a value")
        ids = self._numbers
        number = ids.next()
        if not pieces:
            return self._empty(described, number)
        if len(pieces) == 1:
            return self._buffer(part, pieces[0][0], described, count, filters, number)
        sizes = [length // width for _, length in pieces]
        buffers = [
            self._buffer(part, index, described, size, filters, ids.next())
            for (index, _), size in zip(pieces, sizes, strict=True)
        ]
        return expressions.chunks(buffers, sizes, number)

    def _buffer(
        self, path: str, index: Index, described: Any, count: int, filters: list[int], number: int
    ) -> Expression:
        raw: Expression = {"read": self._plan.chunk_keys(self._path, path).key(index), "absolute": True}
        return expressions.buffer(expressions.inflate(raw) if filters else raw, described, count, number)

    def _empty(self, described: Any, number: int) -> Expression:
        """Return zero elements of an existing chunk, because an empty array has none."""
        for path, target in self._targets.items():
            if math.prod(target.layout.shape):
                first: Index = (0,) * len(target.layout.shape)
                filters = [codec.id for codec in target.layout.codecs]
                return self._buffer(path, first, described, 0, filters, number)
        raise NoExpressionError("no chunk at all")

    def _list_pieces(self, layout: Layout) -> Iterator[tuple[Index, int]]:
        """Yield the chunks with their element counts; the elements are consecutive in C order."""
        if 0 in layout.shape:
            return
        self._chunks += math.prod(grid_of(layout.shape, layout.chunks))
        if self._chunks > MOST_CHUNKS:
            raise NoExpressionError("too many chunks")
        lengths = list(zip(layout.shape, layout.chunks, strict=True))
        cut = next((axis for axis, (_, chunk) in enumerate(lengths) if chunk > 1), len(lengths))
        if any(chunk != length for length, chunk in lengths[cut + 1 :]):
            raise NoExpressionError("chunks across rows")
        for index in every_block(layout.shape, layout.chunks):
            yield index, math.prod(lengths_of(region_of(index, layout.chunks, layout.shape)))
