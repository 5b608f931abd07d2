"""What is known of a file or object without reading it: its size, when it was changed, the tag of its server.

    {"size": 1024, "mtime": "2026-01-31T12:00:00.5Z", "etag": "0123456789abcdef"}

A document of references notes that of its targets, so that one that changes is noticed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.secrets import NO_OPTIONS, StorageOptions
from nczarr.stores.url import location

if TYPE_CHECKING:
    from nczarr.stores.connection import Connection

SECOND = 10**9
ROUNDED = 1000
"""Nanoseconds that a time may lose where it was a number of seconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TAGS = ("ETag", "etag", "md5Hash")
_TIMES = ("LastModified", "last_modified", "Last-Modified", "mtime", "updated", "modified", "created")
"""Members of what libraries tell of an object, the best first."""
_TELLING = ("ETag", "etag", "md5Hash", "content_settings", "version_id", "VersionId", "generation", "mtime",
            "LastModified", "last_modified", "updated", "created")  # fmt: skip
"""Members of what libraries tell of an object that change with it."""


class Facts(NamedTuple):
    """Bytes, time of the last change in nanoseconds since 1970, tag; None: unknown."""

    size: int | None = None
    modified: int | None = None
    tag: str | None = None

    def members(self) -> dict[str, Any]:
        """As a document notes them."""
        found = {"size": self.size, "mtime": None if self.modified is None else _text(self.modified), "etag": self.tag}
        return {name: value for name, value in found.items() if value is not None}


def facts(path: str, storage: StorageOptions = NO_OPTIONS) -> Facts:
    """What is known of the file or object at a path or URL. Raises OSError if it is out of reach, BadURLError."""
    place = location(path)
    if not place.remote:
        status = os.stat(place.path)
        return Facts(status.st_size, status.st_mtime_ns)
    from nczarr.stores.connection import Connection

    return facts_at(Connection(path, storage))


def facts_at(connection: Connection) -> Facts:
    """What is known of an object. Raises OSError if it is out of reach."""
    info = connection.call("info", "")
    size = info.get("size")
    tag = next((str(info[name]) for name in _TAGS if info.get(name)), None)
    when = next((info[name] for name in _TIMES if info.get(name) is not None), None)
    return Facts(size if type(size) is int else None, _nanoseconds(when), None if tag is None else tag.strip('"'))


def noted(members: Any) -> Facts:
    """What a document notes; members of any other form say nothing."""
    if not isinstance(members, Mapping):
        return Facts()
    size, tag = members.get("size"), members.get("etag")
    when = _nanoseconds(members.get("mtime"))
    return Facts(size if type(size) is int else None, when, tag.strip('"') if isinstance(tag, str) else None)


def changes(then: Facts, now: Facts) -> list[str]:
    """What is not as it was, in words; of what one side does not know nothing is said, and of times not where tags do.

    Times are compared by the second where one of them is known no better.
    """
    found = []
    if then.size is not None and now.size is not None and then.size != now.size:
        found.append(f"it had {then.size} bytes, and has {now.size}")
    if then.tag is not None and now.tag is not None:
        if then.tag != now.tag:
            found.append(f"its tag was `{then.tag}`, and is `{now.tag}`")
    elif then.modified is not None and now.modified is not None:
        coarse = then.modified % SECOND == 0 or now.modified % SECOND == 0
        if abs(then.modified - now.modified) >= (SECOND if coarse else ROUNDED):
            found.append(f"it was of {_text(then.modified)}, and is of {_text(now.modified)}")
    return found


def _nanoseconds(value: Any) -> int | None:
    """A time in any of the forms that libraries and documents have; None for anything else."""
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, datetime):
        since = (value if value.tzinfo is not None else value.replace(tzinfo=UTC)) - _EPOCH
        return (since // timedelta(microseconds=1)) * 1000
    if type(value) is int:
        return value if abs(value) > 10**14 else value * SECOND
    if isinstance(value, float) and abs(value) < 10**11:
        return round(value * 10**6) * 1000
    return None


def _parsed(text: str) -> datetime | int | None:
    """A time as ISO 8601 or HTTP has it. Nanoseconds are kept."""
    head, point, rest = text.partition(".")
    if point and rest.endswith("Z") and rest[:-1].isdigit():
        whole = _parsed(head + "Z")
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
    """A time as ISO 8601, to the nanosecond where it is known so well."""
    seconds, rest = divmod(nanoseconds, SECOND)
    whole = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{rest:09d}".rstrip("0") + "Z" if rest else f"{whole}Z"


def identity(path: str, storage: StorageOptions = NO_OPTIONS) -> str | None:
    """A text for what lies at a path or URL that changes when it does, without reading it whole: of a file its size and
    time, of a folder those of all files in it, of an object what its server tells of it.

    None for what nobody tells the changes of: stores on web servers, datasets that a server gives by sections. Raises
    OSError if it is out of reach.
    """
    place = location(path)
    if place.service:
        return None
    if place.remote:
        return _of_remote(path, storage)
    if not os.path.isdir(place.path):
        return _line("", os.stat(place.path))
    found = []
    for folder, _, files in os.walk(place.path):
        for name in files:
            whole = os.path.join(folder, name)
            found.append(_line(os.path.relpath(whole, place.path), os.lstat(whole)))
    return _digest(sorted(found))


def _line(name: str, status: os.stat_result) -> str:
    return f"{name} {status.st_size} {status.st_mtime_ns}"


def _of_remote(url: str, storage: StorageOptions) -> str | None:
    from nczarr.stores.probe import is_folder
    from nczarr.stores.remote import RemoteStore

    store = RemoteStore(url, storage)
    if not is_folder(store):
        return _digest([told_of(store.connection.call("info", ""))])
    if not store.listed:
        return None
    return _digest(sorted(f"{info['name']} {told_of(info)}" for info in store.connection.listing("")))


def told_of(info: dict[str, Any]) -> str:
    """What a library tells of an object that changes with it."""
    return " ".join([str(info.get("size")), *(str(info[name]) for name in _TELLING if name in info)])


def _digest(lines: Iterable[str]) -> str:
    import hashlib

    found = hashlib.sha256()
    for line in lines:
        found.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return found.hexdigest()
