"""References of a document with templates or generators, located without expanding it.

Documents that an expansion rejects give None. Generator entries are found by
key hashes, without objects: every entry is made once, in blocks, and checked as
in an expansion. `refs` are found in the parsed JSON. Generators override `refs`
and earlier generators.
"""

from __future__ import annotations

import functools
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import chain, cycle, repeat
from typing import Literal

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.formats.reference.limits import Limits
from nczarr.formats.reference.lookup import FEW_KEYS, WORST, CheckedReferences, odd, report_version
from nczarr.formats.reference.wire import ReferenceDocument, encode
from nczarr.plugins.refs.templates import expansion
from nczarr.plugins.refs.templates.expansion import Missing, Refs, blocks, prepare, refuse
from nczarr.plugins.refs.templates.expressions import RefusedTextError
from nczarr.plugins.refs.templates.family import GeneratorFamily
from nczarr.stores.base import NODES, Reference, folders_with, next_segments, with_prefix
from nczarr.syntax.json.positions import Faults

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


class RenderedReferences(CheckedReferences):
    """Entries of a checked document with those of its generators."""

    def __init__(self, document: ReferenceDocument, source: Source, refs: Refs, index: Index) -> None:
        super().__init__(document, source)
        self._rendered = refs
        self._index = index
        self._ahead: dict[str, Reference] = {}
        self._last: FamilyEntry | None = None

    def find(self, key: str) -> bytes | Reference | None:
        """Return the bytes or location of a key, or None. Raises CompileError for invalid base64."""
        prefetched = self._ahead.get(key)
        if prefetched is not None:
            return prefetched
        entry = self._index.find(key)
        if entry is None:
            return super().find(key)
        last, self._last = self._last, entry
        family, number = entry
        if last is not None and last[0] is family and number - last[1] == 1:
            self._ahead = self._index.ahead(entry)
            self._last = family, number + AHEAD - 1
        return Reference(*family.reference(number))

    def url(self, written: str | None) -> str | None:
        """Return the rendered URL of a reference."""
        return self._rendered.url(written)

    def keys(self, prefix: str = "") -> Iterator[str]:
        last = None
        for key in merge(super().keys(prefix), sorted(self._index.keys(prefix))):
            if key != last:
                yield key
            last = key

    def odd(self) -> list[str]:
        return [*super().odd()[:FEW_KEYS], *self._index.odd]

    def children(self, prefix: str) -> list[str]:
        return sorted({*super().children(prefix), *self._index.children(prefix)})

    @functools.cached_property
    def _nodes(self) -> list[str]:
        """Sorted keys of documents of arrays and groups."""
        return sorted([*super()._nodes, *self._index.nodes])

    def list_named(self) -> Iterator[tuple[str | None, str]]:
        seen: set[str | None] = set()
        rendered = ((self.url(url), key) for url, key in super().list_named())
        for url, key in chain(rendered, self._index.urls()):
            if url not in seen:
                seen.add(url)
                yield url, key

    def entries(self) -> Iterator[tuple[str, bytes | Reference]]:
        """Yield keys with bytes or locations in document order, perhaps overridden ones. Raises as `find`."""
        yield from super().entries()
        yield from self._index.entries()


def make_references(
    document: ReferenceDocument, source: Source, report: Report, limits: Limits
) -> RenderedReferences | None:
    """Return the references of a parsed document after checking every entry; None after an error."""
    faults = Faults(source, report)
    missing = Missing(faults)
    before = report.errors
    parts = prepare(document, faults, limits, missing)
    if report.errors > before:
        return None
    try:
        expansion.check_size(parts, faults, limits)
    except CompileError:
        return None
    version = bool(document.version) and "version" in document.refs
    index = Index()
    try:
        for part in parts:
            version = (isinstance(part, GeneratorFamily) and index.add(part)) or version
    except RefusedTextError as error:
        refuse(error, faults)
        return None
    if version:
        report_version(faults)
    index.seal()
    refs = next(part for part in parts if isinstance(part, Refs))
    missing.tell("`gen`", ("gen",))
    if index.size + len(source.data) * WORST + len(document.refs) * refs.longest > limits.output:
        try:
            for _ in expansion.expand(document, source, report, limits):
                pass
        except CompileError:
            return None
    if report.errors > before:
        return None
    references = RenderedReferences(document, source, refs, index)
    references.name_scalars()
    return references
