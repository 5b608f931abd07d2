"""Compressed files and archives as sources: what `zipfile`, `tarfile`, `gzip` and others write, and damages of it."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import nczarr
from nczarr.plugins.downloads import streams
from nczarr.plugins.downloads.answers import explain_answer
from nczarr.stores import open as opening
from nczarr.stores import spool
from tests.conftest import run_command
from tests.support.ranged_server import RangedServer

xarray = pytest.importorskip("xarray")

KINDS = ["NETCDF4", "NETCDF3_CLASSIC"]


@pytest.fixture
def days(tmp_path: Path) -> list[Path]:
    """Two netCDF files that join along `time`, written by xarray: one of each kind."""
    paths = []
    for number, kind in enumerate(KINDS):
        values = np.arange(12.0).reshape(3, 4) + 100 * number
        dataset = xarray.Dataset({"t": (("time", "x"), values)}, {"time": np.arange(3, dtype=np.int32) + 3 * number})
        paths.append(tmp_path / f"day{number}.nc")
        dataset.to_netcdf(paths[-1], format=kind, unlimited_dims=["time"])
    return paths


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder for temporary files of this test."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    spool.clear()


def pack_zip(path: Path, files: list[Path], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in files:
            archive.write(file, file.name)
        archive.writestr("README.txt", "Licence of the data")
        archive.writestr("__MACOSX/._day0.nc", b"fork")
    return path


def pack_tar(path: Path, files: list[Path], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for file in files:
            archive.add(file, f"./data/{file.name}")
    return path


def fail(path: object) -> str:
    """Return the code of the error with which a source is refused."""
    with pytest.raises(nczarr.CompileError) as refused:
        nczarr.open(str(path))
    (diagnostic,) = refused.value.diagnostics
    return diagnostic.code


def values(path: object) -> np.ndarray:
    with nczarr.open(str(path)) as dataset:
        return np.asarray(dataset["t"][:])


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_streams_are_the_file_in_them(
    days: list[Path], scratch: Path, compress: Callable[[bytes], bytes], number: int
) -> None:
    packed = days[0].with_name("any name.nc")
    packed.write_bytes(compress(days[number].read_bytes()))
    with xarray.open_dataset(days[number]) as expected:
        np.testing.assert_array_equal(values(packed), expected["t"].values)
    assert os.listdir(scratch)
    assert run_command("digest", str(packed)).out.split()[0] == run_command("digest", str(days[number])).out.split()[0]
    spool.clear()
    assert not os.listdir(scratch)


def test_zstd_by_any_library(days: list[Path]) -> None:
    program = shutil.which("zstd")
    if program is None:
        pytest.skip("no `zstd` here")
    packed = days[0].with_suffix(".zst")
    subprocess.run([program, "-q", str(days[0]), "-o", str(packed)], check=True)
    ran = run_command("digest", str(packed))
    if any(find_spec(name) for name in ("compression", "backports", "zstandard")):
        assert ran.out.split()[0] == run_command("digest", str(days[0])).out.split()[0]
    else:
        assert "error[missing-library]" in ran.err
        assert "pip install backports.zstd" in ran.err


def test_frames_of_zstd_are_followed_to_their_end(days: list[Path]) -> None:
    program = shutil.which("zstd")
    if program is None:
        pytest.skip("no `zstd` here")
    one = subprocess.run([program, "-qc", str(days[0])], check=True, stdout=subprocess.PIPE).stdout
    two = (
        one
        + b"\x50\x2a\x4d\x18\3\0\0\0abc"
        + subprocess.run(
            [program, "-qc", "--no-check"], input=days[1].read_bytes(), check=True, stdout=subprocess.PIPE
        ).stdout
    )
    streams._check_frames(io.BytesIO(two), "x")
    for cut in (1, 3, len(one) // 2):
        with pytest.raises(nczarr.CompileError, match="ends before its compressed content"):
            streams._check_frames(io.BytesIO(one[:-cut]), "x")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("number", range(2))
def test_the_only_dataset_of_a_zip(days: list[Path], scratch: Path, method: int, number: int) -> None:
    archive = pack_zip(days[0].with_name("era.nc"), [days[number]], method)
    np.testing.assert_array_equal(values(archive), values(days[number]))
    np.testing.assert_array_equal(values(archive / days[number].name), values(days[number]))
    assert bool(os.listdir(scratch)) == (method != zipfile.ZIP_STORED)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_members_of_a_zip(days: list[Path], method: int) -> None:
    archive = pack_zip(days[0].with_name("era.nc"), days, method)
    assert fail(archive) == "several-members"
    assert fail(archive / "nix.nc") == "absent-member"
    ran = run_command("dump", str(archive))
    assert f"`{archive}/day0.nc`, `{archive}/day1.nc`" in ran.err
    assert nczarr.members(archive) == [f"{archive}/day0.nc", f"{archive}/day1.nc"]
    for day in days:
        np.testing.assert_array_equal(values(archive / day.name), values(day))
    with pytest.raises(NotADirectoryError):
        nczarr.open(str(archive / "day0.nc" / "more"))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_members_of_a_tar(days: list[Path], mode: str) -> None:
    archive = pack_tar(days[0].with_name("days"), days, mode)
    assert nczarr.members(archive) == [f"{archive}/data/day0.nc", f"{archive}/data/day1.nc"]
    for day in days:
        np.testing.assert_array_equal(values(archive / "data" / day.name), values(day))


def test_commands_take_the_members_as_sources(days: list[Path], tmp_path: Path) -> None:
    archive = pack_zip(tmp_path / "era.nc", days)
    for target in ("all.zarr", "plain.zarr"):
        sources = [str(archive)] if target == "all.zarr" else list(map(str, days))
        assert run_command("combine", *sources, str(tmp_path / target), "--along", "time").status == 0
    assert run_command("diff", str(tmp_path / "all.zarr"), str(tmp_path / "plain.zarr")).status == 0
    with xarray.open_mfdataset(list(map(str, days))) as expected:
        np.testing.assert_array_equal(values(tmp_path / "all.zarr"), expected["t"].values)
    lines = run_command("digest", str(archive)).out.decode().splitlines()
    assert [line.split()[1] for line in lines] == nczarr.members(archive)
    assert run_command("check", "--data", str(archive)).err.count("2 variables, ") == 2
    other = pack_zip(tmp_path / "other.nc", days, zipfile.ZIP_STORED)
    assert run_command("diff", str(archive), str(other)).status == 0
    lacks = pack_tar(tmp_path / "lacks.tar", [days[1], days[0]])
    assert run_command("diff", str(archive), str(lacks)).status == 0
    assert run_command("convert", str(days[0]), str(tmp_path / "grows.zarr")).status == 0
    assert run_command("append", f"{other}/day1.nc", str(tmp_path / "grows.zarr")).status == 0
    np.testing.assert_array_equal(values(tmp_path / "grows.zarr"), values(tmp_path / "plain.zarr"))
    joined = nczarr.combine(nczarr.members(archive), along="time")
    np.testing.assert_array_equal(joined["t"][:], values(tmp_path / "plain.zarr"))


def test_references_name_the_bytes_in_the_archive(days: list[Path], tmp_path: Path) -> None:
    days[1].unlink()
    shutil.copy(days[0], days[1])
    for archive in (pack_zip(tmp_path / "era.nc", days, zipfile.ZIP_STORED), pack_tar(tmp_path / "era.tar", days)):
        target = tmp_path / f"{archive.suffix}.json"
        assert run_command("combine", str(archive), str(target), "--new-dim", "run", "--along", "t").status == 0
        references = json.loads(target.read_text())["refs"]
        found = [entry for key, entry in sorted(references.items()) if key.startswith("t/") and isinstance(entry, list)]
        assert len(found) == 2 * 3
        for number, (url, offset, length) in enumerate(found):
            assert url == f"file://{archive}"
            row = np.frombuffer(archive.read_bytes()[offset : offset + length], "<f8")
            np.testing.assert_array_equal(row, values(days[0])[number % 3])
        np.testing.assert_array_equal(values(target), np.stack([values(day) for day in days]))


def test_references_to_unpacked_bytes_are_refused(tmp_path: Path) -> None:
    big = xarray.Dataset({"t": (("x",), np.arange(40_000.0))})
    big.to_netcdf(tmp_path / "big.nc", encoding={"t": {"chunksizes": (40_000,)}})
    packed = tmp_path / "big.nc.gz"
    packed.write_bytes(gzip.compress((tmp_path / "big.nc").read_bytes()))
    ran = run_command("convert", str(packed), str(tmp_path / "big.json"))
    assert ran.status == 1
    assert "error[unnamed-target]" in ran.err
    assert not (tmp_path / "big.json").exists()


def test_members_in_place_can_be_sent_to_other_processes(days: list[Path], tmp_path: Path) -> None:
    archive = pack_zip(tmp_path / "era.nc", days[:1], zipfile.ZIP_STORED)
    again = pickle.loads(pickle.dumps(nczarr.open(str(archive))))
    np.testing.assert_array_equal(again["t"][:], values(days[0]))


def test_a_zip_with_a_store_stays_a_store(tmp_path: Path) -> None:
    nczarr.convert(str(Path("samples/01-station.cdl").resolve()), str(tmp_path / "a.zarr.zip"), "zarr2")
    renamed = tmp_path / "a.nc"
    (tmp_path / "a.zarr.zip").rename(renamed)
    assert run_command("info", str(renamed)).out.startswith(f"{renamed}: Zarr v2".encode())
    outer = pack_tar(tmp_path / "outer.tar", [renamed])
    assert run_command("diff", str(outer), str(renamed)).status == 0


def test_archives_in_archives(days: list[Path], tmp_path: Path) -> None:
    inner = pack_tar(tmp_path / "inner.tar.gz", days, "w:gz")
    outer = pack_zip(tmp_path / "outer.zip", [inner])
    assert fail(outer) == "several-members"
    np.testing.assert_array_equal(values(outer / "inner.tar.gz" / "data" / "day1.nc"), values(days[1]))
    assert fail(pack_zip(tmp_path / "third.zip", [outer])) == "nested-archive"
    often = days[0].read_bytes()
    for _ in range(3):
        often = gzip.compress(often)
    (tmp_path / "often").write_bytes(often)
    assert fail(tmp_path / "often") == "nested-archive"


@pytest.mark.parametrize("number", [1, 2])
def test_a_name_that_begins_with_nul_is_damaged(number: int, days: list[Path], tmp_path: Path) -> None:
    path = pack_zip(tmp_path / "a.zip", days[:number])
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 46] = 0
    path.write_bytes(data)
    for command in ("dump", "info", "check", "digest"):
        assert "error[damaged-archive]" in run_command(command, str(path)).err


def test_an_archive_alone_in_another_stands_for_it(days: list[Path], tmp_path: Path) -> None:
    inner = pack_zip(tmp_path / "inner.zip", days)
    outer = tmp_path / "outer.zip"
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(inner, "inner.zip")
    places = [f"{outer}/inner.zip/{day.name}" for day in days]
    assert nczarr.members(outer) == nczarr.members(f"{outer}/inner.zip") == places
    for source in (outer, f"{outer}/inner.zip"):
        ran = run_command("combine", str(source), str(tmp_path / "all.nc"), "--along", "time", "--overwrite")
        assert ran.status == 0, ran.err


def test_damages(days: list[Path], tmp_path: Path, scratch: Path) -> None:
    archive, broken = pack_zip(tmp_path / "era.nc", days[:1]), tmp_path / "broken"
    data = archive.read_bytes()
    for changed in (data[:200] + bytes([data[200] ^ 255]) + data[201:], data[: len(data) // 2]):
        broken.write_bytes(changed)
        assert fail(broken) == "damaged-archive"
    packed = gzip.compress(days[0].read_bytes())
    for changed in (packed[:-100], packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:]):
        broken.write_bytes(changed)
        assert fail(broken) == "damaged-archive"
        assert run_command("convert", str(broken), str(tmp_path / "never.nc")).status == 1
        assert not (tmp_path / "never.nc").exists()
    for compress in (bz2.compress, lzma.compress):
        broken.write_bytes(compress(days[0].read_bytes())[:-20])
        assert fail(broken) == "damaged-archive"
    tar = pack_tar(tmp_path / "a.tar", days[:1]).read_bytes()
    broken.write_bytes(tar[:6000])
    assert fail(broken) == "damaged-archive"
    spool.clear()
    assert not os.listdir(scratch)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_check_of_data_compares_the_checksum_of_the_archive(
    number: int, method: int, days: list[Path], tmp_path: Path
) -> None:
    path, damaged = tmp_path / "day.zip", tmp_path / "damaged.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.write(days[number], "day.nc")
    ran = run_command("check", "--data", str(path))
    assert (ran.status, "0 damaged" in ran.err, "checksum" in ran.err) == (0, True, False)
    if method == zipfile.ZIP_DEFLATED:
        return
    data = bytearray(path.read_bytes())
    value = np.arange(12.0).astype("<f8" if number == 0 else ">f8")[5:6] + 100 * number
    data[data.index(value.tobytes()) + 3] ^= 1
    damaged.write_bytes(data)
    with zipfile.ZipFile(damaged) as archive:
        assert archive.testzip() == "day.nc"
    ran = run_command("check", "--data", str(damaged))
    assert (ran.status, "error[failed-checksum]: `" in ran.err, "damaged.zip/day.nc` does not" in ran.err) == (
        1,
        True,
        True,
    )
    for part in (["--sample", "50%"], ["--dim", "x=0:1"]):
        ran = run_command("check", "--data", str(damaged), *part)
        assert (ran.status, "unchecked-chunks" in ran.err) == (0, True), "only a part is read"


@pytest.mark.parametrize("packed", ["a.nc.gz", "a.tgz", "a.zip"])
def test_damaged_members_are_no_unreachable_files(packed: str, days: list[Path], tmp_path: Path) -> None:
    path, plain = tmp_path / packed, days[0]
    if packed == "a.nc.gz":
        path.write_bytes(gzip.compress(plain.read_bytes()))
    else:
        (pack_tar(path, [plain], "w:gz") if packed == "a.tgz" else pack_zip(path, [plain]))
    data = bytearray(path.read_bytes())
    data[100] ^= 0xFF
    path.write_bytes(data)
    for words in (("digest",), ("diff", str(plain)), ("check", "--data"), ("convert", str(tmp_path / "t.zarr"))):
        ran = run_command(words[0], str(path), *words[1:])
        assert (ran.status, "error[damaged-archive]" in ran.err) == (1, True), ran.err


def test_archives_without_datasets(tmp_path: Path, days: list[Path]) -> None:
    zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
    assert fail(tmp_path / "empty.zip") == "empty-archive"
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as archive:
        archive.write(days[0], "../../out.nc")
    assert fail(tmp_path / "out.zip") == "empty-archive"
    with tarfile.open(tmp_path / "links.tar", "w") as tar:
        for name, kind in (("link.nc", tarfile.SYMTYPE), ("hard.nc", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, str(days[0])
            tar.addfile(info)
    assert fail(tmp_path / "links.tar") == "empty-archive"


def test_a_password_is_asked_of_no_one(days: list[Path], tmp_path: Path) -> None:
    archive = pack_zip(tmp_path / "era.nc", days[:1])
    data = bytearray(archive.read_bytes())
    central = data.index(b"PK\x01\x02")
    data[6] |= 1  # flag of encryption in the header of the entry, and in the directory
    data[central + 8] |= 1
    archive.write_bytes(data)
    assert fail(archive / "day0.nc") == "unreadable-member"


def test_bombs_are_refused(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "FREE", 1 << 20)
    content = bytes(8 << 20)
    for compress in (gzip.compress, bz2.compress, lzma.compress):
        (tmp_path / "bomb").write_bytes(compress(content))
        assert fail(tmp_path / "bomb") == "oversized-content"
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.nc", content)
    assert fail(tmp_path / "bomb.zip") == "oversized-content"
    assert not [path for path in scratch.rglob("*") if path.is_file()]


def test_no_content_is_in_memory_as_a_whole(tmp_path: Path, scratch: Path) -> None:
    read: list[int] = []

    class Stream(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            read.append(-1 if size is None else size)
            return super().read(size)

    path = streams.unpack(Stream(bytes(5 << 20)), "x", 5 << 20, "data")
    assert os.path.getsize(path) == 5 << 20
    assert set(read) == {streams.PIECE}


def test_servers_unpack_nothing(days: list[Path], tmp_path: Path) -> None:
    packed = tmp_path / "a.nc.gz"
    packed.write_bytes(gzip.compress(days[0].read_bytes()))
    stored = pack_zip(tmp_path / "stored.nc", days[:1], zipfile.ZIP_STORED)
    opening.MAPS_NO_FILES.set()
    try:
        assert fail(packed) == "unreadable-member"
        np.testing.assert_array_equal(values(stored), values(days[0]))
    finally:
        opening.MAPS_NO_FILES.clear()


def test_from_a_web_server(days: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    folder = tmp_path / "served"
    folder.mkdir()
    pack_zip(folder / "one.nc", days[:1])
    pack_zip(folder / "stored.nc", [days[1]], zipfile.ZIP_STORED)
    pack_zip(folder / "both.nc", days, zipfile.ZIP_STORED)
    pack_tar(folder / "a.tgz", days[:1], "w:gz")
    (folder / "a.nc.gz").write_bytes(gzip.compress(days[0].read_bytes()))
    server = RangedServer(folder)
    try:
        for name in ("one.nc", "a.tgz", "a.nc.gz"):
            np.testing.assert_array_equal(values(f"{server.url}/{name}"), values(days[0]))
        np.testing.assert_array_equal(values(f"{server.url}/stored.nc"), values(days[1]))
        ran = run_command("info", f"{server.url}/both.nc")
        place = f"zip://day1.nc::{server.url}/both.nc"
        assert f"`{place}`" in ran.err
        np.testing.assert_array_equal(values(place), values(days[1]))
    finally:
        server.close()


def test_members_from_a_server_without_ranges(days: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    pack_zip(tmp_path / "both.nc", days)
    with tarfile.open(tmp_path / "both.tar", "w") as archive:
        archive.add(days[1], "day1.nc")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        for place in (f"zip://day1.nc::{url}/both.nc", f"tar://day1.nc::{url}/both.tar"):
            np.testing.assert_array_equal(values(place), values(days[1]))
        assert "No such file" in run_command("info", f"zip://day7.nc::{url}/both.nc").err
        server.shutdown()


@pytest.mark.skipif(shutil.which("zip") is None, reason="no program `zip`")
def test_names_in_utf8_by_programs_that_do_not_say_so(days: list[Path], tmp_path: Path) -> None:
    text = "netcdf n { variables: int température ; data: température = 3 ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "u.zarr", consolidated=False)
    shutil.copy(days[0], tmp_path / "été.nc")
    subprocess.run(["zip", "-qr", "../u.zip", "."], cwd=tmp_path / "u.zarr", check=True)
    subprocess.run(["zip", "-q", "files.zip", "été.nc", days[1].name], cwd=tmp_path, check=True)
    with zipfile.ZipFile(tmp_path / "files.zip") as archive:
        assert "été.nc" not in archive.namelist()
    assert nczarr.open(tmp_path / "u.zip")["température"][...] == 3
    np.testing.assert_array_equal(values(tmp_path / "files.zip/été.nc"), values(days[0]))
    nczarr.edit(tmp_path / "u.zip", attributes={"/température@units": "K"})
    assert nczarr.open(tmp_path / "u.zip")["température"].attributes["units"] == "K"
    assert nczarr.open(tmp_path / "u.zip")["température"][...] == 3


def test_a_directory_of_a_later_version_is_damaged(days: list[Path], tmp_path: Path) -> None:
    path = pack_zip(tmp_path / "a.nc", days[:1])
    data = bytearray(path.read_bytes())
    data[data.rfind(b"PK\x01\x02") + 6] = 255
    path.write_bytes(data)
    assert fail(path) == "damaged-archive"
    assert "damaged-archive" in run_command("info", str(path)).err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n", "12345 bytes"),
        ('{"title": "no", "status": 403, "detail": "Licences not accepted"}', "(“Licences not accepted”)"),
        ('{"error": {"code": 401, "message": "Unauthorized"}}', "(“Unauthorized”)"),
        ("<?xml version='1.0'?>\n<Error><Code>NoSuchKey</Code><Message>No key.</Message></Error>", "(“No key.”)"),
        ('Error {\n code = 404;\n message = "Not found";\n};', "(“Not found”)"),
        ("<!DOCTYPE html><html><head><title>Log in</title></head>", "a web page"),
        ("\0" * 100, "begins with zeros"),
    ],
)
def test_answers_are_named(text: str, words: str) -> None:
    explained = explain_answer(text.encode())
    assert explained is not None
    assert words in explained


@pytest.mark.parametrize("text", ["{}", '{"shape": [1]}', "netcdf a {}", "\0", "<netcdf/>", "Errors in text"])
def test_other_files_are_no_answers(text: str) -> None:
    assert explain_answer(text.encode()) is None


def test_an_answer_in_the_place_of_a_dataset(tmp_path: Path) -> None:
    path = tmp_path / "era.nc"
    path.write_text('{"title": "denied", "status": 403, "detail": "Licences not accepted"}')
    ran = run_command("info", str(path))
    assert ran.status == 1
    assert "it is the answer of a service (“Licences not accepted”)" in ran.err


def test_files_of_other_formats_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    written = {"numpy.load": tmp_path / "a.npy"}
    for name, head, words in (
        ("m.mat", b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\1IM", "-v7.3"),
        ("g.grib", b"GRIB\0\0\0\2", "grib_to_netcdf"),
        ("h.hdf", b"\x0e\x03\x13\x01", "h4tonccf"),
        ("t.nc", b"II*\0", "gdal_translate"),
    ):
        (tmp_path / name).write_bytes(head + b"\0" * 200)
        written[words] = tmp_path / name
    for words, path in written.items():
        ran = run_command("info", str(path))
        assert (ran.status, ran.err.count("error[unknown-format]")) == (1, 1), ran.err
        assert words in ran.err
