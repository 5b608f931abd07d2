"""Arrays in a ZIP archive (`.awkd`), with documents and blobs as members.

Archives that are invalid, or have members that awkward0 never writes, are
refused on opening: encrypted, duplicate or overlapping members, folders, unsafe
names, compression other than deflate. Deflated members count as inflated bytes.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from nczarr.diagnostics.report import CompileError, Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.awkward0.wire.limits import Budget, Limits, UnreadableDocumentError, shown
from nczarr.stores.base import is_safe

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

File = str | os.PathLike[str] | IO[bytes]
"""A path, or a seekable binary file."""

ENCRYPTED = 1
STORED, DEFLATED = 0, 8


class ArchiveStorage:
    """Storage of an archive's members by name."""

    def __init__(self, archive: ZipFile, limits: Limits, document: str) -> None:
        self._archive = archive
        self._budget = Budget(limits, document)

    def __getitem__(self, key: str) -> bytes:
        """Return a member. Raises KeyError, UnreadableDocumentError, OSError."""
        from zipfile import BadZipFile

        info = self._archive.NameToInfo[key]
        self._budget.spend(key, info.file_size, info.compress_size)
        try:
            return self._archive.read(info)
        except (BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error) as error:
            raise UnreadableDocumentError("bad-container", f"member {shown(key)} is damaged: {error}") from None


class Archive(Mapping[str, Any]):
    """Lazy mapping of names to arrays, and context manager that closes the file it opened.

    Names come from members that end in `schemasuffix`. Get-item raises
    KeyError, CompileError, OSError.
    """

    def __init__(self, file: File, read: Callable[[Any, str], Any], schemasuffix: str, limits: Limits) -> None:
        self._read = read
        self._suffix = schemasuffix
        self._limits = limits
        self._archive = opened(file)

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str) or name + self._suffix not in self._archive.NameToInfo:
            raise KeyError(name)
        key = name + self._suffix
        return self._read(ArchiveStorage(self._archive, self._limits, key), key)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name + self._suffix in self._archive.NameToInfo

    def __iter__(self) -> Iterator[str]:
        end = -len(self._suffix) or None
        return iter([name[:end] for name in self._archive.NameToInfo if name.endswith(self._suffix)])

    def __len__(self) -> int:
        return sum(name.endswith(self._suffix) for name in self._archive.NameToInfo)

    def __repr__(self) -> str:
        return f"<arrays of a ZIP archive: {', '.join(map(shown, self))}>"

    def close(self) -> None:
        """Close the file if it was opened by path."""
        self._archive.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def opened(file: File) -> ZipFile:
    """Open an archive. Raises OSError; CompileError if it is invalid or refused."""
    from zipfile import BadZipFile, ZipFile

    name = os.fspath(file) if isinstance(file, str | os.PathLike) else str(getattr(file, "name", "archive"))
    report = Report()
    place = Span(Source(name, b"", binary=True), 0, 0)
    try:
        archive = ZipFile(file)
    except (BadZipFile, NotImplementedError, ValueError, IndexError, zlib.error) as error:
        report.error("bad-container", f"invalid ZIP archive: {error}", place)
        raise CompileError(report.sorted()) from None
    fault = _fault(archive)
    if fault is not None:
        archive.close()
        report.error("bad-container", f"the ZIP archive cannot be read: {fault}", place)
        raise CompileError(report.sorted())
    return archive


def _fault(archive: ZipFile) -> str | None:
    """Return why an archive is refused, or None."""
    stream = archive.fp
    size = stream.seek(0, os.SEEK_END) if stream is not None else 0
    names: set[str] = set()
    for info in archive.infolist():
        if info.orig_filename in names or info.filename in names:
            return f"two members have the name {shown(info.filename)}"
        names |= {info.orig_filename, info.filename}
        fault = _member_fault(info)
        if info.header_offset < 0 or info.header_offset + info.compress_size > size:
            fault = "is outside the file"
        if fault is not None:
            return f"member {shown(info.orig_filename)} {fault}"
    if sum(info.compress_size for info in archive.infolist()) > size:
        return "its members overlap"
    return None


def _member_fault(info: ZipInfo) -> str | None:
    if info.filename.endswith("/"):
        return "is a folder"
    if not is_safe(info.orig_filename) or "\\" in info.orig_filename:
        return "has a name that is not valid for a blob"
    if info.flag_bits & ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in (STORED, DEFLATED):
        return "has an unsupported compression"
    if info.compress_type == STORED and info.file_size != info.compress_size:
        return "has two different sizes"
    return None
