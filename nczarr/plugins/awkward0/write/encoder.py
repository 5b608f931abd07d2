"""Encoding of columns as expressions and blobs.

Every array has an id, which names its blob; repeated objects become references.
Errors contain the place: column names, `[]` for list items, `#n` for union
contents.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import isfinite
from numbers import Integral, Real
from typing import Any, assert_never

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import Report
from nczarr.formats.common.awkward import expressions as made
from nczarr.formats.common.awkward.expressions import DEEPEST, Expression, ExpressionIds
from nczarr.plugins.awkward0.columns import nodes
from nczarr.plugins.awkward0.columns.nodes import ColumnSlicer, below, one_item
from nczarr.plugins.awkward0.wire import dtypes
from nczarr.plugins.awkward0.write.compression import CompressionRule, find_rule


class NotJsonValueError(Exception):
    """A value that JSON cannot represent, with its place."""


def json_of(value: Any, place: str = "/", depth: int = 0) -> Any:
    """Return a Python or NumPy value losslessly as JSON. Raises NotJsonError."""
    if depth > DEEPEST:
        raise NotJsonValueError(f"lists and dictionaries nested more than {DEEPEST} deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return [json_of(item, below(place, n), depth + 1) for n, item in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {name: json_of(item, below(place, name), depth + 1) for name, item in value.items()}
    number = _number(value)
    if number is None:
        shown = repr(value)
        raise NotJsonValueError(
            f"`{place}` is {shown if len(shown) < 40 else type(value).__name__}, which JSON cannot represent exactly"
        )
    return number


def _number(value: Any) -> bool | int | float | None:
    """Return a number as JSON, None if no JSON number equals it or it is not a number."""
    if "numpy" in sys.modules:
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, np.timedelta64):
            return None
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        near = float(value)
        return near if isfinite(near) and near == value else None
    return None


def of_numpy(values: NDArray[Any], report: Report) -> nodes.Column | None:
    """Return a NumPy array of any dtype as a column, masked if it has a mask.

    Shape (): None and an error.
    """
    if values.ndim == 0:
        text = "an array without dimensions has no length, which the protocol requires"
        report.error("unsuited-array", text, helps=["give `array.reshape(1)`, or `array.item()` for the number only"])
        return None
    if not isinstance(values, np.ma.MaskedArray):
        return nodes.Flat(np.asarray(values))
    if values.dtype.names is not None:
        names = values.dtype.names
        parts = [of_numpy(values[name], report) for name in names]
        if values.ndim > 1 or not names or None in parts:
            report.error("unsuited-array", "a masked array of structures has more than one dimension")
            return None
        return nodes.TableNode(names, tuple(part for part in parts if part is not None), len(values))
    masked = np.ma.getmaskarray(values)
    column: nodes.Column = nodes.Masked(masked.reshape(-1), nodes.Flat(np.asarray(values.data).reshape(-1)))
    for size in values.shape[:0:-1]:
        count = len(column) // size if size else int(np.prod(values.shape[: values.ndim - 1]))
        column = nodes.regular(column, count, size)
    return column


LARGEST = (1 << 63) - 1


class _NotEncodableError(Exception):
    """A reported part without which the enclosing column cannot be encoded."""


class ExpressionEncoder:
    """Builder of one array's expression; `blobs`: name, elements and compression rule of its blobs.

    `suffix` ends every name. An unwritable column is reported; its expression
    is meaningless.
    """

    def __init__(self, suffix: str, policy: tuple[CompressionRule, ...], report: Report) -> None:
        self.blobs: list[tuple[str, NDArray[Any], CompressionRule | None]] = []
        self._suffix = suffix
        self._policy = policy
        self._report = report
        self._numbers = ExpressionIds()
        self._cut = ColumnSlicer()
        self._ids: dict[int, tuple[int, object]] = {}  # by identity; the object is held, so that no other takes it
        self._converted: dict[int, tuple[object, NDArray[Any]]] = {}

    def value(self, value: Any) -> Expression | None:
        """Return the expression of a column, array or JSON value; None after a reported error. Nothing is pickled."""
        column: Any = value if isinstance(value, nodes.Column) else None
        if column is None and "awkward" in sys.modules:
            from nczarr.plugins.awkward0.columns import awkward2

            if awkward2.is_awkward(value):
                column = awkward2.column_of(value, self._report)
                if column is None:
                    return None
        if column is None and "numpy" in sys.modules and isinstance(value, np.ndarray):
            column = of_numpy(value, self._report)
            if column is None:
                return None
        if column is not None:
            return self.column(column)
        try:
            return {"json": json_of(value), "id": self._numbers.next()}
        except NotJsonValueError as error:
            helps = ["give a NumPy or Awkward array, or a column of nczarr.awkward0; nothing is pickled"]
            self._report.error("unsuited-array", str(error), helps=helps)
            return None

    def column(self, column: nodes.Column, context: str = "", place: str = "/") -> Expression:
        """Return the expression of a column. `context`: its role in the enclosing array."""
        if isinstance(column, nodes.BackReference):
            return self._later(column, place)
        written_before = self._ids.get(id(column))
        if written_before is not None:
            return {"ref": written_before[0]}  # awkward0 resolves references to values of any kind
        written = _stand_in(column)
        if isinstance(column, nodes.Flat) and written is not column:
            text = f"`{place}` has rows without elements, written as lists without items"
            self._report.warning("lost-parameters", text)
        if isinstance(written, nodes.Flat):
            return self._encode_array(written.values, context, place)
        number = self._numbers.next()
        self._ids[id(column)] = number, column
        self._ids[id(written)] = number, written
        try:
            return self._encode_node(written, number, place)
        except _NotEncodableError:
            return {"json": None}

    def _encode_node(self, column: nodes.Column, number: int, place: str) -> Expression:
        match column:
            case nodes.ListNode() | nodes.Spans():
                bounds, inner = self._bounds(column, place), below(place, "[]")
                return made.call(
                    *self._encode_ragged("JaggedArray", bounds, column.content, place, inner), number=number
                )
            case nodes.TextNode():
                return self._encode_texts(column, number, place)
            case nodes.TableNode():
                return self._encode_table(column, number, place)
            case nodes.Masked():
                return self._encode_masked(column, number, place)
            case nodes.BitMasked():
                return self._encode_bit_masked(column, number, place)
            case nodes.Indexed():
                return self._encode_indexed(column, number, place)
            case nodes.Sparse():
                return self._encode_sparse(column, number, place)
            case nodes.Union():
                return self._encode_union(column, number, place)
            case nodes.ArrayPieces():
                pieces = [piece for piece in column.pieces if len(piece)]  # awkward0 drops empty pieces, too
                parts = [self.column(piece, "ChunkedArray.chunk", place) for piece in pieces]
                return made.chunks(parts, map(len, pieces), number)
            case nodes.Objects():
                return self._encode_objects(column, number, place)
            case nodes.Flat() | nodes.BackReference():
                raise AssertionError("these have no own number")
            case _:
                assert_never(column)

    def _encode_texts(self, column: nodes.TextNode, number: int, place: str) -> Expression:
        bounds, content = self._bounds(column.bytes, place), column.bytes.content
        if not isinstance(content, nodes.Flat) or content.values.ndim != 1 or content.values.dtype != "u1":
            return self._refuse_unsuited(place, "has strings whose bytes are not a plain uint8 array")
        texts = self._encode_ragged("StringArray", bounds, content, place, place)
        return made.call(*texts, self._numbers.constant(column.encoding), number=number)

    def _encode_ragged(
        self, kind: str, bounds: tuple[NDArray[Any], NDArray[Any]], content: nodes.Column, place: str, inner: str
    ) -> Iterator[Any]:
        """Yield the constructor of lists or texts and its arguments: counts if contiguous.

        `bounds`: starts and stops, int64, shape (lists,).
        """
        starts, stops = bounds
        if len(starts) and _contiguous(starts, stops):
            content = self._cut(content, int(starts[0]), int(stops[-1]))
            yield f"{kind}.fromcounts"
            yield self._encode_array(stops - starts, f"{kind}.counts", place)
        else:
            yield kind
            yield self._encode_array(starts, f"{kind}.starts", place)
            yield self._encode_array(stops, f"{kind}.stops", place)
        yield self.column(content, f"{kind}.content", inner)

    def _encode_table(self, column: nodes.TableNode, number: int, place: str) -> Expression:
        """Encode a table; one of items without columns becomes a view of an empty table, which keeps its length."""
        names, columns = column.names, column.columns
        if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
            return self._refuse_unsuited(place, "has two columns of the same name, or one whose name is not a string")
        lengths = [len(inner) for inner in columns]
        if len(lengths) != len(names) or any(length < column.length for length in lengths):
            text = f"has fewer columns than names, or one with less than {column.length} items"
            return self._refuse_unsuited(place, text)
        if min(lengths, default=column.length) > column.length:
            columns = tuple(self._cut(inner, 0, column.length) for inner in columns)
        pairs = [
            (name, self.column(inner, "Table.contents", below(place, name)))
            for name, inner in zip(names, columns, strict=True)
        ]
        if pairs or not column.length:
            return made.table(pairs, number)
        view = {"tuple": [{"json": number} for number in (0, 1, column.length)]}  # start, step and length
        return made.call("Table.fromview", view, made.table(()), number=number)

    def _encode_masked(self, column: nodes.Masked, number: int, place: str) -> Expression:
        length = len(column)
        mask = column.mask[:length] if len(column.mask) > length else column.mask
        return made.call(
            "MaskedArray",
            self._encode_array(mask if mask.dtype == bool else mask != 0, "MaskedArray.mask", place),
            self.column(self._cut(column.content, 0, length), "MaskedArray.content", place),
            bool(column.masked_when),
            number=number,
        )

    def _encode_bit_masked(self, column: nodes.BitMasked, number: int, place: str) -> Expression:
        if len(column.mask) * 8 < len(column.content) or column.mask.dtype.itemsize != 1:
            return self._refuse_unsuited(place, f"has a mask of fewer than {len(column.content)} bits, or not of bytes")
        mask = column.mask if column.mask.dtype == "u1" else column.mask.view("u1")
        return made.call(
            "BitMaskedArray",
            self._encode_array(mask, "BitMaskedArray.mask", place),
            self.column(column.content, "BitMaskedArray.content", place),
            bool(column.masked_when),
            bool(column.lsb_order),
            number=number,
        )

    def _encode_indexed(self, column: nodes.Indexed, number: int, place: str) -> Expression:
        index = self._integers(column.index, place)
        low, high = _range(index)
        if high >= len(column.content) or (low < 0 and not column.optional):
            return self._refuse_unsuited(place, f"has an index outside its {len(column.content)} items")
        kind, name = ("IndexedMaskedArray", "mask") if column.optional else ("IndexedArray", "index")
        array = self._encode_array(index if low >= -1 else np.maximum(index, -1), f"{kind}.{name}", place)
        content = self.column(column.content, f"{kind}.content", place)
        missing = [-1] if column.optional else []
        return made.call(kind, array, content, *missing, number=number)

    def _encode_sparse(self, column: nodes.Sparse, number: int, place: str) -> Expression:
        index = self._integers(column.index, place)
        low, high = _range(index)
        if low < 0 or high >= column.length or (index[1:] < index[:-1]).any() or len(index) > len(column.content):
            why = "has an index that does not increase, or is longer than its array or its values"
            return self._refuse_unsuited(place, why)
        return made.call(
            "SparseArray",
            int(column.length),
            self._encode_array(index, "SparseArray.index", place),
            self.column(column.content, "SparseArray.content", place),
            self._argument(column.default, "SparseArray.default", place),
            number=number,
        )

    def _encode_union(self, column: nodes.Union, number: int, place: str) -> Expression:
        length = len(column.tags)
        tags, index = self._integers(column.tags, place), self._integers(column.index, place)[:length]
        low, high = _range(tags)
        if low < 0 or high >= len(column.contents) or len(index) < length:
            return self._refuse_unsuited(place, f"has tags outside its {len(column.contents)} contents, or no index")
        sequential = True
        for tag, content in enumerate(column.contents):
            used = index[tags == tag]
            low, top = _range(used)
            if low < 0 or top >= len(content):
                return self._refuse_unsuited(place, f"has an index outside the items of its content {tag}")
            sequential &= bool((used == np.arange(len(used))).all())
        width = np.min_scalar_type(high).newbyteorder("<")
        parts = [self._encode_array(tags.astype(width), "UnionArray.tags", place)]
        if not sequential:
            parts.append(self._encode_array(index, "UnionArray.index", place))
        every = enumerate(column.contents)
        contents = [self.column(content, "UnionArray.contents", below(place, f"#{tag}")) for tag, content in every]
        function = "UnionArray.fromtags" if sequential else "UnionArray"
        return made.call(function, *parts, {"list": contents}, number=number)

    def _encode_objects(self, column: nodes.Objects, number: int, place: str) -> Expression:
        if len(column.function) < 2 or not all(isinstance(name, str) for name in column.function):
            return self._refuse_unsuited(place, "has a function that is not the name of a module and of its member")
        content = self.column(column.content, "ObjectArray.content", place)
        function = {"function": list(column.function), "id": self._numbers.next()}
        args = [self._argument(argument, "ObjectArray.args", place) for argument in column.args]
        kwargs = {name: self._argument(argument, "ObjectArray.kwargs", place) for name, argument in column.kwargs}
        return made.call("ObjectArray", content, function, {"tuple": args}, {"dict": kwargs}, number=number)

    def _later(self, column: nodes.BackReference, place: str) -> Expression:
        written_before = self._ids.get(id(column.found()))
        if written_before is None:
            return self._refuse_unsuited(place, f"refers to array {column.id}, which does not enclose it as a whole")
        return {"ref": written_before[0]}

    def _argument(self, value: Any, context: str, place: str) -> Expression:
        """Return the expression of an argument: a column or a JSON value."""
        if isinstance(value, nodes.Column):
            return self.column(value, context, place)
        try:
            return self._numbers.constant(json_of(value))
        except NotJsonValueError as error:
            return self._refuse_unsuited(place, f"has an argument that documents cannot represent: {error}")

    def _encode_array(self, values: NDArray[Any], context: str, place: str) -> Expression:
        """Return the buffer of an array (any shape and dtype), or a reference if it was written before."""
        written_before = self._ids.get(id(values))
        if written_before is not None:
            return {"ref": written_before[0]}
        why = dtypes.fault(values.dtype)
        if why is not None:
            return self._refuse_unsuited(place, f"has {why}")
        for name in dtypes.titles(values.dtype):
            self._report.warning("lost-parameters", f"`{place}` has a member `{name}` with a title, which is left out")
        number = self._numbers.next()
        self._ids[id(values)] = number, values
        plain, described = dtypes.rows(values)
        name = f"{number}{self._suffix}"
        rule = find_rule(self._policy, plain, context)
        self.blobs.append((name, plain, rule))
        raw: Expression = {"read": name}
        raw = raw if rule is None else made.inflate(raw, rule.decompress)
        return made.buffer(raw, described, self._numbers.constant(len(plain)), number)

    def _bounds(self, column: nodes.ListNode | nodes.Spans, place: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return checked starts and stops: int64, shape (lists,). Empty lists are moved into the content.

        Raises _UnsuitedError for lists outside the content.
        """
        if isinstance(column, nodes.ListNode):
            offsets = self._integers(column.offsets, place)
            starts, stops = offsets[:-1], offsets[1:]
            low, high = _range(offsets)
            wrong = not len(offsets) or low < 0 or high > len(column.content)
        else:
            starts, stops = self._integers(column.starts, place), self._integers(column.stops, place)
            wrong = len(stops) < len(starts)
            stops = stops if len(stops) == len(starts) else stops[: len(starts)]
            if not wrong and (_range(starts)[0] < 0 or _range(stops)[1] > len(column.content)):
                filled = starts != stops
                starts, stops = np.where(filled, starts, 0), np.where(filled, stops, 0)
                wrong = _range(starts)[0] < 0 or _range(stops)[1] > len(column.content)
        if wrong or (stops < starts).any():
            self._refuse_unsuited(place, f"has lists outside their {len(column.content)} items")
            raise _NotEncodableError
        return starts, stops

    def _integers(self, values: NDArray[Any], place: str) -> NDArray[Any]:
        """Return integers of shape (items,) as `<i8`, cached by object.

        Raises _UnsuitedError for other arrays.
        """
        if id(values) not in self._converted:
            positions = np.asarray(values)
            kind = positions.dtype.kind
            if kind not in "iu" or positions.ndim != 1 or (kind == "u" and _range(positions)[1] > LARGEST):
                self._refuse_unsuited(place, "has positions that are not one-dimensional 64-bit integers")
                raise _NotEncodableError
            self._converted[id(values)] = values, positions.astype("<i8", copy=False)
        return self._converted[id(values)][1]

    def _refuse_unsuited(self, place: str, why: str) -> Expression:
        self._report.error("unsuited-array", f"`{place}` {why}")
        return {"json": None}


def _stand_in(column: nodes.Column) -> nodes.Column:
    """Return an equivalent column that awkward0 can read back, mostly the column itself.

    Empty chunks become their first piece, for its type; rows without elements
    empty lists, because buffers cannot be cut into them; an empty union no
    items of a union with one; a sparse array of defaults stores one as value.
    """
    match column:
        case nodes.ArrayPieces() if column.pieces and not any(map(len, column.pieces)):
            return _stand_in(column.pieces[0])
        case nodes.Flat() if 0 in column.values.shape[1:]:
            count, size, *rest = column.values.shape
            inner = np.empty((count * size, *rest), column.values.dtype)
            return nodes.regular(nodes.Flat(inner), count, size)
        case nodes.Union() if not len(column.tags) and column.contents:
            contents = list(column.contents)
            filled = next((tag for tag, content in enumerate(contents) if len(content)), 0)
            if not len(contents[filled]):
                contents[filled] = one_item(contents[filled])
            union = nodes.Union(np.array([filled], "|u1"), np.zeros(1, "<i8"), tuple(contents))
            return nodes.Indexed(np.zeros(0, "<i8"), union)
        case nodes.Sparse(content=nodes.Flat(values=values)) if (
            column.length and not len(column.index) and values.ndim == 1
        ):
            value = np.array([0 if column.default is None else column.default])
            same = value.astype(values.dtype) if value.dtype.kind in "biuf" and values.dtype.kind in "biufc" else value
            if same.dtype == values.dtype and (same == value).all():
                return nodes.Sparse(column.length, np.zeros(1, "<i8"), nodes.Flat(same), column.default)
            return column
        case _:
            return column


def _contiguous(starts: NDArray[Any], stops: NDArray[Any]) -> bool:
    """Return whether each list starts where the previous one stops. Both arrays: integers, shape (lists,)."""
    return bool((starts[1:] == stops[:-1]).all())


def _range(values: NDArray[Any]) -> tuple[int, int]:
    """Return minimum and maximum of integers, shape (items,); (0, -1) if empty."""
    return (int(values.min()), int(values.max())) if len(values) else (0, -1)
