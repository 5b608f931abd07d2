"""Drawn files of one series that do not quite fit, joined by `outer`, are what NumPy puts together."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import netCDF4
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nczarr
from tests.support.subsets import relaxed

TIMES, PLACES = 10, 5
FILL = -1.0
Cells = dict[str, dict[tuple[int, int], float]]
"""Values of each variable by time and latitude."""


class Piece(NamedTuple):
    """One file of a series."""

    times: list[int]
    places: list[int]
    names: list[str]
    chunks: tuple[int, int]
    format: str


@st.composite
def series(draw: st.DrawFn) -> list[Piece]:
    """Files without a common time, in any order."""
    times = draw(st.permutations(range(TIMES)))
    cuts = sorted(draw(st.lists(st.integers(0, TIMES), min_size=1, max_size=3)))
    bounds = [0, *cuts, draw(st.integers(cuts[-1], TIMES))]
    pieces = []
    for begin, end in pairwise(bounds):
        places = draw(st.sets(st.integers(0, PLACES - 1), min_size=1))
        pieces.append(
            Piece(
                times[begin:end] if draw(st.booleans()) else sorted(times[begin:end]),
                sorted(places),
                draw(st.lists(st.sampled_from("ab"), min_size=1, max_size=2, unique=True)),
                (draw(st.integers(1, 4)), draw(st.integers(1, len(places)))),
                draw(st.sampled_from(["NETCDF4", "NETCDF3_CLASSIC"])),
            )
        )
    return pieces


def write(path: Path, piece: Piece, cells: Cells, *, filled: bool) -> None:
    """Write a file by netCDF4-python, and note its values."""
    with netCDF4.Dataset(path, "w", format=piece.format) as file:
        file.createDimension("time", None)
        file.createDimension("lat", len(piece.places))
        file.createVariable("time", "f8", ("time",))[:] = piece.times
        file.createVariable("lat", "f4", ("lat",))[:] = piece.places
        for name in piece.names:
            options: dict[str, Any] = {"fill_value": FILL} if filled else {}
            if piece.format == "NETCDF4":
                options |= {"chunksizes": piece.chunks, "zlib": piece.chunks[0] > 1}
            values = file.createVariable(name, "f4", ("time", "lat"), **options)
            for row, time in enumerate(piece.times):
                for place in piece.places:
                    cells.setdefault(name, {})[time, place] = 100 * time + 10 * place + (name == "b")
                values[row] = [cells[name][time, place] for place in piece.places]


@pytest.mark.slow
@relaxed
@given(series(), st.booleans(), st.sampled_from(["o.json", "o.zarr", "o.nc", "o.parquet"]))
def test_an_outer_join_is_what_numpy_makes(pieces: list[Piece], filled: bool, target: str) -> None:
    cells: Cells = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{number}.nc" for number in range(len(pieces))]
        for path, piece in zip(paths, pieces, strict=True):
            write(path, piece, cells, filled=filled)
        several = [piece.times for piece in pieces if len(piece.times) > 1]
        falls = bool(several) and all(one > other for times in several for one, other in pairwise(times))
        times = sorted((time for piece in pieces for time in piece.times), reverse=falls)
        places = sorted({place for piece in pieces for place in piece.places})
        nczarr.combine(paths, target=folder / target, along="time", join="outer")
        with nczarr.open(folder / target) as joined:
            assert joined["time"][...].tolist() == times
            assert joined["lat"][...].tolist() == places
            assert {path.lstrip("/") for path in joined} == {
                "time",
                "lat",
                *(n for piece in pieces for n in piece.names),
            }
            for path, known in cells.items():
                expected = [
                    [known.get((time, place), FILL if filled else np.nan) for place in places] for time in times
                ]
                values = joined[path][...]
                np.testing.assert_array_equal(
                    values.reshape(len(times), len(places)), np.reshape(expected, values.shape)
                )
