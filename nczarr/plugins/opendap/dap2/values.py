"""Values of a dataset as XDR and as readable text: the bodies of DAP2 responses, in pieces.

Numbers are converted in cache-sized pieces; arrays are never held whole. Floats in texts have as many digits as they
need.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, all_of, lengths_of, linear_pieces
from nczarr.arrays.sources.bands import slabs
from nczarr.arrays.sources.source import ArraySource, Parts, itemsize, little
from nczarr.arrays.values.parts import PartLeaf, PartTree, RecordTree, part_tree
from nczarr.ast import ATOMIC
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.common.selected_parts import select_parts
from nczarr.plugins.opendap.common.words import EXACT, WIDE, xdr_padding
from nczarr.plugins.opendap.dap2.declarations import DdsNode, Mapping, dds, mapping, size_of
from nczarr.plugins.opendap.dap2.dialect import OTHER_SIGN, RecastIntegers, find_stored_type, quote
from nczarr.semantics.checked import Checked

PIECE = 4 << 20
"""Approximate bytes of numbers read at once."""

CONVERTED = 1 << 18
"""Bytes converted at once."""

TEXTS = 1 << 14
"""Texts or records converted at once."""

Column: TypeAlias = "NDArray[Any] | list[bytes]"
"""XDR of one member of records: uint8 (records, bytes), or bytes for each record."""


SMALL = 1 << 12
"""Elements of a variable up to which libnetcdf requests it together with all others that are as small."""

MOST_SMALL = 1 << 22
"""Maximum bytes of small variables whose values are looked at before they are offered."""


class InexactError(ValueError):
    """A value that no type of DAP2 represents."""


def map_sendable(checked: Checked, name: str) -> Mapping:
    """Return the nodes of a dataset, without small variables of 64-bit integers that no type of DAP2 represents.

    libnetcdf requests all small variables at once, and a response has all its
    variables or none: one such value would hide the others. Large variables are
    requested alone, and refused. `name`: name of the dataset in the documents.
    """
    mapped, room = mapping(checked, name), MOST_SMALL
    unsayable: dict[str, str] = {}
    for node in mapped.nodes.values():
        own = node.members[0] if node.kind == "grid" else node
        if any(leaf.type in WIDE and often * leaf.cells <= SMALL for leaf, often in own.leaves()):
            room -= size_of((own,))
            if room < 0:
                break
            try:
                deque(values(checked, own), maxlen=0)
            except InexactError as error:
                unsayable[own.fqn] = "it has " + str(error).removeprefix(f"`{own.fqn}` has ")
            except (OSError, CompileError):  # damaged chunks: a request of the variable says so
                continue
    return mapping(checked, name, unsayable) if unsayable else mapped


def response(mapped: Mapping, nodes: tuple[DdsNode, ...]) -> Iterator[bytes]:
    """Yield the data response: declarations, `Data:`, values. Raises OSError, InexactError."""
    yield dds(mapped, nodes).encode() + b"\nData:\n"  # the specification: the DDS, a line `Data:`, the values
    for node in nodes:
        yield from values(mapped.checked, node)


def values(checked: Checked, node: DdsNode) -> Iterator[bytes]:
    """Yield the values of a node. Raises OSError, InexactError."""
    if node.kind == "element":
        yield from _write_array(node, sources_of(checked, node)[""])
    elif node.kind == "structure":
        yield from _records(checked, node)
    else:
        for member in node.members:
            yield from values(checked, member)


def sources_of(checked: Checked, node: DdsNode) -> Parts:
    """Return arrays with exactly the requested cells of a variable."""
    shape = checked.shapes[node.fqn]
    ranges = tuple(axis.indices for axis in node.axes)[: len(shape)]
    parts = select_parts(checked, node.fqn, (*ranges, *map(range, shape[len(ranges) :])))
    is_recast = node.type == OTHER_SIGN.get(find_stored_type(checked, node.fqn))
    return {"": RecastIntegers(parts[""], node.type)} if is_recast else parts


def _write_array(leaf: DdsNode, source: ArraySource) -> Iterator[bytes]:
    """Yield an array or scalar."""
    if not leaf.element.array:
        if leaf.axes:
            yield _word(leaf.cells)  # DAP2: once before texts
        for texts in text_slabs(leaf, source):
            yield b"".join(map(xdr_text, texts))
        return
    if leaf.axes:
        yield _word(leaf.cells) * 2  # DAP2: twice before numbers
    for part in slabs(source, max(1, PIECE // max(1, itemsize(source.layout.dtype)))):
        step = CONVERTED // part.dtype.itemsize or len(part)
        for start in range(0, len(part), step):
            yield _numbers(part[start : start + step], leaf).tobytes()
    yield _padding(leaf)


def _padding(leaf: DdsNode) -> bytes:
    """Return the bytes behind an array."""
    return bytes(xdr_padding(leaf.cells)) if leaf.axes and leaf.element.array == "|u1" else b""  # XDR packs bytes alone


def _numbers(part: NDArray[Any], leaf: DdsNode) -> NDArray[Any]:
    """Return numbers in their XDR dtype, of opaque values (cells,) the requested bytes (cells, bytes).

    Raises InexactError.
    """
    part = np.ascontiguousarray(part)
    if leaf.type not in ATOMIC:
        indices = leaf.axes[-1].indices
        cells = part.view(np.uint8).reshape(len(part), -1)
        return np.ascontiguousarray(cells[:, indices.start : indices.stop : indices.step])
    _refuse_inexact(part, leaf)
    return part.astype(leaf.element.array if leaf.axes else leaf.element.scalar)


def _refuse_inexact(part: NDArray[Any], leaf: DdsNode) -> None:
    """Raise InexactError for an integer that the doubles of DAP2, which has no integers of 64 bits, do not hold."""
    if leaf.type in WIDE and part.size:
        low, high = int(part.min()), int(part.max())
        if low < -EXACT or high > EXACT:
            value = high if high > EXACT else low
            raise InexactError(f"`{leaf.fqn}` has the {leaf.type} value {value}, which no type of DAP2 holds; use DAP4")


def text_slabs(leaf: DdsNode, source: ArraySource) -> Iterator[list[bytes]]:
    """Yield the texts of an array, without trailing NULs of chars."""
    length = max(1, leaf.hidden or 0)
    for part in slabs(source, TEXTS if leaf.hidden is None else max(1, TEXTS * 16 // length) * length):
        yield _texts(leaf, part)


def _texts(leaf: DdsNode, part: NDArray[Any]) -> list[bytes]:
    """Return strings, or the texts of chars |S1."""
    if leaf.hidden is None:
        return [text or b"" for text in part.reshape(-1).tolist()]
    texts: list[bytes] = np.ascontiguousarray(part).reshape(-1).view(f"|S{leaf.hidden}").tolist()
    return texts


def xdr_text(text: bytes) -> bytes:
    """Return a text in XDR."""
    # XDR: a multiple of four bytes
    return b"%b%b%b" % (struct.pack(">I", len(text)), text, bytes(xdr_padding(len(text))))


def _word(number: int) -> bytes:
    if number >= 1 << 32:
        raise InexactError(f"an array of DAP2 has fewer than 2**32 elements, not {number}")
    return struct.pack(">I", number)


def _records(checked: Checked, node: DdsNode) -> Iterator[bytes]:
    """Yield the structures of a variable, some thousand at once."""
    sources, tree = sources_of(checked, node), part_tree(node.type, checked.types)
    if node.axes:
        yield _word(node.cells)
    for region in linear_pieces(all_of(tuple(len(axis.indices) for axis in node.axes)), TEXTS):
        cells = math.prod(lengths_of(region))
        columns = _structures(node, _read(sources, tree, region, ()), cells)
        if any(isinstance(column, list) for column in columns):
            yield b"".join(_join(columns))
        else:
            yield np.concatenate(columns, axis=1).tobytes()


def _read(sources: Parts, tree: PartTree, region: Selection, inner: tuple[int, ...]) -> Any:
    """Return the values of some records, (records, *inner): a structured array, or arrays by member."""
    if isinstance(tree, RecordTree):
        return {field.name: _read(sources, part, region, (*inner, *field.shape)) for field, part in tree.members}
    assert isinstance(tree, PartLeaf)
    return sources[tree.path].read((*region, *all_of(inner))).reshape(-1, *inner)


def _structures(node: DdsNode, records: Any, cells: int) -> list[Column]:
    """Return the columns of the requested members. `records`: values of `cells` records."""
    return [column for member in node.members for column in _member(member, records[member.field], cells)]


def _member(node: DdsNode, found: Any, cells: int) -> list[Column]:
    """Return the columns of a member: length, values and padding of arrays."""
    cuts = (slice(None), *(slice(axis.indices.start, axis.indices.stop, axis.indices.step) for axis in node.axes))
    columns: list[Column]
    if node.kind == "structure":
        columns = _structures(node, _cut(found, cuts), cells * node.cells)
        if not node.axes:
            return columns
        rows, head = _join(columns), _word(node.cells)
    elif node.element.array:
        chosen = little(found[cuts[: found.ndim]])
        numbers = _numbers(chosen if node.type in ATOMIC else chosen.reshape(-1), node)
        columns = [np.ascontiguousarray(numbers).reshape(cells, -1).view(np.uint8)]
        if node.axes:
            columns.insert(0, np.tile(np.frombuffer(_word(node.cells) * 2, np.uint8), (cells, 1)))
            columns.append(np.zeros((cells, len(_padding(node))), np.uint8))
        return columns
    else:
        rows = [xdr_text(text) for text in _texts(node, found[cuts[: 1 + len(node.axes)]])]
        head = _word(node.cells) if node.axes else b""
    return [[head + b"".join(rows[at : at + node.cells]) for at in range(0, cells * node.cells, node.cells)]]


def _cut(records: Any, cuts: tuple[slice, ...]) -> Any:
    """Return the requested records inside records, as one dimension of them."""
    if isinstance(records, dict):
        return {name: _cut(member, cuts) for name, member in records.items()}
    chosen = records[cuts]
    return chosen.reshape(-1, *chosen.shape[len(cuts) :])


def _join(columns: Sequence[Column]) -> list[bytes]:
    """Return the bytes of each record."""
    lists = [column if isinstance(column, list) else list(map(bytes, column)) for column in columns]
    return [b"".join(parts) for parts in zip(*lists, strict=True)]


ROOM = 1 << 14
"""Values converted to text at once."""


class UnprintableError(ValueError):
    """A request whose values have no text."""


def ascii_response(mapped: Mapping, nodes: tuple[DdsNode, ...]) -> Iterator[bytes]:
    """Yield the declarations, a line, and the values: one line for each index of the leading dimensions.

    Raises OSError, InexactError; UnprintableError for structures.
    """
    arrays = list(itertools.chain.from_iterable(map(_arrays, nodes)))
    yield dds(mapped, nodes).encode() + b"-" * 45 + b"\n"
    for name, leaf in arrays:
        yield from _array_lines(mapped, name, leaf)


def error_document(code: int, message: str) -> str:
    """Return the document of an error: an HTTP status and a text."""
    text = quote(message.encode("utf-8", "surrogateescape"))
    return f"Error {{\n    code = {code};\n    message = {text};\n}};\n"


def _arrays(node: DdsNode) -> Iterator[tuple[str, DdsNode]]:
    """Yield the arrays of a node with their names in the text form. Raises UnprintableError for structures."""
    if node.kind == "structure":
        raise UnprintableError(f"`{node.name}` is a structure, which has no text; ask for `.dods`")
    if node.kind == "element":
        yield node.name, node
    for leaf in node.members:
        yield f"{node.name}.{leaf.name}", leaf


def _array_lines(mapped: Mapping, name: str, leaf: DdsNode) -> Iterator[bytes]:
    """Yield the text form of an array: a heading, and a line for each row with its index before it."""
    words = _words(mapped, leaf)
    shape = tuple(len(axis.indices) for axis in leaf.axes)
    if not shape:
        yield f"{name}, {next(words)}\n\n".encode()
        return
    yield (name + "".join(f"[{length}]" for length in shape) + "\n").encode()
    for index in itertools.product(*map(range, shape[:-1])):
        place = "".join(f"[{number}]" for number in index)
        if place:
            yield f"{place}, ".encode()
        for start in range(0, max(1, shape[-1]), ROOM):
            stop = min(start + ROOM, shape[-1])
            row = ", ".join(itertools.islice(words, stop - start))
            yield (row + ("\n" if stop == shape[-1] else ", ")).encode()
    yield b"\n"


def _words(mapped: Mapping, leaf: DdsNode) -> Iterator[str]:
    """Yield the values as text: texts in quotes, numbers in the digits of doubles."""
    source = sources_of(mapped.checked, leaf)[""]
    if not leaf.element.array:
        for texts in text_slabs(leaf, source):
            yield from map(quote, texts)
        return
    for part in slabs(source, ROOM):
        _refuse_inexact(part, leaf)
        numbers: list[Any] = (part if leaf.type in ATOMIC else _numbers(part, leaf).reshape(-1)).tolist()
        yield from map(repr, numbers)  # floats in the digits of doubles, which most readers of texts make of them
