"""Extensions as other readers see them: xarray, the netCDF library, icechunk."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import Report
from nczarr.pipeline import phases
from nczarr.pipeline.select.selection import DimensionRange, Subset
from nczarr.plugins.combine.join.agreement import CombineSpec, settle
from nczarr.plugins.common.store_changes import ExtensibleFolder
from tests.conftest import run_command
from tests.support.peers import exactness
from tests.support.repositories import commit_attribute, icechunk

pytestmark = pytest.mark.peer

REAL = exactness.real_folder()
SMALL = [] if REAL is None else [each.path for each in exactness.real(REAL) if each.path.stat().st_size < 3_000_000]

DAYS = 7
"""Records of a file, in chunks of 3."""


def month(xr: ModuleType, number: int, *, units: str = "days since 2020-01-01") -> Any:
    """Some days of values."""
    time = np.arange(DAYS, dtype="f8") + DAYS * number
    values = np.random.default_rng(number).normal(size=(DAYS, 4, 5)).astype("f4")
    return xr.Dataset(
        {
            "temp": (("time", "y", "x"), values, {"units": "K"}),
            "count": (("time",), np.arange(DAYS, dtype="i4") + number),
            "area": (("y", "x"), np.ones((4, 5))),
        },
        coords={"time": ("time", time, {"units": units, "calendar": "standard"}), "y": np.arange(4.0)},
        attrs={"title": "months"},
    )


@pytest.fixture
def xr(peer: Callable[[str], ModuleType]) -> ModuleType:
    peer("netCDF4")
    peer("zarr")
    return peer("xarray")


@pytest.fixture
def months(xr: ModuleType, tmp_path: Path) -> list[Path]:
    """Twelve netCDF-4 files."""
    paths = [tmp_path / f"month{number:02}.nc" for number in range(12)]
    for number, path in enumerate(paths):
        month(xr, number).to_netcdf(
            path,
            unlimited_dims=["time"],
            engine="netcdf4",
            encoding={"temp": {"zlib": True, "chunksizes": (3, 4, 5)}, "time": {"chunksizes": (4,)}},
        )
    return paths


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["nczarr", "zarr2", "zarr3", "nczarr3", "netcdf4"])
def test_twelve_months(xr: ModuleType, months: list[Path], form: str, tmp_path: Path) -> None:
    """One by one they equal all at once: for us, and for xarray beside its own concatenation."""
    target = tmp_path / ("t.nc" if form == "netcdf4" else "t.zarr")
    nczarr.convert(months[0], target, form, allow_loss="all")
    for path in months[1:]:
        nczarr.append(path, target, along="time")
    whole = tmp_path / f"whole{target.suffix}"
    nczarr.refs.combine(months, whole, form, along="time", allow_loss="all")
    assert nczarr.diff(target, whole) == []
    engine = {"engine": "netcdf4"} if form == "netcdf4" else {"engine": "zarr", "consolidated": False}
    with xr.open_dataset(target, decode_times=False, **engine) as found:
        each = [xr.open_dataset(path, decode_times=False) for path in months]
        expected = xr.concat(each, "time", data_vars="minimal", coords="minimal", compat="override")
        check = xr.testing.assert_equal if form == "nczarr3" else xr.testing.assert_identical  # it shows attributes
        check(found.load(), expected.load())


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("consolidated", [False, True])
def test_stores_of_xarray(
    xr: ModuleType, months: list[Path], zarr_format: int, consolidated: bool, tmp_path: Path
) -> None:
    """A store that xarray wrote is extended as xarray would."""
    options = {"zarr_format": zarr_format, "consolidated": consolidated}
    for name in ("ours", "theirs"):
        month(xr, 0).to_zarr(tmp_path / name, **options)
    for number in (1, 2, 3):
        nczarr.append(months[number], tmp_path / "ours", along="time")
        month(xr, number).drop_vars("area").to_zarr(tmp_path / "theirs", append_dim="time", **options)
    ours, theirs = (
        xr.open_zarr(tmp_path / name, consolidated=consolidated, decode_times=False).load()
        for name in ("ours", "theirs")
    )
    xr.testing.assert_identical(ours, theirs)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_a_region_is_that_of_xarray(xr: ModuleType, months: list[Path], tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        month(xr, 0).to_zarr(tmp_path / name, zarr_format=3, consolidated=False)
    changed = month(xr, 0).isel(time=slice(2, 5))
    changed["temp"] = changed["temp"] + 1
    changed.to_netcdf(tmp_path / "changed.nc")
    nczarr.append(tmp_path / "changed.nc", tmp_path / "ours", along="time", region="auto")
    xr.decode_cf(changed.drop_vars(["area", "y"])).to_zarr(tmp_path / "theirs", region="auto", consolidated=False)
    ours, theirs = (
        xr.open_zarr(tmp_path / name, consolidated=False, decode_times=False) for name in ("ours", "theirs")
    )
    xr.testing.assert_identical(ours.load(), theirs.load())


class KilledError(BaseException):
    """The end of a process."""


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_are_one_switch(
    xr: ModuleType, months: list[Path], zarr_format: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever write is the last, xarray sees the old dataset or the new one."""
    month(xr, 0).to_zarr(tmp_path / "before", zarr_format=zarr_format, consolidated=True)
    states = {}
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    nczarr.append(months[1], tmp_path / "after", along="time")
    for name in ("before", "after"):
        states[name] = xr.open_zarr(tmp_path / name, consolidated=True, decode_times=False).load()
    original, count, limit = ExtensibleFolder._write, 0, 0

    def counted(self: Any, *given: Any) -> None:
        nonlocal count
        count += 1
        if count > limit:
            raise KilledError
        original(self, *given)

    monkeypatch.setattr(ExtensibleFolder, "_write", counted)
    seen = set()
    while True:
        shutil.copytree(tmp_path / "before", tmp_path / f"t{limit}")
        count = 0
        try:
            nczarr.append(months[1], tmp_path / f"t{limit}", along="time", workers=1)
        except KilledError:
            found = xr.open_zarr(tmp_path / f"t{limit}", consolidated=True, decode_times=False).load()
            names = [name for name, state in states.items() if found.identical(state)]
            assert len(names) == 1, limit
            seen.add(names[0])
            limit += 1
            continue
        break
    assert seen == {"before"}  # the consolidated document is put last
    assert limit >= 8


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_an_old_snapshot_shows_the_old_data(xr: ModuleType, months: list[Path], tmp_path: Path) -> None:
    ice = icechunk()
    place = f"icechunk:{tmp_path / 'repo'}"
    nczarr.convert(months[0], place)
    repository = ice.Repository.open(ice.local_filesystem_storage(str(tmp_path / "repo")))
    snapshots = [repository.lookup_branch("main")]
    for number in (1, 2):
        done = nczarr.append(months[number], place, along="time", message=f"month {number}", author="me")
        assert done.format == "icechunk"
        snapshots.append(repository.lookup_branch("main"))
    commits = list(repository.ancestry(branch="main"))
    assert [each.message for each in commits[:2]] == ["month 2", "month 1"]
    assert commits[0].metadata == {"author": "me"}
    for number, snapshot in enumerate(snapshots):
        nczarr.refs.combine(months[: number + 1], tmp_path / f"{number}.nc", along="time")
        assert nczarr.diff(f"{place}#snapshot={snapshot}", tmp_path / f"{number}.nc") == []
        store = repository.readonly_session(snapshot_id=snapshot).store
        found = xr.open_zarr(store, consolidated=False, decode_times=False).load()
        xr.testing.assert_equal(found, xr.open_dataset(tmp_path / f"{number}.nc", decode_times=False).load())
    with pytest.raises(nczarr.CompileError, match="needs a branch"):
        nczarr.append(months[3], f"{place}#snapshot={snapshots[0]}", along="time")
    with pytest.raises(nczarr.CompileError, match="do not increase"):
        nczarr.append(months[1], place, along="time")
    assert repository.lookup_branch("main") == snapshots[-1]


@pytest.mark.parametrize("verify", [False, True])
def test_an_append_follows_the_commits_of_other_writers(
    months: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verify: bool
) -> None:
    """Commits between reading and writing stay: an attribute of another program, and records of another run."""
    ice = icechunk()
    from nczarr.plugins.combine.append import store

    place, original = f"icechunk:{tmp_path / 'repo'}", store.link
    nczarr.convert(months[0], place)
    others = [lambda: nczarr.append(months[1], place, along="time"), lambda: commit_attribute(tmp_path / "repo")]

    def late(*given: Any) -> None:
        monkeypatch.setattr(store, "link", original)
        if others:
            others.pop()()
            monkeypatch.setattr(store, "link", late)
        original(*given)

    monkeypatch.setattr(store, "link", late)
    ran = run_command("append", str(months[2]), place, "--along", "time", *(["--verify"] if verify else []))
    assert ran.status == 0, ran.err
    assert "on the newer content of another writer" in ran.err
    repository = ice.Repository.open(ice.local_filesystem_storage(str(tmp_path / "repo")))
    messages = [commit.message for commit in repository.ancestry(branch="main")]
    assert messages[:3] == [f"Append `{months[2]}`", f"Append `{months[1]}`", "By another program"]
    nczarr.combine(months[:3], tmp_path / "whole.nc", along="time")
    found = [each.path for each in nczarr.diff(place, tmp_path / "whole.nc")]
    assert found == ["/"], "only the attribute of the other program"


def test_records_that_another_writer_was_quicker_with_are_an_error(
    months: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    icechunk()
    from nczarr.plugins.combine.append import store

    place, original = f"icechunk:{tmp_path / 'repo'}", store.link
    nczarr.convert(months[0], place)

    def late(*given: Any) -> None:
        monkeypatch.setattr(store, "link", original)
        nczarr.append(months[1], place, along="time")
        original(*given)

    monkeypatch.setattr(store, "link", late)
    with pytest.raises(nczarr.CompileError, match="do not increase"):
        nczarr.append(months[1], place, along="time")
    with nczarr.open(place) as found:
        assert len(found["time"]) == 2 * DAYS


def test_many_writers_at_once(tmp_path: Path) -> None:
    """Processes extend one branch: each one's records are there, together, and no commit is lost."""
    icechunk()
    text = """netcdf d { dimensions: t = UNLIMITED ; variables: int who(t) ; int number(t) ;
        data: who = %s ; number = %s ; }"""
    place, writers, records = f"icechunk:{tmp_path / 'repo'}", 3, 3
    nczarr.write(nczarr.from_cdl(text % ("-1", "0")), place)
    commands = []
    for who in range(writers):
        numbers = ", ".join(map(str, range(records)))
        (tmp_path / f"{who}.cdl").write_text(text % (", ".join([str(who)] * records), numbers))
        commands.append([sys.executable, "-m", "nczarr", "append", str(tmp_path / f"{who}.cdl"), place])
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for command in commands]
    printed = [process.communicate()[0].decode() for process in running]
    assert [process.returncode for process in running] == [0] * writers, printed
    with nczarr.open(place) as found:
        who, number = found["who"][:].reshape(-1), found["number"][:].reshape(-1)
    assert sorted(who[1::records].tolist()) == list(range(writers))
    assert number[1:].tolist() == [*range(records)] * writers
    assert (np.repeat(who[1::records], records) == who[1:]).all()


@pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")
@pytest.mark.slow
@pytest.mark.parametrize("form", ["nczarr3", "zarr2", "netcdf4"])
@pytest.mark.parametrize("path", [each for each in SMALL if each.suffix == ".nc"], ids=lambda path: path.name)
def test_halves_of_real_files(path: Path, form: str, tmp_path: Path) -> None:
    """The first half, extended by the second, equals the whole in the same format."""
    whole = nczarr.open(path)
    growing = [each for each, found in whole.checked.dimensions.items() if found.size > 1]
    for dimension in sorted(growing, key=lambda each: not whole.checked.dimensions[each].unlimited)[:1]:
        way = settle(str(path), whole.checked, CombineSpec((dimension,)), Report())
        if way is None:
            pytest.skip("it cannot be combined along this dimension")
        size = whole.checked.dimensions[dimension].size
        ranges = [DimensionRange(dimension, slice(*cut)) for cut in ((0, size // 2), (size // 2, size))]
        halves = (phases.select(whole.checked, Subset(dimensions=(cut,)), Report()) for cut in ranges)
        first, second = (DatasetHandle(half, []) for half in halves if half is not None)
        chunks = {dimension.rpartition("/")[2]: 3}
        try:
            nczarr.write(first, tmp_path / "t", form, allow_loss="all", chunks=chunks)
        except nczarr.CompileError as error:
            pytest.skip(f"not in this format: {error.diagnostics[0].message}")
        try:
            nczarr.append(second, tmp_path / "t", along=dimension, allow_loss="all")
        except nczarr.CompileError as error:
            if {each.code for each in error.diagnostics if each.severity == "error"} != {"misplaced-records"}:
                raise
            pytest.skip("its coordinate has fill values, or does not increase")
        nczarr.write(whole, tmp_path / "whole", form, allow_loss="all")
        assert nczarr.diff(tmp_path / "t", tmp_path / "whole") == []
