"""HDF5 files with structures that the header reader does not know, and files that a writer did not close."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import CompileError
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4 import library_objects
from nczarr.formats.netcdf4.header.file_bytes import HeaderFile, UnknownStructureError
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.stores.open import open_source
from tests.support.drawn_hdf5 import set_shared, write_drawn
from tests.support.h5py_equality import compare
from tests.support.library import library

h5py = library("h5py")
library("netCDF4")


def diagnostics(path: Path) -> list[str]:
    """Return code and message of what reading a file reports."""
    report = Report()
    phases.read(open_source(str(path)), report, Options())
    return [": ".join((one.code, one.message, *one.notes)) for one in report.list_sorted()]


def create(path: Path, plist: Any) -> Any:
    """Return a new file with creation properties."""
    return h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, fcpl=plist))


@pytest.mark.parametrize("strategy", ["page", "fsm", "aggregate", "none"])
@pytest.mark.parametrize("persists", [True, False])
def test_every_strategy_of_space(strategy: str, persists: bool, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(library_objects, "ask", None)  # the header reader knows them
    path = tmp_path / "t.h5"
    with h5py.File(path, "w", fs_strategy=strategy, fs_persist=persists) as file:
        file.create_dataset("x", data=np.arange(3.0)).make_scale("x")
    compare(h5py, path)
    assert diagnostics(path) == []


@pytest.mark.parametrize("sizes", [(4, 4), (8, 4), (4, 8), (2, 2), (16, 8)])
def test_sizes_of_addresses(sizes: tuple[int, int], tmp_path: Path) -> None:
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    plist.set_sizes(*sizes)
    with create(tmp_path / "t.h5", plist) as file:
        file["x"] = np.arange(3.0)
        file["text"] = ["a", "bc"]
        file["x"].attrs["texts"] = ["d", "ef"]
        file.create_dataset("chunks", data=np.arange(10), chunks=(4,), compression="gzip")
    compare(h5py, tmp_path / "t.h5")
    assert diagnostics(tmp_path / "t.h5") == []


def test_lengths_that_hdf5_cannot_read(tmp_path: Path) -> None:
    """HDF5 2.0 neither writes nor reads lengths of 16 bytes: h5py shows a dataset of another shape each time."""
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    plist.set_sizes(8, 16)
    with create(tmp_path / "t.h5", plist) as file:
        file["x"] = np.arange(3.0)
    [message] = diagnostics(tmp_path / "t.h5")
    assert message.endswith("it has lengths of 16 bytes, for which HDF5 returns arbitrary values")


def test_what_hdf5_refuses_too_is_refused_by_both(tmp_path: Path) -> None:
    """HDF5 2.0 writes an unlimited length in 4 bytes, and does not open the dataset."""
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    plist.set_sizes(8, 4)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    number = h5py.h5f.create(bytes(tmp_path / "t.h5"), h5py.h5f.ACC_TRUNC, fcpl=plist, fapl=access)
    with h5py.File(number) as file:
        file.create_dataset("x", (3,), maxshape=(None,), chunks=(2,))
    [message] = diagnostics(tmp_path / "t.h5")
    doubt = "nczarr's header reader does not know addresses of 8 bytes and lengths of 4"
    assert f"`/x` cannot be read: {doubt}; the HDF5 library: didn't find unlimited dimension" in message


def test_shared_messages(tmp_path: Path) -> None:
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    set_shared(plist, [(0x1F, 20)], 50, 40)
    with create(tmp_path / "t.h5", plist) as file:
        for number in range(3):
            one = file.create_dataset(f"d{number}", data=np.arange(4.0), chunks=(2,), compression="gzip")
            one.attrs["units"] = "metres per second"
    compare(h5py, tmp_path / "t.h5")
    assert diagnostics(tmp_path / "t.h5") == []


def test_a_superblock_of_the_future(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "t.h5", "w", libver="latest") as file:
        file["x"] = 1
    data = bytearray((tmp_path / "t.h5").read_bytes())
    data[8] = 9
    (tmp_path / "t.h5").write_bytes(data)
    [message] = diagnostics(tmp_path / "t.h5")
    assert "nczarr's header reader does not know version 9 of the superblock; the HDF5 library: bad" in message
    assert "damaged" not in message


def test_without_the_library_the_structure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_objects, "is_installed", lambda: False)
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    plist.set_sizes(4, 4)
    create(tmp_path / "t.h5", plist).close()
    [message] = diagnostics(tmp_path / "t.h5")
    assert "does not know addresses of 4 bytes and lengths of 4; the HDF5 library of netCDF4-python" in message


@pytest.mark.parametrize("seed", range(20))
def test_the_library_describes_objects_as_the_header_reader(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: HeaderFile) -> int:
        raise UnknownStructureError("anything")

    try:
        write_drawn(h5py, tmp_path / "t.h5", seed)
    except OSError:
        pytest.skip("HDF5 does not combine these properties")
    monkeypatch.setattr(HeaderFile, "root", refuse)
    compare(h5py, tmp_path / "t.h5")


@pytest.mark.parametrize("swmr", [True, False])
def test_a_file_that_was_not_closed(swmr: bool, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "w.h5", "w", libver="latest") as file:
        one = file.create_dataset("x", data=np.arange(10.0), chunks=(4,), maxshape=(None,))
        if swmr:
            file.swmr_mode = True
        one[3] = 30
        file.flush()
        shutil.copy(tmp_path / "w.h5", tmp_path / "t.h5")
    assert diagnostics(tmp_path / "t.h5") == [
        f"unclosed-file: `{tmp_path / 't.h5'}` is open for writing, or its writer ended without closing it"
    ]
    assert nczarr.open(tmp_path / "t.h5")["x"][...].tolist() == [0, 1, 2, 30, 4, 5, 6, 7, 8, 9]


def test_an_unclosed_file_without_its_end_names_the_remedy(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "w.h5", "w", libver="latest") as file:
        file["x"] = np.arange(1000.0)
        file.flush()
        data = (tmp_path / "w.h5").read_bytes()
    (tmp_path / "t.h5").write_bytes(data[:600])
    with pytest.raises(CompileError, match="open for writing or was not closed, which `h5clear -s` mends"):
        nczarr.open(tmp_path / "t.h5")


@pytest.mark.parametrize("bounds", ["earliest", "v110", "latest"])
def test_a_file_without_its_end_is_refused_whole(bounds: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "w.h5", "w", libver=(bounds, "latest")) as file:
        file["x"] = np.arange(1, 1001.0)
    (tmp_path / "t.h5").write_bytes((tmp_path / "w.h5").read_bytes()[:-1])
    [message] = diagnostics(tmp_path / "t.h5")
    assert "the file is shorter than its superblock says; the HDF5 library: truncated file" in message
    with pytest.raises(CompileError, match="shorter"):
        nczarr.convert(tmp_path / "t.h5", tmp_path / "t.zarr")


def test_values_behind_the_end_of_an_unclosed_file_are_a_named_loss(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "w.h5", "w", libver="latest") as file:
        file["x"] = np.arange(1, 1001.0)
        file.swmr_mode = True
        file.flush()
        data = (tmp_path / "w.h5").read_bytes()
    (tmp_path / "t.h5").write_bytes(data[:-1])
    with pytest.raises(CompileError) as refused:
        nczarr.convert(tmp_path / "t.h5", tmp_path / "t.zarr")
    notes = [note for one in refused.value.diagnostics for note in one.notes]
    assert any("`/x` cannot be read" in note and "the file ends before its values" in note for note in notes), notes
