"""Properties of a file or object that need no reading: size, modification time, server tag.

    {"size": 1024, "mtime": "2026-01-31T12:00:00.5Z", "etag": "0123456789abcdef"}

Reference documents record them of targets, to detect changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.stores import local_paths
from nczarr.stores.places import find_places
from nczarr.stores.url import find_kind, location

if TYPE_CHECKING:
    from nczarr.stores.places import Connection

SECOND = 10**9
ROUNDED = 1000
"""Nanoseconds that a time may lose as a number of seconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TAGS = ("ETag", "etag", "md5Hash")
_TIMES = ("LastModified", "last_modified", "Last-Modified", "mtime", "updated", "modified", "created")
"""Members of libraries' records, the best first."""


class Facts(NamedTuple):
    """Properties of a file or object; None: unknown."""

    size: int | None = None
    """Size in bytes."""
    modified: int | None = None
    """Modification time in nanoseconds since 1970."""
    tag: str | None = None

    def members(self) -> dict[str, Any]:
        """Return the members for a document."""
        members = {
            "size": self.size,
            "mtime": None if self.modified is None else _text(self.modified),
            "etag": self.tag,
        }
        return {name: value for name, value in members.items() if value is not None}


def facts(path: str, storage: StorageOptions = NO_OPTIONS) -> Facts:
    """Return the properties of a file or object. Raises OSError if it is unreachable, BadURLError."""
    place = location(path)
    if not place.remote:
        status = os.stat(place.path)
        return Facts(status.st_size, status.st_mtime_ns)
    return facts_at(find_places(path).connect(path, storage))


def facts_at(connection: Connection) -> Facts:
    """Return the properties of an object. Raises OSError if it is unreachable."""
    info = connection.call("info", "")
    size = info.get("size")
    tag = next((str(info[name]) for name in _TAGS if info.get(name)), None)
    when = next((info[name] for name in _TIMES if info.get(name) is not None), None)
    return Facts(size if type(size) is int else None, _nanoseconds(when), None if tag is None else tag.strip('"'))


def read_noted(members: Any) -> Facts:
    """Return the properties in a document; invalid members count as unknown."""
    if not isinstance(members, Mapping):
        return Facts()
    size, tag = members.get("size"), members.get("etag")
    when = _nanoseconds(members.get("mtime"))
    return Facts(size if type(size) is int else None, when, tag.strip('"') if isinstance(tag, str) else None)


def changes(then: Facts, now: Facts) -> list[str]:
    """Describe the changes; unknown properties are ignored, and times are if tags are known.

    Times are compared by the second if one has no better resolution.
    """
    changed = []
    if then.size is not None and now.size is not None and then.size != now.size:
        changed.append(f"it had {then.size} bytes and now has {now.size}")
    if then.tag is not None and now.tag is not None:
        if then.tag != now.tag:
            changed.append(f"its tag was `{then.tag}` and is now `{now.tag}`")
    elif then.modified is not None and now.modified is not None:
        coarse = then.modified % SECOND == 0 or now.modified % SECOND == 0
        if abs(then.modified - now.modified) >= (SECOND if coarse else ROUNDED):
            changed.append(f"its modification time was {_text(then.modified)} and is now {_text(now.modified)}")
    return changed


def _nanoseconds(value: Any) -> int | None:
    """Convert a time in any form of libraries and documents; None for others."""
    if isinstance(value, str):
        value = _parse(value)
    if isinstance(value, datetime):
        since = (value if value.tzinfo is not None else value.replace(tzinfo=UTC)) - _EPOCH
        return (since // timedelta(microseconds=1)) * 1000
    if type(value) is int:
        return value if abs(value) > 10**14 else value * SECOND
    return round(value * 10**6) * 1000 if isinstance(value, float) and abs(value) < 10**11 else None


def _parse(text: str) -> datetime | int | None:
    """Parse an ISO 8601 or HTTP time, with nanoseconds."""
    head, point, rest = text.partition(".")
    if point and rest.endswith("Z") and rest[:-1].isdigit():
        whole = _parse(head + "Z")
        if isinstance(whole, datetime):
            return int((whole - _EPOCH).total_seconds()) * SECOND + int(rest[:-1].ljust(9, "0")[:9])
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return None


def _text(nanoseconds: int) -> str:
    """Return a time in ISO 8601, up to nanoseconds."""
    seconds, rest = divmod(nanoseconds, SECOND)
    whole = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{rest:09d}".rstrip("0") + "Z" if rest else f"{whole}Z"


def identity(path: str, storage: StorageOptions = NO_OPTIONS) -> str | None:
    """Return a text that changes with the content at a path or URL, without reading it whole.

    It is made from size and time of a file or all files in a folder, or from
    listed properties of objects. None if changes are not detectable: stores on
    web servers, datasets of services. Raises OSError if unreachable.
    """
    place = location(path)
    if place.kind:
        return find_kind(place.kind).identify(place, storage)
    if place.remote:
        return find_places(path).identify(path, storage)
    if not os.path.isdir(place.path):
        return _line("", os.stat(place.path))
    lines = []
    for folder, _, files in local_paths.walk(place.path):
        for name in files:
            whole = os.path.join(folder, name)
            lines.append(_line(whole.removeprefix(place.path).lstrip(os.sep), os.lstat(whole)))
    return digest(sorted(lines))


def _line(name: str, status: os.stat_result) -> str:
    return f"{name} {status.st_size} {status.st_mtime_ns}"


def digest(lines: Iterable[str]) -> str:
    """Return the SHA-256 of some lines in hexadecimal."""
    import hashlib

    line_hash = hashlib.sha256()
    for line in lines:
        line_hash.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return line_hash.hexdigest()
