"""HDF5 datasets read without the library: chunks, contiguous data, and what goes back to the library."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from ctypes import c_int64, c_uint64, c_void_p
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.chunks.manifest import PlaceColumns
from nczarr.arrays.sources.decoded_parts import DecodedCells
from nczarr.arrays.sources.source import ArraySource, little
from nczarr.arrays.sources.strided import AffineArray
from nczarr.ast import Codec
from nczarr.diagnostics.report import CompileError
from nczarr.formats.netcdf4.index_chunk_array import IndexChunkArray
from nczarr.formats.netcdf4.library import library
from tests.support.reading_ways import read_every_way

Make = Callable[[Any], None]

VALUES = np.arange(10 * 13, dtype="<i4").reshape(10, 13) * 7


@pytest.fixture
def made(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Callable[..., dict[str, ArraySource]]:
    """Arrays of a file that h5py makes, by name."""
    peer("netCDF4")
    h5py = peer("h5py")

    def make(work: Make, **options: Any) -> dict[str, ArraySource]:
        with h5py.File(tmp_path / "t.h5", "w", **options) as file:
            work(file)
        checked = nczarr.open(tmp_path / "t.h5").checked
        return {fqn.strip("/"): parts[""] for fqn, parts in checked.parts.items() if "" in parts}

    return make


def whole(source: ArraySource) -> Any:
    return read_every_way(source, tuple(slice(0, length) for length in source.layout.shape))


def through_library(source: IndexChunkArray) -> Any:
    return little(
        np.asarray(replace(source, steps=None).read(tuple(slice(0, length) for length in source.layout.shape)))
    )


PIPELINES: list[tuple[dict[str, Any], tuple[Codec, ...]]] = [
    ({}, ()),
    ({"compression": "gzip", "compression_opts": 3}, (Codec(id=1, parameters=(3,)),)),
    ({"shuffle": True, "compression": 9}, (Codec(id=2), Codec(id=1, parameters=(9,)))),
    (
        {"shuffle": True, "compression": 1, "fletcher32": True},
        (Codec(id=2), Codec(id=1, parameters=(1,)), Codec(id=3)),
    ),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("options", "codecs"), PIPELINES)
@pytest.mark.parametrize("dtype", ["<i4", ">f8", "|u1", ">u2"])
@pytest.mark.parametrize("user_block", [0, 2048])
def test_chunks_are_decoded_here(
    made: Callable[..., dict[str, ArraySource]],
    options: dict[str, Any],
    codecs: tuple[Codec, ...],
    dtype: str,
    user_block: int,
) -> None:
    values = VALUES.astype(dtype)
    source = made(
        lambda file: file.create_dataset("v", data=values, chunks=(4, 5), **options), userblock_size=user_block
    )["v"]
    assert isinstance(source, IndexChunkArray)
    assert source.steps is not None
    assert source.stored == (dtype, (4, 5), codecs)
    assert whole(source).tolist() == values.tolist() == through_library(source).tolist()
    again = pickle.loads(pickle.dumps(source))
    for region in [(slice(3, 9), slice(4, 11)), (slice(4, 8), slice(5, 10)), (slice(0, 0), slice(0, 3))]:
        assert again.read(region).tolist() == values[region].tolist()
    manifest = source.manifest()
    assert isinstance(manifest, PlaceColumns)
    assert manifest.chunk.tolist() == list(range(9))
    place = source.place((1, 2))
    assert place is not None
    assert source.read_encoded((1, 2)) == Path(place.path).read_bytes()[place.offset : place.offset + place.length]


def test_filters_have_the_order_of_the_file(made: Callable[..., dict[str, ArraySource]]) -> None:
    def work(file: Any) -> None:
        import h5py

        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((4, 5))
        plist.set_deflate(2)
        plist.set_fletcher32()
        plist.set_shuffle()
        space = h5py.h5s.create_simple((10, 13))
        h5py.h5d.create(file.id, b"v", h5py.h5t.STD_I32LE, space, plist).write(h5py.h5s.ALL, h5py.h5s.ALL, VALUES)

    source = made(work)["v"]
    assert isinstance(source, IndexChunkArray)
    assert [codec.id for codec in source.stored.codecs] == [1, 3, 2]
    assert whole(source).tolist() == VALUES.tolist()


def test_chunks_that_were_never_written_are_fill(made: Callable[..., dict[str, ArraySource]]) -> None:
    def work(file: Any) -> None:
        file.create_dataset("v", (10, 13), "<i4", chunks=(4, 5), fillvalue=-5)[4:5, 5:6] = 1
        file.create_dataset("w", (10, 13), "<i4", chunks=(4, 5))[9:, 12:] = 2
        file.create_dataset("none", (10, 13), "<i4", chunks=(4, 5))

    arrays = made(work)
    assert arrays["v"].layout.fill == np.int32(-5).tobytes()
    assert arrays["w"].layout.fill == bytes(4)
    assert whole(arrays["v"]).sum() == -5 * 129 + 1
    assert whole(arrays["w"]).sum() == 2
    assert [*arrays["v"].list_occupied((4, 5))] == [(1, 1)]
    assert [*arrays["v"].list_occupied((5, 5))] == [(0, 1), (1, 1)]
    assert [*arrays["w"].list_occupied((10, 4))] == [(0, 2), (0, 3)]
    assert [*arrays["none"].list_occupied((4, 5))] == []
    assert arrays["v"].place((0, 0)) is None
    assert arrays["v"].read_encoded((0, 0)) is None


def test_a_chunk_whose_filters_were_left_out(made: Callable[..., dict[str, ArraySource]]) -> None:
    """Bit 1 of the mask leaves deflate out, bit 0 shuffle."""

    def work(file: Any) -> None:
        data = file.create_dataset("v", (4, 5), "<i4", chunks=(2, 5), shuffle=True, compression=4)
        data[...] = VALUES[:4, :5]
        rows = np.ascontiguousarray(VALUES[2:4, :5])
        shuffled = rows.view("u1").reshape(-1, 4).T.tobytes()
        data.id.write_direct_chunk((2, 0), shuffled, filter_mask=2)
        data.id.write_direct_chunk((0, 0), VALUES[:2, :5].tobytes(), filter_mask=3)

    source = made(work)["v"]
    assert whole(source).tolist() == VALUES[:4, :5].tolist()
    places = [source.place((number, 0)) for number in range(2)]
    assert [place.mask for place in places if place is not None] == [3, 2]
    assert source.read_encoded((1, 0)) is None


def unfiltered_edges(path: Path) -> None:
    """A file with a dataset `v` whose partial chunks are stored without filters, which h5py cannot say."""
    dll = library().dll
    dll.H5open()

    def call(name: str, *arguments: Any) -> c_int64:
        function = getattr(dll, name)
        function.restype = c_int64
        return c_int64(function(*arguments))

    def kind(name: str) -> c_int64:
        return c_int64.in_dll(dll, name)

    lengths, chunks = (c_uint64 * 2)(10, 13), (c_uint64 * 2)(4, 5)
    access, plist = (
        call("H5Pcreate", kind("H5P_CLS_FILE_ACCESS_ID_g")),
        call("H5Pcreate", kind("H5P_CLS_DATASET_CREATE_ID_g")),
    )
    dll.H5Pset_libver_bounds(access, 2, 2)
    dll.H5Pset_chunk(plist, 2, chunks)
    dll.H5Pset_deflate(plist, 5)
    dll.H5Pset_chunk_opts(plist, 2)
    file = call("H5Fcreate", str(path).encode(), 2, c_int64(0), access)
    space = call("H5Screate_simple", 2, lengths, None)
    number = kind("H5T_STD_I32LE_g")
    data = call("H5Dcreate2", file, b"v", number, space, c_int64(0), plist, c_int64(0))
    assert dll.H5Dwrite(data, number, c_int64(0), c_int64(0), c_int64(0), c_void_p(VALUES.ctypes.data)) == 0
    for name, item in (("H5Dclose", data), ("H5Sclose", space), ("H5Pclose", plist), ("H5Pclose", access)):
        call(name, item)
    assert dll.H5Fclose(file) == 0


def test_edges_that_are_stored_without_filters(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    unfiltered_edges(tmp_path / "t.h5")
    source = nczarr.open(tmp_path / "t.h5").checked.parts["/v"][""]
    assert isinstance(source, IndexChunkArray)
    assert source.unfiltered_edges
    assert [place.mask for place in map(source.place, source.list_occupied((4, 5))) if place] == [
        0,
        0,
        1,
        0,
        0,
        1,
        1,
        1,
        1,
    ]
    assert whole(source).tolist() == VALUES.tolist()


def test_contiguous_data_are_a_view_of_the_file(made: Callable[..., dict[str, ArraySource]]) -> None:
    def work(file: Any) -> None:
        file.create_dataset("v", data=VALUES.astype(">i2"))
        file.create_dataset("late", (3, 4), "<f4", fillvalue=2.5)
        file.create_dataset("scalar", data=np.float32(4))

    arrays = made(work, userblock_size=512)
    assert isinstance(arrays["v"], AffineArray)
    assert arrays["v"].stored == (">i2", (10, 13), ())
    assert whole(arrays["v"]).tolist() == VALUES.astype("i2").tolist()
    assert whole(arrays["late"]).tolist() == [[2.5] * 4] * 3
    assert [*arrays["late"].list_occupied((3, 4))] == []
    assert whole(arrays["scalar"]) == 4


def test_what_lies_in_other_files_comes_through_the_library(
    made: Callable[..., dict[str, ArraySource]], tmp_path: Path
) -> None:
    (tmp_path / "raw").write_bytes(VALUES.tobytes())

    def work(file: Any) -> None:
        import h5py

        file.create_dataset("out", VALUES.shape, "<i4", external=[(str(tmp_path / "raw"), 0, VALUES.nbytes)])
        file.create_dataset("own", data=VALUES)
        layout = h5py.VirtualLayout((10, 13), "<i4")
        layout[...] = h5py.VirtualSource(file["own"])
        file.create_virtual_dataset("virtual", layout)

    arrays = made(work)
    for name in ("out", "virtual"):
        assert isinstance(arrays[name], DecodedCells)
        assert whole(arrays[name]).tolist() == VALUES.tolist()


def test_filters_that_only_hdf5_has(made: Callable[..., dict[str, ArraySource]]) -> None:
    """Chunks can be moved, values come through the library."""
    source = made(lambda file: file.create_dataset("v", data=VALUES, chunks=(4, 5), scaleoffset=0))["v"]
    assert isinstance(source, IndexChunkArray)
    assert source.steps is None
    assert [codec.id for codec in source.stored.codecs] == [6]
    assert whole(source).tolist() == VALUES.tolist()
    assert source.read_encoded((0, 0)) is not None


@pytest.mark.parametrize("packed", [True, False])
def test_records(made: Callable[..., dict[str, ArraySource]], packed: bool) -> None:
    """Packed ones are described as they lie; of those with gaps the library gives the values."""
    dtype = np.dtype([("a", "u1"), ("b", ">f4", (2,)), ("c", "<i2")], align=not packed)
    values = np.zeros((3, 4), dtype)
    values["a"], values["b"], values["c"] = 1, 2.5, np.arange(12).reshape(3, 4)

    def work(file: Any) -> None:
        file["type"] = dtype
        for name, chunks in (("v", (2, 2)), ("w", None)):
            file.create_dataset(name, (3, 4), file["type"], data=values, chunks=chunks)

    arrays = made(work)
    for name in ("v", "w"):
        found = whole(arrays[name])
        assert all(found[field].tolist() == values[field].tolist() for field in "abc")
        assert (arrays[name].stored is not None) == packed


def test_a_variable_that_ends_within_a_chunk(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """The array goes on behind the dataset: the chunk that it ends in is none to move."""
    netcdf = peer("netCDF4")
    with netcdf.Dataset(tmp_path / "t.nc", "w") as file:
        file.createDimension("t", None)
        file.createVariable("short", "i4", ("t",), chunksizes=(4,), zlib=True)[:6] = range(6)
        file.createVariable("long", "i4", ("t",), chunksizes=(4,))[:11] = range(11)
    arrays = nczarr.open(tmp_path / "t.nc").checked.parts
    short, long = arrays["/short"][""], arrays["/long"][""]
    assert isinstance(short, IndexChunkArray)
    assert [short.place((number,)) is not None for number in range(3)] == [True, False, False]
    assert [long.place((number,)) is not None for number in range(3)] == [True] * 3
    assert isinstance(short.manifest(), PlaceColumns)
    assert short.manifest().chunk.tolist() == [0]
    assert [*short.list_occupied((4,))] == [(0,), (1,)]
    assert short.read_encoded((1,)) is None
    assert whole(short).tolist() == [*range(6), *[-2147483647] * 5]


@pytest.mark.parametrize("chunks", [(4, 5), None])
def test_a_file_that_was_changed_is_refused(
    made: Callable[..., dict[str, ArraySource]], tmp_path: Path, chunks: tuple[int, ...] | None
) -> None:
    source = pickle.loads(pickle.dumps(made(lambda file: file.create_dataset("v", data=VALUES, chunks=chunks))["v"]))
    os.utime(tmp_path / "t.h5", ns=(1, 1))
    with pytest.raises(OSError, match="changed"):
        source.place((0, 0))
    with pytest.raises(OSError, match="changed"):
        whole(source)


def test_a_damaged_chunk_is_a_diagnostic(made: Callable[..., dict[str, ArraySource]], tmp_path: Path) -> None:
    source = made(lambda file: file.create_dataset("v", data=VALUES, chunks=(4, 5), compression=4))["v"]
    place = source.place((1, 1))
    assert place is not None
    with (tmp_path / "t.h5").open("r+b") as file:
        file.seek(place.offset)
        file.write(bytes(place.length))
    with nczarr.open(tmp_path / "t.h5") as ds, pytest.raises(CompileError) as error:
        ds["/v"][...]
    assert [found.code for found in error.value.diagnostics] == ["unreadable-chunk"]


@pytest.mark.peer
@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize(
    "maxshape", [(None, 4, 9), (5, None, 9), (3, 4, None), (9, 4, None), (None, 4, None), (9, 9, 9)]
)
@pytest.mark.parametrize("options", [{}, {"compression": "gzip"}])
def test_chunks_lie_where_every_index_says(
    options: dict[str, Any], maxshape: tuple[Any, ...], libver: str, tmp_path: Path, peer: Callable[[str], Any]
) -> None:
    peer("netCDF4")
    h5py = peer("h5py")
    values = np.arange(3 * 4 * 5, dtype="<i4").reshape(3, 4, 5)
    with h5py.File(tmp_path / "a.nc", "w", libver=libver) as file:
        whole = file.create_dataset("whole", (3, 4, 5), "<i4", chunks=(2, 1, 2), maxshape=maxshape, **options)
        whole[...] = values
        part = file.create_dataset(
            "part", (3, 4, 5), "<i4", chunks=(1, 3, 2), maxshape=maxshape, fillvalue=-1, **options
        )
        part[1:, 2:, 3:] = values[1:, 2:, 3:]
    wanted = np.full((3, 4, 5), -1)
    wanted[1:, 2:, 3:] = values[1:, 2:, 3:]
    found = nczarr.open(tmp_path / "a.nc")
    assert found["whole"][...].tolist() == values.tolist()
    assert found["part"][...].tolist() == wanted.tolist()


@pytest.mark.peer
def test_chunks_longer_than_a_dimension_that_may_grow(tmp_path: Path, peer: Callable[[str], Any]) -> None:
    peer("netCDF4")
    values = np.arange(8).reshape(4, 2)
    with peer("h5py").File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("v", data=values, chunks=(2, 4), maxshape=(15, 18))
    found = nczarr.open(tmp_path / "a.nc")
    assert found["v"][...].tolist() == values.tolist()
    assert found["v"].variable.storage.chunks == (2, 2)
    nczarr.convert(tmp_path / "a.nc", tmp_path / "b.nc")
    assert nczarr.open(tmp_path / "b.nc")["v"][...].tolist() == values.tolist()


@pytest.mark.peer
def test_datasets_of_other_files_are_read_there(tmp_path: Path, peer: Callable[[str], Any]) -> None:
    peer("netCDF4")
    h5py = peer("h5py")
    values = np.arange(10, dtype="<i4")
    with h5py.File(tmp_path / "other.nc", "w") as file:
        file["g/whole"] = values
        file.create_dataset("chunked", data=values, chunks=(4,))
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file["own"] = np.arange(5000)
        file["g"] = h5py.ExternalLink("other.nc", "/g")
        file["linked"] = h5py.ExternalLink("other.nc", "/chunked")
        file["soft"] = h5py.SoftLink("/linked")
    found = nczarr.open(tmp_path / "a.nc")
    for name in ("g/whole", "linked", "soft"):
        assert found[name][...].tolist() == values.tolist()


def test_the_default_format_of_the_process_does_not_decide(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """The library takes the default of `nc_create` for the kind of a file behind a user block."""
    netcdf, h5py = peer("netCDF4"), peer("h5py")
    with h5py.File(tmp_path / "t.h5", "w", userblock_size=2048) as file:
        file["v"] = np.arange(3, dtype="u1")
    netcdf.Dataset(tmp_path / "c.nc", "w", format="NETCDF4_CLASSIC").close()
    try:
        found = nczarr.open(tmp_path / "t.h5")
        assert found.dataset.kind == "nc4"
        assert found["v"][...].tolist() == [0, 1, 2]
        assert netcdf.Dataset(tmp_path / "t.h5").data_model == "NETCDF4_CLASSIC"  # the default is as it was
    finally:
        netcdf.Dataset(tmp_path / "n.nc", "w").close()


@pytest.mark.parametrize("bit", [40, 62, 63])
@pytest.mark.parametrize("section", [(0, 0), (slice(None), slice(None))])
def test_addresses_beyond_the_file_are_named(
    bit: int, section: Any, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    path = tmp_path / "t.h5"
    with peer("h5py").File(path, "w") as file:
        dataset = file.create_dataset("v", data=np.arange(64.0).reshape(8, 8), chunks=(4, 4))
        address = dataset.id.get_chunk_info(0).byte_offset
    damaged = path.read_bytes().replace(address.to_bytes(8, "little"), (address | 1 << bit).to_bytes(8, "little"))
    path.write_bytes(damaged)
    with pytest.raises(OSError, match="the file ends before byte"):
        nczarr.open(path)["v"][section]
