"""Variables that a selected variable brings along."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command
from tests.support.related_variables import BROUGHT, CDL


@pytest.mark.parametrize("name", BROUGHT)
def test_a_variable_brings_what_it_names(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = nczarr.from_cdl(CDL)
    nczarr.convert(source, "b.nc", variables=[name])
    assert {path.lstrip("/") for path in nczarr.open("b.nc").checked.variables} == BROUGHT[name]
    nczarr.convert(source, "c.nc", variables=[name], coordinates=False)
    assert [path.rsplit("/", 1)[1] for path in nczarr.open("c.nc").checked.variables] == [name]


def test_the_command_has_the_same_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cdl").write_text(CDL)
    done = run_command("convert", "a.cdl", "b.nc", "--var", "tas", "--dim", "time=-2:-1", "--sel", "lat=0:10")
    assert done.status == 0, done.err
    opened = nczarr.open("b.nc")
    assert opened["time"][:].tolist() == [2, 3]
    assert opened["lat"][:].tolist() == [0, 10]
    assert opened["tas"].shape == (2, 2, 2)
    assert opened["time_bnds"].shape == (2, 2)
    done = run_command("convert", "a.cdl", "c.nc", "--var", "tas", "--no-coordinates")
    assert done.status == 0, done.err
    assert set(nczarr.open("c.nc").checked.variables) == {"/tas"}


def test_a_section_of_the_coordinate_alone_names_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cdl").write_text(CDL)
    done = run_command("convert", "a.cdl", "b.nc", "--section", "time(0:2)")
    assert done.status == 0
    assert "split-dimension" in done.err
    assert "--dim time=0:2" in done.err


def test_combined_datasets_are_cut_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for start in (0, 4):
        times = ", ".join(map(str, range(start, start + 4)))
        text = CDL.replace("time = 4", "time = UNLIMITED").replace("time = 0, 1, 2, 3", f"time = {times}")
        nczarr.write(nczarr.from_cdl(text.replace("group: g { variables: float u(time) ; }", "")), f"{start}.nc")
    handle = nczarr.refs.combine(["0.nc", "4.nc"], along="time", sel={"time": ("2000-01-03", "2000-01-06")})
    assert handle["time"][:].tolist() == [2, 3, 4, 5]
    assert handle["tas"].shape == (4, 3, 2)
    call = ["refs", "combine", "0.nc", "4.nc", "--along", "time", "--var", "tas", "--sel", "time=2000-01-05:"]
    done = run_command(*call, "-o", "all.zarr")
    assert done.status == 0, done.err
    opened = nczarr.open("all.zarr")
    assert opened["time"][:].tolist() == [4, 5, 6, 7]
    assert {path.lstrip("/") for path in opened.checked.variables} == BROUGHT["tas"]
