"""Reading of all chunks of an array: blocks of them by threads, and one by one where a block has a fault."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from nczarr.arrays.chunks.chunk_grid_array import TIMES
from nczarr.arrays.chunks.manifest import columns_of
from nczarr.arrays.codecs.lengths import EARLY
from nczarr.arrays.execution.thread_pool import Task
from nczarr.arrays.regions import (
    chunk_ranges,
    count_blocks,
    every_index,
    linear_block,
    region_of,
    region_or_all,
    repeat_chunks,
    within,
)
from nczarr.ast.rectilinear import volume
from nczarr.diagnostics.secrets import show
from nczarr.plugins.damage.values import UnfitValues, ValueJudge
from nczarr.sdk import ArraySource, CompileError, Index, Label, NDArray, Region, Selection, itemsize

ROOM = 1 << 22
"""Bytes of values that are read at once, unless one chunk has more."""

TEXT = 16
"""Bytes that a text counts as."""

BATCH = 16
"""Chunks of a sample that a thread reads at once."""

LISTED = 1 << 16
"""Chunks among which the first missing one is looked for."""

SIZES = re.compile(r"there are (\d+) bytes, and a chunk has (\d+)")
"""Reason of a wrong length, as `lengths.misfit` writes it."""

REASONS = (
    ("failed-checksum", re.compile(r"checksum|\bCRC|data check|\bhash\b", re.IGNORECASE)),
    ("truncated-chunk", re.compile(rf"{EARLY}|incomplete|truncat|unexpected end|ended unexpectedly", re.IGNORECASE)),
    ("misfit-chunk", SIZES),
)
"""Kinds of damage by the reason that a decoder states. Decoders are those of a dozen libraries, with texts alone."""


ChunkBox = list[range]
"""Chunk indices along each dimension."""


class ReadArray(NamedTuple):
    """One array that is read."""

    path: str
    """FQN of its variable."""
    name: str
    """Path for messages, with that of the part of a variable that has several."""
    source: ArraySource
    region: Region | None
    """Cells whose chunks are read; None: all."""
    judge: ValueJudge | None
    """Judge of its values; None for values without limits."""
    lacks: bool
    """True if the file ends before the last cell."""

    @property
    def ranges(self) -> ChunkBox:
        """Chunk indices along each dimension."""
        layout = self.source.layout
        return chunk_ranges(layout.chunks, region_or_all(self.region, layout.shape))

    def list_chunks(self) -> Iterator[Index]:
        """Yield the stored chunks. Raises OSError, CompileError."""
        first = [part.start for part in self.ranges]
        for index in self.source.list_occupied(self.source.layout.chunks, self._aligned):
            yield tuple(number + start for number, start in zip(index, first, strict=True))

    def count_chunks(self) -> int:
        """Return the number of stored chunks. Raises OSError, CompileError."""
        return count_blocks(self.source.list_occupied(self.source.layout.chunks, self._aligned))

    def find_unwritten(self, lost: Sequence[ChunkBox]) -> Index | None:
        """Return the first chunk that is not stored, outside of `lost`; None if they are too many to look.

        Raises OSError.
        """
        if math.prod(map(len, self.ranges)) > LISTED:
            return None
        known = {*self.list_chunks(), *(index for box in lost for index in every_index(box))}
        return next((index for index in every_index(self.ranges) if index not in known), None)

    def list_lost(self) -> Iterator[ChunkBox]:
        """Yield the chunks of each shard whose index cannot be read: which of them are stored is not known.

        Of such a shard the first chunk alone is listed, and the place of any other one cannot be found, where a chunk
        that is not stored has none. Raises OSError.
        """
        layout = self.source.layout
        if layout.shards is None:
            return
        whole = region_or_all(self._aligned, layout.shape)
        for home in self.source.list_occupied(layout.shards):
            shard = region_of(home, layout.shards, layout.shape)
            cells = tuple(range(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(shard, whole, strict=True))
            box = chunk_ranges(layout.chunks, cells)
            listed = list(islice(self.source.list_occupied(layout.chunks, cells), 2)) if all(cells) else []
            if listed != [(0,) * len(box)] or math.prod(map(len, box)) < 2:
                continue
            try:
                self.source.find_place(tuple(part[-1] for part in box))
            except CompileError:
                yield box

    @property
    def _aligned(self) -> Region | None:
        """Region that begins and ends with chunks."""
        layout = self.source.layout
        if self.region is None:
            return None
        lengths = zip(self.ranges, layout.chunks, layout.shape, strict=True)
        return tuple(range(part.start * chunk, min(part.stop * chunk, end)) for part, chunk, end in lengths)

    def list_blocks(self) -> Iterator[Selection]:
        """Yield regions of a few chunks that cover all stored ones. Raises OSError, CompileError."""
        layout = self.source.layout
        room = max(1, ROOM // self.width)
        region = region_or_all(self._aligned, layout.shape)
        lengths = tuple(map(len, region))
        whole = tuple(slice(part.start, part.stop) for part in region)
        is_cut = self.source.viewed and volume(layout.chunks) > room
        block = linear_block(lengths, room) if is_cut else repeat_chunks(layout.chunks, lengths, room)
        for index in self.source.list_occupied(block, self._aligned):
            yield within(whole, region_of(index, block, lengths))

    @property
    def width(self) -> int:
        """Bytes of a value."""
        return itemsize(self.source.layout.dtype) or TEXT


class DamagedChunk(NamedTuple):
    """A chunk that cannot be read."""

    name: str
    """Path of its array."""
    chunk: Index
    """Its index in the grid."""
    code: str
    """Kind of its damage, with words in `data_check.FAULTS`."""
    reason: str
    """Reason, as the decoder or the system states it."""
    label: Label
    """Its key or its place in a file."""
    place: str | None
    """Its bytes, in words; None if they are not known."""


class BlockResult(NamedTuple):
    """Result of reading some chunks."""

    size: int
    """Bytes of values."""
    damaged: list[DamagedChunk]
    unfit: list[UnfitValues]


def list_tasks(array: ReadArray, share: float | None) -> Iterator[Task]:
    """Yield the tasks that read an array. `share`: part of the chunks that is read; None: all.

    Raises OSError, CompileError if its chunks cannot be listed.
    """
    need = TIMES * max(ROOM, volume(array.source.layout.chunks) * array.width)
    if share is None and not array.lacks:
        for block in array.list_blocks():
            yield Task(partial(_read_block, array, block), need)
        return
    chunks = array.list_chunks() if share is None else _draw(array, share)
    while batch := tuple(islice(chunks, BATCH)):
        yield Task(partial(_read_chunks, array, batch), need)


def _draw(array: ReadArray, share: float) -> Iterator[Index]:
    """Yield a sample of the chunks, the same in each run."""
    count = array.count_chunks()
    places = set(random.Random(f"{array.name} {count}").sample(range(count), min(count, math.ceil(count * share))))
    return (index for place, index in enumerate(array.list_chunks()) if place in places)


def _read_block(array: ReadArray, block: Selection) -> BlockResult:
    try:
        return _judge(array, block, array.source.read(block))
    except (OSError, CompileError):
        return _read_chunks(array, every_index(chunk_ranges(array.source.layout.chunks, block)))


def _judge(array: ReadArray, block: Selection, values: NDArray[Any]) -> BlockResult:
    unfit = [] if array.judge is None else array.judge.find_unfit(values, tuple(part.start for part in block))
    return BlockResult(values.nbytes, [], unfit)


def _read_chunks(array: ReadArray, indices: Iterator[Index] | tuple[Index, ...]) -> BlockResult:
    """Read chunks one by one, so that each fault has its place."""
    result = BlockResult(0, [], [])
    layout = array.source.layout
    for index in indices:
        block = region_of(index, layout.chunks, layout.shape)
        try:
            if array.lacks and _is_beyond(array.source, block):
                label, reason = Label(), "the file ends before its last byte"
                result.damaged.append(DamagedChunk(array.name, index, "truncated-chunk", reason, label, None))
                continue
            size, _, unfit = _judge(array, block, array.source.read(block))
        except (OSError, CompileError) as error:
            result.damaged.append(_describe(array, index, error))
            continue
        result = BlockResult(result.size + size, result.damaged, [*result.unfit, *unfit])
    return result


def _is_beyond(source: ArraySource, block: Selection) -> bool:
    """Return whether the file of an array ends before the last byte of a chunk. Raises OSError."""
    manifest = source.manifest(tuple(range(part.start, part.stop) for part in block))
    return manifest is None or not len(columns_of(manifest).chunk)


def _describe(array: ReadArray, index: Index, error: OSError | CompileError) -> DamagedChunk:
    """Return the damage for which a chunk cannot be read."""
    keys, layout = array.source.keys, array.source.layout
    key = None if keys is None or layout.shards else keys.chunk_keys.key(index)
    place = _find_place(lambda: array.source.find_place(index), key)
    if isinstance(error, OSError):
        target = f"`{show(str(error.filename))}`: " if error.filename else ""
        reason = f"{target}{error.strerror or error}"
        code = "missing-chunk" if isinstance(error, FileNotFoundError) else _classify(reason)
        return DamagedChunk(array.name, index, code, reason, Label(key=key), place)
    first = error.diagnostics[0]
    reason = re.sub(r"^the chunk.* cannot be decoded: ", "", first.message)
    code = _classify(reason)
    sizes = SIZES.search(reason)
    if first.code == "short-target" or (sizes and not layout.codecs and int(sizes[1]) < int(sizes[2])):
        code = "truncated-chunk"
    return DamagedChunk(array.name, index, code, reason.split("\n")[0], first.primary, place)


def _classify(reason: str) -> str:
    return next((code for code, pattern in REASONS if pattern.search(reason)), "unreadable-chunk")


def _find_place(find: Callable[[], Any], key: str | None) -> str | None:
    """Return the bytes of a chunk in words; None if its key is a file, or if they are not known for the damage."""
    try:
        place = find()
    except (OSError, CompileError):
        return None
    if place is None or place.length < 0 or (key is not None and str(place.path).endswith(key)):
        return None
    words = f"bytes {place.offset} to {place.offset + place.length}"
    return words if key is None else f"{words} of `{show(place.path)}`"
