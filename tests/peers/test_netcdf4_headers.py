"""Headers of netCDF-4 files that are read here: the tree is the netCDF library's, chunks are where HDF5 has them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import nczarr
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.netcdf4 import frontend, isolation
from nczarr.formats.netcdf4.header.file_bytes import HeaderFile
from nczarr.formats.netcdf4.index_chunk_array import IndexChunkArray
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.semantics import check
from nczarr.semantics.checked import Unchecked
from nczarr.stores.open import open_source
from tests.support.damaged_hdf5 import changed, write_every_structure
from tests.support.exact_storage import exact_storage
from tests.support.peers.netcdf_inquiry import by_library, is_alike, of_tree
from tests.support.proof import share

SIGNATURE = b"\x89HDF"


def by_header(path: Path) -> Unchecked | None:
    """Return the tree of a file; None if it is refused."""
    return frontend.read(Source(str(path), b"", binary=True, path=str(path)), Report())


def is_equal(path: Path, theirs: Any) -> bool | None:
    """Return whether both readers show the same; None if one refuses the file."""
    unchecked = by_header(path)
    if unchecked is None or isinstance(theirs, str):
        return None
    checked = check(unchecked, Report())
    if checked is None:
        return None
    ours = of_tree(unchecked.dataset, checked.types, checked.shapes)
    return is_alike(ours, theirs)


UNLIKE = {
    "jhdf__compound_datasets": "types of datasets that netCDF cannot hold",
    "8e965cd7-chunked_compound": "types of datasets that netCDF cannot hold",
    "compound_array_fix_vlen_str": "types of datasets that netCDF cannot hold",
    "compound_simple_array_fix_str_only": "types of datasets that netCDF cannot hold",
    "kerchunk__NEON": "types of datasets that netCDF cannot hold",
    "jhdf__float": "libnetcdf shows half floats as texts",
    "jhdf__test_compact_datasets": "libnetcdf shows half floats as texts",
    "jhdf__test_chunked_datasets": "libnetcdf shows half floats as texts",
    "jhdf__bitfield": "dimensions of datasets that netCDF cannot hold",
    "d_int": "libnetcdf hides a variable, or all attributes, because of an attribute of two dimensions",
    "chunked_enum": "libnetcdf hides attributes of enums without a name",
    "bool_attr": "libnetcdf hides attributes of enums without a name",
    "compound_scalar_attribute": "libnetcdf hides attributes of records without a name",
    "vlen_string_s390x": "libnetcdf hides attributes of enums without a name",
    "chunked_opaque": "libnetcdf hides attributes of opaque types without a name",
    "t_string_": "libnetcdf keeps the blanks that pad texts, h5py does not",
    "space_padding": "libnetcdf keeps the blanks that pad texts, h5py does not",
    "h5wasm__array": "types of datasets that netCDF cannot hold",
    "hdf5-json__array_dset": "types of datasets that netCDF cannot hold",
    "bitfield_dset": "types of datasets that netCDF cannot hold",
    "committed_type": "libnetcdf does not find the name of a dataset's type",
    "jhdf__test_attribute_latest": "libnetcdf hides a variable because of an attribute of two dimensions",
}
"""Parts of names of files whose trees differ, and why."""


@pytest.mark.long
def test_trees_of_the_corpora(shared: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    files = [path for path in sorted((shared / "data").rglob("*")) if path.is_file()]
    files = [path for path in files if path.read_bytes()[:4] == SIGNATURE]
    files = [path for path in files if not any(part in path.name for part in UNLIKE)]
    outcome = {path.name: is_equal(path, theirs) for path, theirs in zip(files, by_library(files), strict=True)}
    assert [name for name, equal in outcome.items() if equal is False] == []
    assert list(outcome.values()).count(True) >= 100


def test_a_fill_value_of_fixed_texts_is_one(shared: Path, peer: Callable[[str], ModuleType]) -> None:
    """The netCDF library takes it for a pointer."""
    path = next((shared / "data" / "dmrpp" / "targets").glob("*FValue_string.h5"))
    ours = by_header(path)
    assert ours is not None
    assert not ours.dataset.variables[0].storage.no_fill
    with peer("h5py").File(path) as file:
        assert file[ours.dataset.variables[0].name].fillvalue


@pytest.mark.long
@pytest.mark.parametrize("draws", [15, pytest.param(2000, marks=pytest.mark.slow)])
def test_trees_of_drawn_files(draws: int, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    paths: list[Path] = []

    @settings(max_examples=share(draws), deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(datasets_with_data())
    def write(drawn: tuple[Dataset, dict[str, Parts]]) -> None:
        checked, report = check(Unchecked(exact_storage(drawn[0]), parts=drawn[1]), Report(), kind="nc4"), Report()
        assert checked is not None
        form = endpoints.target_format("t.nc", None, report)
        assert form is not None
        path = tmp_path / f"{len(paths)}.nc"
        options = Options.of(kind="nc4", allow_loss=frozenset({"all"}))
        if phases.write(checked, str(path), form, report, options) is not None:
            paths.append(path)

    write()
    outcome = [is_equal(path, theirs) for path, theirs in zip(paths, by_library(paths), strict=True)]
    assert False not in outcome
    assert outcome.count(True) > len(outcome) // 2


def indexed(h5py: ModuleType, path: Path, version: str) -> None:
    """Write datasets with every kind of chunk index, some chunks not allocated."""
    with h5py.File(path, "w", libver=version) as file:
        file.create_dataset("single", data=np.arange(6.0), chunks=(6,))
        file.create_dataset("packed", data=np.arange(6.0), chunks=(6,), compression="gzip")
        file.create_dataset("fixed", data=np.arange(40).reshape(5, 8), chunks=(2, 3))
        file.create_dataset("filtered", (50, 60), "f4", chunks=(1, 2), compression="gzip")[::3, ::7] = 1
        file.create_dataset("two", (6, 6), "i2", chunks=(2, 2), maxshape=(None, None))[1:4, 3:] = 3
        file.create_dataset("both", (6, 6), "i2", chunks=(2, 2), maxshape=(None, None), compression="gzip")[:] = 3
        file.create_dataset("empty", (6, 6), "i2", chunks=(2, 2))
        file.create_dataset("grown", (3, 50), "i2", chunks=(2, 1), maxshape=(3, None))[:, ::3] = 3
        file.create_dataset("long", (9000,), "i1", chunks=(1,), maxshape=(None,), compression="gzip")[::5] = 3
        for number, most in enumerate([(None, None), (6, None), (None, 6), (6, 6)]):
            for filters in ({}, {"shuffle": True}):
                for length in (0, 3):  # of a dataset that was longer
                    name = f"cut{number}{len(filters)}{length}"
                    cut = file.create_dataset(name, (6, 6), "i2", chunks=(2, 2), maxshape=most, **filters)
                    cut[:] = 3
                    cut.resize((length, length))
        early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        early.set_chunk((2, 3))
        early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        space = h5py.h5s.create_simple((5, 8))
        h5py.h5d.create(file.id, b"early", h5py.h5t.STD_I32LE, space, early)


def places(dataset: Any) -> list[tuple[int, int, int]]:
    """Return offset, size and mask of each chunk by h5py, whose first cells are wrong for extensible arrays."""
    found: list[tuple[int, int, int]] = []
    dataset.id.chunk_iter(lambda info: found.append((info.byte_offset, info.size, info.filter_mask)))
    return sorted(found)


@pytest.mark.parametrize("version", ["earliest", "latest"])
@pytest.mark.parametrize("block", [0, 1024])
def test_places_of_chunks(version: str, block: int, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    h5py, path = peer("h5py"), tmp_path / "t.h5"
    indexed(h5py, path, version)
    if block:  # what stands before HDF5's data
        path.write_bytes(bytes(block) + path.read_bytes())
    ours = by_header(path)
    assert ours is not None
    with h5py.File(path) as file:
        for name, dataset in file.items():
            source = ours.parts[f"/{name}"][""]
            assert isinstance(source, IndexChunkArray)
            table = source._read_index(None)
            rows = sorted(zip(*(column.tolist() for column in table[1:]), strict=True))
            assert rows == places(dataset), name
            values = source.read(tuple(map(slice, dataset.shape)))
            np.testing.assert_array_equal(values, dataset[...], err_msg=name)


def damaged(h5py: ModuleType, netcdf: ModuleType, folder: Path, seed: int, count: int) -> Iterator[Path]:
    """Yield damaged files, one at a time."""
    pick, originals = random.Random(seed), []
    for version in ("earliest", "latest"):
        write_every_structure(h5py, folder / f"{version}.h5", version)
        indexed(h5py, folder / f"i{version}.h5", version)
        originals += [folder / f"{version}.h5", folder / f"i{version}.h5"]
    for kind in ("NETCDF4", "NETCDF4_CLASSIC"):
        with netcdf.Dataset(folder / f"{kind}.nc", "w", format=kind) as file:
            file.createDimension("t", None)
            file.createDimension("x", 6)
            for number in range(12):
                variable = file.createVariable(f"v{number}", "f4", ("t", "x"), zlib=number % 2 == 0)
                variable.setncatts({f"a{place}": "text" * place for place in range(number)})
                variable[:2] = number
        originals.append(folder / f"{kind}.nc")
    contents = [original.read_bytes() for original in originals]
    for _ in range(count):
        (folder / "damaged.h5").write_bytes(changed(pick.choice(contents), pick))
        yield folder / "damaged.h5"


SLOW_SEEDS = [pytest.param(2000, seed, marks=pytest.mark.slow) for seed in range(2000, 2010)]


@pytest.mark.long
@pytest.mark.parametrize(("count", "seed"), [(300, 1000), *SLOW_SEEDS])
def test_damaged_files_are_refused_or_read(
    count: int, seed: int, tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other exception fails the test; so does a file that takes much memory or time."""
    monkeypatch.setattr(isolation, "SECONDS_OF_HEADERS", 0.5)  # HDF5 does not return from one damaged file in thirty
    read = 0
    for path in damaged(peer("h5py"), peer("netCDF4"), tmp_path, seed, count):
        ours = by_header(path)
        if ours is not None:
            read += 1
            for parts in ours.parts.values():
                for source in parts.values():
                    if isinstance(source, IndexChunkArray):
                        with suppress(nczarr.CompileError):
                            source._read_index(None)
    assert 0 < read < count


def test_few_chunks_of_many_are_looked_up(
    tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find a chunk among 40,000 reads a path through the tree, not the tree."""
    netcdf, path = peer("netCDF4"), tmp_path / "t.nc"
    with netcdf.Dataset(path, "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 200)
        file.createVariable("v", "i1", ("t", "x"), chunksizes=(1, 1))[:200] = 1
    sizes: list[int] = []
    real = HeaderFile._page
    monkeypatch.setattr(HeaderFile, "_page", lambda self, number: sizes.append(1) or real(self, number))
    checked = phases.read(open_source(str(path)), Report(), Options())
    assert checked is not None
    opened = len(sizes)
    assert opened < 20
    source = checked.parts["/v"][""]
    assert source.read((slice(150, 151), slice(7, 8))).tolist() == [[1]]
    assert len(sizes) - opened < 20
