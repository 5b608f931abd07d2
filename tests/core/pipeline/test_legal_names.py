"""Names that netCDF does not allow: in the tree, in stores, and renamed in netCDF files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr
from nczarr import names
from nczarr.pipeline.legal_names import legalize

NAMES = ("#refs#", ".specloc", "@x", "-1", "+a", "x ", "a:b", "é#", "%p", "x" * 300, "a\tb")


def write_file(path: Path, h5py: ModuleType) -> None:
    """Write an HDF5 file with such names of groups, datasets, scales, attributes, members and constants of types."""
    with h5py.File(path, "w") as file:
        file["ok"] = np.arange(2)
        for number, name in enumerate(NAMES):
            file.attrs[name] = number
            file.create_group(f"g{number}").create_group(name)["v"] = np.arange(3)
            scale = file.create_dataset(f"s{number}/{name}", data=np.arange(3.0))
            scale.make_scale(name)
            below = file.create_dataset(f"s{number}/v", data=np.arange(3))
            below.dims[0].attach_scale(scale)
            below.attrs[name] = "text"
            record = np.array([(1, 2.0)], [(name, "i4"), ("other", "f8")])
            file.create_dataset(f"record{number}", data=record)
            file.create_dataset(f"enum{number}", (2,), dtype=h5py.enum_dtype({name: 0, "a/b": 1}, "i1"))


@pytest.mark.parametrize("target", ["t.nc", "t.zarr", "t.ast.json"])
def test_all_names_of_a_file_are_in_the_tree_and_come_back(
    tmp_path: Path, target: str, peer: Callable[[str], ModuleType]
) -> None:
    source = tmp_path / "s.h5"
    write_file(source, peer("h5py"))
    with nczarr.open(source) as found:
        assert set(found.attributes) == set(NAMES)
        for number, name in enumerate(NAMES):
            assert names.fqn((f"g{number}", name, "v")) in found
            assert names.fqn((f"s{number}", name)) in found
            assert found[f"/s{number}/v"].attributes[name] == "text"
            assert found[f"/record{number}"][...].dtype.names == (name, "other")
    long = target.endswith(".zarr")  # names of 300 bytes are no names of files
    where = {"variables": "/ok"} if long else {}
    done = nczarr.convert(source, tmp_path / target, rename_illegal=True, verify=target != "t.ast.json", **where)
    assert ("renamed-item" in {one.code for one in done.diagnostics}) == target.endswith(".nc")
    if not long:
        assert nczarr.diff(source, tmp_path / target) == []


def test_other_readers_see_legal_names(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    netcdf4 = peer("netCDF4")
    source, target = tmp_path / "s.h5", tmp_path / "t.nc"
    write_file(source, peer("h5py"))
    with pytest.raises(nczarr.CompileError) as refused:
        nczarr.convert(source, target)
    codes = {one.code for one in refused.value.diagnostics}
    assert codes >= {"bad-name", "name-too-long"}
    assert not target.exists()
    nczarr.convert(source, target, rename_illegal=True)
    with netcdf4.Dataset(target) as file:
        assert file["g0/_#refs#/v"][:].tolist() == [0, 1, 2]
        own_names = json.loads(file.getncattr("_nczarr_names"))
        assert own_names["group"]["/g0"] == {"_#refs#": "#refs#"}


@pytest.mark.long
@pytest.mark.parametrize("version", [2, 3])
def test_stores_keep_names(tmp_path: Path, version: int, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    group = zarr.open_group(tmp_path / "s.zarr", mode="w", zarr_format=version)
    short = [name for name in NAMES if len(name) < 255]
    for name in short:
        group.attrs[name] = name
        group.create_group(f"g{name}").create_array(name, data=np.arange(3))
        group.create_array(name, data=np.arange(3))
    for form in ("zarr2", "zarr3", "nczarr", "nczarr3"):
        target = tmp_path / f"{form}.zarr"
        nczarr.convert(tmp_path / "s.zarr", target, format=form, verify=True)
        written = zarr.open_group(target, mode="r")
        assert set(written.array_keys()) == set(short)
        assert {name: written.attrs[name] for name in short} == dict(group.attrs)
        assert all(written[f"g{name}/{name}"][:].tolist() == [0, 1, 2] for name in short)


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "[]",
        '{"variable": 5}',
        '{"variable": {"/": {"v": ""}}}',
        '{"variable": {"/": {"v": "w"}}}',
        '{"variable": {"/none": {"v": "x"}}, "other": {}}',
        '{"group": {"v": {"x": "y"}}}',
    ],
)
def test_an_attribute_with_other_content_changes_nothing(tmp_path: Path, text: str) -> None:
    builder = nczarr.DatasetBuilder("t")
    builder.variable("v", "int", [2])
    builder.variable("w", "int", [2])
    builder.attribute("_nczarr_names", text)
    nczarr.write(builder.finish(), tmp_path / "t.nc")
    with nczarr.open(tmp_path / "t.nc") as found:
        assert set(found.variables) == {"v", "w"}


def test_names_with_a_slash_are_names(tmp_path: Path) -> None:
    text = "dataset d 2.0.0 {\n  dimension a\\/b 3\n  group g\\/h {\n    variable v\\/w float /a\\/b\n  }\n}\n"
    dataset = nczarr.from_notation(text)
    assert dataset["/g\\/h/v\\/w"].shape == (3,)
    assert "variable v\\/w float /a\\/b" in dataset.to_notation()
    nczarr.write(dataset, tmp_path / "t.nc", rename_illegal=True)
    assert nczarr.diff(dataset, tmp_path / "t.nc") == []


def test_cdl_spells_names_at_their_start(tmp_path: Path) -> None:
    text = "netcdf t {\nvariables:\n int \\#v ;\n int \\.x ;\n int \\@y ;\n int x\\  ;\n :\\-q = 1 ;\n}\n"
    dataset = nczarr.from_cdl(text)
    assert list(dataset.variables) == ["#v", ".x", "@y", "x "]
    assert nczarr.diff(nczarr.from_cdl(dataset.to_cdl()), dataset) == []


@pytest.mark.parametrize("name", [*NAMES, "/", "#" * 400, "\t", " ", "."])
def test_legal_names_are_legal_and_similar(name: str) -> None:
    assert names.problem(legalize(name)) is None
    if names.problem(name) is None:
        assert legalize(name) == name


@pytest.mark.parametrize("is_enum", [True, False])
def test_names_within_types_that_are_not_utf8_are_a_named_loss(
    tmp_path: Path, is_enum: bool, peer: Callable[[str], ModuleType]
) -> None:
    h5py = peer("h5py")
    with h5py.File(tmp_path / "s.h5", "w") as file:
        kind = h5py.h5t.enum_create(h5py.h5t.STD_I8LE) if is_enum else h5py.h5t.create(h5py.h5t.COMPOUND, 4)
        if is_enum:
            kind.enum_insert(b"\xb5m", 0)
        else:
            kind.insert(b"\xb5m", 0, h5py.h5t.STD_I32LE)
        h5py.h5d.create(file.id, b"v", kind, h5py.h5s.create_simple((2,)))
    with pytest.raises(nczarr.CompileError) as refused:
        nczarr.convert(tmp_path / "s.h5", tmp_path / "t.zarr")
    notes = [note for one in refused.value.diagnostics for note in one.notes]
    assert any("`/v` holds" in note and "not valid UTF-8" in note for note in notes)
    nczarr.convert(tmp_path / "s.h5", tmp_path / "t.nc", allow_loss=["unread"])
