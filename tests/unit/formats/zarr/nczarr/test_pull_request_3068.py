"""Stores of netCDF-C's draft of NCZarr on Zarr v3: each group, dimension and type that is not read is reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nczarr import pipeline, registry
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Diagnostic, Report
from nczarr.options import Options
from nczarr.stores.memory import MemoryStore

SUPERBLOCK = {"version": "3.0.0"}


def opened(store: MemoryStore) -> tuple[Checked, list[Diagnostic]]:
    report = Report()
    found = pipeline.read(store, report, Options(allow_loss=frozenset({"all"})))
    assert found is not None
    return found, report.sorted()


def array(kind: str, data_type: str, member: str, types: Any) -> dict[str, Any]:
    hidden = {"dimension_references": ["/x"], member: kind}
    return {
        "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": data_type, "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}],
        "attributes": {"n": 5, "_nczarr_array": hidden, "_nczarr_attrs": types},
    }  # fmt: skip


def group(**attributes: Any) -> dict[str, Any]:
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def store(documented: bool, superblock: bool = True) -> MemoryStore:
    if documented:
        root: dict[str, Any] = {
            "dimensions": [{"name": "x", "size": 2, "unlimited": 0}], "arrays": ["c", "i"], "subgroups": ["g"],
        }  # fmt: skip
        types: Any = [{"name": "n", "configuration": {"type": "int16"}}]
    else:
        root = {"dimensions": {"x": {"size": 2, "unlimited": 0}}, "arrays": ["c", "i"], "groups": ["g"]}
        types = {"attribute_types": {"n": "int16"}}
    member = "type_alias" if documented else "nczarr_type"
    first = {"_nczarr_superblock": SUPERBLOCK} if superblock else {}
    documents = {
        "zarr.json": group(title="T", **first, _nczarr_group=root),
        "c/zarr.json": array("char", "uint8", member, types),
        "i/zarr.json": array("int32", "int32", member, types),
        "g/zarr.json": group(_nczarr_group={"dimensions": [] if documented else {}, "arrays": []}, _nczarr_attrs=types),
    }
    return MemoryStore({key: json.dumps(each).encode() for key, each in documents.items()})


COMMON = {
    ("c/zarr.json", "/attributes/_nczarr_attrs", "`n` (int16)"),
    ("i/zarr.json", "/attributes/_nczarr_attrs", "`n` (int16)"),
}
CODE = {
    *COMMON,
    ("g/zarr.json", "/attributes/_nczarr_attrs", "`n` (int16)"),
    ("c/zarr.json", "/attributes/_nczarr_array/nczarr_type", "type `char`"),
}
DOCUMENTED = {
    *COMMON,
    ("c/zarr.json", "/attributes/_nczarr_array/type_alias", "type `char`"),
    ("zarr.json", "/attributes/_nczarr_group/subgroups", "`g`"),
    ("zarr.json", "/attributes/_nczarr_group/dimensions", "`x`"),
}


@pytest.mark.parametrize(("documented", "wanted"), [(False, CODE), (True, DOCUMENTED)])
def test_both_layouts_name_what_is_not_read(documented: bool, wanted: set[tuple[str, str, str]]) -> None:
    found, said = opened(store(documented))
    told = [each for each in said if each.code == "draft-layout"]
    places = {(each.primary.key, each.primary.pointer): each.message for each in told}
    assert set(places) == {(key, where) for key, where, _ in wanted}
    assert len(told) == len(wanted)
    for key, where, words in wanted:
        assert words in places[key, where]
    for variable in found.variables.values():
        assert [each.name for each in variable.attributes] == ["n"]


@pytest.mark.parametrize("documented", [False, True])
def test_a_draft_is_an_error_unless_its_loss_is_allowed(documented: bool) -> None:
    report = Report()
    pipeline.read(store(documented), report, Options())
    assert report.errors > 0


@pytest.mark.parametrize("documented", [False, True])
def test_a_draft_without_a_superblock_is_announced(documented: bool) -> None:
    given = store(documented, superblock=False)
    form = registry.detect_store(given)
    assert form is not None
    assert form.name == "zarr3"
    found, said = opened(given)
    assert sum(each.code == "draft-layout" for each in said) == 4
    assert [each.name for each in found.dataset.groups] == ["g"]


def test_members_outside_of_the_attributes_are_announced() -> None:
    document = {**group(_nczarr_superblock=SUPERBLOCK), "_nczarr_group": {"dimensions": {"x": 2}}}
    _, said = opened(MemoryStore({"zarr.json": json.dumps(document).encode()}))
    assert [(each.code, each.primary.pointer) for each in said] == [("draft-layout", "/_nczarr_group")]


@pytest.mark.parametrize("value", ["x", 5, None, True])
def test_an_attribute_of_the_same_name_is_a_user_s(value: Any) -> None:
    document = group(_nczarr_attrs=value)
    found, said = opened(MemoryStore({"zarr.json": json.dumps(document).encode()}))
    assert said == []
    assert [each.name for each in found.dataset.attributes] == ["_nczarr_attrs"]
