"""Array sources over the messages of one variable, decoded on demand.

A message holds the cells of a section. The last message with a cell counts;
cells in no message are fill. If the messages are consecutive stretches, as
usual, ragged parts are read message by message; otherwise all messages are
merged in memory. Of uncompressed numbers just a region is read. The messages of a
remote file are found when values are read first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import Any, NamedTuple, TypeAlias, TypeVar

from nczarr import names
from nczarr.arrays.chunks.occupancy import blocks_of_boxes
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection, cell_numbers, number_of_first
from nczarr.arrays.sources.decoded_parts import VariableSections, in_one_piece, overlap
from nczarr.arrays.sources.decoded_parts import sources as sources_of
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.sources.strided import AffineArray, FileBytes
from nczarr.arrays.values.parts import NUMPY, Part, Types, part_tree, parts, spread
from nczarr.ast import ATOMIC, EnumType
from nczarr.ast.node import TypeName
from nczarr.ast.values import Constant
from nczarr.formats.common.remote_variable import each_at_once
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.read.decode import column_tree
from nczarr.formats.ncstream.read.scan import StreamEntry, entries, error_text, is_counted
from nczarr.formats.ncstream.wire.definitions import Definitions
from nczarr.formats.ncstream.wire.element_types import section_of
from nczarr.formats.ncstream.wire.framing import Incoming
from nczarr.formats.ncstream.wire.limits import DEFAULT
from nczarr.formats.ncstream.wire.trees import Records, Tree, to_arrays

T = TypeVar("T")

Values: TypeAlias = "Mapping[str, NDArray[Any]]"
"""Values by part; when flat, with one row per cell or per element of content."""

LARGEST = 2**63 - 1
"""Maximum cells of a variable whose lists are merged."""

MOST_FILLED = 1 << 24
"""Maximum cells for which lists of a fill value are created."""

KEPT = 4
"""Number of decoded messages in the cache."""


class MessageInFile(NamedTuple):
    """A data message in a file, and the cells that it holds."""

    ranges: tuple[range, ...]
    """Indices along each dimension of the variable."""
    file: FileBytes
    offset: int
    """Start of the message in bytes."""
    end: int
    """End of the message in bytes."""
    declared: bytes
    """Serialized header that declares only this variable."""
    numbers: AffineArray | None = None
    """Uncompressed numbers of the message, if it has one for each cell."""

    @classmethod
    def of(
        cls,
        entry: StreamEntry,
        ranges: tuple[range, ...],
        file: FileBytes,
        declared: bytes,
        type_name: TypeName,
        types: Types,
    ) -> MessageInFile:
        """Return the message of an entry. `ranges`: its cells."""
        numbers = _plain_numbers(entry, tuple(map(len, ranges)), file, type_name, types)
        return cls(ranges, file, entry.offset, entry.end, declared, numbers)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(map(len, self.ranges))

    def tree(self) -> Tree:
        """Return the decoded values. Raises OSError, ValueError."""
        length = self.end - self.offset
        self.file.count_seen(length)
        block, at = self.file.region(self.offset, (length,), (1,), 1)
        data = memoryview(block)[at : at + length]
        incoming = Incoming(data, DEFAULT)
        incoming.base = self.offset
        entry = next(entries(incoming, values=True))
        return column_tree(entry, data, Definitions(pb.Header.FromString(self.declared)), base=self.offset).tree


def _plain_numbers(
    entry: StreamEntry, shape: tuple[int, ...], file: FileBytes, type_name: TypeName, types: Types
) -> AffineArray | None:
    """Return the cells of a message as a view of uncompressed numbers in C order, else None."""
    if entry.column is not None:
        message: pb.DataCol = entry.column.message
        place, big = entry.column.payload, message.bigend
        plain = not message.isVlen and not entry.column.members
    else:
        data: pb.Data = entry.message
        place, big = entry.payload, True
        plain = not (is_counted(data) or data.dataType in (pb.STRUCTURE, pb.SEQUENCE) or data.compress)
    declared = types.get(type_name)
    number = declared.base if isinstance(declared, EnumType) else type_name
    width = ATOMIC[number].size if number in ATOMIC else 0
    if not plain or place is None or not width or place[1] - place[0] != math.prod(shape) * width:
        return None
    dtype = NUMPY[number].replace("<", ">" if big else "<")
    return AffineArray(in_one_piece(dtype, shape), file, place[0], math.prod(shape[1:]) * width)


def wire_name(entry: StreamEntry) -> str:
    """Return the full variable name of a data message in the sender's spelling."""
    name: bytes = entry.message.name if entry.kind == "column" else entry.message.varName
    return names.from_bytes(name.removeprefix(b"/"))


def group_by_variable(data: Iterable[StreamEntry], spelled: Collection[str]) -> dict[str, list[StreamEntry]]:
    """Return data messages by full variable name, in NFC unless it is one of those that are spelled otherwise."""
    entries_by_name: dict[str, list[StreamEntry]] = {}
    for entry in data:
        name = wire_name(entry)
        entries_by_name.setdefault(name if name in spelled else names.normal(name), []).append(entry)
    return entries_by_name


def cells_of(entry: StreamEntry, shape: tuple[int, ...], *, is_declared: bool = True) -> tuple[range, ...]:
    """Return the indices of a message along each dimension. `is_declared`: a header has the shape. Raises ValueError.

    A section that is impossible in itself raises UnreadableStreamError.
    """
    is_ragged = entry.kind == "column" or is_counted(entry.message)
    section, _ = section_of(entry.message, entry.offset, is_ragged=is_ragged)
    if section is None or not shape or not is_declared:
        return tuple(map(range, shape))
    ranges = section[: len(shape)]  # dimensions behind a ragged one are of its elements
    if len(ranges) == len(shape) and all(
        not indices or indices[-1] < length for indices, length in zip(ranges, shape, strict=True)
    ):
        return ranges
    raise ValueError(f"the section of a message is not within {' × '.join(map(str, shape)) or 'one value'}")


class RemoteMessages:
    """Data messages of a remote file behind its header. Everything raises OSError."""

    def __init__(self, file: FileBytes, spelled: frozenset[str], variables: frozenset[str] | None = None) -> None:
        self._file = file
        self._spelled = spelled
        self.variables = variables
        """Full names that messages may have; None: all, and those of no variable are ignored."""
        self._lock = Lock()
        self._found: dict[str, list[StreamEntry]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteMessages, (self._file, self._spelled, self.variables)

    @property
    def entries(self) -> dict[str, list[StreamEntry]]:
        """Messages by full variable name, found once in a process."""
        with self._lock:
            if self._found is None:
                try:
                    self._found = self._find()
                except ValueError as fault:
                    raise OSError(None, str(fault), self._file.name) from fault
        return self._found

    def _find(self) -> dict[str, list[StreamEntry]]:
        """Read the beginnings of all messages. Raises OSError, ValueError."""
        assert self._file.remote is not None
        stream = list(entries(Incoming(self._file.remote, DEFAULT)))
        for entry in stream:
            if entry.kind == "error":
                raise ValueError(f"the sender of the stream reported an error: {error_text(entry)!r}")
        if [entry.kind for entry in stream].count("header") > 1:
            raise ValueError("the stream has a header behind values: copy the file, and read the copy")
        found = group_by_variable((entry for entry in stream if entry.kind in ("data", "column")), self._spelled)
        unknown = sorted(found.keys() - (found.keys() if self.variables is None else self.variables))
        if unknown:
            raise ValueError(f"`{unknown[0]}` is not a variable of the header")
        return found

    def messages(
        self, name: str, type_name: TypeName, shape: tuple[int, ...], types: Types, declared: bytes
    ) -> tuple[MessageInFile, ...]:
        """Return the messages of a variable. Raises ValueError for a section that is not within it."""
        return tuple(
            MessageInFile.of(entry, cells_of(entry, shape), self._file, declared, type_name, types)
            for entry in self.entries.get(name, ())
        )


class MessageDecoder(VariableSections):
    """Decoder of a variable's messages for all its parts, with a cache of recent messages.

    `messages` are in stream order, or a function that finds them in a remote file;
    `fill` is the value of unwritten cells.
    """

    def __init__(
        self,
        type_name: TypeName,
        shape: tuple[int, ...],
        types: Types,
        fill: Constant | None,
        messages: tuple[MessageInFile, ...] | Callable[[], tuple[MessageInFile, ...]],
    ) -> None:
        self.type, self.shape, self.types = type_name, shape, types
        self.fill, self._messages = fill, messages
        self._recent = lru_cache(KEPT)(lambda number: _read(partial(self._values, self.messages[number])))
        self._ends: dict[str, list[int]] | None = None
        self._whole: dict[str, NDArray[Any]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return MessageDecoder, (self.type, self.shape, self.types, self.fill, self._messages)

    @property
    def distant(self) -> bool:
        return callable(self._messages)

    @cached_property
    def messages(self) -> tuple[MessageInFile, ...]:
        """Messages in stream order. Raises OSError."""
        return _read(self._messages) if callable(self._messages) else self._messages

    def each(self, call: Callable[[Any], None], sections: Iterable[Any]) -> None:
        if self.distant and self.is_consecutive:
            each_at_once(call, list(sections))
        else:
            super().each(call, sections)

    @cached_property
    def is_consecutive(self) -> bool:
        """Return whether the messages are consecutive stretches that cover the variable."""
        end = 0
        for message in self.messages:
            if not is_stretch(message.ranges, self.shape):
                return False
            region = tuple(slice(indices.start, indices.stop) for indices in message.ranges)
            if number_of_first(region, self.shape) != end:
                return False
            end += message.cells
        return end == math.prod(self.shape)

    def _values(self, message: MessageInFile) -> dict[str, NDArray[Any]]:
        """Return the values of a message by part, in the shape of its section. Raises OSError, ValueError."""
        return values_of(message.tree(), message.ranges, self.type, self.shape, self.types)

    def _merge(self) -> dict[str, NDArray[Any]]:
        """Return the elements of all lists by part, with fill for missing cells. Raises OSError, ValueError.

        They have the shapes and dtypes of the ragged parts. Memory is
        proportional to stored and fill elements.
        """
        total = math.prod(self.shape)
        if total > LARGEST:
            raise ValueError(f"a variable of {total} cells is too large ({LARGEST})")
        ragged = [part for part in parts(self.type, self.shape, self.types) if None in part.shape]
        every: list[Values] = [self._values(message) for message in self.messages]
        places = [cell_numbers(message.ranges, self.shape).reshape(-1) for message in self.messages]
        fills = all_fill(self.fill, self.type, self.shape, self.types)
        if any(fills[part.path].layout.shape[0] for part in ragged):
            if total > MOST_FILLED:
                text = f"a list as fill value is repeated in at most {MOST_FILLED} cells, but there are {total}"
                raise ValueError(text)
            every.insert(
                0, {part: source.read(tuple(map(slice, source.layout.shape))) for part, source in fills.items()}
            )
            places.insert(0, np.arange(total, dtype=np.int64))
        cells = np.concatenate(places)
        last = len(cells) - 1 - np.unique(cells[::-1], return_index=True)[1]
        joined = {path: np.concatenate([values[path].reshape(-1) for values in every]) for path in every[0]}
        return _shape(take(joined, last.astype(np.int64), self.type, self.types), ragged)

    def meeting(self, region: Region) -> Iterator[tuple[int | tuple[AffineArray, Selection], Region]]:
        for number, message in enumerate(self.messages):
            inside, _ = overlap(message.ranges, region)
            if not all(part.start < part.stop for part in inside):
                continue
            if message.numbers is None:
                yield number, message.ranges
            else:
                cells = zip(message.ranges, inside, strict=True)
                yield (message.numbers, inside), tuple(indices[part] for indices, part in cells)

    def decode(self, section: int | tuple[AffineArray, Selection]) -> dict[str, NDArray[Any]]:
        if isinstance(section, int):
            return self._recent(section)
        numbers, region = section
        return {"": numbers.read(region)}

    def content(self, stretch: int) -> dict[str, NDArray[Any]]:
        """Return the values of a message, or, if messages are not consecutive, all ragged parts, merged once."""
        if self.is_consecutive:
            return self.decode(stretch)
        if self._whole is None:
            self._whole = _read(self._merge)
        return self._whole

    def ends(self, part: str, stop: int | None = None) -> list[int]:
        """Return the cumulative content length after each message; decodes all once. Raises OSError."""
        if self._ends is None:
            ragged = [inner.path for inner in parts(self.type, (), self.types) if None in inner.shape]
            count = len(self.messages) if self.is_consecutive else 1
            every = [{path: len(self.content(number)[path]) for path in ragged} for number in range(count)]
            self._ends = {path: list(itertools.accumulate(lengths[path] for lengths in every)) for path in ragged}
        return self._ends[part]

    def list_occupied(self, chunks: tuple[int, ...], region: Region) -> Iterator[Index]:
        if self.is_consecutive:
            return super().list_occupied(chunks, region)
        boxes = (
            (*(range(cells[0], cells[-1] + 1) for cells in message.ranges), *region[len(self.shape) :])
            for message in self.messages
            if message.cells
        )
        return blocks_of_boxes(boxes, chunks, region)


def _read(call: Callable[[], T]) -> T:
    """Return the result of a function. Raises OSError for any fault in a message."""
    try:
        return call()
    except ValueError as fault:
        raise OSError(None, str(fault)) from fault


def sources(decoder: MessageDecoder, fills: Mapping[str, bytes]) -> Parts:
    """Return the array sources of a variable by part. `fills`: fill bytes that replace the usual ones."""
    usual = all_fill(decoder.fill, decoder.type, decoder.shape, decoder.types)
    return sources_of(decoder, {part: fills.get(part, source.layout.fill) for part, source in usual.items()})


def is_stretch(ranges: Sequence[range], shape: tuple[int, ...]) -> bool:
    """Return whether the cells of a section are contiguous in C order."""
    whole = True
    for indices, length in zip(reversed(ranges), reversed(shape), strict=True):
        if indices.step != 1 or (not whole and len(indices) != 1):
            return False
        whole = whole and len(indices) == length
    return True


# ---- selection of cells ----------------------------------------------------------------------------------------------


def values_of(
    tree: Tree, ranges: tuple[range, ...], type_name: TypeName, shape: tuple[int, ...], types: Types
) -> dict[str, NDArray[Any]]:
    """Return the values of a section by part, in its shape. `shape`: that of the variable. Raises ValueError."""
    lengths = tuple(map(len, ranges))
    if isinstance(tree, Records) and len(tree) != math.prod(lengths) and len(tree) == math.prod(shape):
        whole = dict(to_arrays(tree, type_name, shape, types))  # a server that does not cut records
        cells = cell_numbers(ranges, shape).reshape(-1)
        return _shape(take(whole, cells, type_name, types), parts(type_name, lengths, types))
    return dict(to_arrays(tree, type_name, lengths, types))


def _shape(values: Values, every: Iterable[Part]) -> dict[str, NDArray[Any]]:
    """Reshape flat values to the shapes of the parts."""
    return {
        part.path: values[part.path].reshape([-1 if length is None else length for length in part.shape])
        for part in every
    }


def take(values: Values, cells: NDArray[np.int64], type_name: TypeName, types: Types) -> Values:
    """Return the values of the cells with these numbers by part: 1-D. `cells`: int64, shape (cells,)."""
    flat = {path: array.reshape(-1) for path, array in values.items()}

    def rows(cells: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
        width = math.prod(shape)
        return cells if width == 1 else (cells[:, None] * width + np.arange(width, dtype=np.int64)).reshape(-1)

    return dict(
        spread(
            part_tree(type_name, types),
            cells,
            lambda leaf, cells: flat[leaf.path][cells],
            lambda tree, cells: _items(flat[tree.counts.path], cells),
            lambda number, field, cells: rows(cells, field.shape),
        )
    )


def _items(counts: NDArray[Any], cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the item numbers of the lists in the given cells: int64, shape (items,).

    `counts`: items of each list, integers, shape (lists,); `cells`: int64,
    shape (cells,).
    """
    lengths = counts[cells]
    starts = (np.cumsum(counts) - counts)[cells]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total, dtype=np.int64)
