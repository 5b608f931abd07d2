"""Pages of the server in Chromium: from a folder to a dataset, a picture and a download, with and without scripts."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import ROOT
from tests.support.serving import Served, serving

pytestmark = [pytest.mark.peer, pytest.mark.program, pytest.mark.long]

VERSIONS = {"playwright-core": "1.65.1", "axe-core": "4.14.1"}
SCRIPT = ROOT / "tests" / "support" / "peers" / "browse.mjs"
WIDTHS = (400, 900, 1600)

QUICK = ((400, "dark"),)
"""Widths and schemes of the quick run."""


class Browser:
    """A browser in a process of its own."""

    def __init__(self, node: str, folder: Path, chromium: str) -> None:
        self.process = subprocess.Popen(
            [node, SCRIPT, folder, chromium], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(
        self, url: str, *steps: tuple[str, ...], width: int = 900, scheme: str = "light", script: bool = True
    ) -> list[Any]:
        """The answers of the steps on a page that has no errors."""
        return self.ask_all({url: steps}, width=width, scheme=scheme, script=script)[0]

    def ask_all(
        self, pages: Mapping[str, Sequence[tuple[str, ...]]], *, width: int, scheme: str, script: bool = True
    ) -> list[list[Any]]:
        """The answers of steps on some pages, which have no errors, side by side; `pages`: steps by URL."""
        common = {"width": width, "scheme": scheme, "script": script}
        asked = [{"url": url, "steps": steps, **common} for url, steps in pages.items()]
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        assert [each["errors"] for each in found] == [[]] * len(pages)
        return [each["answers"] for each in found]


@pytest.fixture(scope="module")
def browser(tool: Callable[[str], str]) -> Iterator[Browser]:
    """Chromium; what drives it is installed once into a folder for temporary files (NCZARR_BROWSER names another)."""
    chromium, node, npm = tool("chromium"), tool("node"), tool("npm")
    version = "-".join(VERSIONS.values())
    folder = Path(os.environ.get("NCZARR_BROWSER") or Path(tempfile.gettempdir()) / f"nczarr-browser-{version}")
    if not all((folder / "node_modules" / name / "package.json").is_file() for name in VERSIONS):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        wanted = [f"{name}@{number}" for name, number in VERSIONS.items()]
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=60000"]
        done = subprocess.run(
            [npm, "install", *options, "--prefix", folder, *wanted], capture_output=True, text=True, check=False
        )
        if done.returncode:  # a machine may have npm and no way to the registry
            pytest.skip(f"npm does not bring playwright-core and axe-core: {done.stderr.strip()[-200:]}")
    made = Browser(node, folder, chromium)
    yield made
    assert made.process.stdin is not None
    made.process.stdin.close()
    made.process.wait(20)


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
