"""Members of ZIP and tar archives: what an archive lists, and where or how their bytes are read."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, TYPE_CHECKING, BinaryIO, NamedTuple, cast

from nczarr.plugins.downloads.faults import AGAIN, damage, fault
from nczarr.stores import remote_file
from nczarr.stores.base import is_safe
from nczarr.stores.zip import ENCRYPTED, ZipStore, read_directory

if TYPE_CHECKING:
    from tarfile import TarInfo
    from zipfile import ZipInfo

MOST_MEMBERS = 100_000
"""Maximum members of a tar archive, which are in memory."""

LONGEST_HEADER = 1 << 20
"""Maximum bytes of an extended header of tar, which is in memory."""


STEP = 1 << 12
"""Bytes of a member that are unpacked at once, by methods without a limit of their own."""


class ArchiveMember(NamedTuple):
    """A file in an archive."""

    name: str
    """Path in the archive."""
    size: int
    """Bytes of the content."""
    packed: int
    """Bytes in the archive."""
    offset: int | None
    """Place of the bytes in the archive, if they are stored as they are."""
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    """Opens the content. Raises CompileError with `unreadable-member` or `damaged-archive`, OSError."""


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """Provide the bytes of a local or remote file. Raises OSError."""
    remote = remote_file.at(path)
    with open(path, "rb") if remote is None else remote.open_file() as file:
        yield file


def _is_listed(name: str) -> bool:
    """Return whether a member may be a dataset by its path: not hidden, no resource fork, and below the archive."""
    return is_safe(name) and not any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


# ---- ZIP -------------------------------------------------------------------------------------------------------------
def list_zip(store: ZipStore, path: str, name: str) -> list[ArchiveMember]:
    """Return the members of a ZIP archive by name. Raises OSError, CompileError with `damaged-archive`."""
    with open_bytes(path) as file:
        entries = {info.filename: info for info in read_directory(file, name).filelist}
    return [
        _zip_member(store, path, name, info)
        for key, info in sorted(entries.items())
        if _is_listed(key) and not info.is_dir()
    ]


class _SmallReads(io.RawIOBase):
    """Content of a member that is read in small steps: of bzip2 and LZMA, `zipfile` unpacks all that it has read."""

    def __init__(self, content: IO[bytes]) -> None:
        super().__init__()
        self._content = content

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`."""
        return self._content.read(STEP if size < 0 else min(size, STEP))


def _zip_member(store: ZipStore, path: str, name: str, info: ZipInfo) -> ArchiveMember:
    from zipfile import ZIP_DEFLATED, ZIP_STORED

    place = store.locate(info.filename)

    @contextmanager
    def open_member() -> Iterator[IO[bytes]]:
        shown = f"{name}/{info.filename}"
        if info.flag_bits & ENCRYPTED:
            help_ = "unpack it with its password, such as by `unzip`, and name the unpacked file"
            raise fault("unreadable-member", shown, "is protected by a password", help_)
        with open_bytes(path) as file:
            try:
                content = read_directory(file, name).open(info)
            except NotImplementedError as error:
                text = f"is compressed by a method that Python does not know: {error}"
                raise fault("unreadable-member", shown, text, "unpack it, and name the unpacked file") from None
            except (ValueError, EOFError, RuntimeError) as error:
                raise damage(shown, error) from None
            except Exception as error:
                if type(error).__name__ != "BadZipFile":
                    raise
                raise damage(shown, error) from None
            with content:
                yield (
                    content
                    if info.compress_type in (ZIP_STORED, ZIP_DEFLATED)
                    else cast("IO[bytes]", _SmallReads(content))
                )

    return ArchiveMember(
        info.filename, info.file_size, info.compress_size, None if place is None else place.offset, open_member
    )


# ---- tar -------------------------------------------------------------------------------------------------------------
def list_tar(path: str, name: str) -> list[ArchiveMember]:
    """Return the regular files of a tar archive by name; of repeated names the last one, as tar extracts them.

    Raises OSError, CompileError with `damaged-archive` or `oversized-content`.
    """
    import tarfile

    members: dict[str, ArchiveMember] = {}
    with open_bytes(path) as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(0)
        try:
            with tarfile.open(fileobj=file, mode="r:", tarinfo=_make_header_type()) as archive:
                for number, info in enumerate(archive):
                    if number == MOST_MEMBERS:
                        text = f"has more than {MOST_MEMBERS} members"
                        raise fault("oversized-content", name, text, "unpack it yourself, if you trust it")
                    key = info.name.removeprefix("./")
                    if not (info.isreg() and _is_listed(key)):
                        continue
                    if not info.issparse() and info.offset_data + info.size > end:
                        raise fault("damaged-archive", name, f"ends before its member `{key}` does", AGAIN)
                    members[key] = _tar_member(path, name, key, info)
        except tarfile.TarError as error:
            raise damage(name, error) from None
    return [members[key] for key in sorted(members)]


def _make_header_type() -> type[TarInfo]:
    import tarfile

    class BoundedHeader(tarfile.TarInfo):
        """Header whose extensions have a limit: the library reads them into memory."""

        def _proc_member(self, archive: tarfile.TarFile) -> BoundedHeader:
            if self.type in _EXTENSIONS and self.size > LONGEST_HEADER:
                raise tarfile.ReadError(f"a header has {self.size} bytes")
            return super()._proc_member(archive)  # type: ignore[misc,no-any-return]

    return BoundedHeader


_EXTENSIONS = frozenset((b"x", b"g", b"X", b"L", b"K"))
"""Types of headers of tar that name or describe the next member, or all."""


def _tar_member(path: str, name: str, key: str, info: TarInfo) -> ArchiveMember:
    import tarfile

    @contextmanager
    def open_member() -> Iterator[IO[bytes]]:
        with open_bytes(path) as file, tarfile.open(fileobj=file, mode="r:") as archive:
            content = archive.extractfile(info)
            assert content is not None
            with content:
                yield content

    return ArchiveMember(key, info.size, info.size, None if info.issparse() else info.offset_data, open_member)
