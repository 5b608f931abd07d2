"""Constructors of the function table: columns from checked arguments.

Lengths and indices are checked as whole arrays; for an enclosing array, once
its length is known.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.awkward0.columns import nodes as nodes
from nczarr.formats.awkward0.read import array_values
from nczarr.formats.awkward0.read.arguments import Arguments
from nczarr.formats.awkward0.read.workspace import FunctionOfDocument
from nczarr.formats.awkward0.wire.blobs import PackedBlob, StoredBlob, origin
from nczarr.formats.awkward0.wire.limits import LARGEST, shown


def from_buffer(arguments: Arguments) -> nodes.Flat:
    """Build `numpy.frombuffer`: elements of a blob, which must have exactly their bytes.

    Absolute reads allow more bytes: a last Zarr chunk is padded. Without a
    count, the bytes determine it. Raises UnreadableDocumentError.
    """
    raw = arguments.value("buffer")
    if not isinstance(raw, StoredBlob | PackedBlob):
        raise arguments.wrong("buffer", "bytes of a blob")
    dtype = _dtype(arguments)
    count, offset = arguments.integer("count", -1), arguments.integer("offset", 0)
    assert count is not None
    assert offset is not None
    if offset < 0 or count < -1:
        name = "offset" if offset < 0 else "count"
        raise arguments.refused(name, f"`{name}` must not be negative: {min(offset, count)}")
    blob, width = origin(raw), dtype.itemsize
    needed = offset + count * width if count >= 0 else None
    if needed is not None and needed >= LARGEST:
        raise arguments.refused("count", f"{count} elements of {width} bytes are more than a blob can have")
    with arguments.about("buffer"):
        data = arguments.workspace.blobs.bytes_of(raw, needed)
    size = len(data)
    if needed is None:
        count = (size - offset) // width if width else 0
        if size < offset or not width or count * width + offset != size:
            text = f"blob {shown(blob.key)} has {size} bytes, not whole elements of {width} from {offset}"
            raise arguments.refused("buffer", text, "bad-blob")
    elif size < needed or (size > needed and not blob.absolute):
        has = f"more than {needed}" if size > needed and isinstance(raw, PackedBlob) else str(size)
        text = f"blob {shown(blob.key)} has {has} bytes, but {count} elements of {width} bytes need {needed}"
        raise arguments.refused("buffer", text, "bad-blob")
    if not dtype.itemsize:
        arguments.workspace.charge(count * 8)
        return nodes.Flat(np.zeros((count, *dtype.shape), dtype.base))
    with arguments.about("buffer"):
        return array_values.elements(np.frombuffer(data, dtype, count, offset) if count else np.empty(0, dtype))


def _dtype(arguments: Arguments) -> np.dtype[Any]:
    from nczarr.formats.awkward0.wire import dtypes

    value = arguments.value("dtype", "<f8")
    if isinstance(value, np.dtype):
        return value
    with arguments.about("dtype"):
        return dtypes.of_json(value)


def table(arguments: Arguments) -> nodes.TableNode:
    """Build `Table`: columns by name. Raises UnreadableDocumentError."""
    value = arguments.value("columns1", {})
    if not isinstance(value, dict):
        raise arguments.wrong("columns1", "an object of arrays")
    return _table(arguments, "columns1", list(value.items()))


def table_of_pairs(arguments: Arguments) -> nodes.TableNode:
    """Build `Table.frompairs`: names and columns in order. Raises UnreadableDocumentError.

    Ignores `rowstart`, which numbers rows for display.
    """
    value = arguments.value("pairs")
    arguments.integer("rowstart")
    if not isinstance(value, list | tuple) or not all(_is_pair(pair) for pair in value):
        raise arguments.wrong("pairs", "a list of names and arrays")
    return _table(arguments, "pairs", [(name, column) for name, column in value])


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str)


def _table(arguments: Arguments, name: str, pairs: list[tuple[str, Any]]) -> nodes.TableNode:
    names = tuple(column_name for column_name, _ in pairs)
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise arguments.refused(name, f"two columns have the name {shown(twice)}")
    columns = tuple(arguments.column_of(name, column) for _, column in pairs)
    return nodes.TableNode(names, columns, min(map(len, columns), default=0))


def table_view(arguments: Arguments) -> nodes.Column:
    """Build `Table.fromview`: all rows (null), start, step and length, or an index array.

    Raises UnreadableDocumentError.
    """
    base, view = arguments.value("base"), arguments.value("view")
    if not isinstance(base, nodes.TableNode):
        raise arguments.wrong("base", "a table")
    rows = min(map(len, base.columns), default=0)
    if view is None:
        return base
    if isinstance(view, tuple) and len(view) == 3 and all(type(number) is int for number in view):
        start, step, length = view
        if not base.columns and 0 <= length < LARGEST:
            arguments.workspace.charge(length * 8)
            return nodes.TableNode((), (), length)
        last = start + step * (length - 1)
        if length < 0 or (length and not (0 <= start < rows and 0 <= last < rows)) or (length > 1 and not step):
            text = f"the rows {shown(start)}, {shown(step)}, {shown(length)} (start, step, length) are out of range"
            raise arguments.refused("view", f"{text}: the table has {rows}")
        if step == 1 and not start and length:
            return nodes.TableNode(base.names, base.columns, length)
        if length < 2:  # where the start of nothing and the step of one row may be anything
            return nodes.Indexed(np.full(length, start if length else 0, np.int64), base)
        return nodes.Indexed(np.arange(length, dtype=np.int64) * step + start, base)
    if not isinstance(view, nodes.Column):
        raise arguments.wrong("view", "a tuple of start, step and length, an array of indices, or null")
    index = arguments.flat_integers("view")
    if not base.columns:
        return nodes.TableNode((), (), len(index))
    _check_index(arguments, "view", index, rows)
    return nodes.Indexed(index, nodes.TableNode(base.names, base.columns, rows))


def masked(arguments: Arguments) -> nodes.Masked:
    """Build `MaskedArray`: an item is missing if its mask is `maskedwhen`. Raises UnreadableDocumentError.

    Items beyond the mask are dropped.
    """
    mask = _flat(arguments, "mask", "|b1")
    content = arguments.column("content")
    if len(mask) > len(content):
        raise arguments.refused("mask", f"the mask has {len(mask)} items, more than the content: {len(content)}")
    if mask.dtype != np.bool_:
        mask = arguments.workspace.once("not zero", (mask,), lambda: mask != 0)
    return nodes.Masked(mask, content, arguments.flag("maskedwhen", True))


def bit_masked(arguments: Arguments) -> nodes.BitMasked:
    """Build `BitMaskedArray`: as `MaskedArray` with a bit mask, by default highest bit first.

    Raises UnreadableDocumentError.
    """
    mask = np.ascontiguousarray(_flat(arguments, "mask", "|u1")).view(np.uint8)
    content = arguments.column("content")
    if len(mask) * 8 < len(content):
        raise arguments.refused(
            "mask", f"the mask has {len(mask) * 8} bits, fewer than the items of the content: {len(content)}"
        )
    return nodes.BitMasked(mask, content, arguments.flag("maskedwhen", True), arguments.flag("lsborder", False))


def _flat(arguments: Arguments, name: str, dtype: str) -> NDArray[Any]:
    """Return booleans or integers, shape (items,). Raises UnreadableDocumentError for other elements."""
    elements = arguments.elements(name, dtype)
    if elements.ndim != 1 or elements.dtype.kind not in "biu":
        raise arguments.refused(name, f"`{name}` must be one-dimensional booleans or integers")
    return elements


def indexed(arguments: Arguments) -> nodes.Column:
    """Build `IndexedArray`: items of the content by number."""
    index = arguments.integers("index")
    content = arguments.column("content", later=True)
    flat = array_values.flat(index)
    arguments.workspace.when_known(content, lambda length: _check_index(arguments, "index", flat, length))
    return array_values.folded(nodes.Indexed(flat, content), index.shape)


def indexed_masked(arguments: Arguments) -> nodes.Indexed:
    """Build `IndexedMaskedArray`: items by number, missing where the mask is `maskedwhen`.

    Raises UnreadableDocumentError.
    """
    index = arguments.flat_integers("mask")
    content = arguments.column("content", later=True)
    missing = arguments.integer("maskedwhen", -1)
    if missing != -1 and len(index):
        given_index = index

        def renumbered() -> NDArray[Any]:
            others = np.where(given_index < 0, np.int64(-2), given_index)
            return np.where(given_index == missing, np.int64(-1), others).astype(np.int64)

        index = arguments.workspace.once(f"masked by {missing}", (index,), renumbered)
    if arguments.bounds(index)[0] < -1:
        raise arguments.refused("mask", f"a negative index must be {missing}, which marks missing items")
    arguments.workspace.when_known(content, lambda length: _check_index(arguments, "mask", index, length, lowest=-1))
    return nodes.Indexed(index, content, optional=True)


def _check_index(arguments: Arguments, name: str, index: NDArray[Any], length: int, lowest: int = 0) -> None:
    least, most = arguments.bounds(index)
    if least < lowest or most >= length:
        wrong = least if least < lowest else most
        raise arguments.refused(name, f"the index {wrong} is out of range: the content has {length} items")


def sparse(arguments: Arguments) -> nodes.Sparse:
    """Build `SparseArray`: items at ascending positions, a default elsewhere.

    Without a default: zeros, or empty lists; other content raises UnreadableDocumentError.
    """
    length, index, content = arguments.length("length"), arguments.flat_integers("index"), arguments.column("content")
    if len(index) > len(content):
        raise arguments.refused("index", f"there are {len(index)} positions for {len(content)} items")
    _check_index(arguments, "index", index, length)
    if not arguments.workspace.once("ascend", (index,), lambda: bool((index[1:] > index[:-1]).all())):
        raise arguments.refused("index", "the positions do not increase")
    default = arguments.value("default")
    if isinstance(default, nodes.Column):
        with arguments.about("default"):
            default = arguments.plain(default)
    if isinstance(default, StoredBlob | PackedBlob | FunctionOfDocument):
        raise arguments.wrong("default", "a value of an item")
    if default is None and not isinstance(content, nodes.ListNode | nodes.Spans):
        with arguments.about("content"):
            default = array_values.zero(arguments.plain(content))
    elif isinstance(content, nodes.Flat):
        with arguments.about("default"):
            default = array_values.element(default, content.values.shape[1:], content.values.dtype)
    else:
        with arguments.about("default"):
            default = array_values.item(default)
    return nodes.Sparse(length, index, content, default)


def union(arguments: Arguments) -> nodes.Column:
    """Build `UnionArray`: items of several contents, by tag and index. Raises UnreadableDocumentError."""
    tags, index = arguments.integers("tags"), arguments.integers("index")
    contents = arguments.columns("contents", later=True)
    if len(index) < len(tags) or index.shape[1:] != tags.shape[1:]:
        raise arguments.refused(
            "index", f"there are {len(tags)} tags of shape {tags.shape[1:]}, and {len(index)} indices"
        )
    return _union(
        arguments, tags, array_values.flat(index if len(index) == len(tags) else index[: len(tags)]), contents
    )


def union_of_tags(arguments: Arguments) -> nodes.Column:
    """Build `UnionArray.fromtags`: items of each content in order."""
    tags, contents = arguments.integers("tags"), arguments.columns("contents", later=True)
    flat = array_values.flat(tags)
    _check_tags(arguments, flat, len(contents))

    def numbered() -> NDArray[Any]:
        index = np.empty(len(flat), np.int64)
        order = np.argsort(flat, kind="stable")
        counts = np.bincount(flat) if len(flat) else np.zeros(0, np.int64)
        index[order] = np.arange(len(flat)) - np.repeat(np.cumsum(counts) - counts, counts)
        return index

    return _union(arguments, tags, arguments.workspace.once("index of tags", (flat,), numbered), contents)


def _check_tags(arguments: Arguments, tags: NDArray[Any], count: int) -> None:
    least, most = arguments.bounds(tags)
    if least < 0 or most >= count:
        wrong = least if least < 0 else most
        raise arguments.refused("tags", f"the tag {wrong} is out of range: there are {count} contents")


def _union(
    arguments: Arguments, tags: NDArray[Any], index: NDArray[Any], contents: tuple[nodes.Column, ...]
) -> nodes.Column:
    flat = array_values.flat(tags)
    _check_tags(arguments, flat, len(contents))
    if arguments.bounds(index)[0] < 0:
        raise arguments.refused("index", f"the index {arguments.bounds(index)[0]} is negative")

    def highest() -> NDArray[Any]:
        maxima = np.full(arguments.bounds(flat)[1] + 1, -1, np.int64)
        np.maximum.at(maxima, flat, index)
        return maxima

    greatest = arguments.workspace.once("highest by tag", (flat, index), highest).tolist()
    for tag, (content, most) in enumerate(zip(contents, greatest, strict=False)):

        def check(length: int, tag: int = tag, most: int = most) -> None:
            if most >= length:
                name = "index" if "index" in arguments else "tags"
                raise arguments.refused(name, f"the index {most} is out of range: content {tag} has {length} items")

        arguments.workspace.when_known(content, check)
    return array_values.folded(nodes.Union(flat, index, contents), tags.shape)


def chunked(arguments: Arguments) -> nodes.ArrayPieces:
    """Build `ChunkedArray`: consecutive pieces; given sizes apply to the first pieces. Raises UnreadableDocumentError.

    Drops empty pieces, as awkward0 does when writing: their type is not that of
    the array.
    """
    pieces = arguments.columns("chunks")
    sizes = arguments.integers("chunksizes").tolist() if "chunksizes" in arguments else []
    if sizes != [len(piece) for piece in pieces[: len(sizes)]] or len(sizes) > len(pieces):
        raise arguments.refused("chunksizes", "the sizes do not match the pieces")
    return nodes.ArrayPieces(tuple(piece for piece in pieces if len(piece)) or pieces[:1])


def appendable(arguments: Arguments) -> nodes.ArrayPieces:
    """Build `AppendableArray`: pieces of one type, the last of which may have grown. Raises UnreadableDocumentError."""
    shape = arguments.value("chunkshape")
    shape = (shape,) if type(shape) is int else shape
    if (
        not isinstance(shape, list | tuple)
        or not shape
        or not all(type(length) is int and length > 0 for length in shape)
    ):
        raise arguments.wrong("chunkshape", "a list of positive integers")
    if "dtype" not in arguments:
        raise arguments.refused("dtype", "`dtype` is missing", "bad-awkward-expression")
    dtype = _dtype(arguments)
    pieces = arguments.columns("chunks") if "chunks" in arguments else ()
    for piece in pieces:
        with arguments.about("chunks"):
            values = arguments.plain(piece)
        if values.dtype != dtype or values.shape[1:] != tuple(shape[1:]):
            raise arguments.refused("chunks", f"a piece is not an array of {dtype} with shape {tuple(shape[1:])}")
    with arguments.about("dtype"):
        array_values.check_element(dtype, tuple(shape[1:]))
    return nodes.ArrayPieces(pieces or (nodes.Flat(np.empty((0, *shape[1:]), dtype)),))


def objects(arguments: Arguments) -> nodes.Objects:
    """Build `ObjectArray`: items for a function that is named but never called."""
    generator, args, kwargs = _call(arguments)
    args, kwargs = arguments.workspace.finished(args), arguments.workspace.finished(kwargs)
    return nodes.Objects(arguments.column("content"), generator.parts, args, tuple(kwargs.items()))


def virtual(arguments: Arguments) -> nodes.Column:
    """Build `VirtualArray`: the result of a table function, evaluated at once. Its type is ignored."""
    column = arguments.apply(*_call(arguments), arguments.at)
    return arguments.column_of("generator", column)


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


def type_(arguments: Arguments) -> Any:
    """Return a type description unchanged (`awkward0.persist.json2type`); arrays have their own types."""
    return arguments.value("obj")
