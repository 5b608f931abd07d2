"""Array sources over the messages of one variable, decoded on demand.

A message holds the cells of a section. The last message with a cell counts;
cells in no message are fill. If the messages are consecutive stretches, as
usual, ragged parts are read message by message; otherwise all messages are
merged in memory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias

from nczarr.arrays.chunks.occupancy import blocks_of_boxes
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, first_of
from nczarr.arrays.sources.decoded_parts import VariableSections, overlap
from nczarr.arrays.sources.decoded_parts import sources as sources_of
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import Part, Types, part_tree, parts, spread
from nczarr.ast.node import TypeName
from nczarr.ast.values import Constant
from nczarr.formats.ncstream.wire.cells import arrays
from nczarr.formats.ncstream.wire.trees import Records, Tree

Values: TypeAlias = "Mapping[str, NDArray[Any]]"
"""Values by part; when flat, with one row per cell or per element of content."""

LARGEST = 2**63 - 1
"""Maximum cells of a variable whose lists are merged."""

MOST_FILLED = 1 << 24
"""Maximum cells for which lists of a fill value are created."""

KEPT = 4
"""Number of decoded messages in the cache."""


class DataMessage(Protocol):
    """Interface of one data message; must be picklable."""

    def tree(self) -> Tree:
        """Return the decoded values. Raises OSError if they are unavailable or differ from their description."""


class MessageCells(NamedTuple):
    """A message and the cells that it holds."""

    ranges: tuple[range, ...]
    """Indices along each dimension of the variable."""
    message: DataMessage
    """The message."""

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(map(len, self.ranges))


class VariableMessages(NamedTuple):
    """A variable and its messages."""

    type: TypeName
    """Type of the values."""
    shape: tuple[int, ...]
    """Shape of the variable."""
    types: Types
    """Declared types by FQN."""
    fill: Constant | None
    """Value of unwritten cells."""
    pieces: tuple[MessageCells, ...]
    """Messages in stream order."""

    @property
    def is_consecutive(self) -> bool:
        """True if the messages are consecutive stretches that cover the variable."""
        end = 0
        for piece in self.pieces:
            if not is_stretch(piece.ranges, self.shape):
                return False
            region = tuple(slice(indices.start, indices.stop) for indices in piece.ranges)
            if first_of(region, self.shape) != end:
                return False
            end += piece.cells
        return end == math.prod(self.shape)

    def decoded(self, piece: MessageCells) -> dict[str, NDArray[Any]]:
        """Return the values of a message by part, in the shape of its section. Raises OSError, ValueError."""
        return values_of(piece.message.tree(), piece.ranges, self.type, self.shape, self.types)

    def merged(self) -> dict[str, NDArray[Any]]:
        """Return the elements of all lists by part, with fill for missing cells. Raises OSError, ValueError.

        They have the shapes and dtypes of the ragged parts. Memory is
        proportional to stored and fill elements.
        """
        total = math.prod(self.shape)
        if total > LARGEST:
            raise ValueError(f"a variable of {total} cells is too large ({LARGEST})")
        ragged = [part for part in parts(self.type, self.shape, self.types) if None in part.shape]
        every = [self.decoded(piece) for piece in self.pieces]
        places = [numbers(piece.ranges, self.shape) for piece in self.pieces]
        made_up = all_fill(self.fill, self.type, self.shape, self.types)
        if any(made_up[part.path].layout.shape[0] for part in ragged):
            if total > MOST_FILLED:
                raise ValueError(
                    f"a list as fill value is repeated in at most {MOST_FILLED} cells, but there are {total}"
                )
            every.insert(
                0, {part: source.read(tuple(map(slice, source.layout.shape))) for part, source in made_up.items()}
            )
            places.insert(0, np.arange(total, dtype=np.int64))
        cells = np.concatenate(places)
        last = len(cells) - 1 - np.unique(cells[::-1], return_index=True)[1]
        return _shaped(taken(joined(every), last.astype(np.int64), self.type, self.types), ragged)


def values_of(
    tree: Tree, ranges: tuple[range, ...], type_name: TypeName, shape: tuple[int, ...], types: Types
) -> dict[str, NDArray[Any]]:
    """Return the values of a section by part, in its shape. `shape`: that of the variable. Raises ValueError."""
    lengths = tuple(map(len, ranges))
    if isinstance(tree, Records) and len(tree) != math.prod(lengths) and len(tree) == math.prod(shape):
        whole = dict(arrays(tree, type_name, shape, types))  # a server that does not cut records
        return _shaped(taken(whole, numbers(ranges, shape), type_name, types), parts(type_name, lengths, types))
    return dict(arrays(tree, type_name, lengths, types))


def is_stretch(ranges: Sequence[range], shape: tuple[int, ...]) -> bool:
    """Return whether the cells of a section are contiguous in C order."""
    whole = True
    for indices, length in zip(reversed(ranges), reversed(shape), strict=True):
        if indices.step != 1 or (not whole and len(indices) != 1):
            return False
        whole = whole and len(indices) == length
    return True


def _shaped(values: Values, every: Iterable[Part]) -> dict[str, NDArray[Any]]:
    """Reshape flat values to the shapes of the parts."""
    return {
        part.path: values[part.path].reshape([-1 if length is None else length for length in part.shape])
        for part in every
    }


class MessageDecoder(VariableSections):
    """Decoder of a variable's messages for all its parts, with a cache of recent messages."""

    def __init__(self, variable: VariableMessages) -> None:
        self.variable = variable
        self.type, self.shape, self.types = variable.type, variable.shape, variable.types
        self.is_consecutive = variable.is_consecutive
        self._recent = lru_cache(KEPT)(lambda section: _read(lambda: variable.decoded(variable.pieces[section])))
        self._ends: dict[str, list[int]] | None = None
        self._whole: dict[str, NDArray[Any]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return MessageDecoder, (self.variable,)

    def meeting(self, region: tuple[range, ...]) -> Iterator[tuple[int, tuple[range, ...]]]:
        """Yield the messages that intersect a region, by number."""
        for number, piece in enumerate(self.variable.pieces):
            inside, _ = overlap(piece.ranges, region)
            if all(part.start < part.stop for part in inside):
                yield number, piece.ranges

    def decoded(self, section: int) -> dict[str, NDArray[Any]]:
        """Return the values of a message by part, in the parts' shapes and dtypes. Raises OSError."""
        return self._recent(section)

    def content(self, stretch: int) -> dict[str, NDArray[Any]]:
        """Return the values of a message by part, in the parts' shapes and dtypes. Raises OSError.

        If messages are not consecutive, returns the ragged parts of all of
        them, merged once.
        """
        if self.is_consecutive:
            return self.decoded(stretch)
        if self._whole is None:
            self._whole = _read(self.variable.merged)
        return self._whole

    def ends(self, part: str, stop: int | None = None) -> list[int]:
        """Return the cumulative content length after each message; decodes all once. Raises OSError."""
        if self._ends is None:
            ragged = [
                part_of_type.path for part_of_type in parts(self.type, (), self.types) if None in part_of_type.shape
            ]
            count = len(self.variable.pieces) if self.is_consecutive else 1
            every = [{path: len(self.content(number)[path]) for path in ragged} for number in range(count)]
            self._ends = {path: list(itertools.accumulate(arrays[path] for arrays in every)) for path in ragged}
        return self._ends[part]

    def occupied(self, chunks: tuple[int, ...], region: Region) -> Iterator[Index]:
        """Return the blocks of a region that intersect a message, in C order."""
        if self.is_consecutive:
            return super().occupied(chunks, region)
        boxes = (
            (*(range(cells[0], cells[-1] + 1) for cells in piece.ranges), *region[len(self.shape) :])
            for piece in self.variable.pieces
            if piece.cells
        )
        return blocks_of_boxes(boxes, chunks, region)


def _read(call: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of `call` by part path, in any shape and dtype. Raises OSError for any fault in a message."""
    try:
        arrays: dict[str, NDArray[Any]] = call()
    except ValueError as fault:
        raise OSError(None, str(fault)) from fault
    return arrays


def sources(variable: VariableMessages, fills: Mapping[str, bytes]) -> Parts:
    """Return the array sources of a variable by part. `fills`: fill bytes that replace the usual ones."""
    usual = all_fill(variable.fill, variable.type, variable.shape, variable.types)
    every = {part: fills.get(part, source.layout.fill) for part, source in usual.items()}
    return sources_of(MessageDecoder(variable), every)


# ---- selection and merging of cells ----------------------------------------------------------------------------------


def joined(every: Sequence[Values]) -> dict[str, NDArray[Any]]:
    """Concatenate values by part: 1-D arrays in the parts' dtypes.

    Values of a single message keep their shapes.
    """
    if len(every) == 1:
        return dict(every[0])
    return {part: np.concatenate([values[part].reshape(-1) for values in every]) for part in every[0]}


def taken(values: Values, cells: NDArray[np.int64], type_name: TypeName, types: Types) -> Values:
    """Return the values of the cells with these numbers by part: 1-D. `cells`: int64, shape (cells,)."""
    flat = {path: array.reshape(-1) for path, array in values.items()}
    spread_parts = spread(
        part_tree(type_name, types),
        cells,
        lambda leaf, cells: flat[leaf.path][cells],
        lambda tree, cells: _items(flat[tree.counts.path], cells),
        lambda number, field, cells: _rows(cells, field.shape),
    )
    return dict(spread_parts)


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


def _rows(cells: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the element numbers of an array field: int64, shape (cells × elements of a field,).

    `cells`: int64, shape (cells,); `shape`: that of the field.
    """
    width = math.prod(shape)
    return cells if width == 1 else (cells[:, None] * width + np.arange(width, dtype=np.int64)).reshape(-1)


def numbers(ranges: Sequence[range], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the C-order cell numbers of a section of a shape."""
    cell_numbers = np.zeros((), np.int64)
    for indices, length in zip(ranges, shape, strict=True):
        cell_numbers = cell_numbers[..., None] * length + np.arange(
            indices.start, indices.stop, indices.step, dtype=np.int64
        )
    return cell_numbers.reshape(-1)
