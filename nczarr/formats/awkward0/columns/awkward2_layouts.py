"""Conversion of columns to simplified Awkward 2 layouts."""

from __future__ import annotations

from typing import Any, NoReturn, assert_never

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import Report
from nczarr.formats.awkward0.columns import nodes as nodes
from nczarr.formats.awkward0.columns.cuts import missing
from nczarr.formats.awkward0.columns.nodes import BitMasked, Indexed, Masked

EXACT = 1 << 53
"""Limit up to which every integer is exact as a float."""


def union_of(tags: Any, index: Any, contents: list[Any]) -> Any:
    """Return the simplified union of layouts, from awkward indexes.

    One pass of awkward compares each content only with the first similar one,
    so passes repeat.
    """
    layout = _simplified(tags, index, contents)
    while layout.is_union and len(layout.contents) < len(contents):
        contents = list(layout.contents)
        layout = _simplified(layout.tags, layout.index, contents)
    return layout


def _simplified(tags: Any, index: Any, contents: list[Any]) -> Any:
    from inspect import signature

    from awkward.contents import UnionArray

    if not loses(contents):
        return UnionArray.simplified(tags, index, contents)
    if "mergecastable" in signature(UnionArray.simplified).parameters:
        return UnionArray.simplified(tags, index, contents, mergecastable="equiv")
    return UnionArray(tags, index, contents)  # awkward 2.6 merges all numbers or nothing


def chosen_of_union(column: Masked | BitMasked | Indexed, union: Any) -> Any:
    """Select items of a union whose numbers must not merge, as awkward's option constructors would do."""
    from awkward import contents, index

    match column:
        case Indexed():
            places = np.asarray(column.index).astype("i8")
        case Masked() | BitMasked():
            places = np.where(missing(column), -1, np.arange(len(column)))
    parts = list(union.contents)
    tags, inner = union.tags.data[places], union.index.data[places]
    if not isinstance(column, Indexed) or column.optional:
        behind = np.append(np.arange(len(parts[0])), -1)
        tags, inner = np.where(places < 0, 0, tags), np.where(places < 0, len(parts[0]), inner)
        parts[0] = contents.IndexedOptionArray.simplified(index.Index64(behind), parts[0])
        parts[1:] = [contents.UnmaskedArray.simplified(content) for content in parts[1:]]
    chosen = index.Index8(tags.astype("i1")), index.Index64(inner.astype("i8"))
    return _simplified(*chosen, parts)


def loses(layouts: list[Any]) -> bool:
    """Return whether merging the contents of a union would lose digits of large integers."""
    arrays: list[NDArray[Any]] = []

    def collect(layout: Any) -> None:
        data = getattr(layout, "data", None)
        if isinstance(data, np.ndarray):
            arrays.append(data)
        for content in getattr(layout, "contents", None) or [getattr(layout, "content", None)]:
            if content is not None:
                collect(content)

    for layout in layouts:
        collect(layout)
    kinds = {array.dtype.kind for array in arrays}
    if len(kinds & set("iufc")) < 2:
        return False
    wide = [array for array in arrays if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size]
    return any(int(array.max()) > EXACT or int(array.min()) < -EXACT for array in wide)


FUNCTION = "awkward0"
"""Parameter for the function of objects: `{"function": ["module", "name"], "args": […], "kwargs": {…}}`."""

_ASCII = frozenset({"ascii", "us-ascii", "utf-8", "utf8"})
MOST_CONTENTS = 127


def layout_of(column: nodes.Column, report: Report, place: str = "/") -> Any:
    """Return the layout of a column, or an empty one after an error. `place` as in `encoder.py`."""
    try:
        return _Layouts(report).of(column, place)
    except _NoLayoutError:
        from awkward import contents

        return contents.EmptyArray()


class _NoLayoutError(Exception):
    """A part without an awkward layout, already reported."""


class _Layouts:
    def __init__(self, report: Report) -> None:
        self._report = report

    def of(self, column: nodes.Column, place: str) -> Any:
        """Return the layout of any column."""
        from awkward import contents

        inner = nodes.below(place, "[]")
        match column:
            case nodes.Flat():
                return self._flat(column.values, place)
            case nodes.ListNode():
                return contents.ListOffsetArray(_index(column.offsets), self.of(column.content, inner))
            case nodes.Spans():
                starts, stops = _alike(column.starts, column.stops)
                return contents.ListArray(starts, stops, self.of(column.content, inner))
            case nodes.TextNode():
                return self._texts(column, place)
            case nodes.TableNode():
                return self._table(column, place)
            case nodes.Masked() | nodes.BitMasked() | nodes.Indexed():
                return self._chosen(column, place)
            case nodes.Sparse():
                return self._sparse(column, place)
            case nodes.Union():
                return self._union(column, place)
            case nodes.ArrayPieces():
                return _joined([self.of(piece, place) for piece in column.pieces])
            case nodes.Objects():
                return self._objects(column, place)
            case nodes.BackReference():
                return self._unsuited(place, f"refers to array {column.id}, which encloses it")
            case _:
                assert_never(column)

    def _chosen(self, column: nodes.Masked | nodes.BitMasked | nodes.Indexed, place: str) -> Any:
        """Return the layout of items with missing ones or in another order."""
        from awkward import contents, index

        content = self.of(column.content, place)
        if content.is_union and loses(content.contents):
            return chosen_of_union(column, content)
        match column:
            case nodes.Masked():
                length = len(column)
                mask = index.Index8(_truths(column.mask[:length]))
                when = not column.masked_when
                return contents.ByteMaskedArray.simplified(mask, content[:length], valid_when=when)
            case nodes.BitMasked():
                return contents.BitMaskedArray.simplified(
                    index.IndexU8(np.ascontiguousarray(column.mask).view("u1")),
                    content,
                    valid_when=not column.masked_when,
                    length=len(column.content),
                    lsb_order=column.lsb_order,
                )
            case nodes.Indexed() if column.optional:
                return contents.IndexedOptionArray.simplified(_index(column.index, signed=True), content)
            case nodes.Indexed():
                return contents.IndexedArray.simplified(_index(column.index), content)

    def _flat(self, values: NDArray[Any], place: str) -> Any:
        from awkward import contents

        if values.dtype.names is not None:
            parts = [self._flat(values[name], nodes.below(place, name)) for name in values.dtype.names]
            if values.ndim == 1:
                return contents.RecordArray(parts, list(values.dtype.names), length=len(values))
            flat = values.reshape(-1)
            return _rows(self._flat(flat, place), values.shape)
        if values.dtype.kind in "SUV":
            return _rows(self._fixed(np.ascontiguousarray(values).reshape(-1), place), values.shape)
        if values.dtype.kind not in "biufcmM":
            self._unsuited(place, f"has {values.dtype}, which awkward arrays cannot hold")
        native = values.astype(values.dtype.newbyteorder("="), copy=False)
        return contents.NumpyArray(native) if values.ndim == 1 else contents.NumpyArray(native).to_RegularArray()

    def _fixed(self, values: NDArray[Any], place: str) -> Any:
        """Convert fixed-length texts and bytes without trailing NULs; opaque bytes retain them.

        `values`: shape (items,), dtype `U`, `S` or `V`.
        """
        from awkward import contents, index

        if values.dtype.kind == "U":
            try:
                values = np.char.encode(values, "utf-8")
            except UnicodeEncodeError:
                self._unsuited(place, "has strings that UTF-8 cannot encode")
            kind, item = "string", "char"
        else:
            kind, item = "bytestring", "byte"
        size = values.dtype.itemsize
        if not size:
            values, size = values.astype("S1"), 1
        raw = np.frombuffer(values.tobytes(), "u1")
        content = contents.NumpyArray(raw, parameters={"__array__": item})
        if values.dtype.kind == "V":
            return contents.RegularArray(content, size, len(values), parameters={"__array__": kind})
        starts = np.arange(len(values), dtype="i8") * size
        lengths = np.char.str_len(values).astype("i8")
        bounds = index.Index64(starts), index.Index64(starts + lengths)
        return contents.ListArray(*bounds, content, parameters={"__array__": kind})

    def _texts(self, column: nodes.TextNode, place: str) -> Any:
        from awkward import contents

        inner = self.of(column.bytes.content, place)
        raw = inner.project() if inner.is_indexed and not inner.is_option else inner
        if not isinstance(raw, contents.NumpyArray) or raw.data.dtype != np.uint8 or raw.data.ndim != 1:
            self._unsuited(place, "has strings whose bytes are not a plain uint8 array")
        bytes_ = column.bytes
        kind, item = ("bytestring", "byte") if column.encoding is None else ("string", "char")
        if column.encoding is not None and column.encoding.lower() not in _ASCII:
            offsets, data = self._recoded(bytes_, raw.data, column.encoding, place)
            bytes_, raw = nodes.ListNode(offsets, nodes.Flat(data)), contents.NumpyArray(data)
        content = contents.NumpyArray(raw.data, parameters={"__array__": item})
        parameters = {"__array__": kind}
        if isinstance(bytes_, nodes.ListNode):
            return contents.ListOffsetArray(_index(bytes_.offsets), content, parameters=parameters)
        return contents.ListArray(*_alike(bytes_.starts, bytes_.stops), content, parameters=parameters)

    def _recoded(
        self, lists: nodes.ListNode | nodes.Spans, data: NDArray[Any], encoding: str, place: str
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return offsets and bytes of texts recoded to UTF-8, awkward's only encoding.

        The offsets are int64, shape (texts + 1,); the bytes uint8, shape
        (bytes,), as `data`.
        """
        starts, stops = nodes.bounds(lists)
        raw = data.tobytes()
        try:
            texts = [
                raw[start:stop].decode(encoding).encode()
                for start, stop in zip(starts.tolist(), stops.tolist(), strict=False)
            ]
        except (LookupError, UnicodeError) as error:
            self._unsuited(place, f"has strings that do not match their encoding: {error}")
        return nodes.offsets_of(list(map(len, texts))), np.frombuffer(b"".join(texts), "u1")

    def _table(self, column: nodes.TableNode, place: str) -> Any:
        from awkward import contents

        if len(set(column.names)) < len(column.names):
            self._unsuited(place, "has two columns of the same name")
        parts = [
            self.of(inner, nodes.below(place, name)) for name, inner in zip(column.names, column.columns, strict=True)
        ]
        return contents.RecordArray(parts, list(column.names), length=column.length)

    def _sparse(self, column: nodes.Sparse, place: str) -> Any:
        """Return a dense layout, with items from the values or the default."""
        import awkward as ak
        from awkward import contents, index

        flat = column.content
        if isinstance(flat, nodes.Flat) and (column.default is None or _fits(column.default, flat.values)):
            dense = np.zeros((column.length, *flat.values.shape[1:]), flat.values.dtype)
            if column.default is not None:
                dense[...] = column.default
            dense[column.index] = flat.values[: len(column.index)]
            return self._flat(dense, place)
        values = self.of(flat, place)[: len(column.index)]
        default = ak.from_iter([[] if column.default is None and values.is_list else column.default], highlevel=False)
        if column.default is None and not values.is_list:
            default = contents.IndexedOptionArray.simplified(index.Index64(np.array([-1])), values)
        places = np.full(column.length, len(values), "i8")
        places[column.index] = np.arange(len(values))
        return contents.IndexedArray.simplified(index.Index64(places), _joined([values, default]))

    def _union(self, column: nodes.Union, place: str) -> Any:
        from awkward import contents, index

        if len(column.contents) > MOST_CONTENTS:
            self._unsuited(
                place, f"is a union of {len(column.contents)} kinds; the limit of awkward is {MOST_CONTENTS}"
            )
        if not column.contents:
            return contents.EmptyArray()
        parts = [self.of(content, nodes.below(place, f"#{n}")) for n, content in enumerate(column.contents)]
        if len(parts) == 1:
            return contents.IndexedArray.simplified(_index(column.index[: len(column.tags)]), parts[0])
        tags = index.Index8(np.ascontiguousarray(column.tags).astype("i1", copy=False))
        places = index.Index64(np.ascontiguousarray(column.index[: len(column.tags)]).astype("i8", copy=False))
        return union_of(tags, places, parts)

    def _objects(self, column: nodes.Objects, place: str) -> Any:
        layout = self.of(column.content, place)
        call: dict[str, Any] = {"function": list(column.function)}
        if column.args:
            call["args"] = list(column.args)
        if column.kwargs:
            call["kwargs"] = dict(column.kwargs)
        return layout.copy(parameters={**(layout._parameters or {}), FUNCTION: call})

    def _unsuited(self, place: str, why: str) -> NoReturn:
        self._report.error("unsuited-array", f"`{place}` {why}")
        raise _NoLayoutError


def _index(values: NDArray[Any], *, signed: bool = False) -> Any:
    """Return positions as an awkward index; shares 32-bit and 64-bit ones.

    `values`: integers, shape (items,).
    """
    from awkward import index

    native = np.ascontiguousarray(values)
    native = native.astype(native.dtype.newbyteorder("="), copy=False)
    shared = {"i4": index.Index32, "i8": index.Index64} | ({} if signed else {"u4": index.IndexU32})
    kind = shared.get(native.dtype.str[1:])
    return index.Index64(native.astype("i8")) if kind is None else kind(native)


def _alike(starts: NDArray[Any], stops: NDArray[Any]) -> tuple[Any, Any]:
    """Return starts and stops as indexes of one width. Both: integers, shape (lists,); stops may be longer."""
    low, high = _index(starts), _index(stops[: len(starts)])
    if type(low) is type(high):
        return low, high
    return _index(starts.astype("i8")), _index(stops[: len(starts)].astype("i8"))


def _truths(mask: NDArray[Any]) -> NDArray[Any]:
    """Return a mask of bytes 0 and 1, as awkward requires: int8, in the same shape."""
    return np.ascontiguousarray(mask if mask.dtype == np.bool_ else mask != 0).view("i1")


def _rows(layout: Any, shape: tuple[int, ...]) -> Any:
    """Nest a flat layout into rows of a shape."""
    import math

    from awkward import contents

    for at in range(len(shape) - 1, 0, -1):
        layout = contents.RegularArray(layout, shape[at], math.prod(shape[:at]))
    return layout


def _joined(layouts: list[Any]) -> Any:
    """Concatenate layouts."""
    import awkward as ak
    from awkward import contents

    if not layouts:
        return contents.EmptyArray()
    if len(layouts) == 1:
        return layouts[0]
    plain = [layout.data for layout in layouts if isinstance(layout, contents.NumpyArray) and not layout._parameters]
    if len(plain) == len(layouts) and len({array.dtype for array in plain}) == 1:
        return contents.NumpyArray(np.concatenate(plain))
    return ak.concatenate(layouts, axis=0, mergebool=False, highlevel=False)


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
