"""Answers before they are sent: a status, headers and a body; parts of bodies, and what a client has already.

Source: RFC 9110, §13 (conditions) and §14 (ranges). One range of bytes is served; a request for several gets the whole,
as it may.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from email.utils import formatdate, parsedate_to_datetime
from typing import Any, NamedTuple

from nczarr.serve.spool import Spool
from nczarr.stores.ranges import Range

Body = bytes | tuple["bytes | Range", ...] | Spool | Iterator[bytes]
"""Bytes; pieces, some of them ranges of files; a temporary file; or a stream of pieces whose number nobody knows."""

TEXT, HTML, JSON, XML, BYTES = (
    "text/plain; charset=utf-8",
    "text/html; charset=utf-8",
    "application/json",
    "application/xml",
    "application/octet-stream",
)

_RANGE = re.compile(r"\s*bytes\s*=\s*([0-9]{0,19})\s*-\s*([0-9]{0,19})\s*", re.ASCII | re.IGNORECASE)


class Answer(NamedTuple):
    """One answer. Of streams alone: `need`, bytes of memory while it is made; `size`, bytes of all pieces, about."""

    body: Body = b""
    kind: str = TEXT
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    need: int = 0
    size: int = 0

    @property
    def length(self) -> int | None:
        """Bytes of the body; None: nobody knows."""
        if isinstance(self.body, bytes):
            return len(self.body)
        if isinstance(self.body, tuple):
            return sum(each.length if isinstance(each, Range) else len(each) for each in self.body)
        if isinstance(self.body, Spool):
            return self.body.size
        return None


def text(status: int, words: str, headers: Sequence[tuple[str, str]] = ()) -> Answer:
    """An answer in words."""
    return Answer(f"{words}\n".encode("utf-8", "replace"), TEXT, status, tuple(headers))


def document(value: Any, status: int = 200) -> Answer:
    """An answer in JSON."""
    return Answer(json.dumps(value, indent=1).encode("ascii") + b"\n", JSON, status)


def tag_of(*facts: object) -> str:
    """An entity tag of what decides over the bytes of an answer."""
    return f'"{hashlib.blake2b(repr(facts).encode("utf-8", "backslashreplace"), digest_size=12).hexdigest()}"'


def dated(modified: float) -> tuple[str, str]:
    """The header that says when something was changed last."""
    return "Last-Modified", formatdate(int(modified), usegmt=True)


def is_had(tag: str | None, modified: float | None, asked: Mapping[str, str]) -> bool:
    """Whether a client has what it asks for: by its tag, or, if it gives none, by its date."""
    wanted = asked.get("if-none-match")
    if wanted is not None:
        own = [each.strip().removeprefix("W/") for each in wanted.split(",")]
        return tag is not None and ("*" in own or tag in own)
    since = asked.get("if-modified-since")
    if since is None or modified is None:
        return False
    try:
        return int(modified) <= parsedate_to_datetime(since).timestamp()
    except (ValueError, TypeError, OverflowError):
        return False


def unchanged(tag: str, modified: float | None) -> Answer:
    """The answer to a client that has it."""
    headers = (("ETag", tag), *([dated(modified)] if modified is not None else []))
    return Answer(b"", "", 304, headers)


def conditional(answer: Answer, asked: Mapping[str, str], modified: float | None, tag: str | None = None) -> Answer:
    """The answer, the part of it that is asked for, or the word that the client has it. Without a `tag` it gets one of
    its bytes.
    """
    if answer.status != 200 or answer.length is None:
        return answer
    if tag is None and isinstance(answer.body, bytes):
        tag = f'"{hashlib.blake2b(answer.body, digest_size=12).hexdigest()}"'
    if tag is not None and is_had(tag, modified, asked):
        return unchanged(tag, modified)
    headers = (*answer.headers, ("Accept-Ranges", "bytes"), *((("ETag", tag),) if tag else ()))
    if modified is not None:
        headers = (*headers, dated(modified))
    return _ranged(answer._replace(headers=headers), asked, tag)


def _ranged(answer: Answer, asked: Mapping[str, str], tag: str | None) -> Answer:
    """The part of an answer that `Range` asks for; the whole if it asks for none that there could be."""
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
    told = ("Content-Range", f"bytes {start}-{stop - 1}/{length}")
    return answer._replace(status=206, body=part(answer.body, start, stop), headers=(*answer.headers, told))


def part(body: Body, start: int, stop: int) -> Body:
    """The bytes of a body from one to another."""
    if isinstance(body, bytes):
        return body[start:stop]
    assert isinstance(body, tuple)
    found: list[bytes | Range] = []
    at = 0
    for each in body:
        length = each.length if isinstance(each, Range) else len(each)
        begin, end = max(0, start - at), min(length, stop - at)
        if begin < end:
            if isinstance(each, Range):
                found.append(Range(each.path, each.offset + begin, end - begin))
            else:
                found.append(each[begin:end])
        at += length
    return tuple(found)
