"""HTML of handles: nothing hostile gets through, every element is closed, and its size is bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from nczarr.plugins.notebook import html

HOSTILE = '<script>alert(1)</script><img src=x onerror="y">\'"&amp; ]]> --> </style></details> \u202e\u2028 {x}'


class Elements(HTMLParser):
    """Collects elements and texts, and refuses one of ours that is not closed."""

    def __init__(self, theirs: bool = False) -> None:
        super().__init__()
        self.theirs = theirs
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        if not self.theirs:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(handle: Any) -> Elements:
    found = Elements()
    found.feed(handle._repr_html_())
    found.close()
    assert not found.open
    return found


def hostile() -> nczarr.DatasetHandle:
    """Return a dataset whose names and values are all hostile."""
    builder = nczarr.DatasetBuilder("<b>x</b>")
    name = "a" + HOSTILE.replace("/", "\u2215")
    x = builder.dimension(name, 2)
    group = builder.group("g" + name)
    variable = group.variable(name, "int", [x], chunks=(2,))
    for owner in (builder, group, variable):
        owner.attribute(name, HOSTILE)
        owner.attribute("list", [HOSTILE, HOSTILE], type="string")
    return builder.finish()


@pytest.mark.parametrize("which", ["dataset", "group", "variable"])
def test_hostile_names_and_values_are_escaped(which: str) -> None:
    ds = hostile()
    group = next(iter(ds.groups.values()))
    handle = {"dataset": ds, "group": group, "variable": next(iter(group.variables.values()))}[which]
    found = parsed(handle)
    known = {
        "div",
        "style",
        "pre",
        "span",
        "b",
        "details",
        "summary",
        "ul",
        "li",
        "table",
        "tbody",
        "tr",
        "th",
        "td",
        "p",
    }
    assert set(found.names) <= known
    assert {name for name, _ in found.attributes} <= {"class", "style", "open", "scope"}
    assert found.names.count("style") == 1
    assert "<script>alert(1)" in found.text
    assert not re.search("[\u202a-\u202e\u2028]", handle._repr_html_())
    assert "\\u202e" in found.text


def test_nothing_is_fetched_and_nothing_runs() -> None:
    text = hostile()._repr_html_()
    style = re.findall("<style>(.*?)</style>", text, re.DOTALL)[0]
    assert "url(" not in style
    assert "@import" not in style
    assert "<" not in style
    assert not re.search(r"<[^>]*\s(?:href|src|on\w+)\s*=", text)


def test_everything_of_a_variable_is_shown() -> None:
    text = """netcdf d { types: byte enum e { red = 1 } ;
    dimensions: x = UNLIMITED ; y = 6 ; variables: short v(x, y) ; v:_FillValue = -9s ;
    v:_ChunkSizes = 2, 3 ; v:_Shuffle = "true" ; v:_DeflateLevel = 4 ;
    v:units = "K" ; v:_Endianness = "big" ; e w ; }"""
    ds = nczarr.from_cdl(text)
    shown = parsed(ds).text
    for word in ("units", "K", "2 × 3", "shuffle → deflate(4)", "big", "-9", "unlimited", "red = 1", "short", "x: 0"):
        assert word in shown, word
    assert "v" in parsed(ds["v"]).text


def test_lines_of_a_text_stay_lines() -> None:
    ds = nczarr.from_cdl('netcdf d { :history = "first\\nsecond\\001" ; }')
    assert "first\nsecond\\x01" in parsed(ds).text


def test_a_large_tree_is_bounded_and_folded() -> None:
    attributes = "".join(f' v{number}:note = "{"n" * 200}" ;' for number in range(10_000))
    variables = "".join(f" int v{number} ;" for number in range(10_000))
    ds = nczarr.from_cdl(f"netcdf d {{ variables:{variables}{attributes} group: g {{ variables: int w ; }} }}")
    made = ds._repr_html_()
    assert len(made) < 2 * html.BUDGET
    found = parsed(ds)
    assert re.search(r"… and [0-9],[0-9]{3} more", found.text)
    assert "w" in found.text
    assert "<details class='nz-section'><summary>Variables" in made


@pytest.mark.long
def test_many_groups_and_attributes_are_bounded() -> None:
    inner = "".join(f" group: g{number} {{ variables: int v ; :a = 1 ; }}" for number in range(5000))
    assert len(nczarr.from_cdl(f"netcdf d {{ {inner} }}")._repr_html_()) < 2 * html.BUDGET
    deep = "netcdf d {" + "".join(f" group: g{number} {{ variables: int v ;" for number in range(60)) + "}" * 61
    assert len(nczarr.from_cdl(deep)._repr_html_()) < html.BUDGET
    many = "".join(f' v:a{number} = "{"x" * 1000}" ;' for number in range(5000))
    assert len(nczarr.from_cdl(f"netcdf d {{ variables: int v ;{many} }}")["v"]._repr_html_()) < 2 * html.BUDGET


def test_light_and_dark_of_systems_and_notebooks() -> None:
    style = html._style()
    for word in (
        "prefers-color-scheme: dark",
        "body[data-jp-theme-light=false]",
        "body[data-jp-theme-light=true]",
        "body.vscode-dark",
        "html[data-theme=dark]",
    ):
        assert word in style
    colours = [set(re.findall(r"(--nz-\w+):", block)) for block in re.findall(r"\{([^{}]*--nz-fg:[^{}]*)\}", style)]
    assert len(colours) == 4
    assert all(each | {"--nz-back"} == colours[0] | {"--nz-back"} for each in colours)


def test_names_that_are_no_utf_8_are_shown(tmp_path: Path) -> None:
    document = {"zarr_format": 2, "shape": [], "chunks": [], "dtype": "<i4", "compressor": None, "filters": None}
    (tmp_path / "s.zarr" / "v").mkdir(parents=True)
    (tmp_path / "s.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "s.zarr" / "v" / ".zarray").write_text(json.dumps({**document, "order": "C", "fill_value": 0}))
    (tmp_path / "s.zarr" / "v" / ".zattrs").write_text('{"a": "\\ud800"}')
    made = nczarr.open(tmp_path / "s.zarr")._repr_html_()
    made.encode("utf-8")


def test_xarray_shows_no_more_sections(peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """Dimensions, variables and attributes of a file that both read are in both."""
    xarray = peer("xarray")
    peer("netCDF4")
    nczarr.convert("samples/01-station.cdl", tmp_path / "t.nc")
    with xarray.open_dataset(tmp_path / "t.nc", engine="netcdf4") as theirs:
        other = Elements(theirs=True)
        other.feed(theirs._repr_html_())
        names = [*theirs.variables, *theirs.sizes, *theirs.attrs]
    shown = parsed(nczarr.open(tmp_path / "t.nc")).text
    assert names
    assert all(name in shown and name in other.text for name in names)
