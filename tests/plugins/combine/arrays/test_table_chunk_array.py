"""Arrays described by places: the values of the source, whatever it is, and nothing of a changed file."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.plugins.combine.arrays.accumulation import Accumulation, Targets
from nczarr.plugins.combine.arrays.table_chunk_array import TableChunkArray, form_of, locate
from nczarr.stores.target_urls import note_properties


def arrays(path: Path) -> Any:
    return {name: parts[""] for name, parts in nczarr.open(path).checked.parts.items()}


@pytest.fixture
def chunked(tmp_path: Path) -> Path:
    """Compressed chunks, one of them never written, edges, and plain values."""
    built = nczarr.DatasetBuilder("t")
    t, x = built.dimension("t", 7), built.dimension("x", 5)
    built.variable("v", "int", [t, x], chunks=(2, 3), codecs=[("shuffle",), ("deflate", 1)], fill_value=-1)
    built.variable("w", "double", [t, x])
    values = np.arange(35, dtype="i4").reshape(7, 5)
    path = tmp_path / "a.nc"
    nczarr.write(built.finish(data={"/v": values, "/w": values / 4}), path)
    return path


@pytest.mark.parametrize("short", [-1, 64, 10**6])
@pytest.mark.parametrize("kind", ["a.nc", "a.zarr", "a.json"])
def test_the_values_are_those_of_the_source(chunked: Path, tmp_path: Path, short: int, kind: str) -> None:
    path = chunked if kind == "a.nc" else tmp_path / kind
    if path != chunked:
        nczarr.convert(chunked, path)
    for source in arrays(path).values():
        made = locate(source, short)
        assert made is not None
        again = pickle.loads(pickle.dumps(made))
        for region in ((slice(0, 7), slice(0, 5)), (slice(1, 4), slice(2, 3)), (slice(6, 7), slice(0, 0))):
            wanted = source.read(region)
            out = np.empty_like(wanted)
            made.read_into(region, out)
            for found in (made.read(region), again.read(region), out):
                assert found.dtype == wanted.dtype
                assert np.array_equal(found, wanted)
        assert sorted(made.list_occupied((3, 3))) == sorted(source.list_occupied((3, 3)))


def test_a_changed_file_is_not_read(chunked: Path) -> None:
    made = locate(arrays(chunked)["/w"], -1)
    assert made is not None
    made = made.replace(facts={str(chunked): note_properties(str(chunked))})
    assert made.replace().read((slice(0, 1), slice(0, 1))).tolist() == [[0]]
    os.utime(chunked, ns=(1, 1))
    with pytest.raises(OSError, match="has changed since it was read"):
        made.read((slice(1, 2), slice(0, 1)))


def test_values_in_memory_have_no_places() -> None:
    text = 'netcdf t { dimensions: t = 2 ; variables: int v(t) ; string s(t) ; data: v = 1, 2 ; s = "a", "b" ; }'
    for parts in nczarr.from_cdl(text).checked.parts.values():
        assert form_of(parts[""]) is None
        assert locate(parts[""], 64) is None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("lengths", [(2, 2, 2), (2, 4, 2), (2, 2, 3), (3, 2, 2), (2, 5, 4)])
def test_sources_of_one_form_are_one_table(tmp_path: Path, axis: int, lengths: tuple[int, ...]) -> None:
    """A source whose length is no multiple of the chunk ends an array."""
    found, every = Accumulation(axis, Targets(NO_OPTIONS)), []
    for number, length in enumerate(lengths):
        shape = (length, 3) if axis == 0 else (3, length)
        values = np.arange(3 * length, dtype="i4").reshape(shape) + 100 * number
        built = nczarr.DatasetBuilder("t")
        axes = [built.dimension(name, size) for name, size in zip("ab", shape, strict=True)]
        built.variable("v", "int", axes, chunks=(2, 2), codecs=[("deflate", 1)])
        nczarr.write(built.finish(data={"/v": values}), tmp_path / f"{number}.zarr")
        source = arrays(tmp_path / f"{number}.zarr")["/v"]
        every.append(values)
        found.add(number, locate(source, -1) or source)
    sources, numbers = found.arrange(found.list_runs())
    aligned = [length for length in lengths if length % 2 == 0 and length]
    assert len(sources) == len(numbers) <= len(lengths) - len(aligned) + 2
    whole = np.concatenate(every, axis)
    read = [each.read(tuple(slice(0, length) for length in each.layout.shape)) for each in sources]
    assert np.array_equal(np.concatenate(read, axis), whole)
    for source in sources:
        if isinstance(source, TableChunkArray):
            assert (np.diff(source.table.chunk) > 0).all()
