"""Unpacking into temporary files, piece by piece and within limits, and the decompressors of single files."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, BinaryIO, NoReturn, cast

from nczarr.plugins.downloads.faults import damage, fault
from nczarr.plugins.downloads.kinds import Kind
from nczarr.stores import local_paths
from nczarr.stores.open import MAPS_NO_FILES
from nczarr.stores.spool import add_folder
from nczarr.stores.url import MissingProtocolError

PIECE = 1 << 20
"""Bytes in memory at once."""

FREE = 1 << 30
"""Bytes that are unpacked whatever they come from: arrays of fill values shrink to a thousandth."""

RATIO = 200
"""Maximum bytes for each compressed byte of longer content."""

MOST = 64 << 30
"""Maximum bytes of the content of one file."""

SPARE = 256 << 20
"""Bytes of the temporary folder's disk that stay free."""


def unpack(source: IO[bytes], name: str, packed: int, stem: str) -> str:
    """Return the path of a temporary file with the bytes of a stream; it is removed as fetched files are.

    `name`: that in messages; `packed`: compressed bytes; `stem`: name of the file.
    Raises CompileError with `oversized-content` or `damaged-archive`, OSError.
    """
    folder = add_folder(name)
    path = local_paths.join(folder, stem)
    size = 0
    most = min(MOST, max(FREE, RATIO * packed), max(0, shutil.disk_usage(folder).free - SPARE))
    try:
        with open(path, "wb") as target:
            while piece := read_piece(source, name, PIECE):
                size += len(piece)
                if size > most:
                    refuse_size(name, packed, most)
                target.write(piece)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(path)
        raise
    return path


def check_size(name: str, packed: int, size: int) -> None:
    """Raise CompileError with `oversized-content` for a declared size above the limits."""
    most = min(MOST, max(FREE, RATIO * packed))
    if size > most:
        refuse_size(name, packed, most)


def refuse_size(name: str, packed: int, most: int) -> NoReturn:
    """Raise CompileError with `oversized-content`."""
    text = f"has more than {most} bytes in {packed} compressed ones, and so many are not unpacked by the way"
    raise fault("oversized-content", name, text, "unpack it yourself, if you trust it, and name the unpacked file")


def refuse_in_servers(name: str) -> None:
    """Raise CompileError with `unreadable-member` in a server: requests would fill its disk."""
    if MAPS_NO_FILES.is_set():
        text = "is compressed, and a server unpacks no files"
        raise fault("unreadable-member", name, text, "unpack it, and let the server offer the unpacked file")


def read_piece(source: IO[bytes], name: str, size: int) -> bytes:
    """Return the next bytes of a decompressed stream, at most `size`.

    Raises CompileError with `damaged-archive`, OSError.
    """
    try:
        return source.read(size)
    except (EOFError, zlib.error) as error:
        raise damage(name, error) from None
    except OSError as error:
        if error.errno is None:  # of gzip and bz2, which have no class of their own for damage
            raise damage(name, error) from None
        raise
    except Exception as error:
        if type(error).__name__ in ("LZMAError", "ZstdError", "BadZipFile"):  # of modules that may be absent
            raise damage(name, error) from None
        raise


@contextmanager
def open_stream(file: BinaryIO, kind: Kind, name: str) -> Iterator[IO[bytes]]:
    """Provide the decompressed content of an open file.

    Raises MissingProtocolError without a library for zstd, CompileError with `damaged-archive`, OSError.
    """
    with cast("IO[bytes]", _OPENERS[kind](file, name)) as stream:
        yield stream


def _open_gzip(file: BinaryIO, name: str) -> Any:
    import gzip

    return gzip.GzipFile(fileobj=file)


def _open_bzip2(file: BinaryIO, name: str) -> Any:
    import bz2

    return bz2.BZ2File(file)


def _open_xz(file: BinaryIO, name: str) -> Any:
    import lzma

    return lzma.LZMAFile(file)


def _open_zstd(file: BinaryIO, name: str) -> Any:
    """Return a stream of zstd, by the standard library since Python 3.14, or a package."""
    from importlib import import_module

    for module in ("compression.zstd", "backports.zstd"):
        with suppress(ImportError):
            return import_module(module).ZstdFile(file)
    try:
        zstandard = import_module("zstandard")
    except ImportError:
        text = "it is compressed with zstd, which this Python has no library for"
        raise MissingProtocolError(text, "run `pip install backports.zstd`, or `pip install zstandard`") from None
    _check_frames(file, name)
    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=False)


_OPENERS: dict[Kind, Callable[[BinaryIO, str], Any]] = {
    "gzip": _open_gzip,
    "bzip2": _open_bzip2,
    "xz": _open_xz,
    "zstd": _open_zstd,
}

_FRAME, _SKIPPED = 0xFD2FB528, range(0x184D2A50, 0x184D2A60)
"""Magic numbers of zstd's frames, and of those that readers skip (RFC 8878)."""


def _check_frames(file: BinaryIO, name: str) -> None:
    """Raise CompileError if a file of zstd is cut off: the stream of `zstandard` ends there without an error."""
    end = file.seek(0, os.SEEK_END)
    at = 0
    while at < end:
        file.seek(at)
        head = file.read(18)  # the longest header of a frame
        magic = int.from_bytes(head[:4], "little")
        if magic in _SKIPPED and len(head) >= 8:
            at += 8 + int.from_bytes(head[4:8], "little")
        elif magic == _FRAME and len(head) >= 6:
            at = _skip_frame(file, at, head[4])
        else:
            raise damage(name, ValueError(f"byte {at} begins no frame of zstd"))
    if at > end:
        raise damage(name, EOFError())
    file.seek(0)


def _skip_frame(file: BinaryIO, at: int, descriptor: int) -> int:
    """Return the place behind a frame of zstd, by the lengths of its blocks; behind the file, if one is cut off."""
    single = descriptor >> 5 & 1
    content = (single, 2, 4, 8)[descriptor >> 6]
    at += 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3] + content
    while True:
        file.seek(at)
        head = file.read(3)
        if len(head) < 3:
            return at + 3
        block = int.from_bytes(head, "little")
        at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)  # a run of one byte has that byte alone
        if block & 1:
            return at + 4 * (descriptor >> 2 & 1)
