"""Conversion of columns to simplified Awkward 2 layouts."""

from __future__ import annotations

import math
from typing import Any, NoReturn, assert_never

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import Report
from nczarr.plugins.awkward0.columns import nodes
from nczarr.plugins.awkward0.columns.nodes import BitMasked, Indexed, Masked, below, missing

EXACT = 1 << 53
"""Limit up to which every integer is exact as a float."""

FUNCTION = "awkward0"
"""Parameter for the function of objects: `{"function": ["module", "name"], "args": […], "kwargs": {…}}`."""

_ASCII = frozenset({"ascii", "us-ascii", "utf-8", "utf8"})
MOST_CONTENTS = 127


def layout_of(column: nodes.Column, report: Report, place: str = "/") -> Any:
    """Return the layout of a column, or an empty one after an error. `place` as in `encoder.py`."""
    layouts = _Layouts(report)
    try:
        return layouts.of(column, place)
    except _NoLayoutError:
        return layouts.contents.EmptyArray()


class _NoLayoutError(Exception):
    """A part without an awkward layout, already reported."""


class _Layouts:
    """Converter of columns. awkward is imported for the first one."""

    def __init__(self, report: Report) -> None:
        from awkward import contents, index

        self.contents, self._indexes = contents, index
        self._report = report

    def of(self, column: nodes.Column, place: str) -> Any:
        """Return the layout of any column."""
        contents, inner = self.contents, below(place, "[]")
        match column:
            case nodes.Flat():
                return self._flat(column.values, place)
            case nodes.ListNode():
                return contents.ListOffsetArray(self._index(column.offsets), self.of(column.content, inner))
            case nodes.Spans():
                return contents.ListArray(*self._bounds(column), self.of(column.content, inner))
            case nodes.TextNode():
                return self._texts(column, place)
            case nodes.TableNode():
                if len(set(column.names)) < len(column.names):
                    self._refuse_unsuited(place, "has two columns of the same name")
                pairs = zip(column.names, column.columns, strict=True)
                parts = [self.of(part, below(place, name)) for name, part in pairs]
                return contents.RecordArray(parts, list(column.names), length=column.length)
            case Masked() | BitMasked() | Indexed():
                return self._choose(column, place)
            case nodes.Sparse():
                return self._sparse(column, place)
            case nodes.Union():
                return self._union(column, place)
            case nodes.ArrayPieces():
                return self._join([self.of(piece, place) for piece in column.pieces])
            case nodes.Objects():
                call = {"function": list(column.function), "args": list(column.args), "kwargs": dict(column.kwargs)}
                call = {name: value for name, value in call.items() if value or name == "function"}
                layout = self.of(column.content, place)
                return layout.copy(parameters={**(layout._parameters or {}), FUNCTION: call})
            case nodes.BackReference():
                return self._refuse_unsuited(place, f"refers to array {column.id}, which encloses it")
            case _:
                assert_never(column)

    # ---- elements ----------------------------------------------------------------------------------------------------

    def _flat(self, values: NDArray[Any], place: str) -> Any:
        """Convert a NumPy array: structured items to records, fixed-length texts to strings, others as they are."""
        dtype, contents = values.dtype, self.contents
        if dtype.names is not None:
            if values.ndim > 1:
                return self._rows(self._flat(values.reshape(-1), place), values.shape)
            parts = [self._flat(values[name], below(place, name)) for name in dtype.names]
            return contents.RecordArray(parts, list(dtype.names), length=len(values))
        if dtype.kind in "SUV":
            return self._rows(self._read_fixed(np.ascontiguousarray(values).reshape(-1), place), values.shape)
        if dtype.kind not in "biufcmM":
            self._refuse_unsuited(place, f"has {dtype}, which awkward arrays cannot hold")
        layout = contents.NumpyArray(values.astype(dtype.newbyteorder("="), copy=False))
        return layout if values.ndim == 1 else layout.to_RegularArray()

    def _read_fixed(self, values: NDArray[Any], place: str) -> Any:
        """Convert fixed-length texts and bytes without trailing NULs; opaque bytes retain them.

        `values`: shape (items,), dtype `U`, `S` or `V`.
        """
        kind, item = "bytestring", "byte"
        if values.dtype.kind == "U":
            kind, item = "string", "char"
            try:
                values = np.char.encode(values, "utf-8")
            except UnicodeEncodeError:
                self._refuse_unsuited(place, "has strings that UTF-8 cannot encode")
        size = values.dtype.itemsize
        if not size:
            values, size = values.astype("S1"), 1
        raw = np.frombuffer(values.tobytes(), "u1")
        content = self.contents.NumpyArray(raw, parameters={"__array__": item})
        if values.dtype.kind == "V":
            return self.contents.RegularArray(content, size, len(values), parameters={"__array__": kind})
        starts = np.arange(len(values), dtype="i8") * size
        stops = starts + np.char.str_len(values).astype("i8")
        return self.contents.ListArray(self._index(starts), self._index(stops), content, parameters={"__array__": kind})

    def _rows(self, layout: Any, shape: tuple[int, ...]) -> Any:
        """Nest a flat layout into rows of a shape."""
        for at in range(len(shape) - 1, 0, -1):
            layout = self.contents.RegularArray(layout, shape[at], math.prod(shape[:at]))
        return layout

    def _texts(self, column: nodes.TextNode, place: str) -> Any:
        """Convert strings, recoded to UTF-8 if their encoding is another; without an encoding they are bytestrings."""
        lists, encoding = column.bytes, column.encoding
        inner = self.of(lists.content, place)
        raw = inner.project() if inner.is_indexed and not inner.is_option else inner
        if not isinstance(raw, self.contents.NumpyArray) or raw.data.dtype != np.uint8 or raw.data.ndim != 1:
            self._refuse_unsuited(place, "has strings whose bytes are not a plain uint8 array")
        kind, item = ("bytestring", "byte") if encoding is None else ("string", "char")
        data = raw.data
        if encoding is not None and encoding.lower() not in _ASCII:
            lists = self._recode(lists, data, encoding, place)
            data = lists.content.values  # type: ignore[union-attr]
        content = self.contents.NumpyArray(data, parameters={"__array__": item})
        if isinstance(lists, nodes.ListNode):
            return self.contents.ListOffsetArray(self._index(lists.offsets), content, parameters={"__array__": kind})
        return self.contents.ListArray(*self._bounds(lists), content, parameters={"__array__": kind})

    def _recode(
        self, lists: nodes.ListNode | nodes.Spans, data: NDArray[Any], encoding: str, place: str
    ) -> nodes.ListNode:
        """Return byte lists of texts recoded to UTF-8, awkward's only encoding. `data`: uint8, shape (bytes,)."""
        starts, stops = nodes.bounds(lists)
        raw, pairs = data.tobytes(), zip(starts.tolist(), stops.tolist(), strict=False)
        try:
            texts = [raw[start:stop].decode(encoding).encode() for start, stop in pairs]
        except (LookupError, UnicodeError) as error:
            self._refuse_unsuited(place, f"has strings that do not match their encoding: {error}")
        content = nodes.Flat(np.frombuffer(b"".join(texts), "u1"))
        return nodes.ListNode(nodes.offsets_of(list(map(len, texts))), content)

    # ---- missing, selected and sparse items --------------------------------------------------------------------------

    def _choose(self, column: Masked | BitMasked | Indexed, place: str) -> Any:
        """Return the layout of items with missing ones or in another order."""
        contents, index = self.contents, self._indexes
        content = self.of(column.content, place)
        if content.is_union and _loses(content.contents):
            return self._choose_of_union(column, content)
        match column:
            case Masked():
                length = len(column)
                mask, when = index.Index8(_truths(column.mask[:length])), not column.masked_when
                return contents.ByteMaskedArray.simplified(mask, content[:length], valid_when=when)
            case BitMasked():
                return contents.BitMaskedArray.simplified(
                    index.IndexU8(np.ascontiguousarray(column.mask).view("u1")),
                    content,
                    valid_when=not column.masked_when,
                    length=len(column.content),
                    lsb_order=column.lsb_order,
                )
            case Indexed() if column.optional:
                return contents.IndexedOptionArray.simplified(self._index(column.index, signed=True), content)
            case Indexed():
                return contents.IndexedArray.simplified(self._index(column.index), content)

    def _choose_of_union(self, column: Masked | BitMasked | Indexed, union: Any) -> Any:
        """Select items of a union whose numbers must not merge, as awkward's option constructors would do."""
        contents, index = self.contents, self._indexes
        if isinstance(column, Indexed):
            places = np.asarray(column.index).astype("i8")
        else:
            places = np.where(missing(column), -1, np.arange(len(column)))
        parts = list(union.contents)
        tags, inner = union.tags.data[places], union.index.data[places]
        if not isinstance(column, Indexed) or column.optional:
            behind = np.append(np.arange(len(parts[0])), -1)
            tags, inner = np.where(places < 0, 0, tags), np.where(places < 0, len(parts[0]), inner)
            parts[0] = contents.IndexedOptionArray.simplified(index.Index64(behind), parts[0])
            parts[1:] = [contents.UnmaskedArray.simplified(content) for content in parts[1:]]
        return self._simplify(index.Index8(tags.astype("i1")), index.Index64(inner.astype("i8")), parts)

    def _sparse(self, column: nodes.Sparse, place: str) -> Any:
        """Return a dense layout, with items from the values or the default."""
        import awkward as ak

        contents, index = self.contents, self._indexes
        flat = column.content
        if isinstance(flat, nodes.Flat) and (column.default is None or _fits(column.default, flat.values)):
            dense = np.zeros((column.length, *flat.values.shape[1:]), flat.values.dtype)
            if column.default is not None:
                dense[...] = column.default
            dense[column.index] = flat.values[: len(column.index)]
            return self._flat(dense, place)
        values = self.of(flat, place)[: len(column.index)]
        if column.default is None and not values.is_list:
            default = contents.IndexedOptionArray.simplified(index.Index64(np.array([-1])), values)
        else:
            default = ak.from_iter([[] if column.default is None else column.default], highlevel=False)
        places = np.full(column.length, len(values), "i8")
        places[column.index] = np.arange(len(values))
        return contents.IndexedArray.simplified(index.Index64(places), self._join([values, default]))

    # ---- several contents --------------------------------------------------------------------------------------------

    def _union(self, column: nodes.Union, place: str) -> Any:
        """Return a simplified union.

        One pass of awkward compares each content only with the first similar one,
        so passes repeat.
        """
        count = len(column.contents)
        if count > MOST_CONTENTS:
            self._refuse_unsuited(place, f"is a union of {count} kinds; the limit of awkward is {MOST_CONTENTS}")
        if not count:
            return self.contents.EmptyArray()
        parts = [self.of(content, below(place, f"#{n}")) for n, content in enumerate(column.contents)]
        index = column.index[: len(column.tags)]
        if count == 1:
            return self.contents.IndexedArray.simplified(self._index(index), parts[0])
        tags = self._indexes.Index8(np.ascontiguousarray(column.tags).astype("i1", copy=False))
        places = self._indexes.Index64(np.ascontiguousarray(index).astype("i8", copy=False))
        layout = self._simplify(tags, places, parts)
        while layout.is_union and len(layout.contents) < len(parts):
            parts = list(layout.contents)
            layout = self._simplify(layout.tags, layout.index, parts)
        return layout

    def _simplify(self, tags: Any, index: Any, parts: list[Any]) -> Any:
        """Make a union, whose mergeable parts become one, except integers that would lose digits as floats."""
        from inspect import signature

        union = self.contents.UnionArray
        if not _loses(parts):
            return union.simplified(tags, index, parts)
        if "mergecastable" in signature(union.simplified).parameters:
            return union.simplified(tags, index, parts, mergecastable="equiv")
        return union(tags, index, parts)  # awkward 2.6 merges all numbers or nothing

    def _join(self, layouts: list[Any]) -> Any:
        """Concatenate layouts."""
        import awkward as ak

        if len(layouts) < 2:
            return layouts[0] if layouts else self.contents.EmptyArray()
        numbers = self.contents.NumpyArray
        plain = [layout.data for layout in layouts if isinstance(layout, numbers) and not layout._parameters]
        if len(plain) == len(layouts) and len({array.dtype for array in plain}) == 1:
            return numbers(np.concatenate(plain))
        return ak.concatenate(layouts, axis=0, mergebool=False, highlevel=False)

    # ---- positions ---------------------------------------------------------------------------------------------------

    def _index(self, values: NDArray[Any], *, signed: bool = False) -> Any:
        """Return positions as an awkward index; shares 32-bit and 64-bit ones.

        `values`: integers, shape (items,).
        """
        native = np.ascontiguousarray(values)
        native = native.astype(native.dtype.newbyteorder("="), copy=False)
        code, kinds = native.dtype.str[1:], self._indexes
        if code == "u4" and not signed:
            return kinds.IndexU32(native)
        return kinds.Index32(native) if code == "i4" else kinds.Index64(native.astype("i8", copy=False))

    def _bounds(self, lists: nodes.Spans) -> tuple[Any, Any]:
        """Return starts and stops as indexes of one width."""
        starts, stops = lists.starts, lists.stops[: len(lists.starts)]
        low, high = self._index(starts), self._index(stops)
        if type(low) is type(high):
            return low, high
        return self._index(starts.astype("i8")), self._index(stops.astype("i8"))

    def _refuse_unsuited(self, place: str, why: str) -> NoReturn:
        self._report.error("unsuited-array", f"`{place}` {why}")
        raise _NoLayoutError


def _loses(layouts: list[Any]) -> bool:
    """Return whether merging the contents of a union would lose digits of large integers."""
    arrays: list[NDArray[Any]] = []
    pending = list(layouts)
    while pending:
        layout = pending.pop()
        data = getattr(layout, "data", None)
        if isinstance(data, np.ndarray):
            arrays.append(data)
        inner = getattr(layout, "contents", None) or [getattr(layout, "content", None)]
        pending.extend(content for content in inner if content is not None)
    kinds = {array.dtype.kind for array in arrays}
    if len(kinds & set("iufc")) < 2:
        return False
    wide = [array for array in arrays if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size]
    return any(int(array.max()) > EXACT or int(array.min()) < -EXACT for array in wide)


def _truths(mask: NDArray[Any]) -> NDArray[Any]:
    """Return a mask of bytes 0 and 1, as awkward requires: int8, in the same shape."""
    return np.ascontiguousarray(mask if mask.dtype == np.bool_ else mask != 0).view("i1")


def _fits(value: Any, values: NDArray[Any]) -> bool:
    """Return whether the dtype of an array (any shape) can represent a value exactly."""
    if not isinstance(value, int | float) or isinstance(value, bool) != (values.dtype.kind == "b"):
        return False
    if values.dtype.kind not in "biufc":
        return False
    try:
        return bool(np.array(value).astype(values.dtype) == value)
    except OverflowError:
        return False
