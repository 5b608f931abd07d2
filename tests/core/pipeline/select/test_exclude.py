"""Variables that a selection leaves out, in every command that selects."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from tests.conftest import run_command

CDL = """netcdf d {
dimensions: time = 2 ; x = 3 ; bnds = 2 ;
variables: double time(time) ; time:bounds = "time_bnds" ; double time_bnds(time, bnds) ; float v(time, x) ; int w(x) ;
data: time = 1, 2 ; time_bnds = 0, 1, 1, 2 ; v = 1, 2, 3, 4, 5, 6 ; w = 7, 8, 9 ;
group: g { variables: int w(x) ; int u ; data: w = 1, 2, 3 ; u = 4 ; }
}
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.cdl").write_text(CDL)
    return Path("d.cdl")


@pytest.mark.parametrize(
    ("options", "variables", "dimensions"),
    [
        ({"exclude": "time_bnds"}, "/time /v /w /g/w /g/u", "/time /x"),
        ({"exclude": ["w"]}, "/time /time_bnds /v /g/u", "/time /x /bnds"),
        ({"exclude": ["/w", "/g/u"]}, "/time /time_bnds /v /g/w", "/time /x /bnds"),
        ({"exclude": ["v", "w"]}, "/time /time_bnds /g/u", "/time /bnds"),
        ({"variables": ["v"], "exclude": "time_bnds"}, "/time /v", "/time /x"),
        ({"groups": ["g"], "exclude": ["u"]}, "/g/w", "/x"),
        ({"exclude": ["time", "time_bnds", "v", "w", "u"]}, "", ""),
    ],
)
def test_of_what_else_is_selected(
    options: dict[str, str | list[str]], variables: str, dimensions: str, source: Path
) -> None:
    nczarr.convert(source, "o.zarr", **options)  # type: ignore[arg-type]
    found = nczarr.open("o.zarr").checked
    assert (" ".join(found.variables), " ".join(found.dimensions)) == (variables, dimensions)


def test_a_cut_by_a_coordinate_that_is_left_out(source: Path) -> None:
    nczarr.convert(source, "o.nc", exclude="time,time_bnds", sel={"time": 2}, format="netcdf4")
    assert nczarr.open("o.nc")["v"][:].tolist() == [[4, 5, 6]]


def test_a_name_that_is_not_there(source: Path) -> None:
    with pytest.raises(CompileError, match="the dataset has no variable `tome`"):
        nczarr.convert(source, "o.nc", exclude=["tome"])
    assert not Path("o.nc").exists()


def test_every_command(source: Path) -> None:
    assert run_command("convert", "d.cdl", "o.nc", "--to", "netcdf4", "--exclude", "time_bnds,w").status == 0
    assert run_command("rechunk", "o.nc", "r.zarr", "--chunks", "time=1", "--exclude", "v").status == 0
    assert set(nczarr.open("r.zarr").checked.variables) == {"/time", "/g/u"}
    assert "v(" not in run_command("dump", "d.cdl", "--exclude", "v").text
    assert run_command("diff", "d.cdl", "o.nc").status == 1
    assert run_command("diff", "d.cdl", "o.nc", "--exclude", "time_bnds,w").status == 0
    digests = [run_command("digest", name, "--exclude", "time").text.split()[0] for name in ("o.nc", "r.zarr")]
    assert digests[0] != digests[1]
    whole, part = (run_command("digest", name, *words).text.split()[0] for name, *words in (
        ("o.nc",), ("d.cdl", "--exclude", "time_bnds", "--exclude", "w")))  # fmt: skip
    assert whole == part
