"""File object that reads a file and gathers writes in memory, from which the changed bytes follow.

HDF5 changes the file through it. So the file itself is written only afterwards,
as bytes at places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.plugins.common.raw_file import SeekableFile
from nczarr.plugins.edit.patches.file_patch import BytePatch, FilePatch, compare_bytes

PAGE = 1 << 12
"""Bytes of a page, the unit of memory."""


class OverlayFile(SeekableFile):
    """Bytes of a file, with changes in memory."""

    def __init__(self, data: Any) -> None:
        """Set up; `data`: bytes that can be sliced, such as a memory map."""
        super().__init__()
        self._data = data
        self._old_length = len(data)
        self._length = self._old_length
        self._pages: dict[int, bytearray] = {}

    def writable(self) -> bool:
        """Return True."""
        return True

    def size(self) -> int:
        """Return the length in bytes."""
        return self._length

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from the place; return the number of bytes."""
        view = memoryview(buffer).cast("B")
        size = max(0, min(len(view), self._length - self.at))
        filled = 0
        while filled < size:
            number, start = divmod(self.at, PAGE)
            count = min(PAGE - start, size - filled)
            page = self._pages.get(number)
            if page is not None:
                view[filled : filled + count] = page[start : start + count]
            else:
                content = bytes(self._data[self.at : self.at + count])
                view[filled : filled + len(content)] = content
                view[filled + len(content) : filled + count] = bytes(count - len(content))
            filled += count
            self.at += count
        return size

    def write(self, buffer: Any) -> int:
        """Write at the place; return the number of bytes."""
        view = memoryview(buffer).cast("B")
        written = 0
        while written < len(view):
            number, start = divmod(self.at, PAGE)
            count = min(PAGE - start, len(view) - written)
            self._page(number)[start : start + count] = view[written : written + count]
            written += count
            self.at += count
        self._length = max(self._length, self.at)
        return written

    def truncate(self, size: int | None = None) -> int:
        """Change the length. Bytes behind the end stay in the file: HDF5 ignores them, and an undo needs them."""
        self._length = self.at if size is None else size
        return self._length

    def _page(self, number: int) -> bytearray:
        """Return a page for writing."""
        if number not in self._pages:
            content = bytes(self._data[number * PAGE : (number + 1) * PAGE])
            self._pages[number] = bytearray(content + bytes(PAGE - len(content)))
        return self._pages[number]

    def patch(self) -> FilePatch:
        """Return all changes of the file."""
        patches = list(_join_neighbours(self._list_changes()))
        length = max(self._old_length, self._length)
        if length > self._old_length:
            patches.append(BytePatch(self._old_length, b"", self._read(self._old_length, length)))
        return FilePatch(tuple(patches), self._old_length, length)

    def _list_changes(self) -> Iterator[BytePatch]:
        """Yield the changes of old bytes in order."""
        for number in sorted(self._pages):
            start = number * PAGE
            old = bytes(self._data[start : start + PAGE])
            if old:
                yield from compare_bytes(start, old, bytes(self._pages[number][: len(old)]))

    def _read(self, start: int, end: int) -> bytes:
        self.seek(start)
        content = bytearray(end - start)
        self._length = max(self._length, end)
        self.readinto(content)
        return bytes(content)


def _join_neighbours(patches: Iterator[BytePatch]) -> Iterator[BytePatch]:
    """Yield patches, those that touch each other as one."""
    last: BytePatch | None = None
    for patch in patches:
        if last is not None and last.offset + len(last.new) == patch.offset:
            last = BytePatch(last.offset, last.old + patch.old, last.new + patch.new)
            continue
        if last is not None:
            yield last
        last = patch
    if last is not None:
        yield last
