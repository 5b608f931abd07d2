"""Datasets through the clients of DAP2 and DAP4 that others wrote: types, values and attributes are those of the file.

tests/support/peers/dap_rules.py states what each protocol changes. A few files here, all real ones in the proof.
"""

from __future__ import annotations

import html
import re
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.__main__ import main
from tests.conftest import ROOT
from tests.support.peers import exactness
from tests.support.peers.dap_rules import differences
from tests.support.serving import Served, serving

pytestmark = [pytest.mark.peer, pytest.mark.usefixtures("plain_http")]

GRIDS = """netcdf t {
dimensions: x = 2 ; n = 3 ;
variables: double x(x) ; float y(x) ; int plain(n) ; int z(x) ;
data: x = 1, 2 ; y = 3, 4 ; plain = 5, 6, 7 ; z = 8, 9 ;
}
"""

RECORDS = """netcdf t {
dimensions: time = UNLIMITED ; run = UNLIMITED ; x = 2 ;
variables: double time(time) ; float late(x, time) ; float early(run, x) ; byte b(x) ; string s(x) ; char c(x, time) ;
byte plus(x) ; plus:_Unsigned = "true" ; plus:_FillValue = -1b ;
ubyte sign(x) ; sign:_Unsigned = "false" ; ubyte no(x) ;
late:_FillValue = -9999.f ; early:units = "a \\\\ b & c" ; b:flags = 1b, -1b ; s:list = "one", "two" ;
:history = "first line\\nsecond \\"line\\"" ;
data: time = 1, 2 ; late = {1, 2}, {3, 4} ; early = 5, 6 ; b = -1, 1 ; s = "", "täglich" ; c = {"ab"}, {"c"} ;
plus = -56, 5 ; sign = 200, 5 ; no = 200, 5 ;
}
"""

MASKED = """netcdf t {
dimensions: x = 4 ;
variables:
  float own(x) ; own:_FillValue = -9999.f ; own:valid_max = 1.e30f ;
  float both(x) ; both:_FillValue = 1.e20f ; both:missing_value = 1.e20f ;
  float others(x) ; others:_FillValue = 1.e20f ; others:missing_value = -9999.f, 5.f ;
  float missing(x) ; missing:missing_value = -9999.f ;
  float infinite(x) ; infinite:_FillValue = Infinityf ;
  float none(x) ; none:_FillValue = NaNf ;
  double wide(x) ; wide:_FillValue = -9999. ;
  short packed(x) ; packed:_FillValue = -999s ; packed:scale_factor = 0.01f ; packed:add_offset = 273.15f ;
  :numbers = 0.1f, -9999.f, NaNf, Infinityf ;
data:
  own = 1, 2, -9999, 3 ; both = 1, 1.e20f, 2, 3 ; others = 1.e20f, -9999, 5, 7 ; missing = 1, 2, -9999, 4 ;
  infinite = 1, Infinityf, 2, 3 ; none = 1, NaN, 3, 4 ; wide = 1, 2, -9999, 4 ; packed = 1, 2, -999, 3 ;
}
"""

GROUPS = """netcdf t {
types: opaque(4) raw ;
dimensions: x = 2 ;
variables: int p(x) ; double x(x) ; raw o(x) ; raw q ;
data: p = 1, 2 ; x = 3, 4 ; o = 0X01020304, 0XF5060708 ; q = 0X0A0B0C0D ;
group: g { dimensions: x = 3 ; variables: float x(x) ; int v(x) ; int p(/x) ; short s ; v:units = "m" ; :title = "g" ;
  data: x = 5, 6, 7 ; v = 1, 2, 3 ; p = 8, 9 ; s = 4 ;
  group: h { variables: int t(x) ; data: t = -1, -2, -3 ; } }
}
"""

FLAT = {
    "p": (("x",), [1, 2]), "x": (("x",), [3, 4]), "g_x": (("g_x",), [5, 6, 7]), "g_v": (("g_x",), [1, 2, 3]),
    "g_p": (("x",), [8, 9]), "g_s": ((), 4), "g_h_t": (("g_x",), [-1, -2, -3]), "q": (("dim_4",), [10, 11, 12, 13]),
    "o": (("x", "dim_4"), [[1, 2, 3, 4], [245, 6, 7, 8]]),
}  # fmt: skip
"""Dimensions and values of GROUPS by DAP2."""

COMPOUNDS = """netcdf t {
types:
  compound even { int a ; float b ; }
  compound gaps { byte a ; double b ; }
  compound row { int a ; int b(2) ; }
dimensions: x = 2 ;
variables: even a(x) ; gaps b(x) ; row c(x) ; int d(x) ; int64 e(x) ; int64 f(x) ;
data: a = {1, 2}, {3, 4} ; b = {1, 2}, {3, 4} ; c = {1, {2, 3}}, {4, {5, 6}} ; d = 7, 8 ; e = 9, 10 ;
  f = 9007199254740993, 0 ;
}
"""

SAMPLES = ("01-station.cdl", "02-grid-groups.cdl", "04-cmip.cdl")

REAL = exactness.real_folder()
EXCUSED = {
    # libnetcdf gives random numbers for what was not written along a second unlimited dimension
    "cc/bad_missing_data.nc": "temp: other values",
    # netCDF4-python takes the nearest dimension `lon`, and reads half of the local variable, which has that of the root
    "02-grid-groups.nc": "ocean_salinity: other values",
}
"""Differences whose cause is the way the local file is read."""

needs_files = pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]) -> Path:
    """Some files of netCDF-4."""
    peer("netCDF4")
    made = tmp_path_factory.mktemp("dap")
    for name, text in (
        ("grids", GRIDS),
        ("records", RECORDS),
        ("masked", MASKED),
        ("groups", GROUPS),
        ("records4", COMPOUNDS),
    ):
        (made / f"{name}.cdl").write_text(text, encoding="utf-8")
        assert main(["convert", str(made / f"{name}.cdl"), str(made / f"{name}.nc")]) == 0
        (made / f"{name}.cdl").unlink()
    for name in SAMPLES:
        assert main(["convert", str(ROOT / "samples" / name), str(made / f"{Path(name).stem}.nc")]) == 0
    return made


@pytest.fixture(scope="module")
def served(folder: Path, peer: Callable[[str], ModuleType]) -> Iterator[Served]:
    peer("uvicorn")
    with serving(folder) as found:
        yield found


def address(served: Served, protocol: str, place: str) -> str:
    """The URL of a dataset for libnetcdf."""
    return f"{served.url}{protocol}/{place}" + ("#dap4" if protocol == "dap4" else "")


def compared(library: Any, path: Path, other: str | Path, protocol: str) -> list[str]:
    """Differences that the rules do not explain, without the excused ones."""
    with library.Dataset(path) as local, library.Dataset(other) as remote:
        found = differences(local, remote, protocol)
    return [each for each in found if not any(path.match(key) and text in each for key, text in EXCUSED.items())]


NAMES = ("grids.nc", "records.nc", "masked.nc", *(f"{Path(name).stem}.nc" for name in SAMPLES))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("protocol", ["dap2", "dap4"])
@pytest.mark.parametrize("name", NAMES)
def test_netcdf4_python(
    name: str, protocol: str, folder: Path, served: Served, peer: Callable[[str], ModuleType]
) -> None:
    assert compared(peer("netCDF4"), folder / name, address(served, protocol, name), protocol) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("protocol", ["dap2", "dap4"])
@pytest.mark.parametrize("client", ["nccopy", "ncdump", "ncks"])
@pytest.mark.parametrize("name", ["grids.nc", "01-station.nc", "04-cmip.nc"])
def test_commands(
    name: str,
    client: str,
    protocol: str,
    folder: Path,
    served: Served,
    tool: Callable[[str], str],
    peer: Callable[[str], ModuleType],
    tmp_path: Path,
) -> None:
    """Copies by nccopy, by ncdump with ncgen, and by ncks equal the file."""
    library, url, copy = peer("netCDF4"), address(served, protocol, name), tmp_path / "copy.nc"
    if client == "ncdump":
        text = subprocess.run([tool("ncdump"), "-p9,17", url], capture_output=True, check=True, timeout=60).stdout
        (tmp_path / "copy.cdl").write_bytes(text)
        subprocess.run([tool("ncgen"), "-4", "-o", copy, tmp_path / "copy.cdl"], check=True, timeout=60)
    else:
        options = ["-4"] if client == "nccopy" else ["-O", "-4", "-h"]
        subprocess.run([tool(client), *options, url, copy], check=True, timeout=60, capture_output=True)
    assert compared(library, folder / name, copy, protocol) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", ["netcdf4", "pydap"])
@pytest.mark.parametrize("protocol", ["dap2", "dap4"])
@pytest.mark.parametrize("name", ["grids.nc", "01-station.nc", "04-cmip.nc"])
def test_xarray(
    name: str, protocol: str, engine: str, folder: Path, served: Served, peer: Callable[[str], ModuleType]
) -> None:
    xarray = peer("xarray")
    peer("pydap")
    url = address(served, protocol, name)
    if engine == "pydap":
        url = url.replace("http:", f"{protocol}:", 1).partition("#")[0]
    with (
        xarray.open_dataset(folder / name, engine="netcdf4") as local,
        xarray.open_dataset(url, engine=engine) as remote,
    ):
        assert set(local.variables) == set(remote.variables)
        for key, variable in local.variables.items():
            there = remote.variables[key]
            if variable.dtype.kind == "S" and there.dtype == "u1":  # pydap takes a Char for a number
                texts = [row.tobytes().rstrip(b"\0") for row in there.values]
                assert (there.dims[:-1], texts) == (variable.dims, variable.values.tolist()), key
                continue
            assert there.dims == variable.dims, key
            assert variable.astype(there.dtype).equals(there), key


@pytest.mark.parametrize("engine", ["netcdf4", "pydap"])
def test_groups_and_opaque_values_by_xarray(engine: str, served: Served, peer: Callable[[str], ModuleType]) -> None:
    """Names of groups are joined by underscores, and bytes have a dimension: libnetcdf reads them as signed."""
    xarray = peer("xarray")
    peer("pydap")
    url = address(served, "dap2", "groups.nc")
    if engine == "pydap":
        url = url.replace("http:", "dap2:", 1)
    with xarray.open_dataset(url, engine=engine) as found:
        read = {
            name: (each.dims, (each.values.view("u1") if each.dtype == "i1" else each.values).tolist())
            for name, each in found.variables.items()
        }
        assert read == FLAT
        assert found["g_v"].attrs["units"] == "m"
        assert found["g_v"][1:].values.tolist() == [2, 3]


def test_groups_and_opaque_values_by_our_client(served: Served) -> None:
    with nczarr.open(f"dap2:{address(served, 'dap2', 'groups.nc')}") as found:
        read = {name: (each.dimensions, each[...].tolist()) for name, each in found.variables.items()}
        assert read["g%2fv"] == (("/g%2fx",), [1, 2, 3])
        assert read["g%2fh%2ft"] == (("/g%2fx",), [-1, -2, -3])
        assert read["o"] == (("/x", 4), FLAT["o"][1])
        assert found["/g%2fv"].attributes == {"units": "m"}
        assert found.attributes["g.title"] == "g"


@pytest.mark.parametrize("protocol", ["recommended", "dap4"])
def test_values_are_masked_and_unpacked(
    protocol: str, folder: Path, served: Served, peer: Callable[[str], ModuleType]
) -> None:
    """By the URL that the page recommends, decoded values are those of the file; by DAP4 packed ones are doubles."""
    library, xarray = peer("netCDF4"), peer("xarray")
    url = address(served, "dap4", "masked.nc")
    if protocol == "recommended":
        page = html.unescape(served.get("/browse/masked.nc").text)
        (url,) = re.findall(r'xr\.open_dataset\("(.*)", engine="netcdf4"\)', page)
        assert url == address(served, "dap2", "masked.nc")
    exact = 0 if protocol == "recommended" else 1e-6
    with library.Dataset(folder / "masked.nc") as local, library.Dataset(url) as remote:
        for name, variable in local.variables.items():
            one, other = variable[...], remote[name][...]
            assert np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other)), name
            assert np.ma.allclose(one, other, rtol=exact, atol=0), name
        assert np.array_equal(local.numbers, remote.numbers.astype("f4"), equal_nan=True)
    with (
        warnings.catch_warnings(action="ignore", category=xarray.SerializationWarning),  # several fill values
        xarray.open_dataset(folder / "masked.nc", engine="netcdf4") as local,
        xarray.open_dataset(url, engine="netcdf4") as remote,
    ):
        for name in local.variables:
            one, other = local[name].values, remote[name].values
            assert np.allclose(one, other, rtol=exact, atol=0, equal_nan=True), name
            assert protocol == "dap4" or one.dtype == other.dtype, name


def test_dap4_is_recommended_where_dap2_lacks_groups(served: Served) -> None:
    page = html.unescape(served.get("/browse/02-grid-groups.nc").text)
    assert f'"{address(served, "dap4", "02-grid-groups.nc")}", engine="netcdf4")' in page
    assert "DAP2 lacks groups or types of this dataset" in page


@pytest.mark.slow
@needs_files
@pytest.mark.parametrize("protocol", ["dap2", "dap4"])
def test_real_files(protocol: str, peer: Callable[[str], ModuleType]) -> None:
    library = peer("netCDF4")
    assert REAL is not None
    wrong: dict[str, list[str]] = {}
    count = 0
    with serving(REAL) as served:
        for subject in exactness.real(REAL):
            place = subject.path.relative_to(REAL).as_posix()
            wrong[place] = compared(library, subject.path, address(served, protocol, place), protocol)
            count += 1
    assert {place: found for place, found in wrong.items() if found} == {}
    assert count > 50


def test_compounds_that_libnetcdf_misreads_are_listed(
    folder: Path, served: Served, peer: Callable[[str], ModuleType]
) -> None:
    library = peer("netCDF4")
    with (
        library.Dataset(folder / "records4.nc") as local,
        library.Dataset(address(served, "dap4", "records4.nc")) as far,
    ):
        wrong = {name for name in local.variables if str(local[name][...]) != str(far[name][...])}
        told = {text.partition(":")[0][1:]: "4.9.0" in text for text in far.getncattr("_nczarr_left_out")}
    assert wrong - told.keys() == set()
    if tuple(map(int, library.__netcdf4libversion__.split(".")[:2])) > (4, 9):
        assert wrong <= {name for name, is_old in told.items() if not is_old}
    with library.Dataset(address(served, "dap2", "records4.nc")) as far:
        assert far["c.b"][...].tolist() == [[2, 3], [5, 6]]
        assert far["e"][...].tolist() == [9, 10]  # requested with all small variables
        assert "f" not in far.variables
        assert "/f: it has the int64 value 9007199254740993" in far.getncattr("_nczarr_left_out")


@pytest.mark.long
@pytest.mark.parametrize(
    "expression", ["/late;/time;/early", "/time=[1:1];/late;/time", "/x=[0:0];/late[][1];/b;/early"]
)
def test_expressions_of_dap4_with_several_variables(
    expression: str, folder: Path, served: Served, peer: Callable[[str], ModuleType]
) -> None:
    """libnetcdf reads them from one answer, pydap each from its own: it adds its indices to no slice of the URL."""
    library, numpy, client = peer("netCDF4"), peer("numpy"), peer("pydap.client")
    slices = {"time": slice(1, 2)} if "time=" in expression else {"x": slice(0, 1)} if "x=" in expression else {}
    with library.Dataset(folder / "records.nc") as file:
        truth = {
            name: file[name][...][tuple(slices.get(each, slice(None)) for each in file[name].dimensions)]
            for name in ("late", "time", "early", "b")
        }
    if "[1]" in expression:
        truth["late"] = truth["late"][:, 1:2]
    url = f"{served.url}dap4/records.nc?dap4.ce={expression}"
    other = client.open_url(url.replace("http:", "dap4:"))
    with library.Dataset(f"{url}#dap4") as found:
        assert len(found.variables) > 1
        for name, variable in found.variables.items():
            assert numpy.array_equal(variable[...], truth[name]), name
            if not slices:
                assert numpy.array_equal(numpy.asarray(other[name][...].data), truth[name]), name
