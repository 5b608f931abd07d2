"""What is written: keys, names, the extension object, order, fill values; and what is refused before anything is."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import zarr3_2019
from nczarr.api.handle import DatasetHandle
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Group, Variable
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.zarr_drafts.api import MemoryKeys
from tests.conftest import run_command
from tests.support.draft_2019 import FORMAT, URI, Required, WithList
from tests.support.making import checked

SCHEMA = """netcdf t {
types:
  byte enum sky { clear = 0, cloudy = 1 } ;
  compound obs { int a ; float b(2) ; } ;
  int(*) row ;
  compound mixed { string s ; string S ; row r ; } ;
  opaque(3) key ;
dimensions:
  x = 2 ;
  t = UNLIMITED ;
variables:
  float v(t, x) ;
    v:units = "K" ;
    v:levels = 1s, 2s ;
  char c(x) ;
  string s(x) ;
  sky e(x) ;
  obs o(x) ;
  row r(x) ;
  mixed m ;
  key k ;
data:
  v = 1, 2, 3, 4 ;
  c = "ab" ;
  s = "a", NIL ;
  r = {1, 2}, {3} ;
  m = {"x", "y", {7}} ;
group: g\\ 1 {
variables:
  int w(x) ;
}
}
"""


def documents(dataset: DatasetHandle, **options: Any) -> dict[str, Any]:
    """The JSON documents by key."""
    found = dataset.to_keys("zarr3-2019", **options)
    return {key: json.loads(data) for key, data in found.items() if key.endswith((".group.json", ".array.json"))}


def named(*names: str, groups: tuple[str, ...] = ()) -> DatasetHandle:
    """A dataset of scalars and groups of these names."""
    variables = tuple(Variable(name=name, type="int") for name in names)
    return DatasetHandle(
        checked(Dataset(name="t", variables=variables, groups=tuple(Group(name=each) for each in groups)))
    )


def test_keys_of_documents_and_chunks() -> None:
    assert sorted(nczarr.from_cdl(SCHEMA).to_keys("zarr3-2019")) == [
        "data/c/0",
        "data/m/S_c1/0",
        "data/m/r/content/0",
        "data/m/r/counts/0",
        "data/m/s/0",
        "data/r/.awkward0/schema.json",
        "data/r/content/0",
        "data/r/counts/0",
        "data/s/0",
        "data/v/0.0",
        "meta/c.array.json",
        "meta/e.array.json",
        "meta/g_x201.group.json",
        "meta/g_x201/w.array.json",
        "meta/k.array.json",
        "meta/m.group.json",
        "meta/m/S_c1.array.json",
        "meta/m/r.group.json",
        "meta/m/r/content.array.json",
        "meta/m/r/counts.array.json",
        "meta/m/s.array.json",
        "meta/o.array.json",
        "meta/r.group.json",
        "meta/r/content.array.json",
        "meta/r/counts.array.json",
        "meta/s.array.json",
        "meta/v.array.json",
        "root.group.json",
    ]


def test_an_array_with_the_netcdf_model() -> None:
    assert documents(nczarr.from_cdl(SCHEMA))["meta/v.array.json"] == {
        "zarr_format": FORMAT,
        "shape": [2, 2],
        "data_type": "<f4",
        "chunk_grid": {"type": "regular", "chunk_shape": [2, 2]},
        "chunk_memory_layout": "C",
        "chunk_codecs": [],
        "fill_value": 9.969209968386869e36,
        "extensions": [
            {
                "extension": URI,
                "must_understand": False,
                "name": "v",
                "dimension_references": ["/t", "/x"],
                "attribute_types": {"units": ">S1", "levels": "<i2"},
                "nczarr": {"array": {"chunks": []}},
            }
        ],
        "attributes": {"units": "K", "levels": [1, 2]},
    }


def test_groups_with_the_netcdf_model() -> None:
    found = documents(nczarr.from_cdl(SCHEMA))
    (root,) = found["root.group.json"]["extensions"]
    assert root["dimensions"] == [
        {"name": "x", "size": 2, "unlimited": False},
        {"name": "t", "size": 2, "unlimited": True},
    ]
    assert root["nczarr"]["superblock"] == {"version": "1", "name": "t"}
    assert root["nczarr"]["group"]["members"] == ["v", "c", "s", "e", "o", "r", "m", "k", "g_x201"]
    assert "name" not in root
    (group,) = found["meta/g_x201.group.json"]["extensions"]
    assert (group["name"], group["nczarr"]["group"]["members"]) == ("g 1", ["w"])
    (mixed,) = found["meta/m.group.json"]["extensions"]
    assert mixed["nczarr"]["group"]["variable"]["type"] == "/mixed"
    assert mixed["nczarr"]["group"]["members"] == ["s", "S_c1", "r/counts", "r/content"]


@pytest.mark.parametrize(
    ("name", "kind", "layout"),
    [
        ("c", {"type": "char", "fallback": "u1"}, "C"),
        ("s", {"type": "string"}, {"extension": URI, "type": "vlen-utf8"}),
        ("e", {"type": "enum", "name": "/sky", "fallback": "i1"}, "C"),
        (
            "o",
            {"type": "compound", "fields": [{"name": "a", "type": "<i4"}, {"name": "b", "type": "<f4", "shape": [2]}]},
            "C",
        ),
        ("k", {"type": "opaque", "size": 3}, "C"),
    ],
)
def test_types_that_the_draft_has_not(name: str, kind: dict[str, Any], layout: Any) -> None:
    found = documents(nczarr.from_cdl(SCHEMA))[f"meta/{name}.array.json"]
    assert found["data_type"] == {"extension": URI, **kind}
    assert found["chunk_memory_layout"] == layout


def test_names_become_portable_and_come_back() -> None:
    names = ["a", "A", "a b", "é", "_x20", "a.array.json", "x.y", "日本", "a_c1", "50%"]
    dataset = named(*names, groups=("B", "b", "É"))
    found = documents(dataset)
    wanted = sorted(
        f"meta/{each}"
        for each in (
            "a.array.json",
            "A_c2.array.json",
            "a_x20b.array.json",
            "_xC3_xA9.array.json",
            "_x5Fx20.array.json",
            "a.array_x2Ejson.array.json",
            "x.y.array.json",
            "_xE6_x97_xA5_xE6_x9C_xAC.array.json",
            "a_c1.array.json",
            "50_x25.array.json",
            "B.group.json",
            "b_c1.group.json",
            "_xC3_x89.group.json",
        )
    )
    assert sorted(found) == [*wanted, "root.group.json"]
    for kind in (Required, WithList):
        store = kind({})
        zarr3_2019.write(dataset, store)
        assert zarr3_2019.read(store).dataset == dataset.dataset


LENGTHS = [
    ("n" * 255, True), ("n" * 256, False), ("é" * 31, True), ("é" * 32, False), ("n" * 251 + "é", False),
    ("a" * 247 + "é", True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "right"), LENGTHS, ids=range(len(LENGTHS)))
def test_a_name_that_is_too_long_is_refused_before_a_byte_is_written(name: str, right: bool, tmp_path: Path) -> None:
    dataset = named(name)
    target = tmp_path / "t.zip"
    if right:
        nczarr.write(dataset, target, "zarr3-2019")
        assert nczarr.open(target).dataset == dataset.dataset
    else:
        with pytest.raises(CompileError, match="unsafe-name"):
            nczarr.write(dataset, target, "zarr3-2019")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("length", "right"), [(244, True), (245, False)])
def test_a_name_whose_document_can_be_no_file_is_refused_for_folders(
    length: int,
    right: bool,
    tmp_path: Path,
) -> None:
    dataset = named("n" * length)
    if right:
        nczarr.write(dataset, tmp_path / "t", "zarr3-2019")
        assert nczarr.open(tmp_path / "t").dataset == dataset.dataset
    else:
        with pytest.raises(CompileError, match="has at most 244"):
            nczarr.write(dataset, tmp_path / "t", "zarr3-2019")
        assert list(tmp_path.iterdir()) == []


def test_a_number_that_makes_a_name_too_long_is_found() -> None:
    with pytest.raises(CompileError, match="needs 258 characters"):
        named("n" * 255, "N" * 255).to_keys("zarr3-2019")


def test_a_field_whose_name_is_too_long_is_found() -> None:
    text = "netcdf t { types: int(*) row ; compound c { row %s ; } ; variables: c v ; }"
    with pytest.raises(CompileError, match="the part"):
        nczarr.from_cdl(text % ("é" * 100)).to_keys("zarr3-2019")


def test_a_variable_and_a_group_of_one_name_are_refused() -> None:
    with pytest.raises(CompileError, match="is also the name of a variable"):
        named("a", groups=("a",)).to_keys("zarr3-2019")


def test_f_order_is_asked_for_and_kept() -> None:
    dataset = nczarr.from_cdl(
        "netcdf t { dimensions: x = 2 ; y = 3 ; variables: short v(x, y) ; data: v = 1, 2, 3, 4, 5, 6 ; }"
    )
    made = dataset.to_keys("zarr3-2019", order="F")
    assert json.loads(made["meta/v.array.json"])["chunk_memory_layout"] == "F"
    assert struct.unpack("<6h", made["data/v/0.0"]) == (1, 4, 2, 5, 3, 6)
    again = zarr3_2019.read(MemoryKeys(dict(made)))
    assert again["/v"][...].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert again.to_keys("zarr3-2019") == made
    assert struct.unpack("<6h", again.to_keys("zarr3-2019", order="C")["data/v/0.0"]) == (1, 2, 3, 4, 5, 6)
    assert again.to_keys("nczarr") == dataset.to_keys("nczarr")


@pytest.mark.parametrize("target", ["t.zarr", "t.nc", "t.cdl"])
def test_f_order_is_refused_where_there_is_none(target: str, tmp_path: Path) -> None:
    source = b"netcdf t { dimensions: x = 2 ; variables: int v(x, x) ; }"
    ran = run_command("compile", "-", "-o", str(tmp_path / target), "--order", "F", stdin=source)
    assert (ran.status, "unmatched-order" in ran.err) == ((0, False) if target == "t.cdl" else (1, True))


def test_a_separator_is_asked_for_and_kept(tmp_path: Path) -> None:
    dataset = nczarr.from_cdl(SCHEMA)
    made = dataset.to_keys("zarr3-2019", separator="/", chunks={"x": 1})
    assert [key for key in made if key.startswith("data/v/")] == [f"data/v/0/{n}" for n in range(2)]
    grid = json.loads(made["meta/v.array.json"])["chunk_grid"]
    assert grid == {"type": "regular", "chunk_shape": [2, 1], "separator": "/"}
    again = zarr3_2019.read(MemoryKeys(dict(made)))
    assert nczarr.diff(dataset, again, data=True) == []
    kept = again.to_keys("zarr3-2019")
    assert kept.keys() == made.keys()
    assert "data/v/0.1" in again.to_keys("zarr3-2019", separator=".")
    with pytest.raises(CompileError, match="unmatched-separator"):
        again.to_keys("nczarr", separator="/")


@pytest.mark.parametrize("bits", [0x7FC00000, 0xFFC00001, 0x7F800001])
def test_the_bits_of_a_fill_value_come_back(bits: int) -> None:
    fill = Attribute(name="_FillValue", value=Constant(type="float", count=1, data=bits.to_bytes(4, "little")))
    variable = Variable(name="v", type="float", dimensions=("/x",), attributes=(fill,))
    dataset = checked(Dataset(name="t", dimensions=(Dimension(name="x", size=3),), variables=(variable,)))
    made = DatasetHandle(dataset).to_keys("zarr3-2019")
    document = json.loads(made["meta/v.array.json"])
    assert document["fill_value"] == "NaN"
    assert ("fill_bits" in document["extensions"][0]) is (bits != 0x7FC00000)
    again = zarr3_2019.read(MemoryKeys(dict(made)))
    assert again.dataset == dataset.dataset
    assert np.asarray(again["/v"][...]).view("<u4").tolist() == [bits] * 3


def test_a_target_that_was_begun_and_failed_leaves_nothing(tmp_path: Path) -> None:
    class Full(Required):
        def set(self, key: str, value: bytes) -> None:
            if key == "root.group.json":
                raise OSError("no space left")
            super().set(key, value)

    store = Full({"other": b""})
    with pytest.raises(OSError, match="no space left"):
        zarr3_2019.write(nczarr.from_cdl(SCHEMA), store)
    assert store.content == {"other": b""}


@pytest.mark.parametrize("target", ["t", "t.zip"])
def test_commands_take_folders_and_archives(target: str, tmp_path: Path) -> None:
    (tmp_path / "s.cdl").write_text(SCHEMA)
    source, made = str(tmp_path / "s.cdl"), str(tmp_path / target)
    assert run_command("compile", source, "-o", made, "--to", "zarr3-2019").status == 0
    assert run_command("diff", source, made, "--data").status == 0
    assert run_command("check", made).err == ""
    assert run_command("dump", "-h", made).out == run_command("dump", "-h", source).out
    one, other = (run_command("digest", each).text.split()[0] for each in (source, made))
    assert one == other
    ran = run_command("convert", made, str(tmp_path / "again"), "--to", "zarr3-2019", "--verify")
    assert (ran.status, "9 copied" in ran.err) == (0, True), ran.err
    assert run_command("compile", source, "-o", made, "--to", "zarr3-2019").status == 2
    assert run_command("compile", source, "-o", made, "--to", "zarr3-2019", "--overwrite").status == 0


def test_the_same_dataset_gives_the_same_bytes() -> None:
    one, other = (nczarr.from_cdl(SCHEMA).to_keys("zarr3-2019") for _ in range(2))
    assert one == other
