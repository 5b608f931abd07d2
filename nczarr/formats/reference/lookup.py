"""A document as the references of a store: where the bytes of each key lie, found without writing the document out.

Comes in: a source. Goes out: `DocumentReferences`, None if the document is one that an expansion refuses. Entries of
generators are found by the hashes of their keys (`index.py`), those of `refs` where JSON put them; a generator's entry
goes before one of `refs`, that of a later generator before that of an earlier one.
"""

from __future__ import annotations

import binascii
import errno
import functools
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from heapq import merge
from typing import Any

from nczarr.diagnostics.report import CompileError, Report
from nczarr.formats.reference import expansion, wire
from nczarr.formats.reference.family import Family, MemberFaultError
from nczarr.formats.reference.index import AHEAD, Entry, Index, odd
from nczarr.formats.reference.index import FEW as FEW_KEYS
from nczarr.formats.reference.limits import DEFAULT, Limits
from nczarr.formats.reference.parts import Missing, Refs, encode, prepare, refuse
from nczarr.formats.reference.texts import data_of
from nczarr.json.positions import Faults
from nczarr.source import Source
from nczarr.stores.reference import Reference
from nczarr.stores.single import open_source

WORST = 12
"""So many times as long as in its document is a text in version 0, at most: as JSON within JSON, in ASCII."""

FEW = 4
"""Documents that a process keeps for descriptions which come back."""

Overrides = tuple[tuple[str, str], ...]


class DocumentReferences:
    """The entries of a checked document. Pickles: the place of its file, or its bytes where it has none."""

    def __init__(self, document: wire.Document, source: Source, refs: Refs | None, index: Index) -> None:
        self._source = source
        self._path: tuple[str, ...] = ("refs",) if document.version else ()
        self._refs = document.refs
        self._rendered = refs
        self._index = index
        self._sorted: list[str] | None = None
        self._ahead: dict[str, Reference] = {}
        self._last: Entry | None = None
        self._options: tuple[Limits, Overrides] = (DEFAULT, ())
        self._noted = document.noted

    @property
    def noted(self) -> Any:
        """What the document says of its targets beside the references."""
        return self._noted

    def find(self, key: str) -> bytes | Reference | None:
        """The bytes of a key, or where they lie; None if there is no such key. Raises CompileError: broken base64."""
        known = self._ahead.get(key)
        if known is not None:
            return known
        entry = self._index.find(key)
        if entry is not None:
            last, self._last = self._last, entry
            if last is not None and last.family is entry.family and entry.number - last.number == 1:
                self._ahead = self._index.ahead(entry)
                self._last = Entry(entry.family, entry.number + AHEAD - 1)
            return Reference(*entry.family.reference(entry.number))
        value = self._refs.get(key)
        return None if value is None else self._meant(key, value)

    def _meant(self, key: str, value: Any) -> bytes | Reference:
        """What a value of `refs` stands for. Raises CompileError."""
        if isinstance(value, list):
            url = self._rendered.url(value[0]) if self._rendered is not None else value[0]
            return Reference(url) if len(value) == 1 else Reference(url, value[1], value[2])
        if isinstance(value, dict):
            return encode(value).encode()
        try:
            return data_of(value)
        except binascii.Error as error:
            report = Report()
            why = f"{str(error)[:1].lower()}{str(error)[1:]}"
            place = (*self._path, key)
            Faults(self._source, report).error("bad-reference", f"`{key}`: its base64 is broken: {why}", place)
            raise CompileError(report.sorted()) from None

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin with `prefix`, sorted."""
        last = None
        for key in merge(self._listed(prefix), sorted(self._index.keys(prefix))):
            if key != last:
                yield key
            last = key

    def odd(self) -> list[str]:
        """Some of the keys that no store has."""
        found = odd(self._refs, "\n".join(["", *self._refs, ""]))
        return [*found[:FEW_KEYS], *self._index.odd]

    def _listed(self, prefix: str) -> Iterator[str]:
        """Those of `refs`, sorted."""
        names = self._names()
        for place in range(bisect_left(names, prefix), len(names)):
            if not names[place].startswith(prefix):
                return
            yield names[place]

    def children(self, prefix: str) -> list[str]:
        """The next segments of all keys that begin with `prefix`, which is empty or ends in a slash; sorted."""
        names, found = self._names(), self._index.children(prefix)
        place = bisect_left(names, prefix)
        while place < len(names) and names[place].startswith(prefix):
            segment, slash, _ = names[place][len(prefix) :].partition("/")
            if segment or slash:
                found.add(segment)
            # all that is below a segment is passed over: "0" follows "/"
            place = bisect_left(names, f"{prefix}{segment}0", place) if slash else place + 1
        return sorted(found)

    def _names(self) -> list[str]:
        """The keys of `refs`, sorted when they are asked for."""
        if self._sorted is None:
            self._sorted = sorted(self._refs)
        return self._sorted

    def named(self) -> Iterator[tuple[str | None, str]]:
        """Every URL that is named, once, and a key that names it; also if a later entry has replaced that one."""
        known: set[str | None] = set()
        for written, key in self._refs.named():
            url = self._rendered.url(written) if self._rendered is not None else written
            if url not in known:
                known.add(url)
                yield url, key
        for url, key in self._index.urls():
            if url not in known:
                known.add(url)
                yield url, key

    def entries(self) -> Iterator[tuple[str, bytes | Reference]]:
        """All keys and what stands there, in the order of the document; perhaps also what a later entry has replaced.

        Raises as `find`.
        """
        for key, value in self._refs.items():
            yield key, self._meant(key, value)
        yield from self._index.entries()

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self._source.data, bytes):
            return _of_bytes, (self._source.name, self._source.data, *self._options)
        path = os.path.abspath(self._source.path)
        return _of_file, (path, self._source.name, _identity(path), *self._options)


def opened(
    source: Source, report: Report, limits: Limits = DEFAULT, overrides: Mapping[str, str] | None = None
) -> DocumentReferences | None:
    """The references of a document; None if an error stands in the report. `overrides` replace or add templates."""
    document = wire.read(source, report, limits, overrides)
    found = None if document is None else _made(document, source, report, limits)
    if found is not None:
        found._options = (limits, tuple((overrides or {}).items()))
    return found


def _made(document: wire.Document, source: Source, report: Report, limits: Limits) -> DocumentReferences | None:
    """The references of a document that has been read; every entry is checked."""
    faults = Faults(source, report)
    missing = Missing(faults)
    before = report.errors
    found = prepare(document, faults, limits, missing)
    if report.errors > before:
        return None
    try:
        expansion.check_size(found, faults, limits)
    except expansion.StoppedError:
        return None
    version = bool(document.version) and "version" in document.refs
    index = Index()
    for path, part in found:
        if isinstance(part, Family):
            try:
                version = index.add(part) or version
            except MemberFaultError as error:
                refuse(error, path[-1], faults)
                return None
    if version:
        faults.error("bad-reference", "`version`: a document of version 0 cannot have this key")
    index.seal()
    refs = next((part for _, part in found if isinstance(part, Refs)), None)
    missing.tell("`gen`", ("gen",))
    longest = 0 if refs is None else refs.longest
    if index.size + len(source.data) * WORST + len(document.refs) * longest > limits.output:
        try:
            for _ in expansion.expand(document, source, report, limits):
                pass
        except expansion.StoppedError:
            return None
    return DocumentReferences(document, source, refs, index) if report.errors == before else None


@functools.lru_cache(maxsize=FEW)
def _of_bytes(name: str, data: bytes, limits: Limits, overrides: Overrides) -> DocumentReferences:
    """In another process: the references of a document that travels with them."""
    return _again(Source(name, data), limits, overrides)


@functools.lru_cache(maxsize=FEW)
def _of_file(
    path: str, name: str, identity: tuple[int, int], limits: Limits, overrides: Overrides
) -> DocumentReferences:
    """In another process: the references of a document in a file. Raises OSError if it is not the same any more."""
    if _identity(path) != identity:
        raise OSError(errno.ESTALE, "the document has changed", path)
    return _again(open_source(path, name), limits, overrides)


def _identity(path: str) -> tuple[int, int]:
    """What tells a file from what it was. Raises OSError."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _again(source: Source, limits: Limits, overrides: Overrides) -> DocumentReferences:
    report = Report()
    found = opened(source, report, limits, dict(overrides))
    if found is None:
        raise CompileError(report.sorted())
    return found
