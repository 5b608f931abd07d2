"""Levels beside the arrays of a store, and levels of what has grown: the keys that are made, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.pyramid.level_array import Overviews
from tests.conftest import run_command
from tests.support.pyramids import SHAPE, day


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of each file, which tell what was written."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def is_pyramid(path: Path, prefix: str = "", levels: int = 2) -> None:
    """Each level has the means of level 0."""
    values = nczarr.open(path)[f"{prefix}/t"][:].astype("f8")
    for level in range(1, levels + 1):
        side = 2**level
        rows, columns = (length // side for length in SHAPE)
        means = values.reshape(len(values), rows, side, columns, side).mean((2, 4))
        assert np.array_equal(nczarr.open(path)[f"/{level}/t"][:], means.astype("f4"))
        assert np.array_equal(nczarr.open(path)[f"/{level}/time"][:], nczarr.open(path)[f"{prefix}/time"][:])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of two maps with two levels beside it."""
    nczarr.write(day(0, 2), tmp_path / "s.zarr", "zarr3", chunks={"time": 1, "lat": 32, "lon": 32})
    nczarr.pyramid(tmp_path / "s.zarr", levels=2, chunks={"time": 1, "lat": 16, "lon": 16})
    return tmp_path / "s.zarr"


@pytest.mark.parametrize("form", ["zarr3", "zarr2", "nczarr", "nczarr3"])
def test_levels_beside_arrays(form: str, tmp_path: Path) -> None:
    """Nothing of the store changes but the documents of the root."""
    path = tmp_path / "s.zarr"
    nczarr.write(day(0, 2), path, form, chunks={"time": 1, "lat": 32, "lon": 32})
    before = files(path)
    nczarr.pyramid(path, levels=2)
    touched = changed(before, files(path))
    assert {key for key in touched if not key.startswith(("1/", "2/"))} <= {
        "zarr.json",
        ".zattrs",
        ".zmetadata",
        ".zgroup",
    }
    is_pyramid(path)
    with pytest.raises(CompileError, match="has levels already"):
        nczarr.pyramid(path)


def test_only_what_append_touched_is_computed(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After two more maps, chunks of these alone are read and written, each tile once."""
    nczarr.append(day(2, 2), store, along="time")
    ran = run_command("check", str(store), "--for", "geo")
    assert "but `/1/t` the shape [2, 32, 48] and `/t` [4, 64, 96]" in ran.err
    before, read = files(store), list[Any]()
    compute = Overviews._compute

    def counted(self: Overviews, index: tuple[int, ...]) -> Any:
        if len(index) == 3:
            read.append(index)
        return compute(self, index)

    monkeypatch.setattr(Overviews, "_compute", counted)
    done = nczarr.pyramid(store, update=True, verify=False)
    assert {index[0] for index in read} == {2, 3}
    assert len(read) == len(set(read))
    touched = changed(before, files(store))
    chunks = {key for key in touched if "/c/" in key}
    assert {key.split("/c/")[0] for key in chunks} == {"1/t", "2/t", "1/time", "2/time"}
    assert all(int(key.split("/")[3]) >= 2 for key in chunks if key.split("/")[1] == "t")
    assert len([key for key in chunks if key.startswith("1/t/")]) == 2 * 2 * 3
    assert sum(getattr(done, f"{way}_chunks") for way in ("copied", "transcoded", "rechunked", "encoded")) <= len(
        chunks
    )
    is_pyramid(store)
    assert run_command("check", str(store), "--for", "geo").status == 0
    again = files(store)
    nczarr.pyramid(store, update=True)
    assert not {key for key in changed(again, files(store)) if "/c/" in key}


def test_a_pyramid_follows_its_source(tmp_path: Path) -> None:
    """New chunks of level 0 are copied, the levels of these computed, and compared with what was written."""
    source, target = tmp_path / "s.zarr", tmp_path / "p.zarr"
    nczarr.write(day(0, 2), source, "zarr3", chunks={"time": 1, "lat": 32, "lon": 32})
    nczarr.pyramid(source, target, "zarr3", levels=2)
    nczarr.append(day(2, 1), source, along="time")
    before = files(target)
    done = nczarr.pyramid(source, target, update=True, verify=True)
    assert done.copied_chunks >= 6
    old = {key for key in before if "/t/c/" in key}
    assert not old & changed(before, files(target))
    is_pyramid(target, "/0")


def test_growth_along_a_reduced_dimension(tmp_path: Path) -> None:
    """The last cell of a level, of fewer cells of level 0, is computed again."""
    text = """netcdf d { dimensions: y = UNLIMITED ; x = 4 ; variables: double t(y, x) ; t:_FillValue = -1. ;
      data: t = %s ; }"""  # fmt: skip
    first, second = np.arange(20.0).reshape(5, 4), np.arange(20.0, 36.0).reshape(4, 4)
    for name, values in (("a", first), ("b", second)):
        data = nczarr.from_cdl(text % ", ".join(map(str, values.ravel())))
        nczarr.write(data, tmp_path / f"{name}.zarr", "zarr3", chunks={"y": 2})
    nczarr.pyramid(tmp_path / "a.zarr", levels=2)
    nczarr.append(tmp_path / "b.zarr", tmp_path / "a.zarr", along="y")
    nczarr.pyramid(tmp_path / "a.zarr", update=True)
    whole = np.concatenate([first, second])
    expected = [[whole[row : row + 2, column : column + 2].mean() for column in (0, 2)] for row in range(0, 9, 2)]
    assert nczarr.open(tmp_path / "a.zarr")["/1/t"][:].tolist() == expected
    assert nczarr.open(tmp_path / "a.zarr")["/2/t"][:].tolist() == [[whole[row : row + 4].mean()] for row in (0, 4, 8)]


@pytest.mark.parametrize("error", [OSError(5, "the disk failed", "level 0"), KeyboardInterrupt()])
def test_a_failed_run_leaves_the_store(error: BaseException, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error or an interruption leaves the levels as they were; the next run completes them."""
    nczarr.append(day(2, 1), store, along="time")
    before = {key: content for key, (content, _) in files(store).items()}

    def failing(self: Overviews, index: tuple[int, ...]) -> Any:
        raise error

    with monkeypatch.context() as changes:
        changes.setattr(Overviews, "_compute", failing)
        with pytest.raises(type(error)):
            nczarr.pyramid(store, update=True)
    assert {key: content for key, (content, _) in files(store).items() if "lock" not in key} == before
    nczarr.pyramid(store, update=True)
    is_pyramid(store)


def test_levels_of_some_variables(tmp_path: Path) -> None:
    """A selection of variables holds for updates; one of cells is refused."""
    path = tmp_path / "s.zarr"
    nczarr.write(day(0, 2, "t:_FillValue = -1.f ; float u(lat, lon) ; float w(time, lat, lon) ;"), path, "zarr3")
    nczarr.pyramid(path, levels=2, variables=["t"])
    (level,) = (group for group in nczarr.open(path).dataset.groups if group.name == "1")
    assert {variable.name for variable in level.variables} == {"time", "lat", "lon", "t"}
    nczarr.append(day(2, 1, "t:_FillValue = -1.f ; float u(lat, lon) ; float w(time, lat, lon) ;"), path, along="time")
    nczarr.pyramid(path, update=True)
    is_pyramid(path)
    nczarr.write(day(0, 2), tmp_path / "p.zarr", "zarr3")
    ran = run_command("pyramid", str(tmp_path / "p.zarr"), "--sel", "lat=0:9")
    assert "levels are added for whole variables" in ran.err


def test_a_dry_run_writes_nothing(store: Path) -> None:
    nczarr.append(day(2, 1), store, along="time")
    before = files(store)
    ran = run_command("pyramid", str(store), "--update", "--dry-run")
    assert ran.status == 0
    assert b"/1/t" in ran.out
    assert b"nothing was written" in ran.out
    assert files(store) == before


def test_refusals(store: Path, tmp_path: Path) -> None:
    nczarr.write(day(0, 1), tmp_path / "a.nc")
    nczarr.write(day(0, 1), tmp_path / "plain.zarr", "zarr3")
    for words, message in (
        ([str(tmp_path / "a.nc")], "is a file, to which no levels are added"),
        ([str(tmp_path / "plain.zarr"), "--update"], "has no levels of `nczarr pyramid`"),
        ([str(store)], "has levels already"),
        ([str(tmp_path / "plain.zarr"), "--verify"], "`--verify` reads new targets"),
        (["-"], "name the target of a dataset on standard input"),
    ):
        ran = run_command("pyramid", *words)
        assert ran.status, words
        assert message in ran.err


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    text = """netcdf d { dimensions: y = 2 ; x = 2 ; variables: int t(y, x) ; data: t = 1, 2, 3, 4 ;
      group: \\1 { variables: int s ; } }"""  # fmt: skip
    nczarr.write(nczarr.from_cdl(text), tmp_path / "s.zarr", "zarr3")
    with pytest.raises(CompileError, match="has a group `1`, which is the name of a level"):
        nczarr.pyramid(tmp_path / "s.zarr")


def test_consolidated_metadata_follow(tmp_path: Path) -> None:
    """A root that holds the documents of all nodes holds those of the levels, and their lengths."""
    path = tmp_path / "s.zarr"
    nczarr.write(day(0, 2), path, "zarr3", consolidated=True, chunks={"time": 1})
    nczarr.pyramid(path, levels=1)
    nczarr.append(day(2, 1), path, along="time")
    nczarr.pyramid(path, update=True)
    members = json.loads((path / "zarr.json").read_text())["consolidated_metadata"]["metadata"]
    assert members["1/t"]["shape"] == [3, 32, 48]
