"""Dimensions of groups that come later in the file: the library finds them, whatever order groups are declared in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError


@pytest.mark.parametrize("unlimited", [False, True])
@pytest.mark.parametrize("coordinate", ["u", "w", ""])
@pytest.mark.parametrize("deep", [False, True])
def test_a_dimension_of_a_later_group(
    unlimited: bool, coordinate: str, deep: bool, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    peer("netCDF4")
    if unlimited and not coordinate:
        pytest.skip("no variable would tell its length: a loss with a name")
    builder = nczarr.DatasetBuilder("d")
    first = builder.group("first")
    first = first.group("inner") if deep else first
    later = builder.group("later")
    u = later.dimension("u", unlimited=True) if unlimited else later.dimension("u", 2)
    k = later.dimension("k", 2)
    first.variable("before", "int", [])
    first.variable("v", "int", [u, k])
    data = {names: np.arange(4, dtype="i4").reshape(2, 2) for names in ["/first/inner/v" if deep else "/first/v"]}
    if coordinate:
        later.variable("other", "int", [k])
        later.variable(coordinate, "int", [u])
        data[f"/later/{coordinate}"] = np.array([1, 2], "i4")
    dataset = builder.finish(data=data)
    nczarr.write(dataset, tmp_path / "d.nc")
    assert nczarr.diff(dataset, tmp_path / "d.nc") == []
    names = [each.name for each in nczarr.open(tmp_path / "d.nc").dataset.groups[1].variables]
    assert names == (["other", coordinate] if coordinate else [])


def test_a_chain_of_groups(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """Each group has a coordinate variable, behind a variable along the next one's."""
    peer("netCDF4")
    builder = nczarr.DatasetBuilder("d")
    groups = [builder.group(name) for name in "abc"]
    dimensions = [group.dimension(f"d{group_number}", 2) for group_number, group in enumerate(groups)]
    for number, group in enumerate(groups):
        if number < 2:
            group.variable("v", "int", [dimensions[number + 1]])
        group.variable(f"d{number}", "int", [dimensions[number]])
    dataset = builder.finish(data={"/a/v": np.array([1, 2], "i4"), "/c/d2": np.array([3, 4], "i4")})
    nczarr.write(dataset, tmp_path / "d.nc")
    assert nczarr.diff(dataset, tmp_path / "d.nc") == []


def test_a_group_that_waits_for_itself_is_refused(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """A coordinate variable along a later one, which stands behind one along the first."""
    peer("netCDF4")
    builder = nczarr.DatasetBuilder("d")
    a, b, c = (builder.group(name) for name in "abc")
    x, y, z = a.dimension("x", 2), b.dimension("y", 2), c.dimension("z", 2)
    a.variable("v", "int", [y])
    b.variable("w", "int", [z])
    b.variable("y", "int", [y, z])
    c.variable("z", "int", [z, x])
    dataset = builder.finish()
    try:
        nczarr.write(dataset, tmp_path / "d.nc")
    except CompileError as error:
        assert [each.code for each in error.diagnostics] == ["refused-storage"]  # noqa: PT017
        assert not (tmp_path / "d.nc").exists()
    else:
        assert nczarr.diff(dataset, tmp_path / "d.nc") == []
