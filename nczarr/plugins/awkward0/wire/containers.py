"""Containers of named arrays: ZIP archives (`.awkd`), with documents and blobs as members, and HDF5 groups.

Archives that are invalid, or have members that awkward0 never writes, are
refused on opening: encrypted, duplicate or overlapping members, folders, unsafe
names, compression other than deflate. Deflated members count as inflated bytes.

An HDF5 group has one group per name, with byte datasets and a document. Reads
never leave the file: soft and external links, external and virtual datasets are
refused. Numeric datasets count as their bytes in the file, filtered and never
written bytes as inflated.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import IO, TYPE_CHECKING, Any

from nczarr.arrays.lazy_numpy import np
from nczarr.diagnostics.report import CompileError, Report, Source, Span
from nczarr.plugins.awkward0.wire.limits import Limits, UnreadableDocumentError, show
from nczarr.stores.base import is_safe

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

File = str | os.PathLike[str] | IO[bytes]
"""A path, or a seekable binary file."""

ENCRYPTED = 1
STORED, DEFLATED = 0, 8

DAMAGE = (OSError, RuntimeError, ValueError, TypeError, KeyError)
"""Exceptions of h5py for damaged files."""

DOCUMENT = "schema.json"
"""Name of the document dataset."""

MOST_PACKED = 200
"""Maximum inflation ratio of members and datasets larger than `Limits.unsized`."""


def _bad(text: str, code: str = "bad-container") -> UnreadableDocumentError:
    return UnreadableDocumentError(code, text)


def _refuse(name: str, text: str) -> CompileError:
    report = Report()
    report.error("bad-container", text, Span(Source(name, b"", binary=True), 0, 0))
    return CompileError(report.list_sorted())


class _Storage:
    """Members of one container by key, with a limit for their inflation."""

    def __init__(self, container: Any, limits: Limits, document: str) -> None:
        self._container = container
        self._limits = limits
        self._document = document
        self._left = limits.inflated

    def _spend(self, name: str, size: int, stored: int) -> None:
        """Charge `size` bytes, of which `stored` are stored, before they are read. Raises UnreadableDocumentError."""
        limits, text = self._limits, None
        if name == self._document and size > limits.document:
            text = f"the document has {size} bytes, more than the limit, {limits.document}"
        elif size - stored > self._left:
            text = f"{show(name)} is {size} bytes when decompressed, more than the remaining limit"
        elif size > limits.unsized and size > stored * MOST_PACKED:
            text = f"{show(name)} grows from {stored} bytes to {size} when decompressed, which is suspicious"
        if text is not None:
            raise _bad(text, "oversized-awkward")
        self._left -= max(0, size - stored)


# ---- ZIP archives ----------------------------------------------------------------------------------------------------


class _ArchiveStorage(_Storage):
    """Storage of an archive's members by name."""

    def __getitem__(self, key: str) -> bytes:
        """Return a member. Raises KeyError, UnreadableDocumentError, OSError."""
        from zipfile import BadZipFile

        info = self._container.NameToInfo[key]
        self._spend(key, info.file_size, info.compress_size)
        try:
            data: bytes = self._container.read(info)
        except (BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error) as error:
            raise _bad(f"member {show(key)} is damaged: {error}") from None
        return data


class Archive(Mapping[str, Any]):
    """Lazy mapping of names to arrays, and context manager that closes the file it opened.

    Names come from members that end in `schemasuffix`. Get-item raises
    KeyError, CompileError, OSError.
    """

    def __init__(self, file: File, read: Callable[[Any, str], Any], schemasuffix: str, limits: Limits) -> None:
        self._read = read
        self._suffix = schemasuffix
        self._limits = limits
        self._archive = _open(file)

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        key = name + self._suffix
        return self._read(_ArchiveStorage(self._archive, self._limits, key), key)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name + self._suffix in self._archive.NameToInfo

    def __iter__(self) -> Iterator[str]:
        end = -len(self._suffix) or None
        return iter([name[:end] for name in self._archive.NameToInfo if name.endswith(self._suffix)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<arrays of a ZIP archive: {', '.join(map(show, self))}>"

    def close(self) -> None:
        """Close the file if it was opened by path."""
        self._archive.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(file: File) -> ZipFile:
    """Open an archive. Raises OSError; CompileError if it is invalid or refused."""
    from zipfile import BadZipFile, ZipFile

    name = os.fspath(file) if isinstance(file, str | os.PathLike) else str(getattr(file, "name", "archive"))
    try:
        archive = ZipFile(file)
    except (BadZipFile, NotImplementedError, ValueError, IndexError, zlib.error) as error:
        raise _refuse(name, f"invalid ZIP archive: {error}") from None
    fault = _fault(archive)
    if fault is not None:
        archive.close()
        raise _refuse(name, f"the ZIP archive cannot be read: {fault}")
    return archive


def _fault(archive: ZipFile) -> str | None:
    """Return why an archive is refused, or None."""
    stream = archive.fp
    size = stream.seek(0, os.SEEK_END) if stream is not None else 0
    names: set[str] = set()
    for info in archive.infolist():
        if info.orig_filename in names or info.filename in names:  # zipfile cuts `filename` at a NUL
            return f"two members have the name {show(info.filename)}"
        names |= {info.orig_filename, info.filename}
        fault = _find_member_fault(info)
        if info.header_offset < 0 or info.header_offset + info.compress_size > size:
            fault = "is outside the file"
        if fault is not None:
            return f"member {show(info.orig_filename)} {fault}"
    if sum(info.compress_size for info in archive.infolist()) > size:
        return "its members overlap"
    return None


def _find_member_fault(info: ZipInfo) -> str | None:
    if info.filename.endswith("/"):
        return "is a folder"
    # zipfile turns backslashes into slashes on Windows
    if not is_safe(info.orig_filename) or "\\" in info.orig_filename:
        return "has a name that is not valid for a blob"
    if info.flag_bits & ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in (STORED, DEFLATED):  # awkward0 stores members, other programs deflate them
        return "has an unsupported compression"
    if info.compress_type == STORED and info.file_size != info.compress_size:
        return "has two different sizes"
    return None


# ---- HDF5 groups -----------------------------------------------------------------------------------------------------


class _GroupStorage(_Storage):
    """Storage of a group's datasets by path."""

    def __getitem__(self, key: str) -> Any:
        """Return a dataset as an array. Raises KeyError, UnreadableDocumentError."""
        dataset = follow_links(self._container, key)
        try:
            return self._read_dataset(dataset, key)
        except UnreadableDocumentError:
            raise
        except DAMAGE as error:
            raise _bad(f"dataset {show(key)} cannot be read: {error}") from None

    def _read_dataset(self, dataset: Any, key: str) -> Any:
        import h5py

        if not isinstance(dataset, h5py.Dataset):
            raise _bad(f"{show(key)} is not a dataset")
        if dataset.external or dataset.is_virtual:
            raise _bad(f"dataset {show(key)} has its bytes in other files or datasets")
        if dataset.shape is None:
            return np.zeros(0, np.uint8)
        if dataset.dtype.kind not in "biufcSV" or dataset.dtype.hasobject or dataset.dtype.names is not None:
            raise _bad(f"dataset {show(key)} has no bytes: its items are {dataset.dtype}", "bad-blob")
        self._spend(key, dataset.nbytes, dataset.id.get_storage_size())
        return np.asarray(dataset[()], dataset.dtype)


def follow_links(group: Any, path: str) -> Any:
    """Follow a path of hard links. Raises KeyError if it is missing, UnreadableDocumentError for other links."""
    import h5py

    if not is_safe(path) or not path.isprintable():
        raise KeyError(path)
    node = group
    for part in path.split("/"):
        try:
            link = node.get(part, getlink=True) if isinstance(node, h5py.Group) else None
            node = node[part] if isinstance(link, h5py.HardLink) else None
        except DAMAGE as error:
            raise _bad(f"{show(path)} is damaged: {error}") from None
        if link is None:
            raise KeyError(path)
        if node is None:
            raise _bad(f"{show(path)} is a link, which may lead outside the group")
    return node


class Hdf5Group(MutableMapping[str, Any]):
    """Arrays by name in an HDF5 group.

    Get-item raises KeyError and CompileError; set-item and del-item raise
    errors of writing.
    """

    def __init__(
        self,
        group: Any,
        read: Callable[[Any, str], Any],
        write: Callable[[Any, str, Any], None],
        remove: Callable[[Any, str], None],
        limits: Limits,
    ) -> None:
        self._group = group
        self._read = read
        self._write = write
        self._remove = remove
        self._limits = limits

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        key = f"{name}/{DOCUMENT}"
        return self._read(_GroupStorage(self._group, self._limits, key), key)

    def __setitem__(self, name: str, value: Any) -> None:
        self._write(self._group, name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._remove(self._group, name)

    def __contains__(self, name: object) -> bool:
        """Return whether the array exists, readable or not."""
        try:
            follow_links(self._group, f"{name}/{DOCUMENT}")
        except KeyError:
            return False
        except UnreadableDocumentError:
            return True
        return isinstance(name, str)

    def __iter__(self) -> Iterator[str]:
        """Return the names of arrays directly in the group. Raises CompileError if it is damaged."""
        try:
            names = list(self._group)
        except DAMAGE as error:
            raise _refuse(str(self._group.file.filename), f"the group is damaged: {error}") from None
        return iter([name for name in names if name in self])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<arrays of the HDF5 group {show(self._group.name)}: {len(self)}>"
