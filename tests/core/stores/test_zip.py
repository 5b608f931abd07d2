from __future__ import annotations

import errno
import io
import json
import os
import random
import shutil
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import numpy as np
import pytest

import nczarr
from nczarr.ast import Dataset, Storage, Variable
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.registry import find_format
from nczarr.stores import zip as zips
from nczarr.stores.base import UnsafeKeyError
from nczarr.stores.zip import ZipStore, ZipTarget
from tests.conftest import run_command
from tests.support.making import checked
from tests.support.plugins import offered
from tests.support.targets import store

FORMS = ("nczarr", "zarr2", "nczarr3", "zarr3", *offered("zarr3-2019"))


def make(path: Path, entries: dict[str, bytes]) -> None:
    target = ZipTarget(str(path))
    for key, data in entries.items():
        target.put(key, data)
    target.finish()


@pytest.mark.parametrize(
    "key", ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/.", "a\0b", "a/", "\udce9", "é" * 40000]
)
def test_keys_that_no_archive_has(key: str, tmp_path: Path) -> None:
    target = ZipTarget(str(tmp_path / "t.zip"))
    with pytest.raises(UnsafeKeyError):
        target.put(key, b"")
    target.abort()
    assert os.listdir(tmp_path) == []


def test_an_archive_appears_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    target = ZipTarget(str(path))
    target.put("b/0.0", b"12")
    target.put("a/é", b"")
    assert not path.exists()
    assert (target.get("b/0.0"), target.get("c"), list(target.keys())) == (b"12", None, ["a/é", "b/0.0"])
    target.put("z", b"3")
    target.finish()
    target.abort()
    assert os.listdir(tmp_path) == ["t.zip"]
    archive = ZipStore(str(path))
    assert list(archive.keys()) == ["a/é", "b/0.0", "z"]
    assert [archive.get(key) for key in ("b/0.0", "a/é", "z", "none")] == [b"12", b"", b"3", None]


def test_entries_are_stored_in_order_without_a_time(tmp_path: Path) -> None:
    make(tmp_path / "t.zip", {"b": b"1" * 100, "a": b"2"})
    with zipfile.ZipFile(tmp_path / "t.zip") as archive:
        assert archive.testzip() is None
        infos = archive.infolist()
    assert [info.filename for info in infos] == ["b", "a"]
    assert {info.compress_type for info in infos} == {zipfile.ZIP_STORED}
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    assert {info.external_attr >> 16 for info in infos} == {0o100644}


def test_a_key_is_put_once(tmp_path: Path) -> None:
    target = ZipTarget(str(tmp_path / "t.zip"))
    target.put("a", b"1")
    with pytest.raises(FileExistsError):
        target.put("a", b"2")
    target.abort()


def test_an_old_target_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    path.mkdir()
    (path / "old").write_text("old")
    with pytest.raises(FileExistsError):
        ZipTarget(str(path))
    target = ZipTarget(str(path), overwrite=True)
    target.put("a", b"1")
    target.finish()
    assert ZipStore(str(path)).get("a") == b"1"
    assert os.listdir(tmp_path) == ["t.zip"]
    late = ZipTarget(str(tmp_path / "u.zip"))
    (tmp_path / "u.zip").write_text("somebody was faster")
    with pytest.raises(FileExistsError):
        late.finish()
    late.abort()
    assert sorted(os.listdir(tmp_path)) == ["t.zip", "u.zip"]
    assert (tmp_path / "u.zip").read_text() == "somebody was faster"


@pytest.mark.slow
def test_many_entries_make_zip64(tmp_path: Path) -> None:
    count = 65536
    make(tmp_path / "t.zip", {f"k{number}": b"" for number in range(count)})
    with zipfile.ZipFile(tmp_path / "t.zip") as archive:
        assert len(archive.infolist()) == count
    make(tmp_path / "u.zip", {f"k{number}": b"" for number in range(65534)})
    assert b"PK\6\6" not in (tmp_path / "u.zip").read_bytes()


@pytest.mark.slow
def test_a_long_entry_makes_zip64(tmp_path: Path) -> None:
    size = (1 << 32) + 1
    if shutil.disk_usage(tmp_path).free < 2 * size:
        pytest.skip("too little room on the disk")
    target = ZipTarget(str(tmp_path / "t.zip"))
    target.put("long", bytes(size))
    target.put("zarr.json", b"{}")
    target.finish()
    with zipfile.ZipFile(tmp_path / "t.zip") as archive:
        assert archive.getinfo("long").file_size == size
        assert archive.read("zarr.json") == b"{}"
        with archive.open("long") as content:
            assert sum(map(len, iter(lambda: content.read(1 << 24), b""))) == size  # and its checksum is right
    (tmp_path / "t.zip").unlink()


@pytest.mark.parametrize("form", FORMS)
def test_folder_and_archive_have_equal_keys_and_bytes(form: str, tmp_path: Path) -> None:
    variables = (
        Variable(name="v", type="double", dimensions=(300, 400), storage=Storage(chunks=(70, 110))),
        Variable(name="é b", type="char", dimensions=(3,)),
    )
    data = {"/v": np.random.default_rng(1).random((300, 400)), "/é\\ b": np.array([b"a", b"", b"c"])}
    for name in ("t.zarr", "t.zip", "u.zip"):
        options = Options.of(allow_loss=frozenset({"all"}))
        assert store(
            checked(Dataset(name="", variables=variables), data),
            str(tmp_path / name),
            find_format(form),
            Report(),
            options,
        )  # type: ignore[arg-type]
    root = tmp_path / "t.zarr"
    folder = {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}
    with zipfile.ZipFile(tmp_path / "t.zip") as archive:
        assert {info.filename: archive.read(info) for info in archive.infolist()} == folder
        assert archive.namelist()[-1] in ("zarr.json", ".zgroup", "root.group.json")  # the root is last here too
    assert (tmp_path / "t.zip").read_bytes() == (tmp_path / "u.zip").read_bytes()


@pytest.mark.parametrize("name", ["x.zip", "x.zarr.zip", "X.ZIP"])
def test_the_suffix_alone_makes_nczarr(name: str, tmp_path: Path) -> None:
    source = b"netcdf t {\ndimensions:\n  x = 3 ;\nvariables:\n  int v(x) ;\ndata:\n  v = 1, 2, 3 ;\n}\n"
    assert run_command("compile", "-", "-o", str(tmp_path / name), stdin=source).status == 0
    assert ".zgroup" in zipfile.ZipFile(tmp_path / name).namelist()
    assert run_command("compile", "-", "-o", str(tmp_path / name), stdin=source).status == 2
    again = ("compile", "-", "-o", str(tmp_path / name), "--overwrite", "--to", "nczarr3")
    assert run_command(*again, stdin=source).status == 0
    assert "zarr.json" in zipfile.ZipFile(tmp_path / name).namelist()


def test_a_failing_disk_leaves_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: object, key: str, data: bytes) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(ZipTarget, "put", failing)
    dataset = nczarr.from_cdl("netcdf t {\nvariables:\n int v ;\ndata:\n v = 1 ;\n}")
    with pytest.raises(OSError, match="no space left"):
        nczarr.write(dataset, tmp_path / "t.zip")
    assert os.listdir(tmp_path) == []


# Reading: archives of others, which may mean harm.


def crafted(path: Path, entries: list[tuple[str, bytes]], compression: int = zipfile.ZIP_DEFLATED) -> ZipStore:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return ZipStore(str(path))


def test_names_that_leave_the_store_are_no_keys(tmp_path: Path) -> None:
    names = ["../../etc/passwd", "/etc/passwd", "a/../../b", "a//b", "dir/", "good/0"]
    archive = crafted(tmp_path / "t.zip", [(name, b"x") for name in names])
    assert list(archive.keys()) == ["good/0"]
    for name in names[:-1]:
        with pytest.raises(UnsafeKeyError):
            archive.get(name)


def test_a_failed_read_is_no_invalid_archive(tmp_path: Path) -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, "it fails")

    make(tmp_path / "t.zip", {"a": b"b"})
    with pytest.raises(OSError, match="it fails"):
        zips.read_directory(Failing((tmp_path / "t.zip").read_bytes()), "t.zip")
    with pytest.raises(OSError, match="invalid zip archive"):
        zips.read_directory(io.BytesIO(b"no archive"), "t.zip")


def test_an_entry_that_inflates_without_measure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = crafted(tmp_path / "t.zip", [("bomb", bytes(1 << 24))])
    assert (tmp_path / "t.zip").stat().st_size < 1 << 15
    monkeypatch.setattr(zips, "LARGEST_ENTRY", 1 << 20)
    with pytest.raises(nczarr.CompileError, match="unreadable-chunk: the entry has 16777216 bytes"):
        archive.get("bomb")


def test_an_entry_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    crafted(tmp_path / "t.zip", [("a", b"x" * 1000)])
    data = (tmp_path / "t.zip").read_bytes().replace(struct.pack("<L", 1000), struct.pack("<L", 10))
    (tmp_path / "t.zip").write_bytes(data)
    with pytest.raises(nczarr.CompileError, match="damaged"):
        ZipStore(str(tmp_path / "t.zip")).get("a")


@pytest.mark.parametrize("seed", range(40))
def test_damaged_archives_are_refused(seed: int, tmp_path: Path) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"v/c/{number}", bytes(range(100)) * (number + 1))
    rng = random.Random(seed)
    data = bytearray(whole.getvalue())
    for _ in range(rng.randint(1, 6)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    if seed % 4 == 0:
        del data[rng.randrange(len(data)) :]
    (tmp_path / "t.zip").write_bytes(data)
    damaged = ZipStore(str(tmp_path / "t.zip"))
    try:
        for key in damaged.keys():  # noqa: SIM118 (a store is no dict)
            damaged.get(key)
    except (OSError, nczarr.CompileError):
        pass


@pytest.mark.peer
@pytest.mark.parametrize("form", FORMS[:4])
def test_readers_open_archives(form: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr, xarray, tensorstore = peer("zarr"), peer("xarray"), peer("tensorstore")
    dataset = nczarr.from_cdl(
        'netcdf t {\ndimensions:\n  x = 3 ;\nvariables:\n  int v(x) ;\n v:units = "K" ;\ndata:\n  v = 1, 2, 3 ;\n}'
    )
    path = str(tmp_path / "t.zip")
    nczarr.write(dataset, path, form, allow_loss="all", consolidated=True)
    with zarr.storage.ZipStore(path, mode="r") as archive:
        assert zarr.open_group(archive, mode="r")["v"][...].tolist() == [1, 2, 3]
        seen = xarray.open_zarr(archive, consolidated=True, chunks=None)["v"]
        assert (seen.values.tolist(), seen.dims, seen.attrs["units"]) == ([1, 2, 3], ("x",), "K")
    where = {"driver": "zip", "base": {"driver": "file", "path": path}, "path": "v/"}
    spec = {"driver": "zarr3" if form.endswith("3") else "zarr", "kvstore": where}
    assert tensorstore.open(spec).result().read().result().tolist() == [1, 2, 3]


def names_of(data: bytes) -> list[range]:
    """Places of the names in the directory of an archive."""
    found, at = [], data.rindex(b"PK\x05\x06")
    at = struct.unpack_from("<L", data, at + 16)[0]
    while data[at : at + 4] == b"PK\x01\x02":
        name, extra, comment = struct.unpack_from("<3H", data, at + 28)
        found.append(range(at + 46, at + 46 + name))
        at += 46 + name + extra + comment
    return found


@pytest.mark.long
@pytest.mark.parametrize("form", ["nczarr", "zarr3"])
@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_no_flipped_bit_in_a_name_drops_an_entry(tmp_path: Path, form: str, count: int) -> None:
    """Every reader fails or reads all values: of one variable, of all, and of a part."""
    text = """netcdf t {{ dimensions: x = 12 ; y = 3 ;
      variables: int v(x, y) ; v:_ChunkSizes = 1, 1 ; int w(x) ; w:_ChunkSizes = 1 ; int u(x) ; u:_ChunkSizes = 2 ;
      data: v = {0} ; w = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ; u = 7, 7, _, _, 5, 5, _, _, _, _, 3, 3 ; }}"""
    made = nczarr.from_cdl(text.format(", ".join(map(str, range(1, 37)))))
    nczarr.write(made, tmp_path / "right.zip", form, allow_loss="all")
    data, damaged = (tmp_path / "right.zip").read_bytes(), tmp_path / "t.zip"
    bits = [(place, bit) for name in names_of(data) for place in name for bit in range(8)]
    choose = random.Random(form)
    for place, bit in choose.sample(bits, count):
        damaged.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        for given in ({}, {"variables": ["v"]}, {"variables": ["u"]}):
            (tmp_path / "out.nc").unlink(missing_ok=True)
            try:
                nczarr.convert(damaged, tmp_path / "out.nc", allow_loss="all", **given)  # type: ignore[arg-type]
            except (OSError, nczarr.CompileError):
                continue
            with nczarr.open(tmp_path / "out.nc") as found, nczarr.open(tmp_path / "right.zip") as right:
                for name in given.get("variables", ("v", "w", "u")):
                    assert np.array_equal(found[name][:], right[name][:]), (place, bit, name)
        try:
            with nczarr.open(damaged) as found:
                row = found["v"][5]
        except (OSError, KeyError, nczarr.CompileError):
            continue
        assert row.tolist() == [16, 17, 18]


def test_a_damaged_name_is_reported_with_its_place(tmp_path: Path) -> None:
    make(tmp_path / "t.zip", {".zgroup": b"{}", "v/0": b"a", "v/12": b"b"})
    data = (tmp_path / "t.zip").read_bytes()
    place = data.rindex(b"v/0")
    (tmp_path / "t.zip").write_bytes(data[:place] + b"v/1" + data[place + 3 :])
    archive = ZipStore(str(tmp_path / "t.zip"))
    for call in (archive.get, archive.locate, archive.confirm_absent):
        with pytest.raises(
            nczarr.CompileError, match="directory of the archive has `v/1`, and the entry at byte 39 has `v/0`"
        ):
            call("v/0")
    assert archive.get("v/12") == b"b"
    with pytest.raises(nczarr.CompileError, match="damaged"):
        archive.locate("v/1")


def test_few_headers_are_read_for_a_missing_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "t.zip", {".zgroup": b"{}", **{f"v/{number}": b"a" for number in range(3000)}})
    archive = ZipStore(str(tmp_path / "t.zip"))
    seen: list[str] = []
    real = ZipStore._header

    def counted(self: ZipStore, info: zipfile.ZipInfo, length: int, file: BinaryIO | None) -> bytes:
        seen.append(info.filename)
        return real(self, info, length, file)

    monkeypatch.setattr(ZipStore, "_header", counted)
    assert archive.get("v/10") == b"a"
    assert seen == []
    assert archive.get("v/3001") is None
    assert 0 < len(seen) < 10


def bomb(path: Path, key: str, size: int) -> None:
    """Write a small archive with an array of nine bytes, one of whose entries inflates to many."""
    array = {
        "zarr_format": 2, "shape": [9], "chunks": [9], "dtype": "|u1", "compressor": None, "fill_value": 0,
        "filters": None, "order": "C",
    }  # fmt: skip
    entries = {".zgroup": b'{"zarr_format": 2}', "a/.zarray": json.dumps(array).encode(), "a/.zattrs": b"{}"}
    entries[key] = bytes(size) if key == "a/0" else b'{"p": "' + b"a" * size + b'"}'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", ["a/.zattrs", ".zmetadata", "a/.zarray", "a/0"])
def test_what_is_declared_is_not_inflated_without_reason(key: str, tmp_path: Path) -> None:
    bomb(tmp_path / "t.zip", key, 100_000_000)
    assert (tmp_path / "t.zip").stat().st_size < 200_000
    tracemalloc.start()
    try:
        ran = run_command("convert", str(tmp_path / "t.zip"), str(tmp_path / "t.zarr"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (ran.status, "the entry would inflate" in ran.err, f"t.zip/{key}\n" in ran.err) == (1, True, True), ran.err
    assert peak < 50_000_000
    assert not (tmp_path / "t.zarr").exists()


def test_chunks_that_shrink_well_are_read(tmp_path: Path) -> None:
    """Zeros are a thousandth of themselves in a compressed archive; their chunk has as many bytes."""
    array = {
        "zarr_format": 2, "shape": [50_000_000], "chunks": [50_000_000], "dtype": "|u1", "compressor": None,
        "fill_value": 1, "filters": None, "order": "C",
    }  # fmt: skip
    with zipfile.ZipFile(tmp_path / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(".zgroup", '{"zarr_format": 2}')
        archive.writestr("a/.zarray", json.dumps(array))
        archive.writestr("a/0", bytes(50_000_000))
    with nczarr.open(tmp_path / "t.zip") as found:
        assert not found["/a"][...].any()


def damage(path: Path, key: str, source: Path, compression: int) -> None:
    """Write the archive of a store, and change a byte of the content of one entry."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for file in sorted(source.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(source).as_posix())
        entry = archive.getinfo(key)
    data = bytearray(path.read_bytes())
    data[entry.header_offset + 30 + len(key) + entry.compress_size // 2] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("is_sharded", [False, True])
def test_a_damaged_chunk_is_one_as_in_a_folder(compression: int, is_sharded: bool, tmp_path: Path) -> None:
    if is_sharded and compression == zipfile.ZIP_STORED:
        pytest.skip("the shard is read by ranges: its chunks have checksums of their own")
    source, path, other = tmp_path / "a.zarr", tmp_path / "t.zip", tmp_path / "t.zarr"
    made = nczarr.from_cdl(f"netcdf t {{ dimensions: x = 400 ; variables: int v(x) ; data: v = {'7, ' * 399}7 ; }}")
    nczarr.write(made, source, "zarr3", chunks={"/v": (100,)}, shards={"/v": (200,)} if is_sharded else None)
    damage(path, "v/c/1", source, compression)
    for words in (("digest",), ("diff", str(source)), ("dump",), ("convert", str(other), "--verify")):
        ran = run_command(words[0], str(path), *words[1:])
        assert (ran.status, f"--> {path}/v/c/1\n" in ran.err) == (1, True), ran.err
        assert "error[unreadable-chunk]: the entry is damaged: Bad CRC-32" in ran.err
    assert not other.exists()
    ran = run_command("check", "--data", str(path))
    assert (ran.status, "does not have its checksum: the entry is damaged" in ran.err) == (1, True)
    with pytest.raises(nczarr.CompileError, match="unreadable-chunk"), nczarr.open(path) as opened:
        opened["v"][:]


@pytest.mark.parametrize("key", ["w/.zarray", "v/.zattrs", ".zmetadata"])
def test_a_damaged_document_is_one_as_in_a_folder(key: str, tmp_path: Path) -> None:
    made = nczarr.from_cdl('netcdf t { dimensions: x = 2 ; variables: int v(x) ; v:u = "K" ; int w(x) ; }')
    nczarr.write(made, tmp_path / "a.zarr", "zarr2", consolidated=True)
    damage(tmp_path / "t.zip", key, tmp_path / "a.zarr", zipfile.ZIP_DEFLATED)
    ran = run_command("digest", str(tmp_path / "t.zip"))
    assert (ran.status, "error[bad-metadata]: the entry is damaged" in ran.err) == (1, True), ran.err
    assert f"t.zip/{key}\n" in ran.err
    if "/" in key:  # the format is known without it
        assert "read the rest with `--allow-loss bad-metadata`" in ran.err
        ran = run_command("convert", str(tmp_path / "t.zip"), str(tmp_path / "t.nc"), "--allow-loss", "bad-metadata")
        assert (ran.status, "warning[bad-metadata]" in ran.err) == (0, True), ran.err


def test_what_a_system_refuses_stays_unreachable(tmp_path: Path) -> None:
    ran = run_command("digest", str(tmp_path / "missing.zip"))
    assert (ran.status, "error[unreachable-file]" in ran.err) == (3, True)
