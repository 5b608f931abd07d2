"""Other documents in an archive, by new bytes at its end: new entries, and a directory without the old ones.

The entries of chunks stay where they are; bytes of old documents stay too, without
a name. The patch restores every byte of the archive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from nczarr.plugins.common.raw_file import SeekableFile
from nczarr.plugins.edit.patches.file_patch import BytePatch, FilePatch
from nczarr.sdk import Source, Store
from nczarr.stores.open import ZIP, open_path
from nczarr.stores.url import location
from nczarr.stores.zip import UTF8, name_entries, new_entry, read_directory

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class FileWithTail(SeekableFile):
    """File whose bytes from a place on are in memory, and may change there."""

    def __init__(self, file: BinaryIO, start: int, tail: bytes) -> None:
        super().__init__()
        self.file = file
        self.start = start
        self.tail = bytearray(tail)

    def writable(self) -> bool:
        """Return True."""
        return True

    def size(self) -> int:
        """Return the length of the file in bytes."""
        return self.start + len(self.tail)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises OSError."""
        end = self.size() if size < 0 else self.at + size
        data = b""
        if self.at < self.start:
            self.file.seek(self.at)
            data = self.file.read(min(end, self.start) - self.at)
        first = max(self.at, self.start) - self.start
        data += bytes(self.tail[first : max(first, end - self.start)])
        self.at += len(data)
        return data

    def write(self, data: ReadableBuffer) -> int:
        """Put bytes into the tail. Raises ValueError before it."""
        if self.at < self.start:
            raise ValueError("only the end of the file changes")
        content = bytes(data)
        first = self.at - self.start
        self.tail[first : first + len(content)] = content
        self.at += len(content)
        return len(content)

    def truncate(self, size: int | None = None) -> int:
        """Cut the tail at a place, by default the present one."""
        end = self.at if size is None else size
        del self.tail[end - self.start :]
        return end


def find_wrapping(path: str, source: Source | Store) -> str | None:
    """Return why what was opened at a path is not changed there, in words; None if it can be.

    It may be the content of a compressed file, a member of an archive, or a store in one that is no ZIP archive.
    Raises OSError.
    """
    place = location(path)
    file = source.path if isinstance(source, Source) else getattr(source, "file", None)
    if place.remote or place.kind or file is None:
        return None
    if file == place.path and (isinstance(source, Source) or is_zip(file)):
        return None
    return "is compressed, or in an archive that is not changed in its place"


def is_zip(path: str) -> bool:
    """Return whether a file begins as a ZIP archive. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(4) in ZIP


class UnmarkedInfo(ZipInfo):
    """An entry whose directory keeps its name as the entry itself has it: without a mark that it is UTF-8."""

    __slots__ = ()

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802 (for the library, which writes the directory)
        return self.filename.encode("utf-8" if self.flag_bits & UTF8 else "cp437"), self.flag_bits & ~UTF8


def patch_archive(path: str, documents: Mapping[str, bytes | None]) -> FilePatch:
    """Return the change of an archive that gives it these documents; None removes one. Raises OSError."""
    prefix = getattr(open_path(path), "folder", "")
    with open(path, "rb") as file:
        with read_directory(file, path) as archive:
            start = archive.start_dir
        file.seek(start)
        old = file.read()
        shown = FileWithTail(file, start, old)
        with ZipFile(shown, "a", ZIP_STORED) as archive:
            unmarked = [info for info in archive.filelist if not info.flag_bits & UTF8]
            name_entries(archive)
            for info in unmarked:
                info.__class__ = UnmarkedInfo
            gone = {prefix + key for key in documents}
            archive.filelist = [info for info in archive.filelist if info.filename not in gone]
            archive.NameToInfo = {info.filename: info for info in archive.filelist}
            for key, data in documents.items():
                if data is not None:
                    archive.writestr(new_entry(prefix + key), data)
            archive._didModify = True  # type: ignore[attr-defined]
        new = bytes(shown.tail)
    return FilePatch((BytePatch(start, old, new),), start + len(old), start + len(new))
