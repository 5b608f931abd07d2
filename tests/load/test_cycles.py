"""Datasets of every format that are opened and dropped many times: descriptors and memory stay as they are."""

from __future__ import annotations

import gc
import json
import os
import resource
import struct
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

import pytest

import nczarr
from nczarr import registry
from nczarr.arrays.chunks.grid import kept
from nczarr.stores.ranges import BoundedCache
from tests.conftest import run_command
from tests.support import opendap_responses
from tests.support.ncml_files import write_ncml
from tests.support.proof import share

CDL = 'netcdf t { dimensions: t = 2; x = 3; variables: int v(t, x); v:units = "K"; data: v = 1, 2, 3, 4, 5, 6; }'

CYCLES, FEW, FIRST = 5000, 200, 100
"""Cycles of each format, of a sample, and before memory is measured."""

CACHE = 1 << 16
"""Bytes of the cache of chunks, so that it is full before memory is measured."""

GROWTH = 8 << 20
"""Bytes by which the resident memory may grow: fewer than two kilobytes a cycle."""


def _convert(name: str, *options: str, source: str = "s.nc") -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        scheme, _, file = name.rpartition(":")
        target = f"{scheme}{':' * bool(scheme)}{folder / file}"
        done = run_command("convert", str(folder / source), target, *options, "--allow-loss", "all")
        assert done.status == 0, done
        return target

    return make


def _combine(folder: Path) -> str:
    for number in (1, 2):
        (folder / f"{number}.nc").write_bytes((folder / "s.nc").read_bytes())
    sources = [str(folder / f"{number}.nc") for number in (1, 2)]
    done = run_command("combine", *sources, str(folder / "t.nca"), "--along", "t", "--to", "cfa", "--unsorted")
    assert done.status == 0, done
    return str(folder / "t.nca")


def _write(name: str, data: bytes) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        (folder / name).write_bytes(data)
        return str(folder / name)

    return make


def _write_n5(folder: Path) -> str:
    """An array of shape (2, 3) in one block, whose first dimension changes fastest."""
    (folder / "t.n5" / "v" / "0").mkdir(parents=True)
    array = {"dimensions": [3, 2], "blockSize": [3, 2], "dataType": "int32", "compression": {"type": "raw"}}
    (folder / "t.n5" / "attributes.json").write_text('{"n5": "2.0.0"}')
    (folder / "t.n5" / "v" / "attributes.json").write_text(json.dumps(array))
    (folder / "t.n5" / "v" / "0" / "0").write_bytes(struct.pack(">HHII6i", 0, 2, 3, 2, *range(6)))
    return str(folder / "t.n5")


SIZES = '<Dimension name="t" size="2"/><Dimension name="x" size="3"/>'
DMR = f'{SIZES}<Int32 name="v"><Dim name="/t"/><Dim name="/x"/></Int32>'

MAKERS = {
    "cdl": _write("t.cdl", CDL.encode()),
    "notation": _convert("t.ncz"),
    "ast": _convert("t.ast.json"),
    "netcdf4": _convert("t.nc", "--kind", "nc4"),
    "netcdf3": _convert("t.nc", "--kind", "nc3"),
    "cfa": _combine,
    "reference": _convert("t.json"),
    "parquet": _convert("t.parq"),
    **{form: _convert("t.zarr", "--to", form) for form in ("nczarr", "zarr2", "zarr3", "nczarr3", "zarr3-2019")},
    "zip": _convert("t.zip"),
    "ncml": lambda folder: write_ncml(folder / "t.ncml", "", f'location="{folder / "s.nc"}"'),
    "awkward0": _convert("t.awkd"),
    "icechunk": _convert("icechunk:t.repository"),
    "n5": _write_n5,
    "ncstream": _convert("t.ncs"),
    "dmrpp": _convert("t.dmrpp"),
    "dap2": _write(
        "t.dods", opendap_responses.dods("Int32 v[t = 2][x = 3];", opendap_responses.units(6, 6, *range(6)))
    ),
    "dap4": _write("t.dap", opendap_responses.dap(DMR, [bytes(24)])),
}
"""Function that makes a dataset of each format, beside a netCDF-4 file, and returns its path or URL."""


@pytest.fixture(autouse=True)
def _small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_items", BoundedCache(CACHE, itemgetter(1)))


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def _drop(target: str, number: int) -> None:
    """Open a dataset, read it, and drop it: as it is, with its variable last, or in a circle."""
    handle = nczarr.open(target)
    variables = list(handle.variables.values())
    if number % 3:
        del handle
    for variable in variables:
        assert variable[...].shape[-1] == 3
    if number % 3 == 2:
        variables.append(variables)  # type: ignore[arg-type]


def check(folder: Path, form: str, cycles: int) -> tuple[int, int]:
    """Return the growth of open descriptors, and of memory."""
    (folder / "s.cdl").write_text(CDL)
    nczarr.convert(folder / "s.cdl", folder / "s.nc", kind="nc4")
    target = MAKERS[form](folder)
    before = 0, 0
    for number in range(cycles + FIRST):
        _drop(target, number)
        if not number % FIRST:  # a process with many objects seldom looks for circles
            gc.collect()
        if number == FIRST:
            before = len(os.listdir("/proc/self/fd")), _resident()
    gc.collect()
    return len(os.listdir("/proc/self/fd")) - before[0], _resident() - before[1]


def test_every_format_that_is_read_is_here() -> None:
    assert {form.name for form in registry.formats() if form.readable} <= MAKERS.keys()


@pytest.mark.long
@pytest.mark.parametrize("form", ["netcdf4", "reference", "zip", "ncstream"])
def test_some_cycles(tmp_path: Path, form: str) -> None:
    descriptors, memory = check(tmp_path, form, FEW)
    assert descriptors <= 0
    assert memory < GROWTH


@pytest.mark.slow
@pytest.mark.parametrize("form", MAKERS)
def test_cycles(tmp_path: Path, form: str) -> None:
    if form == "icechunk":
        pytest.importorskip("icechunk")
    descriptors, memory = check(tmp_path, form, share(CYCLES))
    print(form, descriptors, f"{memory >> 10} KiB")
    assert descriptors <= 0
    assert memory < GROWTH
