"""Variables whose regions are requested from a server by the codec of a protocol.

Values of fixed size, and strings, are requested by region in pieces of at most
`PIECE` bytes. Lists, and records with lists, are requested in blocks of cells,
because their lengths are unknown before: a block is a section of at most `MOST`
cells in C order, one index along the leading dimensions, a stretch of the next,
all of the rest. One answer delivers all parts of a block. A block's cells
follow from its number, so the pickled description has constant size. Content
lengths require a request for every block, so they are requested only if needed.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import (
    Region,
    all_of,
    chunk_ranges,
    every_index,
    grid_of,
    index_of,
    linear_block,
    linear_pieces,
    number_of,
    region_of,
)
from nczarr.arrays.sources.decoded_parts import VariableSections, sources
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import Types, is_fixed, parts, size
from nczarr.ast.node import TypeName
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.common.dataset_service import MOST_BYTES, Service

LONGEST_HEAD = 16 << 20
"""Maximum bytes of an answer apart from its values: its document may declare all dimensions and attributes."""

PIECE = 16 << 20
"""Maximum bytes of values requested in one answer."""

AT_ONCE = 8
"""Number of concurrent requests for one large region."""

TEXT = 64
"""Assumed bytes of one string."""

MOST = 2048
"""Maximum cells in a block."""

KEPT = 8
"""Number of decoded blocks in the cache."""


class RemoteCodec(Protocol):
    """A variable in one protocol: requests for its regions, and their answers; picklable."""

    @property
    def type(self) -> TypeName:
        """Type of the values."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the variable."""

    @property
    def types(self) -> Types:
        """Declared types by FQN."""

    def most(self, region: Region) -> int | None:
        """Return the maximum bytes of the values in an answer; None if unknown."""

    def expression(self, region: Region) -> str:
        """Return the words for a region, for messages."""

    def query(self, expression: str) -> str:
        """Return the encoded query for an expression, which follows the URL of the dataset."""

    def decode(self, data: bytes, region: Region) -> dict[str, NDArray[Any]]:
        """Return the values of an answer by part, in the parts' shapes and dtypes. Raises ValueError."""


class RemoteVariable(NamedTuple):
    """Variable of a dataset on a server."""

    service: Service
    """The server's dataset."""
    codec: RemoteCodec
    """The variable, and its requests and answers."""

    def answer(self, region: Region, *, keep: bool = False) -> bytes:
        """Return the answer for a region; `keep`: cache it. Raises OSError."""
        values = self.codec.most(region)
        most = MOST_BYTES if values is None else values + LONGEST_HEAD
        query = self.codec.query(self.codec.expression(region))
        return self.service.answer(query, most=most, size=math.prod(map(len, region)) * TEXT, keep=keep)

    def values(self, region: Region, *, keep: bool = False) -> dict[str, NDArray[Any]]:
        """Return the values of a region by part, in the parts' shapes and dtypes. Raises CompileError, OSError."""
        data = self.answer(region, keep=keep)
        try:
            return self.codec.decode(data, region)
        except CompileError:  # names the place in the answer
            raise
        except ValueError as fault:
            text = f"the answer to `{self.codec.expression(region)}` cannot be used: {fault}"
            raise OSError(None, text, self.service.shown) from None

    def parts(self, fills: Mapping[str, bytes | None] = MappingProxyType({}), *, keep: bool = False) -> Parts:
        """Return the array sources of the parts. `fills`: the fill values of arrays; `keep`: cache all answers."""
        codec = self.codec
        if codec.type == "string" or is_fixed(codec.type, codec.types):
            return sources(Regions(self, keep=keep), fills)
        return sources(Blocks(self), fills)


class _RemoteSections(VariableSections):
    def __init__(self, variable: RemoteVariable) -> None:
        self.variable = variable
        self.type, self.shape, self.types = variable.codec.type, variable.codec.shape, variable.codec.types

    @property
    def distant(self) -> bool:
        return True


class Regions(_RemoteSections):
    """A variable of fixed-size values or strings, requested by region. `keep`: answers are cached."""

    def __init__(self, variable: RemoteVariable, *, keep: bool = False) -> None:
        super().__init__(variable)
        self.keep = keep

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Regions, keep=self.keep), (self.variable,)

    def meeting(self, region: Region) -> Iterator[tuple[Region, Region]]:
        """Yield a region in pieces."""
        width = 0 if self.type == "string" else size(self.type, self.types)
        return ((piece, piece) for piece in _divide(region, width or TEXT))

    def decode(self, section: Region) -> dict[str, NDArray[Any]]:
        return self.variable.values(section, keep=self.keep)

    def each(self, call: Callable[[Any], None], sections: Iterable[Any]) -> None:
        """Call a function with each piece, several concurrently."""
        each_at_once(call, list(sections))


class Blocks(_RemoteSections):
    """Decoder of a variable's blocks for all its parts, with a cache. Pickles as a description."""

    def __init__(self, variable: RemoteVariable) -> None:
        super().__init__(variable)
        self.block = linear_block(self.shape, MOST)
        self.counts = grid_of(self.shape, self.block)
        self._recent = lru_cache(KEPT)(self._request)
        self._growing = threading.Lock()
        self._ends: dict[str, list[int]] = {
            part.path: [] for part in parts(self.type, (), self.types) if None in part.shape
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Blocks, (self.variable,)

    def meeting(self, region: Region) -> Iterator[tuple[int, Region]]:
        """Yield the blocks that intersect a region, by number."""
        for index in every_index(chunk_ranges(self.block, region)):
            number = number_of(index, self.counts)
            yield number, self.region(number)

    def region(self, number: int) -> Region:
        """Return the cells of a block."""
        bounds = region_of(index_of(number, self.counts), self.block, self.shape)
        return tuple(range(part.start, part.stop) for part in bounds)

    def each(self, call: Callable[[Any], None], sections: Iterable[Any]) -> None:
        """Call a function with each block, `KEPT` blocks concurrently."""
        remaining = iter(sections)
        while batch := list(itertools.islice(remaining, KEPT)):
            each_at_once(call, batch)

    def decode(self, section: int) -> dict[str, NDArray[Any]]:
        return self._recent(section)

    def _request(self, section: int) -> dict[str, NDArray[Any]]:
        return self.variable.values(self.region(section), keep=True)

    def content(self, stretch: int) -> dict[str, NDArray[Any]]:
        return self.decode(stretch)

    def ends(self, part: str, stop: int | None = None) -> list[int]:
        """Return the cumulative content length after each block, up to `stop` (None: all). Raises OSError.

        Requests missing blocks.
        """
        ends, total = self._ends[part], math.prod(self.counts)
        with self._growing:
            while len(ends) < total and (stop is None or not ends or ends[-1] < stop):
                self._grow(range(len(ends), min(len(ends) + KEPT, total)))
        return ends

    def _grow(self, numbers: range) -> None:
        """Request the lengths of the next blocks concurrently, at first of only one."""
        numbers = numbers if numbers.start else numbers[:1]
        lengths: dict[int, dict[str, int]] = {}

        def look(number: int) -> None:
            decoded = self.decode(number)
            lengths[number] = {part: decoded[part].shape[0] for part in self._ends}

        each_at_once(look, list(numbers))
        for number in numbers:
            for part, ends in self._ends.items():
                ends.append((ends[-1] if ends else 0) + lengths[number][part])


def _divide(region: Region, width: int) -> Iterator[Region]:
    """Yield pieces of a region of at most `PIECE` bytes, cut along its leading dimensions."""
    lengths = tuple(map(len, region))
    for piece in linear_pieces(all_of(lengths), PIECE // width):
        yield tuple(whole[part] for whole, part in zip(region, piece, strict=True))


def each_at_once(call: Any, items: list[Any]) -> None:
    """Call a function with each item concurrently. Raises whatever the function raises."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(AT_ONCE, len(items))) as threads:
        running = [threads.submit(call, item) for item in items]
        try:
            for future in running:
                future.result()
        except BaseException:
            for future in running:
                future.cancel()
            raise
