"""Stores whose documents are missing, unknown or contradicted by consolidated metadata."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command

ARRAY_2 = {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "fill_value": 0, "order": "C",
           "filters": None, "compressor": None}  # fmt: skip
ARRAY_3 = {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32", "fill_value": 0,
           "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
           "chunk_key_encoding": {"name": "default"}, "dimension_names": ["x"], "attributes": {},
           "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}  # fmt: skip
GROUP_3 = {"zarr_format": 3, "node_type": "group", "attributes": {}}
VALUES = np.arange(4, dtype="<i4")


def put(root: Path, key: str, document: Any) -> None:
    place = root / key
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())


def put_array(root: Path, path: str, version: int, **members: Any) -> None:
    if version == 3:
        put(root, f"{path}/zarr.json", {**ARRAY_3, **members})
        put(root, f"{path}/c/0", VALUES.tobytes())
    else:
        put(root, f"{path}/.zarray", {**ARRAY_2, **members})
        put(root, f"{path}/.zattrs", {"_ARRAY_DIMENSIONS": ["x"]})
        put(root, f"{path}/0", VALUES.tobytes())


def put_root(root: Path, version: int) -> None:
    put(root, "zarr.json" if version == 3 else ".zgroup", GROUP_3 if version == 3 else {"zarr_format": 2})


def codes_of(path: Path) -> list[str]:
    return [each.code for each in nczarr.check(path)]


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("version", [2, 3])
def test_folders_without_a_document_are_groups(
    version: int, consolidated: bool, peer: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    zarr, root = peer("zarr"), tmp_path / "plate.zarr"
    put_root(root, version)
    put_array(root, "A/1/image", version)
    if consolidated:
        zarr.consolidate_metadata(root, zarr_format=version)
    assert [each for each in codes_of(root) if each != "stale-consolidation"] == ["implicit-group"]
    found = nczarr.open(root)["/A/1/image"][...]
    assert np.array_equal(found, zarr.open_array(root, path="A/1/image", mode="r")[...])
    assert np.array_equal(found, VALUES)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"zarr_format": 4, "node_type": "group"}, "`zarr_format` is 4, not 3"),
        ({"zarr_format": 3, "node_type": "table"}, '`node_type` is "table", not "group" or "array"'),
        ({"zarr_format": 3}, "member `node_type` is missing"),
        ({}, "member `zarr_format` is missing"),
        ({"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0", "extensions": []}, "the draft of 2020"),
    ],
)
def test_a_root_of_an_unknown_kind_is_refused(document: Any, message: str, tmp_path: Path) -> None:
    put(tmp_path / "s.zarr", "zarr.json", document)
    for read in (nczarr.open, lambda path: nczarr.convert(path, tmp_path / "t.nc", allow_loss="all")):
        with pytest.raises(nczarr.CompileError) as refused:
            read(tmp_path / "s.zarr")
        assert message in str(refused.value)


def test_a_node_of_an_unknown_kind_is_a_loss(tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 3)
    put_array(root, "a", 3)
    put_array(root, "t", 3, node_type="table")
    with pytest.raises(nczarr.CompileError, match="`/t` is neither a group nor an array"):
        nczarr.convert(root, tmp_path / "t.nc")
    assert list(nczarr.open(root).variables) == ["a"]


def test_an_empty_store_with_files_says_so(tmp_path: Path) -> None:
    put_root(tmp_path / "s.zarr", 3)
    put(tmp_path / "s.zarr", "pictures/one.png", b"PNG")
    assert codes_of(tmp_path / "s.zarr") == ["ignored-files"]
    put(tmp_path / "folder", "b.zarr/.zgroup", {"zarr_format": 2})
    put(tmp_path / "folder", "inner/c.zarr/zarr.json", GROUP_3)
    with pytest.raises(nczarr.CompileError, match=r"it contains stores: `b.zarr`, `inner/c.zarr`"):
        nczarr.open(tmp_path / "folder")
    put(tmp_path / "files", "a.nc", {})
    with pytest.raises(nczarr.CompileError, match=r"it is a folder and no store: name its files, such as `.*/a.nc`"):
        nczarr.open(tmp_path / "files")


@pytest.mark.parametrize("version", [2, 3])
def test_consolidated_metadata_are_compared_in_both_directions(
    version: int, peer: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    zarr, root = peer("zarr"), tmp_path / "s.zarr"
    put_root(root, version)
    for name in ("kept", "gone", "changed"):
        put_array(root, name, version)
    zarr.consolidate_metadata(root, zarr_format=version)
    assert codes_of(root) == []
    shutil.rmtree(root / "gone")
    put_array(root, "new", version)
    put_array(root, "changed", version, fill_value=7)
    lost, found = nczarr.check(root)
    assert (lost.code, found.code) == ("bad-metadata", "stale-consolidation")
    document = "zarr.json" if version == 3 else ".zarray"
    assert f"without any key: `gone/{document}`" in lost.message
    for phrase in (f"lack: `new/{document}`", f"differ from: `changed/{document}`"):
        assert phrase in found.message
    assert sorted(nczarr.open(root).variables) == ["changed", "kept", "new"]
    with pytest.raises(nczarr.CompileError, match="without any key"):
        nczarr.convert(root, tmp_path / "t.nc", verify=True)
    nczarr.convert(root, tmp_path / "t.nc", allow_loss=["bad-metadata"])
    assert "stale-consolidation" in {each.code for each in nczarr.check(root, readers="zarr-python")}


@pytest.mark.parametrize("version", [2, 3])
def test_a_lost_document_is_taken_from_the_consolidated_ones(
    version: int, peer: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    zarr, root = peer("zarr"), tmp_path / "s.zarr"
    put_root(root, version)
    put_array(root, "a", version)
    zarr.consolidate_metadata(root, zarr_format=version)
    (root / "a" / ("zarr.json" if version == 3 else ".zarray")).unlink()
    [found] = nczarr.check(root)
    assert found.code == "stale-consolidation"
    assert "stand for documents that do not exist: `a/" in found.message
    assert np.array_equal(nczarr.open(root).variables["a"][...], zarr.open_group(root, mode="r")["a"][...])


def test_padding_of_records(peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    zarr, root = peer("zarr"), tmp_path / "s.zarr"
    put_root(root, 2)
    put_array(root, "a", 2, shape=[3], chunks=[3], dtype=[["a", "<u4"], ["b", "|u1"], ["", "|V3"]], fill_value=None)
    put(root, "a/0", b"".join(struct.pack("<IB3x", number, number + 5) for number in range(3)))
    known, found = zarr.open_group(root, mode="r")["a"][...], nczarr.open(root).variables["a"][...]
    assert known.dtype.names == found.dtype.names == ("a", "b", "f2")
    assert known.tobytes() == found.tobytes()
    nczarr.convert(root, tmp_path / "t.nc", verify=True)


@pytest.mark.parametrize("version", [2, 3])
def test_chunks_of_no_length(version: int, tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, version)
    grid = {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0]}}}
    empty = {"shape": [0], **(grid if version == 3 else {"chunks": [0]})}
    put_array(root, "a", version, **empty)
    assert codes_of(root) == []
    assert nczarr.open(root).variables["a"][...].shape == (0,)
    put_array(root, "a", version, **{**empty, "shape": [4]})
    assert codes_of(root) == ["bad-metadata"]


@pytest.mark.parametrize(
    ("codecs", "message"),
    [
        ([{"name": "zfp"}], "codec `zfp` is unknown"),
        ([{"name": "bytes"}, {"name": "sharding_indexed"}, {"name": "reshape"}], None),
        ([{"name": "reshape"}, {"name": "odd"}, {"name": "bytes"}], "the codecs `reshape`, `odd` are unknown"),
    ],
)
def test_unknown_codecs_are_named(codecs: Any, message: str | None, tmp_path: Path) -> None:
    put_root(tmp_path / "s.zarr", 3)
    put_array(tmp_path / "s.zarr", "a", 3, codecs=codecs)
    found = [each.message for each in nczarr.check(tmp_path / "s.zarr")]
    assert message is None or found == [message]


def test_bitround_of_zarrs_and_codecs_of_missing_libraries(tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 3)
    last = {"name": "bytes", "configuration": {"endian": "little"}}
    put_array(root, "a", 3, data_type="float32", codecs=[{"name": "bitround", "configuration": {"keepbits": 3}}, last])
    assert np.array_equal(nczarr.open(root).variables["a"][...], VALUES.view("<f4"))
    put_array(root, "p", 3, codecs=[{"name": "numcodecs.pcodec", "configuration": {"level": 8}}])
    with pytest.raises(nczarr.CompileError, match="pcodec"):
        nczarr.convert(root, tmp_path / "t.nc")


def test_diagnostics_of_one_kind_are_one_message(nczarr_command: Callable[..., Any], tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 3)
    for number in range(20):
        put_array(root, f"a{number:02}", 3, dimension_names=None)
    done = nczarr_command("check", str(root))
    assert done.err.count("[unnamed-dimension]") == 1
    assert "also at a01/zarr.json" in done.err
    assert "and 11 more" in done.err
    assert "20 warnings" in done.err


@pytest.mark.parametrize("form", ["nczarr", "nczarr3"])
def test_an_array_that_zarr_python_adds_is_read(form: str, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    zarr, root = peer("zarr"), tmp_path / "s.zarr"
    text = "netcdf s { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"
    nczarr.write(nczarr.from_cdl(text), root, form, consolidated=False)
    zarr.open_group(root, mode="a").create_array("added", shape=(4,), chunks=(4,), dtype="i4")[:] = VALUES
    handle = nczarr.open(root)
    assert list(handle.variables) == ["v", "added"]
    assert np.array_equal(handle.variables["added"][...], VALUES)
    assert "does not list `added`" in " ".join(each.message for each in handle.diagnostics)


def test_an_unknown_separator_of_chunk_keys_is_a_loss(tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 2)
    put(root, "a/.zarray", {**ARRAY_2, "shape": [2, 2], "chunks": [1, 2], "dimension_separator": "-"})
    put(root, "a/0-0", VALUES[:2].tobytes())
    put_array(root, "b", 2, dimension_separator="-")
    with pytest.raises(nczarr.CompileError, match="the separator must be"):
        nczarr.convert(root, tmp_path / "t.nc")
    assert np.array_equal(nczarr.open(root).variables["b"][...], VALUES)
    assert list(nczarr.open(root).variables) == ["b"]


@pytest.mark.parametrize("form", ["zarr2", "zarr3"])
def test_words_among_the_numbers_of_an_attribute_stay_texts(form: str, tmp_path: Path) -> None:
    attributes = {"words": ["NaN", 1.5], "numbers": [float("nan"), 1.5]}
    put(tmp_path / "s.zarr", "zarr.json", {**GROUP_3, "attributes": attributes})
    nczarr.convert(tmp_path / "s.zarr", tmp_path / "s.nc")
    for source in ("s.zarr", "s.nc"):
        nczarr.convert(tmp_path / source, tmp_path / "t.zarr", form, overwrite=True)
        written = (tmp_path / "t.zarr" / ("zarr.json" if form == "zarr3" else ".zattrs")).read_text()
        assert json.dumps(attributes)[1:-1] in written


@pytest.mark.parametrize("path", ["zarr.json", "a/zarr.json", "g/zarr.json"])
def test_attributes_that_are_no_object_are_a_loss(path: str, tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 3)
    put_array(root, "a", 3)
    put(root, "g/zarr.json", GROUP_3)
    put(root, path, {**json.loads((root / path).read_bytes()), "attributes": [1, 2]})
    with pytest.raises(nczarr.CompileError, match="`attributes` is not a JSON object"):
        nczarr.convert(root, tmp_path / "t.nc")
    nczarr.convert(root, tmp_path / "t.nc", allow_loss="unread")


@pytest.mark.parametrize("path", ["zarr.json", "a/zarr.json", "g/zarr.json"])
def test_unknown_members_of_documents_are_named(path: str, tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 3)
    put_array(root, "a", 3)
    put(root, "g/zarr.json", GROUP_3)
    document = json.loads((root / path).read_bytes())
    put(root, path, {**document, "mirror": {"must_understand": False}})
    assert codes_of(root) == ["foreign-member"]
    for member in ("north", {"must_understand": True}):
        put(root, path, {**document, "mirror": member})
        with pytest.raises(nczarr.CompileError, match="has a member `mirror` that must be understood"):
            nczarr.convert(root, tmp_path / "t.nc")


@pytest.mark.parametrize("version", [2, 3])
def test_nodes_of_another_version_are_a_loss(version: int, tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, version)
    put_array(root, "a", version)
    put_array(root, "old", 5 - version)
    with pytest.raises(nczarr.CompileError, match="`/old` has documents of another version of Zarr"):
        nczarr.convert(root, tmp_path / "t.nc")
    assert list(nczarr.open(root).variables) == ["a"]


@pytest.mark.parametrize(("key", "attributes"), [(".zattrs", {"a": 1}), ("a/.zattrs", {"a": None}), ("a/.zattrs", {})])
def test_consolidated_attributes_of_each_node_are_compared(
    key: str, attributes: Any, peer: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    zarr, root = peer("zarr"), tmp_path / "s.zarr"
    put_root(root, 2)
    put(root, ".zattrs", {"a": 2})
    put_array(root, "a", 2)
    zarr.consolidate_metadata(root, zarr_format=2)
    assert codes_of(root) == []
    put(root, key, attributes or {**json.loads((root / key).read_bytes()), "b": []})
    assert "stale-consolidation" in codes_of(root)


def test_consolidated_metadata_without_nodes_are_compared(peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    zarr, root = peer("zarr"), tmp_path / "s.zarr"
    put_root(root, 3)
    zarr.consolidate_metadata(root, zarr_format=3)
    assert codes_of(root) == []
    put_array(root, "a", 3)
    assert codes_of(root) == ["stale-consolidation"]
    assert not list(zarr.open_group(root, mode="r"))


@pytest.mark.parametrize("form", ["zarr2", "zarr3"])
def test_slashes_in_names_of_dimensions(form: str, tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 3)
    put_array(root, "a", 3, dimension_names=["p/q"])
    with pytest.raises(nczarr.CompileError, match="contains a slash"):
        nczarr.convert(root, tmp_path / "t.zarr", "nczarr")
    nczarr.convert(root, tmp_path / "t.zarr", form, verify=True)
    assert nczarr.open(tmp_path / "t.zarr").variables["a"].dimensions == nczarr.open(root).variables["a"].dimensions
    written = tmp_path / "t.zarr/a" / ("zarr.json" if form == "zarr3" else ".zattrs")
    assert '["p/q"]' in written.read_text()


def test_dimensions_of_a_store_that_zarr_python_migrated(peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    store = peer("zarr").storage.LocalStore
    migration = pytest.importorskip("zarr.metadata.migrate_v3")
    root = tmp_path / "s.zarr"
    put_root(root, 2)
    put_array(root, "a", 2)
    migration.migrate_v2_to_v3(input_store=store(root), output_store=store(tmp_path / "t.zarr"))
    put(tmp_path / "t.zarr", "a/0", VALUES.tobytes())
    assert codes_of(tmp_path / "t.zarr") == []
    assert nczarr.open(tmp_path / "t.zarr").variables["a"].dimensions == nczarr.open(root).variables["a"].dimensions


def test_long_forms_of_names_of_types(tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 3)
    put_array(root, "a", 3, data_type={"name": "int32"})
    put_array(root, "b", 3, data_type={"name": "int32", "configuration": {}})
    times = {"unit": "μs", "scale_factor": 1}
    put_array(root, "c", 3, data_type={"name": "numpy.datetime64", "configuration": times})
    (root / "c/c/0").unlink()
    handle = nczarr.open(root)
    assert codes_of(root) == []
    assert handle.variables["c"].attributes["units"].startswith("microseconds")
    for name in "ab":
        assert np.array_equal(handle.variables[name][...], VALUES)


def test_a_length_of_a_field_is_a_shape(tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 2)
    put_array(root, "a", 2, shape=[2], chunks=[2], dtype=[["f", "<i4", 2]], fill_value=None)
    assert nczarr.open(root).variables["a"][...]["f"].tolist() == [[0, 1], [2, 3]]
    put_array(root, "a", 2, dtype=[["f", "<i4", "two"]], fill_value=None)
    with pytest.raises(nczarr.CompileError, match="a record whose field has the shape"):
        nczarr.convert(root, tmp_path / "t.nc")


def test_a_codec_of_objects_is_named(tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 2)
    put_array(root, "a", 2, dtype="|O", fill_value=None, filters=[{"id": "vlen-array", "dtype": "<i4"}])
    with pytest.raises(nczarr.CompileError, match="with filter `vlen-array`"):
        nczarr.convert(root, tmp_path / "t.nc")


@pytest.mark.parametrize("inner", ["|S2", "<U2", "|b1"])
def test_records_of_array_fields_and_types_of_numpy(inner: str, tmp_path: Path) -> None:
    root = tmp_path / "s.zarr"
    put_root(root, 2)
    put_array(root, "a", 2, shape=[1], chunks=[1], dtype=[["f", "<i4", [2]], ["g", inner]], fill_value=None)
    (root / "a/0").unlink()
    with pytest.raises(nczarr.CompileError, match="lost-type"):
        nczarr.convert(root, tmp_path / "t.zarr", "zarr3")
    for form in ("nczarr", "nczarr3"):
        nczarr.convert(root, tmp_path / f"{form}.zarr", form)
        assert nczarr.digest(tmp_path / f"{form}.zarr") == nczarr.digest(root)


def test_nan_in_the_json_of_an_attribute_is_named(tmp_path: Path) -> None:
    put(tmp_path / "s.zarr", "zarr.json", {**GROUP_3, "attributes": {"a": {"x": float("nan")}, "b": {"x": 1}}})
    with pytest.raises(nczarr.CompileError, match="`a` of `/` is an object with NaN or infinities in JSON") as refused:
        nczarr.convert(tmp_path / "s.zarr", tmp_path / "t.zarr", "zarr3-2019")
    assert len(refused.value.diagnostics) == 1


def test_escapes_of_lone_surrogates_are_named(tmp_path: Path) -> None:
    put(tmp_path / "s.zarr", "zarr.json", {**GROUP_3, "attributes": {"a": "\ud800"}})
    [found] = nczarr.check(tmp_path / "s.zarr")
    assert found.code == "untidy-metadata"
    assert "lone surrogates, which are read as U+FFFD" in found.message
    put(tmp_path / "s.zarr", "zarr.json", {**GROUP_3, "attributes": {"a": "\U0001f600"}})
    assert codes_of(tmp_path / "s.zarr") == []


def test_storage_transformers_are_named(tmp_path: Path) -> None:
    put_root(tmp_path / "s.zarr", 3)
    put_array(tmp_path / "s.zarr", "a", 3, storage_transformers=[{"name": "mirror"}, "other"])
    with pytest.raises(nczarr.CompileError, match="storage transformers are unknown: `mirror`, `other`"):
        nczarr.convert(tmp_path / "s.zarr", tmp_path / "t.nc")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("shape", "is_read"), [([2**31, 2**31, 1], True), ([2**31, 2**31, 2], False)])
def test_arrays_of_too_many_cells_are_left_out_by_name(
    shape: list[int], is_read: bool, version: int, tmp_path: Path
) -> None:
    root, target = tmp_path / "a.zarr", tmp_path / "b.zarr"
    put_root(root, version)
    lengths: dict[str, Any] = {"chunks": [4, 4, 1]}
    if version == 3:
        grid = {"name": "regular", "configuration": {"chunk_shape": [4, 4, 1]}}
        lengths = {"chunk_grid": grid, "dimension_names": ["x", "y", "z"]}
    put_array(root, "v", version, shape=shape, **lengths)
    assert ("unreadable-array" in codes_of(root)) is not is_read
    ran = run_command("convert", str(root), str(target), "-q")
    assert (ran.status, target.exists()) == ((0, True) if is_read else (1, False)), ran.err
    if is_read:
        with nczarr.open(target) as dataset:
            assert dataset["v"].shape == tuple(shape)
    else:
        assert ("v/zarr.json" if version == 3 else "v/.zarray") in ran.err
