"""Blocks that meet stored data, against every cell one by one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.arrays.chunks import occupancy
from nczarr.arrays.chunks.occupancy import blocks_of_boxes, blocks_of_chunks, blocks_of_runs, chunks_in
from nczarr.arrays.regions import Index, Region, chunk_ranges, count_blocks, every_block, number_of, region_of, table_of
from nczarr.arrays.sources.memory import GivenValues, Runs
from nczarr.arrays.sources.sliced import Sliced
from nczarr.arrays.sources.source import ArraySource, Layout
from nczarr.ast.rectilinear import Lengths
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases

SEEDS = range(60)
BLOCKS = [SEEDS[first : first + 20] for first in SEEDS[::20]]


def drawn_region(rng: random.Random, shape: Index) -> Region:
    """Indices along each dimension: some, one, or none, with or without steps."""
    region = []
    for length in shape:
        start, stop = sorted(rng.choices(range(length + 1), k=2))
        region.append(range(start, stop, rng.choice((1, 1, 2, 3, 7))))
    return tuple(region)


def drawn_lengths(rng: random.Random, shape: Index) -> Index:
    return tuple(rng.randint(1, length + 1) for length in shape)


def blocks_with(cells: set[Index], blocks: Index, region: Region) -> list[Index]:
    """The blocks of a region that have one of some cells."""
    met = set()
    for place in itertools.product(*(range(len(indices)) for indices in region)):
        if tuple(indices[at] for indices, at in zip(region, place, strict=True)) in cells:
            met.add(tuple(at // block for at, block in zip(place, blocks, strict=True)))
    return sorted(met)


def cells_of(chunks: list[Index], unit: Index, shape: Index) -> set[Index]:
    return {
        cell
        for chunk in chunks
        for cell in itertools.product(*(range(part.start, part.stop) for part in region_of(chunk, unit, shape)))
    }


@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_blocks_of_chunks_are_those_with_a_cell_of_one(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in seeds:
        check_chunks(seed, monkeypatch)


def check_chunks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(occupancy, "EXPANDED", rng.choice((1, 4, 1 << 16)))
    shape = tuple(rng.randint(1, 9) for _ in range(rng.randint(1, 3)))
    unit: Index = drawn_lengths(rng, shape)
    if seed % 3 == 0:
        unit = (Lengths([(1, 1), (3, 1), (2, 4)]), *unit[1:])
    chunks = [index for index in every_block(shape, unit) if rng.random() < 0.4]
    region, blocks = drawn_region(rng, shape), drawn_lengths(rng, shape)
    table = table_of(chunks, len(shape))
    expected = blocks_with(cells_of(chunks, unit, shape), blocks, region)
    assert list(blocks_of_chunks(table, unit, blocks, region)) == expected
    some = chunks_in(table, unit, region).tolist()
    assert some == [list(chunk) for chunk in chunks if blocks_with(cells_of([chunk], unit, shape), shape, region)]
    ranges = chunk_ranges(unit, region)
    assert all(number in part for chunk in some for number, part in zip(chunk, ranges, strict=True))


@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_blocks_of_runs_and_boxes_are_those_with_a_cell_of_one(seeds: range) -> None:
    for seed in seeds:
        check_runs_and_boxes(seed)


def check_runs_and_boxes(seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.randint(1, 6) for _ in range(rng.randint(1, 3)))
    region, blocks = drawn_region(rng, shape), drawn_lengths(rng, shape)
    every = list(itertools.product(*map(range, shape)))
    cuts = sorted(rng.sample(range(len(every) + 1), min(len(every) + 1, 6)))
    runs = [(first, end - first) for first, end in zip(cuts[::2], cuts[1::2], strict=False)]
    cells = {cell for cell in every for first, count in runs if first <= number_of(cell, shape) < first + count}
    assert list(blocks_of_runs(runs, shape, blocks, region)) == blocks_with(cells, blocks, region)
    boxes = [tuple(range(n // 2, n) for n in shape), tuple(range(1) for _ in shape)]
    cells = {cell for cell in every for box in boxes if all(at in part for at, part in zip(cell, box, strict=True))}
    assert list(blocks_of_boxes(boxes, blocks, region)) == blocks_with(cells, blocks, region)


def test_a_scalar_is_one_block() -> None:
    assert list(blocks_of_chunks(table_of([()], 0), (), (), ())) == [()]
    assert list(blocks_of_chunks(table_of([], 0), (), (), ())) == []
    assert list(blocks_of_runs([(0, 1)], (), (), ())) == [()]
    assert list(blocks_of_runs([], (), (), ())) == []


def test_indices_of_vast_arrays_stay_within_64_bits() -> None:
    vast = 2**62
    region = (range(2**61, 2**61 + 10), range(vast - 1, vast))
    table = table_of([(2**41, vast // 7), (0, 0)], 2)
    assert list(blocks_of_chunks(table, (2**20, 7), (5, 1), region)) == [(0, 0), (1, 0)]


def array_in(path: Path) -> ArraySource:
    checked = phases.read_path(str(path), Report(), Options())
    assert checked is not None
    return checked.parts["/v"][""]


def sources(folder: Path) -> Iterator[tuple[str, ArraySource]]:
    """Sparse arrays of shape (12, 10) of every kind, with some stored cells that are not fill."""
    layout = Layout("<i4", (12, 10), (12, 10), fill=np.int32(-1).tobytes())
    runs = Runs(layout, [7, 33, 95], [0, 2, 9, 10], GivenValues(layout.dtype, np.arange(10, dtype="<i4") + 1))
    yield "runs", runs
    values = runs.read((slice(0, 12), slice(0, 10)))
    ready = nczarr.DatasetBuilder("x")
    y, x = ready.dimension("y", 12), ready.dimension("x", 10)
    ready.variable("v", "int", [y, x], fill_value=-1, chunks=(3, 2))
    dataset = ready.finish(data={"/v": values})
    for form, options in {
        "netcdf4": {},
        "netcdf3": {},
        "nczarr": {},
        "zarr3": {},
        "shards": {"format": "zarr3", "shards": {"/v": (6, 6)}},
    }.items():
        path = folder / (f"{form}.nc" if "netcdf" in form else f"{form}.zarr")
        nczarr.write(dataset, path, **{"format": form, **options})  # type: ignore[arg-type]
        yield form, array_in(path)
    nczarr.write(nczarr.open(folder / "netcdf4.nc"), folder / "refs.json", format="reference")
    yield "references", array_in(folder / "refs.json")


@pytest.fixture(scope="module")
def every_source(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ArraySource]:
    return dict(sources(tmp_path_factory.mktemp("sources")))


def joined(source: ArraySource, axis: int) -> ArraySource:
    from nczarr.plugins.combine.arrays.concatenate import join_sources

    return join_sources([source, source], axis)


def raised(source: ArraySource) -> ArraySource:
    from nczarr.plugins.combine.arrays.interleave import Raised

    return Raised(source)


DERIVED: dict[str, Callable[[ArraySource], ArraySource]] = {
    "plain": lambda source: source,
    "sliced": lambda source: Sliced(source, (range(1, 12, 2), range(3, 9))),
    "joined": lambda source: joined(source, 0),
    "joined along x": lambda source: joined(source, 1),
    "raised": raised,
}


@pytest.mark.parametrize("derived", DERIVED)
def test_every_source_names_all_blocks_with_values_and_few_others(
    derived: str, every_source: dict[str, ArraySource]
) -> None:
    for seed, (title, plain) in itertools.product(range(6), every_source.items()):
        rng, source = random.Random(f"{seed} {title}"), DERIVED[derived](plain)
        shape = source.layout.shape
        values = source.read(tuple(slice(0, length) for length in shape))
        cells = set(map(tuple, np.argwhere(values != -1).tolist()))
        for _ in range(4):
            region, blocks = drawn_region(rng, shape), drawn_lengths(rng, shape)
            expected = blocks_with(cells, blocks, region)
            answer = list(source.list_occupied(blocks, region))
            assert answer == sorted(set(answer)), (title, seed)
            assert set(expected) <= set(answer), (title, seed)
            counts = [range(-(-len(part) // block)) for part, block in zip(region, blocks, strict=True)]
            assert set(answer) <= set(itertools.product(*counts)), (title, seed)
            everything = tuple(map(range, shape))
            assert list(source.list_occupied(blocks)) == list(source.list_occupied(blocks, everything)), (title, seed)


def test_blocks_that_are_all_there_are_counted_without_listing_them() -> None:
    length = 10**15
    assert count_blocks(every_block((length, 3), (1, 1))) == 3 * length
    whole_chunk = np.array([[0]], np.int64)
    assert count_blocks(blocks_of_chunks(whole_chunk, (length,), (1,), (range(length),))) == length
    few = blocks_of_chunks(np.array([[0], [2]], np.int64), (4,), (2,), (range(12),))
    assert count_blocks(few) == 4
    assert list(every_block((3,), (2,))) == [(0,), (1,)]
