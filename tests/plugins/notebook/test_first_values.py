"""First values of short variables in the HTML of handles: what is shown, and what is never read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.sources.source import ArraySource
from nczarr.plugins.notebook.html import BYTES, VARIABLES, FirstValues

TEXT = """netcdf t {
types: compound pair { int a ; int b ; } ;
dimensions: time = 400 ; x = 3 ; n = 8 ; none = UNLIMITED ; huge = 10000000 ;
variables:
  double time(time) ; float x(x) ; x:units = "m\\000\\000" ; int scalar ; string names(x) ; char letters(n) ; char one ;
  int plane(x, x) ; int empty(none) ; pair record(x) ; double vast(huge, huge) ; double long_one(huge) ;
data: x = 1.5, 2.5, NaN ; scalar = 7 ; names = "<a>", "b:c", NIL ; letters = "abc" ; one = "z" ;
}"""


def texts(handle: Any) -> dict[str, str]:
    values = FirstValues(handle.checked)
    return {path.removeprefix("/"): values.text(path) for path in handle.checked.variables}


def test_the_first_values_of_scalars_and_of_one_dimension() -> None:
    shown = texts(nczarr.from_cdl(TEXT))
    assert shown["x"] == "1.5, 2.5, nan"
    assert shown["scalar"] == "7"
    assert shown["names"] == "'<a>', 'b:c', None"
    assert shown["letters"] == "'abc'"
    assert shown["one"] == "'z'"
    assert shown["time"].endswith(", …")
    assert shown["time"].count(",") == 4
    assert {shown[name] for name in ("plane", "empty", "record", "vast")} == {""}


def test_html_escapes_them_and_drops_padding() -> None:
    dataset = nczarr.from_cdl(TEXT)
    page = dataset._repr_html_()
    assert "&lt;a&gt;" in page
    assert "<a>" not in page
    assert "\0" not in page
    assert "<span class='nz-note'>1.5, 2.5, nan</span>" in dataset["x"]._repr_html_()


@pytest.mark.parametrize("form", ["nczarr", "zarr3", "netcdf4"])
def test_large_chunks_are_not_decoded(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a compressed variable the cost is a chunk."""
    cells = BYTES // 8
    builder = nczarr.DatasetBuilder("t")
    for name, length in (("small", 1000), ("large", cells + 1)):
        x = builder.dimension(name, cells + 1)
        builder.variable(name, "double", [x], chunks=(length,))
    data = {f"/{name}": np.arange(cells + 1.0) for name in ("small", "large")}
    target = tmp_path / ("t.nc" if form == "netcdf4" else "t.zarr")
    nczarr.write(builder.finish(data=data), target, form, codecs="zlib:1")
    with nczarr.open(target) as dataset:
        assert texts(dataset) == {"small": "0.0, 1.0, 2.0, 3.0, …", "large": ""}


def test_the_number_of_read_variables_is_bounded() -> None:
    declared = "".join(f"int v{number} ; " for number in range(3 * VARIABLES))
    shown = texts(nczarr.from_cdl(f"netcdf t {{ variables: {declared} }}"))
    assert sum(map(bool, shown.values())) == VARIABLES


def test_a_network_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = nczarr.from_cdl(TEXT)
    stored = [path.removeprefix("/") for path, parts in dataset.checked.parts.items() if parts]
    assert {"x", "scalar", "names"} <= set(stored)
    for source in (source for parts in dataset.checked.parts.values() for source in parts.values()):
        assert isinstance(source, ArraySource)
        monkeypatch.setattr(type(source), "distant", property(lambda self: True), raising=False)
    assert {texts(dataset)[name] for name in stored} == {""}


def test_a_damaged_chunk_does_not_hide_the_rest(tmp_path: Path) -> None:
    text = "netcdf t { dimensions: x = 3 ; variables: int x(x) ; int s ; data: x = 1, 2, 3 ; s = 4 ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.zarr", codecs="zlib:1")
    (tmp_path / "t.zarr" / "x" / "0").write_bytes(b"noise")
    with nczarr.open(tmp_path / "t.zarr") as dataset:
        assert texts(dataset) == {"x": "not readable", "s": "4"}
        assert "not readable" in dataset._repr_html_()
