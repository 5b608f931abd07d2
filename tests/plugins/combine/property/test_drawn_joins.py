"""Drawn files of one series: orders, repeats, units, fills and packings. Their join is what xarray decodes, or refused.

A draw says of itself whether it must be refused, must be joined, or may be either. What is joined has the values that
xarray decodes from the files, sorted and converted with NumPy.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import netCDF4
import numpy as np
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

import nczarr
from tests.support.proof import share
from tests.support.subsets import relaxed

pytest.importorskip("cf_units")

KELVIN = {"K": (1.0, 0.0), "degC": (1.0, 273.15), "degF": (5 / 9, 459.67 * 5 / 9)}
"""Factor and offset to kelvin, by unit."""

EPOCHS = (("days since 2000-01-01", 24, 0), ("hours since 2000-01-01", 1, 0), ("days since 1999-12-31", 24, 24))
"""Units of time, hours of one, and hours from their date to 2000-01-01."""

KINDS = {"f4": None, "f8": None, "i4": None, "i2": (0.5, 250.0), "i2 ": (0.25, 250.0)}
"""Types of values, with scale and offset of packed ones."""

TOLERANCE = {"f4": 2e-5, "f8": 1e-10, "i4": 1e-10, "i2": 0.5, "i2 ": 0.25}
"""Difference of a decoded value that the type explains."""

COUNT = share(2000) if os.environ.get("NCZARR_RANDOM") == "1" else 15


class Piece(NamedTuple):
    """One file of a series."""

    days: tuple[int, ...]
    epoch: int
    units: str
    kind: str
    fill: float | None
    gaps: bool
    """True if the first cell is missing."""
    marked: bool
    """True if the coordinates have `_FillValue = NaN`, as xarray writes them."""


class Request(NamedTuple):
    """Options of a join."""

    sort: bool
    duplicates: str | None
    units: str | None
    decode_times: bool
    repack: bool


@st.composite
def pieces(draw: st.DrawFn) -> list[Piece]:
    """Two to four files; most properties are the same in all."""
    count = draw(st.integers(2, 4))
    order = draw(st.sampled_from(["ascending", "ascending", "descending", "any", "overlapping"]))
    cuts = sorted(draw(st.sets(st.integers(1, 11), min_size=count - 1, max_size=count - 1)))
    bounds = list(zip([0, *cuts], [*cuts, 12], strict=True))
    days = [list(range(begin, end)) for begin, end in bounds]
    if order == "descending":
        days = [row[::-1] for row in days[::-1]]
    elif order == "any":
        days = draw(st.permutations(days))
    elif order == "overlapping":
        days = [draw(st.lists(st.integers(0, 11), min_size=1, max_size=4, unique=True)) for _ in days]
        days = [sorted(row) if draw(st.booleans()) else row for row in days]

    def rows(choices: list[Any]) -> list[Any]:
        """One choice for all files, or one for each."""
        if draw(st.integers(0, 2)):
            return [draw(st.sampled_from(choices))] * count
        return [draw(st.sampled_from(choices)) for _ in range(count)]

    columns = rows([0, 1, 2]), rows(list(KELVIN)), rows(list(KINDS)), rows([None, -99.0]), rows([False, True])
    marked = rows([False, True])
    return [Piece(tuple(row), *each) for row, *each in zip(days, *columns, marked, strict=True)]


requests = st.builds(
    Request,
    st.booleans(),
    st.sampled_from([None, None, "first", "last"]),
    st.sampled_from([None, "majority", "K"]),
    st.booleans(),
    st.booleans(),
)


def write(path: Path, piece: Piece, number: int) -> None:
    """Write a file by netCDF4-python."""
    with netCDF4.Dataset(path, "w") as file:
        file.set_auto_maskandscale(False)
        file.createDimension("time", None)
        file.createDimension("x", 2)
        mark = {"fill_value": np.nan} if piece.marked else {}
        units, hours, shift = EPOCHS[piece.epoch]
        time = file.createVariable("time", "f8", ("time",), **mark)
        time.units = units
        time[:] = [(24 * day + shift) / hours for day in piece.days]
        file.createVariable("x", "f8", ("x",), **mark)[:] = [1, 2]
        kind = piece.kind.strip()
        fill = {} if piece.fill is None else {"fill_value": np.array(piece.fill, kind)}
        variable = file.createVariable("v", kind, ("time", "x"), **fill)
        variable.units = piece.units
        packing = KINDS[piece.kind]
        if packing is not None:
            variable.scale_factor, variable.add_offset = packing
        stored = np.array([[20 + 2 * day, 21 + number] for day in piece.days], kind)
        if piece.gaps and piece.fill is not None:
            stored[0, 0] = piece.fill
        variable[:] = stored


def decode(path: Path) -> tuple[list[float], np.ndarray[Any, np.dtype[np.float64]]]:
    """Hours since 2000-01-01, and values in kelvin, as xarray decodes a file or store."""
    name = str(path)
    opened = xarray.open_zarr(name) if name.endswith(".zarr") else xarray.open_dataset(name, engine="netcdf4")
    with opened as data:
        factor, offset = KELVIN[data["v"].attrs["units"]]
        since = (data["time"].values - np.datetime64("2000-01-01")) / np.timedelta64(1, "h")
        return since.tolist(), data["v"].values.astype("f8") * factor + offset


def is_monotonic(times: list[float]) -> bool:
    steps = np.diff(times)
    return bool((steps > 0).all() or (steps < 0).all())


def arrange(every: list[list[float]], request: Request) -> list[tuple[int, int]] | None:
    """The cells of the result, by file and number; None for an order that is refused."""
    cells = [(file, number) for file, row in enumerate(every) for number in range(len(row))]
    if request.duplicates is not None:
        kept: dict[float, tuple[int, int]] = {}
        for file, number in cells:
            time = every[file][number]
            kept[time] = kept.get(time, (file, number)) if request.duplicates == "first" else (file, number)
        cells = list(kept.values())
    times = [every[file][number] for file, number in cells]
    if len(set(times)) < len(times):
        return None
    if request.sort:
        several = [row for row in every if len(row) > 1]
        falls = bool(several) and all((np.diff(row) < 0).all() for row in several)
        cells.sort(key=lambda cell: every[cell[0]][cell[1]], reverse=falls)
        return cells
    return cells if is_monotonic(times) else None


def judge(files: list[Piece], request: Request, cells: list[tuple[int, int]] | None) -> bool | None:
    """True if the files must be joined, False if they must be refused, None if either is right."""
    differing = {name: len({getattr(piece, name) for piece in files}) > 1 for name in Piece._fields}
    recodes = request.decode_times or request.units is not None or request.repack
    if cells is None or (differing["units"] and request.units is None) or (differing["epoch"] and not recodes):
        return False
    if (differing["fill"] or differing["kind"]) and not request.repack and not differing["units"]:
        return False
    if request.units == "K" and not differing["units"]:
        return False
    exact = not differing["units"] or files[0].kind in ("f4", "f8")
    return True if exact and not (differing["fill"] or differing["kind"]) else None


@settings(relaxed, max_examples=COUNT)
@given(pieces(), requests, st.sampled_from(["o.nc", "o.zarr"]))
def test_a_join_is_what_xarray_decodes_or_refused(files: list[Piece], request: Request, target: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{number}.nc" for number in range(len(files))]
        for number, (path, piece) in enumerate(zip(paths, files, strict=True)):
            write(path, piece, number)
        decoded = [decode(path) for path in paths]
        cells = arrange([times for times, _ in decoded], request)
        expected = judge(files, request, cells)
        refused = None
        try:
            nczarr.combine(paths, folder / target, along="time", **request._asdict())
        except nczarr.CompileError as error:
            refused = error
        if refused is not None:
            assert expected is not True, refused
            assert not (folder / target).exists()
            return
        assert expected is not False
        assert cells is not None
        times, values = decode(folder / target)
        assert times == [decoded[file][0][number] for file, number in cells]
        wanted = np.array([decoded[file][1][number] for file, number in cells])
        np.testing.assert_allclose(values, wanted, rtol=0, atol=max(2e-4, *(TOLERANCE[one.kind] for one in files)))
