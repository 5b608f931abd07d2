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


def from_buffer(given: Arguments) -> nodes.Flat:
    """Build `numpy.frombuffer`: elements of a blob, which must have exactly their bytes.

    Absolute reads allow more bytes: a last Zarr chunk is padded. Without a
    count, the bytes determine it. Raises RefusedError.
    """
    raw = given.value("buffer")
    if not isinstance(raw, StoredBlob | PackedBlob):
        raise given.wrong("buffer", "bytes of a blob")
    dtype = _dtype(given)
    count, offset = given.integer("count", -1), given.integer("offset", 0)
    assert count is not None
    assert offset is not None
    if offset < 0 or count < -1:
        name = "offset" if offset < 0 else "count"
        raise given.refused(name, f"`{name}` must not be negative: {min(offset, count)}")
    blob, width = origin(raw), dtype.itemsize
    wanted = offset + count * width if count >= 0 else None
    if wanted is not None and wanted >= LARGEST:
        raise given.refused("count", f"{count} elements of {width} bytes are more than a blob can have")
    with given.about("buffer"):
        data = given.workspace.blobs.bytes_of(raw, wanted)
    size = len(data)
    if wanted is None:
        count = (size - offset) // width if width else 0
        if size < offset or not width or count * width + offset != size:
            text = f"blob {shown(blob.key)} has {size} bytes, not whole elements of {width} from {offset}"
            raise given.refused("buffer", text, "bad-blob")
    elif size < wanted or (size > wanted and not blob.absolute):
        has = f"more than {wanted}" if size > wanted and isinstance(raw, PackedBlob) else str(size)
        text = f"blob {shown(blob.key)} has {has} bytes, but {count} elements of {width} bytes need {wanted}"
        raise given.refused("buffer", text, "bad-blob")
    if not dtype.itemsize:
        given.workspace.charge(count * 8)
        return nodes.Flat(np.zeros((count, *dtype.shape), dtype.base))
    with given.about("buffer"):
        return array_values.elements(np.frombuffer(data, dtype, count, offset) if count else np.empty(0, dtype))


def _dtype(given: Arguments) -> np.dtype[Any]:
    from nczarr.formats.awkward0.wire import dtypes

    value = given.value("dtype", "<f8")
    if isinstance(value, np.dtype):
        return value
    with given.about("dtype"):
        return dtypes.of_json(value)


def table(given: Arguments) -> nodes.TableNode:
    """Build `Table`: columns by name. Raises RefusedError."""
    value = given.value("columns1", {})
    if not isinstance(value, dict):
        raise given.wrong("columns1", "an object of arrays")
    return _table(given, "columns1", list(value.items()))


def table_of_pairs(given: Arguments) -> nodes.TableNode:
    """Build `Table.frompairs`: names and columns in order. Raises RefusedError.

    Ignores `rowstart`, which numbers rows for display.
    """
    value = given.value("pairs")
    given.integer("rowstart")
    if not isinstance(value, list | tuple) or not all(_is_pair(each) for each in value):
        raise given.wrong("pairs", "a list of names and arrays")
    return _table(given, "pairs", [(name, each) for name, each in value])


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str)


def _table(given: Arguments, name: str, pairs: list[tuple[str, Any]]) -> nodes.TableNode:
    names = tuple(each for each, _ in pairs)
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise given.refused(name, f"two columns have the name {shown(twice)}")
    columns = tuple(given.column_of(name, each) for _, each in pairs)
    return nodes.TableNode(names, columns, min(map(len, columns), default=0))


def table_view(given: Arguments) -> nodes.Column:
    """Build `Table.fromview`: all rows (null), start, step and length, or an index array. Raises RefusedError."""
    base, view = given.value("base"), given.value("view")
    if not isinstance(base, nodes.TableNode):
        raise given.wrong("base", "a table")
    rows = min(map(len, base.columns), default=0)
    if view is None:
        return base
    if isinstance(view, tuple) and len(view) == 3 and all(type(each) is int for each in view):
        start, step, length = view
        if not base.columns and 0 <= length < LARGEST:
            given.workspace.charge(length * 8)
            return nodes.TableNode((), (), length)
        last = start + step * (length - 1)
        if length < 0 or (length and not (0 <= start < rows and 0 <= last < rows)) or (length > 1 and not step):
            text = f"the rows {shown(start)}, {shown(step)}, {shown(length)} (start, step, length) are out of range"
            raise given.refused("view", f"{text}: the table has {rows}")
        if step == 1 and not start and length:
            return nodes.TableNode(base.names, base.columns, length)
        if length < 2:  # where the start of nothing and the step of one row may be anything
            return nodes.Indexed(np.full(length, start if length else 0, np.int64), base)
        return nodes.Indexed(np.arange(length, dtype=np.int64) * step + start, base)
    if not isinstance(view, nodes.Column):
        raise given.wrong("view", "a tuple of start, step and length, an array of indices, or null")
    index = given.flat_integers("view")
    if not base.columns:
        return nodes.TableNode((), (), len(index))
    _check_index(given, "view", index, rows)
    return nodes.Indexed(index, nodes.TableNode(base.names, base.columns, rows))


def masked(given: Arguments) -> nodes.Masked:
    """Build `MaskedArray`: an item is missing if its mask is `maskedwhen`. Raises RefusedError.

    Items beyond the mask are dropped.
    """
    mask = _flat(given, "mask", "|b1")
    content = given.column("content")
    if len(mask) > len(content):
        raise given.refused("mask", f"the mask has {len(mask)} items, more than the content: {len(content)}")
    if mask.dtype != np.bool_:
        mask = given.workspace.once("not zero", (mask,), lambda: mask != 0)
    return nodes.Masked(mask, content, given.flag("maskedwhen", True))


def bit_masked(given: Arguments) -> nodes.BitMasked:
    """Build `BitMaskedArray`: as `MaskedArray` with a bit mask, by default highest bit first.

    Raises RefusedError.
    """
    mask = np.ascontiguousarray(_flat(given, "mask", "|u1")).view(np.uint8)
    content = given.column("content")
    if len(mask) * 8 < len(content):
        raise given.refused(
            "mask", f"the mask has {len(mask) * 8} bits, fewer than the items of the content: {len(content)}"
        )
    return nodes.BitMasked(mask, content, given.flag("maskedwhen", True), given.flag("lsborder", False))


def _flat(given: Arguments, name: str, dtype: str) -> NDArray[Any]:
    """Return booleans or integers, shape (items,). Raises RefusedError for other elements."""
    found = given.elements(name, dtype)
    if found.ndim != 1 or found.dtype.kind not in "biu":
        raise given.refused(name, f"`{name}` must be one-dimensional booleans or integers")
    return found


def indexed(given: Arguments) -> nodes.Column:
    """Build `IndexedArray`: items of the content by number."""
    index = given.integers("index")
    content = given.column("content", later=True)
    flat = array_values.flat(index)
    given.workspace.when_known(content, lambda length: _check_index(given, "index", flat, length))
    return array_values.folded(nodes.Indexed(flat, content), index.shape)


def indexed_masked(given: Arguments) -> nodes.Indexed:
    """Build `IndexedMaskedArray`: items by number, missing where the mask is `maskedwhen`. Raises RefusedError."""
    index = given.flat_integers("mask")
    content = given.column("content", later=True)
    missing = given.integer("maskedwhen", -1)
    if missing != -1 and len(index):
        given_index = index

        def renumbered() -> NDArray[Any]:
            others = np.where(given_index < 0, np.int64(-2), given_index)
            return np.where(given_index == missing, np.int64(-1), others).astype(np.int64)

        index = given.workspace.once(f"masked by {missing}", (index,), renumbered)
    if given.bounds(index)[0] < -1:
        raise given.refused("mask", f"a negative index must be {missing}, which marks missing items")
    given.workspace.when_known(content, lambda length: _check_index(given, "mask", index, length, lowest=-1))
    return nodes.Indexed(index, content, optional=True)


def _check_index(given: Arguments, name: str, index: NDArray[Any], length: int, lowest: int = 0) -> None:
    least, most = given.bounds(index)
    if least < lowest or most >= length:
        wrong = least if least < lowest else most
        raise given.refused(name, f"the index {wrong} is out of range: the content has {length} items")


def sparse(given: Arguments) -> nodes.Sparse:
    """Build `SparseArray`: items at ascending positions, a default elsewhere.

    Without a default: zeros, or empty lists; other content raises RefusedError.
    """
    length, index, content = given.length("length"), given.flat_integers("index"), given.column("content")
    if len(index) > len(content):
        raise given.refused("index", f"there are {len(index)} positions for {len(content)} items")
    _check_index(given, "index", index, length)
    if not given.workspace.once("ascend", (index,), lambda: bool((index[1:] > index[:-1]).all())):
        raise given.refused("index", "the positions do not increase")
    default = given.value("default")
    if isinstance(default, nodes.Column):
        with given.about("default"):
            default = given.plain(default)
    if isinstance(default, StoredBlob | PackedBlob | FunctionOfDocument):
        raise given.wrong("default", "a value of an item")
    if default is None and not isinstance(content, nodes.ListNode | nodes.Spans):
        with given.about("content"):
            default = array_values.zero(given.plain(content))
    elif isinstance(content, nodes.Flat):
        with given.about("default"):
            default = array_values.element(default, content.values.shape[1:], content.values.dtype)
    else:
        with given.about("default"):
            default = array_values.item(default)
    return nodes.Sparse(length, index, content, default)


def union(given: Arguments) -> nodes.Column:
    """Build `UnionArray`: items of several contents, by tag and index. Raises RefusedError."""
    tags, index = given.integers("tags"), given.integers("index")
    contents = given.columns("contents", later=True)
    if len(index) < len(tags) or index.shape[1:] != tags.shape[1:]:
        raise given.refused("index", f"there are {len(tags)} tags of shape {tags.shape[1:]}, and {len(index)} indices")
    return _union(given, tags, array_values.flat(index if len(index) == len(tags) else index[: len(tags)]), contents)


def union_of_tags(given: Arguments) -> nodes.Column:
    """Build `UnionArray.fromtags`: items of each content in order."""
    tags, contents = given.integers("tags"), given.columns("contents", later=True)
    flat = array_values.flat(tags)
    _check_tags(given, flat, len(contents))

    def numbered() -> NDArray[Any]:
        index = np.empty(len(flat), np.int64)
        order = np.argsort(flat, kind="stable")
        counts = np.bincount(flat) if len(flat) else np.zeros(0, np.int64)
        index[order] = np.arange(len(flat)) - np.repeat(np.cumsum(counts) - counts, counts)
        return index

    return _union(given, tags, given.workspace.once("index of tags", (flat,), numbered), contents)


def _check_tags(given: Arguments, tags: NDArray[Any], count: int) -> None:
    least, most = given.bounds(tags)
    if least < 0 or most >= count:
        wrong = least if least < 0 else most
        raise given.refused("tags", f"the tag {wrong} is out of range: there are {count} contents")


def _union(
    given: Arguments, tags: NDArray[Any], index: NDArray[Any], contents: tuple[nodes.Column, ...]
) -> nodes.Column:
    flat = array_values.flat(tags)
    _check_tags(given, flat, len(contents))
    if given.bounds(index)[0] < 0:
        raise given.refused("index", f"the index {given.bounds(index)[0]} is negative")

    def highest() -> NDArray[Any]:
        found = np.full(given.bounds(flat)[1] + 1, -1, np.int64)
        np.maximum.at(found, flat, index)
        return found

    greatest = given.workspace.once("highest by tag", (flat, index), highest).tolist()
    for tag, (content, most) in enumerate(zip(contents, greatest, strict=False)):

        def check(length: int, tag: int = tag, most: int = most) -> None:
            if most >= length:
                name = "index" if "index" in given else "tags"
                raise given.refused(name, f"the index {most} is out of range: content {tag} has {length} items")

        given.workspace.when_known(content, check)
    return array_values.folded(nodes.Union(flat, index, contents), tags.shape)


def chunked(given: Arguments) -> nodes.ArrayPieces:
    """Build `ChunkedArray`: consecutive pieces; given sizes apply to the first pieces. Raises RefusedError.

    Drops empty pieces, as awkward0 does when writing: their type is not that of
    the array.
    """
    pieces = given.columns("chunks")
    sizes = given.integers("chunksizes").tolist() if "chunksizes" in given else []
    if sizes != [len(each) for each in pieces[: len(sizes)]] or len(sizes) > len(pieces):
        raise given.refused("chunksizes", "the sizes do not match the pieces")
    return nodes.ArrayPieces(tuple(each for each in pieces if len(each)) or pieces[:1])


def appendable(given: Arguments) -> nodes.ArrayPieces:
    """Build `AppendableArray`: pieces of one type, the last of which may have grown. Raises RefusedError."""
    shape = given.value("chunkshape")
    shape = (shape,) if type(shape) is int else shape
    if not isinstance(shape, list | tuple) or not shape or not all(type(each) is int and each > 0 for each in shape):
        raise given.wrong("chunkshape", "a list of positive integers")
    if "dtype" not in given:
        raise given.refused("dtype", "`dtype` is missing", "bad-awkward-expression")
    dtype = _dtype(given)
    pieces = given.columns("chunks") if "chunks" in given else ()
    for each in pieces:
        with given.about("chunks"):
            values = given.plain(each)
        if values.dtype != dtype or values.shape[1:] != tuple(shape[1:]):
            raise given.refused("chunks", f"a piece is not an array of {dtype} with shape {tuple(shape[1:])}")
    with given.about("dtype"):
        array_values.check_element(dtype, tuple(shape[1:]))
    return nodes.ArrayPieces(pieces or (nodes.Flat(np.empty((0, *shape[1:]), dtype)),))


def objects(given: Arguments) -> nodes.Objects:
    """Build `ObjectArray`: items for a function that is named but never called."""
    generator, args, kwargs = _call(given)
    args, kwargs = given.workspace.finished(args), given.workspace.finished(kwargs)
    return nodes.Objects(given.column("content"), generator.parts, args, tuple(kwargs.items()))


def virtual(given: Arguments) -> nodes.Column:
    """Build `VirtualArray`: the result of a table function, evaluated at once. Its type is ignored."""
    made = given.apply(*_call(given), given.at)
    return given.column_of("generator", made)


def _call(given: Arguments) -> tuple[FunctionOfDocument, tuple[Any, ...], dict[str, Any]]:
    """Return the function, positional and keyword arguments of a generator."""
    generator, args, kwargs = given.value("generator"), given.value("args", ()), given.value("kwargs", {})
    if not isinstance(generator, FunctionOfDocument):
        raise given.wrong("generator", "a function")
    if not isinstance(args, list | tuple):
        raise given.wrong("args", "a list")
    if not isinstance(kwargs, dict):
        raise given.wrong("kwargs", "an object")
    return generator, tuple(args), kwargs


def type_(given: Arguments) -> Any:
    """Return a type description unchanged (`awkward0.persist.json2type`); arrays have their own types."""
    return given.value("obj")
