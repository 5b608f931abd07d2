"""Messages of `combine`, `append` and `check --combine`: proposed remedies and shown values."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from nczarr import CompileError
from tests.conftest import run_command

TEXT = """netcdf d { dimensions: time = UNLIMITED ; variables:
double time(time) ; time:units = "days since 2000-01-01" ; short v(time) ; v:units = "%s" ; %s
data: time = %d, %d ; v = 1, 2 ; }"""


def day(path: Path, first: int, units: str = "K", packing: str = "") -> str:
    nczarr.write(nczarr.from_cdl(TEXT % (units, packing, first, first + 1)), path)
    return str(path)


def packed(path: Path, first: int, offset: float, units: str = "K") -> str:
    return day(path, first, units, f"v:scale_factor = 0.5 ; v:add_offset = {float(offset)} ;")


def helps_of(text: str) -> set[str]:
    return {line for line in text.splitlines() if line.startswith("   = help:")}


def test_append_proposes_the_units_that_it_takes(tmp_path: Path) -> None:
    target, source = packed(tmp_path / "a.nc", 0, 280), packed(tmp_path / "b.nc", 2, 6.85, "degC")
    said = run_command("append", source, target, "--along", "time").err
    assert "to the units of the target with `--units majority`" in said
    assert "--units UNITS" not in said


@pytest.mark.parametrize("units", ["K", "majority"])
def test_append_takes_the_units_of_the_target(tmp_path: Path, units: str) -> None:
    pytest.importorskip("cf_units")
    target, source = packed(tmp_path / "a.nc", 0, 280), packed(tmp_path / "b.nc", 2, 6.85, "degC")
    ran = run_command("append", source, target, "--units", units)
    assert ran.status == 0, ran.err
    assert nczarr.open(target)["v"].shape == (4,)
    with pytest.raises(CompileError, match="has the units `degF`, and a target keeps its own"):
        nczarr.append(packed(tmp_path / "c.nc", 4, 6.85, "degC"), target, units="degF")


@pytest.mark.parametrize("unlike", ["units", "packing", "length"])
def test_the_check_proposes_what_combine_does(tmp_path: Path, unlike: str) -> None:
    if unlike == "units":
        pytest.importorskip("cf_units")
    one = packed(tmp_path / "a.nc", 0, 280)
    other = packed(tmp_path / "b.nc", 2, *((280, "degC") if unlike == "units" else (270, "K")))
    if unlike == "length":
        one, other = str(tmp_path / "c.nc"), str(tmp_path / "d.nc")
        for path, x in ((one, 2), (other, 3)):
            text = "netcdf d { dimensions: t = UNLIMITED ; x = %d ; variables: int v(t, x) ; int x(x) ; data: v = 1 ; }"
            nczarr.write(nczarr.from_cdl(text % x), path)
    along = "t" if unlike == "length" else "time"
    checked = run_command("check", "--combine", one, other, "--along", along)
    joined = run_command("combine", one, other, str(tmp_path / "all.zarr"), "--along", along)
    assert joined.status == checked.status == 1
    assert helps_of(checked.err) == helps_of(joined.err) != set()


@pytest.mark.parametrize("first", ["packed", "unpacked"])
def test_packed_beside_unpacked_is_one_error(tmp_path: Path, first: str) -> None:
    one, other = packed(tmp_path / "a.nc", 0, 280), packed(tmp_path / "b.nc", 2, 280)
    nczarr.convert(other if first == "packed" else one, tmp_path / "u.zarr", unpack=True)
    unpacked, left = str(tmp_path / "u.zarr"), one if first == "packed" else other
    sources = [left, unpacked] if first == "packed" else [unpacked, left]
    joined = run_command("combine", *sources, str(tmp_path / "all.zarr"), "--along", "time")
    checked = run_command("check", "--combine", *sources, "--along", "time")
    assert (joined.status, joined.err.count("error[")) == (1, 1)
    assert helps_of(checked.err) == helps_of(joined.err)
    assert "write the numbers that they stand for with `--unpack`" in joined.err
    assert run_command("combine", *sources, str(tmp_path / "all.zarr"), "--along", "time", "--unpack").status == 0
    if first == "unpacked":  # a packed target stays so
        assert helps_of(run_command("append", left, unpacked).err) == helps_of(joined.err)
        assert run_command("append", left, unpacked, "--unpack").status == 0
    assert nczarr.open(tmp_path / "all.zarr")["v"][:].tolist() == [280.5, 281.0] * 2


def test_converted_numbers_are_said_to_be_converted(tmp_path: Path) -> None:
    pytest.importorskip("cf_units")
    one, other = packed(tmp_path / "a.nc", 0, 280), packed(tmp_path / "b.nc", 2, 6.5, "degC")
    said = run_command("combine", one, other, str(tmp_path / "all.nc"), "--along", "time", "--units", "majority").err
    assert "279.65 in" in said
    assert "these are numbers after the conversion to `K`" in said
    unconverted = packed(tmp_path / "c.nc", 2, 6.5)
    said = run_command("combine", one, unconverted, str(tmp_path / "all.nc"), "--along", "time").err
    assert "6.5 in" in said
    assert "after the conversion" not in said


def test_times_are_shown_as_dates(tmp_path: Path) -> None:
    one, other = day(tmp_path / "a.nc", 0), day(tmp_path / "b.nc", 2)
    target = str(tmp_path / "all.nc")
    said = run_command("combine", other, one, target, "--along", "time").err
    assert f"2000-01-01 in `{one}` after 2000-01-04 in `{other}`" in said
    said = run_command("combine", one, one, target, "--along", "time", "--sort").err
    assert f"has the value 2000-01-01 in `{one}`, which is given twice" in said
    said = run_command("append", one, other).err
    assert f"2000-01-01 in `{one}` after 2000-01-04 in `{other}`" in said


def test_a_hyphen_behind_o_is_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = (day(tmp_path / "a.nc", 0), day(tmp_path / "b.nc", 2), "--along", "time")
    outputs = {run_command("refs", "combine", *words, *more).out for more in ((), ("-o", "-"))}
    outputs.add(run_command("combine", *words[:2], "-", *words[2:]).out)
    (text,) = outputs
    assert text.startswith(b'{"version":1')
    assert not (tmp_path / "-").exists()


def test_a_pattern_in_quotes_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    day(Path("a_1.nc"), 0)
    for words in (("combine", "a_*.nc", "x.zarr", "--along", "time"), ("append", "a_*.nc", "a_1.nc")):
        ran = run_command(*words)
        assert ran.status == 2
        assert "`a_*.nc` is no file: the shell expands patterns only if they match" in ran.err


def test_a_folder_is_no_name_of_one_target(tmp_path: Path) -> None:
    source = day(tmp_path / "a.nc", 0)
    ran = run_command("convert", source, f"{tmp_path}/")
    assert ran.status == 2
    assert f"name a file in it, such as `{tmp_path}/NAME.nc`" in ran.err
    assert "NAME.nc" not in run_command("convert", source, str(tmp_path / "absent")).err


@pytest.mark.parametrize("version", [2, 3])
def test_longer_texts_go_to_a_new_store(version: int, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    paths = [str(tmp_path / f"{number}.zarr") for number in range(2)]
    for number, labels in enumerate((["é", "bb"], ["longer text", "x"])):
        part = xarray.Dataset({"label": ("time", labels)}, {"time": [2 * number, 2 * number + 1]})
        part.to_zarr(paths[number], zarr_format=version, consolidated=False)
    ran = run_command("append", paths[1], paths[0], "--along", "time")
    assert ran.status == 2
    assert "have elements of <U2 and <U11" in ran.err
    assert helps_of(ran.err) == {"   = help: write target and sources as a new store with `nczarr combine`"}
    whole = str(tmp_path / "all.zarr")
    ran = run_command("combine", *paths, whole, "--along", "time", "--to", f"zarr{version}")
    assert ran.status == 0, ran.err
    assert xarray.open_zarr(whole, consolidated=False)["label"].values.tolist() == ["é", "bb", "longer text", "x"]
