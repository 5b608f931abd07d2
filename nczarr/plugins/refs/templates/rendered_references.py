"""References of a document with templates or generators, located without expanding it.

Documents that an expansion rejects give None. Generator entries are found by
key hashes (`index.py`), `refs` in the parsed JSON. Generators override `refs`
and earlier generators.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from heapq import merge
from itertools import chain

from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.formats.reference.limits import Limits
from nczarr.formats.reference.lookup import FEW_KEYS, WORST, CheckedReferences, report_version
from nczarr.formats.reference.wire import ReferenceDocument
from nczarr.plugins.refs.templates import expansion
from nczarr.plugins.refs.templates.expansion import Missing, Refs, prepare, refuse
from nczarr.plugins.refs.templates.expressions import RefusedTextError
from nczarr.plugins.refs.templates.family import GeneratorFamily
from nczarr.plugins.refs.templates.index import AHEAD, FamilyEntry, Index
from nczarr.stores.base import Reference
from nczarr.syntax.json.positions import Faults


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
