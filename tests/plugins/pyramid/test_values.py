"""Cells of levels beside xarray's `coarsen` of level 0 at once, and beside plain loops."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nczarr
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Layout
from nczarr.plugins.pyramid.level_array import WORKSPACE, LevelArray, Overviews, choose_tile
from nczarr.plugins.pyramid.reduce import Reduction, reduce_levels

MARK = -7


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], tuple[int, ...], int]:
    """Values with missing ones, the factors of their dimensions, and a number of levels."""
    factor = draw(st.integers(2, 4))
    rank = draw(st.integers(2, 3))
    places = draw(st.permutations(range(rank)))[:2]
    factors = tuple(factor if axis in places else 1 for axis in range(rank))
    shape = tuple(draw(st.integers(1, 21 if axis in places else 3)) for axis in range(rank))
    dtype = draw(st.sampled_from(["<f4", "<f8", ">f4", "i1", "<i2", "<i4", "<u2", "u1"]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = (
        random.integers(0, 100, shape).astype(dtype) if dtype[-2] != "f" else random.normal(size=shape).astype(dtype)
    )
    gaps = random.random(shape) < draw(st.sampled_from([0.0, 0.2, 0.9]))
    values[gaps] = MARK if dtype.lstrip("<>")[0] == "i" else np.nan if "f" in dtype else 250
    return values, factors, draw(st.integers(1, 3))


def marks_of(values: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    kind = values.dtype.kind
    return () if kind == "f" else (values.dtype.type(MARK if kind == "i" else 250),)


def floats(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Decoded values, NaN where missing."""
    decoded = values.astype("f8")
    for mark in marks_of(values):
        decoded[values == mark] = np.nan
    return decoded


def coarsened(values: np.ndarray[Any, Any], factors: tuple[int, ...], level: int, method: str) -> Any:
    xr = pytest.importorskip("xarray")
    names = [f"d{axis}" for axis in range(values.ndim)]
    windows = {name: factor**level for name, factor in zip(names, factors, strict=True) if factor > 1}
    return getattr(xr.DataArray(values, dims=names).coarsen(windows, boundary="pad"), method)().values


@settings(deadline=None, max_examples=150)
@given(cases(), st.sampled_from(["mean", "min", "max"]))
def test_reductions_are_those_of_xarray(case: tuple[Any, ...], method: Any) -> None:
    """Equal to `coarsen` of level 0 at once, as double; integers are rounded."""
    values, factors, levels = case
    dtype = values.dtype.newbyteorder("=").str
    results = reduce_levels(values, Reduction(method, factors, dtype, marks_of(values), *marks_of(values)), levels)
    for level, result in enumerate(results, 1):
        expected = coarsened(floats(values), factors, level, method)
        found = floats(result)
        assert result.dtype.str == dtype
        assert np.array_equal(np.isnan(found), np.isnan(expected))
        if values.dtype.kind in "iu":
            whole = np.rint(expected)
            near = np.abs(expected - whole) < 0.5 - 1e-9  # halves may be a rounding error away
            assert np.array_equal(found[near], whole[near], equal_nan=True)
        elif dtype == "<f8":
            np.testing.assert_allclose(found, expected, rtol=2e-15, atol=1e-15)
        else:
            assert np.array_equal(result, expected.astype("f4"), equal_nan=True) or np.allclose(
                result, expected.astype("f4"), rtol=1.2e-7, equal_nan=True
            )


@settings(deadline=None, max_examples=60)
@given(cases())
def test_sums_that_are_exact_give_equal_means(case: tuple[Any, ...]) -> None:
    values, factors, levels = case
    whole = np.rint(floats(values) * 16) / 16
    results = reduce_levels(whole, Reduction("mean", factors, "<f8"), levels)
    for level, result in enumerate(results, 1):
        assert np.array_equal(result, coarsened(whole, factors, level, "mean"), equal_nan=True)


def by_loops(values: np.ndarray[Any, Any], factors: tuple[int, ...], marks: tuple[Any, ...], mark: Any) -> Any:
    """The most frequent present value of each block, of several the smallest."""
    shape = tuple(-(-length // factor) for length, factor in zip(values.shape, factors, strict=True))
    out = np.empty(shape, values.dtype)
    for index in np.ndindex(shape):
        place = tuple(slice(i * factor, (i + 1) * factor) for i, factor in zip(index, factors, strict=True))
        block = [one for one in values[place].reshape(-1).tolist() if one == one and one not in marks]
        counts = sorted((-block.count(one), one) for one in set(block))
        out[index] = counts[0][1] if counts else mark
    return out


@settings(deadline=None, max_examples=80)
@given(cases(), st.integers(1, 5))
def test_modes_are_those_of_loops(case: tuple[Any, ...], classes: int) -> None:
    values, factors, levels = case
    values = values.astype(values.dtype.newbyteorder("="))
    gaps = np.isnan(floats(values))
    values = np.where(gaps, values, values % values.dtype.type(classes)).astype(values.dtype)
    marks = marks_of(values)
    results = reduce_levels(values, Reduction("mode", factors, values.dtype.str, marks, *marks), levels)
    for result in results:
        values = by_loops(values, factors, marks, marks[0] if marks else np.nan)
        assert np.array_equal(result, values, equal_nan=values.dtype.kind == "f")


@settings(deadline=None, max_examples=40)
@given(cases())
def test_nearest_is_the_first_cell(case: tuple[Any, ...]) -> None:
    values, factors, levels = case
    results = reduce_levels(values, Reduction("nearest", factors, values.dtype.str), levels)
    for level, result in enumerate(results, 1):
        place = tuple(slice(None, None, factor**level) for factor in factors)
        assert np.array_equal(result, values[place], equal_nan=values.dtype.kind == "f")


@pytest.mark.parametrize("method", ["nearest", "mode", "min", "max"])
@pytest.mark.parametrize("dtype", ["<i8", "<u8"])
def test_long_integers_are_exact(method: Any, dtype: str) -> None:
    edge = np.iinfo(dtype)
    values = np.array([[edge.max, edge.max - 1], [edge.max, edge.min]], dtype)
    (result,) = reduce_levels(values, Reduction(method, (2, 2), dtype), 1)
    expected = {"nearest": edge.max, "mode": edge.max, "min": edge.min, "max": edge.max}
    assert result.tolist() == [[expected[method]]]


def test_the_mean_of_long_integers_stays_in_their_type() -> None:
    for dtype in ("<i8", "<u8"):
        high = np.full((2, 2), np.iinfo(dtype).max, dtype)
        (result,) = reduce_levels(high, Reduction("mean", (2, 2), dtype), 1)
        assert abs(int(result[0, 0]) - int(high[0, 0])) <= 2048


def test_unsigned_numbers_in_a_signed_type() -> None:
    values = np.array([[-1, 1], [-1, 3]], "i1")  # 255, 1, 255, 3
    found = {
        method: reduce_levels(values, Reduction(method, (2, 2), "|i1", sign="u"), 1)[0].view("u1").item()
        for method in ("mean", "min", "max", "mode")
    }
    assert found == {"mean": 128, "min": 1, "max": 255, "mode": 255}


def test_infinities_of_both_signs_have_no_mean() -> None:
    values = np.array([[np.inf, -np.inf], [1, 2]], "f4")
    (result,) = reduce_levels(values, Reduction("mean", (2, 2), "<f4", (np.float32(-9),), np.float32(-9)), 1)
    assert result.item() == -9
    (result,) = reduce_levels(np.abs(values), Reduction("mean", (2, 2), "<f4"), 1)
    assert result.item() == np.inf


@settings(deadline=None, max_examples=60)
@given(cases(), st.data())
def test_any_region_of_any_level_from_tiles(case: tuple[Any, ...], data: st.DataObject) -> None:
    """Whatever is read first, a region has the cells of the whole; the temporary file changes nothing."""
    values, factors, levels = case
    shapes = [
        tuple(math.ceil(length / factor**level) for length, factor in zip(values.shape, factors, strict=True))
        for level in range(levels + 1)
    ]
    little = values.astype(values.dtype.newbyteorder("<"))
    reduction = Reduction("mean", factors, little.dtype.str, marks_of(little))
    layout = Layout(little.dtype.str, values.shape, values.shape)
    overviews = Overviews(ArrayInMemory(layout, little), reduction, tuple(shapes), 1 << 20)
    overviews.tile = tuple(factor**levels * data.draw(st.integers(1, 2)) for factor in factors)
    overviews._restore(shared=data.draw(st.booleans()))
    whole = reduce_levels(little, reduction, levels)
    for _ in range(4):
        level = data.draw(st.integers(1, levels))
        ends = [sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2))) for n in shapes[level]]
        region = tuple(slice(*pair) for pair in ends)
        found = LevelArray(overviews, level, None).read(region)
        assert np.array_equal(found, whole[level - 1][region], equal_nan=little.dtype.kind == "f")


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.integers(1, 9000), st.integers(1, 3000), st.sampled_from([1, 2, 3])), min_size=1, max_size=3),
    st.integers(1, 6),
    st.integers(1 << 20, 1 << 28),
)
def test_tiles_have_whole_cells_and_fit_into_memory(axes: list[tuple[int, int, int]], levels: int, memory: int) -> None:
    """Only tiles of one cell of the last level may need more memory than there is."""
    shape, chunks, factors = (tuple(each) for each in zip(*axes, strict=True))
    layout = Layout("<f4", shape, tuple(map(min, chunks, shape)))
    source = ArrayInMemory(layout, np.broadcast_to(np.zeros(1, "f4"), shape))
    tile = choose_tile(source, factors, levels, memory)
    cells = [factor**levels for factor in factors]
    assert all(length % cell == 0 for length, cell in zip(tile, cells, strict=True))
    need = math.prod(map(min, tile, shape)) * (4 + WORKSPACE)
    assert need <= memory or all(length <= cell for length, cell in zip(map(min, tile, shape), cells, strict=True))


@pytest.mark.parametrize(("boundary", "factor"), [*itertools.product(["pad", "trim"], [2, 3])])
def test_a_whole_run_beside_xarray(boundary: Any, factor: int, tmp_path: Path) -> None:
    """Values and coordinates of every level are those of `coarsen` of level 0, of both boundaries."""
    xr = pytest.importorskip("xarray")
    random = np.random.default_rng(factor)
    values = random.normal(size=(2, 45, 70)).astype("f4")
    values[random.random(values.shape) < 0.3] = np.nan
    ds = xr.Dataset(
        {"t": (("time", "y", "x"), values)},
        {"time": [0.0, 1.0], "y": np.linspace(9, 1, 45), "x": np.arange(70, dtype="i4") ** 2},
    )
    ds.to_zarr(tmp_path / "a.zarr", zarr_format=3, consolidated=False, encoding={"t": {"chunks": (1, 16, 20)}})
    nczarr.pyramid(tmp_path / "a.zarr", tmp_path / "p.zarr", "zarr3", levels=2, factor=factor, boundary=boundary)
    for level in (1, 2):
        found = xr.open_zarr(tmp_path / "p.zarr", group=str(level), consolidated=False)
        expected = ds.astype("f8").coarsen(y=factor**level, x=factor**level, boundary=boundary).mean()
        assert found["t"].dtype == "f4"
        np.testing.assert_array_equal(found["t"].values, expected["t"].values.astype("f4"))
        np.testing.assert_allclose(found["y"].values, expected["y"].values, rtol=1e-15)
        np.testing.assert_array_equal(found["x"].values, expected["x"].values)
        assert found["x"].dtype == "f8"
