"""Stores: bytes by key. The store interface, the rule for keys, references, and the journal of an unfinished store.

A key is a path of segments joined by `/`, relative to the store. Invariant: no
key leaves its store. `safe_key` is the only rule for keys, and every store that
uses files applies it.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NoReturn, Protocol

from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Severity, Source, Span
from nczarr.names.records import NamedTuple
from nczarr.stores import local_paths
from nczarr.stores.ranges import Range, read


class Reference(NamedTuple):
    """Byte range of a target."""

    url: str | None
    """URL of the target; None: the reader's target."""
    offset: int = 0
    """Start in bytes."""
    length: int | None = None
    """Length in bytes; None: to the end."""


class References(Protocol):
    """Locations of keys' bytes; picklable as a description or few bytes."""

    @property
    def noted(self) -> Any:
        """Notes, unvalidated: `{"targets": {URL: {"size": …}}, "fill_values": {"t/": 0}}`; None: none.

        The first are recorded properties of the targets. The others are places
        of `_FillValue` among the attributes of arrays whose fill value states it.
        """

    def find(self, key: str) -> bytes | Reference | None:
        """Return the bytes of a key, their location, or None. Raises OSError, CompileError."""

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted. Raises OSError."""

    def children(self, prefix: str) -> list[str]:
        """Return the next segments after `prefix`, which is empty or ends in a slash; sorted. Raises OSError."""

    def nodes(self, prefix: str) -> list[str]:
        """Return the keys with `prefix` that are named as documents of arrays or groups, sorted."""

    def entries(self) -> Iterator[tuple[str, bytes | Reference]]:
        """Yield all keys with their values in any order, possibly with replaced duplicates. Raises as `find`."""

    def odd(self) -> list[str]:
        """Return some invalid keys, with empty segments, `.` or `..`; empty without any."""

    def list_named(self) -> Iterator[tuple[str | None, str]]:
        """Yield every URL, at least once, with a key that uses it. Raises OSError."""


JOURNAL = ".nczarr-journal"
"""Root key of an unfinished store."""

ROOT_KEYS = (
    *(".zgroup", "zarr.json", ".zarray", ".zmetadata", ".zattrs", ".nczarr", JOURNAL),
    *("root.group.json", "root.array.json"),
)
"""Root keys; every store has one of them."""

NODES = (".zarray", ".zgroup", "zarr.json", ".array.json", ".group.json")
"""Ends of the keys of arrays and groups in all versions of Zarr."""

LAST = "\U0010ffff"
"""Character after all that keys contain."""

HELD = 64 << 20
"""Maximum bytes of a key's pieces in memory."""


class Store(Protocol):
    """Bytes by key.

    Methods raise OSError if the medium fails, CompileError for damage, UnsafeKeyError for an invalid key.
    The defaults fit an existing local store: read-only, no network, nothing to finish.
    """

    path: str
    """Display name."""
    sequential: bool = False
    """True if keys are stored in put order, so that one thread must put them all."""
    distant: bool = False
    """True if calls use a network, so that many should run concurrently."""
    listed: bool = True
    """True if `children` and `keys` are complete."""
    refers: bool = False
    """True if keys are references to bytes elsewhere: a chunk is exactly those bytes, or damaged."""
    archive: bool = False
    """True if all keys are in one file."""
    ranged: bool = False
    """True if that file is read by ranges where it is remote."""
    documents_first: bool = False
    """True if an array's document must be put before its chunks; documents then appear with all the rest at the end."""
    sealed: str | None = None
    """Place where `seal` made the store readable, if only `seal` knows it."""
    remains: str | None = None
    """Folder that a process removes after `abort`."""
    held: int = 0
    """Approximate bytes of memory of its list of keys."""
    versioned: bool = False
    """True for a repository, whose revisions are the stores."""
    fill_places: Mapping[str, Any] = MappingProxyType({})
    """Place of `_FillValue` among the attributes, by the prefix of each array whose fill value alone states it."""
    target_facts: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """Recorded properties of referenced files and objects by path or URL: `size`, `mtime`, `etag`, and `url`, the
    spelling in the document.
    """

    @property
    def title(self) -> str:
        """Path or URL whose last segment names the dataset."""
        return self.path

    @property
    def home(self) -> str:
        """Folder or URL that contains the store."""
        return local_paths.folder_of(self.path)

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None."""

    def check_chunk(self, key: str, decoded: int | None) -> None:
        """Raise CompileError if a chunk declares more bytes than `decoded` ones can have; None: their texts tell."""
        return

    def part(self, key: str, offset: int, length: int) -> bytes | None:
        """Return a range of a key, or None; negative offsets count from the end. Raises OSError if too short."""
        data = self.get(key)
        return None if data is None else cut(data, key, offset, length)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""

    def children(self, prefix: str) -> list[str]:
        """Return the next segments after `prefix`, which is empty or ends in a slash; sorted."""
        return next_segments(self.keys(prefix), prefix)

    def entries(self, prefix: str) -> tuple[list[str], list[str]]:
        """Return the children, and the names of symbolic links to folders, which are not followed.

        Children that lead to no document of an array or group may be omitted.
        """
        return self.children(prefix), []

    def several(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of keys that few requests can combine; others may be missing. Raises OSError."""
        return {}

    def lacks(self, key: str) -> bool:
        """Return whether the name alone shows that the key is absent; False if only `get` can tell."""
        return False

    def put(self, key: str, data: bytes) -> None:
        """Set a new key. Threads may put different keys concurrently. Raises OSError for read-only stores."""
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), self.path)

    def put_pieces(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        """Set a key to concatenated pieces; file ranges are copied without memory where possible.

        Raises the errors of `put`, and OSError if a file is shorter than its
        range.
        """
        self.put(key, b"".join(read(piece) if isinstance(piece, Range) else piece for piece in pieces))

    def survey(self) -> None:
        """Prepare to read the whole store: a distant one lists everything first."""
        return

    def find_document(self, key: str) -> str:
        """Return the key of the document behind that of another format that stands for it, for messages."""
        return key

    def expect(self, keys: Iterable[str]) -> None:
        """Prepare to read these documents: a distant store fetches many at once, a folder looks for links."""
        return

    def locate(self, key: str) -> Range | None:
        """Return the file range of a key; None if it is absent or not in a file."""
        return None

    def refer(self, key: str) -> Reference | None:
        """Return the public location of a key, a file range or URL; None if it has none."""
        place = self.locate(key)
        return None if place is None else Reference(*place)

    def find_size(self, key: str) -> int | None:
        """Return a key's size from a listing; None if unknown."""
        return None

    def confirm_absent(self, key: str) -> None:
        """Raise CompileError if a missing key may be there under a damaged name."""
        return

    def confirm_missing(self, keys: Iterable[str], count: int) -> None:
        """Confirm the absence of `count` keys, as far as that is worth its time. Raises OSError, CompileError."""
        return

    def confirm_name(self, key: str) -> None:
        """Raise CompileError if the name of an existing key is damaged."""
        return

    def is_done(self, key: str) -> bool:
        """Return whether the resumed run has put this data key completely."""
        return False

    def seal(self) -> None:
        """Complete the writing: the store is readable at `path`, but not yet published."""
        return

    def finish(self) -> None:
        """Complete and publish the store."""
        return

    def suspend(self) -> bool:
        """End an incomplete run; return whether its work remains for resuming, so that `abort` does nothing."""
        return False

    def abort(self) -> None:
        """Remove every trace, except after `finish`."""
        return


class Extensible(Store, Protocol):
    """An existing store whose keys are replaced, each at once."""

    def claim(self, journal: bytes) -> bool:
        """Create the journal; return False if there is one already. Raises OSError."""

    def put_several(self, documents: Mapping[str, bytes]) -> None:
        """Set keys, in any order. Raises OSError, UnsafeKeyError."""

    def move(self, key: str, target: str) -> None:
        """Move a key to another, which is replaced at once; a missing key is in its place. Raises OSError."""

    def move_folder(self, folder: str, target: str) -> None:
        """Move all keys below a folder at once; a missing one is in its place. Raises OSError."""

    def remove(self, keys: Iterable[str]) -> None:
        """Remove keys; missing ones are ignored. Raises OSError."""

    def tidy(self) -> None:
        """Remove the incomplete files of killed runs. Raises OSError."""


def cut(data: bytes, key: str, offset: int, length: int) -> bytes:
    """Return a range of a value; a negative offset counts from the end. Raises OSError if it is too short."""
    begin = len(data) + offset if offset < 0 else offset
    piece = data[begin : begin + length] if begin >= 0 else b""
    if len(piece) != length:
        raise OSError(errno.EIO, f"it has {len(data)} bytes, too few for {length} at {offset}", key)
    return piece


def refuse(path: str, key: str, reason: str) -> NoReturn:
    """Raise CompileError for an entry of an archive that is not read."""
    place = Label(Span(Source(path, b"", key=key), 0, 0), key=key)
    code = "bad-metadata" if is_document(key) else "unreadable-chunk"
    raise CompileError([Diagnostic(code, Severity.ERROR, f"the entry {reason}", place)]) from None


class UnsafeKeyError(ValueError):
    """A key that is not a relative path, or would leave the store."""


NO_SEGMENTS = frozenset({"", ".", ".."})
"""Invalid segments."""


def safe_key(key: str) -> str:
    """Return the key. Raises UnsafeKeyError if it has an empty, `.` or `..` segment, or a NUL."""
    if not is_safe(key):
        raise UnsafeKeyError(f"not a key of a store: {key!r}")
    return key


def is_safe(key: str) -> bool:
    """Return whether `safe_key` accepts a key."""
    return "\0" not in key and NO_SEGMENTS.isdisjoint(key.split("/"))


def with_prefix(keys: Sequence[str], prefix: str) -> Sequence[str]:
    """Return those of some sorted keys that begin with a prefix."""
    return keys[bisect_left(keys, prefix) : bisect_left(keys, prefix + LAST)]


def folders_with(folders: Sequence[str], prefix: str) -> list[str]:
    """Return those of some sorted folders, with final slash, whose keys may begin with a prefix."""
    outer = (prefix[:end] for end in range(len(prefix)) if not end or prefix[end - 1] == "/")
    places = ((bisect_left(folders, folder), folder) for folder in outer)
    above = [folder for place, folder in places if place < len(folders) and folders[place] == folder]
    return [*above, *with_prefix(folders, prefix)]


def next_segments(keys: Iterable[str], prefix: str) -> list[str]:
    """Return the distinct segments after `prefix`, sorted; all keys begin with it."""
    return sorted({key[len(prefix) :].split("/", 1)[0] for key in keys if len(key) > len(prefix)})


def index_segments(keys: Iterable[str]) -> dict[str, list[str]]:
    """Return the next segments after each prefix that is empty or ends in a slash, sorted."""
    below: dict[str, set[str]] = {}
    for key in keys:
        folder, slash = key, "/"
        while slash:  # up to a folder that is known
            folder, slash, name = folder.rpartition("/")
            is_known = folder + slash in below
            below.setdefault(folder + slash, set()).add(name)
            if is_known:
                break
    return {prefix: sorted(names) for prefix, names in below.items()}


def is_node(key: str) -> bool:
    """Return whether a Zarr key is named as the document of an array or group."""
    return key.endswith(NODES)


def is_metadata(key: str) -> bool:
    """Return whether a Zarr key is a JSON document: its end is `zarr.json`, `.z…`, or that of the draft of 2019."""
    last = key.rpartition("/")[2]
    return last.startswith(".z") or last == "zarr.json" or last.endswith((".array.json", ".group.json"))


def is_document(key: str) -> bool:
    """Return whether a key is likely a document, of any format."""
    return is_metadata(key) or key.rpartition("/")[2].startswith(".")


JOURNAL_VERSION = 1


class StoreJournal(NamedTuple):
    """Content of the journal of an unfinished store: a key that exists from the first write to the last.

    It identifies the run by a fingerprint. An equal run may resume the store
    (`--resume`): keys are atomic, so existing data keys are complete and have
    the bytes that this run would write. So the store itself is the list of
    finished work. Readers refuse a store with a journal. It contains no
    secrets: the source is in its displayable form.
    """

    fingerprint: str | None
    """Fingerprint of source and plan; None for a source without identity: a stream, or values in memory."""
    source: str = ""
    """Path or URL of the source in its displayable form."""
    state: Literal["clearing", "writing"] = "writing"
    """`clearing` while keys of an old store are removed, then `writing`."""
    run: str = ""
    """Unique identifier of the run that began the store, to detect concurrent runs."""

    def bytes(self) -> bytes:
        """Return the document."""
        import json

        return (json.dumps({"nczarr_journal": JOURNAL_VERSION, **self._asdict()}, indent=1) + "\n").encode()

    def is_of(self, other: StoreJournal) -> bool:
        """Return whether both have the same fingerprint."""
        return self.fingerprint is not None and self.fingerprint == other.fingerprint


def parse_journal(data: bytes) -> StoreJournal:
    """Parse a journal; other versions or damaged ones have no fingerprint."""
    import json

    try:
        document = json.loads(data)
        fingerprint, source, run = document.get("fingerprint"), document.get("source"), document.get("run", "")
        version = document.get("nczarr_journal")
        if version != JOURNAL_VERSION or not (isinstance(source, str) and isinstance(run, str)):
            return StoreJournal(None)
        if not isinstance(fingerprint, str):
            return StoreJournal(None, run=run)
        return StoreJournal(fingerprint, source, "clearing" if document.get("state") == "clearing" else "writing", run)
    except (ValueError, AttributeError, RecursionError):
        return StoreJournal(None)
