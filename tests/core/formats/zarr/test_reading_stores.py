"""Stores read back: what we write of every corpus file, and the sample stores of other programs."""

from __future__ import annotations

import json
import math
import os
import pickle
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import registry
from nczarr.ast import Constant
from nczarr.diagnostics.report import Report, Source
from nczarr.pipeline import phases
from nczarr.pipeline.select.indexing import read
from nczarr.stores.memory import MemoryStore
from nczarr.stores.open import open_path
from tests.conftest import run_command, shared_folder
from tests.support.blocks import block_ids, blocks, check_each
from tests.support.peers import corpus
from tests.support.plugins import offered
from tests.support.stores import WRITING, opened, other_values, written

SHARED = shared_folder()
FILES = list(corpus.files(SHARED)) if SHARED is not None else []
FORMS = ("nczarr", "zarr2", "zarr3", "nczarr3", *offered("zarr3-2019"))


@pytest.mark.sampled(2)
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("paths", blocks(FILES), ids=block_ids(FILES, lambda path: path.stem))
def test_a_store_reads_back(paths: Sequence[Path]) -> None:
    """With the extension the whole tree, without a word; without it the values."""
    check_each(paths, check_reading)


def check_reading(path: Path) -> None:
    dataset = corpus.checked(path)
    if dataset is None:
        return  # not a dataset: the tests of errors have it
    for form in FORMS:
        store = MemoryStore(written(dataset, form, consolidated=form.endswith("3")))
        found = registry.detect_store(store)
        assert found is not None
        assert found.name == form
        seen, said = opened(store)
        exact = form in ("nczarr", "nczarr3", *offered("zarr3-2019"))
        assert list(other_values(dataset, seen, "None" if exact else "''")) == []  # a loss there
        if exact:
            assert (seen.dataset, said) == (dataset.dataset, [])
            assert dict(seen.variables) == dict(dataset.variables)


@pytest.mark.sampled(2)
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("paths", blocks(FILES), ids=block_ids(FILES, lambda path: path.stem))
def test_pure_stores_lose_what_was_announced(paths: Sequence[Path]) -> None:
    """What was read of a pure store is written as the same documents: nothing more was lost on the way."""
    check_each(paths, check_losses)


def check_losses(path: Path) -> None:
    dataset = corpus.checked(path)
    if dataset is None:
        return  # not a dataset: the tests of errors have it
    for form in ("zarr2", "zarr3"):
        first = written(dataset, form)
        seen, _ = opened(MemoryStore(first))
        second = written(seen, form)
        assert documents(second) == with_masks(documents(first))


def with_masks(found: dict[str, Any]) -> dict[str, Any]:
    """Documents of Zarr v2 whose attributes state what xarray masks: the fill value of an array with named axes."""
    for key in [each for each in found if each.endswith("/.zarray")]:
        attributes, fill = found.get(key.replace(".zarray", ".zattrs"), {}), found[key]["fill_value"]
        if fill is not None and "_ARRAY_DIMENSIONS" in attributes and is_masked(found[key]["dtype"], fill, attributes):
            attributes.setdefault("_FillValue", fill)
    if ".zmetadata" in found:
        found[".zmetadata"]["metadata"] = {key: each for key, each in found.items() if key != ".zmetadata"}
    return found


DEFAULTS = {"i1": -127, "u1": 255, "i2": -32767, "u2": 65535, "i4": -2147483647, "u4": 4294967295,
            "i8": -9223372036854775806, "u8": 18446744073709551614, "f4": 9.969209968386869e36,
            "f8": 9.969209968386869e36}  # fmt: skip
"""Fill values of netCDF (netcdf.h)."""


def is_masked(dtype: Any, fill: Any, attributes: Mapping[str, Any]) -> bool:
    """True for a number that is not netCDF's default, or is one of packed numbers."""
    if not isinstance(dtype, str) or dtype[1:] not in DEFAULTS:
        return False
    is_packed = not attributes.keys().isdisjoint(("scale_factor", "add_offset"))
    number = np.dtype(dtype).type
    return is_packed or bool(number(fill) != number(DEFAULTS[dtype[1:]]))


def documents(store: Mapping[str, bytes]) -> dict[str, Any]:
    return {key: json.loads(data) for key, data in store.items() if key.rpartition("/")[2].startswith((".z", "zarr."))}


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("suffix", [".zarr", ".zip"])
@pytest.mark.parametrize("paths", blocks(FILES), ids=block_ids(FILES, lambda path: path.stem))
def test_folders_and_archives_read_back(paths: Sequence[Path], suffix: str, tmp_path: Path) -> None:
    check_each(paths, lambda path: check_places(path, suffix, tmp_path / path.stem))


def check_places(path: Path, suffix: str, folder: Path) -> None:
    dataset = corpus.checked(path)
    if dataset is None:
        return  # not a dataset: the tests of errors have it
    folder.mkdir()
    for form in FORMS:
        target = str(folder / f"{form}{suffix}")
        shards = {"": "auto"} if form.endswith("3") else {}
        assert phases.write(
            dataset, target, registry.find_format(form), Report(), WRITING.change(shards=shards)  # type: ignore[arg-type]
        )  # fmt: skip
        store = open_path(target)
        assert not isinstance(store, Source)
        seen, _ = opened(store)
        assert list(other_values(dataset, seen, "''" if form.startswith("zarr") else "None")) == []  # a loss there
        assert not form.startswith("nczarr") or seen.dataset == dataset.dataset


# ---- single rules --------------------------------------------------------------------------------------------------
ARRAY = {"zarr_format": 2, "shape": [2, 3], "chunks": [2, 3], "dtype": "<i4", "fill_value": 7, "order": "C",
         "filters": None, "compressor": None}  # fmt: skip


def store_of(attributes: Any = None, root: Any = None, chunk: bytes | None = None, **members: Any) -> MemoryStore:
    """A store with one array `v`."""
    found = {".zgroup": b'{"zarr_format": 2}', "v/.zarray": json.dumps(ARRAY | members).encode()}
    if attributes is not None:
        found["v/.zattrs"] = json.dumps(attributes).encode()
    if root is not None:
        found[".zattrs"] = json.dumps(root).encode()
    if chunk is not None:
        found["v/0.0"] = chunk
    return MemoryStore(found)


def test_missing_chunks_are_fill_and_others_have_one_length() -> None:
    seen, _ = opened(store_of())
    assert read(seen, "/v", ...).tolist() == [[7] * 3] * 2
    for count in (0, 2, 9):
        seen, _ = opened(store_of(chunk=np.arange(count, dtype="<i4").tobytes()))
        with pytest.raises(nczarr.CompileError, match=f"there are {4 * count} bytes, and a chunk has 24"):
            read(seen, "/v", ...)
    seen, _ = opened(store_of(fill_value=None))
    assert read(seen, "/v", ...).tolist() == [[0] * 3] * 2


def test_a_dimension_with_the_name_of_a_group_is_a_size() -> None:
    store = store_of({"_ARRAY_DIMENSIONS": ["g", "y"]})
    store.put("g/.zgroup", b'{"zarr_format": 2}')
    seen, said = opened(store)
    assert seen.variables["/v"].dimensions == (2, "/y")
    text = "`/g` is undeclared, or has the name of a group: it is anonymous"
    assert [(each.code, each.message) for each in said] == [("unnamed-dimension", text)]


def test_names_of_dimensions_that_do_not_fit_are_sizes() -> None:
    seen, said = opened(store_of({"_ARRAY_DIMENSIONS": ["x", "x"]}))
    assert seen.variables["/v"].dimensions == ("/x", 3)
    assert [(each.code, each.primary.key, each.primary.pointer) for each in said] == [
        ("unnamed-dimension", "v/.zattrs", "/_ARRAY_DIMENSIONS")
    ]


def test_no_codec_that_runs_code_is_followed() -> None:
    with pytest.raises(nczarr.CompileError, match="`pickle` is unknown"):
        read(opened(store_of(compressor={"id": "pickle"}, chunk=b"cos\nsystem\n"))[0], "/v", ...)


def test_a_chunk_cannot_inflate_without_end() -> None:
    import zlib

    bomb = zlib.compress(bytes(1 << 24))
    with pytest.raises(nczarr.CompileError, match="larger than its shape allows"):
        read(opened(store_of(compressor={"id": "zlib", "level": 1}, chunk=bomb))[0], "/v", ...)


@pytest.mark.parametrize("form", ["nczarr", "nczarr3"])
def test_arrays_whose_root_lost_its_hidden_attributes(tmp_path: Path, form: str) -> None:
    text = "netcdf o { types: byte enum E { A = 0 } ; dimensions: x = 2 ; variables: E e(x) ; data: e = A, A ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "o.zarr", form, consolidated=False)
    document = tmp_path / "o.zarr" / ("zarr.json" if form == "nczarr3" else ".zattrs")
    assert not nczarr.open(tmp_path / "o.zarr").diagnostics
    told = json.loads(document.read_text())
    told.pop("_nczarr_superblock", None)  # as xarray's `to_zarr(append_dim=)` does
    told.get("attributes", {}).pop("_nczarr", None)
    document.write_text(json.dumps(told))
    found = nczarr.open(tmp_path / "o.zarr")
    assert found["e"].dtype == "int8"
    (said,) = found.diagnostics
    assert said.code == "stale-extension"
    assert "which `/e` had with it" in said.message


def test_plain_keys_win_over_a_stale_extension() -> None:
    hidden = {
        "dimension_references": ["/y", "/x"],
        "nczarr": {"type": "char", "dimensions": ["/x", 9], "layout": "heap"},
    }
    root = {"_nczarr_superblock": {"version": "2.0.0"},
            "_nczarr_group": {"dimensions": {"y": 2, "x": 3}, "arrays": ["v"], "groups": []}}  # fmt: skip
    store = store_of({"a": 5, "_nczarr_array": hidden, "_nczarr_attr": {"nczarr": {"a": {"type": "char", "length": 1,
                      "base64": "YQ=="}}}}, root)  # fmt: skip
    seen, said = opened(store)
    variable = seen.variables["/v"]
    assert (variable.type, variable.dimensions, variable.storage.layout) == ("int", ("/y", "/x"), None)
    assert variable.attributes[0].value == Constant.numbers("int", [5])
    assert {each.code for each in said} == {"stale-extension"}
    assert len(said) == 4


def test_the_first_generation_has_objects_of_its_own() -> None:
    store = store_of(chunk=np.arange(6, dtype="<i4").tobytes())
    store.content.update(
        {
            ".nczarr": b'{"version": "1.0.0"}',
            ".nczgroup": b'{"dims": {"y": 2, "x": 3}, "vars": ["v"], "groups": []}',
            "v/.nczvar": b'{"dimrefs": ["/y", "/x"], "storage": "chunked"}',
            "v/.zattrs": b'{"n": 5}',
            "v/.nczattr": b'{"types": {"n": "<i2"}}',
        }
    )
    seen, said = opened(store)
    assert said == []
    assert seen.variables["/v"].dimensions == ("/y", "/x")
    assert seen.variables["/v"].attributes[0].value == Constant.numbers("short", [5])


def test_a_source_goes_to_other_processes(tmp_path: Path) -> None:
    text = "netcdf t {\ndimensions:\n  x = 4 ;\nvariables:\n  int v(x) ;\ndata:\n  v = 1, 2, 3, 4 ;\n}\n"
    for suffix in (".zarr", ".zip"):
        nczarr.write(nczarr.from_cdl(text), tmp_path / f"t{suffix}", "nczarr")
        source = nczarr.open(tmp_path / f"t{suffix}").checked.parts["/v"][""]
        source.read((slice(0, 1),))
        assert pickle.loads(pickle.dumps(source)).read((slice(1, 3),)).tolist() == [2, 3]


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl("netcdf t {\ngroup: g {\n}\n}\n"), tmp_path / "t.zarr", "zarr2")
    (tmp_path / "t.zarr" / "g" / "up").symlink_to(tmp_path / "t.zarr")
    found = nczarr.open(tmp_path / "t.zarr")
    assert [child.name for child in found.dataset.groups] == ["g"]
    assert found.dataset.groups[0].groups == ()
    assert [(each.code, each.message) for each in found.diagnostics] == [
        ("unreadable-array", "`g/up` is a symbolic link, which is not followed")
    ]
    assert run_command("convert", str(tmp_path / "t.zarr"), str(tmp_path / "u.nc")).status == 1


def make_alike(folder: Path, count: int) -> Path:
    """Write an NCZarr store of equal variables."""
    lines = "".join(f"float v{number}(x) ;\n" for number in range(count))
    path = folder / f"{count}.zarr"
    nczarr.write(nczarr.from_cdl(f"netcdf t {{\ndimensions: x = 2 ;\nvariables:\n{lines}}}\n"), path, "nczarr")
    return path


def test_a_variable_costs_two_documents_and_one_look_for_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No document is read twice, and no folder is asked whether it is a link: one listing says so of all."""
    counts: list[list[int]] = []
    for path in (make_alike(tmp_path, 3), make_alike(tmp_path, 8)):
        calls = dict.fromkeys(("open", "access", "lstat", "scandir"), 0)
        with monkeypatch.context() as patch:
            for name in calls:
                patch.setattr(os, name, _counting(name, getattr(os, name), calls))
            assert nczarr.open(path).diagnostics == ()
        counts.append(list(calls.values()))
    assert [after - before for before, after in zip(*counts, strict=True)] == [2 * 5, 5, 0, 0]


def _counting(name: str, call: Callable[..., Any], calls: dict[str, int]) -> Callable[..., Any]:
    def counted(*arguments: Any, **options: Any) -> Any:
        calls[name] += 1
        return call(*arguments, **options)

    return counted


def test_a_folder_that_cannot_be_listed_is_read_by_the_lists_of_its_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_alike(tmp_path, 3)
    known = nczarr.open(path)
    (path / "v1").rename(tmp_path / "v1")
    (path / "v1").symlink_to(tmp_path / "v1")

    def refuse(path: str) -> None:
        raise PermissionError(path)

    for scandir in (os.scandir, refuse):
        monkeypatch.setattr(os, "scandir", scandir)
        with pytest.raises(OSError, match="a symbolic link"):
            nczarr.open(path)
    (path / "v1").unlink()
    (tmp_path / "v1").rename(path / "v1")
    assert nczarr.open(path).dataset == known.dataset


def test_equal_documents_of_arrays_are_read_as_their_extensions_say(tmp_path: Path) -> None:
    """Arrays of one description share what follows from it, but not with those of another extension or other axes."""
    text = """netcdf t {
dimensions: x = 2 ; y = 2 ;
variables:
  byte a(x), b(x), c(x), d(y), e(x), f(x) ;
    a:_DeflateLevel = 1 ; a:_ChunkSizes = 2 ;
    b:_DeflateLevel = 1 ; b:_ChunkSizes = 2 ; b:_Shuffle = "true" ;
    c:_DeflateLevel = 1 ; c:_ChunkSizes = 2 ; c:_Shuffle = "true" ;
    d:_DeflateLevel = 1 ; d:_ChunkSizes = 2 ; d:_Shuffle = "true" ;
    e:_DeflateLevel = 1 ; e:_ChunkSizes = 2 ; e:_Shuffle = "true" ;
    f:_DeflateLevel = 1 ; f:_ChunkSizes = 2 ; f:_Shuffle = "true" ;
data: a = 1, 2 ; b = 3, 4 ; c = 5, 6 ; d = 7, 8 ; e = 9, 10 ; f = 11, 12 ;
}
"""
    written = nczarr.from_cdl(text)
    nczarr.write(written, tmp_path / "t.zarr", "nczarr", consolidated=False)
    documents = {(tmp_path / "t.zarr" / name / ".zarray").read_bytes() for name in "abcdef"}
    assert len(documents) == 1
    for name, old, new in (
        ("e", "[2]", '[2], "odd"'),
        ("f", "[2]", '[2], "odd"'),
        ("d", '"filters"', '"fill": [1], "filters"'),
    ):
        document = tmp_path / "t.zarr" / name / ".zattrs"
        document.write_text(document.read_text().replace(old, new))
    found = nczarr.open(tmp_path / "t.zarr")
    assert [(each.code, each.primary.key) for each in found.diagnostics] == [
        ("stale-extension", f"{name}/.zattrs")
        for name in "def"  # each of two equal faults is told
    ]
    for name in "abcd":
        assert found.checked.variables[f"/{name}"] == written.checked.variables[f"/{name}"]
        assert found[name][...].tolist() == written[name][...].tolist()
    storages = [found.checked.variables[f"/{name}"].storage for name in "abcdef"]
    assert storages[1] is storages[2]
    assert storages[4] == storages[0] != storages[1]
    assert found["f"][...].tolist() == [11, 12]


def test_a_folder_of_chunks_that_is_a_link_is_an_error_and_no_fill(tmp_path: Path) -> None:
    text = "netcdf t {\ndimensions: x = 2 ; y = 2 ;\nvariables: int v(x, y) ;\ndata: v = 1, 2, 3, 4 ;\n}\n"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.zarr", "zarr3", chunks={"/v": (1, 2)})
    rows = tmp_path / "t.zarr" / "v" / "c" / "1"
    rows.rename(tmp_path / "elsewhere")
    rows.symlink_to(tmp_path / "elsewhere")
    for command in (["dump"], ["digest"], ["convert", "--to", "nczarr3"]):
        target = [str(tmp_path / "out.zarr")] * (command[0] == "convert")
        ran = run_command(*command, str(tmp_path / "t.zarr"), *target)
        assert ran.status == 3
        assert "symbolic link" in ran.err
    assert not (tmp_path / "out.zarr").exists()


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr"])
def test_a_chunk_that_is_a_link_is_an_error_and_no_fill(form: str, tmp_path: Path) -> None:
    nczarr.write(
        nczarr.from_cdl("netcdf t {\ndimensions: x = 2 ;\nvariables: int v(x) ;\ndata: v = 1, 2 ;\n}\n"),
        tmp_path / "t.zarr",
        form,
    )
    chunk = tmp_path / "t.zarr" / "v" / ("c/0" if form == "zarr3" else "0")
    chunk.rename(tmp_path / "elsewhere")
    chunk.symlink_to(tmp_path / "elsewhere")
    for command in (["dump"], ["digest"], ["convert", "--to", "nczarr3"]):
        target = [str(tmp_path / "out.zarr")] * (command[0] == "convert")
        ran = run_command(*command, str(tmp_path / "t.zarr"), *target)
        assert ran.status == 3
        assert "symbolic link" in ran.err
    assert not (tmp_path / "out.zarr").exists()


def test_dump_says_what_it_leaves_out(tmp_path: Path) -> None:
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    for name, dtype in (("long", "<f16"), ("objects", "|O"), ("good", "<i4")):
        shared = {"zarr_format": 2, "shape": [2], "chunks": [2], "compressor": None, "filters": None, "order": "C"}
        (tmp_path / name).mkdir()
        (tmp_path / name / ".zarray").write_text(json.dumps({**shared, "dtype": dtype, "fill_value": None}))
    ran = run_command("dump", "-h", str(tmp_path))
    assert ran.status == 0
    assert ran.err.count("warning[unreadable-array]") == 2
    assert b"int good" in ran.out
    ran = run_command("check", str(tmp_path))
    assert (ran.status, ran.err.count("error[unreadable-array]")) == (1, 2)


def plain_store(arrays: Mapping[str, Mapping[str, Any]], **document: Any) -> dict[str, bytes]:
    """A pure Zarr v2 store whose arrays have one `.zarray`, and these attributes."""
    shared = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<f4", "compressor": None, "filters": None,
              "order": "C", "fill_value": None, **document}  # fmt: skip
    found = {".zgroup": b'{"zarr_format": 2}'}
    for name, attributes in arrays.items():
        found[f"{name}/.zarray"] = json.dumps(shared).encode()
        found[f"{name}/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["x"], **attributes}).encode()
    return found


def test_arrays_with_equal_documents_have_a_finding_each() -> None:
    _, said = opened(MemoryStore(plain_store({"a": {}, "b": {}}, fill_value="none")))
    assert [(each.code, each.primary.key) for each in said if each.primary is not None] == [
        ("bad-metadata", "a/.zarray"),
        ("bad-metadata", "b/.zarray"),
    ]


def test_equal_documents_do_not_share_attributes() -> None:
    seen, _ = opened(MemoryStore(plain_store({"a": {"v": 0.0}, "b": {"v": -0.0}, "c": {"v": 0}, "d": {"v": [True]}})))
    values = [variable.attributes[0].value for variable in seen.variables.values()]
    assert [each.type for each in values] == ["double", "double", "int", "ubyte"]
    assert [math.copysign(1, each.as_numbers()[0]) for each in values[:2]] == [1, -1]


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        (2**31 - 1, "int"),
        (2**31, "uint"),
        (-(2**31), "int"),
        (-(2**31) - 1, "int64"),
        ([1, 2.5], "double"),
        ([], "char"),
    ],
)
def test_untyped_numbers_take_the_first_type_that_holds_them(value: Any, type_name: str) -> None:
    seen, _ = opened(MemoryStore(plain_store({"a": {"v": value}})))
    assert seen.variables["/a"].attributes[0].value.type == type_name


def test_stale_consolidated_metadata_hides_nothing() -> None:
    found = plain_store({"a": {"units": "K"}, "b": {}})
    old = plain_store({"a": {"units": "m"}})
    metadata = {key: json.loads(value) for key, value in old.items()}
    found[".zmetadata"] = json.dumps({"zarr_consolidated_format": 1, "metadata": metadata}).encode()
    seen, _ = opened(MemoryStore(found))
    assert list(seen.variables) == ["/a", "/b"]
    assert seen.variables["/a"].attributes[0].value == Constant.text(b"K")


def test_a_fill_value_of_chars_that_references_say_in_base64_is_read(tmp_path: Path) -> None:
    text = (
        'netcdf t { dimensions: x = 3 ; variables: char c(x) ; c:_FillValue = "x" ; char d ; d:_FillValue = "\\001" ; }'
    )
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.zarr", "nczarr")
    nczarr.convert(tmp_path / "t.zarr", tmp_path / "t.json")
    made = nczarr.open(tmp_path / "t.json")
    assert made.diagnostics == ()
    assert made["c"][...].tobytes() == b"xxx"
    assert made["d"][()] == b"\x01"


@pytest.mark.parametrize(
    ("attributes", "dtype"),
    [
        ("", "<i8"),
        ('attribute units char "days"', "<i8"),
        ('attribute units char "days" attribute calendar char "noleap"', "<M8[s]"),
    ],
)
def test_times_without_their_attributes_are_integers(attributes: str, dtype: str) -> None:
    """A reader adds `units` and `calendar` to times."""
    text = f"dataset d 2.0.0 {{ dimension x 2 variable v int64 /x {{ {attributes} element datetime64[s] }} }}"
    dataset = nczarr.from_notation(text)
    keys = dataset.to_keys("zarr2")
    assert json.loads(keys["v/.zarray"])["dtype"] == dtype
    again, _ = opened(MemoryStore(dict(keys)))
    assert again.variables["/v"].attributes == dataset["v"].variable.attributes


def test_arrays_of_one_document_have_their_own_chunks_and_fill_values(tmp_path: Path) -> None:
    document = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<f4", "fill_value": "NaN", "order": "C"}
    document |= {"compressor": None, "filters": None}
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / ".zarray").write_text(json.dumps(document))
    (tmp_path / "a" / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"]}')
    (tmp_path / "b" / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"], "_FillValue": 7.0}')
    (tmp_path / "a" / "0").write_bytes(struct.pack("<2f", 1, 2))
    (tmp_path / "c" / "0").write_bytes(struct.pack("<2f", 3, 4))
    dataset = nczarr.open(tmp_path)
    assert dataset["a"][...].tolist() == [1, 2]
    assert np.isnan(dataset["b"][...]).all()
    assert dataset["c"][...].tolist() == [3, 4]
    assert (dataset["a"].dims, dataset["b"].dims, dataset["c"].dims) == (("x",), ("x",), (2,))
    assert dataset["b"].attributes["_FillValue"] == 7
    assert np.isnan(dataset["a"].attributes["_FillValue"])
