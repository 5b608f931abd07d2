"""HDF5 files that the netCDF library did not make: what it shows wrongly, hides, or does not survive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import Report, Severity
from nczarr.formats.netcdf4 import header_model
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked
from nczarr.stores.open import open_source

Make = Callable[[Any, ModuleType], object]
Read = Callable[[Make], tuple[Checked | None, list[tuple[str, str]]]]


@pytest.fixture
def read(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Read:
    """Return a function that reads a file made by h5py: the dataset, codes and texts of diagnostics and omissions."""
    peer("netCDF4")
    h5py = peer("h5py")

    def work(make: Make) -> tuple[Checked | None, list[tuple[str, str]]]:
        with h5py.File(tmp_path / "t.h5", "w") as file:
            file["ok"] = np.arange(3, dtype="i4")
            make(file, h5py)
        report = Report()
        checked = phases.read(open_source(str(tmp_path / "t.h5")), report, Options())
        omitted = [] if checked is None else [(one.code, one.text) for one in checked.omitted]
        said = [(found.code, found.message) for found in report.list_sorted() if found.code != "unread"]
        return checked, [*said, *omitted]

    return work


def typed(number: str) -> Make:
    return lambda file, h5py: h5py.h5d.create(
        file.id, b"d", getattr(h5py.h5t, number).copy(), h5py.h5s.create_simple((2,))
    )


HIDDEN: dict[str, tuple[Make, str, str]] = {
    "reference": (lambda file, h5py: file.create_dataset("d", (2,), h5py.ref_dtype), "omitted-type",
                  "dataset `/d` holds references to objects"),
    "region": (lambda file, h5py: file.create_dataset("d", (2,), h5py.regionref_dtype), "omitted-type",
               "dataset `/d` holds references to regions"),
    "extended": (lambda file, h5py: file.create_dataset("d", data=np.array([1, 2.5], "g")), "omitted-type",
                 "dataset `/d` holds 80-bit floats"),
    "time": (typed("UNIX_D32LE"), "omitted-type", "dataset `/d` holds times of 32 bits (H5T_TIME)"),
    "reference in a record": (
        lambda file, h5py: file.create_dataset("d", (2,), [("a", "i4"), ("b", h5py.ref_dtype, (2,))]), "omitted-type",
        "dataset `/d` holds references to objects in member `b`"),
    "lists of references": (lambda file, h5py: file.create_dataset("d", (2,), h5py.vlen_dtype(h5py.ref_dtype)),
                            "omitted-type", "dataset `/d` holds references to objects"),
    "lists of arrays": (lambda file, h5py: file.create_dataset("d", (2,), h5py.vlen_dtype(np.dtype(("i4", (2,))))),
                        "omitted-type", "dataset `/d` holds lists of arrays"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "code", "text"), HIDDEN.values(), ids=HIDDEN)
def test_datasets_of_other_types_are_named(read: Read, make: Make, code: str, text: str) -> None:
    checked, found = read(make)
    assert checked is not None
    assert list(checked.variables) == ["/ok"]
    assert [(each, message[: len(text)]) for each, message in found] == [(code, text)]


ATTRIBUTES: dict[str, tuple[Make, str]] = {
    "reference": (lambda file, h5py: file["ok"].attrs.create("a", file["ok"].ref), "omitted-type"),
    "extended": (lambda file, h5py: file.attrs.create("a", np.array(1, "g")), "omitted-type"),
    "shape": (lambda file, h5py: file.attrs.create("a", np.zeros((2, 2), [("b", "i4")])), "omitted-shape"),
}


@pytest.mark.parametrize(("make", "code"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes_that_are_not_shown_are_named(read: Read, make: Make, code: str) -> None:
    checked, found = read(make)
    assert checked is not None
    assert [each for each, _ in found] == [code]
    assert checked.omitted[0].path in ("/", "/ok")
    assert checked.parts["/ok"][""].read((slice(0, 3),)).tolist() == [0, 1, 2]


def test_attributes_of_dimensions_without_a_variable_are_named(read: Read) -> None:
    def make(file: Any, h5py: ModuleType) -> None:
        scale = file.create_dataset("d", data=np.zeros(4))
        scale.make_scale("This is a netCDF dimension but not a netCDF variable.         4")
        scale.attrs["units"] = "m"

    checked, found = read(make)
    assert checked is not None
    assert list(checked.dimensions) == ["/d", "/phony_dim_1"]
    assert found == [("omitted-object", "attribute `units` belongs to the dimension `/d` without a variable")]


def test_a_virtual_dataset_that_grows_has_no_layout_to_speak_of(read: Read) -> None:
    def make(file: Any, h5py: ModuleType) -> None:
        layout = h5py.VirtualLayout((2, 3), "i4", maxshape=(None, 3))
        layout[0] = h5py.VirtualSource(".", "ok", (3,))
        file.create_virtual_dataset("v", layout)

    checked, found = read(make)
    assert checked is not None
    assert checked.variables["/v"].storage.layout is None
    assert found == []


def cycle(file: Any, h5py: ModuleType) -> None:
    group = file.create_group("g")
    group["me"] = group


def diamonds(file: Any, h5py: ModuleType) -> None:
    """2^20 paths lead to the last group."""
    group = file.create_group("g")
    for _ in range(20):
        below = group.create_group("a")
        group["b"] = below
        group = below


FATAL: dict[str, tuple[Make, str]] = {
    "cycle": (cycle, "group `/g/me` contains itself"),
    "soft cycle": (lambda file, h5py: file.create_group("g").__setitem__("up", h5py.SoftLink("/")), "`/g/up`"),
    "not valid UTF-8": (lambda file, h5py: file.__setitem__(b"a\xff", 1), "UTF-8"),
    "deep": (lambda file, h5py: file.create_group("/".join("g" * 900)), "is nested deeper than 64"),
    "diamonds": (diamonds, "more than 100 links"),
}


@pytest.mark.parametrize(("make", "text"), FATAL.values(), ids=FATAL)
def test_links_without_an_end_are_left_out(read: Read, make: Make, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header_model, "MOST_REPEATED", 100)
    checked, found = read(make)
    assert checked is not None
    assert checked.parts["/ok"][""].read((slice(0, 3),)).tolist() == [0, 1, 2]
    assert {each for each, _ in found} <= {"omitted-link", "omitted-name"}
    assert any(text in each for _, each in found)
    if make is cycle:
        assert list(checked.groups) == ["/", "/g"]


@pytest.mark.parametrize(
    "make",
    [
        typed("UNIX_D32LE"),
        lambda file, h5py: file.__setitem__("d", np.dtype("i4")),
        lambda file, h5py: file.__setitem__("d", h5py.SoftLink("/no")),
        lambda file, h5py: file.__setitem__("d", h5py.ExternalLink("no.h5", "/x")),
        lambda file, h5py: file.create_group("g").__setitem__("d", h5py.SoftLink("/no")),
    ],
)
def test_what_the_model_cannot_hold_is_left_out(make: Make, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    h5py = peer("h5py")
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("ok", data=np.arange(3), chunks=(2,), compression="gzip")
        file.create_dataset("texts", data=["a", "b"], dtype=h5py.string_dtype())
        file["number"] = 1.5
        make(file, h5py)
    before = path.read_bytes()
    report = Report()
    checked = phases.read(open_source(str(path)), report, Options())
    assert [each.code for each in report.list_sorted()] == ["unread"]
    assert checked is not None
    assert ["/d`" in each.text for each in checked.omitted] == [True]
    found = {name: parts[""].read(tuple(map(slice, checked.shapes[name]))) for name, parts in checked.parts.items()}
    wanted: dict[str, Any] = {"/ok": [0, 1, 2], "/texts": [b"a", b"b"], "/number": 1.5}
    assert {name: array.tolist() for name, array in found.items()} == wanted
    assert path.read_bytes() == before


def test_files_that_are_open_in_memory_are_told_apart(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """HDF5 takes two images of one name for one file: the netCDF library numbers its own from zero."""
    library, h5py = peer("netCDF4"), peer("h5py")
    kept = [library.Dataset(f"{n}.nc", "w", memory=1024) for n in range(3)]
    images = [file.close() for file in kept]
    held = [library.Dataset(f"{n}.nc", "r", memory=bytes(image)) for n, image in enumerate(images)]
    for number in range(6):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w") as file:
            file["number"] = number
            if number % 2:
                file.create_dataset("text", (2,), "S4", fillvalue=b"ab")
            else:
                file["d"] = h5py.SoftLink("/no")
                file["e"] = h5py.Empty("f4")
        report = Report()
        checked = phases.read(open_source(str(path)), report, Options())
        assert checked is not None, report.list_sorted()
        assert checked.parts["/number"][""].read(()).tolist() == number
        if number % 2:
            assert checked.parts["/text"][""].read((slice(0, 2),)).tolist() == [b"ab", b"ab"]
    for file in held:
        assert list(file.variables) == []
        file.close()


def test_an_empty_dataset_in_one_piece(read: Read) -> None:
    checked, found = read(lambda file, h5py: file.create_dataset("d", (0,), "f4"))
    text = "`/d` is contiguous, but the netCDF library treats one of its dimensions as unlimited"
    assert found == [("unused-layout", text)]
    assert checked is not None
    assert checked.shapes["/d"] == (0,)
    assert checked.variables["/d"].storage.layout is None


def test_an_empty_dataset_in_one_piece_loses_nothing(
    tmp_path: Path, peer: Callable[[str], ModuleType], recwarn: pytest.WarningsRecorder
) -> None:
    peer("netCDF4")
    with peer("h5py").File(tmp_path / "t.nc", "w") as file:
        file.create_dataset("d", (0,), "f4")
    found = nczarr.open(tmp_path / "t.nc")
    assert [(each.code, each.severity) for each in found.diagnostics] == [("unused-layout", Severity.NOTE)]
    assert not found.losses
    assert not list(recwarn)
    nczarr.write(found, tmp_path / "copy.nc", format="netcdf4")
    assert nczarr.diff(tmp_path / "copy.nc", tmp_path / "t.nc") == []


def test_links_that_meet_again_are_no_cycles(read: Read) -> None:
    def make(file: Any, h5py: ModuleType) -> None:
        group = file.create_group("g")
        group["x"] = 1
        file["same"] = group
        file["soft"] = h5py.SoftLink("/g/x")

    checked, found = read(make)
    assert found == []
    assert checked is not None
    assert set(checked.variables) == {"/ok", "/g/x", "/same/x", "/soft"}


@pytest.mark.slow
def test_groups_that_have_each_other_many_times_are_cut(read: Read) -> None:
    """Two links at each of 40 levels lead along more paths than any walk could end."""

    def make(file: Any, h5py: ModuleType) -> None:
        group = file
        for _ in range(40):
            below = group.create_group("a")
            group["b"] = below
            group = below

    checked, found = read(make)
    assert checked is not None
    assert {code for code, _ in found} == {"omitted-link"}
    assert any(f"more than {header_model.MOST_REPEATED} links" in message for _, message in found)
    assert 40 < len(checked.groups) <= header_model.MOST_REPEATED + 41
    assert checked.parts["/ok"][""].read((slice(0, 3),)).tolist() == [0, 1, 2]


def test_files_of_the_library_hide_nothing(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    netcdf = peer("netCDF4")
    with netcdf.Dataset(tmp_path / "t.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 2)
        group = file.createGroup("g")
        group.createDimension("y", 3)
        file.createVariable("t", "f8", ("t",)).units = "days"
        file.createVariable("x", "i4", ("x", "t"))
        group.createVariable("v", str, ("t", "x", "y"))
        file.createEnumType("i1", "e", {"a": 1})
    report = Report()
    assert phases.read(open_source(str(tmp_path / "t.nc")), report, Options()) is not None
    assert report.list_sorted() == []


def test_types_that_are_left_out_free_no_number(read: Read) -> None:
    """A type that netCDF cannot hold stands before one that it can, and a type without a name follows."""

    def make(file: Any, h5py: ModuleType) -> None:
        file["bad"] = np.dtype([("a", "g")])
        file["good"] = np.dtype([("a", "i4"), ("b", "f8")])
        file.create_dataset("named", (2,), file["good"])
        file.create_dataset("anonymous", (2,), h5py.enum_dtype({"A": 0, "B": 1}, "i1"))

    checked, found = read(make)
    assert checked is not None
    assert found == [("omitted-type", "type `/bad` holds 80-bit floats in member `a`")]
    assert {name: checked.variables[name].type for name in ("/named", "/anonymous")} == {
        "/named": "/good", "/anonymous": "/_AnonymousEnum1",
    }  # fmt: skip
    assert list(checked.types) == ["/good", "/_AnonymousEnum1"]


def test_named_types_of_another_file_are_not_those_of_this_one(
    tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    """Types of both files have one address: an attribute there has its own type."""
    h5py = peer("h5py")
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["kind"] = np.dtype([("a", "f4")])
        other["v"] = np.arange(3)
        other["v"].attrs.create("a", np.ones((), [("a", "f4")]), dtype=other["kind"])
        address = h5py.h5o.get_info(other["kind"].id).addr
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["kind"] = np.dtype([("b", "i4")])
        assert h5py.h5o.get_info(file["kind"].id).addr == address
        file["v"] = h5py.ExternalLink("other.h5", "/v")
    report = Report()
    checked = phases.read(open_source(str(tmp_path / "t.h5")), report, Options())
    assert checked is not None
    [attribute] = checked.variables["/v"].attributes
    [field] = checked.types[attribute.value.type].fields
    assert (field.name, field.type, checked.omitted) == ("a", "float", ())


def test_a_selected_part_names_its_own_omissions_once(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    h5py = peer("h5py")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["ok"] = np.arange(3, dtype="i4")
        file["ok"].attrs.create("a", file["ok"].ref)
        file.create_dataset("d", (2,), h5py.ref_dtype)
    with pytest.raises(nczarr.CompileError) as refused:
        nczarr.convert(tmp_path / "t.h5", tmp_path / "t.zarr", variables="ok")
    [found] = refused.value.diagnostics
    assert found.code == "unread"
    assert [note.split(" ")[0:2] for note in found.notes] == [["attribute", "`a`"]]
