"""Chunks of a document as store keys: byte ranges of targets, or inline bytes; positions in chunk grids; filters."""

from __future__ import annotations

import itertools
import os
import stat
import struct
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.arrays.regions import index_of, number_of
from nczarr.ast import ATOMIC
from nczarr.ast.dataset import DEFLATE, FLETCHER32, SHUFFLE
from nczarr.plugins.common.xml_reader import ChunkColumns, XmlElement
from nczarr.plugins.opendap.common.declarations import FaultError, whole
from nczarr.plugins.opendap.common.words import number_bytes
from nczarr.registry import ChunkKeys
from nczarr.semantics.check_types import DEFAULT
from nczarr.stores.base import Reference, folders_with

PLACEHOLDER = "OPeNDAP_DMRpp_DATA_ACCESS_URL"
"""`dmrpp:href` of NASA's documents: the target is the document's name without `.dmrpp`."""

SUFFIX = ".dmrpp"

HDF5, HDF4 = b"\x89HDF\r\n\x1a\n", b"\x0e\x03\x13\x01"
"""Signatures of files; HDF5's may follow a user block."""

FILTERS = {"deflate": DEFLATE, "shuffle": SHUFFLE, "fletcher32": FLETCHER32}
"""Filters by the words of `compressionType`."""

FILTER_NAMES = {number: name for name, number in FILTERS.items()}


def fill_number(text: str, type_name: str, declared: bytes | None) -> bytes | None:
    """Return the bytes of a fill value, None for invalid text.

    Hyrax writes six digits of a float: the declared fill value, or the type's
    default, is returned if it matches.
    """
    number = number_bytes(text, type_name)
    if number is None or not ATOMIC[type_name].is_float:
        return number
    code = "<" + ATOMIC[type_name].code
    for candidate in (declared, struct.pack(code, DEFAULT[type_name])):
        if (
            candidate is not None
            and len(candidate) == len(number)
            and f"{struct.unpack(code, candidate)[0]:g}" == text.strip()
        ):
            return candidate
    return number


def foreign_kind(path: str) -> str | None:
    """Describe a regular file that is not HDF5, or return None. Raises OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return None
    with open(path, "rb") as file:
        head = file.read((1 << 15) + 8)
    # HDF5 format spec II: the signature is at byte 0, 512, 1024, 2048 …
    if any(head[at : at + 8] == HDF5 for at in (0, *(512 << step for step in range(7)))):
        return None
    return "an HDF4 file" if head[:4] == HDF4 else "not an HDF5 file"


class Ranges(NamedTuple):
    """Chunks of one array in C order."""

    counts: tuple[int, ...]
    """Shape of the chunk grid."""
    numbers: array[int]
    """Linear indices in the grid, ascending."""
    offsets: array[int]
    """Start of each chunk in bytes."""
    lengths: array[int]
    """Length of each chunk in bytes."""
    urls: tuple[str | None, ...]
    """Targets. None: the target given to the reader."""
    targets: array[int] | None = None
    """Index into `urls` for each chunk; None: the first for all."""
    stride: tuple[int, int] | None = None
    """Chunk step in bytes and number of chunks, for contiguous data in several chunks."""

    def find(self, number: int) -> Reference | None:
        """Return the location of a chunk, None if it is not stored."""
        if self.stride is not None:
            step, count = self.stride
            return Reference(self.urls[0], self.offsets[0] + number * step, step) if 0 <= number < count else None
        row = bisect_left(self.numbers, number)
        if row == len(self.numbers) or self.numbers[row] != number:
            return None
        return Reference(self.urls[self.targets[row] if self.targets else 0], self.offsets[row], self.lengths[row])

    def chunks(self) -> Iterator[int]:
        """Yield the indices of all stored chunks."""
        return iter(self.numbers if self.stride is None else range(self.stride[1]))


class Inline(NamedTuple):
    """The only chunk of an array."""

    data: bytes
    key: str
    """Its grid indices as a key."""


class DmrppReferences:
    """Locations of the chunks of all arrays of a document. Picklable."""

    noted: Any = None

    def __init__(self) -> None:
        self._arrays: dict[str, Ranges | Inline] = {}
        self._folders: list[str] = []

    def add(self, prefix: str, chunks: Ranges | Inline) -> None:
        """Add an array by its key prefix."""
        if prefix not in self._arrays:
            insort(self._folders, prefix)
        self._arrays[prefix] = chunks

    def find(self, key: str) -> bytes | Reference | None:
        """Return inline bytes, or the byte range of a chunk by its store key; None if there is no such chunk."""
        prefix, slash, rest = key.rpartition("/")
        chunks = self._arrays.get(prefix + slash)
        if chunks is None:
            return None
        if isinstance(chunks, Inline):
            return chunks.data if rest == chunks.key else None
        index = ChunkKeys().index_of(rest, chunks.counts)
        return None if index is None else chunks.find(number_of(index, chunks.counts))

    def keys(self, prefix: str = "") -> Iterator[str]:
        yield from sorted(key for key, _ in self._entries(prefix))

    def children(self, prefix: str) -> list[str]:
        return sorted({key[len(prefix) :].partition("/")[0] for key, _ in self._entries(prefix)})

    def nodes(self, prefix: str) -> list[str]:
        """Return no keys: all are chunks."""
        return []

    def entries(self) -> Iterator[tuple[str, bytes | Reference]]:
        return self._entries("")

    def _entries(self, prefix: str) -> Iterator[tuple[str, bytes | Reference]]:
        """Yield the chunks whose keys begin with a prefix, with their bytes or byte ranges."""
        homes = self._arrays if not prefix else folders_with(self._folders, prefix)
        for home in [prefix] if prefix in self._arrays else homes:
            chunks = self._arrays[home]
            if isinstance(chunks, Inline):
                if (home + chunks.key).startswith(prefix):
                    yield home + chunks.key, chunks.data
            else:
                keys = ChunkKeys(home)
                for number in chunks.chunks():
                    key = keys.key(index_of(number, chunks.counts))
                    reference = chunks.find(number)
                    if reference is not None and key.startswith(prefix):
                        yield key, reference

    def odd(self) -> list[str]:
        """Return no keys: every key belongs to a variable."""
        return []

    def list_named(self) -> Iterator[tuple[str | None, str]]:
        for home, chunks in self._arrays.items():
            if isinstance(chunks, Ranges):
                yield from ((url, home.rstrip("/")) for url in dict.fromkeys(chunks.urls))


def chunk_lengths(block: XmlElement, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the chunk lengths, None for contiguous data. Raises FaultError."""
    sizes = block.all("dmrpp:chunkDimensionSizes")
    if not sizes:
        return None
    lengths = tuple(whole(word, "length of chunks") for word in sizes[0].text.split())
    if len(sizes) > 1 or len(lengths) != len(shape) or 0 in lengths:
        raise FaultError(f"its chunks have the lengths `{sizes[0].text[:40]}`, but it has {len(shape)} dimensions")
    return lengths


def targets_of(rows: ChunkColumns, url: str | None) -> tuple[tuple[str | None, ...], array[int] | None]:
    """Return the targets of chunks, and the index of each chunk's target."""
    if not rows.hrefs:
        return (url,) if len(rows) else (), None  # without chunks nothing is asked of the file
    places: dict[str | None, int] = {}
    targets = array("q", (places.setdefault(rows.hrefs.get(row, url), len(places)) for row in range(len(rows))))
    return tuple(places), targets


def numbers_of(
    rows: ChunkColumns, shape: tuple[int, ...], chunks: tuple[int, ...], counts: tuple[int, ...]
) -> array[int]:
    """Return the linear indices of chunks. Raises FaultError for positions off the grid."""
    rank, numbers = len(shape), array("q")
    for row in range(len(rows)):
        position = rows.positions[row * rank : row * rank + rank]
        number = 0
        for start, length, extent, count in zip(position, chunks, shape, counts, strict=True):
            if start % length or start >= extent:
                raise FaultError(f"it cannot have a chunk at {list(position)}")
            number = number * count + start // length
        if number >> 63:
            raise FaultError("it has too many chunks")
        numbers.append(number)
    return numbers


def in_order(ranges: Ranges) -> Ranges:
    """Return the chunks in C order. Raises FaultError for duplicates."""
    numbers = ranges.numbers
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    if any(numbers[one] == numbers[other] for one, other in itertools.pairwise(order)):
        raise FaultError("two of its chunks have the same position")
    if order == list(range(len(numbers))):
        return ranges

    def sort_column(column: array[int]) -> array[int]:
        return array("q", (column[row] for row in order))

    return ranges._replace(
        numbers=sort_column(numbers),
        offsets=sort_column(ranges.offsets),
        lengths=sort_column(ranges.lengths),
        targets=None if ranges.targets is None else sort_column(ranges.targets),
    )
