"""Names of axes that are no shared dimensions: of images in several sizes, and of groups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError

LEVELS = {"0": (8, 8), "1": (4, 4), "2": (2, 3)}


@pytest.fixture(params=[2, 3])
def pyramid(request: pytest.FixtureRequest, tmp_path: Path, peer: Callable[[str], ModuleType]) -> Path:
    """An image in three sizes, and an array along the name of a group."""
    zarr = peer("zarr")
    group = zarr.open_group(tmp_path / "s.zarr", mode="w", zarr_format=request.param)
    group.create_group("labels")
    axes: dict[str, list[str]] = {**{level: ["y", "x"] for level in LEVELS}, "along": ["labels"]}
    axes["labels/0"] = ["n"]
    for name, names in axes.items():
        shape = LEVELS.get(name, (3, 5)[: len(names)])
        own = {"dimension_names": names} if request.param == 3 else {"attributes": {"_ARRAY_DIMENSIONS": names}}
        group.create_array(name, shape=shape, chunks=shape, dtype="u1", fill_value=0, **own)[...] = 1
    return tmp_path / "s.zarr"


def axis_names(path: Path, zarr: ModuleType) -> dict[str, Any]:
    group = zarr.open_group(path, mode="r")
    return {
        name: list(array.metadata.dimension_names or []) if array.metadata.zarr_format == 3
        else array.attrs.get("_ARRAY_DIMENSIONS", [])
        for name, array in group.arrays()
    }  # fmt: skip


@pytest.mark.parametrize("form", ["zarr2", "zarr3"])
def test_plain_stores_keep_them(pyramid: Path, form: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    nczarr.convert(pyramid, tmp_path / "t.zarr", form, verify=True)
    found, expected = axis_names(tmp_path / "t.zarr", zarr), axis_names(pyramid, zarr)
    assert found == expected


@pytest.mark.parametrize(
    "target", ["nczarr", "nczarr3", "zarr3-2019", "zarr2 zip", "json", "icechunk", "ncstream ncs", "awkward0 awkd"]
)
def test_they_come_back(pyramid: Path, target: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    form, _, suffix = target.partition(" ")
    between: Any = tmp_path / f"b.{'json' if form == 'json' else suffix or 'zarr'}"
    if form == "icechunk":
        peer("icechunk")
        between = f"icechunk:{between}"
    nczarr.convert(pyramid, between, None if form in ("json", "icechunk") else form)
    assert nczarr.digest(between) == nczarr.digest(pyramid)
    assert nczarr.diff(between, pyramid) == []
    nczarr.convert(between, tmp_path / "t.zarr", "zarr3")
    found, expected = axis_names(tmp_path / "t.zarr", zarr), axis_names(pyramid, zarr)
    assert found == expected


@pytest.mark.parametrize("suffix", ["nc", pytest.param("dmrpp", marks=pytest.mark.plugin("opendap")), "cdl", "ncz"])
def test_other_formats_name_the_loss(pyramid: Path, suffix: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError) as refused:
        nczarr.convert(pyramid, tmp_path / f"t.{suffix}")
    assert "renamed-dimension" in {one.code for one in refused.value.diagnostics}
    assert not (tmp_path / f"t.{suffix}").exists()


def test_they_are_seen(pyramid: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    nczarr.convert(pyramid, tmp_path / "t.zarr", "zarr3", consolidated=False)
    document = tmp_path / "t.zarr" / "2" / "zarr.json"
    document.write_text(document.read_text().replace('"dimension_names": ["y", "x"]', '"dimension_names": ["y", "z"]'))
    assert axis_names(tmp_path / "t.zarr", zarr)["2"] == ["y", "z"]
    assert nczarr.digest(tmp_path / "t.zarr") != nczarr.digest(pyramid)
    differences = nczarr.diff(tmp_path / "t.zarr", pyramid)
    assert [one.path for one in differences if one.kind == "variable-dimensions"] == ["/2"]
