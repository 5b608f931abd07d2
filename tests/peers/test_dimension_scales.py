"""Dimension scales of any length and number: axes keep their lengths, else the dimensions are libnetcdf's."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import names
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked
from nczarr.stores.open import open_source
from tests.support.peers.netcdf_inquiry import by_library
from tests.support.proof import share

GROUPS = ["/", "g", "g/h", "k"]
"""Groups of drawn files."""


def read(path: Path) -> tuple[Checked, list[str]]:
    """Return the dataset of a file and the codes and texts of its diagnostics."""
    report = Report()
    checked = phases.read(open_source(str(path)), report, Options())
    assert checked is not None, report.list_sorted()
    return checked, [f"{one.code}: {one.message}" for one in report.list_sorted()]


def write_scales(h5py: ModuleType, path: Path, pick: random.Random) -> None:
    """Write variables with none to three scales on an axis, some of other lengths, names and groups."""
    with h5py.File(path, "w", track_order=pick.random() < 0.5) as file:
        for group in GROUPS[1:]:
            file.create_group(group, track_order=pick.random() < 0.5)
        scales = []
        for number in range(pick.randrange(5)):
            group = file[pick.choice(GROUPS)] if pick.random() < 0.5 else file
            shape, limit, draw = (pick.choice([2, 3, 3, 3, 4]),), None, pick.random()
            if draw < 0.03:
                scale = group.create_dataset(f"s{number}", data=h5py.Empty("f8"))
            elif draw < 0.06:
                scale = group.create_dataset(f"s{number}", data=1.0)
            else:
                shape = (*shape, 2) if draw < 0.1 else shape
                limit = (None,) * len(shape) if pick.random() < 0.15 else None
                scale = group.create_dataset(f"s{number}", data=np.full(shape, 1.5), maxshape=limit)
            scale.make_scale(pick.choice(["", f"s{number}", "other"]))
            scales.append(scale)
        for number in range(pick.randrange(1, 4)):
            shape = tuple(pick.choice([2, 3, 3, 3, 4]) for _ in range(pick.randrange(1, 3)))
            group = file[pick.choice(["/", *GROUPS])]
            limit = tuple(pick.choice([length, length, None]) for length in shape) if pick.random() < 0.2 else None
            variable = group.create_dataset(f"v{number}", data=np.arange(np.prod(shape)).reshape(shape), maxshape=limit)
            for axis, length in enumerate(shape):
                fitting = [scale for scale in scales if scale.shape == (length,)]
                for _ in range(pick.choice([0, 1, 1, 1, 2, 3])):
                    choice = fitting if fitting and pick.random() < 0.8 else scales
                    if choice:
                        variable.dims[axis].attach_scale(pick.choice(choice))
        for scale in scales:
            if pick.random() < 0.15:
                file.move(scale.name, f"{scale.parent.name.rstrip('/')}/renamed_{scale.name.rpartition('/')[2]}")


def every_variable(group: dict[str, Any], above: dict[str, int], path: str = "/") -> Iterator[tuple[str, Any, Any]]:
    """Yield path, names of dimensions, and their lengths for each variable of what the netCDF library shows."""
    lengths = above | {name: length for name, (length, _) in group["dimensions"].items()}
    for name, variable in group["variables"].items():
        dimensions = variable["dimensions"]
        yield names.join(path, name), dimensions, tuple(lengths[dimension] for dimension in dimensions)
    for name, below in group["groups"].items():
        yield from every_variable(below, lengths, names.join(path, name))


def is_regular(variable: Any) -> bool:
    """Return whether the last scale of each axis has its length, in a group above the variable."""
    last = [
        (length, axis.values()[-1]) for length, axis in zip(variable.shape, variable.dims, strict=True) if len(axis)
    ]
    return all(
        scale.shape[:1] == (length,) and f"{variable.parent.name}/".startswith(f"{scale.parent.name.rstrip('/')}/")
        for length, scale in last
    )


def unnumbered(dimensions: Any) -> list[str]:
    """Return names of dimensions, without the numbers of those that readers invent."""
    return [re.sub(r"^phony_dim_\d+$", "phony_dim", str(one).rpartition("/")[2]) for one in dimensions]


@pytest.mark.long
@pytest.mark.parametrize("draws", [30, pytest.param(2000, marks=pytest.mark.slow)])
def test_axes_keep_their_lengths(draws: int, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """Where libnetcdf crashes, refuses, cuts or invents values, the dataspace counts; elsewhere libnetcdf."""
    peer("netCDF4")
    h5py, equal = peer("h5py"), 0
    seeds = range(draws if draws < 100 else share(draws))
    paths = [tmp_path / f"{seed}.h5" for seed in seeds]
    for seed, path in zip(seeds, paths, strict=True):
        write_scales(h5py, path, random.Random(seed))
    for path, theirs in zip(paths, by_library(paths), strict=True):
        checked, messages = read(path)
        with h5py.File(path) as file, nczarr.open(path) as dataset:
            stored: dict[str, Any] = {}
            file.visititems(lambda name, node, stored=stored: stored.update({f"/{name}": node}))
            stored = {place: node for place, node in stored.items() if isinstance(node, h5py.Dataset)}
            for place, node in stored.items():
                if node.shape is not None:
                    assert dataset[place].shape == node.shape, (path, place)
                    np.testing.assert_array_equal(dataset[place][...], node[()], err_msg=f"{path}{place}")
            for place, dimensions, lengths in () if isinstance(theirs, str) else every_variable(theirs, {}):
                if lengths == stored[place].shape and is_regular(stored[place]):
                    equal += 1
                    ours = checked.variables[place].dimensions
                    assert unnumbered(ours) == unnumbered(dimensions), (path, place, messages)
    assert equal > draws // 10


@pytest.mark.parametrize("length", [3, 5, 0])
@pytest.mark.parametrize("limits", [(None, None), (None, 4), (5, None), (5, 4)])
def test_a_scale_of_another_length(
    length: int, limits: tuple[int | None, int | None], tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    """Edges of bins, for instance: no value is invented or cut, and the misfit is named."""
    h5py = peer("h5py")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        edge = file.create_dataset("edge", data=np.arange(float(length)), maxshape=(limits[0],), chunks=(2,))
        edge.make_scale("edge")
        count = file.create_dataset("count", data=np.arange(1.0, 5.0), maxshape=(limits[1],), chunks=(3,))
        count.dims[0].attach_scale(edge)
    checked, messages = read(tmp_path / "t.h5")
    text = f"axis 0 of `/count` has 4 cells, its scale `/edge` has {length}"
    assert f"mismatched-scale: scales do not fit their axes: {text}" in messages
    assert checked.shapes["/edge"] == (length,)
    nczarr.convert(tmp_path / "t.h5", tmp_path / "t.nc")
    for path in (tmp_path / "t.h5", tmp_path / "t.nc"):
        with nczarr.open(path) as dataset:
            assert dataset["count"][...].tolist() == [1, 2, 3, 4]
    assert read(tmp_path / "t.nc")[0].dataset.variables == checked.dataset.variables or 0 in checked.shapes["/edge"]


def test_records_may_be_shorter_than_their_dimension(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """A file of libnetcdf, where an unlimited dimension is as long as the longest variable."""
    netcdf = peer("netCDF4")
    with netcdf.Dataset(tmp_path / "t.nc", "w") as file:
        file.createDimension("t", None)
        for name, count in (("t", 2), ("a", 5), ("b", 3)):
            file.createVariable(name, "i4", ("t",), fill_value=-1)[:count] = 7
    checked, messages = read(tmp_path / "t.nc")
    assert messages == []
    assert {checked.shapes[f"/{name}"] for name in "tab"} == {(5,)}
    with nczarr.open(tmp_path / "t.nc") as dataset:
        assert dataset["b"][...].tolist() == [7, 7, 7, -1, -1]
