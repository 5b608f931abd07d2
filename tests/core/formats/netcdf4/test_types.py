"""Types of HDF5 files that netCDF lacks: values, attributes and targets, compared with h5py and zarr-python."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked
from nczarr.stores.open import open_source
from tests.conftest import run_command
from tests.support.hdf5_types import TypeMaker, flat, plain
from tests.support.library import library

h5py = library("h5py")

Make = Callable[[Any], object]


def read(path: Path) -> tuple[Checked, list[str]]:
    """The dataset of a file, and the messages about it."""
    report = Report()
    checked = phases.read(open_source(str(path)), report, Options())
    assert checked is not None, report.list_sorted()
    return checked, [found.message for found in report.list_sorted() if found.code != "unread"]


def create(file: Any, name: str, kind: Any, data: bytes) -> None:
    """Create a dataset of a low-level type with the bytes of its values."""
    space = h5py.h5s.create_simple((len(data) // kind.get_size(),))
    dataset = h5py.h5d.create(file.id, name.encode(), kind, space)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.frombuffer(data, f"V{kind.get_size()}"), mtype=kind)


def array(file: Any, dtype: str, values: list[Any]) -> None:
    """Create a dataset of arrays, chunked and partly unwritten."""
    dataset = file.create_dataset("d", (3, 2), np.dtype((dtype, (2,))), chunks=(2, 2))
    dataset[:2] = np.array([[values, values]] * 2, dtype)


def odd_integer(number: str, precision: int, offset: int = 0, size: int | None = None) -> Any:
    kind = getattr(h5py.h5t, number).copy()
    kind.set_precision(precision)
    kind.set_offset(offset)
    if size is not None:
        kind.set_size(size)
    return kind


RECORD_OF_TEXT = np.array([(b"abc", 1.0), (b"0123456789", 2.0)], [("name", "S10"), ("v", "f8")])
TEXTS = np.array([(1, [[b"hello", b"there"]])], [("v", "f8"), ("t", "S5", (1, 2))])
NESTED = np.array([((1.5, b"x"), [[True], [False]])], [("a", [("h", ">f2"), ("t", "S2")]), ("b", "?", (2, 1))])
LISTS = {
    "halves": np.array([1.5, np.inf], "f2"),
    "complex": np.array([1 + 2j], "c8"),
    "texts": np.array([b"a", b"bc"], "S2"),
    "truth": np.array([True, False]),
    "records": np.array([(1, b"ab", 2.5)], [("i", "i2"), ("t", "S3"), ("h", "f2")]),
}

READ: dict[str, tuple[Make, str]] = {
    "half": (lambda file: file.create_dataset("d", data=np.array([1, 2.5, np.nan], "f2")), "float"),
    "big half": (lambda file: file.create_dataset("d", data=np.array([1, 2.5], ">f2"), chunks=(2,)), "float"),
    "complex": (lambda file: file.create_dataset("d", data=np.array([1 + 2j, -0.0])), ""),
    "half complex": (lambda file: file.create_dataset("d", data=np.ones(2, [("r", "f2"), ("i", "f2")])), ""),
    "native complex": (lambda file: create(file, "d", h5py.h5t.COMPLEX_IEEE_F32BE, b"\x3f\x80\0\0\x40\0\0\0"), ""),
    "bitfield": (lambda file: create(file, "d", h5py.h5t.STD_B16BE, b"\x03\xff\x80\0"), "ushort"),
    "12 bits": (lambda file: create(file, "d", odd_integer("STD_I16LE", 12), b"\xff\x0f\1\0"), "short"),
    "12 of 16 bits": (lambda file: create(file, "d", odd_integer("STD_I16BE", 12, 3), b"\x7f\xff\0\x08"), "short"),
    "40 bits": (lambda file: create(file, "d", odd_integer("STD_I64LE", 40), b"\xff" * 5 + bytes(3)), "int64"),
    "array": (lambda file: array(file, "i2", [1, 2]), "short"),
    "array of texts": (lambda file: array(file, "S3", [b"ab", b"cde"]), "string"),
    "record with a text": (lambda file: file.create_dataset("d", data=RECORD_OF_TEXT, chunks=(1,)), ""),
    "nested record": (lambda file: file.create_dataset("d", data=NESTED), ""),
    "texts in a record": (lambda file: file.create_dataset("d", data=TEXTS), ""),
    "truth alone in a record": (lambda file: file.create_dataset("d", (2,), [("b", "?")]), ""),
}  # fmt: skip


@pytest.mark.parametrize(("make", "type_name"), READ.values(), ids=READ)
def test_values_are_those_of_h5py(tmp_path: Path, make: Make, type_name: str) -> None:
    with h5py.File(tmp_path / "t.h5", "w") as file:
        make(file)
        file.attrs.create("a", file["d"][:])
        expected, attribute = plain(file["d"][:]), listed(file.attrs["a"])
    checked, _ = read(tmp_path / "t.h5")
    assert checked.omitted == ()
    assert type_name in ("", checked.variables["/d"].type)
    with nczarr.open(tmp_path / "t.h5") as dataset:
        assert plain(dataset["d"][:]) == expected
        assert listed(dataset.attributes["a"]) == attribute


@pytest.mark.parametrize("values", LISTS.values(), ids=LISTS)
def test_lists_of_such_values(tmp_path: Path, values: Any) -> None:
    with h5py.File(tmp_path / "t.h5", "w") as file:
        lists = file.create_dataset("d", (3,), h5py.vlen_dtype(values.dtype))
        lists[1] = values
        records = file.create_dataset("r", (2,), [("i", "i1"), ("l", h5py.vlen_dtype(values.dtype)), ("t", "S3")])
        records[1] = (7, values, b"ab")
        expected = plain(list(lists[:])), plain(list(records[:]))
    checked, _ = read(tmp_path / "t.h5")
    assert checked.omitted == ()
    with nczarr.open(tmp_path / "t.h5") as dataset:
        assert (plain(dataset["d"][:]), plain(dataset["r"][:])) == expected


@pytest.mark.parametrize("chunks", [None, (2,)])
def test_zarr_keeps_the_dtypes(tmp_path: Path, chunks: tuple[int, ...] | None) -> None:
    zarr = pytest.importorskip("zarr")
    arrays = {
        "half": np.array([1, 2.5, np.nan], "f2"),
        "complex": np.array([1 + 2j, 3, np.inf], "c8"),
        "record": np.array([(b"abc", 1.0, 1j)] * 3, [("name", "S10"), ("h", "f2"), ("z", "c16")]),
    }
    with h5py.File(tmp_path / "t.h5", "w") as file:
        for name, values in arrays.items():
            file.create_dataset(name, data=values, chunks=chunks)
    done = run_command("convert", str(tmp_path / "t.h5"), str(tmp_path / "t.zarr"), "--to", "zarr2", "--verify")
    assert done.status == 0, done.err
    store = zarr.open(tmp_path / "t.zarr", mode="r")
    for name, values in arrays.items():
        assert store[name].dtype == values.dtype
        assert store[name][:].tobytes() == values.tobytes()


def test_files_of_netcdf_get_floats_and_records(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["half"], file["complex"] = np.array([1, 2.5], "f2"), np.array([1 + 2j])
        file["record"], file["shape"] = RECORD_OF_TEXT, np.zeros((2, 3), np.dtype(("f4", (2,))))
    done = run_command("convert", str(tmp_path / "t.h5"), str(tmp_path / "t.nc"), "--verify", "--verbose")
    assert done.status == 0, done.err
    assert "variable `/half`, the element kind float16" in done.err
    assert "element kind complex128" not in done.err  # h5py makes complex numbers of the record
    with h5py.File(tmp_path / "t.nc") as file:
        assert (file["half"].dtype, file["half"][:].tolist()) == (np.dtype("f4"), [1, 2.5])
        assert (file["complex"].dtype, file["complex"][:].tolist()) == (np.dtype("c16"), [1 + 2j])
        assert file["record"][1]["name"].tobytes() == b"0123456789"
        assert file["shape"].shape == (2, 3, 2)


def test_paddings_of_texts(tmp_path: Path) -> None:
    h5t = h5py.h5t
    with h5py.File(tmp_path / "t.h5", "w") as file:
        for name, padding in (("term", h5t.STR_NULLTERM), ("null", h5t.STR_NULLPAD), ("space", h5t.STR_SPACEPAD)):
            kind, record = h5t.C_S1.copy(), h5t.create(h5t.COMPOUND, 5)
            kind.set_size(4)
            kind.set_strpad(padding)
            record.insert(b"t", 1, kind)
            create(file, name, kind, b"ab  a\0b ab\0\0")
            create(file, f"{name} record", record, b"1ab  2a\0b 3ab\0\0")
        expected = {name: plain(dataset[:]) for name, dataset in file.items()}
    with nczarr.open(tmp_path / "t.h5") as dataset:
        assert {name: plain(dataset[name][:]) for name in expected} == expected


def test_null_dataspaces_keep_names_and_types(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["empty"], file["x"] = h5py.Empty("f4"), h5py.Empty("i2")
        file["x"].make_scale("x")
        file["v"] = np.arange(3)
        file["v"].dims[0].attach_scale(file["x"])
        file["v"].attrs["nothing"] = h5py.Empty("f8")
    checked, messages = read(tmp_path / "t.h5")
    assert {path: (one.type, checked.shapes[path]) for path, one in checked.variables.items()} == {
        "/empty": ("float", (0,)), "/x": ("short", (0,)), "/v": ("int64", (3,)),
    }  # fmt: skip
    assert (checked.variables["/v"].dimensions, checked.dimensions["/x"].size) == (("/x",), 3)
    assert not checked.dimensions["/x"].unlimited
    assert [(one.value.type, one.value.count) for one in checked.variables["/v"].attributes] == [("double", 0)]
    assert messages == ["datasets without a dataspace are read as arrays without values: `/empty`, `/x`"]


def test_shapes_of_attributes_and_tags_are_announced(tmp_path: Path) -> None:
    kind = h5py.h5t.create(h5py.h5t.OPAQUE, 2)
    kind.set_tag(b"a tag")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        create(file, "d", kind, b"abcd")
        file["d"].attrs["m"] = np.arange(4).reshape(2, 2)
        file["d"].attrs["t"] = np.array([[b"a", b"b"]], "S1")
    checked, messages = read(tmp_path / "t.h5")
    assert [one.value.as_numbers() for one in checked.variables["/d"].attributes if one.name == "m"] == [(0, 1, 2, 3)]
    assert [one.json for one in checked.variables["/d"].attributes] == ["[[0, 1], [2, 3]]", '[["a", "b"]]']
    assert messages == ["the tag `a tag` of opaque values is left out: `/d`"]


def test_empty_attributes_of_several_dimensions_keep_their_shape(tmp_path: Path) -> None:
    shapes = {"a": (2, 0), "b": (0, 3), "c": (2, 0, 5), "d": (2, 3, 0)}
    with h5py.File(tmp_path / "t.h5", "w") as file:
        for name, shape in shapes.items():
            file.attrs[name] = np.zeros(shape, "i4")
    nczarr.convert(tmp_path / "t.h5", tmp_path / "t.zarr", "zarr3")
    attributes = json.loads((tmp_path / "t.zarr/zarr.json").read_bytes())["attributes"]
    assert [attributes[name] for name in shapes] == [[[], []], [], [[], []], [[[], [], []], [[], [], []]]]


def test_an_empty_attribute_of_any_number_of_lists_is_left_out(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file.attrs["a"] = np.zeros((1 << 40, 0), "i4")
    checked, _ = read(tmp_path / "t.h5")
    assert [attribute.json for attribute in checked.dataset.attributes] == [None]
    assert [one.code for one in checked.omitted] == ["omitted-shape"]


def test_named_types_declare_their_parts(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["kind"] = np.dtype([("ok", "?"), ("z", "c8"), ("t", "S3")])
        file["number"], file["bad"] = np.dtype("i4"), np.dtype([("r", h5py.ref_dtype)])
        file.create_dataset("d", (2,), file["kind"])
    checked, _ = read(tmp_path / "t.h5")
    assert checked.variables["/d"].type == "/kind"
    assert set(checked.types) == {"/kind", "/_AnonymousEnum1", "/_AnonymousCompound2"}
    assert {(one.code, one.path) for one in checked.omitted} == {("omitted-type", "/bad"), ("omitted-type", "/number")}


@pytest.mark.parametrize("seed", range(40))
def test_drawn_types(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    maker = TypeMaker(h5py, draw)
    kinds: dict[str, Any] = {}
    with h5py.File(tmp_path / "t.h5", "w", libver=draw.choice(("earliest", "latest"))) as file:
        for number in range(4):
            kind, length, name = maker.make(), draw.randint(1, 4), f"d{number}"
            storage = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if draw.random() < 0.5:
                storage.set_chunk((min(2, length),))
                storage.set_deflate(4)
            space = h5py.h5s.create_simple((length,))
            dataset = h5py.h5d.create(file.id, name.encode(), kind, space, storage)
            attribute = h5py.h5a.create(file.id, name.encode(), kind, space)
            lack = kinds[name] = maker.has_lack(kind)
            if not lack:
                data = bytes(draw.choices((0, 0, 1, 32, 65, 127, 128, 255), k=length * kind.get_size()))
                values = np.frombuffer(data, f"V{kind.get_size()}")
                dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values, mtype=kind)
                attribute.write(values, mtype=kind)
    checked, _ = read(tmp_path / "t.h5")
    texts = [one.text for one in checked.omitted if one.code != "omitted-shape"]
    assert len(texts) == 2 * sum(map(bool, kinds.values()))
    with h5py.File(tmp_path / "t.h5") as file, nczarr.open(tmp_path / "t.h5") as ours:
        for name, lack in kinds.items():
            if lack:
                assert sum(f"`{name}`" in text or f"`/{name}`" in text for text in texts if lack in text) >= 2
                continue
            assert f"/{name}" in checked.variables
            try:
                expected, attribute = plain(file[name][:]), listed(file.attrs[name])
            except (OSError, TypeError):  # h5py does not convert opaque values with a tag
                continue
            assert plain(ours[name][:]) == expected
            value, kind = ours.attributes[name], file.attrs[name].dtype
            value = np.array(value, kind) if isinstance(value, list) and kind.kind in "fiu" else value
            assert listed(value) == attribute


def listed(value: Any) -> list[Any]:
    """Values of an attribute in one list."""
    return flat([plain(one) for one in np.asarray(value).reshape(-1)])
