"""Datasets that a document names: their places, how they are opened, and dates in their names (`dateFormatMark`)."""

from __future__ import annotations

import errno
import itertools
import os
import re
import stat
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from nczarr.arrays.values.time_units import parse_unit
from nczarr.diagnostics.report import CompileError, Source
from nczarr.diagnostics.secrets import show
from nczarr.pipeline import endpoints, omissions, phases
from nczarr.plugins.common.xml_reader import XmlElement
from nczarr.plugins.ncml.vocabulary import NcmlDocument, is_true
from nczarr.semantics.checked import Checked
from nczarr.stores import local_paths
from nczarr.stores.local_file import LocalFile
from nczarr.stores.reference_policy import ForbiddenTargetError
from nczarr.stores.url import is_remote

MARK = "#"
"""Character between the text that is skipped and the pattern."""

_DIGITS = "yMdDHmsS"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()


def read_date(name: str, pattern: str) -> datetime:
    """Return the date in a file name. Raises ValueError for an invalid pattern, and for another name.

    As many characters are skipped as are before the mark; what is behind the date is ignored.
    """
    skipped, mark, date = pattern.partition(MARK)
    if not mark:
        raise ValueError(f"the pattern `{pattern[:80]}` has no `{MARK}` before the date")
    fields = list(_list_fields(date.partition(MARK)[0]))
    match = re.match("".join(expression for _, expression in fields), name[len(skipped) :], re.ASCII | re.IGNORECASE)
    if match is None or not any(letter for letter, _ in fields):
        raise ValueError(f"the name `{name[:80]}` has no date as `{pattern[:80]}`")
    texts = dict(zip((letter for letter, _ in fields if letter), match.groups(), strict=True))
    numbers = {letter: _number(letter, text) for letter, text in texts.items()}
    year = numbers.get("y", 1970)
    if len(texts.get("y", "")) == 2:
        year += 2000 if year < 70 else 1900
    try:
        return datetime(
            year,
            1 if "D" in numbers else numbers.get("M", 1),
            1 if "D" in numbers else numbers.get("d", 1),
            numbers.get("H", 0),
            numbers.get("m", 0),
            numbers.get("s", 0),
            numbers.get("S", 0) * 1000,
        ) + timedelta(numbers.get("D", 1) - 1)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"the name `{name[:80]}` has no valid date: {error}") from None


def _number(letter: str, text: str) -> int:
    return int(text) if text.isdecimal() else _MONTHS.index(text[:3].lower()) + 1


def _list_fields(pattern: str) -> Iterator[tuple[str, str]]:
    """Yield each field with its expression; a literal has no letter. Raises ValueError for other letters."""
    seen = set()
    for number, piece in enumerate(pattern.split("'")):
        if number % 2:
            yield "", re.escape(piece or "'")
            continue
        for character, run in itertools.groupby(piece):
            length = len(list(run))
            if not (character.isascii() and character.isalpha()):
                yield "", re.escape(character * length)
                continue
            if character not in _DIGITS or character in seen:
                raise ValueError(f"`{character}` in the pattern `{pattern[:80]}` is no field of a date, or is repeated")
            seen.add(character)
            if character == "M" and length > 2:
                yield character, f"({'|'.join(_MONTHS)})[a-z]*" if length > 3 else f"({'|'.join(_MONTHS)})"
            else:
                yield character, rf"(\d{{{min(length, 9)}}})" if length > 1 else r"(\d{1,4})"


def write_date(date: datetime) -> str:
    """Return a date as text of ISO 8601 in UTC."""
    return date.isoformat(timespec="milliseconds" if date.microsecond else "seconds") + "Z"


DEEPEST = 8
"""Maximum number of documents that lead to each other."""

MOST_FILES = 1 << 17
"""Maximum number of files that scans of one aggregation find."""

_SERVED = re.compile(r"(dods|dap2|dap4|cdmremote):(?:(https?):)?(//.+)", re.IGNORECASE | re.DOTALL)
_SERVICES = {"/dodsC/": "dap2", "/cdmremote/": "cdmremote"}
"""Protocols by a part of the paths of THREDDS servers."""

_PIECE = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\\\]])*\]|\(\?|.)([*+]|\{[0-9]*,[0-9]*\}|\?|\{)?[?+]?", re.DOTALL)
"""One item of a regular expression, and how it is repeated."""

_DIGIT = frozenset({"[0-9]", "\\d"})

MOST_REPEATS = (4, 10)
"""Maximum number of repeated items that are no digits, and of repeated or optional items: more may take forever."""


class AggregatedMember(NamedTuple):
    """One dataset of an aggregation."""

    element: XmlElement
    """Its `netcdf`, or the `scan` that found it."""
    path: str | None
    """Path or URL; None: the element itself is the dataset."""
    label: str
    """The place as the document spells it, or from the folder of the document, for messages."""
    date: datetime | None = None
    """Date in the name."""

    @property
    def name(self) -> str:
        """Last segment of the place."""
        return (self.path or self.label).rstrip("/").rpartition("/")[2]

    @property
    def is_scanned(self) -> bool:
        """True if a scan found it."""
        return self.element.tag == "scan"


def location_of(element: XmlElement) -> str | None:
    """Return the location that an element names."""
    return element.attributes.get("location") or element.attributes.get("url") or None


def locate(location: str, element: XmlElement, document: NcmlDocument) -> str | None:
    """Return the path or URL of a location, None if it is not allowed. Reports forbidden-target.

    A scanned folder may be that of the document.
    """
    text = location.strip()
    served = _SERVED.fullmatch(text)
    if served is not None:
        text = f"{(served[2] or 'http').lower()}:{served[3]}"
    elif text.lower().startswith("file:") and not text.lower().startswith("file://"):
        text = text[5:]
    if element.tag == "scan":
        text = f"{text.rstrip('/')}/*" if text != "/" else "/*"
    try:
        place = document.policy.follow(text)
    except ForbiddenTargetError as error:
        document.report.error("forbidden-target", f"location: {error}", document.span(element))
        return None
    if element.tag == "scan":
        return (place.path or place.url).removesuffix("*")
    if served is not None:
        return f"{served[1].lower().replace('dods', 'dap2')}:{place.url}"
    if place.url.lower().startswith(("http://", "https://")):
        protocol = next((name for part, name in _SERVICES.items() if part in place.url), None)
        return place.url if protocol is None else f"{protocol}:{place.url}"
    return place.path or place.url


def read_place(path: str, label: str, element: XmlElement, document: NcmlDocument) -> Checked | None:
    """Return the dataset at a place, None after an error. Reports unreachable-target, bad-ncml.

    `label`: the place in messages.
    """
    report, behind = document.report, document.options.reading.following.documents
    if local_paths.real(path) in behind or len(behind) > DEEPEST:
        text = f"`{show(label)}` leads back to this document" if len(behind) <= DEEPEST else "documents nest too deeply"
        report.error("bad-ncml", text, document.span(element))
        return None
    options = phases.for_reading(document.options, values=False).change(parser=None)
    try:
        if not is_remote(path) and not os.path.isdir(path) and not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "it is neither a file nor a folder")
        source = endpoints.open_source(path, report, options)
        form = None if source is None else endpoints.detect_format(source)
        if isinstance(source, Source) and isinstance(source.data, LocalFile) and not (form and form.reading.ranged):
            source.data = source.data[:]
        checked = None if source is None else phases.read(source, report, options, form)
        if checked is not None:
            omissions.retract(checked, report)  # the whole document announces them
            document.omitted.extend(checked.omitted)
        return checked
    except OSError as failure:
        text = f"`{show(label)}` cannot be read: {failure.strerror or failure}"
        report.error("unreachable-target", text, document.span(element))
    except CompileError as failure:
        for diagnostic in failure.diagnostics:
            report.add(diagnostic)
    return None


def list_members(aggregation: XmlElement, document: NcmlDocument) -> list[AggregatedMember]:
    """Return the datasets of an aggregation in order: named ones, then those that scans find.

    Reports forbidden-target, unreachable-target, unmatched-ncml, bad-ncml, unsupported-ncml.
    """
    members = []
    for element in aggregation.all("netcdf"):
        location = location_of(element)
        path = None if location is None else locate(location, element, document)
        if location is None or path is not None:
            members.append(AggregatedMember(element, path, location or local_paths.name_of(document.source.name)))
    scanned: list[AggregatedMember] = []
    for element in aggregation.all("scan"):
        scanned += _scan(element, document)
    if any(member.date is not None for member in scanned):
        scanned.sort(key=lambda member: (member.date or datetime.min, member.name))
    return [*members, *scanned]


def _scan(element: XmlElement, document: NcmlDocument) -> list[AggregatedMember]:
    """Return the files that a scan finds, by name."""
    report, span, before = document.report, document.span(element), document.report.errors
    location = element.attributes["location"]
    folder = locate(location, element, document)
    if folder is None:
        return []
    if is_remote(folder):
        report.error("unsupported-ncml", f"a scan of the URL `{show(folder)}` is not made", span)
        return []
    pattern = element.attributes.get("regExp")
    try:
        expression = None if pattern is None else _compile(pattern)
    except (ValueError, re.error, RecursionError, OverflowError) as error:
        report.error("bad-ncml", f"`regExp` is no regular expression that is read: {error}", span)
        return []
    age = element.attributes.get("olderThan")
    seconds = None if age is None else parse_unit(age)
    if age is not None and (seconds is None or seconds[1] is not None):
        report.error("bad-ncml", f"`olderThan` is `{age[:40]}`, not a duration such as `5 min`", span)
        return []
    newest = None if seconds is None else time.time() - float(seconds[0])
    if not os.path.isdir(folder):
        report.error("unreachable-target", f"the scanned folder `{show(location)}` does not exist", span)
        return []
    paths = [
        path
        for path in _list_files(folder, element, document)
        if (expression is None or expression.fullmatch(path))
        and (newest is None or os.stat(path).st_mtime <= newest)
        and local_paths.real(path) not in document.options.reading.following.documents
    ]
    if not paths and report.errors == before:
        report.error("unmatched-ncml", f"the scan of `{show(location)}` finds no file", span)
    return _date_members(sorted(paths, key=lambda path: (local_paths.name_of(path), path)), element, document)


def _compile(pattern: str) -> re.Pattern[str]:
    """Return a regular expression. Raises ValueError, re.error."""
    pieces = [match.groups() for match in _PIECE.finditer(pattern)]
    if any(item == ")" and mark and mark != "?" for item, mark in pieces):
        raise ValueError("a group is repeated")
    repeats = [item for item, mark in pieces if mark and mark != "{" and item != "(?"]
    wide = [item for item, mark in pieces if mark and mark not in "?{" and item not in _DIGIT]
    if len(wide) > MOST_REPEATS[0] or len(repeats) > MOST_REPEATS[1]:
        raise ValueError(f"more than {MOST_REPEATS[0]} items are repeated, or more than {MOST_REPEATS[1]} with digits")
    return re.compile(pattern)


def _date_members(paths: list[str], element: XmlElement, document: NcmlDocument) -> list[AggregatedMember]:
    """Return scanned files with the dates in their names, if these are asked for. Reports bad-ncml."""
    pattern = element.attributes.get("dateFormatMark")
    members = []
    for path in paths:
        name = local_paths.name_of(path)
        try:
            date = None if pattern is None else read_date(name, pattern)
        except ValueError as error:
            document.report.error("bad-ncml", f"`dateFormatMark`: {error}", document.span(element))
            break
        members.append(AggregatedMember(element, path, _label_file(path, document), date))
    return members


def _label_file(path: str, document: NcmlDocument) -> str:
    """Return the path of a scanned file from the folder of the document, if it is below it."""
    home = document.policy.home.rstrip(os.sep) + os.sep
    return local_paths.absolute(path).removeprefix(home)


def _list_files(folder: str, element: XmlElement, document: NcmlDocument) -> Iterator[str]:
    """Yield the files below a folder with the suffix of a scan, and folders with it; hidden ones are left out."""
    suffix, count = element.attributes.get("suffix", ""), 0
    for place, folders, files in local_paths.walk(folder):
        stores = [name for name in folders if suffix and name.endswith(suffix)]
        deeper = is_true(element, "subdirs", "true")
        folders[:] = sorted(name for name in folders if deeper and name[0] != "." and name not in stores)
        for name in (*files, *stores):
            if name[0] == "." or not name.endswith(suffix):
                continue
            count += 1
            if count > MOST_FILES:
                text = f"the scan of `{show(element.attributes['location'])}` finds more than {MOST_FILES} files"
                document.report.error("bad-ncml", text, document.span(element))
                return
            path = local_paths.join(place, name)
            if _is_allowed(path, folder, element, document):
                yield path


def _is_allowed(path: str, folder: str, element: XmlElement, document: NcmlDocument) -> bool:
    """Return whether a scanned file may be read: a link must not lead out of the folder. Reports forbidden-target."""
    real = local_paths.real(path)
    try:
        if not local_paths.segments_below(path, folder):
            raise ForbiddenTargetError(
                f"`{_label_file(path, document)}` is a link that leads out of the scanned folder"
            )
        document.policy.follow(real)
    except ForbiddenTargetError as error:
        document.report.error("forbidden-target", f"scan: {error}", document.span(element))
        return False
    return True
