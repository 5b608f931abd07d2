"""References of a document by key, found in the parsed JSON.

A plugin reads documents with templates and generators.
"""

import binascii
import errno
import functools
import json
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nczarr.diagnostics.report import CompileError, Report, Severity, Source
from nczarr.formats.reference import parquet, wire
from nczarr.formats.reference.limits import DEFAULT, Limits
from nczarr.formats.reference.wire import encode
from nczarr.names.plugin_index import find_place, load_part
from nczarr.options import Options
from nczarr.stores import local_paths
from nczarr.stores.base import Reference, References, Store, is_node, is_safe, with_prefix
from nczarr.stores.open import open_source
from nczarr.stores.reference_policy import Policy, home_of
from nczarr.stores.references import ReferenceStore
from nczarr.syntax.json.positions import Faults

WORST = 12
"""Maximum growth factor of a text in version 0: JSON within JSON, in ASCII."""

FEW = 4
"""Documents cached in a process for unpickled descriptions."""

FEW_KEYS = 10
"""Maximum number of reported invalid keys."""

_ODD = re.compile(r"\n/|//|/\n|(?:\n|/)\.\.?(?:\n|/)|\n\n")

Overrides = tuple[tuple[str, str], ...]


def odd(keys: Iterable[str], text: str) -> list[str]:
    """Return the keys invalid in stores. `text`: all keys between line ends, for speed."""
    return [key for key in keys if not is_safe(key)] if _ODD.search(text) else []


class CheckedReferences:
    """Entries of a checked document. Pickles its file path, or its bytes."""

    def __init__(self, document: wire.ReferenceDocument, source: Source) -> None:
        self._source = source
        self._path: tuple[str, ...] = ("refs",) if document.version else ()
        self._refs = document.refs
        self._options: tuple[Limits, Overrides] = (DEFAULT, ())
        self.noted = document.noted
        """Notes of the document on its targets."""

    def find(self, key: str) -> bytes | Reference | None:
        """Return the bytes or location of a key, or None. Raises CompileError for invalid base64."""
        value = self._refs.get(key)
        return None if value is None else self._interpret(key, value)

    def url(self, written: str | None) -> str | None:
        """Return the URL of a reference from that in the document."""
        return written

    def name_scalars(self) -> None:
        """Name the chunks of scalars `v/0`, as Zarr v2 does. VirtualiZarr (2.8) names them `v/`."""
        for key in [key for key in self._refs if key.endswith("/") and f"{key}.zarray" in self._refs]:
            if f"{key}0" not in self._refs and self._is_scalar(f"{key}.zarray"):
                self._refs.rename(key, f"{key}0")

    def _is_scalar(self, key: str) -> bool:
        """Return whether a document in `refs` describes an array without dimensions."""
        try:
            document = self._interpret(key, self._refs[key])
            metadata = json.loads(document) if isinstance(document, bytes) else None
        except (ValueError, RecursionError):
            return False  # the reader of the store reports the document
        return isinstance(metadata, dict) and metadata.get("shape") == []

    def _interpret(self, key: str, value: Any) -> bytes | Reference:
        """Return the meaning of a value of `refs`. Raises CompileError."""
        if isinstance(value, list):
            url = self.url(value[0])
            return Reference(url) if len(value) == 1 else Reference(url, value[1], value[2])
        if isinstance(value, dict):
            return encode(value).encode()
        try:
            return wire.data_of(value)
        except binascii.Error as error:
            report = Report()
            why = f"{str(error)[:1].lower()}{str(error)[1:]}"
            place = (*self._path, key)
            Faults(self._source, report).error("bad-reference", f"`{key}`: its base64 is invalid: {why}", place)
            raise CompileError(report.list_sorted()) from None

    def keys(self, prefix: str = "") -> Iterator[str]:
        return self._list(prefix)

    def odd(self) -> list[str]:
        return odd(self._refs, "\n".join(["", *self._refs, ""]))[:FEW_KEYS]

    def _list(self, prefix: str) -> Iterator[str]:
        """Yield the keys of `refs` with `prefix`, sorted."""
        names = self._names
        for place in range(bisect_left(names, prefix), len(names)):
            if not names[place].startswith(prefix):
                return
            yield names[place]

    def children(self, prefix: str) -> list[str]:
        """Return the names directly below a prefix, found by bisection of the sorted keys."""
        names, segments = self._names, set[str]()
        place = bisect_left(names, prefix)
        while place < len(names) and names[place].startswith(prefix):
            segment, slash, _ = names[place][len(prefix) :].partition("/")
            if segment or slash:
                segments.add(segment)
            # all that is below a segment is passed over: "0" follows "/"
            place = bisect_left(names, f"{prefix}{segment}0", place) if slash else place + 1
        return sorted(segments)

    def nodes(self, prefix: str) -> list[str]:
        return list(with_prefix(self._nodes, prefix))

    @functools.cached_property
    def _nodes(self) -> list[str]:
        """Sorted keys of documents of arrays and groups."""
        return sorted(filter(is_node, self._refs))

    @functools.cached_property
    def _names(self) -> list[str]:
        """Sorted keys of `refs`."""
        return sorted(self._refs)

    def list_named(self) -> Iterator[tuple[str | None, str]]:
        return self._refs.list_named()

    def entries(self) -> Iterator[tuple[str, bytes | Reference]]:
        """Yield keys with bytes or locations in document order, perhaps overridden ones. Raises as `find`."""
        for key, value in self._refs.items():
            yield key, self._interpret(key, value)

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self._source.data, bytes):
            return _of_bytes, (self._source.name, self._source.data, *self._options)
        path = local_paths.absolute(self._source.path)
        return _of_file, (path, self._source.name, _identity(path), *self._options)


def open_document(
    source: Source, report: Report, limits: Limits = DEFAULT, overrides: Mapping[str, str] | None = None
) -> CheckedReferences | None:
    """Return a document's references, or None (reported). `overrides` replace or add templates."""
    document = wire.read(source, report, limits, overrides)
    references = None if document is None else _make_references(document, source, report, limits)
    if references is not None:
        references._options = (limits, tuple((overrides or {}).items()))
    return references


def _make_references(
    document: wire.ReferenceDocument, source: Source, report: Report, limits: Limits
) -> CheckedReferences | None:
    """Return the references of a parsed document after checking every entry."""
    faults = Faults(source, report)
    is_rendered = bool(document.templates or document.generators)
    if is_rendered or len(source.data) * WORST > limits.output:
        reader = find_place("template", "reference")
        if reader is not None:
            references: CheckedReferences | None = load_part(reader)(document, source, report, limits)
            return references
        if is_rendered:
            faults.error("bad-reference-document", "templates and generators need a plugin, which is not installed")
            return None
    if bool(document.version) and "version" in document.refs:
        report_version(faults)
        return None
    checked = CheckedReferences(document, source)
    checked.name_scalars()
    return checked


def report_version(faults: Faults) -> None:
    """Report a key `version` of a document of version 1."""
    faults.error("bad-reference", "`version`: a document of version 0 cannot have this key")


@functools.lru_cache(maxsize=FEW)
def _of_bytes(name: str, data: bytes, limits: Limits, overrides: Overrides) -> CheckedReferences:
    """Unpickle the references of a document from its bytes."""
    return _again(Source(name, data), limits, overrides)


@functools.lru_cache(maxsize=FEW)
def _of_file(
    path: str, name: str, identity: tuple[int, int], limits: Limits, overrides: Overrides
) -> CheckedReferences:
    """Unpickle a document's references from its file. Raises OSError if it has changed."""
    if _identity(path) != identity:
        raise OSError(errno.ESTALE, "the document has changed", path)
    return _again(open_source(path, name), limits, overrides)


def _identity(path: str) -> tuple[int, int]:
    """Return size and modification time of a file. Raises OSError."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _again(source: Source, limits: Limits, overrides: Overrides) -> CheckedReferences:
    report = Report()
    references = open_document(source, report, limits, dict(overrides))
    if references is None:
        raise CompileError(report.list_sorted())
    return references


def opens(source: Source | Store, report: Report, options: Options) -> ReferenceStore | None:
    """Return the store of a document; None (reported) if invalid. Raises OSError."""
    references: References | None
    limits = DEFAULT._replace(jinja=options.reading.following.jinja, repeated=options.run.accepts("duplicate-name"))
    if isinstance(source, Source):
        references, name = open_document(source, report, limits), source.name
    else:
        references, name = parquet.open_folder(source, report, limits), source.path
    if references is None:
        return None
    policy = Policy(home_of(source), options.reading.following)
    store = ReferenceStore(references, policy, name, options.run.storage.of("source"))
    before = report.errors
    store.check(report, options.run.accepts, Severity.ERROR if options.run.verify else Severity.WARNING)
    return store if report.errors == before else None
