"""Stores of netCDF-C's draft of NCZarr on Zarr v3, in the layouts of its code and of its documentation."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from nczarr import registry
from nczarr.api.handle import DatasetHandle
from nczarr.ast import Attribute, Group
from nczarr.ast.dataset import groups
from nczarr.diagnostics.report import Diagnostic, Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked
from nczarr.stores.memory import MemoryStore
from tests.support import draft_3068

SUPERBLOCK = {"version": "3.0.0"}


def attributes(given: tuple[Attribute, ...]) -> dict[str, tuple[str, Any]]:
    """Attributes in the form of the independent reader."""
    found: dict[str, tuple[str, Any]] = {}
    for each in given:
        value: Any
        if each.value.type == "char":
            assert isinstance(each.value.data, bytes)
            value = each.value.data.decode()
        elif each.value.type == "string":
            value = [item.decode() for item in each.value.data if isinstance(item, bytes)]
        else:
            value = [repr(number) for number in each.value.as_numbers()]
        found[each.name] = each.value.type, value
    return found


def as_read(dataset: DatasetHandle, group: Group, path: str) -> dict[str, Any]:
    """Return a group of a dataset in the form of the independent reader."""
    inside = "" if path == "/" else path
    arrays = {}
    for each in group.variables:
        values = dataset[f"{inside}/{each.name}"][...]
        assert each.type != "string" or values.dtype == object
        listed = values.tolist()
        if each.type == "string":
            listed = [item if isinstance(item, bytes) else str(item).encode() for item in listed]
        arrays[each.name] = {
            "type": each.type,
            "dimensions": list(each.dimensions),
            "attributes": attributes(each.attributes),
            "no_fill": each.storage.no_fill,
            "values": listed,
        }
    return {
        "dimensions": {each.name: (each.size, each.unlimited) for each in group.dimensions},
        "attributes": attributes(group.attributes),
        "arrays": arrays,
        "groups": {each.name: as_read(dataset, each, f"{inside}/{each.name}") for each in group.groups},
    }


def json_as_texts(found: Any, wanted: Any) -> Any:
    """Parse those char attributes that the independent reader has as JSON."""
    if isinstance(found, dict):
        return {name: json_as_texts(each, wanted.get(name)) for name, each in found.items()}
    if isinstance(found, tuple) and isinstance(wanted, tuple) and not isinstance(wanted[1], str) and found[0] == "char":
        return found[0], json.loads(found[1])
    return found


@pytest.mark.parametrize("documented", [False, True])
def test_both_layouts_are_read_without_loss(
    tmp_path: Path, documented: bool, peer: Callable[[str], ModuleType]
) -> None:
    peer("zarr")
    draft_3068.make(tmp_path / "s", documented=documented)
    wanted = draft_3068.described(tmp_path / "s")
    with nczarr.open(tmp_path / "s") as dataset:
        assert [each.code for each in dataset.diagnostics] == []
        found = as_read(dataset, dataset.checked.dataset, "/")
    assert json_as_texts(found, wanted) == wanted


@pytest.mark.parametrize("documented", [False, True])
def test_a_conversion_keeps_the_whole_draft(
    tmp_path: Path, documented: bool, peer: Callable[[str], ModuleType]
) -> None:
    peer("zarr")
    draft_3068.make(tmp_path / "s", documented=documented)
    nczarr.convert(tmp_path / "s", tmp_path / "t.zarr", format="nczarr3")
    assert nczarr.diff(tmp_path / "s", tmp_path / "t.zarr") == []
    root = json.loads((tmp_path / "t.zarr" / "zarr.json").read_text())["attributes"]
    assert "nczarr" in json.loads(root["_nczarr"])["superblock"]
    assert "_nczarr_attrs" not in root


# ---- single documents ------------------------------------------------------------------------------------------------
def array(hidden: dict[str, Any] | None = None, types: Any = None, **members: Any) -> dict[str, Any]:
    attributes = members.pop("attributes", {})
    own = {"dimension_references": ["/x"], **(hidden or {})}
    typed = {} if types is None else {"_nczarr_attrs": {"attribute_types": types}}
    return {
        "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}],
        "attributes": {**attributes, "_nczarr_array": own, **typed}, **members,
    }  # fmt: skip


def group(**attributes: Any) -> dict[str, Any]:
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def root(**members: Any) -> dict[str, Any]:
    lists = {"dimensions": {"x": 2}, "arrays": ["v"], "groups": []}
    return group(_nczarr_superblock=SUPERBLOCK, _nczarr_group={**lists, **members})


def store(**documents: Any) -> MemoryStore:
    """A store of documents by path; `/` in a path is written as `__`, and the root is `root`."""
    paths = {name: "" if name == "root" else name.replace("__", "/") + "/" for name in documents}
    return MemoryStore({paths[name] + "zarr.json": json.dumps(each).encode() for name, each in documents.items()})


def opened(given: MemoryStore) -> tuple[Checked, list[Diagnostic]]:
    report = Report()
    found = phases.read(given, report, Options.of(allow_loss=frozenset({"all"})))
    assert found is not None
    return found, report.list_sorted()


def places(said: list[Diagnostic]) -> list[tuple[str, str | None, str | None]]:
    return [(each.code, each.primary.key, each.primary.pointer) for each in said]


ATTRS = "/attributes/_nczarr_attrs/attribute_types"
ARRAY = "/attributes/_nczarr_array"
GROUP = "/attributes/_nczarr_group"


@pytest.mark.parametrize(
    ("documents", "where"),
    [
        ({"root": root(), "v": array({"nczarr_type": "char"}, data_type="int16")}, [("v", f"{ARRAY}/nczarr_type")]),
        ({"root": root(), "v": array({"type_alias": "opaque"})}, [("v", f"{ARRAY}/type_alias")]),
        (
            {"root": root(), "v": array({"nczarr_type": "char", "type_alias": "json"})},
            [("v", f"{ARRAY}/type_alias")],
        ),
        ({"root": root(), "v": array({"scalar": 1})}, [("v", f"{ARRAY}/scalar")]),
        ({"root": root(), "v": array({"storage": "striped"})}, [("v", f"{ARRAY}/storage")]),
        ({"root": root(), "v": array({"more": 1})}, [("v", f"{ARRAY}/more")]),
        ({"root": root(), "v": array(types={"n": "int16"})}, [("v", f"{ATTRS}/n")]),
        ({"root": root(), "v": array(types={}, attributes={"n": 1})}, [("v", "/attributes/n")]),
        ({"root": root(), "v": array(types={"n": "quad"}, attributes={"n": 1})}, [("v", f"{ATTRS}/n")]),
        ({"root": root(), "v": array(types={"n": ["int8"]}, attributes={"n": 1})}, [("v", f"{ATTRS}/n")]),
        ({"root": root(), "v": array(types={"n": "string"}, attributes={"n": 1})}, [("v", f"{ATTRS}/n")]),
        (
            {"root": root(), "v": array(types={"_FillValue": "int16"}, attributes={"_FillValue": 1})},
            [("v", f"{ATTRS}/_FillValue")],
        ),
        ({"root": root(dimensions={"x": {"size": 2, "unlimited": 7}}), "v": array()},
         [("", f"{GROUP}/dimensions/x/unlimited")]),
        ({"root": root(dimensions=[{"name": "x", "size": 2, "kind": "time"}]), "v": array()},
         [("", f"{GROUP}/dimensions/0/kind")]),
        ({"root": root(arrays=[]), "v": array()}, [("", GROUP)]),
        ({"root": root(groups=["g"], subgroups=["h"]), "v": array(), "g": group(), "h": group()},
         [("", f"{GROUP}/subgroups")]),
        ({"root": root(more=[]), "v": array()}, [("", f"{GROUP}/more")]),
        ({"root": group(_nczarr_superblock={"version": "2.0.0"}, _nczarr_group=root()["attributes"]["_nczarr_group"]),
          "v": array()}, [("", "/attributes/_nczarr_superblock/version")]),
    ],
)  # fmt: skip
def test_contradictions_are_reported_where_they_are(documents: Any, where: list[tuple[str, str]]) -> None:
    found, said = opened(store(**documents))
    wanted = [("draft-conflict", f"{name}/zarr.json" if name else "zarr.json", place) for name, place in where]
    assert places(said) == wanted
    assert list(found.variables) == ["/v"]
    assert found.variables["/v"].dimensions == ("/x",)


@pytest.mark.parametrize(
    ("documents", "wanted"),
    [
        (
            {"root": root(dimensions=[{"size": 2}, {"name": "x", "size": 2}, "y"]), "v": array()},
            [("bad-metadata", f"{GROUP}/dimensions/0"), ("bad-metadata", f"{GROUP}/dimensions/2")],
        ),
        (
            {"root": root(dimensions=[{"name": "x", "size": 2}, {"name": "x", "size": 3}]), "v": array()},
            [("duplicate-name", f"{GROUP}/dimensions/1")],
        ),
        (
            {"root": root(dimensions={"x": {"size": 2}, "y": {"size": -1}, "z": {"size": 1.5}}), "v": array()},
            [("bad-metadata", f"{GROUP}/dimensions/y"), ("bad-metadata", f"{GROUP}/dimensions/z")],
        ),
        ({"root": root(subgroups="g"), "v": array()}, [("bad-metadata", f"{GROUP}/subgroups")]),
    ],
)
def test_invalid_members_of_a_group_are_lost_aloud(documents: Any, wanted: list[tuple[str, str]]) -> None:
    found, said = opened(store(**documents))
    assert [(each.code, each.primary.pointer) for each in said if each.code != "draft-conflict"] == wanted
    assert found.variables["/v"].dimensions == ("/x",)
    strict = Report()
    phases.read(store(**documents), strict, Options())
    assert strict.errors == len(wanted)


@pytest.mark.parametrize("types", ["x", 5, None, True, [["n", "int8"]], [{"name": "n"}]])
def test_invalid_attribute_types_are_lost_aloud(types: Any) -> None:
    document = root(arrays=[])
    document["attributes"] |= {"n": 1, "_nczarr_attrs": {"attribute_types": types}}
    found, said = opened(store(root=document))
    assert {each.code for each in said} == {"bad-metadata", "draft-conflict"}
    assert [each.name for each in found.dataset.attributes] == ["n"]


def test_the_notations_may_be_mixed() -> None:
    """Half of a store in one notation, half in the other."""
    document = root(dimensions={"x": {"size": 2, "unlimited": 1}}, subgroups=["g"], groups=["g"])
    document["attributes"] |= {"n": 1, "_nczarr_attrs": {"attribute_types": {"n": "int8"}}}
    types = [{"name": "m", "configuration": {"type": "uint64"}}]
    inner = group(
        _nczarr_group={"dimensions": [{"name": "y", "size": 2, "unlimited": 0}], "arrays": ["w"], "subgroups": []},
        _nczarr_attrs={"attribute_types": types}, m=1,
    )  # fmt: skip
    own = {"dimension_references": ["/g/y"], "type_alias": "char"}
    found, said = opened(
        store(root=document, v=array({"nczarr_type": "char"}), g=inner, g__w=array(own, types=[], attributes={}))
    )
    assert said == []
    assert {name: each.type for name, each in found.variables.items()} == {"/v": "char", "/g/w": "char"}
    assert [each.value.type for each in found.dataset.attributes] == ["byte"]
    assert [each.value.type for each in found.dataset.groups[0].attributes] == ["uint64"]
    assert found.variables["/g/w"].dimensions == ("/g/y",)


def test_a_group_without_metadata_has_the_nodes_of_the_store() -> None:
    plain = {key: each for key, each in array().items() if key != "attributes"}
    documents = {
        "root": root(groups=["g"]), "v": {**plain, "dimension_names": ["x"]}, "g": group(),
        "g__w": {**plain, "dimension_names": ["x"]},
    }  # fmt: skip
    found, said = opened(store(**documents))
    assert said == []
    assert {name: each.dimensions for name, each in found.variables.items()} == {"/v": ("/x",), "/g/w": ("/x",)}


@pytest.mark.parametrize(
    ("data_type", "alias", "fill", "wanted"),
    [
        ("uint8", "char", "x", b"x"),
        ("uint8", "char", 120, b"x"),
        ("r32", "string", "ab", b"ab"),
        ("r32", "string", [97, 98, 0, 0], b"ab"),
        ("r32", None, "ab", b"ab"),
    ],
)
def test_fill_values_of_texts(data_type: str, alias: str | None, fill: Any, wanted: bytes) -> None:
    hidden = {} if alias is None else {"nczarr_type": alias}
    found, said = opened(store(root=root(), v=array(hidden, data_type=data_type, fill_value=fill)))
    assert said == []
    assert found.variables["/v"].type == ("char" if alias == "char" else "string")
    assert found.parts["/v"][""].layout.fill == wanted


@pytest.mark.parametrize("fill", ["too long", 256, 1.5, [300], {}])
def test_invalid_fill_values_of_texts_are_reported(fill: Any) -> None:
    _, said = opened(store(root=root(), v=array({"nczarr_type": "char"}, fill_value=fill)))
    assert places(said) == [("bad-metadata", "v/zarr.json", "/fill_value")]


@pytest.mark.parametrize("layout", ["contiguous", "compact", "chunked"])
def test_the_declared_storage_is_read(layout: str) -> None:
    found, said = opened(store(root=root(), v=array({"storage": layout})))
    assert said == []
    assert found.variables["/v"].storage.layout == (None if layout == "chunked" else layout)


# ---- draft or not ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("documented", [False, True])
def test_a_group_of_a_draft_opened_alone_is_of_the_draft(
    tmp_path: Path, documented: bool, peer: Callable[[str], ModuleType]
) -> None:
    peer("zarr")
    draft_3068.make(tmp_path / "s", documented=documented)
    with nczarr.open(tmp_path / "s" / "g") as dataset:
        assert attributes(dataset.checked.dataset.attributes) == {"n": ("short", ["1", "2", "3"])}
        assert [each.name for _, each in groups(dataset.checked.dataset)][1:] == ["h"]
    with nczarr.open(tmp_path / "s" / "c") as dataset:
        (variable,) = dataset.checked.dataset.variables
        assert variable.type == "char"
        assert attributes(variable.attributes) == {"_FillValue": ("char", "x"), "n": ("short", ["5"])}


def ours() -> dict[str, Any]:
    return group(
        _nczarr_superblock={**SUPERBLOCK, "format": 3, "nczarr": {}},
        _nczarr_group={"dimensions": {"x": 2}, "arrays": ["v"], "groups": []},
    )


@pytest.mark.parametrize("first", [ours(), group()])
def test_a_draft_below_another_root_is_announced(first: dict[str, Any]) -> None:
    given = store(root=first, v=array({"nczarr_type": "char"}, {"n": "int16"}, attributes={"n": 5}))
    found, said = opened(given)
    told = [each for each in said if each.code == "draft-layout"]
    assert {each.primary.pointer for each in told} == {"/attributes/_nczarr_attrs", f"{ARRAY}/nczarr_type"}
    assert found.variables["/v"].type == "ubyte"
    strict = Report()
    phases.read(given, strict, Options())
    assert strict.errors == 2


def test_our_own_superblock_is_not_of_the_draft() -> None:
    document = copy.deepcopy(ours())
    document["attributes"]["_nczarr_group"] |= {"arrays": [], "subgroups": ["g"]}
    _, said = opened(store(root=document))
    assert places(said) == [("draft-layout", "zarr.json", f"{GROUP}/subgroups")]


def test_members_outside_of_the_attributes_are_announced() -> None:
    document = {**group(_nczarr_superblock=SUPERBLOCK), "_nczarr_group": {"dimensions": {"x": 2}}}
    _, said = opened(store(root=document))
    assert places(said) == [("draft-layout", "zarr.json", "/_nczarr_group")]


@pytest.mark.parametrize("value", ["x", 5, None, True])
def test_an_attribute_of_the_same_name_is_a_user_s(value: Any) -> None:
    form = registry.detect_store(store(root=group(_nczarr_attrs=value)))
    assert form is not None
    assert form.name == "zarr3"
    found, said = opened(store(root=group(_nczarr_attrs=value)))
    assert said == []
    assert [each.name for each in found.dataset.attributes] == ["_nczarr_attrs"]


JUNK = (None, True, -1, 1.5, 2**70, "x", "", [], [None], [["x"]], {}, {"x": None}, {"name": 1})


def mutants(value: Any) -> Iterator[Any]:
    """Yield a document with one value at a time replaced by something else."""
    yield from JUNK
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        for changed in mutants(inner):
            made = copy.copy(value)
            made[key] = changed
            yield made


@pytest.mark.parametrize("documented", [False, True])
def test_no_document_of_a_draft_raises(documented: bool) -> None:
    """Every value of the hidden metadata, replaced by other JSON, is read or reported."""
    form = draft_3068.Form(documented)
    hidden = form.array(["/x"], "char")
    documents = {
        "root": group(
            _nczarr_superblock=form.superblock(), _nczarr_group=form.group({"x": (2, 1)}, ["v"], ["g"]),
            n=1, _nczarr_attrs=form.types({"n": "int8"}),
        ),
        "v": array(hidden, attributes={"m": "x", "_nczarr_attrs": form.types({"m": "string"})}),
        "g": group(_nczarr_group=form.group({"y": (1, 0)}, [], [])),
    }  # fmt: skip
    assert opened(store(**documents))[1] == []
    count = 0
    for name, document in documents.items():
        for member in [each for each in document["attributes"] if each.startswith("_nczarr_")]:
            for changed in mutants(document["attributes"][member]):
                attributes = {**document["attributes"], member: changed}
                report = Report()
                phases.read(store(**{**documents, name: {**document, "attributes": attributes}}), report, Options())
                assert {each.code for each in report.list_sorted()} <= KNOWN
                count += 1
        for changed in JUNK if name == "v" else ():
            for member in ("data_type", "fill_value", "shape", "dimension_names", "attributes"):
                phases.read(store(**{**documents, name: {**document, member: changed}}), Report(), Options())
    assert count > 400


KNOWN = {
    "bad-metadata", "draft-conflict", "draft-layout", "duplicate-name", "stale-extension", "unnamed-dimension",
    "unreadable-array",
}  # fmt: skip
