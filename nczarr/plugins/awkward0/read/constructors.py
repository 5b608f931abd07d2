"""Constructors of the function table: columns from checked arguments.

Lengths and indices are checked as whole arrays; for an enclosing array, once
its length is known. All raise UnreadableDocumentError.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.awkward0.columns import nodes
from nczarr.plugins.awkward0.columns.nodes import Column, Flat, offsets_of
from nczarr.plugins.awkward0.read import array_values
from nczarr.plugins.awkward0.read.arguments import Arguments, FunctionOfDocument
from nczarr.plugins.awkward0.read.array_values import flat, fold
from nczarr.plugins.awkward0.wire import dtypes
from nczarr.plugins.awkward0.wire.blobs import PackedBlob, StoredBlob, origin
from nczarr.plugins.awkward0.wire.limits import LARGEST, show

ENCODINGS = {
    name.replace("-", ""): name
    for name in ("utf-8", "ascii", "latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
} | {"iso88591": "latin-1", "usascii": "ascii"}
"""Text encodings by name without hyphens and underscores."""


def from_buffer(arguments: Arguments) -> Flat:
    """Build `numpy.frombuffer`: elements of a blob, which must have exactly their bytes.

    Absolute reads allow more bytes: a last Zarr chunk is padded. Without a
    count, the bytes determine it.
    """
    raw = arguments.value("buffer")
    if not isinstance(raw, StoredBlob | PackedBlob):
        raise arguments.wrong("buffer", "bytes of a blob")
    dtype = _dtype(arguments)
    count, offset = arguments.integer("count", -1) or 0, arguments.integer("offset", 0) or 0
    if offset < 0 or count < -1:
        name = "offset" if offset < 0 else "count"
        raise arguments.refuse(name, f"`{name}` must not be negative: {min(offset, count)}")
    blob, width = origin(raw), dtype.itemsize
    needed = offset + count * width if count >= 0 else None
    if needed is not None and needed >= LARGEST:
        raise arguments.refuse("count", f"{count} elements of {width} bytes are more than a blob can have")
    with arguments.about("buffer"):
        data = arguments.workspace.blobs.bytes_of(raw, needed)
    size = len(data)
    if needed is None:
        count = (size - offset) // width if width else 0
        if size < offset or not width or count * width + offset != size:
            text = f"blob {show(blob.key)} has {size} bytes, not whole elements of {width} from {offset}"
            raise arguments.refuse("buffer", text, "bad-blob")
    elif size < needed or (size > needed and not blob.absolute):  # awkward0 does not compare: NumPy cuts longer blobs
        has = f"more than {needed}" if size > needed and isinstance(raw, PackedBlob) else str(size)
        text = f"blob {show(blob.key)} has {has} bytes, but {count} elements of {width} bytes need {needed}"
        raise arguments.refuse("buffer", text, "bad-blob")
    if not width:
        arguments.workspace.charge(count * 8)
        return Flat(np.zeros((count, *dtype.shape), dtype.base))
    with arguments.about("buffer"):
        return array_values.elements(np.frombuffer(data, dtype, count, offset) if count else np.empty(0, dtype))


def _dtype(arguments: Arguments) -> np.dtype[Any]:
    value = arguments.value("dtype", "<f8")
    if isinstance(value, np.dtype):
        return value
    with arguments.about("dtype"):
        return dtypes.of_json(value)


# ---- lists and texts -------------------------------------------------------------------------------------------------


def of_counts(arguments: Arguments, *, texts: bool) -> Column:
    """Build `fromcounts`: consecutive lists or texts; counts may be multidimensional."""
    every, content = arguments.integers("counts"), _content(arguments, texts=texts)
    counts = flat(every)
    least, most = arguments.bounds(counts)
    if least < 0:
        raise arguments.refuse("counts", f"count {int(np.argmax(counts < 0))} is negative: {least}")
    if most * len(counts) >= LARGEST:
        total = (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())
        if total >= LARGEST:
            raise arguments.refuse("counts", "the counts add up to 2^63 or more")
    offsets = arguments.workspace.once("offsets", (counts,), lambda: offsets_of(counts))
    _check_content(arguments, "counts", content, int(offsets[-1]), "the counts add up to")
    return fold(_finish(arguments, nodes.ListNode(offsets, content), texts=texts), every.shape)


def of_offsets(arguments: Arguments, *, texts: bool) -> Column:
    """Build `fromoffsets`: item i lies between offsets i and i + 1."""
    content, offsets = _content(arguments, texts=texts), arguments.flat_integers("offsets")
    ascend = arguments.workspace.once(
        "must not decrease", (offsets,), lambda: bool((offsets[1:] >= offsets[:-1]).all())
    )
    if not len(offsets) or int(offsets[0]) < 0 or not ascend:
        raise arguments.refuse("offsets", "the offsets are missing, negative or not increasing")
    _check_content(arguments, "offsets", content, int(offsets[-1]), "the last offset is")
    return _finish(arguments, nodes.ListNode(offsets, content), texts=texts)


def of_spans(arguments: Arguments, *, texts: bool) -> Column:
    """Build `JaggedArray` or `StringArray` from starts and stops, in any order and shape.

    Empty lists may start anywhere from 0 on, as in awkward0.
    """
    starts, content, stops = arguments.integers("starts"), _content(arguments, texts=texts), arguments.integers("stops")
    if len(stops) < len(starts) or stops.shape[1:] != starts.shape[1:]:
        text = f"there are {len(starts)} starts of shape {starts.shape[1:]}, and {len(stops)} stops"
        raise arguments.refuse("stops", text)
    begins, ends = flat(starts), flat(stops if len(stops) == len(starts) else stops[: len(starts)])
    _check_natural(arguments, "starts", "start", begins)

    def furthest() -> int | None:
        filled = ends[ends > begins]
        return None if bool((ends < begins).any()) else int(filled.max()) if len(filled) else 0

    last = arguments.workspace.once("furthest", (begins, ends), furthest)
    if last is None:
        raise arguments.refuse("stops", "a list ends before it starts")
    _check_content(arguments, "stops", content, last, "a list ends at")
    return fold(_finish(arguments, nodes.Spans(begins, ends, content), texts=texts), starts.shape)


def _content(arguments: Arguments, *, texts: bool) -> Column:
    """Return the content of lists, or the bytes of texts."""
    if not texts:
        return arguments.column("content", later=True)
    values = arguments.elements("content", "|u1")
    if values.ndim != 1 or values.dtype.kind not in "iuS" or values.dtype.itemsize != 1:
        if not len(values):
            return Flat(np.empty(0, np.uint8))
        raise arguments.refuse("content", f"strings must consist of bytes, not {values.dtype}")
    return Flat(np.ascontiguousarray(values).view(np.uint8))


def _finish(arguments: Arguments, lists: nodes.ListNode | nodes.Spans, *, texts: bool) -> Column:
    """Return the lists, or with `texts` strings of their bytes, in the encoding that the arguments name."""
    if not texts:
        return lists
    encoding = arguments.value("encoding", "utf-8")
    if encoding is not None and not isinstance(encoding, str):
        raise arguments.wrong("encoding", "a string or null")
    if encoding is None:
        return nodes.TextNode(lists, None)
    name = ENCODINGS.get(encoding.lower().replace("-", "").replace("_", ""))
    if name is None:
        raise arguments.refuse("encoding", f"the encoding {show(encoding)} is unknown")
    return nodes.TextNode(lists, name)


def _check_content(arguments: Arguments, name: str, content: Column, last: int, what: str) -> None:
    """Check that the content reaches to the end of the last list, once its length is known."""

    def check(length: int) -> None:
        if last > length:
            raise arguments.refuse(name, f"{what} {last}, but the content has {length} items")

    arguments.workspace.when_known(content, check)


def _check_natural(arguments: Arguments, name: str, what: str, numbers: NDArray[Any]) -> None:
    """Check that no integer is negative."""
    if arguments.bounds(numbers)[0] < 0:
        raise arguments.refuse(name, f"the {what} {arguments.bounds(numbers)[0]} is negative")


# ---- tables ----------------------------------------------------------------------------------------------------------


def table(arguments: Arguments) -> nodes.TableNode:
    """Build `Table`: columns by name."""
    value = arguments.value("columns1", {})
    if not isinstance(value, dict):
        raise arguments.wrong("columns1", "an object of arrays")
    return _table(arguments, "columns1", value.items())


def table_of_pairs(arguments: Arguments) -> nodes.TableNode:
    """Build `Table.frompairs`: names and columns in order. Ignores `rowstart`, which numbers rows for display."""
    value = arguments.value("pairs")
    arguments.integer("rowstart")
    if not isinstance(value, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in value
    ):
        raise arguments.wrong("pairs", "a list of names and arrays")
    return _table(arguments, "pairs", value)


def _table(arguments: Arguments, name: str, pairs: Iterable[Any]) -> nodes.TableNode:
    """Make a table of pairs (name, column); it is as long as the shortest column."""
    pairs = list(pairs)
    names = tuple(column_name for column_name, _ in pairs)
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise arguments.refuse(name, f"two columns have the name {show(twice)}")
    columns = tuple(arguments.column_of(name, column) for _, column in pairs)
    return nodes.TableNode(names, columns, min(map(len, columns), default=0))


def table_view(arguments: Arguments) -> Column:
    """Build `Table.fromview`: all rows (null), start, step and length, or an index array."""
    base, view = arguments.value("base"), arguments.value("view")
    if not isinstance(base, nodes.TableNode):
        raise arguments.wrong("base", "a table")
    rows = min(map(len, base.columns), default=0)
    if view is None:
        return base
    # start, step and length: not those of Python's slice
    if isinstance(view, tuple) and len(view) == 3 and all(type(number) is int for number in view):
        start, step, length = view
        if not base.columns and 0 <= length < LARGEST:
            arguments.workspace.charge(length * 8)
            return nodes.TableNode((), (), length)
        last = start + step * (length - 1)
        if length < 0 or (length and not (0 <= start < rows and 0 <= last < rows)) or (length > 1 and not step):
            text = f"the rows {show(start)}, {show(step)}, {show(length)} (start, step, length) are out of range"
            raise arguments.refuse("view", f"{text}: the table has {rows}")
        if step == 1 and not start and length:
            return nodes.TableNode(base.names, base.columns, length)
        if length < 2:  # where the start of nothing and the step of one row may be anything
            return nodes.Indexed(np.full(length, start if length else 0, np.int64), base)
        return nodes.Indexed(np.arange(length, dtype=np.int64) * step + start, base)
    if not isinstance(view, Column):
        raise arguments.wrong("view", "a tuple of start, step and length, an array of indices, or null")
    index = arguments.flat_integers("view")
    if not base.columns:
        return nodes.TableNode((), (), len(index))
    _check_index(arguments, "view", index, rows)
    return nodes.Indexed(index, nodes.TableNode(base.names, base.columns, rows))


# ---- missing and selected items --------------------------------------------------------------------------------------


def build_masked(arguments: Arguments) -> nodes.Masked:
    """Build `MaskedArray`: an item is missing if its mask is `maskedwhen`. Items beyond the mask are dropped."""
    mask, content = _flat(arguments, "mask", "|b1"), arguments.column("content")
    if len(mask) > len(content):
        raise arguments.refuse("mask", f"the mask has {len(mask)} items, more than the content: {len(content)}")
    if mask.dtype != np.bool_:
        mask = arguments.workspace.once("not zero", (mask,), lambda: mask != 0)
    return nodes.Masked(mask, content, arguments.flag("maskedwhen", True))


def bit_masked(arguments: Arguments) -> nodes.BitMasked:
    """Build `BitMaskedArray`: as `MaskedArray` with a bit mask, by default highest bit first."""
    mask = np.ascontiguousarray(_flat(arguments, "mask", "|u1")).view(np.uint8)
    content, count = arguments.column("content"), len(mask) * 8
    if count < len(content):
        text = f"the mask has {count} bits, fewer than the items of the content: {len(content)}"
        raise arguments.refuse("mask", text)
    return nodes.BitMasked(mask, content, arguments.flag("maskedwhen", True), arguments.flag("lsborder", False))


def _flat(arguments: Arguments, name: str, dtype: str) -> NDArray[Any]:
    """Return booleans or integers, shape (items,)."""
    elements = arguments.elements(name, dtype)
    if elements.ndim != 1 or elements.dtype.kind not in "biu":
        raise arguments.refuse(name, f"`{name}` must be one-dimensional booleans or integers")
    return elements


def build_indexed(arguments: Arguments) -> Column:
    """Build `IndexedArray`: items of the content by number."""
    every, content = arguments.integers("index"), arguments.column("content", later=True)
    index = flat(every)
    arguments.workspace.when_known(content, lambda length: _check_index(arguments, "index", index, length))
    return fold(nodes.Indexed(index, content), every.shape)


def build_indexed_masked(arguments: Arguments) -> nodes.Indexed:
    """Build `IndexedMaskedArray`: items by number, missing where the mask is `maskedwhen`."""
    mask, content = arguments.flat_integers("mask"), arguments.column("content", later=True)
    missing, index = arguments.integer("maskedwhen", -1), mask  # awkward0 writes -1
    if missing != -1 and len(mask):

        def renumber() -> NDArray[Any]:
            others = np.where(mask < 0, np.int64(-2), mask)
            return np.where(mask == missing, np.int64(-1), others).astype(np.int64)

        index = arguments.workspace.once(f"masked by {missing}", (mask,), renumber)
    if arguments.bounds(index)[0] < -1:
        raise arguments.refuse("mask", f"a negative index must be {missing}, which marks missing items")
    arguments.workspace.when_known(content, lambda length: _check_index(arguments, "mask", index, length, lowest=-1))
    return nodes.Indexed(index, content, optional=True)


def _check_index(arguments: Arguments, name: str, index: NDArray[Any], length: int, lowest: int = 0) -> None:
    least, most = arguments.bounds(index)
    if least < lowest or most >= length:
        wrong = least if least < lowest else most
        raise arguments.refuse(name, f"the index {wrong} is out of range: the content has {length} items")


def sparse(arguments: Arguments) -> nodes.Sparse:
    """Build `SparseArray`: items at ascending positions, a default elsewhere; without one zeros, or empty lists."""
    length, index, content = arguments.length("length"), arguments.flat_integers("index"), arguments.column("content")
    if len(index) > len(content):
        raise arguments.refuse("index", f"there are {len(index)} positions for {len(content)} items")
    _check_index(arguments, "index", index, length)
    if not arguments.workspace.once("ascend", (index,), lambda: bool((index[1:] > index[:-1]).all())):
        raise arguments.refuse("index", "the positions do not increase")
    default = arguments.value("default")
    with arguments.about("default"):
        if isinstance(default, Column):
            default = arguments.plain(default)
    if isinstance(default, StoredBlob | PackedBlob | FunctionOfDocument):
        raise arguments.wrong("default", "a value of an item")
    if default is None and not isinstance(content, nodes.ListNode | nodes.Spans):
        with arguments.about("content"):
            return nodes.Sparse(length, index, content, array_values.zero(arguments.plain(content)))
    with arguments.about("default"):
        if isinstance(content, Flat):
            default = array_values.element(default, content.values.shape[1:], content.values.dtype)
        else:
            default = array_values.item(default)
    return nodes.Sparse(length, index, content, default)


# ---- several arrays --------------------------------------------------------------------------------------------------


def union(arguments: Arguments) -> Column:
    """Build `UnionArray`: items of several contents, by tag and index."""
    tags, index = arguments.integers("tags"), arguments.integers("index")
    contents = arguments.columns("contents", later=True)
    if len(index) < len(tags) or index.shape[1:] != tags.shape[1:]:
        text = f"there are {len(tags)} tags of shape {tags.shape[1:]}, and {len(index)} indices"
        raise arguments.refuse("index", text)
    return _union(arguments, tags, flat(index if len(index) == len(tags) else index[: len(tags)]), contents)


def union_of_tags(arguments: Arguments) -> Column:
    """Build `UnionArray.fromtags`: items of each content in order."""
    every, contents = arguments.integers("tags"), arguments.columns("contents", later=True)
    tags = flat(every)
    _check_tags(arguments, tags, len(contents))

    def number_items() -> NDArray[Any]:
        index = np.empty(len(tags), np.int64)
        counts = np.bincount(tags) if len(tags) else np.zeros(0, np.int64)
        index[np.argsort(tags, kind="stable")] = np.arange(len(tags)) - np.repeat(np.cumsum(counts) - counts, counts)
        return index

    return _union(arguments, every, arguments.workspace.once("index of tags", (tags,), number_items), contents)


def _check_tags(arguments: Arguments, tags: NDArray[Any], count: int) -> None:
    least, most = arguments.bounds(tags)
    if least < 0 or most >= count:
        wrong = least if least < 0 else most
        raise arguments.refuse("tags", f"the tag {wrong} is out of range: there are {count} contents")


def _union(arguments: Arguments, every: NDArray[Any], index: NDArray[Any], contents: tuple[Column, ...]) -> Column:
    """Make a union of contents by tags; each content's length is checked against the index as soon as it is known."""
    tags = flat(every)
    _check_tags(arguments, tags, len(contents))
    _check_natural(arguments, "index", "index", index)

    def highest() -> NDArray[Any]:
        maxima = np.full(arguments.bounds(tags)[1] + 1, -1, np.int64)
        np.maximum.at(maxima, tags, index)
        return maxima

    greatest = arguments.workspace.once("highest by tag", (tags, index), highest).tolist()
    for tag, (content, most) in enumerate(zip(contents, greatest, strict=False)):

        def check(length: int, tag: int = tag, most: int = most) -> None:
            if most >= length:
                name = "index" if "index" in arguments else "tags"
                raise arguments.refuse(name, f"the index {most} is out of range: content {tag} has {length} items")

        arguments.workspace.when_known(content, check)
    return fold(nodes.Union(tags, index, contents), every.shape)


def build_chunked(arguments: Arguments) -> nodes.ArrayPieces:
    """Build `ChunkedArray`: consecutive pieces; sizes apply to the first pieces.

    Drops empty pieces, as awkward0 does when writing: their type is not that of
    the array.
    """
    pieces = arguments.columns("chunks")
    sizes = arguments.integers("chunksizes").tolist() if "chunksizes" in arguments else []
    if sizes != [len(piece) for piece in pieces[: len(sizes)]] or len(sizes) > len(pieces):
        raise arguments.refuse("chunksizes", "the sizes do not match the pieces")
    return nodes.ArrayPieces(tuple(piece for piece in pieces if len(piece)) or pieces[:1])


def appendable(arguments: Arguments) -> nodes.ArrayPieces:
    """Build `AppendableArray`: pieces of one type, the last of which may have grown."""
    shape = arguments.value("chunkshape")
    shape = [shape] if type(shape) is int else shape
    positive = isinstance(shape, list | tuple) and all(type(length) is int and length > 0 for length in shape)
    if not positive or not shape:
        raise arguments.wrong("chunkshape", "a list of positive integers")
    if "dtype" not in arguments:
        raise arguments.refuse("dtype", "`dtype` is missing", "bad-awkward-expression")
    dtype, rows = _dtype(arguments), tuple(shape[1:])
    pieces = arguments.columns("chunks") if "chunks" in arguments else ()
    for piece in pieces:
        with arguments.about("chunks"):
            values = arguments.plain(piece)
        if values.dtype != dtype or values.shape[1:] != rows:
            raise arguments.refuse("chunks", f"a piece is not an array of {dtype} with shape {rows}")
    with arguments.about("dtype"):
        array_values.check_element(dtype, rows)
    return nodes.ArrayPieces(pieces or (Flat(np.empty((0, *rows), dtype)),))


def objects(arguments: Arguments) -> nodes.Objects:
    """Build `ObjectArray`: items for a function that is named but never called."""
    generator, args, kwargs = _call(arguments)
    args, kwargs = arguments.workspace.finish(args), arguments.workspace.finish(kwargs)
    return nodes.Objects(arguments.column("content"), generator.parts, args, tuple(kwargs.items()))


def virtual(arguments: Arguments) -> Column:
    """Build `VirtualArray`: the result of a table function, evaluated at once. Its type is ignored."""
    return arguments.column_of("generator", arguments.apply(*_call(arguments), arguments.at))


def _call(arguments: Arguments) -> tuple[FunctionOfDocument, tuple[Any, ...], dict[str, Any]]:
    """Return the function, positional and keyword arguments of a generator."""
    generator, args, kwargs = arguments.value("generator"), arguments.value("args", ()), arguments.value("kwargs", {})
    if not isinstance(generator, FunctionOfDocument):
        raise arguments.wrong("generator", "a function")
    if not isinstance(args, list | tuple):
        raise arguments.wrong("args", "a list")
    if not isinstance(kwargs, dict):
        raise arguments.wrong("kwargs", "an object")
    return generator, tuple(args), kwargs
