"""Remote files by ranges: the values of the local file, from a part of its bytes, whatever the server does."""

from __future__ import annotations

import gc
import pickle
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args
from weakref import ref

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError, Severity
from nczarr.plugins.remote.connection import FileConnection
from nczarr.plugins.remote.ranged_file import RangedFile
from nczarr.stores import ranges
from nczarr.stores.ranges import REMOTE
from tests.conftest import ROOT, run_command
from tests.support.library import library
from tests.support.ranged_server import Fault, RangedServer

library("aiohttp")

LENGTH = 200_000
"""Elements of a variable of two megabytes of noise, which does not compress."""


def make_netcdf4(path: Path, peer: Callable[[str], ModuleType]) -> None:
    """Groups, types, texts, lists, chunks, contiguous values, and attributes that lie behind the values."""
    noise = np.random.default_rng(7).random(LENGTH)
    with peer("netCDF4").Dataset(path, "w") as file:
        file.createDimension("x", LENGTH)
        file.createDimension("t", None)
        file.createVariable("plain", "f8", ("x",), contiguous=True)[:] = noise
        file.createVariable("chunked", "f8", ("x",), chunksizes=(5000,), zlib=True, shuffle=True)[:] = noise
        grown = file.createVariable("grown", "i4", ("t",), chunksizes=(1000,))
        grown[:] = np.arange(50_000)
        file.createDimension("few", 20)
        texts = file.createVariable("texts", str, ("few",))
        texts[:3] = np.array(["", "a" * 3000, "ä"], object)
        pairs = file.createCompoundType(np.dtype([("a", "i2"), ("b", "f4")]), "pair_t")
        below = file.createGroup("below").createGroup("deep")
        below.createVariable("pairs", pairs, ())[...] = np.array((1, 2.5), pairs.dtype)
        lists = file.createVLType("i4", "list_t")
        ragged = file.createVariable("ragged", lists, ("few",))
        ragged[0] = np.arange(5, dtype="i4")
        for number in range(40):  # more than an object header holds
            file.setncattr(f"note_{number}", "n" * 500)
            texts.setncattr(f"note_{number}", np.arange(number + 1))


def make_classic(path: Path, peer: Callable[[str], ModuleType]) -> None:
    with peer("netCDF4").Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("t", None)
        file.createDimension("x", 50_000)
        file.createVariable("fixed", "i4", ("x",))[:] = np.arange(50_000)
        one, two = (file.createVariable(name, "f8", ("t", "x")) for name in ("one", "two"))
        one[:] = np.random.default_rng(1).random((6, 50_000))
        two[:] = np.random.default_rng(2).random((6, 50_000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]) -> Path:
    made = tmp_path_factory.mktemp("files")
    make_netcdf4(made / "a.nc", peer)
    make_classic(made / "c.nc", peer)
    data = (made / "a.nc").read_bytes()
    (made / "user.h5").write_bytes(bytes(2048) + data)
    assert run_command("convert", str(made / "a.nc"), str(made / "a.zip"), "--to", "nczarr").status == 0
    with (
        zipfile.ZipFile(made / "a.zip") as stored,
        zipfile.ZipFile(made / "z.zip", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for entry in stored.infolist():
            packed.writestr(entry.filename, stored.read(entry))
    return made


FILES = ("a.nc", "c.nc", "user.h5", "a.zip", "z.zip")
FAULTY = ["a.nc", "c.nc", "z.zip", *(pytest.param(name, marks=pytest.mark.slow) for name in ("user.h5", "a.zip"))]


@pytest.fixture
def server(folder: Path) -> Iterator[RangedServer]:
    made = RangedServer(folder)
    yield made
    made.close()


def values_of(dataset: nczarr.DatasetHandle) -> dict[str, Any]:
    found = {each.path: each[...] for group in dataset.walk() for each in group.variables.values()}
    return {
        path: [np.asarray(each).tolist() for each in value] if value.dtype == object else value
        for path, value in found.items()
    }


def assert_same(found: nczarr.DatasetHandle, wanted: nczarr.DatasetHandle) -> None:
    """The same tree, diagnostics and values."""
    assert found.dataset == wanted.dataset
    codes = [each.code for each in found.diagnostics if each.code != "unranged-server"]
    assert codes == [each.code for each in wanted.diagnostics]
    values = values_of(wanted)
    assert values
    for path, value in values_of(found).items():
        np.testing.assert_equal(value, values[path], err_msg=path)


@pytest.mark.parametrize("name", FILES)
def test_values_are_those_of_the_local_file(folder: Path, server: RangedServer, name: str) -> None:
    found = nczarr.open(f"{server.url}/{name}")
    opening = server.sent
    assert_same(found, nczarr.open(folder / name))
    assert opening < (folder / name).stat().st_size / 3
    assert all(each.method == "GET" for each in server.asked)
    assert server.sent < 1.3 * (folder / name).stat().st_size


@pytest.mark.parametrize("name", FILES)
def test_opening_takes_few_requests(server: RangedServer, name: str) -> None:
    nczarr.open(f"{server.url}/{name}")
    assert len(server.asked) <= 12


@pytest.mark.long
@pytest.mark.parametrize("entries", [3, 40_000, 70_000])
def test_archives_take_few_requests(tmp_path: Path, entries: int) -> None:
    """Of any number of entries: the last has more than a directory without extensions can list."""
    text = "netcdf t { dimensions: x = 4 ; variables: int v(x) ; v:_ChunkSizes = 2 ; data: v = 1, 2, 3, 4 ; }"
    (tmp_path / "v.cdl").write_text(text)
    nczarr.convert(tmp_path / "v.cdl", tmp_path / "v.zarr")
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as made:
        for number in range(entries):
            made.writestr(f"other/{number}", b"")
        for path in sorted((tmp_path / "v.zarr").rglob("*")):
            if path.is_file():
                made.write(path, str(path.relative_to(tmp_path / "v.zarr")))
    server = RangedServer(tmp_path)
    try:
        found = nczarr.open(f"{server.url}/v.zip")
        assert len(server.asked) <= 3
        np.testing.assert_array_equal(found["v"][...], [1, 2, 3, 4])
        assert len(server.asked) <= 4
    finally:
        server.close()


@pytest.mark.parametrize(("has_tails", "opening", "reading"), [(True, 1, 2), (False, 3, 4)])
def test_requests_of_an_archive(
    tmp_path: Path, server: RangedServer, *, has_tails: bool, opening: int, reading: int
) -> None:
    """The last bytes have the directory; a server that sends none is asked for the first ones, and the size."""
    built = nczarr.DatasetBuilder("t")
    built.variable("v", "int", [built.dimension("x", 1_000_000)])
    values = np.random.default_rng(1).integers(0, 1 << 31, 1_000_000, "i4")
    nczarr.write(built.finish(data={"/v": values}), tmp_path / "a.zip", "zarr3", chunks={"x": 100_000})
    server.folder, server.has_tails = tmp_path, has_tails
    found = nczarr.open(f"{server.url}/a.zip")
    assert len(server.asked) <= opening
    assert found["v"][5:9].tolist() == values[5:9].tolist()
    assert len(server.asked) <= reading


def test_a_slice_takes_its_own_chunks(folder: Path, server: RangedServer) -> None:
    found = nczarr.open(f"{server.url}/a.nc")["chunked"]
    first = found[:10]
    server.asked.clear()
    np.testing.assert_equal(found[100_001:100_100], nczarr.open(folder / "a.nc")["chunked"][100_001:100_100])
    np.testing.assert_equal(first, nczarr.open(folder / "a.nc")["chunked"][:10])
    assert len(server.asked) == 1
    assert server.sent < 5000 * 8


def test_rows_of_a_classic_file_leave_out_what_lies_between(folder: Path, server: RangedServer) -> None:
    found = nczarr.open(f"{server.url}/c.nc")["one"]
    server.asked.clear()
    np.testing.assert_equal(found[::2, 40_000:40_100], nczarr.open(folder / "c.nc")["one"][::2, 40_000:40_100])
    assert len(server.asked) <= 6
    assert server.sent < 6 * 1000


def test_chunks_in_a_row_share_requests(server: RangedServer) -> None:
    found = nczarr.open(f"{server.url}/a.nc")["grown"]
    server.asked.clear()
    assert found[...].sum() == 49_999 * 25_000
    assert len(server.asked) <= 12  # fifty chunks, among them the nodes of their index


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("to", ["nczarr3", "nczarr"])
def test_conversions_are_those_of_the_local_file(
    folder: Path, server: RangedServer, tmp_path: Path, name: str, to: str
) -> None:
    assert run_command("convert", f"{server.url}/{name}", str(tmp_path / "far"), "--to", to).status == 0
    assert run_command("convert", str(folder / name), str(tmp_path / "near"), "--to", to).status == 0
    near = {p.relative_to(tmp_path / "near"): p.read_bytes() for p in (tmp_path / "near").rglob("*") if p.is_file()}
    far = {p.relative_to(tmp_path / "far"): p.read_bytes() for p in (tmp_path / "far").rglob("*") if p.is_file()}
    assert far == near


@pytest.mark.long
@pytest.mark.parametrize("name", ["a.nc", "c.nc"])
def test_references_name_the_url(folder: Path, server: RangedServer, tmp_path: Path, name: str) -> None:
    url, far, near = f"{server.url}/{name}", tmp_path / "far.json", tmp_path / "near.json"
    nczarr.convert(url, far)
    nczarr.convert(folder / name, near)
    assert url in far.read_text()
    assert str(folder) not in far.read_text()
    assert run_command("diff", str(far), str(near)).status == 0
    assert server.sent < 10 * (folder / name).stat().st_size


@pytest.mark.long
@pytest.mark.parametrize("target", ["b.nc", "b.cdl", "b.ncs", "b.zip"])
def test_files_are_made_of_remote_ones(folder: Path, server: RangedServer, tmp_path: Path, target: str) -> None:
    made = tmp_path / target
    assert run_command("convert", f"{server.url}/c.nc", str(made)).status == 0
    assert run_command("diff", str(folder / "c.nc"), str(made)).status == 0


@pytest.mark.long
def test_a_handle_pickles(folder: Path, server: RangedServer, tmp_path: Path) -> None:
    """Another process asks the server itself."""
    (tmp_path / "handle").write_bytes(pickle.dumps(nczarr.open(f"{server.url}/a.nc")))
    program = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))['chunked'][7:9].tolist())"
    command = [sys.executable, "-c", program, str(tmp_path / "handle")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert printed.strip() == str(nczarr.open(folder / "a.nc")["chunked"][7:9].tolist())


def test_no_path_of_a_remote_file_exists(server: RangedServer) -> None:
    """Code that does not know remote files fails on them."""
    nczarr.open(f"{server.url}/a.nc")
    assert not Path(REMOTE).exists()


# ---- servers ---------------------------------------------------------------------------------------------------------
NO_PAUSE = {"retries": 2}


def opened(url: str) -> nczarr.DatasetHandle:
    return nczarr.open(url, storage_options=NO_PAUSE)


def is_same(url: str, wanted: nczarr.DatasetHandle) -> bool:
    """Whether a remote file was read, as the local one; False after an error."""
    try:
        assert_same(opened(url), wanted)
    except (OSError, CompileError):
        return False
    return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.plugins.remote.connection.FIRST_PAUSE", 0.001)


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FAULTY)
@pytest.mark.parametrize("fault", get_args(Fault))
@pytest.mark.usefixtures("quick")
def test_one_fault_gives_the_values_or_an_error(folder: Path, server: RangedServer, name: str, fault: Fault) -> None:
    wanted = nczarr.open(folder / name)
    right = 0
    for number in (0, 3, 7):
        server.asked.clear()
        server.fault = lambda asked, number=number: fault if asked == number else None
        right += is_same(f"{server.url}/{name}", wanted)
    assert right == 3 or fault in ("whole", "unsized", "other tag")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FAULTY)
@pytest.mark.parametrize("fault", get_args(Fault))
@pytest.mark.usefixtures("quick")
def test_lasting_faults_give_the_values_or_an_error(
    folder: Path, server: RangedServer, name: str, fault: Fault
) -> None:
    wanted = nczarr.open(folder / name)
    server.fault = lambda asked: fault if asked else None
    assert not is_same(f"{server.url}/{name}", wanted) or fault == "whole" or len(server.asked) == 1


@pytest.mark.parametrize("name", FILES)
def test_servers_without_ranges_are_read_whole(folder: Path, server: RangedServer, name: str) -> None:
    server.fault = lambda asked: "whole"
    found = nczarr.open(f"{server.url}/{name}")
    assert [(each.code, each.severity) for each in found.diagnostics] == [("unranged-server", Severity.NOTE)]
    assert found.dataset == nczarr.open(folder / name).dataset
    np.testing.assert_equal(values_of(found), values_of(nczarr.open(folder / name)))
    assert server.sent <= 2 * (folder / name).stat().st_size  # the first answer is not read to its end


@pytest.mark.parametrize("name", ["a.nc", "c.nc", "a.zip"])
@pytest.mark.usefixtures("quick")
def test_a_file_that_changes_is_an_error(folder: Path, tmp_path: Path, name: str) -> None:
    shutil.copy(folder / name, tmp_path / name)
    server = RangedServer(tmp_path)
    try:
        found = opened(f"{server.url}/{name}")
        variable = found["fixed" if name == "c.nc" else "chunked"]
        data = bytearray((tmp_path / name).read_bytes())
        data[-1000:] = bytes(1000)
        (tmp_path / name).write_bytes(data)
        with pytest.raises((OSError, CompileError), match="has changed since it was opened"):
            variable[...]
    finally:
        server.close()


# ---- damaged files, and files that lead to others --------------------------------------------------------------------
@pytest.mark.parametrize("length", [4_000_003, 1_000_000, 900_001, 300])
def test_truncated_classic_files_are_those_of_the_disk(folder: Path, tmp_path: Path, length: int) -> None:
    """The end may cut an element."""
    (tmp_path / "cut.nc").write_bytes((folder / "c.nc").read_bytes()[:length])
    server = RangedServer(tmp_path)
    try:
        remote, local = nczarr.open(f"{server.url}/cut.nc"), nczarr.open(tmp_path / "cut.nc")
        refused = [path for path in local.checked.variables if error_of(local, path)]
        assert refused
        assert [error_of(remote, path) for path in refused] == [error_of(local, path) for path in refused]
        accepted = {"allow_loss": ["unread"]}
        assert dict(remote.to_keys("zarr3", **accepted)) == dict(local.to_keys("zarr3", **accepted))
    finally:
        server.close()


def error_of(found: nczarr.DatasetHandle, path: str) -> str:
    """The message for a variable that cannot be read, else nothing."""
    try:
        found[path][...]
    except CompileError as error:
        return error.diagnostics[0].message
    return ""


@pytest.mark.usefixtures("quick")
def test_a_failed_request_is_no_invalid_archive(server: RangedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("places", "zip"):  # the directory takes a second request
        monkeypatch.setattr(f"nczarr.stores.{module}.TAIL", 1 << 13)
    server.fault = lambda asked: "busy" if asked else None
    with pytest.raises(OSError, match="503"):
        opened(f"{server.url}/z.zip")


@pytest.mark.long
@pytest.mark.parametrize("query", ["", "?token=1"])
def test_unused_files_keep_no_connection(folder: Path, server: RangedServer, query: str) -> None:
    """Ranges of a file can be read when it is gone, by a new connection."""
    file = RangedFile.of(FileConnection(f"{server.url}/a.nc{query}"))
    path, connection = file.path, ref(file.connection)
    del file
    gc.collect()
    assert connection() is None
    assert ranges.read(ranges.Range(path, 100, 50)) == (folder / "a.nc").read_bytes()[100:150]


def test_no_local_file_is_opened_for_a_remote_one(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """External links, external storage, and virtual datasets of strings and numbers lead to files of the client."""
    h5py, own = peer("h5py"), tmp_path / "own.h5"
    (tmp_path / "own.bin").write_bytes(np.arange(100.0).tobytes())
    texts = h5py.string_dtype()
    with h5py.File(own, "w") as file:
        file["values"] = np.arange(100.0)
        file["texts"] = np.array(["a", "b"], object).astype(texts)
    (tmp_path / "served").mkdir()
    with h5py.File(tmp_path / "served" / "a.h5", "w") as file:
        file["here"] = np.arange(3.0)
        file["file"] = h5py.ExternalLink(str(own), "/")
        file["group/link"] = h5py.ExternalLink("../own.h5", "/values")
        file["soft"] = h5py.SoftLink("/file/values")
        file.create_dataset("stored", (100,), "f8", external=[(str(tmp_path / "own.bin"), 0, 800)])
        file["group/again"] = file["stored"]
        file.create_dataset("half", data=np.arange(4, dtype="f2"), fillvalue=np.float16(3))  # crashes the library
        for name, dtype, source, inside in (
            ("virtual", "f8", str(own), "values"),
            ("texts", texts, str(own), "texts"),
            ("itself", "f8", ".", "here"),
        ):
            length = 2 if name == "texts" else 3
            layout = h5py.VirtualLayout((length,), dtype)
            layout[:] = h5py.VirtualSource(source, inside, (length,), dtype=dtype)
            file.create_virtual_dataset(name, layout)
    server = RangedServer(tmp_path / "served")
    try:
        with pytest.warns(nczarr.DataWarning):
            found = nczarr.open(f"{server.url}/a.h5")
        assert {path: value.tolist() for path, value in values_of(found).items()} == {
            "/here": [0, 1, 2],
            "/half": [0, 1, 2, 3],
            "/itself": [0, 1, 2],
        }
        told = "".join(" ".join((each.message, *each.notes)) for each in found.diagnostics)
        assert all(
            f"`{name}`" in told
            for name in ("/file", "/group/link", "/soft", "/stored", "/group/again", "/virtual", "/texts")
        )
    finally:
        server.close()


@pytest.mark.filterwarnings("ignore::nczarr.DataWarning")
def test_damaged_fill_values_of_strings_are_those_of_the_disk(
    tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    """HDF5 reads them with all properties of a dataset."""
    with peer("h5py").File(tmp_path / "a.h5", "w") as file:
        file["here"] = np.arange(3.0)
        file.create_dataset("texts", (3,), peer("h5py").string_dtype(), fillvalue="x")
    (tmp_path / "a.h5").write_bytes((tmp_path / "a.h5").read_bytes().replace(b"GCOL", b"LOCG"))
    outcomes = []
    server = RangedServer(tmp_path)
    try:
        for place in (f"{server.url}/a.h5", str(tmp_path / "a.h5")):
            try:
                outcomes.append(str(opened(place) if place.startswith("http") else nczarr.open(place)))
            except (OSError, CompileError) as error:
                outcomes.append(str(error).replace("nc_open_mem", "nc_open"))
            outcomes[-1] = outcomes[-1].replace(place, "the file")
    finally:
        server.close()
    assert outcomes[0] == outcomes[1]
