"""Workspaces of MATLAB v7.3, in files as MATLAB lays them out: values as MATLAB shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command

HEADER = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Tue Dec  1 12:00:00 2026 HDF5 schema 1.00 ."


class Workspace:
    """Writer of a file as MATLAB's `save -v7.3` lays it out."""

    def __init__(self, path: Path, h5py: ModuleType) -> None:
        self.path, self.h5py = path, h5py
        self.file = h5py.File(path, "w", userblock_size=512)
        self.refs = self.file.create_group("#refs#")
        self.add(self.refs, "a", np.zeros(2, "u8"), "canonical empty", MATLAB_empty=np.uint8(1))

    def add(self, group: Any, name: str, stored: Any, class_name: str | None, **attributes: Any) -> Any:
        """Add a dataset with its class."""
        dataset = group.create_dataset(name, data=stored)
        if class_name is not None:
            dataset.attrs["MATLAB_class"] = np.bytes_(class_name)
        for key, value in attributes.items():
            dataset.attrs[key] = value
        return dataset

    def number(self, group: Any, name: str, values: Any, class_name: str, **attributes: Any) -> Any:
        """Add an array of numbers, by its values as MATLAB shows them."""
        dtype = {"single": "f4", "logical": "u1"}.get(class_name, class_name)
        return self.add(group, name, np.asarray(values, dtype).transpose(), class_name, **attributes)

    def text(self, group: Any, name: str, *rows: str) -> Any:
        """Add a matrix of characters by its rows."""
        units = np.array([np.frombuffer(row.encode("utf-16-le"), "u2") for row in rows])
        return self.add(group, name, units.transpose(), "char", MATLAB_int_decode=np.int32(2))

    def empty(self, group: Any, name: str, shape: tuple[int, ...], class_name: str) -> Any:
        """Add an array without elements."""
        return self.add(group, name, np.array(shape, "u8"), class_name, MATLAB_empty=np.uint8(1))

    def cell(self, group: Any, name: str, shape: tuple[int, ...], elements: list[Any], class_name: str | None) -> Any:
        """Add references to objects, in MATLAB's order."""
        references = np.empty(shape[::-1], self.h5py.ref_dtype)
        for index, element in zip(np.ndindex(*references.shape), elements, strict=True):
            references[index] = element.ref
        dataset = group.create_dataset(name, shape[::-1], self.h5py.ref_dtype)
        dataset[...] = references
        if class_name is not None:
            dataset.attrs["MATLAB_class"] = np.bytes_(class_name)
        return dataset

    def struct(self, group: Any, name: str, fields: list[str]) -> Any:
        """Add a struct with the names of its fields."""
        made = group.create_group(name)
        made.attrs["MATLAB_class"] = np.bytes_("struct")
        self.name_fields(made, fields)
        return made

    def name_fields(self, owner: Any, fields: list[str]) -> None:
        """Add the names of fields, which are lists of characters."""
        lists = np.empty(len(fields), object)
        for number, field in enumerate(fields):
            lists[number] = np.array(list(field), "S1")
        owner.attrs.create("MATLAB_fields", lists, dtype=self.h5py.vlen_dtype(np.dtype("S1")))

    def close(self) -> Path:
        """Write the header, and return the path."""
        self.file.close()
        with self.path.open("r+b") as file:
            file.write(HEADER.ljust(124) + b"\x00\x02IM")
        return self.path


@pytest.fixture
def workspace(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Workspace:
    """Return the writer of a new file."""
    return Workspace(tmp_path / "workspace.mat", peer("h5py"))


def attributes_of(node: Any) -> dict[str, Any]:
    """Return the attributes of a group or variable."""
    return {one.name: one.value for one in node.attributes}


def test_arrays_have_the_shapes_that_matlab_shows(workspace: Workspace) -> None:
    volume = np.arange(24, dtype="i4").reshape(2, 3, 4)
    workspace.number(workspace.file, "volume", volume, "int32")
    workspace.number(workspace.file, "one", [[1.5]], "double")
    workspace.number(workspace.file, "flags", np.array([[1, 0, 1]], "u1"), "logical", MATLAB_int_decode=np.int32(1))
    dataset = nczarr.open(workspace.close())
    np.testing.assert_array_equal(dataset["volume"][...], volume)
    np.testing.assert_array_equal(dataset["volume"][1, ::2, 1:3], volume[1, ::2, 1:3])
    assert dataset["one"][...].tolist() == [[1.5]]
    assert dataset["flags"][...].tolist() == [[1, 0, 1]]
    assert set(dataset.checked.groups) == {"/"}
    assert dataset.checked.variables["/flags"].storage.element == "bool"
    assert dataset.checked.variables["/volume"].dimensions == ("/dim_2", "/dim_3", "/dim_4")


def test_chunked_arrays_are_read_by_parts(workspace: Workspace) -> None:
    values = np.arange(600.0).reshape(20, 30)
    stored = workspace.file.create_dataset("v", data=values.T, chunks=(7, 5), compression="gzip", shuffle=True)
    stored.attrs["MATLAB_class"] = np.bytes_("double")
    dataset = nczarr.open(workspace.close())
    assert dataset.checked.variables["/v"].storage.chunks == (5, 7)
    np.testing.assert_array_equal(dataset["v"][3:17:4, 1:29], values[3:17:4, 1:29])


def test_complex_numbers(workspace: Workspace, tmp_path: Path) -> None:
    for name, part in (("c16", "f8"), ("c8", "f4"), ("whole", "i2")):
        stored = np.array([[(1, 2)], [(3, -4)]], [("real", part), ("imag", part)])
        workspace.add(workspace.file, name, stored, {"f8": "double", "f4": "single", "i2": "int16"}[part])
    path = workspace.close()
    dataset = nczarr.open(path)
    assert dataset["c16"][...].tolist() == [[(1.0, 2.0), (3.0, -4.0)]]
    assert dataset["whole"][...].tolist() == [[(1, 2), (3, -4)]]
    nczarr.write(dataset, tmp_path / "copy.nc")
    with workspace.h5py.File(tmp_path / "copy.nc") as copy:
        assert copy["c16"].dtype == np.complex128
        assert copy["c8"][...].tolist() == [[1 + 2j, 3 - 4j]]


def test_texts(workspace: Workspace) -> None:
    workspace.text(workspace.file, "row", "Ångström 𝄞")
    workspace.text(workspace.file, "rows", "ab ", "cd€")
    workspace.empty(workspace.file, "nothing", (0, 0), "char")
    workspace.empty(workspace.file, "rows_of_nothing", (3, 0), "char")
    volume = np.array([[ord("a"), ord("b")], [ord("c"), ord("d")]], "u2").reshape(2, 2, 1)
    workspace.add(workspace.file, "pages", volume, "char")
    dataset = nczarr.open(workspace.close())
    assert dataset["row"][...] == "Ångström 𝄞"
    assert dataset["rows"][...].tolist() == ["ab ", "cd€"]
    assert dataset["rows"][1:].tolist() == ["cd€"]
    assert dataset["nothing"][...] == ""
    assert dataset["rows_of_nothing"][...].tolist() == ["", "", ""]
    assert dataset["pages"][...].tolist() == [["ab", "cd"]]


def test_cells_of_one_kind_are_arrays_and_others_groups(workspace: Workspace) -> None:
    refs = workspace.refs
    words = [workspace.text(refs, f"w{number}", word) for number, word in enumerate(("a", "bc", "def"))]
    words.append(workspace.empty(refs, "w3", (0, 0), "char"))
    workspace.cell(workspace.file, "words", (2, 2), words, "cell")
    numbers = [workspace.number(refs, f"n{number}", [[number + 0.5]], "double") for number in range(3)]
    workspace.cell(workspace.file, "numbers", (1, 3), numbers, "cell")
    inner = workspace.cell(refs, "inner", (1, 1), [numbers[0]], "cell")
    mixed = [numbers[2], words[1], refs["a"], workspace.number(refs, "m", [[1, 2], [3, 4]], "int64"), inner]
    workspace.cell(workspace.file, "mixed", (5, 1), mixed, "cell")
    workspace.empty(workspace.file, "none", (0, 0), "cell")
    dataset = nczarr.open(workspace.close())
    assert dataset["words"][...].tolist() == [["a", "def"], ["bc", ""]]  # the first index is the fastest
    assert dataset["words"][1, :1].tolist() == ["bc"]
    assert dataset["numbers"][...].tolist() == [[0.5, 1.5, 2.5]]
    assert dataset["mixed/1"][...].tolist() == [[2.5]]
    assert dataset["mixed/2"][...] == "bc"
    assert dataset["mixed/3"][...].shape == (0, 0)
    assert attributes_of(dataset.checked.variables["/mixed/3"])["MATLAB_class"].data == b"double"
    assert dataset["mixed/4"][...].tolist() == [[1, 2], [3, 4]]
    assert dataset["mixed/5"][...].tolist() == [[0.5]]
    assert attributes_of(dataset.checked.groups["/mixed"])["MATLAB_size"].as_numbers() == (5, 1)
    assert attributes_of(dataset.checked.groups["/none"])["MATLAB_size"].as_numbers() == (0, 0)
    assert dataset.checked.omitted == ()


def test_structs_and_arrays_of_structs(workspace: Workspace) -> None:
    refs = workspace.refs
    one = workspace.struct(workspace.file, "one", ["z", "name", "inner"])
    workspace.number(one, "z", [[1.0, 2.0]], "double")
    workspace.text(one, "name", "x")
    workspace.number(workspace.struct(one, "inner", ["k"]), "k", [[7]], "uint8")
    many = workspace.struct(workspace.file, "many", ["id", "data"])
    ids = [workspace.number(refs, f"i{number}", [[number]], "int32") for number in range(2)]
    workspace.cell(many, "id", (1, 2), ids, None)
    data = [ids[0], workspace.text(refs, "t", "text")]
    workspace.cell(many, "data", (1, 2), data, None)
    none = workspace.empty(workspace.file, "none", (0, 1), "struct")
    workspace.name_fields(none, ["first", "q"])
    dataset = nczarr.open(workspace.close())
    groups = dataset.checked.groups
    assert attributes_of(groups["/one"])["MATLAB_fields"].data == (b"z", b"name", b"inner")
    assert [name for name in dataset.checked.variables if name.startswith("/one/")][:2] == ["/one/z", "/one/name"]
    assert dataset["one/inner/k"][...].tolist() == [[7]]
    assert attributes_of(groups["/many"])["MATLAB_size"].as_numbers() == (1, 2)
    assert dataset["many/id"][...].tolist() == [[0, 1]]
    assert dataset["many/data/2"][...] == "text"
    assert attributes_of(groups["/none"])["MATLAB_size"].as_numbers() == (0, 1)
    assert attributes_of(groups["/none"])["MATLAB_fields"].data == (b"first", b"q")
    assert "MATLAB_size" not in attributes_of(groups["/one"])


def test_sparse_matrices_keep_their_columns(workspace: Workspace) -> None:
    sparse = workspace.file.create_group("s")
    sparse.attrs["MATLAB_class"], sparse.attrs["MATLAB_sparse"] = np.bytes_("double"), np.uint64(3)
    for name, values in (
        ("data", np.array([5.0, 6.0])),
        ("ir", np.array([2, 0], "u8")),
        ("jc", np.array([0, 1, 2], "u8")),
    ):
        sparse.create_dataset(name, data=values)
    dataset = nczarr.open(workspace.close())
    assert [dataset[f"s/{name}"][...].tolist() for name in ("data", "ir", "jc")] == [[5.0, 6.0], [2, 0], [0, 1, 2]]
    assert attributes_of(dataset.checked.groups["/s"])["MATLAB_sparse"].as_numbers() == (3,)


def test_handles_and_objects_are_left_out_by_name(workspace: Workspace, tmp_path: Path) -> None:
    handle = workspace.struct(workspace.file, "handle", ["sentinel"])
    handle.attrs["MATLAB_class"], handle.attrs["MATLAB_object_decode"] = np.bytes_("function_handle"), np.int32(1)
    workspace.add(workspace.file, "when", np.zeros((1, 6), "u4"), "datetime", MATLAB_object_decode=np.int32(3))
    workspace.number(workspace.file, "x", [[1.0]], "double")
    path = workspace.close()
    refused = run_command("convert", str(path), str(tmp_path / "copy.zarr"), "--to", "zarr3")
    assert refused.status != 0
    assert "`/handle` is a function handle, which has no values (omitted-type)" in refused.err
    assert (
        "`/when` is an object of the class `datetime`, whose content MATLAB alone knows (omitted-type)" in refused.err
    )
    shown = run_command("dump", str(path))
    assert shown.status == 0
    assert b"handle" not in shown.out
    assert (
        run_command("convert", str(path), str(tmp_path / "copy.zarr"), "--to", "zarr3", "--allow-loss", "unread").status
        == 0
    )


def test_a_cell_that_contains_itself_is_left_out(workspace: Workspace) -> None:
    cell = workspace.cell(workspace.refs, "c", (1, 2), [workspace.refs["a"]] * 2, "cell")
    cell[...] = np.array([[cell.ref], [workspace.refs["a"].ref]], workspace.h5py.ref_dtype)
    workspace.cell(workspace.file, "circle", (1, 1), [cell], "cell")
    lost = workspace.file.create_dataset("lost", (1, 1), workspace.h5py.ref_dtype)
    lost.attrs["MATLAB_class"] = np.bytes_("cell")
    ran = run_command("info", str(workspace.close()))
    assert ran.status == 0
    assert "`/circle/1/1` contains itself (omitted-object)" in ran.err
    assert "`/lost/1` is a reference without an object (omitted-object)" in ran.err


def test_cells_that_multiply_end_with_an_error(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.plugins.matlab.workspace.MOST", 1000)
    cell = workspace.cell(workspace.refs, "c0", (1, 2), [workspace.refs["a"]] * 2, "cell")
    for number in range(1, 30):
        cell = workspace.cell(workspace.refs, f"c{number}", (1, 2), [cell, cell], "cell")
    workspace.cell(workspace.file, "bomb", (1, 1), [cell], "cell")
    ran = run_command("info", str(workspace.close()))
    assert ran.status != 0
    assert "have more than 1,000 items" in ran.err


@pytest.mark.parametrize("form", ["netcdf4", "zarr3", "nczarr"])
def test_copies_have_the_values(workspace: Workspace, form: str, tmp_path: Path) -> None:
    workspace.number(workspace.file, "v", np.arange(6.0).reshape(2, 3), "double")
    workspace.text(workspace.struct(workspace.file, "s", ["t"]), "t", "ab")
    workspace.cell(workspace.file, "c", (1, 1), [workspace.file["s/t"]], "cell")
    target = tmp_path / "copy"
    ran = run_command("convert", str(workspace.close()), str(target), "--to", form, "--verify")
    assert ran.status == 0, ran.err
    copy = nczarr.open(target)  # its `MATLAB_class` does not turn the dimensions again
    assert copy["v"][...].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert copy["s/t"][...] == "ab"
    assert copy["c"][...].tolist() == [["ab"]]


def test_the_form_of_the_file_on_request(workspace: Workspace) -> None:
    workspace.number(workspace.file, "v", np.arange(6.0).reshape(2, 3), "double")
    path = workspace.close()
    stored = nczarr.open(path, storage_options={"matlab.form": "hdf5"})
    assert stored["v"].shape == (3, 2)
    assert "/#refs#" in stored.checked.groups
    ran = run_command("info", str(path), "--storage-option", "matlab.form=x")
    assert "must be `workspace` or `hdf5`, not 'x'" in ran.err


@pytest.mark.filterwarnings("ignore::nczarr.DataWarning")
def test_files_of_matlab(shared: Path, peer: Callable[[str], ModuleType]) -> None:
    """Every array of numbers outside of cells is that of h5py with reversed dimensions."""
    h5py, compared = peer("h5py"), 0
    for path in sorted((shared / "data" / "hdf5-field").glob("*.mat")):
        dataset = nczarr.open(path)
        with h5py.File(path) as file:
            for name, node in file.items():
                is_plain = isinstance(node, h5py.Dataset) and node.dtype.kind in "iuf"
                if not is_plain or {"MATLAB_empty", "MATLAB_object_decode"} & set(node.attrs):
                    continue
                if node.attrs["MATLAB_class"] != b"char":
                    np.testing.assert_array_equal(dataset[name][...], node[...].T)
                    compared += 1
    assert compared >= 12
