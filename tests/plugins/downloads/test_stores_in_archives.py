"""Stores of keys in tar and ZIP archives: where they lie, how they are packed, what refuses them."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr
from nczarr.plugins.downloads import tar_archive
from nczarr.plugins.downloads.tar_archive import TarStore
from nczarr.stores import open as opening
from nczarr.stores import spool
from nczarr.stores.directory import DirectoryStore
from tests.conftest import run_command
from tests.support.ranged_server import RangedServer

FORMS = ["zarr2", "zarr3", "nczarr", "nczarr3"]
TEXT = """netcdf {name} {{ dimensions: t = UNLIMITED ; x = 3 ; variables: int t(t) ; double v(t, x) ; v:units = "K" ;
v:_ChunkSizes = 1, 3 ; data: t = {first}, {last} ; v = 1, 2, 3, 4, 5, {last} ;
group: g {{ variables: int w(x) ; data: w = 1, 2, 3 ; }} }}"""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder for temporary files of this test."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    spool.clear()


def write(path: Path, form: str | None = None, first: int = 1) -> Path:
    """Write a dataset of two records; a file without a format."""
    made = nczarr.from_cdl(TEXT.format(name=path.stem, first=first, last=first + 1))
    nczarr.write(made, path, form, allow_loss="all")
    return path


def list_files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def pack(archive: Path, members: dict[str, Path], kind: str = "w") -> Path:
    """Pack files and folders by their name in the archive; `kind`: mode of `tarfile`, or a method of `zipfile`."""
    if kind.startswith("w"):
        with tarfile.open(archive, kind) as tar:  # type: ignore[call-overload]
            for name, path in members.items():
                tar.add(path, name)
        return archive
    with zipfile.ZipFile(archive, "w", getattr(zipfile, kind)) as zipped:
        for name, path in members.items():
            for file in list_files(path):
                inner = file.relative_to(path).as_posix() if path.is_dir() else ""
                zipped.write(file, "/".join(part for part in (*name.split("/"), inner) if part not in ("", ".")))
    return archive


def digest(*paths: object) -> list[str]:
    ran = run_command("digest", *map(str, paths))
    assert ran.status == 0, ran.err
    return [line.split()[0] for line in ran.out.decode().splitlines()]


KINDS = ["w", "w:gz", "w:bz2", "w:xz", "ZIP_STORED", "ZIP_DEFLATED"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("place", [".", "s.zarr", "a/b/s.zarr", "./a/s.zarr"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_the_only_store_is_the_dataset(form: str, kind: str, place: str, tmp_path: Path) -> None:
    store, notes = write(tmp_path / "s.zarr", form), tmp_path / "README.txt"
    notes.write_text("Licence of the data")
    archive = pack(tmp_path / "packed", {place: store, **({"README.txt": notes} if place == "s.zarr" else {})}, kind)
    assert digest(archive) == digest(store)
    assert nczarr.members(archive) == [str(archive)]
    inside = "" if place == "." else place.removeprefix("./")
    if inside:
        assert digest(f"{archive}/{inside}") == digest(store)
    with nczarr.open(f"{archive}/{inside}/g".replace("//", "/")) as group:
        assert group["w"][:].tolist() == [1, 2, 3]
    ran = run_command("info", f"{archive}/{inside or 'nothing'}/nothing")
    assert (ran.status, "error[absent-member]" in ran.err) == (1, True)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", ["w", "w:gz", "ZIP_DEFLATED"])
@pytest.mark.parametrize("form", FORMS)
def test_commands_read_it_as_the_folder(form: str, kind: str, tmp_path: Path) -> None:
    store = write(tmp_path / "s.zarr", form)
    archive = pack(tmp_path / "packed.tar", {"s.zarr": store}, kind)
    for words in (("check", "--data"), ("info",), ("dump",)):
        ran, expected = run_command(*words, f"{archive}/s.zarr"), run_command(*words, str(store))
        assert (ran.status, ran.out.replace(str(archive).encode() + b"/", b"")) == (
            expected.status,
            expected.out.replace(str(tmp_path).encode() + b"/", b""),
        )
    for target in ("t.nc", "t.zarr"):
        ran = run_command(
            "convert", str(archive), str(tmp_path / target), "--to", "netcdf4" if "nc" in target else form
        )
        assert ran.status == 0, ran.err
        assert run_command("diff", str(tmp_path / target), str(store)).status == 0
    assert run_command("diff", str(archive), str(store)).status == 0


def test_zstd_by_any_library(tmp_path: Path) -> None:
    program = shutil.which("zstd")
    if program is None or not any(find_spec(name) for name in ("compression", "backports", "zstandard")):
        pytest.skip("no `zstd` here, or no library for it")
    store = write(tmp_path / "s.zarr", "zarr3")
    archive = pack(tmp_path / "s.tar", {"s.zarr": store})
    subprocess.run([program, "-q", str(archive)], check=True)
    assert digest(f"{archive}.zst", f"{archive}.zst/s.zarr") == digest(store) * 2


@pytest.mark.parametrize("kind", KINDS)
def test_several_stores_and_files_are_members(kind: str, tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "a.zarr", "zarr2"),
        write(tmp_path / "b.zarr", "zarr3", 3),
        write(tmp_path / "c.nc", None, 5),
    ]
    archive = pack(tmp_path / "packed", {f"data/{path.name}": path for path in paths}, kind)
    members = [f"{archive}/data/{path.name}" for path in paths]
    assert nczarr.members(archive) == members
    ran = run_command("dump", str(archive))
    assert (ran.status, f"`{archive}` is an archive of 3 files and stores" in ran.err) == (1, True)
    assert ", ".join(f"`{member}`" for member in members) in ran.err
    ran = run_command("dump", f"{archive}/data")
    assert "error[absent-member]" in ran.err
    assert digest(archive) == digest(*paths)
    assert run_command("check", "--data", str(archive)).err.count(" chunks read, ") == 3
    ran = run_command("combine", str(archive), str(tmp_path / "all.zarr"), "--along", "t", "--var", "v")
    assert ran.status == 0, ran.err
    with nczarr.open(tmp_path / "all.zarr") as joined:
        assert joined["t"][:].tolist() == [1, 2, 3, 4, 5, 6]
    other = pack(tmp_path / "other.tar", {path.name: path for path in reversed(paths)})
    assert run_command("diff", str(archive), str(other)).status == 0
    for member, path in zip(members, paths, strict=True):
        with nczarr.open(member) as found, nczarr.open(path) as expected:
            np.testing.assert_array_equal(found["v"][:], expected["v"][:])


@pytest.mark.parametrize("kind", ["w", "ZIP_STORED"])
def test_a_tar_archive_is_not_called_a_zip_archive(kind: str, tmp_path: Path) -> None:
    archive = pack(tmp_path / "t", {"s.zarr": write(tmp_path / "s.zarr", "nczarr")}, kind)
    ran = run_command("check", "--for", "netcdf-c", str(archive))
    assert ("the store is a zip archive" in ran.err) == (kind != "w"), ran.err


def test_stores_alone_are_called_so(tmp_path: Path) -> None:
    stores = {name: write(tmp_path / name, "zarr3") for name in ("a.zarr", "b.zarr")}
    ran = run_command("dump", str(pack(tmp_path / "t.tar", stores)))
    assert "is an archive of 2 stores" in ran.err


def test_no_document_of_a_store_is_a_member(tmp_path: Path) -> None:
    """Those of Zarr v3 have the look of references, and archives of macOS have a second one beside each."""
    store = write(tmp_path / "s.zarr", "nczarr3")
    (tmp_path / "fork").write_bytes(b"\0\5\x16\7")
    (tmp_path / "refs.json").write_text('{"version": 1, "refs": {".zgroup": "{\\"zarr_format\\": 2}"}}')
    names = {f"__MACOSX/s.zarr/._{file.name}": tmp_path / "fork" for file in list_files(store)}
    hidden = {".hidden/zarr.json": tmp_path / "fork", "._zarr.json": tmp_path / "fork"}
    for kind in ("w", "ZIP_STORED"):
        assert nczarr.members(pack(tmp_path / "t", {"s.zarr": store, **names, **hidden}, kind)) == [f"{tmp_path}/t"]
        both = pack(tmp_path / "t", {"s.zarr": store, "refs.json": tmp_path / "refs.json"}, kind)
        assert nczarr.members(both) == [f"{both}/refs.json", f"{both}/s.zarr"]


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names(form: int, tmp_path: Path) -> None:
    text = "netcdf n { dimensions: x = 300 ; variables: int é(x) ; é:_ChunkSizes = 1 ; data: é = %s ; }"
    path = tmp_path / "s.zarr"
    nczarr.write(nczarr.from_cdl(text % ", ".join(map(str, range(300)))), path, "zarr3")
    folder = "/".join(["long" * 20] * 4)
    with tarfile.open(tmp_path / "t.tar", "w", format=form) as archive:
        archive.add(path, f"./{folder}/s.zarr")
    with nczarr.open(tmp_path / "t.tar") as found:
        assert found["é"][:].tolist() == list(range(300))
    assert digest(tmp_path / "t.tar", f"{tmp_path}/t.tar/{folder}/s.zarr") == digest(path) * 2


def test_a_store_answers_as_its_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "s.zarr", "zarr2")
    archive = pack(tmp_path / "t.tar", {"x/s.zarr": folder, "x/other.txt": folder / ".zgroup"})
    store, plain = TarStore(str(archive), "t.tar", "x/s.zarr/"), DirectoryStore(str(folder))
    keys = list(plain.keys())
    assert list(store.keys()) == keys
    assert list(store.keys("v/")) == list(plain.keys("v/"))
    for prefix in ("", "v/", "g/", "g/w/", "nothing/"):
        assert store.entries(prefix) == plain.entries(prefix)
        assert store.children(prefix) == plain.children(prefix)
    for key in (*keys, "nothing", "v", "v/nothing"):
        assert store.get(key) == plain.get(key)
        assert store.lacks(key) == (plain.get(key) is None)
        place = store.locate(key)
        assert (place is None) == (plain.get(key) is None)
        if place is not None:
            assert archive.read_bytes()[place.offset : place.offset + place.length] == plain.get(key)
    whole = plain.get("v/.zarray")
    assert whole is not None
    assert (store.part("v/.zarray", 2, 5), store.part("v/.zarray", -5, 5)) == (whole[2:7], whole[-5:])
    assert store.part("nothing", 0, 1) is None
    with pytest.raises(OSError, match="too few"):
        store.part("v/.zarray", 2, 5000)
    with pytest.raises(ValueError, match="not a key"):
        store.get("../other.txt")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
@pytest.mark.parametrize(
    ("name", "target", "code"),
    [
        ("s.zarr/v/.zarray", "../t/.zarray", "unreachable-file"),
        ("s.zarr/v/1.0", "0.0", "unreachable-file"),
        ("s.zarr/v/1.0", "/etc/hostname", "unreachable-file"),
        ("s.zarr/v/9", "../../../etc", "unreachable-file"),
        ("s.zarr/h", "g", "unreadable-array"),
    ],
)
def test_links_are_refused_by_name(name: str, target: str, code: str, kind: bytes, tmp_path: Path) -> None:
    folder = write(tmp_path / "s.zarr", "zarr2")
    if kind == tarfile.LNKTYPE and not target.startswith("/"):
        target = os.path.normpath(f"{os.path.dirname(name)}/{target}")
    with tarfile.open(tmp_path / "t.tar", "w") as archive:
        for file in list_files(folder):
            if (path := file.relative_to(tmp_path).as_posix()) != name:
                archive.add(file, path)
        link = tarfile.TarInfo(name)
        link.type, link.linkname = kind, target
        archive.addfile(link)
    ran = run_command("digest", str(tmp_path / "t.tar"))
    assert ran.status == (1 if code == "unreadable-array" else 3)
    assert f"error[{code}]" in ran.err
    assert name.removeprefix("s.zarr/") in ran.err
    assert "link" in ran.err


def test_links_beside_a_store_do_not_count(tmp_path: Path) -> None:
    folder = write(tmp_path / "s.zarr", "zarr2")
    with tarfile.open(tmp_path / "t.tar", "w") as archive:
        archive.add(folder, "s.zarr")
        link = tarfile.TarInfo("latest.zarr")
        link.type, link.linkname = tarfile.SYMTYPE, "s.zarr"
        archive.addfile(link)
    assert digest(tmp_path / "t.tar") == digest(folder)


def test_the_last_of_repeated_members_counts(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old.zarr", "zarr2"), write(tmp_path / "new.zarr", "zarr2", 7)
    with tarfile.open(tmp_path / "t.tar", "w") as archive:
        archive.add(old, "s.zarr")
        archive.add(new, "./s.zarr")
    with nczarr.open(tmp_path / "t.tar") as found:
        assert found["t"][:].tolist() == [7, 8]


def fail(path: Path) -> str:
    """Return the code of the error with which a source is refused, which has the status of bad input."""
    ran = run_command("digest", str(path))
    assert ran.status == 1, ran.err
    return ran.err.partition("[")[2].partition("]")[0]


def test_damage_of_headers_loses_no_chunk_in_silence(tmp_path: Path) -> None:
    archive, broken = pack(tmp_path / "t.tar", {"s.zarr": write(tmp_path / "s.zarr", "zarr2")}), tmp_path / "broken.tar"
    data = archive.read_bytes()
    with tarfile.open(archive) as tar:
        headers = [info.offset for info in tar if info.isreg()]
    assert len(headers) > 5
    for offset in headers[1:]:
        broken.write_bytes(data[: offset + 20] + b"#" + data[offset + 21 :])
        assert fail(broken) == "damaged-archive"
        broken.write_bytes(data[:offset])  # cut between two members
        assert fail(broken) == "damaged-archive"
        broken.write_bytes(data[: offset + 700])
        assert fail(broken) == "damaged-archive"


def test_limits_of_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = pack(tmp_path / "t.tar", {"s.zarr": write(tmp_path / "s.zarr", "zarr2")})
    monkeypatch.setattr(tar_archive, "MOST_MEMBERS", 3)
    assert fail(archive) == "oversized-content"
    monkeypatch.undo()
    with tarfile.open(tmp_path / "long.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("zarr.json")
        info.pax_headers = {"comment": "x" * (2 << 20)}
        tar.addfile(info)
    assert fail(tmp_path / "long.tar") == "damaged-archive"
    with tarfile.open(tmp_path / "negative.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("zarr.json")
        info.pax_headers = {"size": "-1536"}  # the next header would be this one again
        tar.addfile(info)
    assert fail(tmp_path / "negative.tar") == "damaged-archive"


def write_sparse(path: Path, size: int, name: str) -> None:
    """Write a tar archive with a store of one array, whose file has a hole of so many bytes before `abcd`."""
    array = {
        "zarr_format": 2, "shape": [size + 4], "chunks": [size + 4], "dtype": "|u1", "compressor": None,
        "fill_value": 0, "filters": None, "order": "C",
    }  # fmt: skip
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for key, data in ((".zgroup", b'{"zarr_format": 2}'), ("v/.zarray", json.dumps(array).encode())):
            info = tarfile.TarInfo(key)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        hole = tarfile.TarInfo("GNUSparseFile/x")
        content = f"1\n{size}\n4\n".encode().ljust(512, b"\0") + b"abcd"
        hole.size = len(content)
        hole.pax_headers = {
            "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": name,
            "GNU.sparse.realsize": str(size + 4),
        }  # fmt: skip
        tar.addfile(hole, io.BytesIO(content))


def test_files_with_holes(tmp_path: Path) -> None:
    write_sparse(tmp_path / "t.tar", 5000, "v/0")
    with nczarr.open(tmp_path / "t.tar") as found:
        assert found["v"][:].tobytes() == bytes(5000) + b"abcd"
    assert TarStore(str(tmp_path / "t.tar"), "t").locate("v/0") is None
    write_sparse(tmp_path / "t.tar", 1 << 40, "v/.zattrs")
    assert fail(tmp_path / "t.tar") == "bad-metadata"
    write_sparse(tmp_path / "t.tar", 1 << 40, "w/.zattrs")
    with pytest.raises(nczarr.CompileError, match="would inflate"):
        TarStore(str(tmp_path / "t.tar"), "t").get("w/.zattrs")


def test_archives_in_archives(tmp_path: Path, scratch: Path) -> None:
    folder = write(tmp_path / "s.zarr", "zarr3")
    inner = pack(tmp_path / "inner.tar", {"s.zarr": folder})
    for kind in ("w", "ZIP_STORED", "w:gz"):
        outer = pack(tmp_path / "outer", {"inner.tar": inner}, kind)
        with nczarr.open(f"{outer}/inner.tar/s.zarr/g") as group:
            assert group["w"][:].tolist() == [1, 2, 3]
            assert bool(os.listdir(scratch)) == (kind == "w:gz")
        assert digest(outer, f"{outer}/inner.tar/s.zarr") == digest(folder) * 2
    third = pack(tmp_path / "third", {"outer": pack(tmp_path / "outer", {"inner.tar": inner})})
    assert digest(third) == digest(folder)
    more = pack(tmp_path / "more", {"s.zarr": folder, "README.txt": folder / "zarr.json"})
    two = pack(tmp_path / "outer", {"more": more})
    assert fail(pack(tmp_path / "third", {"outer": two})) == "nested-archive"


def write_big(tmp_path: Path) -> Path:
    made = nczarr.from_cdl("netcdf b { dimensions: x = 40000 ; variables: double v(x) ; v:_FillValue = 1.5 ; }")
    nczarr.write(made, tmp_path / "b.zarr", "zarr2")
    np.arange(40000.0).tofile(tmp_path / "b.zarr/v/0")
    document = json.loads((tmp_path / "b.zarr/v/.zarray").read_text())
    (tmp_path / "b.zarr/v/.zarray").write_text(json.dumps({**document, "chunks": [40000], "compressor": None}))
    (tmp_path / "b.zarr/.zmetadata").unlink(missing_ok=True)
    return tmp_path / "b.zarr"


def test_an_uncompressed_tar_is_read_in_place(tmp_path: Path, scratch: Path) -> None:
    archive = pack(tmp_path / "t.tar", {"b.zarr": write_big(tmp_path)})
    assert run_command("convert", str(archive), str(tmp_path / "r.json")).status == 0
    url, offset, length = json.loads((tmp_path / "r.json").read_text())["refs"]["v/0"]
    assert url == f"file://{archive}"
    assert archive.read_bytes()[offset : offset + length] == np.arange(40000.0).tobytes()
    with nczarr.open(tmp_path / "r.json") as found:
        assert found["v"][39999] == 39999
    assert not os.listdir(scratch)
    packed = pack(tmp_path / "t.tgz", {"b.zarr": tmp_path / "b.zarr"}, "w:gz")
    ran = run_command("convert", str(packed), str(tmp_path / "never.json"))
    assert (ran.status, "error[unnamed-target]" in ran.err) == (1, True)


def test_other_processes_and_later_archives(tmp_path: Path) -> None:
    folder = write(tmp_path / "s.zarr", "zarr2")
    for kind in ("w", "ZIP_DEFLATED"):
        archive = pack(tmp_path / "t", {"a/s.zarr": folder, "b/s.zarr": folder}, kind)
        opened = nczarr.open(f"{archive}/b/s.zarr")
        again = pickle.loads(pickle.dumps(opened))
        assert again["v"][:].tolist() == opened["v"][:].tolist()
    archive = pack(tmp_path / "t.tar", {"s.zarr": folder})
    opened, sent = nczarr.open(archive), pickle.dumps(TarStore(str(archive), "t.tar", "s.zarr/"))
    assert pickle.loads(sent).get("t/0") is not None
    pack(archive, {"x/readme": folder / ".zgroup", "s.zarr": folder})  # the places of all members are others now
    for read in (lambda: opened["v"][:], lambda: pickle.loads(sent).get("t/0")):
        with pytest.raises(OSError, match="has changed"):
            read()
    with nczarr.open(archive) as newer:
        assert newer["t"][:].tolist() == [1, 2]


def test_an_archive_is_no_target(tmp_path: Path) -> None:
    folder, file = write(tmp_path / "s.zarr", "nczarr"), write(tmp_path / "m.nc", None, 5)
    one = pack(tmp_path / "one.tar", {"s.zarr": folder})
    mixed = pack(tmp_path / "mixed.zip", {"s.zarr": folder, "m.nc": file}, "ZIP_DEFLATED")
    packed = pack(tmp_path / "m.tgz", {"m.nc": file}, "w:gz")
    before = [path.read_bytes() for path in (one, mixed, packed)]
    for path in (one, f"{one}/s.zarr", f"{mixed}/s.zarr", f"{mixed}/m.nc", packed):
        ran = run_command("edit", str(path), "--set", '/v@units="C"')
        assert (ran.status, "error[uneditable-target]" in ran.err) == (2, True), ran.err
        ran = run_command("append", str(write(tmp_path / "later.nc", None, 9)), str(path))
        assert (ran.status, "error[unextendable-target]" in ran.err) == (2, True), ran.err
        (tmp_path / "later.nc").unlink()
    ran = run_command("migrate", str(one), "--to", "zarr2")
    assert (ran.status, "error[unchangeable-store]" in ran.err) == (2, True)
    assert before == [path.read_bytes() for path in (one, mixed, packed)]


def test_the_only_store_of_a_zip_is_edited_beside_other_members(tmp_path: Path) -> None:
    folder = write(tmp_path / "s.zarr", "zarr2")
    archive = pack(tmp_path / "t.zip", {"a/s.zarr": folder, "README.txt": folder / ".zgroup"}, "ZIP_DEFLATED")
    ran = run_command("edit", str(archive), "--set", '/v@units="C"')
    assert ran.status == 0, ran.err
    with nczarr.open(archive) as found:
        assert found["v"].attributes["units"] == "C"
    assert run_command("edit", str(archive), "--undo", f"{archive}.undo-1.json").status == 0
    assert digest(archive) == digest(folder)


def test_several_targets_have_the_suffix_for_their_source(tmp_path: Path) -> None:
    store, file = write(tmp_path / "s.zarr", "zarr3"), write(tmp_path / "m.nc")
    mixed = pack(tmp_path / "mixed.tar", {"s.zarr": store, "m.nc": file})
    (tmp_path / "out").mkdir()
    for archive in (mixed, pack(tmp_path / "mixed.zip", {"s.zarr": store, "m.nc": file}, "ZIP_STORED")):
        ran = run_command("convert", f"{archive}/s.zarr", f"{archive}/m.nc", str(tmp_path / "out"), "--overwrite")
        assert ran.status == 0, ran.err
        assert sorted(os.listdir(tmp_path / "out")) == ["m.zarr", "s.nc"]


def test_servers_read_stores_in_place(tmp_path: Path) -> None:
    folder = write(tmp_path / "s.zarr", "zarr3")
    opening.MAPS_NO_FILES.set()
    try:
        with nczarr.open(pack(tmp_path / "t.tar", {"s.zarr": folder})) as found:
            assert found["t"][:].tolist() == [1, 2]
        with pytest.raises(nczarr.CompileError, match="unreadable-member"):
            nczarr.open(pack(tmp_path / "t.tgz", {"s.zarr": folder}, "w:gz"))
    finally:
        opening.MAPS_NO_FILES.clear()


def test_from_a_web_server(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    store, served = write(tmp_path / "s.zarr", "zarr3"), tmp_path / "served"
    served.mkdir()
    members = {"a/s.zarr": store, "m.nc": write(tmp_path / "m.nc")}
    server = RangedServer(served)
    try:
        for kind, name, protocol in (("w", "t.tar", "tar"), ("w:gz", "t.tgz", ""), ("ZIP_STORED", "t.zip", "zip")):
            pack(served / f"one-{name}", {"s.zarr": store}, kind)
            ran = run_command("digest", f"{server.url}/one-{name}")
            assert (ran.out.split()[0].decode(), "unranged-server" in ran.err) == (*digest(store), False)
            pack(served / name, members, kind)
            ran = run_command("info", f"{server.url}/{name}")
            if not protocol:
                assert "fetch the archive, and name one of them: `t.tgz/a/s.zarr`, `t.tgz/m.nc`" in ran.err
            for member, path in members.items() if protocol else ():
                place = f"{protocol}://{member}::{server.url}/{name}"
                assert f"`{place}`" in ran.err
                assert digest(place) == digest(path)
    finally:
        server.close()


@pytest.mark.peer
def test_stores_of_other_projects_have_their_values(
    shared: Path, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    """Values are those that zarr-python reads of the unpacked stores, and keys and digests are those of the folder."""
    zarr, compared = peer("zarr"), 0
    for number, archive in enumerate(sorted((shared / "data" / "zarr-field").glob("*.tar"))):
        with tarfile.open(archive) as tar:
            tar.extractall(tmp_path / str(number), filter="data")
        (folder,) = (tmp_path / str(number)).iterdir()
        assert nczarr.members(archive) == [str(archive)]
        store, plain = opening.open_path(str(archive)), DirectoryStore(str(folder))
        assert isinstance(store, TarStore)
        assert {key: store.get(key) for key in store.keys()} == {key: plain.get(key) for key in plain.keys()}  # noqa: SIM118
        if "zfpy" in archive.name:
            continue
        assert digest(archive) == digest(folder)
        with nczarr.open(archive) as found:
            for name in found.variables:
                try:
                    opened = zarr.open(folder, mode="r")
                    values = (opened if isinstance(opened, zarr.Array) else opened[name])[...]
                except (ValueError, KeyError, TypeError):  # of what zarr-python 3 has no type
                    continue
                values = values.view("i8") if values.dtype.kind in "mM" else values
                if values.dtype.kind not in "OUSV":
                    np.testing.assert_array_equal(found[name][...], values)
                    compared += 1
    assert compared > 20


@pytest.mark.parametrize("shards", [None, (8,)])
def test_the_check_of_data_compares_the_checksums_of_entries(shards: tuple[int] | None, tmp_path: Path) -> None:
    """Chunks of shards are ranges of an entry, which the archive has no checksum of."""
    zarr = pytest.importorskip("zarr")
    path, damaged = tmp_path / "s.zip", tmp_path / "damaged.zip"
    values = np.arange(16, dtype="<i4")
    with zarr.storage.ZipStore(path, mode="w") as store:
        group = zarr.open_group(store, mode="w")
        group.create_array("v", shape=(16,), chunks=(4,), shards=shards, dtype="<i4", compressors=None)[:] = values
    ran = run_command("check", "--data", str(path))
    assert (ran.status, "checksum" in ran.err) == (0, False), ran.err
    data = bytearray(path.read_bytes())
    data[data.index(values[4:6].tobytes())] ^= 64
    damaged.write_bytes(data)
    with zipfile.ZipFile(damaged) as archive:
        key = archive.testzip()
    ran = run_command("check", "--data", str(damaged))
    assert (ran.status, ran.err.count("error[failed-checksum]")) == (1, 1), ran.err
    assert f"`{key}`, does not have its checksum" in ran.err
    assert f"damaged.zip/{key}" in ran.err
    assert f"{2 if shards else 1} damaged" in ran.err
    ran = run_command("check", "--data", str(damaged), "--sample", "25%")
    assert ("unchecked-chunks" in ran.err) is (shards is not None), "parts of an entry"
