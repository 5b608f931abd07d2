"""Arrays in ZIP archives and HDF5 groups: what is found there, and what is refused because it leads out."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from tests.support.ragged import buffer, call, document, ints

SCHEMA = call("JaggedArray", "fromcounts", counts=buffer("1"), content=buffer("2"))
MEMBERS = {"a-1": ints(1, 1), "a-2": ints(5, 6), "a.json": document(SCHEMA, "a-")}
LISTS = [[5], [6]]


def archive(members: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return made


def items(found: Any) -> list[Any]:
    """The items of what `load` gives, which is a column where there is no awkward."""
    return found.to_list() if hasattr(found, "to_list") else nczarr.awkward0.items(found)


def refused(work: Callable[[], Any]) -> str:
    """The code of the only diagnostic, and its message."""
    with pytest.raises(CompileError) as error:
        work()
    (found,) = error.value.diagnostics
    return f"{found.code}: {found.message}"


def test_several_arrays_are_a_lazy_mapping(tmp_path: Path) -> None:
    path = tmp_path / "x.awkd"
    path.write_bytes(archive({**MEMBERS, "b.json": b"broken"}).getvalue())
    with nczarr.awkward0.load(path) as found:
        assert list(found) == ["a", "b"]
        assert (len(found), "a" in found, "c" in found, 5 in found) == (2, True, False, False)
        assert items(found["a"]) == LISTS
        with pytest.raises(KeyError):
            found["a-1"]
        assert refused(lambda: found["b"]).startswith("bad-awkward-document")


def test_one_array_without_a_name_is_the_array() -> None:
    members = {".json": document(buffer("1")), "1": ints(3)}
    assert items(nczarr.awkward0.load(archive(members))) == [3]


def test_deflated_members_are_read() -> None:
    assert items(nczarr.awkward0.load(archive(MEMBERS, zipfile.ZIP_DEFLATED))["a"]) == LISTS


def test_another_suffix_of_documents() -> None:
    members = {"a.schema" if name == "a.json" else name: data for name, data in MEMBERS.items()}
    found = nczarr.awkward0.load(archive(members), schemasuffix=".schema")
    assert (list(found), items(found["a"])) == (["a"], LISTS)


def test_an_archive_of_nothing_is_an_empty_mapping() -> None:
    assert dict(nczarr.awkward0.load(archive({}))) == {}


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        nczarr.awkward0.load(tmp_path / "x.awkd")


@pytest.mark.parametrize("name", ["../a-1", "/a-1", "a/../../b", "a//b", "./a", "a\\b", "a/", "a/./b"])
def test_names_of_members(name: str) -> None:
    assert refused(lambda: nczarr.awkward0.load(archive({**MEMBERS, name: b""}))).startswith("bad-container")


def test_two_members_of_one_name() -> None:
    made = archive(MEMBERS)
    with zipfile.ZipFile(made, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("a.json", document(SCHEMA))
    assert "two members" in refused(lambda: nczarr.awkward0.load(made))


def test_encrypted_members() -> None:
    data = bytearray(archive(MEMBERS).getvalue())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    assert "encrypted" in refused(lambda: nczarr.awkward0.load(io.BytesIO(data)))


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_compression(how: int) -> None:
    assert "has an unsupported compression" in refused(lambda: nczarr.awkward0.load(archive(MEMBERS, how)))


@pytest.mark.parametrize("cut", [0, 10, 100, -5, -30])
def test_damaged_archives(cut: int) -> None:
    data = archive(MEMBERS).getvalue()[:cut]
    assert refused(lambda: nczarr.awkward0.load(io.BytesIO(data))).startswith("bad-container")


def test_damaged_members() -> None:
    data = archive(MEMBERS).getvalue().replace(ints(5, 6), ints(5, 7))
    found = nczarr.awkward0.load(io.BytesIO(data))
    assert refused(lambda: found["a"]).startswith("bad-container: member 'a-2' is damaged")


def test_members_that_inflate_to_more_than_the_limit() -> None:
    members = {**MEMBERS, "a-2": bytes(10**7)}
    found = nczarr.awkward0.load(archive(members, zipfile.ZIP_DEFLATED), limits=nczarr.awkward0.Limits(inflated=10**6))
    assert refused(lambda: found["a"]).startswith("oversized-awkward: 'a-2' is 10000000 bytes when decompressed")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a-2", "a.json"])
def test_members_that_are_bombs(name: str) -> None:
    found = nczarr.awkward0.load(archive({**MEMBERS, name: bytes(10**8)}, zipfile.ZIP_DEFLATED))
    assert refused(lambda: found["a"]).startswith("oversized-awkward")


def test_members_that_lie_in_each_other() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("a-1", bytes(1000))
    data = made.getvalue()
    start = data.index(b"PK\x01\x02")
    entry, end = data[start : start + 49], bytearray(data[start + 49 :])
    again = entry[:46] + b"b-1"
    end[8:12] = struct.pack("<HH", 2, 2)
    end[12:16] = struct.pack("<I", len(entry) + len(again))
    both = io.BytesIO(data[:start] + entry + again + end)
    assert refused(lambda: nczarr.awkward0.load(both)).startswith("bad-container")


@pytest.fixture
def h5py(peer: Callable[[str], ModuleType]) -> Any:
    return peer("h5py")


@pytest.fixture
def file(h5py: Any, tmp_path: Path) -> Any:
    """A file with the array `a`."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        group = file.create_group("a")
        for name, data in (("1", ints(1, 1)), ("2", ints(5, 6)), ("schema.json", document(SCHEMA, "a/"))):
            group[name] = np.frombuffer(data, np.uint8)
        yield file


def replaced(file: Any, value: Any, name: str = "a/2", **options: Any) -> Any:
    """The arrays of the file, with another dataset."""
    del file[name]
    if options:
        file.create_dataset(name, **options)
    else:
        file[name] = value
    return nczarr.awkward0.hdf5(file)


def test_groups_are_mappings(file: Any) -> None:
    file.create_group("other")
    file["alone"] = [1]
    found = nczarr.awkward0.hdf5(file)
    assert (list(found), len(found)) == (["a"], 1)
    assert ("a" in found, "other" in found, "alone" in found, "a/1" in found, "x" in found) == (True, *[False] * 4)
    assert items(found["a"]) == LISTS
    for name in ("other", "x", "..", "/a", "", "a/", "a\0"):
        with pytest.raises(KeyError):
            found[name]


def test_names_with_slashes_are_read_and_not_listed(h5py: Any, file: Any) -> None:
    file.move("a", "deep/a")
    file["deep/a/schema.json"][...] = np.frombuffer(document(SCHEMA, "a/"), np.uint8)
    found = nczarr.awkward0.hdf5(file)
    assert list(found) == []
    assert refused(lambda: found["deep/a"]).startswith("missing-blob")
    assert items(nczarr.awkward0.hdf5(file["deep"])["a"]) == LISTS


def test_what_is_written_is_read(file: Any) -> None:
    found = nczarr.awkward0.hdf5(file, compression=True)
    found["b"] = np.arange(3)
    assert items(found["b"]) == [0, 1, 2]
    del found["a"]
    assert list(found) == ["b"]
    with pytest.raises(KeyError):
        del found["a"]


def test_missing_blobs(file: Any) -> None:
    del file["a/2"]
    assert refused(lambda: nczarr.awkward0.hdf5(file)["a"]).startswith("missing-blob: there is no blob 'a/2'")


def test_datasets_of_numbers_stand_for_their_bytes(file: Any) -> None:
    assert items(replaced(file, np.array([5, 6]))["a"]) == LISTS
    file["a/schema.json"]
    assert refused(lambda: replaced(file, np.array([5.0, 6, 7], ">f4"))["a"]).startswith("bad-blob")


@pytest.mark.parametrize("value", ["text", ["a", "b"]])
def test_datasets_without_bytes(file: Any, value: Any) -> None:
    assert refused(lambda: replaced(file, value)["a"]).startswith("bad-blob")


def test_an_empty_dataset_has_no_bytes(h5py: Any, file: Any) -> None:
    found = replaced(file, h5py.Empty("u1"))
    assert refused(lambda: found["a"]).startswith("bad-awkward-array")


def test_groups_are_no_blobs(file: Any) -> None:
    del file["a/2"]
    file.create_group("a/2")
    assert refused(lambda: nczarr.awkward0.hdf5(file)["a"]).startswith("bad-container")


def test_links(h5py: Any, file: Any, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "y.h5", "w") as other:
        other["2"] = np.frombuffer(ints(8, 9), np.uint8)
    for link in (h5py.ExternalLink(str(tmp_path / "y.h5"), "/2"), h5py.SoftLink("/a/1"), h5py.SoftLink("/nowhere")):
        assert "is a link" in refused(lambda: replaced(file, link)["a"])  # noqa: B023
    file["b"] = h5py.SoftLink("/a")
    assert "is a link" in refused(lambda: nczarr.awkward0.hdf5(file)["b"])


def test_datasets_with_bytes_in_other_files(h5py: Any, file: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(ints(8, 9))
    found = replaced(file, None, shape=(16,), dtype="u1", external=[(str(secret), 0, 16)])
    assert "in other files" in refused(lambda: found["a"])


def test_virtual_datasets(h5py: Any, file: Any) -> None:
    layout = h5py.VirtualLayout((16,), "u1")
    layout[:] = h5py.VirtualSource(file["a/1"])
    del file["a/2"]
    file.create_virtual_dataset("a/2", layout)
    assert "in other files" in refused(lambda: nczarr.awkward0.hdf5(file)["a"])


def test_datasets_that_were_never_written(file: Any) -> None:
    found = replaced(file, None, shape=(2**40,), dtype="u1", chunks=(2**20,))
    assert refused(lambda: found["a"]).startswith("oversized-awkward")


def test_datasets_that_inflate_to_more_than_the_limit(file: Any) -> None:
    replaced(file, None, data=np.zeros(10**7, "u1"), chunks=(10**6,), compression="gzip")
    found = nczarr.awkward0.hdf5(file, limits=nczarr.awkward0.Limits(inflated=10**6))
    assert refused(lambda: found["a"]).startswith("oversized-awkward: 'a/2' is 10000000 bytes when decompressed")


def test_damaged_chunks(file: Any) -> None:
    found = replaced(file, None, data=np.zeros(1000, "u1"), chunks=(1000,), compression="gzip")
    file["a/2"].id.write_direct_chunk((0,), b"garbage")
    assert "cannot be read" in refused(lambda: found["a"])
