"""Documents with other lengths: only the numbers change, in every generation of metadata."""

from __future__ import annotations

import json

import pytest

from nczarr.formats.zarr.core.resize import edit_integers, resize
from nczarr.stores.memory import MemoryStore
from nczarr.syntax.json.positions import Path, Places


def test_only_the_numbers_change() -> None:
    text = '{"shape" : [ 10,\t20], "fill_value": 1.5000e400, "note": "shape [10]", "é": NaN}'
    assert edit_integers(text.encode(), [(("shape", 0), 1234)]) == text.replace("[ 10,", "[ 1234,").encode()


def test_paths_that_do_not_exist_are_left() -> None:
    data = b'{"shape": [3], "dims": {"t": {"size": 3, "unlimited": 1}}}'
    edits = [(("shape", 1), 9), (("dims", "t"), 9), (("dims", "u"), 9), (("dims", "t", "size"), 9)]
    assert edit_integers(data, edits) == data.replace(b'"size": 3', b'"size": 9')


def test_a_document_that_is_not_json() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        edit_integers(b"{shape", [(("shape", 0), 1)])


GENERATIONS = {
    ".nczgroup": {"dims": {"t": 3}},
    ".zgroup": {"zarr_format": 2, "_NCZARR_GROUP": {"dims": {"t": 3}}},
    ".zattrs": {"_nczarr_group": {"dimensions": {"t": {"size": 3, "unlimited": 1}}}},
    "zarr.json": {"attributes": {"_nczarr_group": {"dimensions": {"t": 3}}}},
}


@pytest.mark.parametrize("prefix", ["", "g/"])
@pytest.mark.parametrize("name", GENERATIONS)
def test_dimensions_of_every_generation(name: str, prefix: str) -> None:
    text = json.dumps(GENERATIONS[name])
    store = MemoryStore({prefix + name: text.encode()})
    found = resize(store, {}, {(prefix, "t"): 7})
    assert found == {prefix + name: text.replace(": 3", ": 7").encode()}


def test_consolidated_metadata() -> None:
    array = {"zarr_format": 2, "shape": [3, 4]}
    content = {
        "g/v/.zarray": array,
        "g/.zmetadata": {"metadata": {"v/.zarray": array}},
        ".zmetadata": {"metadata": {"g/v/.zarray": array, "w/.zarray": array}},
    }
    store = MemoryStore({key: json.dumps(document).encode() for key, document in content.items()})
    found = resize(store, {"g/v/": (5, 4)}, {})
    assert found.keys() == content.keys()
    assert json.loads(found[".zmetadata"])["metadata"] == {
        "g/v/.zarray": {**array, "shape": [5, 4]},
        "w/.zarray": array,
    }


def test_consolidated_metadata_of_version_3() -> None:
    array = {"node_type": "array", "shape": [3]}
    root = {"node_type": "group", "consolidated_metadata": {"metadata": {"g/v": array}}}
    store = MemoryStore({"zarr.json": json.dumps(root).encode(), "g/v/zarr.json": json.dumps(array).encode()})
    found = resize(store, {"g/v/": (8,)}, {})
    assert json.loads(found["zarr.json"])["consolidated_metadata"]["metadata"]["g/v"]["shape"] == [8]
    assert json.loads(found["g/v/zarr.json"])["shape"] == [8]


@pytest.mark.parametrize("version", [2, 3])
def test_many_arrays_cost_one_copy_of_the_consolidated_document(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document is copied and encoded once, not once for each array."""
    array, names = {"shape": [3], "é": 1}, [f"v{number}" for number in range(300)]
    key, suffix = (".zmetadata", "/.zarray") if version == 2 else ("zarr.json", "")
    nodes = {"metadata": {name + suffix: array for name in names}}
    root = nodes if version == 2 else {"consolidated_metadata": nodes}
    encoded: list[Path] = []
    monkeypatch.setattr(Places, "start", lambda self, path: encoded.append(path))
    found = resize(
        MemoryStore({key: json.dumps(root, ensure_ascii=False).encode()}), {f"{name}/": (5,) for name in names}, {}
    )
    after = json.loads(found[key])
    assert all(
        each == {"shape": [5], "é": 1} for each in (after.get("consolidated_metadata") or after)["metadata"].values()
    )
    assert not encoded  # `start` encodes all of the text before the place


def test_lengths_in_a_text_change() -> None:
    group = {"dimensions": {"t": {"size": 3, "unlimited": 1}, "x": 3}}
    hidden = json.dumps({"group": group, "attr": {"é": "t"}}, ensure_ascii=False)
    written = json.dumps({"attributes": {"note": "3", "_nczarr": hidden}}, ensure_ascii=False).encode()
    store = MemoryStore({"zarr.json": written})
    changed = resize(store, {}, {("", "t"): 12})
    group["dimensions"]["t"] = {"size": 12, "unlimited": 1}
    read = json.loads(json.loads(changed["zarr.json"])["attributes"]["_nczarr"])
    assert read == {"group": group, "attr": {"é": "t"}}
    assert len(changed["zarr.json"]) == len(written) + 1
    assert resize(store, {}, {("", "t"): 3}) == {}
