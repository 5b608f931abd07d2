"""Lookup of generator entries by key: stores only the hash of each key, no objects.

Every entry is made once, in blocks, and checked as in an expansion.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import cycle, repeat
from typing import Literal

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.reference.lookup import FEW_KEYS, odd
from nczarr.formats.reference.wire import encode
from nczarr.plugins.refs.templates.expansion import blocks
from nczarr.plugins.refs.templates.family import GeneratorFamily
from nczarr.stores.base import NODES, Reference, folders_with, next_segments, with_prefix

FOLDERS = 4096
"""Maximum number of folders stored for one generator."""

VERSION = '"version"'
"""Key forbidden in version 0, as JSON."""

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")

AHEAD = 512
"""Entries made at once for sequential access."""

_NODES = tuple(f'{end}"' for end in NODES)

PUNCTUATION = 48
"""Maximum characters of a version 0 entry besides key and URL."""


def _keys(family: GeneratorFamily, prefix: str) -> Iterator[str]:
    """Yield the keys of a family with `prefix`."""
    for start, stop in blocks(family):
        yield from (key for key in map(_unquote, family.keys(start, stop)) if key.startswith(prefix))


FamilyEntry = tuple[GeneratorFamily, int]
"""Family and row of an entry."""


class Index:
    """Entries of families. Add them first, then `seal`, then query."""

    def __init__(self) -> None:
        self.size = 0
        """Estimated size of the entries in version 0, in bytes; never too small."""
        self.odd: list[str] = []
        """Some of the keys invalid in stores."""
        self.nodes: list[str] = []
        """Keys of documents of arrays and groups."""
        self._families: list[GeneratorFamily] = []
        self._ends: list[int] = []
        self._folders: dict[str, list[GeneratorFamily]] = {}
        """Families with keys in each folder."""
        self._spread: list[GeneratorFamily] = []
        """Families with keys in more than `FOLDERS` folders."""
        self._sorted: list[str] = []
        self._unsorted: list[NDArray[np.int64]] = []
        self._hashes: NDArray[np.int64] | None = None
        self._entries: NDArray[np.int64] | None = None

    def add(self, family: GeneratorFamily) -> bool:
        """Make and check a family's entries; return whether a key is `version`. Raises RefusedTextError."""
        hashes = np.empty(family.count, dtype=np.int64)
        folders: set[str] | None = set()
        version = False
        for start, stop in blocks(family):
            keys = family.keys(start, stop)
            version = version or VERSION in keys
            text = "\n".join(keys)
            if len(self.odd) < FEW_KEYS:
                self.odd += odd(map(_unquote, keys), text.replace('"\n"', "\n").replace('"', "\n"))[:FEW_KEYS]
            if any(end in text for end in _NODES):  # searched at once, for speed
                self.nodes += [_unquote(key) for key in keys if key.endswith(_NODES)]
            hashes[start:stop] = list(map(hash, keys))
            if folders is not None:
                folders.update([key[1 : key.rfind("/") + 1] for key in keys])
                folders = folders if len(folders) <= FOLDERS else None
            urls = family.urls(start, stop)
            family.ranges(start, stop)
            self.size += sum(map(len, keys)) + sum(map(len, urls)) * len(keys) // len(urls) + len(keys) * PUNCTUATION
        self._families.append(family)
        self._unsorted.append(hashes)
        if folders is None:
            self._spread.append(family)
        for folder in map(_decode, folders or ()):
            self._folders.setdefault(folder, []).append(family)
        self._ends.append((self._ends[-1] if self._ends else 0) + family.count)
        return version

    def seal(self) -> None:
        """Sort folders and, stably, hashes, after all families are added."""
        if not self._families:
            return
        self._sorted = sorted(self._folders)
        hashes = np.concatenate(self._unsorted)
        self._unsorted = []
        self._entries = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._entries]

    def find(self, key: str) -> FamilyEntry | None:
        """Return the last entry of a key; None for an unknown key."""
        if self._hashes is None or self._entries is None:
            return None
        written = encode(key)
        begin, end = (int(self._hashes.searchsorted(hash(written), side)) for side in SIDES)
        for entry in self._entries[begin:end][::-1].tolist():
            place = bisect_right(self._ends, entry)
            family, row = self._families[place], entry - (self._ends[place - 1] if place else 0)
            if family.keys(row, row + 1) == [written]:
                return family, row
        return None

    def ahead(self, entry: FamilyEntry) -> dict[str, Reference]:
        """Return an entry and its successors by key, without keys that may occur elsewhere."""
        assert self._hashes is not None
        family, start = entry
        stop = min(start + AHEAD, family.count)
        hashes = np.fromiter(map(hash, family.keys(start, stop)), np.int64, stop - start)
        begins, ends = (self._hashes.searchsorted(hashes, side) for side in SIDES)
        rows = zip(_list_references(family, start, stop), (ends - begins == 1).tolist(), strict=True)
        return {key: reference for (key, reference), alone in rows if alone}

    def keys(self, prefix: str) -> list[str]:
        """Return keys with `prefix` in any order, possibly repeated."""
        return [
            key for family in self._families_in(folders_with(self._sorted, prefix)) for key in _keys(family, prefix)
        ]

    def children(self, prefix: str) -> set[str]:
        """Return the next segments of keys with `prefix`, which is empty or ends in a slash."""
        segments = set(next_segments(with_prefix(self._sorted, prefix), prefix))
        for family in self._families_in([prefix] if prefix in self._folders else []):
            segments.update(next_segments(_keys(family, prefix), prefix))
        return segments

    def _families_in(self, folders: Iterable[str]) -> Iterable[GeneratorFamily]:
        """Return each family that may have keys in folders, once."""
        families = {id(family): family for folder in folders for family in self._folders[folder]}
        return [*families.values(), *self._spread]

    def entries(self) -> Iterator[tuple[str, Reference]]:
        """Yield all entries in order."""
        for family in self._families:
            for start, stop in blocks(family):
                yield from _list_references(family, start, stop)

    def urls(self) -> Iterator[tuple[str, str]]:
        """Yield every URL with one of its keys; once if all entries of a generator share it."""
        for family in self._families:
            for start, stop in blocks(family):
                urls = family.urls(start, stop)
                keys = family.keys(start, start + len(urls))
                yield from zip(map(_unquote, urls), map(_unquote, keys), strict=True)
                if len(urls) < stop - start:
                    break


def _list_references(family: GeneratorFamily, start: int, stop: int) -> Iterator[tuple[str, Reference]]:
    """Return keys and references of some entries of a family."""
    offsets, lengths = family.ranges(start, stop)
    urls = cycle(map(_unquote, family.urls(start, stop)))
    keys = map(_unquote, family.keys(start, stop))
    return zip(keys, map(Reference, urls, offsets or repeat(0), lengths or repeat(None)), strict=False)


def _unquote(written: str) -> str:
    """Decode a JSON string in ASCII."""
    return _decode(written[1:-1])


def _decode(written: str) -> str:
    """Decode the content of a JSON string in ASCII."""
    return written if "\\" not in written else str(json.loads(f'"{written}"'))
