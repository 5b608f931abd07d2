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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from nczarr.arrays.chunks.occupancy import blocks_of_boxes
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection, cell_numbers, number_of_first
from nczarr.arrays.sources.decoded_parts import VariableSections, in_one_piece, overlap
from nczarr.arrays.sources.decoded_parts import sources as sources_of
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.sources.strided import AffineArray, FileBytes
from nczarr.arrays.values.parts import NUMPY, Types, parts
from nczarr.ast import ATOMIC, EnumType
from nczarr.ast.node import TypeName
from nczarr.ast.values import Constant
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.common.part_arrays import UnsuitedError
from nczarr.plugins.common.remote_variable import each_at_once
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read.decode import column_tree, is_big
from nczarr.plugins.ncstream.read.message_values import Values, check_agreement, shape_parts, take, values_of
from nczarr.plugins.ncstream.read.rows import RowReader, normal_name
from nczarr.plugins.ncstream.read.scan import (
    StreamEntry,
    entries,
    error_text,
    group_by_variable,
    is_counted,
    name_bytes,
    raise_diagnostics,
)
from nczarr.plugins.ncstream.wire.element_types import Declared, Definitions, section_of
from nczarr.plugins.ncstream.wire.framing import Incoming
from nczarr.plugins.ncstream.wire.limits import DEFAULT, UnreadableStreamError, contradictory
from nczarr.plugins.ncstream.wire.trees import Tree

T = TypeVar("T")

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
    by_flag: bool = False
    """Read its numbers in the order that the message states, instead of big-endian."""

    @classmethod
    def of(
        cls,
        entry: StreamEntry,
        ranges: tuple[range, ...],
        file: FileBytes,
        declared: bytes,
        type_name: TypeName,
        types: Types,
        *,
        by_flag: bool = False,
    ) -> MessageInFile:
        """Return the message of an entry. `ranges`: its cells. Raises UnreadableStreamError if both disagree."""
        shape = tuple(map(len, ranges))
        check_agreement(entry, math.prod(shape), Definitions(pb.Header.FromString(declared)).find(name_bytes(entry)))
        numbers = _plain_numbers(entry, shape, file, type_name, types, by_flag=by_flag)
        return cls(ranges, file, entry.offset, entry.end, declared, numbers, by_flag)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(map(len, self.ranges))

    def _entry(self) -> tuple[StreamEntry, memoryview]:
        """Return the message, and the bytes that it is in. Raises OSError, UnreadableStreamError."""
        length = self.end - self.offset
        self.file.count_seen(length)
        block, at = self.file.region(self.offset, (length,), (1,), 1)
        data = memoryview(block)[at : at + length]
        incoming = Incoming(data, DEFAULT)
        incoming.base = self.offset
        return next(entries(incoming, values=True)), data

    def absent_members(self, declared: pb.Structure) -> set[tuple[str, ...]]:
        """Return the paths of the members that the records of the message lack."""
        entry, data = self._entry()
        if entry.column is not None:
            every: list[Declared] = [*declared.vars, *declared.structs]
            present = {member.message.name for member in entry.column.members}
            return {(normal_name(member),) for member in every if member.name not in present}
        if entry.message.dataType not in (pb.STRUCTURE, pb.SEQUENCE):
            return set()
        return RowReader(entry, data, declared, DEFAULT, self.offset).absent_members(declared)

    def tree(self) -> Tree:
        """Return the decoded values. Raises OSError, UnreadableStreamError."""
        entry, data = self._entry()
        definitions = Definitions(pb.Header.FromString(self.declared))
        return column_tree(entry, data, definitions, base=self.offset, by_flag=self.by_flag).tree

    def values(self, type_name: TypeName, shape: tuple[int, ...], types: Types) -> dict[str, NDArray[Any]]:
        """Return the values by part, in the shape of the section; `shape`: that of the variable.

        Raises OSError, UnreadableStreamError.
        """
        try:
            return values_of(self.tree(), self.ranges, type_name, shape, types)
        except UnsuitedError as fault:
            raise contradictory(f"the message does not suit its variable: {fault}", self.offset, self.end) from None


def _plain_numbers(
    entry: StreamEntry,
    shape: tuple[int, ...],
    file: FileBytes,
    type_name: TypeName,
    types: Types,
    *,
    by_flag: bool = False,
) -> AffineArray | None:
    """Return the cells of a message as a view of uncompressed numbers in C order, else None."""
    if entry.column is not None:
        message: pb.DataCol = entry.column.message
        place, big = entry.column.payload, message.bigend
        plain = not message.isVlen and not entry.column.members
    else:
        data: pb.Data = entry.message
        place, big = entry.payload, is_big(data, by_flag=by_flag)
        plain = not (is_counted(data) or data.dataType in (pb.STRUCTURE, pb.SEQUENCE) or data.compress)
    declared = types.get(type_name)
    number = declared.base if isinstance(declared, EnumType) else type_name
    width = ATOMIC[number].size if number in ATOMIC else 0
    if not plain or place is None or not width or place[1] - place[0] != math.prod(shape) * width:
        return None
    dtype = NUMPY[number].replace("<", ">" if big else "<")
    return AffineArray(in_one_piece(dtype, shape), file, place[0], math.prod(shape[1:]) * width)


def cells_of(entry: StreamEntry, shape: tuple[int, ...], *, is_declared: bool = True) -> tuple[range, ...]:
    """Return the indices of a message along each dimension. `is_declared`: a header has the shape.

    Raises UnreadableStreamError for a section that is impossible, or not within the shape.
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
    text = f"the section of a message is not within {' × '.join(map(str, shape)) or 'one value'}"
    raise UnreadableStreamError("unreadable-array", text, entry.offset, entry.end)


class RemoteMessages:
    """Data messages of a remote file behind its header. Everything raises CompileError, OSError."""

    def __init__(
        self,
        file: FileBytes,
        spelled: frozenset[str],
        variables: frozenset[str] | None = None,
        *,
        by_flag: bool = False,
    ) -> None:
        self._file = file
        self._spelled = spelled
        self._by_flag = by_flag
        self.variables = variables
        """Full names that messages may have; None: all, and those of no variable are ignored."""
        self._lock = Lock()
        self._found: dict[str, list[StreamEntry]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(RemoteMessages, by_flag=self._by_flag), (self._file, self._spelled, self.variables)

    @property
    def entries(self) -> dict[str, list[StreamEntry]]:
        """Messages by full variable name, found once in a process."""
        with self._lock:
            if self._found is None:
                self._found = raise_diagnostics(self._find, self._file.name)
        return self._found

    def _find(self) -> dict[str, list[StreamEntry]]:
        """Read the beginnings of all messages. Raises OSError, UnreadableStreamError."""
        assert self._file.remote is not None
        stream = list(entries(Incoming(self._file.remote, DEFAULT)))
        for entry in stream:
            if entry.kind == "error":
                text = f"the sender of the stream reported an error: {error_text(entry)!r}"
                raise UnreadableStreamError("stream-error", text, entry.offset, entry.end)
        if [entry.kind for entry in stream].count("header") > 1:
            text = "the stream has a header behind values: copy the file, and read the copy"
            raise OSError(None, text, self._file.name)
        found = group_by_variable((entry for entry in stream if entry.kind in ("data", "column")), self._spelled)
        unknown = sorted(found.keys() - (found.keys() if self.variables is None else self.variables))
        if unknown:
            first = found[unknown[0]][0]
            raise contradictory(f"`{unknown[0]}` is not a variable of the header", first.offset, first.end)
        return found

    def messages(
        self, name: str, type_name: TypeName, shape: tuple[int, ...], types: Types, declared: bytes
    ) -> tuple[MessageInFile, ...]:
        """Return the messages of a variable. Raises CompileError, OSError, UnreadableStreamError."""
        return tuple(
            MessageInFile.of(
                entry, cells_of(entry, shape), self._file, declared, type_name, types, by_flag=self._by_flag
            )
            for entry in self.entries.get(name, ())
        )


class MessageDecoder(VariableSections):
    """Decoder of a variable's messages for all its parts, with a cache of recent messages.

    `messages` are in stream order, or a function that finds them in a remote file;
    `fill` is the value of unwritten cells, `name` that of the stream.
    """

    def __init__(
        self,
        type_name: TypeName,
        shape: tuple[int, ...],
        types: Types,
        fill: Constant | None,
        messages: tuple[MessageInFile, ...] | Callable[[], tuple[MessageInFile, ...]],
        name: str,
    ) -> None:
        self.type, self.shape, self.types = type_name, shape, types
        self.fill, self._messages, self._name = fill, messages, name
        self._recent = lru_cache(KEPT)(lambda number: self._read(partial(self._values, self.messages[number])))
        self._ends: dict[str, list[int]] | None = None
        self._whole: dict[str, NDArray[Any]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return MessageDecoder, (self.type, self.shape, self.types, self.fill, self._messages, self._name)

    @property
    def distant(self) -> bool:
        return callable(self._messages)

    @cached_property
    def messages(self) -> tuple[MessageInFile, ...]:
        """Messages in stream order. Raises CompileError, OSError."""
        if not callable(self._messages):
            return self._messages
        return raise_diagnostics(self._messages, self._name)

    def _read(self, call: Callable[[], T]) -> T:
        """Return the result of a function. Raises CompileError for a fault in a message, OSError for any other."""
        try:
            return raise_diagnostics(call, self._name)
        except CompileError:
            raise
        except ValueError as fault:
            raise OSError(None, str(fault)) from fault

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
        """Return the values of a message by part, in its shape. Raises OSError, UnreadableStreamError."""
        return message.values(self.type, self.shape, self.types)

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
        return shape_parts(take(joined, last.astype(np.int64), self.type, self.types), ragged)

    def meeting(self, region: Region) -> Iterator[tuple[int | tuple[AffineArray, Selection], Region]]:
        """Yield what `decode` takes to read the region's cells of each message, and the indices of these cells."""
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
            self._whole = self._read(self._merge)
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
        """Yield the indices of chunks within a region that have values of any message."""
        if self.is_consecutive:
            return super().list_occupied(chunks, region)
        boxes = (
            (*(range(cells[0], cells[-1] + 1) for cells in message.ranges), *region[len(self.shape) :])
            for message in self.messages
            if message.cells
        )
        return blocks_of_boxes(boxes, chunks, region)


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
