"""Damaged files: their reading may crash the guard process, and nothing else."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.formats.netcdf4 import isolation
from nczarr.stores.places import find_places
from tests.conftest import run_command
from tests.support.damaged_hdf5 import run_all, write_every_structure


def _index(data: bytearray, at: int) -> None:
    data[at + 16 : at + 18] = (99).to_bytes(2, "little")


def _size(data: bytearray, at: int) -> None:
    data[at + 24 : at + 32] = (1 << 40).to_bytes(8, "little")


def _signature(data: bytearray, at: int) -> None:
    data[at : at + 4] = b"XCOL"


def _short(data: bytearray, at: int) -> None:
    data[at + 8 : at + 16] = (40).to_bytes(8, "little")


DAMAGES = [_index, _size, _signature, _short]
"""Damages of a collection of the global heap at an offset."""


def damaged(h5py: ModuleType, path: Path, change: Callable[[bytearray, int], None]) -> None:
    """Write a file with a number, and an attribute whose texts are in a damaged collection."""
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(3.0)).attrs["units"] = np.bytes_("K")
        file.attrs["names"] = np.array([f"value{number}" for number in range(7)] + [""], object)
    data = bytearray(path.read_bytes())
    change(data, data.index(b"GCOL"))
    path.write_bytes(data)


@pytest.fixture
def guard() -> Iterator[None]:
    """No guard process before and after."""

    def end() -> None:
        if isolation._guard is not None:
            isolation._guard.end()  # at once: `_end` waits for the reason of its end
            isolation._guard = None
        isolation._refused.clear()

    end()
    yield
    end()


@pytest.mark.long
@pytest.mark.parametrize("change", DAMAGES)
def test_unreadable_attributes_are_left_out(
    change: Callable[[bytearray, int], None], tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    peer("netCDF4")
    h5py, path = peer("h5py"), tmp_path / "t.h5"
    damaged(h5py, path, change)
    status, _, err = run_all([path])
    assert (status, err) == (0, "")
    done = run_command("dump", str(path), "-h")
    assert done.status == 0
    assert "attribute `names` of `/` is damaged: HDF5 cannot read its values" in done.err
    with pytest.warns(nczarr.DataWarning, match="names"):
        dataset = nczarr.open(path)
    with dataset, h5py.File(path) as file:
        assert dataset["x"].attributes["units"] == "K"
        np.testing.assert_array_equal(dataset["x"][:], file["x"][:])
        with pytest.raises(OSError, match=r"."):
            file.attrs["names"]


@pytest.mark.long
def test_other_programs_can_write_a_damaged_file_afterwards(
    tmp_path: Path, peer: Callable[[str], ModuleType], guard: None
) -> None:
    netcdf4, h5py, path = peer("netCDF4"), peer("h5py"), tmp_path / "t.h5"
    damaged(h5py, path, _index)
    with pytest.warns(nczarr.DataWarning):
        nczarr.open(path).close()
    assert str(path) not in {os.path.realpath(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")}
    path.unlink()
    with netcdf4.Dataset(path, "w") as file:
        file.title = "new"
    with nczarr.open(path) as dataset:
        assert dataset.attributes["title"] == "new"


def test_files_are_read_by_one_process(
    tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, guard: None
) -> None:
    peer("netCDF4")
    paths = [tmp_path / f"{version}.h5" for version in ("earliest", "latest")]
    for path in paths:
        write_every_structure(peer("h5py"), path, path.stem)
    guards: list[Any] = []
    real = isolation.TimedProcess
    monkeypatch.setattr(isolation, "TimedProcess", lambda process: guards.append(process) or real(process))
    for path in paths:
        with pytest.warns(nczarr.DataWarning, match="references"):
            dataset = nczarr.open(path)
        with dataset:
            assert dataset["texts"][:2].tolist() == ["ab", "cde"]
            assert dataset["lists"][0].tolist() == [1, 2, 3]
            assert dataset["g/y"][1, 2] == 8
            assert dataset["g/scaled"][7] == 7
    assert len(guards) == 1


@pytest.mark.long
def test_a_crash_of_the_library_ends_the_guard_alone(
    tmp_path: Path, peer: Callable[[str], ModuleType], guard: None
) -> None:
    """The first use of a file may crash: no damage was seen before."""
    peer("netCDF4")
    path = tmp_path / "t.nc"
    with peer("h5py").File(path, "w") as file:
        file.create_dataset("s", data=np.arange(3), chunks=(3,), scaleoffset=0)
    script = f"""
        import os, sys
        from nczarr.__main__ import main
        from nczarr.formats.netcdf4 import isolation
        from nczarr.formats.netcdf4.library_variable import LibraryVariable
        if sys.argv[1] == "signal":
            LibraryVariable._by_hdf5 = lambda *arguments: os.kill(os.getpid(), 11)
        else:
            isolation.SECONDS = 0.2
            LibraryVariable._by_hdf5 = lambda *arguments: __import__("time").sleep(60)
        sys.exit(main(["dump", {str(path)!r}]))
    """
    for way, why in (("signal", "crashed on it (status -11)"), ("sleep", "did not return within")):
        command = [sys.executable, "-c", textwrap.dedent(script), way]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr
        assert why in done.stderr
        assert "Traceback" not in done.stderr


def test_a_file_that_is_open_here_is_read_here(tmp_path: Path, peer: Callable[[str], ModuleType], guard: None) -> None:
    """Another process could not open what a writer has locked."""
    netcdf4, path = peer("netCDF4"), tmp_path / "t.nc"
    with netcdf4.Dataset(path, "w") as file:
        file.title = "first"
        file.sync()
        assert isolation.is_here(str(path))
        with nczarr.open(path) as dataset:
            assert dataset.attributes["title"] == "first"
    assert not isolation.is_here(str(path))


def test_the_guard_follows_the_working_directory(tmp_path: Path, guard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.h5").write_bytes(name.encode())
        monkeypatch.chdir(tmp_path / name)
        assert isolation.call("t.h5", os.getcwd) == str(tmp_path / name)


def test_memory_of_the_guard_is_bounded(tmp_path: Path, guard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.h5"
    path.write_bytes(b"1")
    with pytest.raises(MemoryError):
        isolation.call(str(path), bytes, isolation.ROOM + (64 << 20))
    assert isolation.call(str(path), bytes, 1 << 20) == bytes(1 << 20)


def test_a_header_that_takes_all_memory_is_damaged(
    tmp_path: Path, guard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDF5 may allocate in a circle; values may really need more than there is."""
    monkeypatch.setattr(isolation, "ROOM", 1 << 20)
    (tmp_path / "a").write_bytes(b"abc")
    with pytest.raises(MemoryError):
        isolation.call(str(tmp_path / "a"), bytearray, 1 << 29)
    with pytest.raises(isolation.NoAnswerError, match="takes all memory for a header"):
        isolation.call(str(tmp_path / "a"), bytearray, 1 << 29, about_headers=True)


@pytest.mark.plugin("remote")
def test_a_file_that_crashes_the_guard_is_refused_until_it_changes(tmp_path: Path, guard: None) -> None:
    path = tmp_path / "t.h5"
    path.write_bytes(b"1")
    with pytest.raises(OSError, match=r"the HDF5 library crashed on it \(status -6\)"):
        isolation.call(str(path), os.abort)
    with pytest.raises(OSError, match="crashed"):
        isolation.call(str(path), operator.add, 1, 2)
    with pytest.raises(OSError, match="crashed"):  # `info` counts the requests of a reader by ranges
        isolation.call(find_places("").reopen(str(path), None, tail=False).path, operator.add, 1, 2)
    path.write_bytes(b"22")
    assert isolation.call(str(path), operator.add, 1, 2) == 3
    assert isolation.call(str(path), operator.add, 1, 2) == 3
    with pytest.raises(ZeroDivisionError):
        isolation.call(str(path), operator.floordiv, 1, 0)


@pytest.mark.long
def test_a_file_that_hangs_the_guard_is_refused(tmp_path: Path, guard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.h5"
    path.write_bytes(b"1")
    assert isolation.call(str(path), operator.add, 1, 2) == 3
    monkeypatch.setattr(isolation, "SECONDS", 0.2)
    with pytest.raises(OSError, match="did not return within"):
        isolation.call(str(path), time.sleep, 60)


def test_a_plain_file_is_read_without_a_library(
    tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, guard: None
) -> None:
    """Neither its header nor the places of its chunks need a call that may crash."""
    paths = [tmp_path / f"{number}.nc" for number in range(3)]
    for number, path in enumerate(paths):
        with peer("netCDF4").Dataset(path, "w") as file:
            file.createDimension("t", None)
            for name in "tabcdefgh":
                file.createVariable(name, "f8", ("t",), zlib=True, chunksizes=(1,))[:] = [number]
    monkeypatch.setattr(isolation, "_call_guarded", lambda *arguments: pytest.fail("a library is called"))
    combined = nczarr.refs.combine(paths, along="t")
    assert combined["a"][...].tolist() == [0, 1, 2]
    nczarr.convert(paths[0], tmp_path / "one.zarr")


def test_arrays_without_cells_are_converted(tmp_path: Path, peer: Callable[[str], ModuleType], guard: None) -> None:
    with peer("h5py").File(tmp_path / "t.h5", "w") as file:
        file.create_dataset("contiguous", (0,), "i1")
        file.create_dataset("chunked", (0,), "i1", maxshape=(None,), chunks=(4,))
        file.create_dataset("scalar", (), "i1")
    nczarr.convert(tmp_path / "t.h5", tmp_path / "t.zarr")
    dataset = nczarr.open(tmp_path / "t.zarr")
    assert [dataset[name].shape for name in ("contiguous", "chunked", "scalar")] == [(0,), (0,), ()]
