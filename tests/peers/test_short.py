"""Variables shorter than their unlimited dimension: what the netCDF library shows beyond them is read and kept."""

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
from tests.conftest import run_command

pytestmark = pytest.mark.peer

TYPES: dict[str, tuple[Any, list[Any], Any]] = {
    "int": ("<i4", [1, 0, 7], 7),
    "big": (">f4", [1, 0, 7], 7.5),
    "byte": ("i1", [1, 0, 7], 7),
    "ushort": ("<u2", [1, 0, 7], 7),
    "char": ("S1", [b"a", b"b", b"c"], b"z"),
    "enum": ("enum", [1, 0, 7], 7),
    "record": ([("a", "<i4"), ("b", "<f4")], [(1, 1), (2, 2), (3, 3)], (5, 2.5)),
    "gaps": (np.dtype([("a", "i1"), ("b", "<f8")], align=True), [(1, 1), (2, 2), (3, 3)], (5, 2.5)),
    "string": ("string", [b"a", b"bb", b"c"], b"zz"),
}
"""By name: dtype, values, fill value."""

ROWS = """
import json, sys, warnings
import numpy as np, netCDF4
warnings.simplefilter("ignore")
with netCDF4.Dataset(sys.argv[1]) as file:
    file.set_auto_maskandscale(False)
    file.set_auto_chartostring(False)
    found = {}
    for name, variable in file.variables.items():
        rows = [variable[row] for row in range(variable.shape[0])]  # all at once they are mixed up
        found[name] = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
print(json.dumps(found, default=lambda each: each.decode("latin-1")))
"""


@pytest.fixture(scope="module")
def h5py(peer: Callable[[str], ModuleType]) -> ModuleType:
    peer("netCDF4")
    return peer("h5py")


def dtype_of(name: str, h5py: ModuleType) -> Any:
    """The dtype of a type."""
    given = TYPES[name][0]
    special = {"enum": lambda: h5py.enum_dtype({"A": 0, "B": 1, "C": 7}, "i1"), "string": h5py.string_dtype}
    return special[given]() if isinstance(given, str) and given in special else np.dtype(given)


@pytest.fixture(scope="module")
def short(h5py: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every type with and without fill value, in whole and partial chunks, with and without unwritten ones."""
    path = tmp_path_factory.mktemp("short") / "short.h5"
    with h5py.File(path, "w") as file:
        file.attrs["_NCProperties"] = "version=2,h5py=3"  # only files of netCDF have datasets shorter than dimensions
        for name, length, most in (("t", 12, None), ("u", 5, None), ("x", 3, 3)):
            made = file.create_dataset(
                name, data=np.arange(length, dtype="<i4"), maxshape=(most,), chunks=(4,) if most is None else None
            )
            made.make_scale(name)
        for name in TYPES:
            for fill in ("zeros", "own", "never"):
                if (name, fill) == ("string", "never"):  # which HDF5 refuses
                    continue
                for extent in (6, 5, 0):
                    _dataset(file, h5py, name, fill, extent)
        for fill in (None, 7):
            for name, extent in (("both", (3, 3)), ("first", (3, 5)), ("second", (12, 3))):
                made = file.create_dataset(
                    f"{name}_{fill}", extent, maxshape=(None, None), chunks=(2, 2), dtype="<i4", fillvalue=fill
                )
                made[:2, :2] = 5
                made.dims[0].attach_scale(file["t"])
                made.dims[1].attach_scale(file["u"])
        for attribute in (None, 5):
            made = file.create_dataset(f"shrunk_{attribute}", (12,), maxshape=(None,), chunks=(4,), dtype="<i4")
            made[...] = 99
            made.resize((3,))
            made.dims[0].attach_scale(file["t"])
            if attribute is not None:
                made.attrs["_FillValue"] = np.array([attribute], "<i4")
    return path


def _dataset(file: Any, h5py: ModuleType, name: str, fill: str, extent: int) -> None:
    """Three values, of which the last is alone in its chunk, and unwritten chunks up to the extent."""
    dtype = dtype_of(name, h5py)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((2,))
    if fill != "zeros":
        plist.set_fill_value(np.array(TYPES[name][2], dtype))
    if fill == "never":
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((extent,), (h5py.h5s.UNLIMITED,))
    kind = h5py.h5t.py_create(dtype, logical=True)
    made = h5py.Dataset(h5py.h5d.create(file.id, f"{name}_{fill}_{extent}".encode(), kind, space, plist))
    if extent:
        made[:2] = np.array(TYPES[name][1][:2], dtype)
        if fill != "never":
            made[2:3] = np.array(TYPES[name][1][2:], dtype)
        else:  # every value is defined
            made[...] = np.array((TYPES[name][1] * 2)[:extent], dtype)
    made.dims[0].attach_scale(file["t"])


def rows(path: Path) -> dict[str, Any]:
    """What the netCDF library shows, row by row, in a process of its own."""
    import json

    command = [sys.executable, "-c", ROWS, str(path)]
    environment = {**os.environ, "MALLOC_PERTURB_": "85"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ours(path: Path) -> dict[str, Any]:
    """What we show."""

    def plain(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [plain(each) for each in value]
        return value.decode("latin-1") if isinstance(value, bytes) else value or ("" if value is None else value)

    with nczarr.open(path) as file:
        return {name[1:]: plain(np.asarray(file[name][...]).tolist()) for name in file}


@pytest.mark.slow
def test_read_as_the_library_shows_them(short: Path) -> None:
    found, expected = ours(short), rows(short)
    assert len(expected) == 3 + 3 * (3 * len(TYPES) - 1) + 8
    assert {name: found[name] for name in expected} == expected


def test_zeros_inside_and_the_default_of_the_type_beyond(short: Path) -> None:
    with nczarr.open(short) as file:
        assert file["int_zeros_5"][...].tolist() == [1, 0, 7, 0, 0] + [-2147483647] * 7
        assert file["int_own_5"][...].tolist() == [1, 0] + [7] * 10
        assert file["int_zeros_5"][3:8:2].tolist() == [0, -2147483647, -2147483647]


WAYS: list[tuple[str, ...]] = [
    (),
    ("--chunks", "t=7"),
    ("--chunks", "t=100"),
    ("--codec", "zlib:1"),
]


@pytest.mark.slow
@pytest.mark.parametrize("options", WAYS, ids=" ".join)
def test_converted(short: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run_command("convert", str(short), str(tmp_path / "b.nc"), *options)
    assert done.status == 0, done.err
    assert rows(tmp_path / "b.nc") == rows(short)


@pytest.mark.slow
@pytest.mark.parametrize("between", ["b.zarr", "b.json", "b.ncs", "b.awkd"])
def test_converted_through_other_formats(short: Path, tmp_path: Path, between: str) -> None:
    for source, target in ((short, tmp_path / between), (tmp_path / between, tmp_path / "c.nc")):
        done = run_command("convert", str(source), str(target))
        assert done.status == 0, done.err
    assert rows(tmp_path / "c.nc") == rows(short)


@pytest.mark.slow
def test_sections(short: Path, tmp_path: Path) -> None:
    names = [f"{name}_{fill}_5" for name in TYPES for fill in ("zeros", "own")]
    words = [word for name in names for word in ("--section", f"{name}(1:9:2)")]
    done = run_command("convert", str(short), str(tmp_path / "b.nc"), *words)
    assert done.status == 0, done.err
    expected, found = rows(short), rows(tmp_path / "b.nc")
    assert {name: found[name] for name in names} == {name: expected[name][1:10:2] for name in names}


@pytest.mark.slow
def test_digests_and_differences(short: Path, tmp_path: Path) -> None:
    digests = {run_command("digest", str(short)).text.split()[0]}
    for target in ("b.nc", "c.nc"):
        options = ("--chunks", "t=5") if target == "c.nc" else ()
        assert run_command("convert", str(short), str(tmp_path / target), *options).status == 0
        assert run_command("diff", str(short), str(tmp_path / target)).status == 0
        digests.add(run_command("digest", str(tmp_path / target)).text.split()[0])
    assert len(digests) == 1


@pytest.mark.slow
def test_combined(short: Path, tmp_path: Path) -> None:
    done = run_command(
        "refs", "combine", str(short), str(short), "--along", "t", "--unsorted", "-o", str(tmp_path / "b.nc")
    )
    assert done.status == 0, done.err
    expected = rows(short)
    for name, found in rows(tmp_path / "b.nc").items():
        assert found == (expected[name] * 2 if name not in ("u", "x") else expected[name]), name


def test_a_fill_value_of_strings_stands_beyond_them(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    netcdf = peer("netCDF4")
    with netcdf.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("t", None)
        file.createVariable("t", "i4", ("t",))[:] = range(4)
        file.createVariable("s", str, ("t",), fill_value="none")[0] = "a"
    assert nczarr.open(tmp_path / "a.nc")["/s"][...].tolist() == ["a", "none", "none", "none"]
    assert run_command("convert", str(tmp_path / "a.nc"), str(tmp_path / "b.nc")).status == 0
    assert rows(tmp_path / "b.nc")["s"] == ["a", "none", "none", "none"]


def test_short_variables_are_combined(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """A stretch of the target may begin behind the extent, within the last chunk that there is."""
    library = peer("netCDF4")
    sources = [tmp_path / "a.nc", tmp_path / "b.nc"]
    for path in sources:
        with library.Dataset(path, "w") as file:
            file.createDimension("t", None)
            file.createVariable("short", "i4", ("t",), chunksizes=(4,), fill_value=9)[:2] = [1, 2]
            file.createVariable("long", "i4", ("t",))[:5] = range(5)
    done = run_command("refs", "combine", *map(str, sources), "--along", "t", "-o", str(tmp_path / "o.nc"))
    assert done.status == 0, done.err
    with library.Dataset(tmp_path / "o.nc") as file:
        file.set_auto_maskandscale(False)
        assert file["short"][:].tolist() == [1, 2, 9, 9, 9] * 2
