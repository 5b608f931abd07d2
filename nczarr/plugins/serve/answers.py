"""Answers: status, headers and body; ranges, conditions and gzip of RFC 9110, sections 12.5.3, 13 and 14; refusals.

One byte range is served. A request for several gets the whole body, as the RFC
allows. Errors become a status with a text for the client, without a traceback or a path of the server.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.utils import formatdate, parsedate_to_datetime
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.plugins.common.pieces import length_of, part_of
from nczarr.plugins.serve.resources import BusyServerError, Spool
from nczarr.stores.local_file import Identity, ReplacedError
from nczarr.stores.ranges import Range

Body = bytes | tuple["bytes | Range", ...] | Spool | Iterator[bytes]
"""Bytes; pieces, some of them file ranges; a temporary file; or a stream of unknown length."""

TEXT, HTML, JSON, XML, BYTES = (
    "text/plain; charset=utf-8",
    "text/html; charset=utf-8",
    "application/json",
    "application/xml",
    "application/octet-stream",
)

GZIP = "-gzip"
"""End of the entity tags of compressed bodies."""

LEAST, LEVEL = 1 << 10, 5
"""Bytes of a body from which on compression is worth it, and its level."""

TEXTS = frozenset({"application/json", "application/xml", "image/svg+xml"})
"""Content types of texts, besides `text/*`."""

VARY = ("Vary", "Accept-Encoding")
"""Header of answers that may be compressed."""

_RANGE = re.compile(r"\s*bytes\s*=\s*([0-9]{0,19})\s*-\s*([0-9]{0,19})\s*", re.ASCII | re.IGNORECASE)


class HttpAnswer(NamedTuple):
    """One answer."""

    body: Body = b""
    """Bytes, or pieces of a stream."""
    kind: str = TEXT
    """Content type."""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers."""
    need: int = 0
    """Memory in bytes while a stream is made."""
    size: int = 0
    """Approximate bytes of a stream."""
    states: Mapping[str, Identity] = MappingProxyType({})
    """States of the files of the body, by path, from which its ranges must come."""

    @property
    def length(self) -> int | None:
        """Bytes of the body; None if unknown."""
        if isinstance(self.body, bytes):
            return len(self.body)
        if isinstance(self.body, tuple):
            return sum(map(length_of, self.body))
        if isinstance(self.body, Spool):
            return self.body.size
        return None


def attachment(name: str) -> tuple[str, str]:
    """Return the header that names the file of an answer: in ASCII, and in Unicode if that differs (RFC 6266)."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name) or "data"
    shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    full = "" if plain == name else f"; filename*=UTF-8''{quote(shown, safe='')}"
    return "Content-Disposition", f'attachment; filename="{plain}"{full}'


def text(status: int, words: str, headers: Sequence[tuple[str, str]] = ()) -> HttpAnswer:
    """Return a plain text answer."""
    return HttpAnswer(f"{words}\n".encode("utf-8", "replace"), TEXT, status, tuple(headers))


def document(value: Any, status: int = 200) -> HttpAnswer:
    """Return a JSON answer."""
    return HttpAnswer(json.dumps(value, indent=1).encode("ascii") + b"\n", JSON, status)


def tag_of(*facts: object) -> str:
    """Return an entity tag from the facts that determine the bytes of an answer."""
    return f'"{hashlib.blake2b(repr(facts).encode("utf-8", "backslashreplace"), digest_size=12).hexdigest()}"'


def is_had(tag: str | None, modified: float | None, asked: Mapping[str, str]) -> bool:
    """Return whether the client has the answer already, by its tag, else by its date."""
    wanted = asked.get("if-none-match")
    if wanted is not None:  # RFC 9110: it precedes If-Modified-Since
        # RFC 9110: If-None-Match compares weakly
        own = [each.strip().removeprefix("W/").replace(f'{GZIP}"', '"') for each in wanted.split(",")]
        return tag is not None and ("*" in own or tag in own)
    since = asked.get("if-modified-since")
    if since is None or modified is None:
        return False
    try:
        return int(modified) <= parsedate_to_datetime(since).timestamp()  # dates of HTTP have whole seconds
    except (ValueError, TypeError, OverflowError):
        return False


def answer_unchanged(tag: str, modified: float | None) -> HttpAnswer:
    """Return the answer 304."""
    return HttpAnswer(b"", "", 304, _state(tag, modified))


def _state(tag: str | None, modified: float | None) -> tuple[tuple[str, str], ...]:
    """Return the headers with the known ones of entity tag and date."""
    tags = (("ETag", tag),) if tag is not None else ()
    return (*tags, ("Last-Modified", formatdate(int(modified), usegmt=True))) if modified is not None else tags


def conditional(
    answer: HttpAnswer, asked: Mapping[str, str], modified: float | None, tag: str | None = None
) -> HttpAnswer:
    """Return the answer, the requested range of it, or 304. Without `tag`, the tag is a hash of the bytes."""
    if answer.status != 200 or answer.length is None:
        return answer
    if tag is None and isinstance(answer.body, bytes):
        tag = f'"{hashlib.blake2b(answer.body, digest_size=12).hexdigest()}"'
    if tag is not None and is_had(tag, modified, asked):
        return answer_unchanged(tag, modified)
    headers = (*answer.headers, ("Accept-Ranges", "bytes"), *_state(tag, modified))
    return _cut_range(answer._replace(headers=headers), asked, tag)


def _cut_range(answer: HttpAnswer, asked: Mapping[str, str], tag: str | None) -> HttpAnswer:
    """Return the part of an answer that `Range` requests; the whole answer for an unusable range."""
    wanted = _RANGE.fullmatch(asked.get("range", ""))
    if wanted is None or (asked.get("if-range") not in (None, tag)):
        return answer
    first, last = wanted.groups()
    length = answer.length or 0
    if not first and not last:
        return answer
    if first:
        start, stop = int(first), min(length, int(last) + 1) if last else length
        if last and int(last) < int(first):
            return answer  # no range: to be passed over
    else:
        start, stop = max(0, length - int(last)), length
    if start >= length or start >= stop:
        headers = (("Content-Range", f"bytes */{length}"),)
        return text(416, f"there are {length} bytes", headers)
    content_range = ("Content-Range", f"bytes {start}-{stop - 1}/{length}")
    return answer._replace(status=206, body=part(answer.body, start, stop), headers=(*answer.headers, content_range))


def part(body: Body, start: int, stop: int) -> Body:
    """Return the bytes of a body from `start` to `stop`."""
    if isinstance(body, bytes):
        return body[start:stop]
    assert isinstance(body, tuple)
    return tuple(part_of(body, start, stop))


def compress_answer(answer: HttpAnswer, asked: Mapping[str, str]) -> HttpAnswer:
    """Return the answer as the client takes it: texts in gzip, unless it asks for a part of them."""
    kind = answer.kind.partition(";")[0]
    is_text = kind.startswith("text/") or kind.endswith("+xml") or kind in TEXTS
    if not (is_text or (answer.status == 304 and not kind)):
        return answer
    wanted = "range" not in asked and _takes_gzip(asked.get("accept-encoding", ""))
    if answer.status == 304:
        return _tag(answer) if wanted and f'{GZIP}"' in asked.get("if-none-match", "") else answer
    plain = answer.body
    if not isinstance(plain, bytes) or len(plain) < LEAST or answer.status == 206:
        return answer
    answer = answer._replace(headers=(*answer.headers, VARY))
    if not wanted:
        return answer
    body = gzip.compress(plain, LEVEL, mtime=0)
    headers = tuple(header for header in answer.headers if header[0] != "Accept-Ranges")  # they are of the plain text
    return _tag(answer._replace(body=body, headers=(*headers, ("Content-Encoding", "gzip"))))


def _tag(answer: HttpAnswer) -> HttpAnswer:
    """Return the answer with the entity tag of its compressed body."""
    headers = (
        (name, f'{value[:-1]}{GZIP}"' if name == "ETag" and value.endswith('"') else value)
        for name, value in answer.headers
    )
    return answer._replace(headers=tuple(headers))


def _takes_gzip(text: str) -> bool:
    """Return whether the header `Accept-Encoding` allows gzip."""
    weights = {}
    for each in text.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        given = next((part[2:].strip() for part in parameters if part.startswith("q=")), "1")
        try:
            weights[name] = float(given)
        except ValueError:
            weights[name] = 0.0
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0))) > 0


UNKNOWN = 404
"""Status of files in no known format; the beginning of a file may be in none."""

UNREADABLE = 422
"""Status of datasets that have errors: the server works, and to ask again does not help."""

BUSY = 503
"""Status of files that another process seems to be writing, and of a server without room."""

RETRY, SOON = (("Retry-After", "2"),), (("Retry-After", "1"),)
"""Headers of answers with that status; the second of those that need a moment."""

FORBIDDEN = frozenset({"forbidden-target"})
"""Codes of targets that the server may not read: they become status 403."""

ALLOW = "`nczarr serve --source-root PLACE` allows it"
"""Remedy for targets outside the roots of a server."""


class RefusedRequestError(Exception):
    """A refused request: HTTP status and text for the client."""

    def __init__(self, status: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers


def describe_refusal(error: Exception, home: str) -> RefusedRequestError:
    """Return the refusal for an error. `home`: the path of the root, which the text omits."""
    match error:
        case RefusedRequestError():
            return error
        case BusyServerError():
            return RefusedRequestError(BUSY, f"the server is busy: {error}", RETRY)
        case CompileError():
            status = 403 if any(each.code in FORBIDDEN for each in error.diagnostics) else UNREADABLE
            return RefusedRequestError(status, words(error.diagnostics, home))
        case ReplacedError():
            return RefusedRequestError(BUSY, "the dataset has changed in the meantime", RETRY)
        case OSError(errno=errno.ELOOP):
            return RefusedRequestError(403, f"a part of the dataset is {error.strerror}")
        case OSError(errno=errno.EBADMSG | errno.EFBIG | errno.EINVAL):  # the content, not the system, is at fault
            return RefusedRequestError(UNREADABLE, f"the dataset cannot be read: {error.strerror}")
        case MemoryError():
            return RefusedRequestError(413, "the answer needs more memory than the server has: ask for a part")
        case OSError(errno=errno.ENOENT | errno.ENOTDIR | errno.EISDIR, filename=str(path)) if _is_target(path, home):
            # not 404: a chunk that does not exist has fill values
            text = f"the dataset needs `{without_home(path, home)}`: {error.strerror}"
            return RefusedRequestError(UNREADABLE, text)
        case OSError():
            return RefusedRequestError(500, f"the dataset cannot be reached: {error.strerror or 'no reason given'}")
        case _:
            return RefusedRequestError(500, "internal error of the server; `--verbose` writes details to its log")


def _is_target(path: str, home: str) -> bool:
    """Return whether a path leads to a file below a root that is there."""
    return path.startswith(home.rstrip(os.sep) + os.sep) and os.path.isdir(home)


INSTEAD = {"several-members": ("unpack it: a server offers no members of archives",)}
"""Helps for clients and operators by code, where those of commands do not fit."""


def words(diagnostics: Iterable[Diagnostic], home: str) -> str:
    """Return diagnostics as lines for a client, without source lines and server paths.

    Targets outside the roots are one line: other diagnostics follow from them.
    """
    diagnostics = list(diagnostics)
    outside = [each for each in diagnostics if each.code in FORBIDDEN]
    if outside:
        more = f" (and {len(outside) - 1} more)" if len(outside) > 1 else ""
        return without_home(f"error[{outside[0].code}]: {outside[0].message}{more}; {ALLOW}", home)
    lines = []
    for each in diagnostics:
        if each.severity is not Severity.NOTE:
            lines.append(f"{each.severity}[{each.code}]: {each.message}{_where(each)}")
            helps = INSTEAD.get(each.code, each.helps)
            lines += [f"  help: {text}" for text in helps if "`--" not in text]
    return without_home("\n".join(lines), home)


def _where(diagnostic: Diagnostic) -> str:
    label = diagnostic.primary
    if label.key is not None:
        return f" (at {label.key}{'#' + label.pointer if label.pointer else ''})"
    return "" if label.span.source is None else f" (at {label.span.source.place(label.span.start)})"


def without_home(text: str, home: str) -> str:
    """Return a text without the path of the root: clients know only names below it."""
    return text.replace(home.rstrip(os.sep) + os.sep, "").replace(home, ".")
