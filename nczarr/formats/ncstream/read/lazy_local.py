"""Variables whose values are in the messages of a stream: array sources over them, decoded only where somebody reads.

A message holds the cells of a section; of several that hold a cell the last counts, and cells that none holds are fill
(ncstream §2). Where the messages of a variable are stretches of it one behind the other, as writers make them, a part
is read message by message; otherwise all of them are put together in memory.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nczarr.arrays.blocks import every_block, first_of
from nczarr.arrays.memory import fill_array
from nczarr.arrays.part_fills import all_fill
from nczarr.arrays.parts import Part, Types, descr, parts
from nczarr.arrays.source import ArraySource, Descr, Index, Layout, Parts, Selection, numpy_dtype
from nczarr.ast.node import TypeName
from nczarr.ast.values import Constant
from nczarr.formats.ncstream.read.merge import joined, numbers, taken
from nczarr.formats.ncstream.wire.cells import arrays
from nczarr.formats.ncstream.wire.trees import Records, Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nczarr.formats.ncstream.read.merge import Values

LARGEST = 2**63 - 1
"""Cells of a variable whose lists are put together, at most."""

MOST_FILLED = 1 << 24
"""Cells for which lists of a fill value are made, at most."""

KEPT = 4
"""Messages whose decoded values are kept for whoever reads next."""


class Message(Protocol):
    """One message of data, wherever it lies; a plain description."""

    def tree(self) -> Tree:
        """The decoded values. Raises OSError if they are out of reach, or are not what was said of them before."""


class Piece(NamedTuple):
    """The cells of a variable that a message holds, by their indices along each dimension."""

    ranges: tuple[range, ...]
    message: Message

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(map(len, self.ranges))


class Held(NamedTuple):
    """A variable and its messages, in their order."""

    type: TypeName
    shape: tuple[int, ...]
    types: Types
    fill: Constant | None
    pieces: tuple[Piece, ...]

    @property
    def is_consecutive(self) -> bool:
        """Whether the messages are stretches of the variable one behind the other, and make all of it."""
        end = 0
        for piece in self.pieces:
            if not is_stretch(piece.ranges, self.shape):
                return False
            region = tuple(slice(each.start, each.stop) for each in piece.ranges)
            if first_of(region, self.shape) != end:
                return False
            end += piece.cells
        return end == math.prod(self.shape)

    def decoded(self, piece: Piece) -> dict[str, NDArray[Any]]:
        """The values of a message by part, in the shape of its section. Raises OSError, ValueError."""
        tree = piece.message.tree()
        if isinstance(tree, Records) and len(tree) != piece.cells and len(tree) == math.prod(self.shape):
            whole = dict(arrays(tree, self.type, self.shape, self.types))  # a server that does not cut records (§5)
            cut = taken(whole, numbers(piece.ranges, self.shape), self.type, self.types)
            return _shaped(cut, parts(self.type, tuple(map(len, piece.ranges)), self.types))
        return dict(arrays(tree, self.type, tuple(map(len, piece.ranges)), self.types))

    def merged(self) -> dict[str, NDArray[Any]]:
        """The elements of all lists by part, those of the cells that messages hold, or that a fill value has; memory is
        in proportion to these. Raises OSError, ValueError.
        """
        import numpy as np

        total = math.prod(self.shape)
        if total > LARGEST:
            raise ValueError(f"a variable of {total} cells has more than can be numbered ({LARGEST})")
        ragged = [part for part in parts(self.type, self.shape, self.types) if None in part.shape]
        every = [self.decoded(piece) for piece in self.pieces]
        given = [numbers(piece.ranges, self.shape) for piece in self.pieces]
        made_up = all_fill(self.fill, self.type, self.shape, self.types)
        if any(made_up[part.path].layout.shape[0] for part in ragged):
            if total > MOST_FILLED:
                raise ValueError(
                    f"lists of a fill value are made for {MOST_FILLED} cells at most, and there are {total}"
                )
            every.insert(0, {part: each.read(tuple(map(slice, each.layout.shape))) for part, each in made_up.items()})
            given.insert(0, np.arange(total, dtype=np.int64))
        cells = np.concatenate(given)
        last = len(cells) - 1 - np.unique(cells[::-1], return_index=True)[1]
        return _shaped(taken(joined(every), last.astype(np.int64), self.type, self.types), ragged)


def is_stretch(ranges: Sequence[range], shape: tuple[int, ...]) -> bool:
    """Whether the cells of a section follow one another in C order."""
    whole = True
    for indices, length in zip(reversed(ranges), reversed(shape), strict=True):
        if indices.step != 1 or (not whole and len(indices) != 1):
            return False
        whole = whole and len(indices) == length
    return True


def _shaped(values: Values, every: Iterable[Part]) -> dict[str, NDArray[Any]]:
    """Flat values in the shapes of these parts."""
    return {
        part.path: values[part.path].reshape([-1 if length is None else length for length in part.shape])
        for part in every
    }


class Decoder:
    """Decodes the messages of a variable for all of its parts, and keeps those that were read last."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self.is_consecutive = held.is_consecutive
        self._known: OrderedDict[int, dict[str, NDArray[Any]]] = OrderedDict()
        self._ends: dict[str, list[int]] | None = None
        self._whole: dict[str, NDArray[Any]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Decoder, (self.held,)

    def piece(self, number: int) -> dict[str, NDArray[Any]]:
        """The values of a message by part. Raises OSError."""
        known = self._known.get(number)
        if known is None:
            known = _read(lambda: self.held.decoded(self.held.pieces[number]))
            self._known[number] = known
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return known

    @property
    def whole(self) -> dict[str, NDArray[Any]]:
        """The elements of all lists of the variable by part, put together once. Raises OSError."""
        if self._whole is None:
            self._whole = _read(self.held.merged)
        return self._whole

    @property
    def ends(self) -> dict[str, list[int]]:
        """Where the content of each message ends, by part. All messages are decoded once. Raises OSError."""
        if self._ends is None:
            ragged = [part.path for part in parts(self.held.type, (), self.held.types) if None in part.shape]
            every = [
                {part: self.piece(number)[part].shape[0] for part in ragged} for number in range(len(self.held.pieces))
            ]
            self._ends = {part: list(itertools.accumulate(each[part] for each in every)) for part in ragged}
        return self._ends


def _read(call: Any) -> dict[str, NDArray[Any]]:
    """What a call returns. Raises OSError for whatever is wrong with the bytes of a message."""
    try:
        found: dict[str, NDArray[Any]] = call()
    except ValueError as fault:
        raise OSError(None, str(fault)) from fault
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Cells(ArraySource):
    """A part with the dimensions of its variable, and perhaps those of fields."""

    decoder: Decoder
    part: str
    layout: Layout

    def read(self, selection: Selection) -> NDArray[Any]:
        """A region, put together from the messages that hold some of it. Raises OSError."""
        held = self.decoder.held
        selection = tuple(
            slice(*part.indices(length)[:2]) for part, length in zip(selection, self.layout.shape, strict=True)
        )
        shape = tuple(max(0, part.stop - part.start) for part in selection)
        rank = len(held.shape)
        out = None
        for number, piece in enumerate(held.pieces):
            inside, outside = [], []
            for indices, part in zip(piece.ranges, selection[:rank], strict=True):
                first = max(0, -(-(part.start - indices.start) // indices.step))
                last = min(len(indices), -(-(part.stop - indices.start) // indices.step))
                inside.append(slice(first, last))
                begin = indices.start + first * indices.step - part.start
                outside.append(slice(begin, begin + (last - first) * indices.step, indices.step))
            if any(part.start >= part.stop for part in inside):
                continue
            values = self.decoder.piece(number)[self.part]
            values = values[(*inside, *selection[rank:])] if selection else values
            if values.shape == shape:
                out = values
                continue
            if out is None or not out.flags.writeable or out.base is not None:
                out = fill_array(self.layout, shape) if out is None else out.copy()
            out[tuple(outside)] = values
        return fill_array(self.layout, shape) if out is None else out

    def occupied(self, chunks: tuple[int, ...]) -> Iterator[Index]:
        """Chunks that a message meets, in C order."""
        held = self.decoder.held
        if self.decoder.is_consecutive:
            yield from every_block(self.layout.shape, chunks)
            return
        found: set[Index] = set()
        for piece in held.pieces:
            if not piece.cells:
                continue
            rest = (range(length) for length in self.layout.shape[len(held.shape) :])
            met = [
                sorted({index // chunk for index in indices})
                for indices, chunk in zip((*piece.ranges, *rest), chunks, strict=True)
            ]
            found.update(itertools.product(*met))
        yield from sorted(found)


@dataclass(frozen=True, slots=True, eq=False)
class Content(ArraySource):
    """A part in a ragged dimension, whose length only the messages tell."""

    decoder: Decoder
    part: str
    dtype: Descr

    @property
    def layout(self) -> Layout:
        """In one piece. Decodes all messages once. Raises OSError."""
        decoder = self.decoder
        if not decoder.is_consecutive:
            return in_one_piece(self.dtype, decoder.whole[self.part].shape)
        return in_one_piece(self.dtype, (decoder.ends[self.part][-1], *decoder.piece(0)[self.part].shape[1:]))

    def read(self, selection: Selection) -> NDArray[Any]:
        """A region, out of the messages that hold it. Raises OSError."""
        decoder = self.decoder
        if not decoder.is_consecutive:
            whole: NDArray[Any] = decoder.whole[self.part][selection]
            return whole
        return gathered(selection, decoder.ends[self.part], lambda number: decoder.piece(number)[self.part], self.dtype)


def gathered(
    selection: Selection, ends: Sequence[int], values: Callable[[int], NDArray[Any]], dtype: Descr
) -> NDArray[Any]:
    """A region of content that lies in pieces one behind the other: `ends` says where each ends, `values` has it."""
    import numpy as np

    start, stop = selection[0].start, selection[0].stop
    found = []
    for number in range(bisect_right(ends, start), len(ends)):
        begin = ends[number - 1] if number else 0
        if begin >= stop:
            break
        inside = slice(max(0, start - begin), min(ends[number], stop) - begin)
        found.append(values(number)[(inside, *selection[1:])])
    if len(found) == 1:
        return found[0]
    rest = [part.stop - part.start for part in selection[1:]]
    return np.concatenate(found) if found else np.empty((0, *rest), numpy_dtype(dtype))


def in_one_piece(dtype: Descr, shape: tuple[int, ...], fill: bytes | None = None) -> Layout:
    """The layout of an array without chunks of its own."""
    return Layout(dtype, shape, tuple(max(1, length) for length in shape), fill=fill)


def laid(
    type_name: TypeName, shape: tuple[int, ...], types: Types, fills: Mapping[str, bytes | None]
) -> Iterator[tuple[str, Descr, Layout | None]]:
    """The parts of a variable: path, elements, and the layout of those whose length is known. `fills`: by part."""
    for part in parts(type_name, shape, types):
        dtype = descr(part.type, types)
        known = tuple(length for length in part.shape if length is not None)
        ragged = len(known) < len(part.shape)
        yield part.path, dtype, None if ragged else in_one_piece(dtype, known, fills.get(part.path))


def sources(held: Held, fills: Mapping[str, bytes]) -> Parts:
    """The array sources of a variable by part. `fills`: what fills arrays, where that is told."""
    decoder = Decoder(held)
    usual = all_fill(held.fill, held.type, held.shape, held.types)
    every = {part: fills.get(part, each.layout.fill) for part, each in usual.items()}
    return {
        part: Content(decoder, part, dtype) if layout is None else Cells(decoder, part, layout)
        for part, dtype, layout in laid(held.type, held.shape, held.types, every)
    }
