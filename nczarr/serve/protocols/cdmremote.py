"""CDM Remote: answers to the `req=` queries of one dataset.

Long answers are made while they are sent. A section that does not fit its
variable, or that exceeds the answer limit, is refused before any value is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from nczarr import names, ncstream
from nczarr.arrays.regions import lengths_of
from nczarr.arrays.sources.source import itemsize
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast import VlenType
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import CompileError, Report
from nczarr.options import Options
from nczarr.select.selection import Section
from nczarr.serve.answers import BYTES, HTML, TEXT, XML, HttpAnswer
from nczarr.serve.dataset_cache import CachedDataset, RefusedRequestError, words
from nczarr.serve.limits import Limits
from nczarr.serve.pages.remote_form import form
from nczarr.serve.protocols import ncml
from nczarr.serve.spool import Disk
from nczarr.serve.value_streams import PIECES, TEXT_SIZE, begun, bounded, check_size, memory_for, steady, whole

NCSTREAM = (("Content-Description", "ncstream"),)
"""Header by which clients recognise the protocol."""

KNOWN = ("header", "data", "cdl", "ncml", "capabilities", "form")

COUNT = 8
"""Bytes of the length of a list."""


class CdmQuery(NamedTuple):
    """One query."""

    what: str
    """Value of `req` in lower case; may be empty."""
    query: Mapping[str, str]
    """All parameters."""
    location: str
    """URL of the dataset."""


class SectionRequest(NamedTuple):
    """Requested sections."""

    requested: list[tuple[str, tuple[range, ...]]]
    """Variables with their index ranges."""
    deflate: int | None
    """Compression level; None: uncompressed."""
    size: int
    """Bytes of values."""
    need: int
    """Approximate memory in bytes."""


def answer(opened: CachedDataset, asked: CdmQuery, limits: Limits) -> HttpAnswer:
    """Return the answer to a query other than `data`. Raises RefusedRequestError, CompileError, OSError."""
    checked = opened.checked
    match asked.what:
        case "header":
            return HttpAnswer(ncstream.header_message(checked, location=asked.location), BYTES, headers=NCSTREAM)
        case "cdl":
            return _text(_cdl(opened, limits), TEXT)
        case "ncml":
            return _text(ncml.text(checked, asked.location), XML)
        case "capabilities":
            return _text(_capabilities(asked.location), XML)
        case "form":
            return _text(form(opened, asked.location), HTML)
        case _:
            raise RefusedRequestError(400, f"`req` must be one of {', '.join(KNOWN)}")


def _text(words: str, kind: str) -> HttpAnswer:
    return HttpAnswer(words.encode("utf-8", "surrogateescape"), kind)


def _capabilities(location: str) -> str:
    place = quoteattr(location)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<cdmRemoteCapabilities location={place}>\n  <featureDataset url={place} />\n</cdmRemoteCapabilities>\n"
    )


def _cdl(opened: CachedDataset, limits: Limits) -> str:
    from nczarr.names import stem
    from nczarr.operations.convert import dump

    report = Report(limit=100)
    name = stem(opened.place.segments[-1]) or None
    options = Options(
        header_only=True, allow_loss=frozenset({"all"}), name=opened.checked.dataset.name or name, memory=limits.memory
    )
    pieces = dump(opened.checked, "cdl", report, options)
    if pieces is None or report.errors:
        raise CompileError(report.sorted())
    return b"".join(pieces).decode("utf-8", "surrogateescape")


def sections_of(opened: CachedDataset, asked: CdmQuery, limits: Limits, home: str) -> SectionRequest:
    """Return the sections that a query requests. Raises RefusedRequestError, OSError."""
    checked = opened.checked
    requested = wanted_of(checked, asked.query.get("var", ""), home)
    sizes = [size_of(checked, fqn, ranges) for fqn, ranges in requested]
    least = sum(sizes)
    check_size(least, limits)
    deflate = _deflate(asked.query.get("deflate"))
    in_pieces = {fqn: is_fixed(checked.variables[fqn].type, checked.types) and deflate is None for fqn, _ in requested}
    needs = (
        memory_for(checked, [fqn], size, at_once=not in_pieces[fqn])
        for (fqn, _), size in zip(requested, sizes, strict=True)
    )
    return SectionRequest(requested, deflate, least, max(needs))


def data(opened: CachedDataset, asked: SectionRequest, limits: Limits, disk: Disk) -> HttpAnswer:
    """Return the answer to sections. Raises RefusedRequestError, CompileError, OSError."""
    checked = opened.checked
    pieces = steady(bounded(ncstream.data_messages(checked, asked.requested, deflate=asked.deflate), limits), opened)
    fixed = all(is_fixed(checked.variables[fqn].type, checked.types) for fqn, _ in asked.requested)
    body = begun(pieces) if fixed else whole(pieces, disk)
    return HttpAnswer(body, BYTES, headers=NCSTREAM, need=asked.need, size=asked.size)


def wanted_of(checked: Checked, spec: str, home: str) -> list[tuple[str, tuple[range, ...]]]:
    """Return the variables and index ranges of a `var` parameter; a member stands for its whole record.

    Raises RefusedRequestError for missing or invalid sections.
    """
    from nczarr.select.section_syntax import sections
    from nczarr.select.sections import ranges_of

    report = Report(limit=20)
    if not spec.strip():
        raise RefusedRequestError(400, "`req=data` needs `var=`: sections of variables, with `;` between them")
    parsed = sections(spec, report, "var", members=True)
    requested: list[tuple[str, tuple[range, ...]]] = []
    for section in parsed:
        fqn = _fqn(section)
        if fqn not in checked.variables:
            hints = names.suggested(fqn, checked.variables)
            raise RefusedRequestError(400, "; ".join((f"there is no variable `{fqn}`", *hints)))
        if ncstream.is_sequence(checked, fqn):
            section = section._replace(extents=None)  # sections of sequences mean nothing
        ranges = ranges_of([(fqn, section)], checked, report)
        requested.append((fqn, ranges[fqn]))
    if report.errors or not requested:
        raise RefusedRequestError(400, words(report.sorted(), home) or "`var` does not name a variable")
    return requested


def _fqn(section: Section) -> str:
    return names.fqn(map(names.normal, section.path))


def size_of(checked: Checked, fqn: str, ranges: tuple[range, ...]) -> int:
    """Return the bytes of a section's values, estimated for types of variable size."""
    type_name, cells = checked.variables[fqn].type, math.prod(map(len, ranges))
    if is_fixed(type_name, checked.types):
        return cells * size(type_name, checked.types)
    if type_name == "string":
        return cells * TEXT_SIZE
    parts = checked.parts.get(fqn, {})
    whole = sum(math.prod(part.layout.shape) * (itemsize(part.layout.dtype) or TEXT_SIZE) for part in parts.values())
    counts, declared = parts.get("counts"), checked.types.get(type_name)
    if counts is None or not isinstance(declared, VlenType) or not is_fixed(declared.base, checked.types):
        return whole * cells // max(1, math.prod(checked.shapes[fqn]))
    box = tuple(slice(part.start, max(part.start, part[-1] + 1 if part else 0)) for part in ranges)
    if math.prod(lengths_of(box)) * COUNT > PIECES:
        return whole
    values = counts.read(box)[tuple(slice(None, None, part.step) for part in ranges)]
    return cells * COUNT + int(values.sum()) * size(declared.base, checked.types)


def _deflate(text: str | None) -> int | None:
    if text is None or text == "":
        return None
    if not (text.isascii() and text.isdigit() and len(text) == 1):
        raise RefusedRequestError(400, "`deflate` must be a digit, 0 to 9")
    return int(text)
