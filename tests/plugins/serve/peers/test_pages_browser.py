"""Pages of the server in Chromium: from a folder to a dataset, a picture and a download, with and without scripts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr
from tests.conftest import ROOT
from tests.support.browser import Browser, open_browser
from tests.support.serving import Served, serving

pytestmark = [pytest.mark.peer, pytest.mark.program, pytest.mark.long]

WIDTHS = (400, 900, 1600)

QUICK = ((400, "dark"),)
"""Widths and schemes of the quick run."""


@pytest.fixture(scope="module")
def browser(tool: Callable[[str], str]) -> Iterator[Browser]:
    with open_browser(tool) as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]) -> Iterator[Served]:
    netcdf = peer("netCDF4")
    peer("uvicorn")
    root = tmp_path_factory.mktemp("pages")
    (root / "ocean").mkdir()
    (root / "station.cdl").write_bytes((ROOT / "samples" / "01-station.cdl").read_bytes())
    (root / "odd &<b>\"' ümlaut.cdl").write_bytes((ROOT / "samples" / "02-grid-groups.cdl").read_bytes())
    with netcdf.Dataset(root / "ocean" / "sst.nc", "w") as file:
        file.title = "Sea surface temperature"
        for name, length in (("time", 4), ("lat", 18), ("lon", 36)):
            file.createDimension(name, length)
        time = file.createVariable("time", "f8", ("time",))
        time.units, time[:] = "days since 2020-02-28", np.arange(4)
        lat, lon = (file.createVariable(name, "f4", (name,)) for name in ("lat", "lon"))
        lat.units, lat[:] = "degrees_north", np.arange(-85, 90, 10)
        lon.units, lon[:] = "degrees_east", np.arange(5, 360, 10)
        sst = file.createVariable("sst", "i2", ("time", "lat", "lon"), zlib=True, fill_value=-1)
        sst.units, sst.scale_factor, sst.standard_name = "K", 0.5, "sea_surface_temperature"
        sst.set_auto_maskandscale(False)
        sst[:] = np.arange(4 * 18 * 36).reshape(4, 18, 36)
        sst[0, 0, 0] = -1
        file.createVariable("mean", "f4", ("time",))[:] = [1, 3, 2, np.nan]
        file.createVariable("large", "f8", ("time",))[:] = [1e13, 1e13, 2e13, 2e13]
    with serving(root) as found:
        yield found


def view(served: Served, query: str) -> str:
    return f"{served.url}view/ocean/sst.nc?{query}"


@pytest.mark.long
@pytest.mark.parametrize("script", [True, False], ids=["scripts", "no-scripts"])
def test_from_a_folder_to_a_download(script: bool, browser: Browser, served: Served, tmp_path: Path) -> None:
    path = tmp_path / "got.nc"
    answers = browser.ask(
        served.url,
        ("follow", "text=ocean/"),
        ("follow", "text=sst.nc"),
        ("title",),
        ("select", "#var", "/sst"),
        ("follow", "text=Show values"),
        ("picture", ".plane .frame image"),
        ("fill", "#i0", "3"),
        ("click", ".controls button") if script else ("follow", ".controls button"),
        ("wait", "text=2020-03-02"),
        ("address",),
        ("download", ".buttons >> text=netCDF", str(path)),
        script=script,
    )
    assert answers[2] == "Sea surface temperature"
    assert answers[5] == [36, 18]
    assert "i0=3" in answers[9]
    assert answers[10] == "sst-sst.nc"
    with nczarr.open(path) as data:
        assert data["/sst"][...].tolist() == np.arange(3 * 648, 4 * 648).reshape(1, 18, 36).tolist()
        assert data["/time"][...].tolist() == [3]


def test_values_under_the_pointer_and_by_keys(browser: Browser, served: Served) -> None:
    frame = ".plane .frame"
    answers = browser.ask(
        view(served, "var=/sst&i0=1"),
        ("hover", frame),
        ("wait", ".hover:not([hidden])"),
        ("text", ".hover"),
        ("press", frame, "ArrowUp", "ArrowLeft"),
        ("text", ".drawn .help"),
    )
    value, lon, lat = answers[2].split("\n")
    column = (int(lon.removeprefix("lon (degrees_east) ")) - 5) // 10
    row = (int(lat.removeprefix("lat (degrees_north) ")) + 85) // 10
    assert (column in (17, 18), row in (8, 9)) == (True, True)
    assert float(value) == (648 + 36 * row + column) * 0.5
    moved = (648 + 36 * (row + 1) + column - 1) * 0.5
    assert answers[4].startswith(
        f"{moved:g}, lon (degrees_east) {column * 10 - 5}, lat (degrees_north) {row * 10 - 75}"
    )


def test_lines_are_interactive(browser: Browser, served: Served) -> None:
    answers = browser.ask(
        view(served, "var=/mean"), ("wait", ".uplot canvas"), ("hover", ".u-over"), ("text", ".u-legend")
    )
    assert "2020-02-29" in answers[2] or "2020-03-01" in answers[2]
    assert browser.ask(view(served, "var=/mean"), ("count", ".lines polyline"), ("count", "circle"), script=False) == [
        1,
        3,
    ]


def test_a_slider_changes_the_plane(browser: Browser, served: Served) -> None:
    answers = browser.ask(
        view(served, "var=/sst"),
        ("press", ".index input[type=range]", "ArrowRight"),
        ("wait", "text=2020-02-29"),
        ("address",),
        ("select", "#var", "/mean"),
        ("wait", ".uplot canvas"),
        ("text", "h1"),
    )
    assert "i0=1" in answers[2]
    assert answers[5] == "mean"


def test_large_numbers_and_missing_cells(browser: Browser, served: Served) -> None:
    answers = browser.ask(
        view(served, "var=/large"), ("wait", ".uplot canvas"), ("hover", ".u-over"), ("text", ".u-legend")
    )
    assert re.search(r"large[12]e13$", answers[2])
    shown = (
        ("style", ".plane .frame", "backgroundImage"),
        ("style", ".swatch", "backgroundImage"),
        ("count", ".missing"),
    )
    missing, key, entries = browser.ask(view(served, "var=/sst"), *shown)
    assert (missing.startswith("repeating-linear-gradient"), missing == key, entries) == (True, True, 1)
    assert browser.ask(view(served, "var=/sst&i0=1"), shown[-1]) == [0]


def test_search_as_you_type(browser: Browser, served: Served) -> None:
    browser.ask(f"{served.url}?q=nothing")  # begins the index
    answers = browser.ask(
        served.url,
        ("fill", "#q", "sea_surf"),
        ("wait", ".hits"),
        ("text", ".hits"),
        ("fill", "#q", ""),
        ("wait", ".entries"),
    )
    assert "ocean/sst.nc" in answers[2]
    assert "Sea surface temperature" in answers[2]


@pytest.mark.long
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        pytest.param(width, scheme, marks=[] if (width, scheme) in QUICK else [pytest.mark.slow])
        for width in WIDTHS
        for scheme in ("light", "dark")
    ],
)
def test_pages_fit_and_have_no_serious_fault(width: int, scheme: str, browser: Browser, served: Served) -> None:
    shots = os.environ.get("NCZARR_SHOTS")  # a folder for pictures of the pages, to be looked at
    pages = {
        "folder": "",
        "search": "?q=sea",
        "dataset": "browse/ocean/sst.nc",
        "odd": "browse/odd%20%26%3Cb%3E%22%27%20%C3%BCmlaut.cdl",
        "plane": "view/ocean/sst.nc?var=/sst",
        "line": "view/ocean/sst.nc?var=/mean",
        "form": "cdmremote/ocean/sst.nc?req=form",
    }
    steps: dict[str, list[tuple[str, ...]]] = {}
    for name, path in pages.items():
        shot = [("shot", str(Path(shots) / f"{name}-{scheme}-{width}.png"))] if shots else []
        steps[served.url + path] = [("overflow",), ("faults",), *shot]
    answers = browser.ask_all(steps, width=width, scheme=scheme)
    assert {name: each[:2] for name, each in zip(pages, answers, strict=True)} == {name: [0, []] for name in pages}
