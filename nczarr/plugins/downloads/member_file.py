"""Members of archives that are stored without compression, read in place by ranges of the archive."""

from __future__ import annotations

import os
from typing import Any
from zlib import crc32

from nczarr.plugins.remote.connection import FileConnection
from nczarr.plugins.remote.range_request import RangeAnswer
from nczarr.plugins.remote.ranged_file import RangedFile
from nczarr.stores import local_paths
from nczarr.stores.places import RemoteFile, find_remote_file
from nczarr.stores.ranges import Range, read
from nczarr.stores.spool import add_folder


class MemberConnection(FileConnection):
    """The bytes of a member as an object that answers requests for ranges.

    `place`: its bytes in the archive; `member`: its name; `shown`: name in messages; `checksum`: CRC-32 of its bytes,
    if the archive states it.
    """

    def __init__(self, place: Range, member: str, shown: str, checksum: int | None) -> None:
        super().__init__(f"file://{local_paths.absolute(shown)}")
        self.shown = shown
        self.checksum = checksum
        self.place_of_bytes = place._replace(path=local_paths.absolute(place.path))
        self._archive = find_remote_file(place.path)
        """The archive, if it is remote itself: its blocks are kept as long as this connection."""
        self.root = f"{self.place_of_bytes.path}/{member}"

    def __getstate__(self) -> dict[str, Any]:
        """Return the description, with that of a remote archive."""
        own = {name: self.__dict__[name] for name in ("place_of_bytes", "_archive", "root", "checksum")}
        return {**super().__getstate__(), **own}

    def read_range(self, begin: int, end: int, size: int | None = None) -> RangeAnswer:
        """Return the bytes of a range; `begin` below 0: so many at the end. Raises OSError."""
        size = self.place_of_bytes.length
        first, stop = (max(0, size + begin), size) if begin < 0 else (begin, min(end, size))
        data = read(Range(self.place_of_bytes.path, self.place_of_bytes.offset + first, max(0, stop - first)))
        return RangeAnswer(data, self._describe())

    def _describe(self) -> dict[str, Any]:
        """Return size of the member, and what changes with the archive."""
        if self._archive is not None:
            return {**self._archive.info, "size": self.place_of_bytes.length}
        return {"size": self.place_of_bytes.length, "mtime": os.stat(self.place_of_bytes.path).st_mtime_ns}


class MemberFile(RangedFile):
    """A member of an archive."""

    connection: MemberConnection

    @property
    def inside(self) -> Range:  # type: ignore[override]
        """Its bytes in the archive."""
        return self.connection.place_of_bytes

    def is_sound(self) -> bool | None:
        """Return whether the bytes have the checksum of the archive; None without one. Raises OSError."""
        if self.connection.checksum is None:
            return None
        found = 0
        for at in range(0, self.size, _PIECE):
            found = crc32(self.value(at, min(self.size, at + _PIECE)), found)
        return found == self.connection.checksum

    def copy(self) -> str:
        """Return the path of a copy, which exists as long as this process. Raises OSError."""
        return copy_member(self, self.name, local_paths.name_of(self.path))


def copy_member(file: RemoteFile, name: str, stem: str) -> str:
    """Return the path of a temporary copy of a member; `name`: that in messages. Raises OSError."""
    path = local_paths.join(add_folder(name), stem)
    with open(path, "wb") as target:
        target.writelines(file.value(at, min(file.size, at + _PIECE)) for at in range(0, file.size, _PIECE))
    return path


_PIECE = 8 << 20
