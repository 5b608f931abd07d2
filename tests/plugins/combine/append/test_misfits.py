"""Sources that do not quite fit their target: what is filled or packed again, and what is refused by name."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import nczarr
from tests.conftest import Ran, run_command

TEXT = """netcdf t {{
dimensions: t = UNLIMITED ; x = {length} ;
variables: int t(t) ; int x(x) ; {type} v(t, x) ; {attributes} {more}
data: t = {t} ; x = {x} ; v = {v} ; }}"""


def write(path: Path, t: int, x: tuple[int, ...] = (3, 2, 1), **members: str) -> str:
    """Write one record, with values that tell of time and place; return the path."""
    given = {"type": "float", "attributes": "v:_FillValue = -1.f ;", "more": "", **members}
    v = given.pop("v", ", ".join(str(10 * t + place) for place in x))
    nczarr.write(nczarr.from_cdl(TEXT.format(length=len(x), t=t, x=", ".join(map(str, x)), v=v, **given)), path)
    return str(path)


def append(target: str, *sources: str, **options: str | bool) -> Ran:
    words = [word for name, value in options.items() for word in (f"--{name}", value) if word is not True]
    return run_command("append", *sources, target, "--along", "t", *map(str, words))


TARGETS = ["t.zarr", "t.json", "t.nc"]


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = str(tmp_path / request.param)
    source = write(tmp_path / "first.nc", 1)
    assert run_command("combine", source, path, "--along", "t", "-q").status == 0
    return path


def values(target: str, name: str = "v") -> list[list[float]]:
    with nczarr.open(target) as dataset:
        array: list[list[float]] = np.asarray(dataset[name][...]).tolist()
        return array


def test_coordinates_of_the_target_keep_their_order(target: str, tmp_path: Path) -> None:
    """A union is sorted, unless the target has all of it."""
    ran = append(target, write(tmp_path / "a.nc", 2, (1, 2)), join="outer")
    assert ran.status == 0, ran.err
    assert "`/v`: 1 of 6 cells, read as -1" in ran.err
    assert values(target) == [[13, 12, 11], [-1, 22, 21]]


def test_the_target_decides_the_packing(target: str, tmp_path: Path) -> None:
    sources = [
        write(tmp_path / f"{t}.nc", t, type="short", attributes="v:_FillValue = 7s ;", v="7, 2, 3") for t in (2, 3)
    ]
    assert "the type of `/v` differs" in append(target, *sources).err
    ran = append(target, *sources, repack=True)
    assert ran.status == 0, ran.err
    assert "`/v`: short becomes float, _FillValue 7 becomes -1.0, in " in ran.err
    assert values(target) == [[13, 12, 11], [-1, 2, 3], [-1, 2, 3]]


def test_new_coordinates_and_variables_are_refused_by_stores(target: str, tmp_path: Path) -> None:
    wider = write(tmp_path / "a.nc", 2, (2, 4))
    more = write(tmp_path / "b.nc", 2, more="float w(t) ;")
    for source, message in ((wider, "values of `/x` that"), (more, "has no variable `/w`, and gets none")):
        ran = append(target, source, join="outer")
        if target.endswith(".zarr"):
            assert (ran.status, message in ran.err, "unextendable-target" in ran.err) == (2, True, True)
            assert len(values(target)) == 1
    if not target.endswith(".zarr"):
        assert values(target, "x") == [1, 2, 3, 4]
        assert values(target)[1] == [-1, 22, -1, 24]


def test_cells_without_a_source_need_a_fill_value_in_stores(tmp_path: Path) -> None:
    path = str(tmp_path / "t.zarr")
    first = write(tmp_path / "a.nc", 1, attributes="")
    assert run_command("combine", first, path, "--along", "t", "-q").status == 0
    ran = append(path, write(tmp_path / "b.nc", 2, (1, 2), attributes=""), join="outer")
    assert (ran.status, "has no fill value in" in ran.err) == (2, True)
    assert math.isclose(values(path)[0][0], 13)


def test_replaced_records_are_in_the_grid_of_the_target(tmp_path: Path, target: str) -> None:
    if target.endswith(".json"):
        pytest.skip("records of documents are not replaced")
    ran = append(target, write(tmp_path / "a.nc", 1), region="auto", repack=True)
    assert (ran.status, "misplaced-records" in ran.err) == (1, True)


def test_records_of_a_document_are_sorted(tmp_path: Path) -> None:
    path = str(tmp_path / "t.json")
    sources = [write(tmp_path / f"{t}.nc", t) for t in (1, 4, 3, 0)]
    assert run_command("combine", *sources[:2], path, "--along", "t", "-q").status == 0
    assert run_command("refs", "append", path, *sources[2:], "--sort", "-q").status == 0
    assert values(path, "t") == [0, 1, 3, 4]
    assert values(path)[2] == [33, 32, 31]
    ran = run_command("refs", "append", path, sources[1], "--sort")
    assert (ran.status, "repeated-coordinate" in ran.err) == (1, True)
    ran = run_command("refs", "append", path, sources[1], "--sort", "--duplicates", "last")
    assert (ran.status, values(path, "t")) == (0, [0, 1, 3, 4])


def test_messages_name_the_packing_of_the_target(target: str, tmp_path: Path) -> None:
    odd = {"type": "short", "attributes": "v:_FillValue = 7s ;"}
    ran = append(target, write(tmp_path / "a.nc", 2, **odd), repack=True)
    assert "packed in another way than in the target" in ran.err
    ran = append(target, write(tmp_path / "b.nc", 3, type="double", attributes="", v="1e300, 1, 2"), repack=True)
    assert "the packing of the target cannot hold 1 value of `/v`" in ran.err


@pytest.mark.parametrize("suffix", [".zarr", ".nc"])
def test_earlier_records_need_a_new_target(tmp_path: Path, suffix: str) -> None:
    path = str(tmp_path / f"t{suffix}")
    sources = [write(tmp_path / f"a{t}.nc", t) for t in (5, 6)]
    assert run_command("combine", *sources, path, "--along", "t", "-q").status == 0
    ran = append(path, write(tmp_path / "b.nc", 3))
    assert (ran.status, "as a new one with `nczarr combine … --sort`" in ran.err) == (1, True)


def test_aggregation_files_are_refused(tmp_path: Path) -> None:
    sources = [write(tmp_path / f"{t}.nc", t) for t in (1, 2, 3)]
    place = str(tmp_path / "agg.nc")
    assert run_command("combine", *sources[:2], place, "--along", "t", "--to", "cfa", "-q").status == 0
    before = Path(place).read_bytes()
    ran = append(place, sources[2])
    assert (ran.status, ran.err.count("error[")) == (2, 1)
    assert "is an aggregation file, whose header lists its fragments" in ran.err
    assert Path(place).read_bytes() == before
    new = str(tmp_path / "new.nc")
    assert run_command("combine", place, sources[2], new, "--along", "t", "--to", "cfa", "-q").status == 0
    assert values(new, "t") == [1, 2, 3]


@pytest.mark.parametrize("suffix", [".zarr", ".json", ".nc"])
@pytest.mark.parametrize(("type_", "fill"), [("float", math.nan), ("short", -32767)])
def test_a_fill_value_that_gaps_made_necessary_is_no_difference(
    tmp_path: Path, suffix: str, type_: str, fill: float
) -> None:
    """The next files do not have it, as those before."""
    members = {"type": type_, "attributes": ""}
    sources = [write(tmp_path / f"{t}.nc", t, x, **members) for t, x in ((1, (1, 2)), (2, (2,)), (3, (1, 2)))]
    path = str(tmp_path / f"t{suffix}")
    assert run_command("combine", *sources[:2], path, "--along", "t", "--join", "outer", "-q").status == 0
    ran = append(path, sources[2], join="outer")
    assert ran.status == 0, ran.err
    assert np.array_equal(values(path), [[11, 12], [fill, 22], [31, 32]], equal_nan=True)
    other = {**members, "attributes": f"v:_FillValue = 7{'.f' if type_ == 'float' else 's'} ;"}
    ran = append(path, write(tmp_path / "4.nc", 4, (1, 2), **other), join="outer")
    assert (ran.status, "attribute `_FillValue` of `/v` differs" in ran.err) == (1, True)
