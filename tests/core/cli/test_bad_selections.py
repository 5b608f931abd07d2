"""Selections and sources that cannot be used: a diagnostic and a status, never a traceback, and no target."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import nczarr
from tests.conftest import Ran, run_command

TEXT = """netcdf t {
dimensions: time = UNLIMITED ; x = 4 ; y = 2 ; n = 4 ; none = UNLIMITED ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ; float x(x) ; float lat(y, x) ;
  string n(n) ; int none(none) ; double hollow(x) ; float down(x) ;
  float v(time, x) ; v:coordinates = "lat" ; v:_ChunkSizes = 1, 4 ;
data:
  time = 0, 1, 2 ; x = 1, NaN, 3, 2 ; lat = 1, 2, 3, 4, 5, 6, 7, 8 ; n = "a", "b:c", "2000:2001", "d" ;
  hollow = NaN, NaN, NaN, NaN ; down = 4, 3, 2, 1 ; v = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ;
}"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    for name in ("t.nc", "t.zarr"):
        nczarr.write(nczarr.from_cdl(TEXT), folder / name)
    return folder


@pytest.fixture(autouse=True)
def folder(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(sources, tmp_path, dirs_exist_ok=True))


def refused(ran: Ran, code: str = "") -> None:
    assert ran.status in (1, 2, 3), ran
    assert f"[{code}" in ran.err, ran.err
    assert "internal-error" not in ran.err
    assert "Traceback" not in ran.err
    assert "Warning" not in ran.err


@pytest.mark.sampled(4)
@pytest.mark.parametrize("source", ["t.nc", "t.zarr"])
@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        *((("--dim"), value, "bad-selection") for value in ("x", "x=", "=1", "x=a", "x=0:1:0", "x=" + "9" * 30)),
        *(("--dim", value, "unmatched-selection") for value in ("x=3:1", "x=9", "x=-9:", "none=0", "none=:")),
        ("--dim", "nope=0", "unmatched-name"),
        *(("--sel", value, "bad-selection") for value in ("x", "x=", "x=:", "n=:", "x=NaN", "x~inf", "x=a", "x=1/2")),
        *(("--sel", value, "bad-selection") for value in ("x=1e400", "x~-1e400", "x=1:1e400", "x=" + "9" * 5000)),
        *(
            ("--sel", value, "bad-selection")
            for value in ("time=2000-13", "time=2000-02-30", "time=a:b", "time=1:2:3:4")
        ),
        *(("--sel", value, "unmatched-selection") for value in ("x=1e39", "x=5", "x=3:1", "x=1:3", "none=1", "none~1")),
        *(
            ("--sel", value, "unmatched-selection")
            for value in ("hollow=1", "hollow~1", "hollow=:5", "lat=1:3", "lat~2", "v=3")
        ),
        *(("--sel", value, "unmatched-selection") for value in ("n=a:d", "n~a", "n=zz", "time=2001:2002", "time=1999")),
        ("--sel", "nope=1", "unmatched-name"),
        *(("--var", value, "unmatched-name") for value in ("nope", "", ",", "/", "v/")),
        *(("--group", value, "unmatched-name") for value in ("nope", "")),
    ],
)
def test_selections(source: str, option: str, value: str, code: str) -> None:
    refused(run_command("convert", source, "target.zarr", option, value), code)
    refused(run_command("combine", source, source, "target.json", "--new-dim", "run", option, value))
    assert sorted(os.listdir()) == ["t.nc", "t.zarr"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", ["convert", "combine", "append"])
@pytest.mark.parametrize("selection", [[], ["--var", "v"]])
@pytest.mark.parametrize(
    "name",
    ["empty", "empty.nc", "noise", "noise.nc", "noise.zarr", "folder", "missing", "missing/deep.nc", "t.nc/", "",
     "s3:///", "file:///nope#mode=zarr", "icechunk:nope", "http://127.0.0.1:1/x.nc"],
)  # fmt: skip
def test_sources(command: str, selection: list[str], name: str, folder: Path) -> None:
    for stem in ("empty", "empty.nc"):
        (folder / stem).write_bytes(b"")
    (folder / "noise").write_bytes(bytes(range(256)) * 9)
    (folder / "noise.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 9)
    (folder / "folder").mkdir()
    (folder / "noise.zarr").mkdir()
    (folder / "noise.zarr" / ".zgroup").write_bytes(b"{")
    before = nczarr.digest("t.zarr")
    options = ("--storage-option", "retries=0")
    if command == "convert":
        refused(run_command("convert", name, "target.zarr", *selection, *options))
    elif command == "combine":
        refused(run_command("combine", name, "t.nc", "target.zarr", "--along", "time", *selection, *options))
    else:
        refused(run_command("append", name, "t.zarr", "--along", "time", *selection, *options))
        assert nczarr.digest("t.zarr") == before
    assert not (folder / "target.zarr").exists()


@pytest.mark.parametrize("name", ["t.nc/x.zarr", "missing/x.zarr", "t.nc", "x.unknown", "", "a" * 300 + ".zarr", "x/"])
def test_targets(name: str, folder: Path) -> None:
    for arguments in (("convert", "t.zarr"), ("combine", "t.zarr", "t.zarr")):
        more = ("--new-dim", "run", "--along", "v") if arguments[0] == "combine" else ()
        refused(run_command(*arguments, name, *more, "--sel", "down=2:3"))
    assert sorted(os.listdir(folder)) == ["t.nc", "t.zarr"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder(folder: Path) -> None:
    (folder / "locked").mkdir(mode=0o500)
    refused(run_command("convert", "t.nc", "locked/x.zarr", "--dim", "x=0"), "missing-permission")


@pytest.mark.parametrize(
    ("value", "expected"), [("n=b:c", "b:c"), ("n=2000:2001", "2000:2001"), ("n=a", "a"), ("/n = d ", "d")]
)
def test_a_text_may_contain_colons(value: str, expected: str) -> None:
    """Texts have no order, so a colon divides no bounds."""
    assert run_command("convert", "t.zarr", "one.zarr", "-q", "--sel", value).status == 0
    assert list(nczarr.open("one.zarr")["n"][:]) == [expected]
    nczarr.convert("t.nc", "two.zarr", sel={"n": expected})
    assert nczarr.diff("one.zarr", "two.zarr") == []
    assert "texts have no order" in run_command("convert", "t.zarr", "three.zarr", "--sel", "n=a:d").err


def test_bounds_beyond_the_type_of_the_coordinate() -> None:
    """Every finite value of a float lies below 1e39."""
    assert run_command("convert", "t.zarr", "one.zarr", "-q", "--sel", "down=2.5:1e39").status == 0
    assert nczarr.open("one.zarr")["down"][:].tolist() == [4, 3]


@pytest.mark.parametrize(
    ("value", "shown", "remedy"),
    [
        ("lon=-90:90", " lon = 0, 90 ;", "they are `--sel lon=270:450`"),
        ("lon=-20:20", " lon = 0 ;", ""),
        ("lon=0:360", " lon = 0, 90, 180, 270 ;", ""),
        ("lon=:90", " lon = 0, 90 ;", ""),
        ("lon~-85", " lon = 0 ;", "it is `--sel lon~270`"),
        ("lon~44", " lon = 0 ;", ""),
        ("lon~350", " lon = 270 ;", "it is `--sel lon~0`"),
        ("lon=-90", "", "it is `--sel lon=270`"),
        ("lon=360:460", "", "they are `--sel lon=0:100`"),
        ("level=-90:90", " level = 0, 90 ;", ""),
    ],
)
def test_longitudes_by_other_numbers_are_named(value: str, shown: str, remedy: str, tmp_path: Path) -> None:
    source, name = tmp_path / "earth.cdl", value.partition("=")[0].partition("~")[0]
    units = "degrees_east" if name == "lon" else "degrees"
    source.write_text(f"""netcdf earth {{ dimensions: {name} = 4 ; variables: double {name}({name}) ;
        {name}:units = "{units}" ; data: {name} = 0, 90, 180, 270 ; }}""")
    ran = run_command("dump", str(source), "--sel", value)
    assert (ran.status == 0, shown in ran.out.decode()) == (bool(shown), True)
    assert ("omitted-longitudes" in ran.err) is bool(shown and remedy)
    assert (remedy in ran.err) if remedy else ran.err == ""
