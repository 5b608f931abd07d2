"""`check --combine` of netCDF-4 files, beside what VirtualiZarr and kerchunk make of the same files.

Each fault that is found is one that they join with wrong or doubtful values and no word, or cannot join. VirtualiZarr
decodes times, so that other units are a fault for kerchunk alone.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import missing_peer, run_command
from tests.support.peers import SCRIPTS
from tests.support.peers.references import others_interpreter

FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "dtype": ({"type": "f4"}, "the type of `/v` differs in 1 of"),
    "packing": ({"scale": 0.25}, "attribute `scale_factor` of `/v` differs in 1 of"),
    "fill": ({"fill": 11}, "attribute `_FillValue` of `/v` differs in 1 of"),
    "calendar": ({"calendar": "noleap"}, "attribute `calendar` of `/time` differs in 1 of"),
    "units": ({"units": "days since 1999-12-31", "before": 1}, "attribute `units` of `/time` differs in 1 of"),
    "length": ({"lats": 2}, "the length of `/lat` differs in 1 of"),
    "shift": ({"shift": 1e-7}, "values of `/lat` differ in 1 of"),
    "filters": ({"zlib": False}, "the filters of `/v` differ in 1 of"),
    "chunks": ({"chunks": (1, 1, 2)}, "the chunk lengths of `/v` differ in 1 of"),
    "overlap": ({"before": -1}, "the values of `/time` overlap in 1 pair of sources"),
}
"""Changes of one file, and what is found."""


def write(path: Path, day: int, netcdf4: ModuleType, **changes: Any) -> None:
    lats = changes.get("lats", 3)
    with netcdf4.Dataset(path, "w") as file:
        for name, size in (("time", None), ("lat", lats), ("lon", 2)):
            file.createDimension(name, size)
        time = file.createVariable("time", "f8", ("time",), fill_value=False, chunksizes=(1,))
        time.units = changes.get("units", "days since 2000-01-01")
        time.calendar = changes.get("calendar", "standard")
        time[:] = [day + changes.get("before", 0)]
        file.createVariable("lat", "f8", ("lat",))[:] = np.arange(lats) * 10 + changes.get("shift", 0)
        variable = file.createVariable(
            "v", changes.get("type", "i2"), ("time", "lat", "lon"), zlib=changes.get("zlib", True), shuffle=False,
            chunksizes=changes.get("chunks", (1, lats, 2)), fill_value=changes.get("fill", -999),
        )  # fmt: skip
        variable.set_auto_maskandscale(False)
        variable.scale_factor = changes.get("scale", 0.5)
        variable[0] = np.arange(2 * lats).reshape(lats, 2) * 10 + day
        file.history = f"written on day {day}"


def messages(*arguments: str) -> list[str]:
    ran = run_command("check", "--combine", *arguments, "--message-format", "json")
    return [json.loads(line)["message"] for line in ran.err.splitlines()]


@pytest.fixture
def netcdf4(peer: Callable[[str], ModuleType]) -> ModuleType:
    return peer("netCDF4")


@pytest.mark.long
def test_five_hundred_files_with_six_faults(netcdf4: ModuleType, tmp_path: Path) -> None:
    """Each fault is found once, whatever the number of sources."""
    planted = {17: "packing", 18: "packing", 101: "dtype", 240: "calendar", 333: "shift", 334: "shift", 400: "filters"}
    paths = []
    for number in range(500):
        paths.append(tmp_path / f"{number:04}.nc")
        changes = FAULTS[planted[number]][0] if number in planted else {}
        write(paths[-1], number + (9 if number >= 450 else 0), netcdf4, **changes)
    texts = messages(*map(str, paths))
    wanted = [FAULTS[name][1].replace("1 of", "") for name in dict.fromkeys(planted.values())]
    wanted.append("values of `/time` are missing between 1 pair of sources")
    assert len(texts) == len(wanted) == 6
    assert all(any(text.startswith(start) for text in texts) for start in wanted)


@pytest.mark.long
def test_every_finding_is_a_fault_of_joined_files(netcdf4: ModuleType, tmp_path: Path) -> None:
    interpreter = others_interpreter()
    if interpreter is None:
        missing_peer("virtualizarr (NCZARR_KERCHUNK names its interpreter)")
    cases = {"plain": {}, **{name: changes for name, (changes, _) in FAULTS.items()}}
    files = {name: [tmp_path / f"{name}-{day}.nc" for day in range(3)] for name in cases}
    for name, changes in cases.items():
        for day, path in enumerate(files[name]):
            write(path, day, netcdf4, **(changes if day == 1 else {}))
        found = messages(*map(str, files[name]))
        if name == "plain":
            assert found == []
        else:
            assert any(text.startswith(FAULTS[name][1]) for text in found), (name, found)
    listed = [f"{name}={','.join(path.name for path in paths)}" for name, paths in files.items()]
    listed += ["--kerchunk", listed.pop(list(files).index("units"))]
    script = str(SCRIPTS / "join_virtualizarr.py")
    done = subprocess.run([interpreter, script, str(tmp_path), *listed], capture_output=True, text=True, check=True)
    answers = json.loads(done.stdout.splitlines()[-1])
    assert {name for name, paths in files.items() if is_right(answers[name], paths)} == {"plain"}


def is_right(answer: dict[str, Any], paths: list[Path]) -> bool:
    """Whether joined files have the decoded values of the single ones, at their times, each once, on one grid."""
    import xarray

    if "error" in answer:
        return False
    singles = [xarray.open_dataset(path, decode_times=False) for path in paths]
    dates = [xarray.open_dataset(path)["time"].values[0] for path in paths]
    grids = {tuple(single["lat"].values) for single in singles}
    start = np.datetime64("2000-01-01", "ns")
    times = [(date - start) / np.timedelta64(1, "D") for date in dates]
    same = all(
        np.array_equal(np.array(values, "f8"), single["v"].values[0], equal_nan=True)
        for values, single in zip(answer["v"], singles, strict=True)
    )
    return same and answer["time"] == times and len(grids) == 1 and len(set(times)) == len(times)
