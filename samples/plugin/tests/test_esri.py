"""The plugin as its users meet it: by commands, by Python, and over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import nczarr

GRID = """ncols 3
nrows 2
xllcorner 5.0
yllcorner 47.1
cellsize 0.1
NODATA_value -9999
1 2 -9999
4 5 6
"""


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Return status, output and messages of a command."""
    command = [sys.executable, "-m", "nczarr", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "h.asc").write_text(GRID)
    return tmp_path


def test_there_and_back(folder: Path) -> None:
    assert run(folder, "convert", "h.asc", "h.zarr")[0] == 0
    assert run(folder, "convert", "h.zarr", "back.asc")[0] == 0
    assert run(folder, "diff", "h.asc", "back.asc") == (0, "", "")
    dataset = nczarr.open(folder / "h.zarr")
    assert dataset["cells"][...].tolist() == [[1, 2, -9999], [4, 5, 6]]
    assert dataset["y"][0] > dataset["y"][1]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (GRID.replace("nrows 2", "nrows 3"), "6:19", "9 values, here are 6"),
        (GRID.replace("cellsize 0.1", "cellsize wide"), "5:10", "`cellsize` is not a number"),
        (GRID.replace("nrows 2\n", ""), "5:19", "lacks `nrows`"),
        (GRID.replace("5 6", "5 six"), "6:19", "'six'"),
        (GRID.replace("nrows 2", "nrows inf"), "6:19", "`nrows` is not a finite number"),
    ],
)
def test_faults_have_a_place(folder: Path, text: str, place: str, words: str) -> None:
    (folder / "bad.asc").write_text(text)
    status, _, messages = run(folder, "dump", "bad.asc")
    assert status == 1
    assert f"bad.asc:{place}" in messages
    assert words in messages


def test_a_fraction_makes_cells_double(folder: Path) -> None:
    for missing in ("1.5", "99999999999"):
        (folder / "f.asc").write_text(GRID.replace("value -9999", f"value {missing}"))
        assert nczarr.open(folder / "f.asc")["cells"].attributes["_FillValue"] == float(missing)


def test_what_a_grid_lacks_is_a_loss(folder: Path) -> None:
    (folder / "a.cdl").write_text(
        "netcdf a { dimensions: y = 1 ; x = 2 ; variables: double y(y) ; double x(x) ; float v(y, x) ; "
        'int other ; v:units = "m" ; data: y = 1 ; x = 1, 3 ; v = 1.5, 2 ; other = 7 ; }'
    )
    status, _, messages = run(folder, "convert", "a.cdl", "a.asc")
    assert status == 1
    assert "error[esri-grid]: an ESRI grid has no room for variable `/other`" in messages
    assert not (folder / "a.asc").exists()
    assert run(folder, "convert", "a.cdl", "a.asc", "--allow-loss", "esri-grid")[0] == 0
    assert (folder / "a.asc").read_text().splitlines()[-1] == "1.5 2.0"


def test_command_check_and_page(folder: Path) -> None:
    assert run(folder, "esri", "h.asc") == (0, "/cells: 3 x 2 cells, 5.05 to 5.25, 47.25 to 47.15\n", "")
    assert run(folder, "check", "--for", "arcgis", "h.asc")[0] == 0
    (folder / "a.cdl").write_text("netcdf a { dimensions: x = 2 ; variables: int v(x, x) ; }")
    assert "has no coordinates along `/x`" in run(folder, "check", "--for", "arcgis", "a.cdl")[2]
    assert "square cells" in run(folder, "explain", "esri-grid")[1]


def test_codec(folder: Path) -> None:
    document = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<u2", "fill_value": 0, "order": "C"}
    (folder / "c.zarr").mkdir()
    (folder / "c.zarr/.zarray").write_text(json.dumps({**document, "filters": None, "compressor": {"id": "esri_hex"}}))
    (folder / "c.zarr/0").write_text("0100ff00")
    (variable,) = nczarr.open(folder / "c.zarr").variables.values()
    assert variable[...].tolist() == [1, 255]


def test_protocol(folder: Path) -> None:
    (folder / "bad.cdl").write_text("netcdf a { variables: int v ; }")
    command = [sys.executable, "-m", "nczarr", "serve", ".", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            with urllib.request.urlopen(f"{address}esri/h.asc", timeout=30) as answer:
                assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
                assert answer.read().decode().splitlines()[-1] == "4 5 6"
            with pytest.raises(urllib.error.HTTPError, match="400"):
                urllib.request.urlopen(f"{address}esri/bad.cdl", timeout=30)
        finally:
            server.terminate()
