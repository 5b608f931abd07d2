"""Store of references: keys whose bytes are in other files, local or remote, or in a document.

Targets are opened on demand. Referenced bytes must exist: a too short target is
`short-target`, an unreachable one an OSError. Only keys without a reference are
absent.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any, NoReturn

from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions, show
from nczarr.stores import ranges
from nczarr.stores.base import Reference, References, Store, cut, is_safe, next_segments
from nczarr.stores.places import Connection, find_places
from nczarr.stores.ranges import Range, neighbours
from nczarr.stores.reference_policy import Followed, ForbiddenTargetError, Policy
from nczarr.stores.stat import Facts, changes, facts, facts_at, read_noted

MOST_FAULTS = 20
"""Maximum reported targets."""


class ReferenceStore(Store):
    """Keys of a document. `path`: display name of the document."""

    refers = True

    def __init__(self, references: References, policy: Policy, path: str, storage: StorageOptions = NO_OPTIONS) -> None:
        self.references = references
        self.policy = policy
        self.path = path
        self.storage = policy.limit_token(storage)
        self.distant = False
        noted = references.noted
        places = noted.get("fill_values") if isinstance(noted, Mapping) else None
        self.fill_places = places if isinstance(places, Mapping) else {}
        self.target_facts = {}
        self._begin()

    def _begin(self) -> None:
        self._places: dict[str | None, Followed] = {}
        self._connections: dict[str, Connection] = {}
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return the description; places are looked up again."""
        names = ("references", "policy", "path", "storage", "distant", "fill_places", "target_facts")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def check(self, report: Report, accepts: Callable[[str], bool], changed: Severity = Severity.WARNING) -> None:
        """Report forbidden-target, and unsafe-key as a loss, without opening targets. Raises OSError.

        Notes the properties of all targets. Local ones that have changed are `change`: changed-target.
        """
        faults, noted, kept = 0, self.references.noted, dict[str, Mapping[str, Any]]()
        recorded = noted.get("targets") if isinstance(noted, Mapping) else None
        recorded = recorded if isinstance(recorded, Mapping) else {}
        label = Label(key=self.path)
        allowed = accepts("unsafe-key")
        helps = () if allowed else ("read the rest with `--allow-loss unsafe-key`",)
        for key in self.references.odd():
            text = f"`{key}` is not a key of a store; it is left out"
            report.lose(Diagnostic("unsafe-key", Severity.ERROR, text, label, helps=helps), allowed=allowed)
        for url, key in self.references.list_named():
            try:
                place = self._find_place(url)
            except ForbiddenTargetError as error:
                faults += 1
                if faults > MOST_FAULTS:
                    return
                report.add(Diagnostic("forbidden-target", Severity.ERROR, f"`{key}`: {error}", label))
                continue
            self.distant = self.distant or place.path is None
            if url is not None:
                known = recorded.get(url)
                kept[place.path or place.url] = {**(known if isinstance(known, Mapping) else {}), "url": url}
                if known and place.path is not None:
                    with suppress(OSError, ValueError):  # reported when it is read
                        for change in [*describe_changes(url, key, read_noted(known), facts(place.path))][:1]:
                            report.add(change._replace(severity=changed))
        self.target_facts = kept

    def _find_place(self, url: str | None) -> Followed:
        place = self._places.get(url)
        if place is None:
            place = self._places[url] = self.policy.follow(url)
        return place

    def _find(self, key: str) -> tuple[Reference, Followed] | bytes | None:
        """Return a reference and the place it leads to, or the bytes in the document; None without either."""
        reference = self.references.find(key)
        if reference is None or isinstance(reference, bytes):
            return reference
        try:
            return reference, self._find_place(reference.url)
        except ForbiddenTargetError as error:
            raise CompileError([Diagnostic("forbidden-target", Severity.ERROR, f"`{key}`: {error}")]) from None

    def lacks(self, key: str) -> bool:
        """Return whether the document has no entry for the key."""
        return self.references.find(key) is None

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, CompileError."""
        reference_and_place = self._find(key)
        if reference_and_place is None or isinstance(reference_and_place, bytes):
            return reference_and_place
        reference, place = reference_and_place
        with self._add_key_to_errors(key):
            if place.path is not None:
                return ranges.read(self._range(key, reference, place.path))
            return self._fetch(key, place.url, reference.offset, reference.length)

    @contextmanager
    def _add_key_to_errors(self, key: str) -> Iterator[None]:
        """Add the key to errors of an unreachable target."""
        try:
            yield
        except OSError as error:
            if not getattr(error, "__notes__", None):
                error.add_note(f"named by `{key}` of `{self.path}`")
            raise

    def part(self, key: str, offset: int, length: int) -> bytes | None:
        """Return a range of a key; a negative offset counts from the end. Raises OSError, CompileError."""
        reference_and_place = self._find(key)
        if reference_and_place is None:
            return None
        if isinstance(reference_and_place, bytes):
            return cut(reference_and_place, key, offset, length)
        reference, place = reference_and_place
        if place.path is not None or reference.length is None:
            data = self.get(key)
            return None if data is None else cut(data, key, offset, length)
        begin = reference.length + offset if offset < 0 else offset
        if begin < 0 or begin + length > reference.length:
            self._short(key, place.url, begin, begin + length, reference.length)
        return self._fetch(key, place.url, reference.offset + begin, length)

    def locate(self, key: str) -> Range | None:
        """Return the file range of a key, or None. Raises OSError, CompileError."""
        reference_and_place = self._find(key)
        if reference_and_place is None or isinstance(reference_and_place, bytes) or reference_and_place[1].path is None:
            return None
        with self._add_key_to_errors(key):
            return self._range(key, reference_and_place[0], reference_and_place[1].path)

    def refer(self, key: str) -> Reference | None:
        """Return the location of a key, None for bytes in the document. The target is not opened."""
        reference_and_place = self._find(key)
        if reference_and_place is None or isinstance(reference_and_place, bytes):
            return None
        reference, place = reference_and_place
        return Reference(place.path or place.url, reference.offset, reference.length)

    def facts(self, url: str | None) -> Facts:
        """Return a target's properties without reading it. Raises OSError if it is unreachable."""
        place = self._find_place(url)
        return facts(place.path) if place.path is not None else facts_at(self._connection(place.url))

    def _range(self, key: str, reference: Reference, path: str) -> Range:
        """Return the file range of a reference. Raises OSError, CompileError if it is missing.

        Folders, devices and pipes are rejected: opening one may block forever.
        """
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
            raise OSError(number, os.strerror(number) if number == errno.EISDIR else "it is not a regular file", path)
        size = status.st_size
        length = size - reference.offset if reference.length is None else reference.length
        if length < 0 or reference.offset + length > size:
            self._short(key, path, reference.offset, reference.offset + length, size)
        return Range(path, reference.offset, length)

    def _connection(self, url: str) -> Connection:
        """Return the connection to a target; targets of a server or bucket share a library object."""
        with self._lock:
            connection = self._connections.get(url)
            if connection is None:
                protocol, _, rest = url.partition("://")
                root = f"{protocol}://{rest.partition('/')[0]}"
                home = self._connections.setdefault(root, find_places(root).connect(root, self.storage))
                connection = self._connections[url] = home if url == root else home.share_system(url)
            return connection

    def _fetch(self, key: str, url: str, offset: int, length: int | None) -> bytes:
        """Return bytes of a remote target. Raises OSError, CompileError if it is too short."""
        if length == 0:
            return b""
        connection = self._connection(url)
        if length is None and not offset:
            whole: bytes = connection.call("cat_file", "")
            return whole
        end = None if length is None else offset + length
        try:
            data: bytes = connection.call("cat_file", "", start=offset, end=end, size=length or 0)
        except FileNotFoundError:
            raise
        except OSError:
            size = _size(connection)
            if size is not None and (offset > size if end is None else end > size):
                self._short(key, url, offset, end or offset, size)
            raise
        if length is None or len(data) == length:
            return data
        if len(data) > length:  # a server that knows no ranges gives everything
            data = data[offset : offset + length]
        if len(data) != length:
            self._short(key, url, offset, offset + length, offset + len(data))
        return data

    def several(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of remote keys; one request brings adjacent ones. Raises OSError, CompileError."""
        targets: dict[str, list[tuple[int, int, str]]] = {}
        for key in keys:
            found = self._find(key)
            if isinstance(found, tuple) and found[1].path is None and found[0].length:
                targets.setdefault(found[1].url, []).append((found[0].offset, found[0].length, key))
        brought: dict[str, bytes] = {}
        for url, places in targets.items():
            for begin, end, group in neighbours(places):
                try:
                    with self._add_key_to_errors(group[0][2]):
                        data = memoryview(self._fetch(group[-1][2], url, begin, end - begin))
                except CompileError:
                    for offset, length, key in group:  # the first that is too long
                        self._fetch(key, url, offset, length)
                    raise
                for offset, length, key in group:
                    brought[key] = bytes(data[offset - begin : offset - begin + length])
        return brought

    def _short(self, key: str, url: str, begin: int, end: int, size: int) -> NoReturn:
        text = f"`{key}`: it is bytes {begin} to {end} of `{show(url)}`, which has {size}"
        raise CompileError([Diagnostic("short-target", Severity.ERROR, text, Label(key=self.path))]) from None

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all valid keys with `prefix`, sorted."""
        return (key for key in self.references.keys(prefix) if is_safe(key))

    def entries(self, prefix: str) -> tuple[list[str], list[str]]:
        """Return the children that lead to documents: a generator may make millions of others from few bytes."""
        return next_segments(filter(is_safe, self.references.nodes(prefix)), prefix), []

    def children(self, prefix: str) -> list[str]:
        """Return the valid next segments after `prefix`."""
        return [name for name in self.references.children(prefix) if is_safe(name)]


def describe_changes(url: str | None, key: str, then: Facts, now: Facts) -> Iterator[Diagnostic]:
    """Yield what has changed of a target since its properties were recorded. `key`: one that refers to it."""
    for change in changes(then, now):
        text = f"`{'null' if url is None else show(url)}`, the target of `{key}`, has changed: {change}"
        yield Diagnostic("changed-target", Severity.ERROR, text, Label(key=key))


def _size(connection: Connection) -> int | None:
    """Return the size of an object, None if unknown."""
    try:
        size = connection.call("info", "").get("size")
    except OSError:
        return None
    return size if isinstance(size, int) else None
