"""Errors of calls that get the number of an open file, not its path: they name it, with the system's reason."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nczarr.formats.netcdf4.header.file_bytes import header_file
from nczarr.stores import local_file, ranges
from nczarr.stores.directory import DirectoryStore
from nczarr.stores.lock import lock_file, lock_name
from nczarr.stores.open import open_path, open_source
from nczarr.stores.ranges import Range


def read_header(path: str) -> None:
    with header_file(path) as header:
        header.read(0, 8)


READERS: dict[str, Callable[[str], object]] = {
    "open": open_source,
    "range": lambda path: ranges.read(Range(path, 0, 2)),
    "places": lambda path: ranges.read_places(path, [(0, 2)]),
    "document": lambda path: DirectoryStore(os.path.dirname(path)).get("zarr.json"),
    "header": read_header,
    "local file": lambda path: local_file.LocalFile(path)[0:2],
    "lock": lambda path: lock_file(path).release(),
}


@pytest.mark.parametrize("name", READERS)
def test_of_open_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = tmp_path / "zarr.json"
    path.write_bytes(b"abcd")
    with monkeypatch.context() as patch:
        for call in ("fstat", "pread", "preadv"):
            patch.setattr(os, call, fail)
        with pytest.raises(OSError, match="Input/output error") as refused:
            READERS[name](str(path))
    assert refused.value.errno == errno.EIO
    assert refused.value.filename in (str(path), os.fspath(tmp_path / lock_name(path.name)))


def test_a_folder_that_cannot_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for a file, which fails with `Is a directory`."""
    look = os.stat

    def fail(path: object, *given: object, **named: bool) -> os.stat_result:
        if path == str(tmp_path):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return look(str(path))

    monkeypatch.setattr(os, "stat", fail)
    with pytest.raises(OSError, match="Input/output error") as refused:
        open_path(str(tmp_path))
    assert refused.value.filename == str(tmp_path)
