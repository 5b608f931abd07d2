from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nczarr.arrays.codecs.chain import from_configs, parse
from nczarr.arrays.sources.source import Descr
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import ATOMIC, Attribute, Codec, CompoundType, Constant, Dataset, Dimension, Field, Group, Variable
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.v3 import codecs, dtypes
from nczarr.formats.zarr.v3.read_codecs import read_chain
from nczarr.options import Options
from nczarr.registry import find_format
from tests.support.making import checked
from tests.support.targets import content, store

DESCRS: list[Descr] = [*NUMPY.values(), ">i4", ">f8", "|V16", "|S7", (("t", "<i8", ()), ("n", (("x", "|i1", ()),), ()))]


def keys(dataset: Dataset, data: dict[str, Any] | None = None, form: str = "zarr3", **options: Any) -> dict[str, bytes]:
    report = Report()
    found = content(
        checked(dataset, data),
        find_format(form),  # type: ignore[arg-type]
        report,
        Options.of(allow_loss=frozenset({"all"}), **options),
    )
    assert found is not None, report.list_sorted()
    return dict(found)


@pytest.mark.parametrize("descr", DESCRS, ids=str)
def test_data_types_read_back(descr: Descr) -> None:
    little = descr.replace(">", "<") if isinstance(descr, str) else descr
    assert dtypes.descr(json.loads(json.dumps(dtypes.data_type(descr)))) == little


def test_array_fields_are_raw_bytes() -> None:
    written = dtypes.data_type((("v", "<i2", (2, 3)),))
    assert written["configuration"]["fields"] == [["v", {"name": "raw_bytes", "configuration": {"length_bytes": 12}}]]  # type: ignore[index]


@pytest.mark.parametrize("written", ["complex32", "r12", {"name": "struct"}, None, 3, ["int32"]])
def test_foreign_data_types_are_no_crash(written: Any) -> None:
    with pytest.raises(ValueError, match=r"`|does not name a type"):
        dtypes.descr(written)


@pytest.mark.parametrize(
    ("descr", "fill", "written"),
    [
        ("<i4", b"\1\0\0\0", 1),
        (">i4", b"\0\0\0\1", 1),
        ("<u8", b"\xff" * 8, 2**64 - 1),
        ("<f4", struct.pack("<f", 0.1), 0.10000000149011612),
        ("<f4", b"\0\0\xc0\x7f", "NaN"),
        ("<f4", b"\1\0\xc0\x7f", "0x7fc00001"),
        (">f4", b"\xff\xc0\0\0", "0xffc00000"),
        ("<f8", struct.pack("<d", -np.inf), "-Infinity"),
        ("<f8", bytes(7) + b"\x80", -0.0),
        ("|S1", b"x", "eA=="),
        ("|V2", b"\0\1", "AAE="),
        ("|O", "é".encode(), "é"),
        ((("a", "|i1", ()), ("b", "<i2", ())), b"\1\2\0", "AQIA"),
    ],
)
def test_fill_values_are_exact(descr: Descr, fill: bytes, written: Any) -> None:
    assert repr(dtypes.fill_value(descr, fill)) == repr(written)
    assert dtypes.fill_bytes(descr, written) == fill


@pytest.mark.parametrize("type_name", [name for name in ATOMIC if name not in ("char", "string")])
def test_own_fill_values_among_attributes_read_back(type_name: str) -> None:
    constant = Constant.numbers(type_name, [7])
    shown = dtypes.fill_attribute(constant)
    assert shown.exact
    assert dtypes.fill_of_attribute(type_name, shown.value) == constant


@pytest.mark.parametrize("text", ["none", "zlib:5", "gzip:9", "shuffle+zlib:4+fletcher32", "zstd:3", "bz2:1",
                                  "blosc:lz4:5", "shuffle+gzip:1+crc32c"])  # fmt: skip
@pytest.mark.parametrize("inner", [None, (2, 3)])
def test_codecs_read_back(text: str, inner: tuple[int, ...] | None) -> None:
    written = json.loads(json.dumps(codecs.chain(">i4", parse(text), inner)))
    found = read_chain(written, (4, 6), "<i4")
    assert (found.inner, from_configs(found.steps), found.big) == (inner, parse(text), True)


def test_codecs_of_others_have_no_number() -> None:
    for step in ({"name": "numcodecs.lz4", "configuration": {}}, {"name": "blosc", "configuration": {"cname": "lz4"}}):
        assert from_configs(read_chain([{"name": "bytes"}, step], (4,), "<i4").steps) is None


def test_deflate_keeps_the_bytes_of_the_filter() -> None:
    import zlib

    from nczarr.ast import Storage

    storage = Storage(chunks=(4,), codecs=(Codec(id=2), Codec(id=1, parameters=(6,))))
    found = keys(
        Dataset(name="", variables=(Variable(name="v", type="int", dimensions=(4,), storage=storage),)),
        {"/v": range(4)},
    )
    assert zlib.decompress(found["v/c/0"]) == bytes([0, 1, 2, 3]) + bytes(12)
    names = [step["name"] for step in json.loads(found["v/zarr.json"])["codecs"]]
    assert names == ["bytes", "numcodecs.shuffle", "numcodecs.zlib"]


SMALL = Dataset(
    name="n",
    dimensions=(Dimension(name="t", size=2, unlimited=True), Dimension(name="x", size=3)),
    types=(CompoundType(name="c", fields=(Field(name="zarr.json", type="string"), Field(name="c", type="int"))),),
    variables=(
        Variable(name="v", type="int", dimensions=("/t", "/x")),
        Variable(name="s", type="float"),
        Variable(name="r", type="/c", dimensions=("/x",)),
    ),
    attributes=(Attribute(name="title", value=Constant.text(b"x")),),
    groups=(Group(name="g", variables=(Variable(name="w", type="byte", dimensions=("/t",)),)),),
)


def test_the_root_comes_last_and_children_first() -> None:
    found = list(keys(SMALL))
    assert found[-1] == "zarr.json"
    assert found.index("g/w/zarr.json") < found.index("g/zarr.json")


def test_fields_never_take_the_store_s_own_names() -> None:
    assert "r/%7Aarr.json/zarr.json" in keys(SMALL)


def test_cells_never_written_need_no_chunk() -> None:
    dataset = Dataset(name="", variables=tuple(Variable(name=name, type=name, dimensions=(3,)) for name in ATOMIC))
    assert all(key.endswith("zarr.json") for key in keys(dataset))


@pytest.mark.parametrize("name", ["zarr.json", ".zarray", ".nczarr-journal"])
def test_names_that_are_the_store_s_own_are_refused(name: str) -> None:
    report = Report()
    dataset = checked(Dataset(name="", variables=(Variable(name=name, type="int"),)))
    assert content(dataset, find_format("zarr3"), report, Options()) is None  # type: ignore[arg-type]
    assert [found.code for found in report.list_sorted()] == ["unsafe-name"]


@pytest.mark.peer
def test_consolidated_metadata_serve_readers(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr, xarray = peer("zarr"), peer("xarray")
    path = tmp_path / "t.zarr"
    values = np.arange(6).reshape(2, 3)
    options = Options.of(consolidated=True, allow_loss=frozenset({"all"}))
    dataset = checked(SMALL, {"/v": values, "/g/w": np.arange(2)})
    assert store(dataset, str(path), find_format("zarr3"), Report(), options)  # type: ignore[arg-type]
    for inner in [*path.rglob("zarr.json")]:
        if inner.parent != path:
            inner.unlink()  # what stands in the root is enough
    group = zarr.open_consolidated(str(path), zarr_format=3)
    assert group["v"][...].tolist() == values.tolist()
    assert sorted(name for name, _ in group.members(max_depth=None)) == [
        "g",
        "g/w",
        "r",
        "r/%7Aarr.json",
        "r/c",
        "s",
        "v",
    ]
    assert xarray.open_zarr(path, consolidated=True, chunks=None)["v"].dims == ("t", "x")
    assert xarray.open_zarr(path, group="g", consolidated=True, chunks=None)["w"].values.tolist() == [0, 1]


@pytest.mark.peer
def test_reserved_names_are_a_warning_and_open(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    report = Report()
    group = Group(name="__g", variables=(Variable(name="__v", type="int", dimensions=(2,)),))
    dataset = checked(Dataset(name="", groups=(group,)), {"/__g/__v": [1, 2]})
    path = tmp_path / "t.zarr"
    assert store(dataset, str(path), find_format("nczarr3"), report, Options())  # type: ignore[arg-type]
    assert [found.code for found in report.list_sorted()] == ["reserved-name", "reserved-name"]
    assert peer("zarr").open_group(str(path))["__g/__v"][...].tolist() == [1, 2]
    assert peer("xarray").open_zarr(path, group="__g", consolidated=False)["__v"].values.tolist() == [1, 2]
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path / "__g/__v")}}
    assert peer("tensorstore").open(spec).result().read().result().tolist() == [1, 2]


def test_netcdf_s_char_is_no_matter_of_zarr3() -> None:
    dataset = Dataset(name="", variables=(Variable(name="c", type="char", dimensions=(2,)),))
    assert keys(dataset, {"/c": [b"a", b"b"]}, char_netcdf=True) == keys(dataset, {"/c": [b"a", b"b"]})


def test_codecs_of_stores_in_other_targets(tmp_path: Path) -> None:
    from nczarr.ast import Storage

    storage = Storage(chunks=(4,), codecs=(Codec(id=65537, parameters=(5,)),))
    tree = Dataset(name="", variables=(Variable(name="v", type="int", dimensions=(4,), storage=storage),))
    found = keys(tree, {"/v": range(4)}, "nczarr")
    assert json.loads(found["v/.zarray"])["compressor"] == {"id": "zlib", "level": 5}
    assert json.loads(found["v/.zattrs"])["_nczarr_array"]["nczarr"]["filters"] == [[65537, 5]]
