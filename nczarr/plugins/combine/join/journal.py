"""Journal of a combination: what was learned of each source, so that a run that was stopped is resumed.

    {"nczarr_combination": 2, "request": "…"}       the request, with the identity of the first source
    {"form": {…}}                                   properties that many arrays share, numbered as they come
    {"source": "a.nc", "identity": "…", …}          a source: lengths, places of chunks, differences
    {"done": true, "before": "…"}                   every source was read; the identity of an older target, or null

One JSON object a line, behind a checksum. Lines are only appended; a line that
was cut off ends the journal. A source counts if its identity (size and time, or
tag) is still the same.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, BinaryIO

from nczarr.arrays.chunks.manifest import PlaceColumns
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import Descr, Stored, numpy_dtype
from nczarr.ast.dataset import Codec
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Severity
from nczarr.plugins.combine.arrays.table_chunk_array import LocatedForm, TableChunkArray
from nczarr.plugins.combine.join.agreement import Aspect, SourceDifference
from nczarr.plugins.combine.join.contribution import Contribution, VariablePiece
from nczarr.plugins.combine.join.coordinate_order import CoordinateOrder
from nczarr.plugins.combine.join.sources import SourceResult
from nczarr.semantics.checked import Omission
from nczarr.stores import local_paths
from nczarr.stores.finish import add_end
from nczarr.stores.local_paths import add_path_to_errors
from nczarr.stores.lock import busy, exclusive
from nczarr.stores.stat import identity
from nczarr.stores.url import location, trim

VERSION = 2

SUFFIX = ".combining"
"""Suffix of the journal beside a target."""


def _journal_path(target: str) -> str:
    """Return the path of the journal of a target at a path."""
    folder, name = local_paths.split(target)
    return local_paths.join(folder, add_end(name, SUFFIX))


def is_finished(target: str) -> bool:
    """Return whether a run has made a target and was stopped before it removed its journal; remove the journal.

    Raises OSError, BadURLError.
    """
    target = trim(location(target).path)
    path = _journal_path(target)
    if not (os.path.lexists(target) and os.path.isfile(path)):
        return False
    with open(path, "rb") as file:
        last = deque(file, 1)
    members = _parse(last[0]) if last else None
    if members is None or members.get("done") is not True or members.get("before") == identity(target):
        return False
    os.unlink(path)
    return True


class FileJournal:
    """The journal of a target in a local file. Raises OSError, CompileError with busy-target."""

    def __init__(self, target: str, request: str, *, resume: bool) -> None:
        self._target = trim(location(target).path)
        self.path = _journal_path(self._target)
        self._places: dict[str, tuple[int, int, str]] = {}
        self._forms: list[LocatedForm] = []
        self._numbers: dict[LocatedForm, int] = {}
        self._file: BinaryIO = open(self.path, "a+b")  # noqa: SIM115 (closed by the block)
        try:
            if not exclusive(self._file.fileno()):
                raise CompileError([busy(target)])
            end = self._read(request) if resume else 0
            self._file.truncate(end)
            if not end:
                self._places.clear()
                self._put({"nczarr_combination": VERSION, "request": request})
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> FileJournal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        """Close the file, which may have to write what it could not write before. Raises OSError."""
        with add_path_to_errors(self.path):
            self._file.close()

    def remove(self) -> None:
        """Remove the journal after the target is complete. Raises OSError."""
        with suppress(FileNotFoundError):
            os.unlink(self.path)

    def _read(self, request: str) -> int:
        """Read the journal of an earlier run; return the end of its valid lines, 0 if the request differs."""
        self._file.seek(0)
        end = 0
        for line in self._file:
            members = _parse(line)
            if members is None:
                break
            if not end and (members.get("nczarr_combination"), members.get("request")) != (VERSION, request):
                return 0
            try:
                self._take(members, end, len(line))
            except (KeyError, TypeError, ValueError):
                break
            end += len(line)
        return end

    def _take(self, members: dict[str, Any], begin: int, size: int) -> None:
        if "form" in members:
            self._number(_form(members["form"]))
        elif "source" in members:
            self._places[members["source"]] = (begin, size, members["identity"])

    def _number(self, form: LocatedForm) -> int:
        number = self._numbers.get(form)
        if number is None:
            number = self._numbers[form] = len(self._forms)
            self._forms.append(form)
        return number

    def names(self) -> frozenset[str]:
        """Return the names of the sources that were read."""
        return frozenset(self._places)

    def has(self, name: str, source_identity: str | None) -> bool:
        """Return whether a source is unchanged since it was read."""
        place = self._places.get(name)
        return place is not None and source_identity is not None and place[2] == source_identity

    def result(self, name: str) -> SourceResult:
        """Return the result of a source that was read. Raises OSError."""
        begin, size, _ = self._places[name]
        self._file.seek(begin)
        members = _parse(self._file.read(size))
        if members is None:
            raise OSError(None, "the journal was changed by another program", self.path)
        return _result(members, self._forms)

    def put(self, name: str, result: SourceResult) -> None:
        """Append a source, if it is described by numbers and texts. Raises OSError."""
        contribution = result.found
        if contribution is None or result.identity is None or not contribution.is_located:
            return
        if any(diagnostic.primary != Label() or diagnostic.others for diagnostic in result.diagnostics):
            return
        for piece in contribution.pieces.values():
            assert piece.located is not None
            form = piece.located.form
            if form not in self._numbers:
                self._number(form)
                self._put({"form": _form_members(form)})
        self._put({"source": name, "identity": result.identity, **_describe_result(result, self._numbers)})

    def note_end(self) -> None:
        """Note that every source was read. Raises OSError."""
        there = os.path.lexists(self._target)
        self._put({"done": True, "before": identity(self._target) if there else None})
        os.fsync(self._file.fileno())

    def _put(self, members: Mapping[str, Any]) -> None:
        text = json.dumps(members, separators=(",", ":")).encode()
        with add_path_to_errors(self.path):
            self._file.write(b"%08x %s\n" % (zlib.crc32(text), text))
            self._file.flush()


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the members of a line; None if it is damaged or cut off."""
    if not line.endswith(b"\n") or line[8:9] != b" " or b"%08x" % zlib.crc32(line[9:-1]) != line[:8]:
        return None
    members = json.loads(line[9:])
    return members if isinstance(members, dict) else None


def _describe_result(result: SourceResult, forms: Mapping[LocatedForm, int]) -> dict[str, Any]:
    """Return the members of a source."""
    contribution = result.found
    assert contribution is not None
    facts = {
        path: dict(facts)
        for piece in contribution.pieces.values()
        if piece.located is not None
        for path, facts in piece.located.facts.items()
    }
    paths = {path: number for number, path in enumerate(facts)}
    return {
        "name": contribution.name,
        "targets": list(facts.items()),
        "lengths": dict(contribution.lengths),
        "pieces": {path: _list_piece_members(piece, forms, paths) for path, piece in contribution.pieces.items()},
        "given": sorted(contribution.given),
        "unequal": sorted(contribution.unequal),
        "orders": {path: _order_members(order) for path, order in contribution.orders.items()},
        "findings": [list(finding) for finding in contribution.findings],
        "faults": [list(fault) for fault in contribution.faults],
        "omitted": [list(omission) for omission in contribution.omitted],
        "diagnostics": [
            [one.code, one.severity.value, one.message, list(one.notes), list(one.helps)] for one in result.diagnostics
        ],
    }


def _result(members: Mapping[str, Any], forms: list[LocatedForm]) -> SourceResult:
    """Invert `_describe_result`."""
    paths = [path for path, _ in members["targets"]]
    facts = dict(members["targets"])
    contribution = Contribution(
        members["name"],
        members["lengths"],
        {path: _parse_piece(piece, forms, paths, facts) for path, piece in members["pieces"].items()},
        frozenset(members["given"]),
        frozenset(members["unequal"]),
        {path: _order(order) for path, order in members["orders"].items()},
        tuple(SourceDifference(path, Aspect(aspect), *rest) for path, aspect, *rest in members["findings"]),
        tuple((path, message) for path, message in members["faults"]),
        omitted=tuple(Omission(*omission) for omission in members["omitted"]),
    )
    diagnostics = tuple(
        Diagnostic(code, Severity(severity), message, notes=tuple(notes), helps=tuple(helps))
        for code, severity, message, notes, helps in members["diagnostics"]
    )
    return SourceResult(contribution, diagnostics, None, members["identity"])


def _list_piece_members(piece: VariablePiece, forms: Mapping[LocatedForm, int], paths: Mapping[str, int]) -> list[Any]:
    """Return a variable of one source as JSON values, the inverse of `_parse_piece`."""
    array = piece.located
    assert array is not None
    table = array.table
    targets = np.array([paths[path] for path in table.sources] or [0], np.int64)[table.source]
    rows = np.stack([table.chunk, targets, table.offset, table.length, table.mask.astype(np.int64)])
    chunk_texts = [[number, _text(data)] for number, data in array.held.items()]
    values = None if piece.values is None else _text(piece.values.tobytes())
    return [forms[array.form], list(array.shape), _text(rows.astype("<i8").tobytes()), chunk_texts, values]


def _parse_piece(
    members: list[Any], forms: list[LocatedForm], paths: list[str], facts: Mapping[str, Any]
) -> VariablePiece:
    """Return a variable of one source from JSON values: form, shape, chunks, bytes of chunks, values."""
    number, shape, rows, chunk_texts, values = members
    form = forms[number]
    chunk, source, offset, length, mask = np.frombuffer(_data(rows), "<i8").reshape(5, -1).astype(np.int64)
    table = PlaceColumns(tuple(paths), chunk, source, offset, length, mask.astype(np.int32))
    array = TableChunkArray(form, tuple(shape), table, {chunk: _data(text) for chunk, text in chunk_texts}, facts)
    read_values = None if values is None else np.frombuffer(_data(values), numpy_dtype(form.dtype)).reshape(shape)
    return VariablePiece({}, array, read_values)


def _order_members(order: CoordinateOrder) -> list[Any]:
    values = [order.first, order.last, *(order.fall or ())]
    bounds = np.array(values)
    return [bounds.dtype.str, _text(bounds.tobytes()), order.falls, order.missing]


def _order(members: list[Any]) -> CoordinateOrder:
    values: NDArray[Any] = np.frombuffer(_data(members[1]), np.dtype(members[0]))
    return CoordinateOrder(values[0], values[1], (values[2], values[3]) if len(values) > 2 else None, *members[2:])


def _form_members(form: LocatedForm) -> list[Any]:
    stored = form.stored
    codecs = [[codec.id, list(codec.parameters)] for codec in stored.codecs]
    fill = None if form.fill is None else _text(form.fill)
    return [form.dtype, stored.dtype, list(stored.chunks), codecs, fill, form.undefined, form.distant]


def _form(members: list[Any]) -> LocatedForm:
    dtype, element, chunks, codecs, fill, undefined, distant = members
    chain = tuple(Codec(id=number, parameters=tuple(parameters)) for number, parameters in codecs)
    stored = Stored(_descr(element), tuple(chunks), chain)
    return LocatedForm(_descr(dtype), stored, None if fill is None else _data(fill), undefined, distant)


def _descr(members: Any) -> Descr:
    if isinstance(members, str):
        return members
    return tuple((name, _descr(field), tuple(shape)) for name, field, shape in members)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _data(text: str) -> bytes:
    return base64.b64decode(text)
