"""HDF5 datasets of any shape, chunks, filters, fill value and index: through references they are what h5py reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nczarr
from tests.conftest import run_command

pytestmark = pytest.mark.peer

FORMS = ("zarr2", "nczarr", "zarr3", "nczarr3")


class Case(NamedTuple):
    """One dataset. `begin`: where what is written begins, None: nothing is. `masked`: its first chunk is plain."""

    dtype: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...] | None
    maxshape: tuple[int | None, ...]
    filters: dict[str, Any]
    fill: int
    begin: tuple[int, ...] | None
    masked: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
    chunks = maxshape = None
    filters: dict[str, Any] = {}
    if shape and draw(st.booleans()):
        chunks = tuple(draw(st.integers(1, 5)) for _ in shape)
        maxshape = tuple(
            None if length < chunk or draw(st.booleans()) else length + draw(st.integers(0, 20))
            for length, chunk in zip(shape, chunks, strict=True)
        )
        filters = {
            "compression": draw(st.sampled_from([None, "gzip", "lzf"])),
            "shuffle": draw(st.booleans()),
            "fletcher32": draw(st.booleans()),
        }
    begin = tuple(draw(st.integers(0, max(0, length - 1))) for length in shape) if draw(st.booleans()) else None
    return Case(
        draw(st.sampled_from(["i1", "<i2", ">i4", "<u8", ">f4", "<f8", "S1"])),
        shape,
        chunks,
        maxshape or shape,
        filters,
        draw(st.sampled_from([0, 7])),
        begin,
        draw(st.booleans()),
    )


def make(file: Any, name: str, case: Case) -> None:
    """The dataset of a case."""
    fill = None if case.dtype == "S1" else case.fill
    chunked = {"chunks": case.chunks, "maxshape": case.maxshape} if case.chunks else {}
    made = file.create_dataset(name, case.shape, case.dtype, fillvalue=fill, **chunked, **case.filters)
    if case.begin is not None and 0 not in case.shape:
        values = (np.arange(int(np.prod(case.shape))) % 100).reshape(case.shape).astype(case.dtype)
        region = tuple(slice(first, None) for first in case.begin)
        made[region] = values[region]
    if case.chunks and case.masked and case.filters["compression"] and 0 not in case.shape:
        mask = (1 << sum(map(bool, case.filters.values()))) - 1
        made.id.write_direct_chunk((0,) * len(case.shape), np.ones(case.chunks, case.dtype).tobytes(), mask)


@pytest.mark.slow
@given(st.lists(cases(), min_size=1, max_size=5), st.sampled_from(FORMS), st.sampled_from(["earliest", "latest"]),
       st.sampled_from(["0", "40", "100000"]))  # fmt: skip
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_references_hold_what_h5py_reads(
    tmp_path: Path, peer: Callable[[str], Any], datasets: list[Case], metadata: str, libver: str, inline: str
) -> None:
    peer("netCDF4")
    h5py = peer("h5py")
    path, document = tmp_path / "a.nc", tmp_path / "refs.json"
    path.unlink(missing_ok=True)
    wanted: dict[str, Any] = {}
    with h5py.File(path, "w", libver=libver) as file:
        for number, case in enumerate(datasets):
            make(file, f"v{number}", case)
        wanted = {name: item[()] for name, item in file.items()}
    command = ["convert", str(path), str(document), "--to", "reference", "--metadata", metadata, "--inline", inline]
    done = run_command(*command, "--allow-loss", "all", "--overwrite", "-q")
    assert done.status == 0, done.err
    found = nczarr.open(document)
    for name, values in wanted.items():
        seen = np.asarray(found[name][...])
        assert seen.shape == np.shape(values)
        assert seen.astype(np.asarray(values).dtype).tobytes() == np.asarray(values).tobytes(), name
