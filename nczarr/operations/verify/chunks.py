"""Trial reads of a dataset's chunks: all, or a sample of each array.

The sample depends only on the array's name and number of chunks, so that it is
reproducible.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from nczarr.arrays.chunks.chunk_keys import KeyListing
from nczarr.arrays.execution.thread_pool import DISTANT_WORKERS, Crew, Task
from nczarr.arrays.regions import Index, region_of
from nczarr.arrays.sources.source import ArraySource, itemsize
from nczarr.arrays.sources.windows import TEXT, TIMES
from nczarr.ast.rectilinear import volume
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import CompileError, Diagnostic
from nczarr.stores.base import is_safe
from nczarr.stores.memory import is_metadata
from nczarr.stores.reference import Reference, References

BATCH = 16
"""Chunks per work item."""


class CheckedPart(NamedTuple):
    """One array of a variable."""

    path: str
    """FQN of the variable."""
    part: str
    """Path of the part."""
    source: ArraySource
    """The array."""

    @property
    def name(self) -> str:
        """Displayable path."""
        return f"{self.path}/{self.part}" if self.part else self.path

    def key(self, index: Index) -> str | None:
        """Return the key of a chunk; None without one."""
        keys = self.source.keys
        return None if keys is None or self.source.layout.shards else keys.chunk_keys.key(index)


class ChunkFault(NamedTuple):
    """An unreadable chunk."""

    array: CheckedPart
    """Its array."""
    chunk: Index
    """Its grid index."""
    key: str | None
    """Its key, if it has one."""
    reason: OSError | tuple[Diagnostic, ...]
    """The error or diagnostics."""


def arrays(checked: Checked, *, empty: bool = False) -> Iterator[CheckedPart]:
    """Yield every array with chunks; with `empty`, also empty ones."""
    for path, parts in checked.parts.items():
        for part, source in parts.items():
            if empty or 0 not in source.layout.shape:
                yield CheckedPart(path, part, source)


def chosen(array: CheckedPart, sample: int | None) -> Iterator[Index]:
    """Yield the stored chunks of an array, or a sample of them. Raises OSError."""
    chunks = array.source.layout.chunks
    if sample is None:
        return array.source.occupied(chunks)
    count = sum(1 for _ in array.source.occupied(chunks))
    if count <= sample:
        return array.source.occupied(chunks)
    places = set(random.Random(f"{array.name} {count}").sample(range(count), sample))
    return (index for place, index in enumerate(array.source.occupied(chunks)) if place in places)


def read(
    checked: Checked, sample: int | None, memory: int, skip: Callable[[str], bool]
) -> Iterator[tuple[int, list[ChunkFault]]]:
    """Read all chunks, or `sample` of each array; yield the number read and their faults, per batch.

    `skip`: returns whether to skip a key. Raises OSError if chunks cannot be
    listed.
    """
    every_array = list(arrays(checked))
    far = any(array.source.distant for array in every_array)

    def tasks() -> Iterator[Task]:
        for array in every_array:
            layout = array.source.layout
            need = TIMES * volume(layout.chunks) * (itemsize(layout.dtype) or TEXT)
            selected = iter(chosen(array, sample))
            while batch := tuple(islice(selected, BATCH)):
                yield Task(partial(_looked_at, array, batch, skip), need)

    with Crew(DISTANT_WORKERS if far else None, memory) as crew:
        yield from crew.results(tasks())


def _looked_at(
    array: CheckedPart, batch: tuple[Index, ...], skip: Callable[[str], bool]
) -> tuple[int, list[ChunkFault]]:
    count, faults = 0, []
    for index in batch:
        key = array.key(index)
        if key is not None and skip(key):
            continue
        count += 1
        try:
            array.source.read(region_of(index, array.source.layout.chunks, array.source.layout.shape))
        except OSError as error:
            faults.append(ChunkFault(array, index, key, error))
        except CompileError as error:
            faults.append(ChunkFault(array, index, key, tuple(error.diagnostics)))
    return count, faults


def strays(checked: Checked, references: References) -> Iterator[str]:
    """Yield valid keys of references that are neither chunks nor documents. Raises OSError."""
    sources = [array.source for array in arrays(checked, empty=True)]
    owners: dict[str, KeyListing] = {}
    count = 0
    for source in sources:
        if source.keys is not None:
            count += sum(1 for _ in source.occupied(source.layout.shards or source.layout.chunks))
            owners[source.keys.chunk_keys.prefix] = source.keys
    if count == sum(1 for key, _ in references.entries() if not is_metadata(key)):  # every key is one of a chunk
        return
    for key, entry in references.entries():
        if not isinstance(entry, Reference) or is_metadata(key) or not is_safe(key):
            continue
        prefix = key[: key.rfind("/") + 1]
        while prefix not in owners and prefix:
            prefix = prefix[: prefix.rfind("/", 0, -1) + 1]
        owner = owners.get(prefix)
        if owner is None or not owner.holds(key):
            yield key
