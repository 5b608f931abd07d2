"""Encoded chunks in netCDF-4 files: moved from other files and stores, or made in threads, never by the library."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.chunks import grid
from nczarr.arrays.sources.source import ArraySource
from nczarr.formats.netcdf4 import write_chunks, write_values

VALUES = (np.arange(10 * 13, dtype="<i4") % 17).reshape(10, 13)


@pytest.fixture
def library_writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the variables of which the library writes values."""
    written: list[str] = []
    write = write_values._ValueWriter.write

    def note(self: Any, parts: Any) -> None:
        written.append(self.path)
        write(self, parts)

    monkeypatch.setattr(write_values._ValueWriter, "write", note)
    return written


@pytest.fixture
def h5py(peer: Callable[[str], ModuleType]) -> ModuleType:
    peer("netCDF4")
    return peer("h5py")


def array(path: Path, name: str) -> ArraySource:
    return nczarr.open(path).checked.parts[name][""]


def chunks(source: ArraySource) -> dict[tuple[int, ...], tuple[bytes, int]]:
    """The bytes of every stored chunk, with its filter mask."""
    assert source.stored is not None
    found = {}
    for index in source.list_occupied(source.stored.chunks):
        place = source.place(index)
        if place is None:
            found[index] = source.read_encoded(index) or b"", 0
            continue
        with Path(place.path).open("rb") as file:
            file.seek(place.offset)
            found[index] = file.read(place.length), place.mask
    return found


def copied(source: Path, target: Path, **options: Any) -> ArraySource:
    nczarr.write(nczarr.open(source), target, **options)
    return array(target, "/v")


def same(first: Path, second: Path, shared: Path) -> str:
    command = [sys.executable, str(shared / "tools" / "nc-same"), str(first), str(second)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("options", [{}, {"compression": 7}, {"shuffle": True, "compression": 1}, {"shuffle": True}])
@pytest.mark.parametrize("dtype", ["<i4", ">f8", "|u1"])
def test_chunks_of_a_file_move_as_they_are(
    h5py: ModuleType, tmp_path: Path, library_writes: list[str], options: dict[str, Any], dtype: str
) -> None:
    with h5py.File(tmp_path / "a.nc", "w", userblock_size=512) as file:
        file.create_dataset("v", data=VALUES.astype(dtype), chunks=(4, 5), **options)
    made = copied(tmp_path / "a.nc", tmp_path / "b.nc")
    assert chunks(made) == chunks(array(tmp_path / "a.nc", "/v"))
    assert library_writes == []
    with h5py.File(tmp_path / "b.nc") as file:
        assert file["v"].dtype == dtype
        assert file["v"][...].tolist() == VALUES.astype(dtype).tolist()


def test_filters_that_were_left_out_stay_so(h5py: ModuleType, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.nc", "w") as file:
        stored = file.create_dataset("v", data=VALUES, chunks=(4, 5), compression=7)
        stored.id.write_direct_chunk((4, 5), np.ascontiguousarray(VALUES[4:8, 5:10]).tobytes(), filter_mask=1)
    made = copied(tmp_path / "a.nc", tmp_path / "b.nc")
    assert {index: mask for index, (_, mask) in chunks(made).items() if mask} == {(1, 1): 1}
    assert chunks(made) == chunks(array(tmp_path / "a.nc", "/v"))
    with h5py.File(tmp_path / "b.nc") as file:
        assert file["v"][...].tolist() == VALUES.tolist()


def test_chunks_that_were_never_written_stay_so(h5py: ModuleType, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("v", (10, 13), "<i4", chunks=(4, 5), fillvalue=-1)[5, 6] = 3
        file["v"].attrs["_FillValue"] = np.array([-1], "<i4")
    nczarr.write(nczarr.open(tmp_path / "a.nc"), tmp_path / "b.zarr")
    for source in ("a.nc", "b.zarr"):
        assert list(chunks(copied(tmp_path / source, tmp_path / f"{source}.nc"))) == [(1, 1)]
        assert nczarr.open(tmp_path / f"{source}.nc")["/v"][...].sum() == 3 - 129


def test_zeros_that_no_fill_value_declares_are_kept(h5py: ModuleType, tmp_path: Path) -> None:
    """Foreign files have a fill value of zeros, and for netCDF none: what was never written is no undefined value."""
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("v", (10, 13), "<i4", chunks=(4, 5))[5, 6] = 3
        file.create_dataset("w", (10, 13), "<i4")
    made = copied(tmp_path / "a.nc", tmp_path / "b.nc")
    assert len(chunks(made)) == 9
    with h5py.File(tmp_path / "b.nc") as file:
        assert (file["v"][...].sum(), file["w"].id.get_storage_size()) == (3, 520)


def test_a_filter_without_plug_in_is_no_obstacle_to_a_move(
    h5py: ModuleType, tmp_path: Path, library_writes: list[str]
) -> None:
    with h5py.File(tmp_path / "a.nc", "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((4, 5))
        plist.set_filter(32999, h5py.h5z.FLAG_OPTIONAL, (7, 8))
        made = h5py.h5d.create(file.id, b"v", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((10, 13)), plist)
        for index in np.ndindex(3, 3):
            made.write_direct_chunk((4 * index[0], 5 * index[1]), bytes([*index, 5]), filter_mask=0)
    copy = copied(tmp_path / "a.nc", tmp_path / "b.nc")
    assert chunks(copy) == {index: (bytes([*index, 5]), 0) for index in np.ndindex(3, 3)}
    assert library_writes == []


@pytest.mark.parametrize("codec", ["none", "zlib:3", "shuffle+zlib:1", "fletcher32", "bz2", "zstd:1"])
@pytest.mark.parametrize("small", [0, 1 << 16])
def test_other_codecs_are_made_in_threads(
    h5py: ModuleType,
    tmp_path: Path,
    library_writes: list[str],
    codec: str,
    small: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write_chunks, "SMALL", small)
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("v", data=VALUES, chunks=(4, 5), compression=7)
    made = copied(tmp_path / "a.nc", tmp_path / "b.nc", codecs=codec)
    assert library_writes == []
    assert made.stored is not None
    assert made.stored.codecs == nczarr.open(tmp_path / "b.nc").dataset.variables[0].storage.codecs
    assert nczarr.open(tmp_path / "b.nc")["/v"][...].tolist() == VALUES.tolist()
    if codec not in ("bz2", "zstd:1"):  # h5py has no plug-ins for these
        with h5py.File(tmp_path / "b.nc") as file:
            assert file["v"][...].tolist() == VALUES.tolist()


@pytest.mark.parametrize("form", ["zarr2", "nczarr", "zarr3", "nczarr3", "zarr3-2019"])
@pytest.mark.parametrize("shards", [None, (8, 10)])
def test_chunks_of_a_store_move(
    h5py: ModuleType, tmp_path: Path, form: str, shards: tuple[int, ...] | None, library_writes: list[str]
) -> None:
    if shards and not form.endswith("3"):
        pytest.skip("only Zarr v3 has shards")
    builder = nczarr.DatasetBuilder("a")
    builder.variable("v", "int", [10, 13], chunks=(4, 5))
    dataset = builder.finish(data={"/v": VALUES})
    nczarr.write(dataset, tmp_path / "a.zarr", form, codecs="shuffle+zlib:4", shards={"/v": shards} if shards else None)
    made = copied(tmp_path / "a.zarr", tmp_path / "b.nc")
    assert chunks(made) == chunks(array(tmp_path / "a.zarr", "/v"))
    assert library_writes == []
    with h5py.File(tmp_path / "b.nc") as file:
        assert file["v"][...].tolist() == VALUES.tolist()


def test_large_chunks_are_moved_by_the_kernel(
    h5py: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_chunks, "LARGE", 8)
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("v", data=VALUES, chunks=(4, 5), compression=2)
    assert chunks(copied(tmp_path / "a.nc", tmp_path / "b.nc")) == chunks(array(tmp_path / "a.nc", "/v"))
    with h5py.File(tmp_path / "b.nc") as file:
        assert file["v"][...].tolist() == VALUES.tolist()


@pytest.mark.slow
def test_unlimited_dimensions_keep_their_lengths(
    peer: Callable[[str], ModuleType], tmp_path: Path, shared: Path, h5py: ModuleType
) -> None:
    """The variable that is shorter stays so, and what its last chunk holds beyond its end moves with it."""
    netcdf = peer("netCDF4")
    with netcdf.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("u", None)
        for name, length in (("t", 9), ("short", 6), ("long", 11)):
            file.createVariable(name, "i4", ("t",), chunksizes=(4,), zlib=True)[:length] = range(length)
        file.createVariable("w", "i2", ("u", "t"), chunksizes=(2, 4))[:3, :5] = np.arange(15).reshape(3, 5)
    nczarr.write(nczarr.open(tmp_path / "a.nc"), tmp_path / "b.nc")
    assert same(tmp_path / "a.nc", tmp_path / "b.nc", shared) == ""
    with h5py.File(tmp_path / "a.nc") as one, h5py.File(tmp_path / "b.nc") as other:
        assert {name: item.shape for name, item in other.items()} == {name: item.shape for name, item in one.items()}


@pytest.mark.slow
def test_the_same_file_every_time(h5py: ModuleType, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("v", data=np.arange(400000.0), chunks=(1000,), compression=2)
    for name in ("b.nc", "c.nc"):
        nczarr.write(nczarr.open(tmp_path / "a.nc"), tmp_path / name, codecs="zlib:5")
    assert (tmp_path / "b.nc").read_bytes() == (tmp_path / "c.nc").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("attribute", [-9, None])
@pytest.mark.parametrize("chunks_of_it", [(4, 5), None])
@pytest.mark.parametrize("dtype", ["<i4", ">i4"])
def test_a_fill_value_that_is_not_the_attribute(
    h5py: ModuleType, tmp_path: Path, shared: Path, attribute: int | None, chunks_of_it: Any, dtype: str
) -> None:
    with h5py.File(tmp_path / "h.nc", "w", track_order=True) as file:
        made = file.create_dataset("v", (10, 13), dtype, chunks=chunks_of_it, fillvalue=-1)
        made[2:3] = 5
        made.attrs["units"] = np.bytes_("K")
        if attribute is not None:
            made.attrs["_FillValue"] = np.array([attribute], dtype)
        made.attrs["long_name"] = np.bytes_("temperature")
    nczarr.write(nczarr.open(tmp_path / "h.nc"), tmp_path / "a.nc")
    nczarr.write(nczarr.open(tmp_path / "a.nc"), tmp_path / "a.zarr")
    nczarr.write(nczarr.open(tmp_path / "a.zarr"), tmp_path / "b.nc")
    assert same(tmp_path / "a.nc", tmp_path / "b.nc", shared) == ""
    for name in ("a.nc", "b.nc"):
        with h5py.File(tmp_path / name) as file:
            assert file["v"].fillvalue == -1
            assert (file["v"][...] == np.where(np.arange(10)[:, None] == 2, 5, -1)).all()
            assert file["v"].attrs.get("_FillValue") == attribute
        names = [item.name for item in nczarr.open(tmp_path / name).dataset.variables[0].attributes]
        assert names == ["units", *(["_FillValue"] if attribute else []), "long_name"]


@pytest.mark.slow
@pytest.mark.parametrize("large", [8, 1 << 20])
@pytest.mark.parametrize("codec", ["zlib:4", "none"])
def test_a_full_disk_is_told(h5py: ModuleType, tmp_path: Path, large: int, codec: str) -> None:
    """The system's own reason, exit status 3, no target."""
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("v", data=np.random.default_rng(1).random(40000), chunks=(10000,), compression=4)
    script = (
        "import resource, signal, sys\n"
        "sys.dont_write_bytecode = True\n"
        "from nczarr.__main__ import main\n"
        "from nczarr.formats.netcdf4 import write_chunks\n"
        f"write_chunks.LARGE = {large}\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n"
        f"sys.exit(main(['convert', 'a.nc', 'b.nc', '--codec', '{codec}']))\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "File too large" in done.stderr) == (3, True), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]


def test_chunks_across_the_target_are_decoded_once(
    peer: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slabs are as long as the memory allows, and keep the order of chunks in the file."""
    peer("netCDF4")
    builder = nczarr.DatasetBuilder("t")
    builder.variable("v", "i4", [builder.dimension("y", 1000), builder.dimension("x", 1000)])
    values = np.arange(1_000_000, dtype="<i4").reshape(1000, 1000)
    for name, lengths in (("columns.zarr", (1000, 100)), ("rows.zarr", (100, 1000))):
        nczarr.write(builder.finish({"v": values}), tmp_path / name, chunks={"/v": lengths}, codecs={"/v": "zlib:1"})
    plain = grid.decode
    calls: list[int] = []

    def counted(data: bytes, *more: Any) -> bytes:
        calls.append(len(data))
        return plain(data, *more)

    monkeypatch.setattr(grid, "decode", counted)
    monkeypatch.setattr(grid, "KEPT", 0)
    expected = {("columns.zarr", 1 << 26): 10, ("columns.zarr", 3 << 20): 30, ("rows.zarr", 1 << 26): 10}
    for (name, memory), times in expected.items():
        calls.clear()
        nczarr.convert(
            tmp_path / name, tmp_path / f"{name}{memory}.nc", chunks={"/v": (50, 50)}, workers=2, memory=memory
        )
        assert len(calls) == times
    files = {(tmp_path / f"{name}{memory}.nc").read_bytes() for name, memory in expected}
    assert len(files) == 1
    assert np.array_equal(nczarr.open(tmp_path / "rows.zarr67108864.nc")["v"][...], values)


def test_slabs_of_few_chunks_read_only_around_them(peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """A vast array with few chunks takes the time of these chunks."""
    peer("netCDF4")
    builder = nczarr.DatasetBuilder("t")
    side = 60_000
    v = builder.variable("v", "i4", [builder.dimension("y", side), builder.dimension("x", side)], fill_value=-1)
    assert v is not None
    nczarr.write(builder.finish(), tmp_path / "a.zarr", chunks={"/v": (100, 10)})
    for number in range(20):
        (tmp_path / "a.zarr" / "v" / f"{number * 25}.{number * 250}").write_bytes(
            np.full(1000, number, "<i4").tobytes()
        )
    nczarr.convert(tmp_path / "a.zarr", tmp_path / "a.nc", chunks={"/v": (10, 100)}, codecs="zlib:1")
    made = nczarr.open(tmp_path / "a.nc")["v"]
    assert made[2500:2600, 2500:2510].tolist() == [[1] * 10] * 100
    assert made[2500:2600, 2510].tolist() == [-1] * 100
