"""Stores of other processes: implied, missing and contradictory documents, chunks in every type and order, our
extension gone stale.
"""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import registry, zarr3_2019
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.zarr_drafts.api import MemoryKeys
from nczarr.plugins.zarr_drafts.dtypes import CORE
from nczarr.stores.memory import MemoryStore
from tests.conftest import run_command
from tests.support.draft_2019 import FORMAT, GZIP, URI, array, content, found_in, group, opened, places, said

CODEC = "http://purl.org/zarr/spec/codec/"


def detected(stored: dict[str, bytes]) -> str | None:
    form = registry.detect_store(MemoryStore(stored))
    return None if form is None else form.name


@pytest.mark.parametrize(
    "stored",
    [content(_=group()), content(a__b=array()), content(a=group()), {"root.array.json": b"{}"}, content(v=array())],
)
def test_stores_are_detected_by_their_keys(stored: dict[str, bytes]) -> None:
    assert detected(stored) == "zarr3-2019"


@pytest.mark.parametrize("stored", [{}, {"meta/a": b""}, {"data/a/0.0": b""}, {"meta.group.json": b""}])
def test_other_keys_are_no_such_store(stored: dict[str, bytes]) -> None:
    assert detected(stored) is None


def values_of(kind: str) -> np.ndarray[Any, Any]:
    """Two rows of three values."""
    dtype = np.dtype(CORE[kind])
    if dtype.kind == "b":
        return np.array([[True, False, True], [False, True, True]])
    numbers = np.array([[1, 2, 3], [4, 5, 100]])
    return (numbers * (0.5 + 2j) if dtype.kind == "c" else numbers / 2 if dtype.kind == "f" else numbers).astype(dtype)


@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", CORE)
def test_chunks_of_every_type_in_both_orders(kind: str, order: Any, separator: str) -> None:
    values = values_of(kind)
    fill = {"b": True, "c": [1.5, -2.0], "f": 1.5}.get(values.dtype.kind, 7)
    grid = {"type": "regular", "chunk_shape": [2, 2], "separator": separator}
    document = array(data_type=kind, fill_value=fill, chunk_grid=grid, chunk_memory_layout=order)
    stored = {**content(v=document), f"data/v/0{separator}0": values[:, :2].tobytes(order)}
    found = opened(stored)
    shown = np.asarray(found["/v"][...])
    if values.dtype.kind == "c":
        shown = shown["r"] + 1j * shown["i"]
    values[:, 2] = complex(*fill) if isinstance(fill, list) else fill
    assert np.array_equal(shown.astype(values.dtype), values)
    made = found.to_keys("zarr3-2019")
    assert json.loads(made["meta/v.array.json"]) == document
    assert made[f"data/v/0{separator}0"] == stored[f"data/v/0{separator}0"]


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_without_dimensions_has_the_chunk_0(order: str) -> None:
    grid = {"type": "regular", "chunk_shape": []}
    document = array(shape=[], chunk_grid=grid, chunk_memory_layout=order)
    found = opened({**content(v=document), "data/v/0": b"\5\0\0\0"})
    assert found["/v"][...] == 5
    made = found.to_keys("zarr3-2019")
    assert made["data/v/0"] == b"\5\0\0\0"
    assert json.loads(made["meta/v.array.json"]) == document


def test_the_root_may_be_an_array() -> None:
    stored = {**content(_=array()), "data/0.0": np.arange(4, dtype="<i4").tobytes()}
    found = zarr3_2019.read(MemoryKeys(stored), name="depth")
    assert found["/depth"][...].tolist() == [[0, 1, 0], [2, 3, 0]]


@pytest.mark.parametrize(
    ("codecs", "encoded"),
    [
        ([GZIP], gzip.compress),
        ([{"codec": CODEC + "zlib", "level": 1}], zlib.compress),
        ([{"codec": CODEC + "zlib", "level": 1}, GZIP], lambda data: gzip.compress(zlib.compress(data))),
    ],
)
def test_codecs_are_undone_from_the_last_to_the_first(codecs: Any, encoded: Any) -> None:
    data = encoded(np.arange(4, dtype="<i4").tobytes())
    found = opened({**content(v=array(chunk_codecs=codecs)), "data/v/0.0": data})
    assert found["/v"][:, :2].tolist() == [[0, 1], [2, 3]]
    assert json.loads(found.to_keys("zarr3-2019")["meta/v.array.json"])["chunk_codecs"] == codecs


@pytest.mark.parametrize("uri", ["https://example.org/squeeze", CODEC + "pickle", CODEC + "squeeze"])
def test_an_array_behind_an_unknown_codec_is_listed_and_its_values_name_the_codec(uri: str) -> None:
    stored = {**content(v=array(chunk_codecs=[{"codec": uri, "level": 1}])), "data/v/0.0": b"abc"}
    assert said(stored) == []
    found = opened(stored)
    assert found["/v"].shape == (2, 3)
    with pytest.raises(CompileError, match=uri):
        found["/v"][...]


def test_an_undefined_fill_value_is_zeros_with_a_note_and_stays_undefined() -> None:
    stored = {**content(v=array(fill_value=None)), "data/v/0.0": np.arange(4, dtype="<i4").tobytes()}
    assert said(stored) == [("note", "undefined-fill", "meta/v.array.json", "/fill_value")]
    found = opened(stored)
    assert found["/v"][...].tolist() == [[0, 1, 0], [2, 3, 0]]
    made = found.to_keys("zarr3-2019")
    assert json.loads(made["meta/v.array.json"]) == array(fill_value=None)
    assert made["data/v/0.1"] == bytes(16)  # a missing chunk would be of any value


def test_an_unknown_type_is_read_as_its_fallback() -> None:
    kind = {"extension": "https://example.org/days", "type": "days", "fallback": ">i2"}
    stored = {**content(v=array(data_type=kind, fill_value=7)), "data/v/0.0": np.arange(4, dtype=">i2").tobytes()}
    assert opened(stored)["/v"][...].tolist() == [[0, 1, 7], [2, 3, 7]]


def test_unknown_extensions_are_written_again_where_they_were() -> None:
    some = {"extension": "https://example.org/one", "must_understand": False, "k": [1, {"a": None}]}
    other = {"extension": "https://example.org/two", "must_understand": False}
    stored = content(_=group(extensions=[some]), g=group(extensions=[other, some]), g__v=array(extensions=[other]))
    made = opened(stored).to_keys("zarr3-2019")
    assert {key: json.loads(made[key]) for key in stored} == {key: json.loads(data) for key, data in stored.items()}


ODD = {
    "object": {"a": [1, {"b": None}]}, "nested": [[1, 2], [3]], "null": None, "empty": [], "true": True,
    "truths": [True, False], "mixed": [1, "a"], "one": [5], "text in a list": ["a"], "real": 1.0, "both": [1, 2.5],
    "large": 10**30, "largest": 2**64 - 1, "small": -(2**63), "control": "a\u0001b\u0000", "unicode": "é😀",
    "word": "NaN", "_ARRAY_DIMENSIONS": ["x"], "_nczarr_attr": {"types": {}}, "_FillValue": 7,
    "": "a name that none has",
}  # fmt: skip


def test_attributes_of_any_json_are_written_again_as_they_were() -> None:
    odd = {name: value for name, value in ODD.items() if name}
    stored = content(_=group(attributes=odd), v=array(attributes=odd))
    found = opened(stored)
    assert said(stored) == []
    assert list(found["/v"].attributes) == list(odd)
    made = found.to_keys("zarr3-2019")
    for key, data in stored.items():
        assert json.dumps(json.loads(made[key])) == json.dumps(json.loads(data))
    again = opened(dict(made))
    assert again.dataset == found.dataset


def test_an_attribute_without_a_name_is_said() -> None:
    assert [(code, where) for _, code, _, where in said(content(_=group(attributes=ODD)))] == [
        ("bad-metadata", "/attributes/")
    ]


def test_other_targets_lose_unknown_extensions_and_say_so(tmp_path: Path) -> None:
    some = {"extension": "https://example.org/one", "must_understand": False}
    found = opened(content(_=group(extensions=[some]), v=array(extensions=[some])))
    for target, form in (("a.zarr", "nczarr"), ("b.zarr", "zarr3"), ("c.nc", "netcdf")):
        lost = [
            each.message for each in nczarr.write(found, tmp_path / target, form) if each.code == "lost-annotations"
        ]
        assert len(lost) == 1
        assert "unknown protocol extensions (2)" in lost[0]


def test_implied_groups_have_no_attributes_and_missing_documents_are_no_faults() -> None:
    stored = content(a__b__c=array(), a=group(attributes={"n": 1}))
    found = opened(stored)
    assert said(stored) == []
    groups = found.checked.groups
    assert {path: len(each.attributes) for path, each in groups.items()} == {"/": 0, "/a": 1, "/a/b": 0}


def test_other_keys_are_passed_over() -> None:
    stored = {
        **content(v=array()),
        "meta/notes.txt": b"!",
        "meta/g/x.json": b"{}",
        "other/v.array.json": b"",
        "data/w/0": b"",
    }
    assert said(stored) == []
    assert sorted(opened(stored).checked.groups) == ["/"]


def test_an_array_that_is_a_group_too_is_read_as_an_array() -> None:
    stored = {**content(v=array(), v__w=array(), x=array()), "meta/x.group.json": json.dumps(group()).encode()}
    assert [(code, key) for _, code, key, _ in said(stored)] == [
        ("ambiguous-node", "meta/v.array.json"),
        ("ambiguous-node", "meta/x.array.json"),
    ]
    assert list(opened(stored)) == ["/v", "/x"]


def test_a_broken_document_costs_one_node() -> None:
    stored = {**content(g=group(attributes=[]), g__v=array(), w=array(shape=None)), "meta/x.array.json": b"{"}
    assert [(code, key, where) for _, code, key, where in said(stored)] == [
        ("bad-metadata", "meta/g.group.json", "/attributes"),
        ("bad-metadata", "meta/w.array.json", "/shape"),
        ("bad-metadata", "meta/x.array.json", ""),
    ]
    assert list(opened(stored)) == ["/g/v"]


def test_a_document_that_is_a_link_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "s" / "meta").mkdir(parents=True)
    (tmp_path / "elsewhere").write_text(json.dumps(array()))
    (tmp_path / "s" / "meta" / "v.array.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        nczarr.open(tmp_path / "s")


def test_diagnostics_have_the_line_and_column_of_the_value() -> None:
    text = json.dumps(array(chunk_grid={"type": "regular", "chunk_shape": [2, 0]}, attributes={"é": 1}), indent=2)
    (place,) = places({"meta/v.array.json": text.encode()})
    line, column = place
    assert text.splitlines()[line - 1][column - 1] == "["
    (one,) = found_in({"meta/v.array.json": text.encode()})
    assert one.primary.pointer == "/chunk_grid/chunk_shape"


def test_columns_count_characters() -> None:
    text = '{"attributes": {"é日": 1}, "extensions": [], "zarr_format": 3}'
    assert places({"meta/g.group.json": text.encode()}) == [(1, text.index(" 3}") + 2)]


def test_the_command_line_shows_key_pointer_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "s" / "meta").mkdir(parents=True)
    (tmp_path / "s" / "meta" / "v.array.json").write_text(json.dumps(array(fill_value="x"), indent=1))
    ran = run_command("check", str(tmp_path / "s"))
    assert ran.status == 1
    assert "s/meta/v.array.json:17:16#/fill_value" in ran.err
    ran = run_command("check", str(tmp_path / "s"), "--message-format", "json")
    record = json.loads(ran.out or ran.err)
    assert (record["key"], record["pointer"], record["line"], record["column"]) == (
        "meta/v.array.json",
        "/fill_value",
        17,
        16,
    )


def test_sarif_names_the_file_of_the_document(tmp_path: Path) -> None:
    (tmp_path / "s" / "meta").mkdir(parents=True)
    (tmp_path / "s" / "meta" / "v.array.json").write_text(json.dumps(array(fill_value="x")))
    ran = run_command("check", str(tmp_path / "s"), "--message-format", "sarif")
    (found,) = json.loads(ran.out or ran.err)["runs"][0]["results"]
    (place,) = found["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"].endswith("/s/meta/v.array.json")
    assert place["physicalLocation"]["region"]["startLine"] == 1
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "meta/v.array.json#/fill_value"


def test_true_names_come_from_the_extension_where_they_fit() -> None:
    def named(name: Any) -> dict[str, Any]:
        return array(extensions=[{"extension": URI, "must_understand": False, "name": name}])

    stored = content(a_x20b=named("a b"), c=named("other"), D_c1=named("D"), e=named(5), f=array())
    assert list(opened(stored)) == ["/D", "/a\\ b", "/c", "/e", "/f"]
    assert [(code, key) for _, code, key, _ in said(stored)] == [
        ("stale-extension", "meta/c.array.json"),
        ("stale-extension", "meta/e.array.json"),
    ]
    twice = content(a=array(), a_c1=named("a"))
    assert list(opened(twice)) == ["/a", "/a_c1"]
    assert [code for _, code, _, _ in said(twice)] == ["stale-extension"]


def edited(change: Any) -> dict[str, bytes]:
    """A hierarchy of ours that another program changed."""
    text = """netcdf t { dimensions: x = 2 ; variables: short v(x) ; v:units = "K" ; v:level = 1s ;
      int(*) r(x) ; data: v = 1, 2 ; }"""
    text = text.replace("int(*) r", "row r").replace("netcdf t {", "netcdf t { types: int(*) row ;")
    stored = dict(nczarr.from_cdl(text).to_keys("zarr3-2019"))
    change(stored)
    return stored


def change_document(key: str, change: Any) -> Any:
    def apply(stored: dict[str, bytes]) -> None:
        document = json.loads(stored[key])
        change(document)
        stored[key] = json.dumps(document).encode()

    return apply


def test_what_another_program_changed_is_believed() -> None:
    stored = edited(change_document("meta/v.array.json", lambda each: each["attributes"].update(level=70000, more=1.5)))
    found = opened(stored)
    assert [each.value.type for each in found["/v"].variable.attributes] == ["char", "int", "double"]
    stored = edited(change_document("meta/v.array.json", lambda each: each.update(data_type="<i4")))
    assert opened(stored)["/v"].type == "int"


def test_a_node_that_another_program_added_is_shown_and_one_that_it_deleted_is_gone() -> None:
    stored = edited(lambda stored: stored.update(content(new=array(), g__h=array())))
    assert list(opened(stored)) == ["/v", "/r", "/new", "/g/h"]
    stored = edited(lambda stored: stored.pop("meta/v.array.json"))
    assert list(opened(stored)) == ["/r"]


def test_a_hierarchy_of_ours_without_the_document_of_its_root_keeps_what_it_can() -> None:
    stored = edited(lambda stored: stored.pop("root.group.json"))
    found = opened(stored)
    assert (found["/v"].type, found["/v"].dimensions) == ("short", (2,))
    assert found["/v"].attributes["level"].dtype == "i2"
    assert {each.code for each in found.diagnostics} == {"unnamed-dimension", "unreadable-array"}  # `r` has no type


def test_an_object_of_our_extension_that_stands_twice_is_said() -> None:
    ours = {"extension": URI, "must_understand": False}
    assert [(code, where) for _, code, _, where in said(content(_=group(extensions=[ours, ours])))] == [
        ("stale-extension", "/extensions/1")
    ]


@pytest.mark.parametrize("allowed", [True, False])
def test_convert_leaves_out_what_cannot_be_read_only_where_that_is_allowed(allowed: bool, tmp_path: Path) -> None:
    for key, data in content(v=array(), w=array(data_type="nothing")).items():
        path = tmp_path / "s" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    more = ["--allow-loss", "bad-metadata"] if allowed else []
    ran = run_command("convert", str(tmp_path / "s"), str(tmp_path / "t.nc"), *more)
    assert ran.status == (0 if allowed else 1), ran.err
    assert (tmp_path / "t.nc").exists() is allowed


def test_the_format_can_be_named() -> None:
    assert FORMAT.endswith("3.0")
    assert registry.find_format("zarr3-2019") is not None
