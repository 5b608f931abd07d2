"""`nczarr pyramid`: the tree of levels, methods by variable, coordinates, chunks, refusals and interrupted runs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from tests.conftest import run_command

MAP = """netcdf map {
types:
  byte enum kind { sea = 0, land = 1 } ;
dimensions:
  time = UNLIMITED ; y = 4 ; x = 6 ; nv = 2 ; corner = 4 ; name_len = 2 ;
variables:
  double time(time) ;
    time:units = "days since 2000-01-01" ;
  int y(y) ;
    y:units = "m" ; y:standard_name = "projection_y_coordinate" ; y:bounds = "y_bnds" ;
  double x(x) ;
    x:units = "m" ; x:standard_name = "projection_x_coordinate" ;
  double y_bnds(y, nv) ;
  float lat(y, x) ;
    lat:units = "degrees_north" ; lat:bounds = "lat_corners" ;
  float lat_corners(y, x, corner) ;
  int crs ;
    crs:grid_mapping_name = "transverse_mercator" ;
    crs:GeoTransform = "0 10 0 100 0 -5" ;
  short packed(time, y, x) ;
    packed:scale_factor = -0.5 ; packed:add_offset = 10. ; packed:_FillValue = -1s ; packed:grid_mapping = "crs" ;
    packed:coordinates = "lat" ;
  byte mask(y, x) ;
    mask:flag_values = 0b, 1b, 2b ; mask:flag_meanings = "a b c" ;
  kind surface(y, x) ;
  string label(y, x) ;
  char code(y, x, name_len) ;
  float profile(time, y) ;
data:
  time = 0, 1 ;
  y = 90, 80, 70, 60 ;
  x = 5, 15, 25, 35, 45, 55 ;
  y_bnds = 95, 85, 85, 75, 75, 65, 65, 55 ;
  packed = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, -1, -1, 3, -1, 5, 6, -1, -1, 9, 10, 11, 12,
    24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1 ;
  mask = 0, 1, 2, 2, 1, 0, 1, 0, 2, 1, 0, 0, 2, 2, 1, 0, 1, 1, 2, 0, 1, 0, 1, 2 ;
  surface = sea, land, land, land, sea, sea, land, land, sea, land, sea, land,
    sea, sea, land, land, sea, sea, land, sea, land, land, sea, sea ;
  label = "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
    "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x" ;
  code = "aabbccddeeffgghhiijjkkllmmnnooppqqrrssttuuvvwwxx" ;
}
"""


def made(folder: Path, text: str = MAP, form: str = "zarr3", **options: Any) -> Any:
    """The pyramid of a text, open."""
    nczarr.pyramid(nczarr.from_cdl(text), folder / "p.zarr", form, levels=options.pop("levels", 1), **options)
    return nczarr.open(folder / "p.zarr")


@pytest.mark.parametrize("form", ["zarr3", "zarr2", "nczarr", "nczarr3"])
def test_values_by_type(form: str, tmp_path: Path) -> None:
    """Means are rounded in the packed type, classes have modes, texts the first cell; all missing is missing."""
    level = made(tmp_path, form=form, allow_loss=["all"])
    assert level["/1/packed"][0].tolist() == [[4, 6, 8], [-1, 7, 8]]  # 4.5 and 8.5 to even
    assert level["/1/mask"][:].tolist() == [[0, 2, 0], [2, 0, 1]]
    assert level["/1/surface"][:].tolist() == [[1, 1, 0], [0, 1, 0]]
    assert [str(one) for one in np.ravel(level["/1/label"][:])] == ["a", "c", "e", "m", "o", "q"]
    assert level["/1/x"][:].tolist() == [10, 30, 50]
    assert level["/1/y"][:].tolist() == [85, 65]
    assert level["/1/y_bnds"][:].tolist() == [[95, 75], [75, 55]]
    assert level["/0/packed"][:].tolist() == nczarr.from_cdl(MAP)["packed"][:].tolist()
    assert level["/1/time"][:].tolist() == [0, 1]


def test_the_tree_of_a_level(tmp_path: Path) -> None:
    """Levels have what the reduced variables need, and no corners of cells, whose attribute goes too."""
    tree = made(tmp_path, allow_loss=["all"]).dataset
    zero, one = (next(group for group in tree.groups if group.name == name) for name in "01")
    names = {variable.name: variable for variable in one.variables}
    gone = {variable.name for variable in zero.variables} - names.keys()
    assert gone == {"profile", "lat_corners"}
    assert not [each for each in names["lat"].attributes if each.name == "bounds"]
    transform = next(each for each in names["crs"].attributes if each.name == "GeoTransform")
    assert transform.value.data == b"0 20 0 100 0 -10"
    assert names["y"].type == "double"
    assert {dimension.name: dimension.size for dimension in one.dimensions} == {
        "time": 2, "y": 2, "x": 3, "nv": 2, "name_len": 2,
    }  # fmt: skip


def test_methods_by_variable_and_decoded_extremes(tmp_path: Path) -> None:
    """The maximum of packed values is the minimum of stored ones where the factor is negative."""
    level = made(tmp_path, method={"": "max", "mask": "min", "/packed": "min"}, allow_loss=["all"])
    assert level["/1/packed"][1].tolist() == [[24, 22, 20], [12, 10, 8]]
    assert level["/1/mask"][:].tolist() == [[0, 1, 0], [0, 0, 1]]
    assert level["/1/lat"][:].dtype == "f4"
    spec = json.loads(str(level.attributes["nczarr_pyramid"]))
    assert spec["methods"] == {"": "max", "mask": "min", "/packed": "min"}


def test_unpacked_means(tmp_path: Path) -> None:
    level = made(tmp_path, unpack=True, allow_loss=["all"])
    found = level["/1/packed"]
    assert found[0].tolist()[0] == [10 - 4.5 / 2, 10 - 6.5 / 2, 10 - 8.5 / 2]
    assert np.isnan(found[0][1, 0])
    assert not {"scale_factor", "add_offset"} & {each.name for each in found.variable.attributes}


def test_any_dimensions_and_groups(tmp_path: Path) -> None:
    text = f"""netcdf g {{ group: sub {{ dimensions: a = 4 ; b = 3 ; c = 5 ;
      variables: double v(a, b, c) ; data: v = {", ".join(map(str, range(60)))} ; }} }}"""
    level = made(tmp_path, text, along=["a", "c"])
    values = np.arange(60.0).reshape(4, 3, 5)
    assert level["/1/sub/v"][:].shape == (2, 3, 3)
    assert level["/1/sub/v"][0, 1, 2] == values[:2, 1, 4:].mean()
    three = tmp_path / "three.zarr"
    nczarr.pyramid(nczarr.from_cdl(text), three, "zarr3", along="a,b,c".split(","), levels=2)
    assert nczarr.open(three)["/2/sub/v"][:].tolist() == [[[values[..., :4].mean(), values[..., 4].mean()]]]


def test_chunks_and_shards_by_level(tmp_path: Path) -> None:
    text = "netcdf m { dimensions: y = 64 ; x = 64 ; variables: float t(y, x) ; t:_FillValue = 0.f ; }"
    made(tmp_path, text, levels=2, chunks={"y": 16, "/1/t": [8, 8]}, shards={"/1/t": [32, 32]})
    read = {level: json.loads((tmp_path / f"p.zarr/{level}/t/zarr.json").read_text()) for level in "012"}
    assert read["1"]["chunk_grid"]["configuration"]["chunk_shape"] == [32, 32]
    assert read["1"]["codecs"][0]["configuration"]["chunk_shape"] == [8, 8]
    assert read["2"]["chunk_grid"]["configuration"]["chunk_shape"][0] == 16


def test_the_number_of_levels(tmp_path: Path) -> None:
    """Until the longer dimension has at most 256 cells."""
    text = "netcdf m { dimensions: lat = 3 ; lon = 2000 ; variables: byte t(lat, lon) ; t:_FillValue = 0b ; }"
    done = run_command("pyramid", "-", str(tmp_path / "p.zarr"), "-q", stdin=text.encode())
    assert done.status == 0, done.err
    assert sorted(group.name for group in nczarr.open(tmp_path / "p.zarr").dataset.groups) == ["0", "1", "2", "3"]


def test_other_targets(tmp_path: Path) -> None:
    """netCDF-4 files and archives have levels too."""
    for name in ("p.nc", "p.zip"):
        nczarr.pyramid(nczarr.from_cdl(MAP), tmp_path / name, levels=2, allow_loss=["all"])
        assert nczarr.open(tmp_path / name)["/1/mask"][:].tolist() == [[0, 2, 0], [2, 0, 1]]
        assert nczarr.open(tmp_path / name)["/2/x"][:].tolist() == [20, 50]


def test_chunks_of_level_0_are_copied(tmp_path: Path) -> None:
    words = ("-", str(tmp_path / "a.zarr"), "--to", "zarr3", "--allow-loss", "all")
    ran = run_command("convert", *words, stdin=MAP.encode())
    assert ran.status == 0, ran.err
    done = nczarr.pyramid(
        tmp_path / "a.zarr", tmp_path / "p.zarr", "zarr3", levels=1, verify=True, variables=["packed"]
    )
    assert done.copied_chunks > 0
    for path in (tmp_path / "a.zarr/packed/c").rglob("*"):
        other = tmp_path / "p.zarr/0" / path.relative_to(tmp_path / "a.zarr")
        assert path.is_dir() or other.read_bytes() == path.read_bytes()


REFUSED = [
    (["--along", "y,z"], "the dataset has no dimension `z`"),
    (["--method", "label=mean"], "`/label` is of type `string`, which has no mean"),
    (["--method", "surface=max"], "`/surface` is of type `/kind`, which has no max"),
    (["--method", "masc=max"], "`masc` is no variable that is reduced; did you mean `mask`?"),
    (["--levels", "3", "--boundary", "trim"], "level 3 would have no cells along a dimension of length 4"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_refusals(words: list[str], message: str, tmp_path: Path) -> None:
    ran = run_command("pyramid", "-", str(tmp_path / "p.zarr"), *words, "--allow-loss", "all", stdin=MAP.encode())
    assert ran.status == 1
    assert message in ran.err
    assert "error[unsuited-pyramid]" in ran.err
    assert not os.listdir(tmp_path)


def test_cells_beyond_the_memory_are_refused(tmp_path: Path) -> None:
    text = "netcdf m { dimensions: y = 3000 ; x = 3000 ; variables: float t(y, x) ; }"
    words = ("-", str(tmp_path / "p.zarr"), "--to", "zarr3", "--memory", "100MB")
    ran = run_command("pyramid", *words, "--levels", "12", stdin=text.encode())
    assert "a cell of level 12 of `/t` needs 180000000 bytes of memory, of 100000000" in ran.err
    assert run_command("pyramid", *words, stdin=text.encode()).status == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--levels", "0"], "a pyramid has 1 to 30 levels above the first, not 0"),
        (["--levels", "two"], "invalid literal"),
        (["--factor", "1"], "the factor is 2 to 64, not 1"),
        (["--method", "mask=median"], "`median` is not a method: use mean, nearest, mode, min, max"),
        (["--convention", "cog"], "`cog` is not one of geo, ome"),
    ],
)
def test_misuse(words: list[str], message: str, tmp_path: Path) -> None:
    ran = run_command("pyramid", "a.nc", str(tmp_path / "p.zarr"), *words)
    assert ran.status == 2
    assert message in ran.err


def test_a_pyramid_of_a_pyramid_is_refused(tmp_path: Path) -> None:
    made(tmp_path, allow_loss=["all"])
    with pytest.raises(CompileError, match="is a pyramid already"):
        nczarr.pyramid(tmp_path / "p.zarr", tmp_path / "q.zarr")
    with pytest.raises(FileExistsError):
        nczarr.pyramid(nczarr.from_cdl(MAP), tmp_path / "p.zarr", allow_loss=["all"])
    with pytest.raises(TypeError, match="name the target"):
        nczarr.pyramid(nczarr.from_cdl(MAP))
    with pytest.raises(ValueError, match="is not a method"):
        nczarr.pyramid(nczarr.from_cdl(MAP), tmp_path / "q.zarr", method="median")  # type: ignore[arg-type]


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    """Neither a target nor the temporary file of the levels."""
    source = tmp_path / "a.zarr"
    shape = (16, 1024, 1024)
    text = f"netcdf m {{ dimensions: t = {shape[0]} ; y = 1024 ; x = 1024 ; variables: double v(t, y, x) ; }}"
    nczarr.write(nczarr.from_cdl(text), source, "zarr3", chunks={"t": 1, "y": 128, "x": 128})
    zarr = pytest.importorskip("zarr")
    zarr.open_array(str(source / "v"))[...] = np.random.default_rng(0).normal(size=shape)
    words = [sys.executable, "-m", "nczarr", "pyramid", str(source), str(tmp_path / "out" / "p.zarr"), "--to", "zarr3"]
    (tmp_path / "out").mkdir()
    run = subprocess.Popen(words, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while run.poll() is None and not any((tmp_path / "out").rglob("c")) and time.monotonic() < end:
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    left = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert run.returncode == 0 or not [path for path in left if not re.search(r"lock", path.name)]


def test_a_classic_source_has_levels(tmp_path: Path) -> None:
    """Its kind of file has no groups."""
    text = "netcdf c { dimensions: y = 4 ; x = 4 ; variables: float v(y, x) ; data: v = 16*2 ; }".replace(
        "16*2", ", ".join(map(str, range(16)))
    )
    nczarr.write(nczarr.from_cdl(text), tmp_path / "c.nc", "netcdf3")
    for target in ("new.zarr", "beside.zarr"):
        nczarr.convert(tmp_path / "c.nc", tmp_path / "beside.zarr", "zarr3", overwrite=True, allow_loss=["all"])
        asked = [str(tmp_path / "c.nc")] if target == "new.zarr" else []
        ran = run_command("pyramid", *asked, str(tmp_path / target), "--along", "y,x", "--levels", "1")
        assert ran.status == 0, ran.err
        assert nczarr.open(tmp_path / target)["/1/v"][...].tolist() == [[2.5, 4.5], [10.5, 12.5]]
