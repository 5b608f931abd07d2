"""Combined datasets beside what xarray makes of the same files, and netCDF4 where xarray has no word for them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import refs
from tests.conftest import ROOT, Ran
from tests.support.peers.combined_files import Maker, axes, chunked, contiguous, files, records

pytestmark = pytest.mark.peer


def texts(dataset: Any, times: tuple[int, ...]) -> None:
    """Strings and chars."""
    axes(dataset, None)
    dataset["time"][:] = times
    dataset.createVariable("s", str, ("time",))[:] = np.array([f"text {time}" * time for time in times], object)
    dataset.createVariable("c", "S1", ("time", "x"))[:] = np.array([list("abcde")] * len(times), "S1")


@pytest.mark.long
@pytest.mark.parametrize("target", ["out.zarr", "out.nc", "out.json", "out.parq"])
@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("make", "form"),
    [
        (records, "NETCDF3_CLASSIC"),
        (records, "NETCDF3_64BIT_DATA"),
        (records, "NETCDF4"),
        (chunked, "NETCDF4"),
        (contiguous, "NETCDF4"),
        (texts, "NETCDF4"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_joined_files_are_what_xarray_makes_of_them(
    peer: Callable[[str], ModuleType],
    nczarr_command: Callable[..., Ran],
    tmp_path: Path,
    make: Maker,
    form: str,
    target: str,
) -> None:
    xarray = peer("xarray")
    sources = files(peer, tmp_path, make, form)
    out = str(tmp_path / target)
    ran = nczarr_command("refs", "combine", *sources, "--along", "time", "-o", out, "--verify", "-q")
    assert (ran.status, ran.err) == (0, "")
    ours = nczarr.open(out)
    parts = [xarray.open_dataset(path, decode_cf=False) for path in sources]
    whole = xarray.concat(parts, "time", data_vars="minimal", coords="minimal", compat="identical")
    assert {f"/{name}" for name in whole.variables} == set(ours)
    for name, variable in whole.variables.items():
        made = ours[str(name)]
        assert np.array_equal(np.asarray(made[...]).astype(variable.dtype), variable.values), name
        assert tuple(str(each).lstrip("/") for each in made.dimensions) == variable.dims


def test_files_stacked_along_a_new_dimension_are_what_xarray_makes_of_them(
    peer: Callable[[str], ModuleType], nczarr_command: Callable[..., Ran], tmp_path: Path
) -> None:
    xarray = peer("xarray")
    sources = []
    for number in range(3):
        sources.append(str(tmp_path / f"{number}.nc"))
        with peer("netCDF4").Dataset(sources[-1], "w") as dataset:
            dataset.createDimension("x", 5)
            dataset.createVariable("x", "f4", ("x",))[:] = np.arange(5)
            dataset.createVariable("time", "f8", ())[...] = number
            dataset.createVariable("v", "f8", ("x",), zlib=True)[:] = np.arange(5) + 10 * number
    out = str(tmp_path / "out.nc")
    ran = nczarr_command("refs", "combine", *sources, "--along", "time", "--new-dim", "time", "-o", out, "-q")
    assert (ran.status, ran.err) == (0, "")
    parts = [xarray.open_dataset(path, decode_cf=False).set_coords("time") for path in sources]
    whole = xarray.concat(parts, "time", data_vars="all", coords="minimal", compat="override", join="exact")
    xarray.testing.assert_equal(xarray.open_dataset(out, decode_cf=False), whole)


def test_groups_and_compounds_are_what_netcdf4_has_in_them(
    peer: Callable[[str], ModuleType], nczarr_command: Callable[..., Ran], tmp_path: Path
) -> None:
    record = np.dtype([("a", "i2"), ("b", "f8", (2,))], align=True)
    sources, every = [], []
    for number, length in enumerate((2, 3)):
        sources.append(str(tmp_path / f"{number}.nc"))
        values = np.zeros(length, record)
        values["a"], values["b"] = np.arange(length) + 10 * number, number + 0.5
        every.append(values)
        with peer("netCDF4").Dataset(sources[-1], "w") as dataset:
            group = dataset.createGroup("g")
            group.createDimension("n", length)
            kind = group.createCompoundType(record, "rec")
            group.createVariable("r", kind, ("n",))[:] = values
            group.createGroup("h").createVariable("k", "i4", ("n",))[:] = np.arange(length) - number
    out = str(tmp_path / "out.nc")
    ran = nczarr_command("refs", "combine", *sources, "--along", "n", "-o", out, "-q")
    assert (ran.status, ran.err) == (0, "")
    with peer("netCDF4").Dataset(out) as made:
        found = made["g/r"][:]
        assert found["a"].tolist() == [0, 1, 10, 11, 12]
        assert np.array_equal(found["b"], np.concatenate(every)["b"])
        assert made["g/h/k"][:].tolist() == [0, 1, -1, 0, 1]


@pytest.mark.parametrize("metadata", ["zarr2", "zarr3", "nczarr"])
@pytest.mark.parametrize(
    ("make", "form"),
    [(records, "NETCDF3_CLASSIC"), (chunked, "NETCDF4"), (contiguous, "NETCDF4")],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_references_to_many_files_are_read_through_fsspec(
    peer: Callable[[str], ModuleType],
    nczarr_command: Callable[..., Ran],
    tmp_path: Path,
    make: Maker,
    form: str,
    metadata: str,
) -> None:
    fsspec, zarr = peer("fsspec"), peer("zarr")
    sources = files(peer, tmp_path, make, form)
    out = str(tmp_path / "out.json")
    options = ("--metadata", metadata, "--embed", "130", "-o", out, "-q")
    ran = nczarr_command("refs", "combine", *sources, "--along", "time", *options)
    assert (ran.status, ran.err) == (0, "")
    made = fsspec.filesystem("reference", fo=out, remote_protocol="file", asynchronous=True, skip_instance_cache=True)
    store = zarr.storage.FsspecStore(made, read_only=True, path="")
    group = zarr.open_group(store, mode="r", zarr_format=3 if metadata == "zarr3" else 2, use_consolidated=False)
    parts = [nczarr.open(path) for path in sources]
    for name in parts[0]:
        axis = [str(each) for each in parts[0][name].dimensions].index("/time") if name != "/x" and name != "/s" else -1
        values = [np.asarray(part[name][...]) for part in parts]
        wanted = values[0] if axis < 0 else np.concatenate(values, axis)
        found = np.asarray(group[name.lstrip("/")][...]).reshape(wanted.shape)  # a scalar is one element in NCZarr
        assert np.array_equal(found.astype(wanted.dtype), wanted), name


def test_reference_documents_are_combined(
    peer: Callable[[str], ModuleType], nczarr_command: Callable[..., Ran], tmp_path: Path
) -> None:
    sources = files(peer, tmp_path, chunked)
    documents = []
    for source in sources:
        documents.append(source + ".json")
        assert nczarr_command("convert", source, documents[-1], "-q").status == 0
    one, other = str(tmp_path / "one.json"), str(tmp_path / "other.json")
    for out, given in ((one, sources), (other, documents)):
        ran = nczarr_command("refs", "combine", *given, "--along", "time", "-o", out, "-q")
        assert (ran.status, ran.err) == (0, "")
    assert nczarr_command("diff", one, other).status == 0
    ours, again = (refs.expand(out) for out in (one, other))
    assert {key for key, value in ours.items() if isinstance(value, list)} == {
        key for key, value in again.items() if isinstance(value, list)
    }
    assert all(again[key] == value for key, value in ours.items() if isinstance(value, list))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_five_hundred_files_take_seconds_and_few_open_files(
    peer: Callable[[str], ModuleType], tmp_path: Path, form: str
) -> None:
    for number in range(500):
        with peer("netCDF4").Dataset(tmp_path / f"{number:03}.nc", "w", format=form) as dataset:
            records(dataset, (2 * number, 2 * number + 1))
    script = (
        "import glob, resource, sys, time\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
        "from nczarr import refs\n"
        "start = time.process_time()\n"
        "refs.combine(sorted(glob.glob(sys.argv[1])), sys.argv[2], along='time')\n"
        "peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(time.process_time() - start, peak)\n"
    )
    arguments = [sys.executable, "-c", script, str(tmp_path / "*.nc"), str(tmp_path / "all.json")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=True)
    seconds, memory = map(float, done.stdout.split())
    assert seconds < 20
    assert memory < 200_000
    assert nczarr.open(tmp_path / "all.json")["time"][...].tolist() == list(range(1000))
