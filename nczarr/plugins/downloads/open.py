"""Opening of compressed files and archives as the dataset in them.

    file ─┬─ stream (gzip, bzip2, xz, zstd) ── temporary file ─┐
          └─ archive (ZIP, tar) ─┬─ file ─┬─ in place ─────────┼─> a container again, up to `DEEPEST`, or the source
                                 │        └─ temporary file ───┘
                                 └─ store of keys, in place

What a file is, its first bytes say, never its name. The content of streams and of compressed members goes to
temporary files piece by piece; members that are stored as they are stay where they are. A folder with documents of a
store is one member, with all that is below.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple, cast

from nczarr import registry
from nczarr.plugins.downloads.archives import (
    ArchiveMember,
    MemberConnection,
    MemberFile,
    StoreMember,
    copy_member,
    list_archive,
    list_tar,
    list_zip,
)
from nczarr.plugins.downloads.faults import AGAIN, fault
from nczarr.plugins.downloads.kinds import ARCHIVES, HEAD, SUFFIXES, Kind, find_kind
from nczarr.plugins.downloads.streams import check_size, open_stream, read_piece, refuse_in_servers, unpack
from nczarr.plugins.downloads.tar_archive import TarStore, open_bytes
from nczarr.sdk import CompileError, Source, Store, show
from nczarr.stores import local_paths
from nczarr.stores.base import ROOT_KEYS
from nczarr.stores.finish import is_edit_unfinished
from nczarr.stores.open import open_source
from nczarr.stores.places import find_remote_file
from nczarr.stores.ranges import BoundedCache, Range
from nczarr.stores.spool import origin
from nczarr.stores.url import is_remote
from nczarr.stores.zip import ZipStore

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Buffer

DEEPEST = 2
"""Archives in each other that are opened, and streams in each other."""

LISTED = 8
"""Members in a message."""

MOST_UNPACKED = 256
"""Unpacked files that a process remembers."""

LISTINGS = 4
"""Archives whose members a process remembers."""

Key = tuple[object, ...]
Member = ArchiveMember | StoreMember


class Content(NamedTuple):
    """Bytes that may be a container."""

    path: str
    """Path of a local file, or that of a remote file or of a member in this process."""
    name: str
    """Name in messages, which opens it as well if it is local."""
    key: Key
    """Identity of the bytes."""
    streams: int = 0
    """Streams from which it was unpacked."""
    archives: int = 0
    """Archives that it is a member of."""
    is_unpacked: bool = False
    """True for a temporary file."""

    def read_head(self) -> bytes:
        """Return the first bytes. Raises OSError."""
        with open_bytes(self.path) as file:
            return file.read(HEAD)


_listed: BoundedCache[Key, list[Member]] = BoundedCache(LISTINGS)
_unpacked: dict[Key, Content] = {}
"""Contents by key, step and thread: a thread removes what it unpacked (`remove_fetched_files`), and other threads
must not have read it from there."""


def open_file(head: bytes, path: str, name: str) -> Source | Store:
    """Open a compressed file or archive with these first bytes. Raises CompileError, OSError, MissingProtocolError."""
    return _open(locate(path, name), "", head)


def open_member(path: str) -> Source | Store:
    """Open a member by the path of its archive and its own, `era.nc/instant.nc`.

    Raises CompileError, MissingProtocolError, and OSError if no archive is above it.
    """
    outer, inner = split_member(path)
    return _open(locate(outer, outer), inner)


def split_member(path: str) -> tuple[str, str]:
    """Return the file above a path that is below a file, and the rest of the path. Raises NotADirectoryError."""
    outer = path
    while outer and not os.path.lexists(outer):
        outer = local_paths.parent_of(outer)
    if outer == path or not os.path.isfile(outer):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return outer, path[len(outer) :].strip("/")


def locate(path: str, name: str) -> Content:
    """Return a file that was not opened yet. Raises OSError."""
    if find_remote_file(path) is not None:
        return Content(path, name, (path,))
    status = os.stat(path)
    return Content(path, name, (path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


def _open(content: Content, inner: str, head: bytes | None = None) -> Source | Store:
    """Open what is in a content; `inner`: path of a member in it, empty for the only one; `head`: its first bytes."""
    kind = find_kind(content.read_head() if head is None else head)
    if kind is None:
        if inner:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), f"{content.name}/{inner}")
        return _open_source(content)
    if kind not in ARCHIVES:
        unpacked, stem = unpack_stream(content, kind), find_stem(content.name)
        if (
            find_kind(unpacked.read_head()) not in ARCHIVES
        ):  # a file has a name of its own, an archive that of the stream
            unpacked = unpacked._replace(name=f"{content.name}/{stem}")
            inner = "" if inner == stem else inner
        return _open(unpacked, inner)
    members = list_members(content, kind)
    member, rest = find_member(content, members, inner)
    if isinstance(member, StoreMember):
        return _open_store(content, member, rest, is_named=bool(inner) or len(members) > 1)
    return _open(take(content, member), rest)


def _open_store(content: Content, member: StoreMember, inner: str, *, is_named: bool) -> Store:
    """Return a store in an archive; `inner`: path of a node in it, `is_named`: its path is a part of its name.

    Raises CompileError with `absent-member` if no node is there.
    """
    path = "/".join(filter(None, (member.name, inner)))
    if not path:
        return member.whole
    store = member.whole.open_below(f"{path}/", f"{content.name}/{path}" if is_named else content.name)
    if inner and all(store.lacks(key) for key in ROOT_KEYS):
        place = place_of(content, member)
        raise fault("absent-member", content.name, f"has no member `{path}`", f"`{show(place)}` is a store")
    return store


def _open_source(content: Content) -> Source:
    """Return a file that is no container: in place if its format is read by ranges, else from a temporary file."""
    file = find_remote_file(content.path)
    if file is None:
        return open_source(content.path, content.name)
    form = registry.detect("", file[: 1 << 16])
    if form is not None and form.reading.ranged:
        return Source(content.name, cast("Buffer", file), binary=True, path=file.path)
    return open_source(copy_member(file, content.name, "data"), content.name)


def list_places(content: Content, inner: str = "") -> list[str]:
    """Return the places of the datasets in an archive; that of the content itself for one dataset.

    `inner`: path of an archive in it; one alone in another stands for it.
    """
    kind, archive = find_kind(content.read_head()), content
    while kind is not None and kind not in ARCHIVES:
        archive = unpack_stream(archive, kind)
        kind = find_kind(archive.read_head())
    whole, rest = f"{content.name}/{inner}" if inner else content.name, ""
    if kind is None:
        return [whole]
    members = list_members(archive, kind)
    datasets = list_datasets(members)
    if inner:
        member, rest = find_member(archive, members, inner)
        datasets = [member]
    if len(datasets) != 1:
        return [place_of(archive, member) for member in datasets]
    if isinstance(datasets[0], ArchiveMember):
        taken = take(archive, datasets[0])
        if find_kind(taken.read_head()) in ARCHIVES:
            return list_places(taken, rest)
    return [whole]


def find_stem(name: str) -> str:
    """Return the name of the content of a stream: without the suffix that names the compression."""
    base = name.rstrip("/").rpartition("/")[2]
    return next((base.removesuffix(suffix) for suffix in SUFFIXES if base.endswith(suffix) and base != suffix), base)


def unpack_stream(content: Content, kind: Kind) -> Content:
    """Return the content of a stream as a temporary file. Raises CompileError, OSError, MissingProtocolError."""
    if content.streams == DEEPEST:
        raise fault("nested-archive", content.name, f"is compressed more than {DEEPEST} times", "unpack it yourself")
    known = _recall(content, kind)
    if known is not None:
        return known
    refuse_in_servers(content.name)
    with open_bytes(content.path) as file:
        packed = file.seek(0, os.SEEK_END)
        file.seek(0)
        with open_stream(file, kind, content.name) as stream:
            path = unpack(stream, content.name, packed, find_stem(content.name))
    return _note(content, kind, content._replace(path=path, streams=content.streams + 1, is_unpacked=True))


def list_members(content: Content, kind: Kind) -> list[Member]:
    """Return the members of an archive. They are remembered: commands open each of them.

    Raises CompileError with `nested-archive`, `damaged-archive` or `empty-archive`, OSError.
    """
    key = (content.name, *locate(content.path, content.name).key)
    members: list[Member] | None = _listed.get(key)
    if members is None:
        members = _list_members(content, kind)
        if find_remote_file(content.path) is None:
            _listed.put(key, members)
    is_store = len(members) == 1 and isinstance(members[0], StoreMember)
    if content.archives == DEEPEST and not is_store:
        raise fault("nested-archive", content.name, f"is in {DEEPEST} other archives", "unpack the outer ones")
    if not members:
        raise fault("empty-archive", content.name, f"is a {kind} archive without files", AGAIN)
    return members


def _list_members(content: Content, kind: Kind) -> list[Member]:
    """Return what is in an archive. Raises CompileError with `damaged-archive`, OSError."""
    if kind == "tar":
        return list_archive(TarStore(content.path, content.name), list_tar)
    store = ZipStore(content.path, content.name)
    try:
        return list_archive(store.open_below("", content.name), list_zip)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        if is_edit_unfinished(content.path):  # its opening reports that, with the remedy
            return [StoreMember("", store)]
        text = f"is a ZIP archive without a directory at its end: {error.strerror}"
        raise fault("damaged-archive", content.name, text, AGAIN) from None


def list_datasets(members: Sequence[Member]) -> list[Member]:
    """Return the stores, and the files whose first bytes are those of a readable format or container; else all."""
    if len(members) == 1:
        return list(members)
    return [member for member in members if _is_dataset(member)] or list(members)


def _is_dataset(member: Member) -> bool:
    """Return whether a member is a store, or may be a dataset by its first bytes."""
    if isinstance(member, StoreMember):
        return True
    try:
        with member.open() as file:
            head = read_piece(file, member.name, 1 << 12)
    except CompileError:  # which its own opening reports
        return True
    form = registry.detect(member.name, head)
    return find_kind(head) is not None or (form is not None and form.readable)


def find_member(content: Content, members: Sequence[Member], inner: str) -> tuple[Member, str]:
    """Return the member that a path begins with, and the rest of the path; without a path the only dataset.

    Raises CompileError with `several-members` or `absent-member`.
    """
    if inner:
        for member in members:
            if not member.name or f"{inner}/".startswith(f"{member.name}/"):
                return member, inner[len(member.name) :].strip("/")
        text = f"has no member `{inner}`"
        raise fault("absent-member", content.name, text, f"its members: {_name(content, members)}")
    datasets = list_datasets(members)
    if len(datasets) > 1:
        stores = sum(isinstance(member, StoreMember) for member in datasets)
        what = "stores" if stores == len(datasets) else "files and stores" if stores else "files"
        is_far, is_packed = is_remote(content.name), bool(content.archives or content.is_unpacked)
        first = "fetch the archive, and name" if is_far and is_packed else "name"
        helps = [f"{first} one of them: {_name(content, datasets)}"]
        helps.append("`nczarr combine` joins all of them" + (" if the archive is a local file" if is_far else ""))
        raise fault("several-members", content.name, f"is an archive of {len(datasets)} {what}", *helps)
    return datasets[0], ""


def _name(content: Content, members: Sequence[Member]) -> str:
    """Return the places of members for a message, the first ones of many."""
    places = [f"`{show(place_of(content, member))}`" for member in members[:LISTED]]
    more = len(members) - len(places)
    return ", ".join(places) + (f", and {more} more" if more else "")


def place_of(content: Content, member: Member) -> str:
    """Return the path or URL that opens a member; of what is packed twice at a URL, the path in a fetched archive."""
    if not member.name:
        return content.name
    fetched = origin(content.path)
    url = content.name if fetched is None else fetched[0]
    if not is_remote(url):
        return f"{content.name}/{member.name}"
    if content.archives or content.is_unpacked:
        return f"{local_paths.name_of(url)}/{member.name}"
    return f"{'tar' if find_kind(content.read_head()) == 'tar' else 'zip'}://{member.name}::{url}"


def take(content: Content, member: ArchiveMember) -> Content:
    """Return a file in an archive: in place, or as a temporary file. Raises CompileError, OSError."""
    known = _recall(content, member.name)
    if known is not None:
        return known
    name, stem = f"{content.name}/{member.name}", member.name.rpartition("/")[2]
    taken = content._replace(name=name, archives=content.archives + 1)
    if member.offset is not None and not content.is_unpacked:
        place = Range(content.path, member.offset, member.size)
        connection = MemberConnection(place, stem, name, member.checksum)
        return _note(content, member.name, taken._replace(path=MemberFile.of(connection).path))
    refuse_in_servers(name)
    check_size(name, member.packed, member.size)
    with member.open() as file:
        path = unpack(file, name, member.packed, stem)
    return _note(content, member.name, taken._replace(path=path, is_unpacked=True))


def _recall(content: Content, step: str) -> Content | None:
    """Return what this thread made of a content before, if it still exists."""
    known = _unpacked.get((get_ident(), content.key, step))
    if known is None or (known.is_unpacked and not os.path.exists(known.path)):
        return None
    return known


def _note(content: Content, step: str, made: Content) -> Content:
    """Remember what this thread made of a content, and return it."""
    made = made._replace(key=(*content.key, step))
    while len(_unpacked) >= MOST_UNPACKED:
        _unpacked.pop(next(iter(_unpacked)), None)
    _unpacked[get_ident(), content.key, step] = made
    return made
