"""Version 1 → version 0: renders texts and expands generators, as a JSON stream, one entry a line.

An entry replaces an earlier one with the same key, in its position. Entries are
made and discarded in blocks. If keys may repeat, an eight-byte hash of each is
stored, and the last value of keys with equal hashes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source
from nczarr.formats.reference.family import GeneratorFamily
from nczarr.formats.reference.limits import Limits, RefusedTextError
from nczarr.formats.reference.parts import EntrySequence, Missing, Refs, blocks, prepare, refuse
from nczarr.formats.reference.wire import ReferenceDocument, check_values
from nczarr.syntax.json.positions import Faults

FEW = 16
"""Maximum number of generators compared by key pattern; more are compared by keys."""


class StoppedError(Exception):
    """An expansion that ended early; the report contains the reason."""


def expand(document: ReferenceDocument, source: Source, report: Report, limits: Limits) -> Iterator[bytes]:
    """Yield the JSON text of the expanded document. Raises StoppedError (reported)."""
    faults = Faults(source, report)
    missing = Missing(faults)
    parts = prepare(document, faults, limits, missing)
    if report.errors:
        raise StoppedError
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
        raise StoppedError from None
    missing.tell("`gen`", ("gen",))
    if report.errors:
        raise StoppedError


def check_size(parts: list[EntrySequence], faults: Faults, limits: Limits) -> None:
    """Reject generators that exceed the output limit in any case. Raises StoppedError."""
    if sum(part.least for part in parts if isinstance(part, GeneratorFamily)) > limits.output:
        _refuse_size(faults, limits)


def _refuse_size(faults: Faults, limits: Limits) -> NoReturn:
    text = f"the expanded document has more than {limits.output} bytes"
    faults.error("oversized-expansion", text, helps=["raise the limit with `--max-output`"])
    raise StoppedError


def _blocks(parts: list[EntrySequence]) -> Iterator[tuple[EntrySequence, int, int]]:
    return ((part, start, stop) for part in parts for start, stop in blocks(part))


def _lines(parts: list[EntrySequence], faults: Faults) -> Iterator[bytes]:
    """Yield the lines of the document. Raises RefusedTextError, StoppedError."""
    last = {} if _distinct(parts) else _last_values(parts, _shared_hashes(parts))
    begin = "{\n"
    for part, start, stop in _blocks(parts):
        lines = part.lines(start, stop) if not last else _merged(part, start, stop, last)
        text = ",\n".join(lines)
        if text.startswith('"version":') or ',\n"version":' in text:  # no text of JSON holds a line end
            faults.error("bad-reference", "`version`: a document of version 0 cannot have this key")
            raise StoppedError
        if lines:
            yield f"{begin}{text}".encode()
            begin = ",\n"
    yield b"{}\n" if begin == "{\n" else b"\n}\n"


def _merged(part: EntrySequence, start: int, stop: int, last: dict[str, str]) -> list[str]:
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


def _shared_hashes(parts: list[EntrySequence]) -> NDArray[np.int64]:
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
    """Return the expanded document as a map. Raises StoppedError."""
    expanded: dict[str, Any] = json.loads(b"".join(expand(document, source, report, limits)))
    return expanded


def entries(document: ReferenceDocument, source: Source, report: Report, limits: Limits) -> Mapping[str, Any]:
    """Return the expanded document as a map of version 1 values. Raises StoppedError.

    Version 0 objects are preserved; invalid base64 is rejected.
    """
    if document.version:
        return mapping(document, source, report, limits)
    check_values(document.refs, (), 1, Faults(source, report))
    if report.errors:
        raise StoppedError
    return document.refs
