"""Combined files as references see them: every chunk of the whole is a range of a file, and holds what it should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.chunks.grid import chunk_of
from nczarr.arrays.chunks.manifest import Affine, PlaceColumns
from nczarr.arrays.codecs.chain import to_configs
from nczarr.arrays.regions import every_block, region_of
from nczarr.arrays.sources.source import itemsize
from nczarr.diagnostics.report import Report
from nczarr.plugins.combine.join import CombineSpec, combine
from nczarr.semantics.checked import Checked
from tests.support.peers.combined_files import Maker, axes, chunked, contiguous, files, fill, records

pytestmark = pytest.mark.peer


def whole(paths: list[str], **wanted: Any) -> tuple[Checked | None, Report]:
    report = Report()
    made = combine(((path, nczarr.open(path).checked) for path in paths), CombineSpec(**wanted), report)
    return made, report


def chunks_read(checked: Checked, path: str) -> int:
    """How many chunks a variable has, each of which is found where the table says, and holds the array's values."""
    source = checked.parts[path][""]
    stored, layout, table = source.stored, source.layout, source.manifest()
    assert stored is not None
    assert table is not None
    places = {}
    if isinstance(table, Affine):
        places = {n: (table.source, table.base + n * table.stride, table.length) for n in range(table.count)}
    else:
        assert isinstance(table, PlaceColumns)
        assert (np.diff(table.chunk) > 0).all()
        rows = zip(table.source, table.offset.tolist(), table.length.tolist(), strict=True)
        places = dict(zip(table.chunk.tolist(), ((table.sources[n], at, size) for n, at, size in rows), strict=True))
    steps = to_configs(stored.codecs, itemsize(stored.dtype))
    assert steps is not None
    for number, index in enumerate(every_block(layout.shape, stored.chunks)):
        place = source.place(index)
        assert place is not None
        assert places[number] == place[:3]
        data = Path(place.path).read_bytes()[place.offset : place.offset + place.length]
        assert data == source.read_encoded(index)
        region = region_of(index, stored.chunks, layout.shape)
        found = chunk_of(data, stored.dtype, steps, layout._replace(chunks=stored.chunks))
        wanted = source.read(region)
        assert np.array_equal(found[tuple(slice(0, length) for length in wanted.shape)], wanted)
    return len(places)


@pytest.mark.parametrize(
    ("make", "form", "counts"),
    [
        (records, "NETCDF3_CLASSIC", {"/v": 10, "/odd": 10, "/time": 10}),
        (chunked, "NETCDF4", {"/v": 6, "/w": 10}),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_chunks_are_ranges_of_files(
    peer: Callable[[str], ModuleType], tmp_path: Path, make: Maker, form: str, counts: dict[str, int]
) -> None:
    made, report = whole(files(peer, tmp_path, make, form), along=("time",), addressable=1000)
    assert made is not None, report.list_sorted()
    assert {path: chunks_read(made, path) for path in counts} == counts


def test_contiguous_arrays_are_cut_unless_their_values_fit_the_document(
    peer: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    paths = files(peer, tmp_path, contiguous)  # of 1200, 80 and 120 bytes
    made, _ = whole(paths, along=("time",), addressable=1000)
    assert made is not None
    assert chunks_read(made, "/v") == 5
    assert made.parts["/time"][""].stored is made.parts["/w"][""].stored is None
    made, _ = whole(paths, along=("time",), addressable=1200)
    assert made is not None
    assert made.parts["/v"][""].stored is None
    made, report = whole(paths, along=("time",), addressable=0)
    assert made is None  # `w` lies along its second dimension, and ranges cannot be cut there
    assert [each.message.partition(":")[0] for each in report.list_sorted()] == [
        "`/w` cannot be referenced as one array"
    ]


def test_chunks_longer_than_the_files_stand_in_the_document_or_are_refused(
    peer: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    def long(dataset: Any, times: tuple[int, ...]) -> None:
        axes(dataset, None)
        dataset["time"][:] = times
        fill(dataset.createVariable("v", "f4", ("time", "y", "x"), zlib=True, chunksizes=(3, 3, 5)), times)

    paths = files(peer, tmp_path, long)
    made, _ = whole(paths, along=("time",), addressable=600)
    assert made is not None
    assert made.parts["/v"][""].stored is None
    made, report = whole(paths, along=("time",), addressable=599)
    assert made is None
    (found,) = report.list_sorted()
    assert (found.code, found.message) == (
        "unaligned-chunks",
        "`/v` cannot be referenced as one array: a length of 4 is not a multiple of the chunk length 3 "
        f"(`{paths[0]}`, `{paths[1]}`)",
    )


def test_stacked_files_keep_their_chunks(peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    paths = []
    for number in range(3):
        paths.append(str(tmp_path / f"{number}.nc"))
        with peer("netCDF4").Dataset(paths[-1], "w") as dataset:
            dataset.createDimension("x", 5)
            dataset.createVariable("s", "f8", ())[...] = number
            dataset.createVariable("v", "f8", ("x",), zlib=True, chunksizes=(2,))[:] = np.arange(5) + 10 * number
            dataset.createVariable("w", "f8", ("x",))[:] = np.arange(5) + 10 * number
    made, report = whole(paths, new_dim="run", addressable=0)
    assert made is not None, report.list_sorted()
    assert {path: chunks_read(made, path) for path in made.parts} == {"/s": 3, "/v": 9, "/w": 3}
    assert made.variables["/v"].storage.chunks == (1, 2)
