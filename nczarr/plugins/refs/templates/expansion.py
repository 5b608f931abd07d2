"""Version 1 → version 0: renders texts and expands generators, as a JSON stream, one entry a line.

An `EntrySequence` makes entries on demand and stores none. An entry replaces an earlier one with the same key, in its
position. If keys may repeat, an eight-byte hash of each is stored, and the last value of keys with equal hashes. Faults
of templates and of first entries are reported.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.formats.reference.limits import Limits
from nczarr.formats.reference.wire import ReferenceDocument, check_values, encode
from nczarr.plugins.refs.templates.evaluation import NameScope, render_text
from nczarr.plugins.refs.templates.expressions import Account, RefusedTextError
from nczarr.plugins.refs.templates.family import BLOCK, GeneratorFamily
from nczarr.plugins.refs.templates.jinja import pieces
from nczarr.syntax.json.positions import Faults, Path

LONG = 4 << 20
"""Approximate document bytes per block of `refs`."""

quote: Callable[[str], str] = json.encoder.encode_basestring_ascii
"""Encode a text like `encode`, ten times as fast."""


def prepare(document: ReferenceDocument, faults: Faults, limits: Limits, missing: Missing) -> list[EntrySequence]:
    """Return the entries of `refs`, then those of each nonempty generator."""
    scope = NameScope({}, {}, limits, missing, Account())
    for name, text in document.templates.items():
        try:
            # fsspec: only a text with `{{` takes arguments
            template = pieces(text, limits, scope.account) if "{{" in text else text
            scope = scope._replace(templates={**scope.templates, name: template})
        except RefusedTextError as error:
            faults.error(error.code, f"template `{name}`: {error.message}", ("templates", name))
    refs = Refs(document, scope, faults, missing)  # in fsspec, too, entries of `gen` replace those of `refs`
    sequences: list[EntrySequence] = [refs]
    for number, generator in enumerate(document.generators):
        if not generator.entries:
            continue
        try:
            family = GeneratorFamily(generator, number, scope)
            family.values(0, 1)
            sequences.append(family)
        except RefusedTextError as error:
            refuse(error, faults)
        missing.tell(f"generator {number}", ("gen", number))
    return sequences


class Missing(dict[str, None]):
    """Undefined names, each reported once."""

    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self._faults = faults
        self._told: set[str] = set()

    def tell(self, where: str, path: Path) -> None:
        """Report names added since the last call; `where` uses them."""
        for name in self.keys() - self._told:
            text = f"{where}: undefined name `{name}` becomes an empty string"
            self._faults.warning("undefined-name", text, path, [f"define it with `--set {name}=TEXT`"])
        self._told.update(self)


def refuse(error: RefusedTextError, faults: Faults) -> None:
    """Report a fault of a generator's member."""
    _, number, member = error.place
    text = error.message if error.code == "bad-reference" else f"generator {number}: `{member}`: {error.message}"
    faults.error(error.code, text, error.place)


class Refs:
    """Entries of `refs`, with rendered URLs."""

    def __init__(self, document: ReferenceDocument, scope: NameScope, faults: Faults, missing: Missing) -> None:
        self.refs = document.refs
        self.names = list(document.refs)
        self._urls: dict[str, str] = {}
        self.count = len(self.names)
        size = len(faults.source.data)
        self.block = max(1, min(BLOCK, LONG * self.count // max(size, 1)))
        if not document.templates:  # fsspec renders URLs only where there is a template
            return
        for url, key in document.refs.list_named():
            if url is None or "{{" not in url:  # fsspec takes all others as they are
                continue
            try:
                self._urls[url] = render_text(pieces(url, scope.limits, scope.account), scope)
            except RefusedTextError as error:
                self._urls[url] = ""
                faults.error(error.code, f"`{key}`: {error.message}", ("refs", key, 0))
            missing.tell(f"`{key}`", ("refs", key, 0))

    def keys(self, start: int, stop: int) -> list[str]:
        return list(map(quote, self.names[start:stop]))

    def values(self, start: int, stop: int) -> list[str]:
        return [self._value(self.refs[key]) for key in self.names[start:stop]]

    def lines(self, start: int, stop: int) -> list[str]:
        return [f"{quote(key)}:{self._value(self.refs[key])}" for key in self.names[start:stop]]

    @property
    def longest(self) -> int:
        """Maximum length of a rendered URL as JSON."""
        return 6 * max(map(len, self._urls.values()), default=0)

    def url(self, written: str | None) -> str | None:
        """Return the rendered URL of a reference."""
        return self._urls.get(written, written) if self._urls and written is not None else written

    def _value(self, value: Any) -> str:
        """Return an entry of version 0 as JSON text: inline data, or [url, offset, length] with the rendered URL."""
        if isinstance(value, str):
            return quote(value)
        if isinstance(value, dict):
            return quote(encode(value))
        url = self.url(value[0])
        written = "null" if url is None else quote(url)
        return f"[{written}]" if len(value) == 1 else f"[{written},{value[1]},{value[2]}]"


EntrySequence: TypeAlias = Refs | GeneratorFamily
"""Ordered entries: `block` of them are made at once, their keys and values as JSON."""


def blocks(part: EntrySequence) -> Iterator[tuple[int, int]]:
    """Yield the entries of a part in blocks: the first of each, and the one after its last."""
    for start in range(0, part.count, part.block):
        yield start, min(start + part.block, part.count)


FEW = 16
"""Maximum number of generators compared by key pattern; more are compared by keys."""


def expand(document: ReferenceDocument, source: Source, report: Report, limits: Limits) -> Iterator[bytes]:
    """Yield the JSON text of the expanded document. Raises CompileError."""
    faults = Faults(source, report)
    missing = Missing(faults)
    parts = prepare(document, faults, limits, missing)
    if report.errors:
        raise CompileError(report.list_sorted())
    check_size(parts, faults, limits)
    written = 0
    try:
        for piece in _lines(parts, faults):
            written += len(piece)
            if written > limits.output:
                _refuse_size(faults, limits)
            yield piece
    except RefusedTextError as error:
        refuse(error, faults)
        raise CompileError(report.list_sorted()) from None
    missing.tell("`gen`", ("gen",))
    if report.errors:
        raise CompileError(report.list_sorted())


def check_size(parts: list[EntrySequence], faults: Faults, limits: Limits) -> None:
    """Reject generators that exceed the output limit in any case. Raises CompileError."""
    if sum(part.least for part in parts if isinstance(part, GeneratorFamily)) > limits.output:
        _refuse_size(faults, limits)


def _refuse_size(faults: Faults, limits: Limits) -> NoReturn:
    text = f"the expanded document has more than {limits.output} bytes"
    faults.error("oversized-expansion", text, helps=["raise the limit with `--max-output`"])
    raise CompileError(faults.report.list_sorted())


def _blocks(parts: list[EntrySequence]) -> Iterator[tuple[EntrySequence, int, int]]:
    return ((part, start, stop) for part in parts for start, stop in blocks(part))


def _lines(parts: list[EntrySequence], faults: Faults) -> Iterator[bytes]:
    """Yield the lines of the document. Raises RefusedTextError, CompileError."""
    last = {} if _distinct(parts) else _last_values(parts, _find_shared_hashes(parts))
    begin = "{\n"
    for part, start, stop in _blocks(parts):
        lines = part.lines(start, stop) if not last else _merge(part, start, stop, last)
        text = ",\n".join(lines)
        if text.startswith('"version":') or ',\n"version":' in text:  # no text of JSON holds a line end
            faults.error("bad-reference", "`version`: a document of version 0 cannot have this key")
            raise CompileError(faults.report.list_sorted())
        if lines:
            yield f"{begin}{text}".encode()
            begin = ",\n"
    yield b"{}\n" if begin == "{\n" else b"\n}\n"


def _merge(part: EntrySequence, start: int, stop: int, last: dict[str, str]) -> list[str]:
    """Return a block's lines without keys already written; repeated keys have their last value.

    `last` has these values, emptied when written.
    """
    lines = []
    for key, written in zip(part.keys(start, stop), part.values(start, stop), strict=True):
        value = last.get(key, written)
        if value:
            lines.append(f"{key}:{value}")
        if key in last:
            last[key] = ""
    return lines


def _distinct(parts: list[EntrySequence]) -> bool:
    """Return whether the key patterns guarantee distinct keys."""
    refs = [part for part in parts if isinstance(part, Refs)]
    patterns = [part.pattern() for part in parts if isinstance(part, GeneratorFamily)]
    matching = [pattern for pattern in patterns if pattern is not None]
    begins = [begin for begin, _ in matching]
    if len(matching) < len(patterns) or len(matching) > FEW:
        return False
    if any(one.startswith(other) for one, other in itertools.permutations(begins, 2)):
        return False
    return not any(pattern.fullmatch(key) for part in refs for key in part.names for _, pattern in matching)


def _find_shared_hashes(parts: list[EntrySequence]) -> NDArray[np.int64]:
    """Return the sorted hashes that occur repeatedly. Equal keys have equal hashes.

    The result is int64, shape (hashes,); a hash with n occurrences is in it n -
    1 times.
    """
    hashes = np.empty(sum(part.count for part in parts), dtype=np.int64)
    at = 0
    for part, start, stop in _blocks(parts):
        hashes[at : at + stop - start] = list(map(hash, part.keys(start, stop)))
        at += stop - start
    hashes.sort()
    shared: NDArray[np.int64] = hashes[1:][hashes[1:] == hashes[:-1]]
    return shared


def _last_values(parts: list[EntrySequence], shared: NDArray[np.int64]) -> dict[str, str]:
    """Return the last value of each key that may repeat.

    `shared`: hashes of such keys, int64, shape (hashes,).
    """
    repeated = frozenset(shared.tolist())
    last: dict[str, str] = {}
    for part, start, stop in _blocks(parts) if repeated else ():
        keys = part.keys(start, stop)
        if not repeated.isdisjoint(map(hash, keys)):
            values = part.values(start, stop)
            last.update((key, value) for key, value in zip(keys, values, strict=True) if hash(key) in repeated)
    return last


def mapping(document: ReferenceDocument, source: Source, report: Report, limits: Limits) -> dict[str, Any]:
    """Return the expanded document as a map. Raises CompileError."""
    expanded: dict[str, Any] = json.loads(b"".join(expand(document, source, report, limits)))
    return expanded


def entries(document: ReferenceDocument, source: Source, report: Report, limits: Limits) -> Mapping[str, Any]:
    """Return the expanded document as a map of version 1 values. Raises CompileError.

    Version 0 objects are preserved; invalid base64 is rejected.
    """
    if document.version:
        return mapping(document, source, report, limits)
    check_values(document.refs, (), 1, Faults(source, report))
    if report.errors:
        raise CompileError(report.list_sorted())
    return document.refs
