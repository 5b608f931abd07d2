"""netCDF-4 files: what a dataset becomes there, seen by ncdump, by h5py and by the netCDF library."""

from __future__ import annotations

import bz2
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.formats.netcdf4 import backend
from nczarr.formats.netcdf4.define import default_chunks
from nczarr.formats.netcdf4.library import MissingLibraryError

Peer = Callable[[str], ModuleType]
Tool = Callable[[str], str]
EVERYTHING = Path(__file__).with_name("everything.dump.cdl")


def text(lines: str) -> nczarr.DatasetHandle:
    return nczarr.from_cdl(f"netcdf t {{\n{lines}\n}}\n")


def dumped(ncdump: str, path: Path, *flags: str) -> str:
    return subprocess.run([ncdump, *flags, str(path)], check=True, capture_output=True, text=True).stdout


def codes(error: pytest.ExceptionInfo[CompileError]) -> list[str]:
    return [found.code for found in error.value.diagnostics]


def test_every_type_from_the_builder_to_ncdump(tmp_path: Path, tool: Tool, peer: Peer) -> None:
    """A dataset with every type there is, declared in Python, written as netCDF-4, printed by ncdump."""
    peer("netCDF4")
    b = nczarr.DatasetBuilder("everything")

    # Types of one's own come first: they are used below like the atomic ones.
    sky = b.enum("sky", "ubyte", {"clear": 0, "cloudy": 1, "unknown": 255})
    key = b.opaque("key", 4)
    track = b.vlen("track", "float")
    place = b.compound("place", {"lat": "double", "lon": "double"})
    report = b.compound("report", {"at": place, "sky": sky, "note": "string", "heights": ("short", 2), "path": track})
    fleet = b.vlen("fleet", report)

    # Dimensions: one grows, one does not.
    time = b.dimension("time", unlimited=True)
    site = b.dimension("site", 2)

    # A variable of each atomic type, over the site ...
    numbers = {
        "byte": [-1, 1], "ubyte": [0, 255], "short": [-300, 300], "ushort": [0, 65000], "int": [-70000, 70000],
        "uint": [0, 4_000_000_000], "int64": [-(2**60), 2**60], "uint64": [0, 2**64 - 1],
        "float": [0.5, 1e10], "double": [0.1, -1e100],
    }  # fmt: skip
    data: dict[str, object] = {}
    for name, values in numbers.items():
        b.variable(f"a_{name}", name, [site])
        data[f"/a_{name}"] = values
    b.variable("a_char", "char", [site])
    data["/a_char"] = b"ok"
    b.variable("a_string", "string", [site])
    data["/a_string"] = ["north", None]  # None is NIL, which is not the empty text

    # ... and one of each type of one's own; attributes may have them too.
    b.variable("weather", sky, [time, site], fill_value="unknown")
    data["/weather"] = [["clear", "cloudy"], ["cloudy", "clear"]]
    b.variable("id", key, [site])
    data["/id"] = [b"\x01\x02\x03\x04", b"\xff\x00\xff\x00"]
    b.variable("route", track, [site])
    data["/route"] = [[1.5, 2.5, 3.5], []]
    log = b.group("ships").variable("log", fleet, [time])
    first = {"at": {"lat": 54.0, "lon": 10.0}, "sky": "clear", "note": "calm", "heights": [1, 2], "path": [0.5]}
    last = {"at": {"lat": 55.0, "lon": 11.0}, "sky": "cloudy", "note": "", "heights": [3, 4], "path": []}
    data["/ships/log"] = [[first], [first, last]]
    log.attribute("home", {"lat": 54.3, "lon": 10.1}, type=place)
    log.attribute("units", "1")

    ds = b.finish(data=data)
    nczarr.write(ds, tmp_path / "everything.nc")

    assert dumped(tool("ncdump"), tmp_path / "everything.nc") == EVERYTHING.read_text("utf-8")


def test_a_codec_of_ours_stands_in_for_a_plug_in(tmp_path: Path, peer: Peer) -> None:
    """HDF5 has no bzip2 of its own; the chunks are bzip2 all the same, and the library reads them back."""
    h5py, netcdf = peer("h5py"), peer("netCDF4")
    values = ", ".join(map(str, range(1000)))
    ds = text(
        "dimensions: x = 1000 ;\nvariables: int v(x) ;\n"
        f'v:_ChunkSizes = 300 ; v:_Filter = "307,9" ;\ndata: v = {values} ;'
    )
    path = tmp_path / "t.nc"
    nczarr.write(ds, path)
    with h5py.File(path) as file:
        plist = file["v"].id.get_create_plist()
        assert [plist.get_filter(i)[0] for i in range(plist.get_nfilters())] == [307]
        mask, chunk = file["v"].id.read_direct_chunk((300,))
    assert mask == 0
    assert np.frombuffer(bz2.decompress(chunk), "<i4").tolist() == list(range(300, 600))
    with netcdf.Dataset(path) as file:
        assert file["v"][:].tolist() == list(range(1000))


FILTERED = 'dimensions: x = 4 ;\nvariables: int v(x) ;\nv:_ChunkSizes = 2 ; v:_Filter = "33000,1,2" ;\n'


def test_a_filter_that_nobody_has_needs_no_encoder_without_values(tmp_path: Path, tool: Tool, peer: Peer) -> None:
    peer("netCDF4")
    nczarr.write(text(FILTERED), tmp_path / "t.nc")
    assert 'v:_Filter = "33000,1,2" ;' in dumped(tool("ncdump"), tmp_path / "t.nc", "-hs")


def test_a_filter_that_nobody_has_stops_values(tmp_path: Path, peer: Peer) -> None:
    peer("netCDF4")
    with pytest.raises(CompileError) as error:
        nczarr.write(text(FILTERED + "data: v = 1, 2, 3, 4 ;"), tmp_path / "t.nc")
    assert codes(error) == ["unavailable-filter"]
    assert "33000" in error.value.diagnostics[0].message
    assert list(tmp_path.iterdir()) == []


def test_what_the_library_refuses_is_a_diagnostic_and_leaves_nothing(tmp_path: Path, peer: Peer) -> None:
    peer("netCDF4")
    ds = text('dimensions: x = 8 ;\nvariables: int v(x) ;\nv:_Filter = "4,32,8|1,5" ;\ndata: v = 1 ;')
    with pytest.raises(CompileError) as error:
        nczarr.write(ds, tmp_path / "t.nc")
    assert codes(error) == ["refused-storage"]
    assert list(tmp_path.iterdir()) == []


def test_a_missing_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingLibraryError

    monkeypatch.setattr(backend, "library", missing)
    with pytest.raises(CompileError) as error:
        nczarr.write(text(""), tmp_path / "t.nc", "netcdf4")
    assert codes(error) == ["missing-library"]
    assert "pip install 'nczarr[netcdf]'" in error.value.diagnostics[0].helps[0]


def test_the_same_text_makes_the_same_bytes(tmp_path: Path, peer: Peer) -> None:
    peer("netCDF4")
    ds = text(
        "types: int(*) row ;\ndimensions: u = UNLIMITED ;\nvariables: int v(u) ; string s(u) ; row r(u) ;\n"
        'data: v = 1, 2 ; s = "a", "bc" ; r = {1}, {2, 3} ;\ngroup: g { :a = 1 ; }'
    )
    for name in ("a.nc", "b.nc"):
        nczarr.write(ds, tmp_path / name)
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_records_that_are_all_fill_still_count(tmp_path: Path, peer: Peer) -> None:
    """The last of the records hold nothing; the dimension is as long as the dataset says."""
    netcdf = peer("netCDF4")
    ds = nczarr.from_notation(
        "dataset t 2.0.0 {\n  dimension time unlimited 5\n  variable v int /time\n  variable w string /time\n}\n"
    )
    nczarr.write(ds, tmp_path / "t.nc")
    with netcdf.Dataset(tmp_path / "t.nc") as file:
        assert len(file.dimensions["time"]) == 5
        assert file["v"][:].mask.all()


def test_a_few_values_in_a_vast_array_take_little_room(tmp_path: Path, peer: Peer) -> None:
    netcdf = peer("netCDF4")
    ds = text(
        "dimensions: x = 100000 ; y = 20000 ;\n"
        "variables: int v(x, y) ;\nv:_ChunkSizes = 100, 100 ;\ndata: v = 1, 2, 3 ;"
    )
    nczarr.write(ds, tmp_path / "t.nc")
    assert (tmp_path / "t.nc").stat().st_size < 40_000_000
    with netcdf.Dataset(tmp_path / "t.nc") as file:
        assert file["v"][0, :4].tolist() == [1, 2, 3, None]
        assert file["v"][99999, 19999] is np.ma.masked


def test_chunks_and_codecs_of_the_run(tmp_path: Path, peer: Peer) -> None:
    h5py = peer("h5py")
    ds = text("dimensions: u = UNLIMITED ; x = 10 ;\nvariables: float v(u, x) ; int w(x) ;\ndata: v = 1 ; w = 1, 2 ;")
    nczarr.write(ds, tmp_path / "t.nc", chunks={"u": 50, "x": 5}, codecs={"/v": "shuffle+zlib:7"})
    with h5py.File(tmp_path / "t.nc") as file:
        assert file["v"].chunks == (50, 5)
        assert (file["v"].compression, file["v"].compression_opts, file["v"].shuffle) == ("gzip", 7, True)
        assert (file["w"].chunks, file["w"].compression) == ((5,), None)


def test_a_string_with_a_nul_is_a_loss(tmp_path: Path, peer: Peer) -> None:
    peer("netCDF4")
    ds = nczarr.from_notation('dataset t 2.0.0 {\n  attribute note string "a\\x00b"\n}\n')
    with pytest.raises(CompileError) as error:
        nczarr.write(ds, tmp_path / "t.nc")
    assert codes(error) == ["cut-string"]
    assert [found.code for found in nczarr.write(ds, tmp_path / "t.nc", allow_loss="cut-string")] == ["cut-string"]


@pytest.mark.parametrize(
    ("cdl", "kind"),
    [
        ("int v ;", "classic"),
        ("int64 v ;", "cdf5"),
        ("string v ;", "netCDF-4"),
        ("int v ; v:a = 1ull ;", "cdf5"),
        ('char v ; string v:a = "x" ;', "netCDF-4"),
    ],
)
def test_the_smallest_kind_that_holds_the_dataset(cdl: str, kind: str, tmp_path: Path, tool: Tool, peer: Peer) -> None:
    peer("netCDF4")
    nczarr.write(text(f"variables: {cdl}"), tmp_path / "t.nc")
    assert dumped(tool("ncdump"), tmp_path / "t.nc", "-k").strip() == kind


@pytest.mark.parametrize(
    ("lengths", "itemsize", "chunks"),
    [
        ((None,), 4, (1024,)),
        ((None, None), 4, (2048, 2048)),
        ((None, 1000), 8, (1, 1000)),
        ((3000, 3000), 8, (1000, 1000)),
        ((10**7,), 8, (2000000,)),
    ],
)
def test_default_chunks(lengths: tuple[int | None, ...], itemsize: int, chunks: tuple[int, ...]) -> None:
    """Those that ncgen 4.9.0 chooses (peers/test_ncgen.py asks it about many more)."""
    assert default_chunks(lengths, itemsize) == chunks


@pytest.mark.slow
def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path, peer: Peer) -> None:
    """The library crashes when it is to close a file that cannot be written: the status must say what happened."""
    peer("netCDF4")
    (tmp_path / "t.cdl").write_text(
        "netcdf t {\ndimensions: x = 100000 ;\nvariables: int v(x) ;\ndata: v = " + "1, " * 99_999 + "2 ;\n}\n"
    )
    limited = (
        "import resource, sys\nsys.dont_write_bytecode = True\nfrom nczarr.__main__ import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        f"sys.exit(main(['compile', {str(tmp_path / 't.cdl')!r}, '-k', 'nc4', '-o', {str(tmp_path / 't.nc')!r}]))\n"
    )
    run = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, timeout=60)
    assert run.returncode == 3, run.stderr
    assert "File too large" in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.cdl"]


def test_cells_that_a_source_skips_hold_the_source_s_fill(tmp_path: Path, peer: Peer) -> None:
    """A store's fill value need not be what the library shows in a cell that was never written."""
    netcdf, zarr = peer("netCDF4"), peer("zarr")
    store = zarr.create_group(str(tmp_path / "t.zarr"), zarr_format=2)
    sparse = store.create_array("v", shape=(6,), chunks=(2,), dtype="i4", fill_value=7)
    sparse.attrs["_ARRAY_DIMENSIONS"] = ["x"]
    sparse[2:4] = [1, 2]
    nczarr.write(nczarr.open(tmp_path / "t.zarr"), tmp_path / "t.nc", "netcdf4")
    with netcdf.Dataset(tmp_path / "t.nc") as file:
        file.set_auto_mask(False)
        assert file["v"][:].tolist() == [7, 7, 1, 2, 7, 7]


def test_an_enum_without_fill_value_reads_as_that_of_its_base_where_a_list_is_short(tmp_path: Path, peer: Peer) -> None:
    """Cells that no list mentions were never written: as ncgen leaves them, and in every other format."""
    netcdf = peer("netCDF4")
    ds = text(
        "types: byte enum e { zero = 0, one = 1 } ;\ndimensions: x = 4 ;\n"
        "variables: e v(x) ; v:_ChunkSizes = 1 ;\ndata: v = one ;"
    )
    nczarr.write(ds, tmp_path / "t.nc")
    with netcdf.Dataset(tmp_path / "t.nc") as file:
        file.set_auto_mask(False)
        assert file["v"][:].tolist() == [1, -127, -127, -127]
