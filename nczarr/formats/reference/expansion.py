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
from nczarr.formats.reference.family import GeneratorFamily, MemberFaultError
from nczarr.formats.reference.limits import Limits
from nczarr.formats.reference.parts import EntryRun, EntrySequence, Missing, Refs, blocks, prepare, refuse
from nczarr.formats.reference.wire import ReferenceDocument, check_values
from nczarr.syntax.json.positions import Faults, Path

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
    for piece in _written(parts, faults):
        written += len(piece)
        if written > limits.output:
            _refuse_size(faults, limits)
        yield piece
    missing.tell("`gen`", ("gen",))
    if report.errors:
        raise StoppedError


def check_size(parts: list[tuple[Path, EntrySequence]], faults: Faults, limits: Limits) -> None:
    """Reject generators that exceed the output limit in any case. Raises StoppedError."""
    if sum(part.least for _, part in parts if isinstance(part, GeneratorFamily)) > limits.output:
        _refuse_size(faults, limits)


def _refuse_size(faults: Faults, limits: Limits) -> NoReturn:
    text = f"the expanded document has more than {limits.output} bytes"
    faults.error("oversized-expansion", text, helps=["raise the limit with `--max-output`"])
    raise StoppedError


def _blocks(parts: list[tuple[Path, EntrySequence]]) -> Iterator[EntryRun]:
    for _, part in parts:
        yield from blocks(part)


def _written(parts: list[tuple[Path, EntrySequence]], faults: Faults) -> Iterator[bytes]:
    """Yield the lines of the document; faulty entries are reported and end it."""
    paths = {id(part): path for path, part in parts}
    current: list[EntryRun] = []
    try:
        yield from _lines(parts, faults, current)
    except MemberFaultError as error:
        refuse(error, paths[id(current[0].part)][-1], faults)
        raise StoppedError from None


def _lines(parts: list[tuple[Path, EntrySequence]], faults: Faults, current: list[EntryRun]) -> Iterator[bytes]:
    shared = None if _distinct(parts) else _shared_hashes(parts, current)
    last = _last_values(parts, shared, current)
    begin = "{\n"
    for block in _blocks(parts):
        current[:] = [block]
        lines = block.part.lines(block.start, block.stop) if not last else _merged(block, last)
        text = ",\n".join(lines)
        if text.startswith('"version":') or ',\n"version":' in text:  # no text of JSON holds a line end
            faults.error("bad-reference", "`version`: a document of version 0 cannot have this key")
            raise StoppedError
        if lines:
            yield f"{begin}{text}".encode()
            begin = ",\n"
    yield b"{}\n" if begin == "{\n" else b"\n}\n"


def _merged(block: EntryRun, last: dict[str, str]) -> list[str]:
    """Return a block's lines without keys already written; repeated keys have their last value.

    `last` has these values, emptied when written.
    """
    lines = []
    keys, values = block.part.keys(block.start, block.stop), block.part.values(block.start, block.stop)
    for key, written in zip(keys, values, strict=True):
        value = last.get(key, written)
        if value:
            lines.append(f"{key}:{value}")
        if key in last:
            last[key] = ""
    return lines


def _distinct(parts: list[tuple[Path, EntrySequence]]) -> bool:
    """Return whether the key patterns guarantee distinct keys."""
    refs = [part for _, part in parts if isinstance(part, Refs)]
    patterns = [part.pattern() for _, part in parts if isinstance(part, GeneratorFamily)]
    matching = [pattern for pattern in patterns if pattern is not None]
    begins = [begin for begin, _ in matching]
    if len(matching) < len(patterns) or len(matching) > FEW:
        return False
    if any(one.startswith(other) for one, other in itertools.permutations(begins, 2)):
        return False
    return not any(pattern.fullmatch(key) for part in refs for key in part.names for _, pattern in matching)


def _shared_hashes(parts: list[tuple[Path, EntrySequence]], current: list[EntryRun]) -> NDArray[np.int64] | None:
    """Return the sorted hashes that occur repeatedly, or None. Equal keys have equal hashes.

    The result is int64, shape (hashes,); a hash with n occurrences is in it n -
    1 times.
    """
    hashes = np.empty(sum(part.count for _, part in parts), dtype=np.int64)
    at = 0
    for block in _blocks(parts):
        current[:] = [block]
        hashes[at : at + block.stop - block.start] = list(map(hash, block.part.keys(block.start, block.stop)))
        at += block.stop - block.start
    hashes.sort()
    shared = hashes[1:][hashes[1:] == hashes[:-1]]
    return shared if len(shared) else None


def _last_values(
    parts: list[tuple[Path, EntrySequence]], shared: NDArray[np.int64] | None, current: list[EntryRun]
) -> dict[str, str]:
    """Return the last value of each key that may repeat.

    `shared`: hashes of such keys, int64, shape (hashes,).
    """
    if shared is None:
        return {}
    repeated = frozenset(shared.tolist())
    last: dict[str, str] = {}
    for block in _blocks(parts):
        current[:] = [block]
        keys = block.part.keys(block.start, block.stop)
        if repeated.isdisjoint(map(hash, keys)):
            continue
        values = block.part.values(block.start, block.stop)
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
