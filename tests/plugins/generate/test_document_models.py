"""JSON Schemas and models of pydantic accept the documents of every writer, and refuse planted faults."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from tests.support.generated import HOSTILE, find_sample, load_program

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

STATION = find_sample("01").read_text("utf-8")


def list_stores(schema: nczarr.DatasetHandle, folder: Path, *, others: bool = True) -> list[Path]:
    """Write the stores of the compiler, and with `others` those of zarr-python and xarray where they can be made."""
    for format_name in ("nczarr", "zarr2", "nczarr3", "zarr3"):
        nczarr.write(schema, folder / format_name, format=format_name, allow_loss=["all"])
    for zarr_format in (2, 3) if others else ():
        try:
            program = load_program(nczarr.generate("python-zarr", schema))
            program["write"](program["create"](str(folder / f"zarr-python-{zarr_format}"), zarr_format))
            made = load_program(nczarr.generate("xarray", schema))["create"](target="zarr")
            made.to_zarr(folder / f"xarray-{zarr_format}", zarr_format=zarr_format, consolidated=False)
        except nczarr.CompileError:
            continue
    return sorted(folder.iterdir())


def read_documents(store: Path) -> dict[str, Any]:
    """Return the documents of a store by key."""
    wanted = {".zarray", ".zgroup", ".zattrs", "zarr.json"}
    paths = [path for path in store.rglob("*") if path.name in wanted]
    return {path.relative_to(store).as_posix(): json.loads(path.read_text("utf-8")) for path in paths}


FAULTS: list[tuple[str, str, list[str], Any]] = [
    ("temperature/zarr.json", "temperature/.zarray", ["shape"], [3, 4]),
    ("temperature/zarr.json", "temperature/.zarray", ["shape"], [3]),
    ("temperature/zarr.json", "temperature/.zarray", ["shape"], [-1, 3]),
    ("temperature/zarr.json", "temperature/.zarray", ["fill_value"], 0),
    ("lat/zarr.json", "lat/.zarray", ["data_type", "dtype"], "int32"),
    ("lat/zarr.json", "lat/.zattrs", ["attributes", "units"], "degrees_south"),
    ("lat/zarr.json", "lat/.zattrs", ["attributes", "units"], None),
    ("lat/zarr.json", "lat/.zattrs", ["dimension_names", "_ARRAY_DIMENSIONS"], ["place"]),
    ("zarr.json", ".zattrs", ["attributes", "Conventions"], "CF-1.9"),
    ("zarr.json", ".zgroup", ["zarr_format"], 1),
]
"""Documents of Zarr v3 and v2, member, and what is planted there; None removes it."""


def plant(documents: dict[str, Any], fault: tuple[str, str, list[str], Any]) -> dict[str, Any]:
    """Return documents with a fault."""
    changed = copy.deepcopy(documents)
    version = 3 if "zarr.json" in documents else 2
    place, members = changed[fault[0] if version == 3 else fault[1]], fault[2]
    if version == 3 and members[0] == "attributes":
        place = place["attributes"]
    name = members[0] if version == 3 and members[0] != "attributes" else members[-1]
    assert name in place
    if fault[3] is None:
        del place[name]
    else:
        place[name] = fault[3]
    return changed


def nest(documents: dict[str, Any], folder: str = "") -> dict[str, Any]:
    """Return the documents of a node with those of its members, as pydantic-zarr has them."""
    if f"{folder}zarr.json" in documents:
        key, node = "zarr.json", dict(documents[f"{folder}zarr.json"])
        node.setdefault("attributes", {})
        is_group = node["node_type"] == "group"
    else:
        is_group = f"{folder}.zgroup" in documents
        key = ".zgroup" if is_group else ".zarray"
        node = documents[folder + key] | {"attributes": documents.get(f"{folder}.zattrs", {})}
    if is_group:
        keys = [path.removeprefix(folder).split("/") for path in documents if path.startswith(folder)]
        names = {parts[0] for parts in keys if len(parts) == 2 and parts[1] != ".zattrs"}
        node["members"] = {name: nest(documents, f"{folder}{name}/") for name in names}
    return node


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (STATION, 4),
        pytest.param(STATION, 8, marks=pytest.mark.long),
        pytest.param(HOSTILE, 4, marks=pytest.mark.long),
    ],
    ids=["compiled", "every", "hostile"],
)
def test_documents_of_every_writer_conform(
    text: str, count: int, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    jsonschema = peer("jsonschema")
    if count == 8:
        peer("zarr"), peer("xarray")
    schema = nczarr.from_cdl(text)
    [document] = (json.loads(found) for found in nczarr.generate("json-schema", schema).values())
    jsonschema.Draft202012Validator.check_schema(document)
    validator = jsonschema.Draft202012Validator(document)
    modules = list(nczarr.generate("pydantic", schema).items())
    models = {name[-4]: load_program({name: content}) for name, content in modules}
    stores = list_stores(schema, tmp_path, others=count == 8)
    assert len(stores) == count
    for store in stores:
        documents = read_documents(store)
        validator.validate(documents)
        version = "3" if "zarr.json" in documents else "2"
        model = models[version]["Station" if text == STATION else "Hostile"]
        read_node = models[version]["read_node"]
        assert read_node(str(store)) == read_node(store)
        checked = model.model_validate(read_node(store))
        assert checked.model_dump(by_alias=True)["zarr_format"] == int(version)
        if text == STATION:
            model.model_validate(nest(documents))
            for fault in FAULTS:
                changed = plant(documents, fault)
                assert not validator.is_valid(changed), (store.name, fault)
                with pytest.raises(ValueError, match="validation error"):
                    model.model_validate(nest(changed))


@pytest.mark.long
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_models_have_the_form_of_pydantic_zarr(
    zarr_format: int, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    library, zarr = peer(f"pydantic_zarr.v{zarr_format}"), peer("zarr")
    schema = nczarr.open(find_sample("02"))
    nczarr.write(schema, tmp_path / "a.zarr", format=f"zarr{zarr_format}", allow_loss=["all"])
    found = library.GroupSpec.from_zarr(zarr.open_group(tmp_path / "a.zarr", mode="r", zarr_format=zarr_format))
    files = nczarr.generate("pydantic", schema)
    model = load_program({name: text for name, text in files.items() if name.endswith(f"_v{zarr_format}.py")})["Grid"]
    model.model_validate(found.model_dump())
    changed = found.model_dump()
    changed["members"]["surface"]["members"]["mask"]["shape"] = (4, 7)
    with pytest.raises(ValueError, match=r"surface\.members\.mask\.shape"):
        model.model_validate(changed)


@pytest.mark.long
@pytest.mark.parametrize("number", ["02", "04", "06", "07", "08"])
def test_documents_of_samples_conform(number: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    jsonschema = peer("jsonschema")
    peer("zarr"), peer("xarray")
    schema = nczarr.open(find_sample(number))
    [document] = (json.loads(found) for found in nczarr.generate("json-schema", schema).values())
    for store in list_stores(schema, tmp_path):
        jsonschema.Draft202012Validator(document).validate(read_documents(store))
    for name, content in nczarr.generate("pydantic", schema).items():
        model = load_program({name: content})
        top = next(one for one in model.values() if getattr(one, "__doc__", "") == "/." and "Spec" in str(one.__mro__))
        top.model_validate(model["read_node"](tmp_path / ("nczarr" if name.endswith("_v2.py") else "zarr3")))
