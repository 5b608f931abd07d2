"""The document of Awkward 0.x persistence that a ragged variable has beside its arrays, in every store of arrays."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import nczarr

TYPES = """netcdf r { types: float(*) row ; row(*) rows ; compound pt { int x ; double y(2) ; } ; pt(*) pts ;
  compound ev { int id ; row w ; row two(2) ; pt p(2) ; } ; string(*) words ;
dimensions: n = 3 ; m = 2 ; z = unlimited ; variables: """
CASES: dict[str, tuple[str, Any]] = {
    "lists": ("row v(n) ; data: v = {1, 2}, {}, {3} ;", [[1, 2], [], [3]]),
    "lists of lists": (
        "rows v(n) ; data: v = {{1, 2}, {3}}, {}, {{}, {4}} ;",
        [[[1, 2], [3]], [], [[], [4]]],
    ),
    "records": ("pts v(n) ; data: v = {{1, {2, 3}}}, {}, {{4, {5, 6}}} ;", [[(1, [2, 3])], [], [(4, [5, 6])]]),
    "two dimensions": ("row v(n, m) ; data: v = {1}, {}, {2, 3}, {}, {}, {4} ;", [[1], [], [2, 3], [], [], [4]]),
    "chunks": (
        "row v(n, m) ; v:_ChunkSizes = 1, 1 ; data: v = {1}, {}, {2, 3}, {}, {}, {4} ;",
        [[1], [], [2, 3], [], [], [4]],
    ),
    "no content": ("row v(n) ; data: v = {}, {}, {} ;", [[], [], []]),
    "records in parts": (
        "ev v(m) ; data: v = {1, {2}, {{3}, {4, 5}}, {{6, {7, 8}}, {9, {1, 2}}}}, "
        "{2, {}, {{}, {}}, {{0, {0, 0}}, {0, {0, 0}}}} ;",
        {
            "id": [1, 2],
            "w": [[2], []],
            "two": [[[3], [4, 5]], [[], []]],
            "p": [[(6, [7, 8]), (9, [1, 2])], [(0, [0, 0]), (0, [0, 0])]],
        },
    ),
}


def keys(text: str, form: str = "nczarr") -> Mapping[str, bytes]:
    return nczarr.from_cdl(TYPES + text + " }").to_keys(form)


def values(made: Any, store: Mapping[str, bytes]) -> Any:
    """What an expression means, by the contract alone: nothing of ours takes part."""
    if "json" in made:
        return made["json"]
    if "read" in made:
        assert made["absolute"] is True
        return store[made["read"]]
    if "dtype" in made:
        return np.dtype(_tuples(made["dtype"]))
    if "list" in made:
        return [values(each, store) for each in made["list"]]
    if "pairs" in made:
        return {name: values(each, store) for name, each in made["pairs"]}
    args = [values(each, store) for each in made["args"]]
    match made["call"]:
        case ["awkward0", "numpy", "frombuffer"]:
            return np.frombuffer(*args)
        case ["zlib", "decompress"]:
            return zlib.decompress(*args)
        case ["awkward0", "ChunkedArray"]:
            assert [len(piece) for piece in args[0]] == args[1]
            return np.concatenate(args[0])
        case ["awkward0", "Table", "frompairs"]:
            return {name: plain(column) for name, column in args[0].items()}
        case ["awkward0", "JaggedArray", "fromcounts"]:
            counts, content = args
            assert counts.sum() == len(content)
            ends = np.cumsum(counts.reshape(-1)).tolist()
            lists = [plain(content[end - count : end]) for end, count in zip(ends, counts.reshape(-1), strict=True)]
            width = counts.shape[1] if counts.ndim > 1 else 0
            return [lists[at : at + width] for at in range(0, len(lists), width)] if width else lists
    raise AssertionError(made)


def _tuples(written: Any) -> Any:
    if not isinstance(written, list):
        return written
    items = [_tuples(each) for each in written]
    last = written[-1]
    shape = isinstance(last, list) and all(isinstance(each, int) for each in last)
    return tuple(items) if shape or isinstance(written[0], str) else items


def plain(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        array = array.tolist()
    if isinstance(array, np.void | tuple):
        return tuple(plain(each) for each in array)
    return [plain(each) for each in array] if isinstance(array, list) else array


def document(store: Mapping[str, bytes], variable: str = "v") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(store[f"{variable}/.awkward0/schema.json"].decode("ascii"))
    return found


@pytest.mark.parametrize("form", ["nczarr", "zarr2", "zarr3", "nczarr3"])
@pytest.mark.parametrize("case", list(CASES))
def test_values_are_where_the_document_says(case: str, form: str, tmp_path: Any) -> None:
    text, expected = CASES[case]
    dataset = nczarr.from_cdl(TYPES + text + " }")
    for codecs in (None, "deflate:1"):
        target = tmp_path / f"{codecs}.zarr"
        nczarr.write(dataset, target, format=form, codecs=codecs or "none", allow_loss=["all"])
        store = {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}
        assert plain(values(document(store)["schema"], store)) == expected


def test_what_a_document_says_of_the_variable() -> None:
    made = document(keys(CASES["two dimensions"][0]))
    assert made["metadata"] == {"variable": "/v", "shape": [3, 2]}
    assert "prefix" not in made
    ids = [each["id"] for each in _calls(made["schema"])]
    assert ids == list(range(len(ids)))


def _calls(made: Any) -> list[dict[str, Any]]:
    """Calls with an id, depth first."""
    found = [made] if isinstance(made, dict) and "id" in made else []
    below = made.values() if isinstance(made, dict) else made if isinstance(made, list) else ()
    return [*found, *(call for each in below for call in _calls(each))]


@pytest.mark.parametrize(
    "text",
    [
        "row v(m, n) ; v:_ChunkSizes = 2, 1 ; data: v = {1}, {2}, {3}, {4}, {5}, {6} ;",
        'words v(n) ; data: v = {"a"}, {}, {"b", "c"} ;',
        'row v(n) ; v:_ChunkSizes = 3 ; v:_Filter = "32015,3" ; data: v = {1}, {}, {} ;',
    ],
    ids=["across rows", "texts", "zstd"],
)
def test_chunks_that_are_not_what_they_hold_have_no_document(text: str) -> None:
    assert not [key for key in keys(text, "nczarr3") if ".awkward0" in key]


def test_a_variable_without_cells_has_none() -> None:
    assert not [key for key in keys("row v(z) ;") if ".awkward0" in key]


def test_records_are_tables_where_asked(tmp_path: Any) -> None:
    dataset = nczarr.from_cdl(TYPES + CASES["records"][0] + " }")
    nczarr.write(dataset, tmp_path / "s.zarr", tables=True)
    store = {str(path.relative_to(tmp_path / "s.zarr")): path.read_bytes() for path in tmp_path.rglob("*/[0-9]*")}
    made = json.loads((tmp_path / "s.zarr/v/.awkward0/schema.json").read_text())
    assert made["prefix"] == "v/.awkward0/"
    counts, table = made["schema"]["args"]
    assert counts["args"][0] == {"read": "v/counts/0", "absolute": True}
    assert table["call"] == ["awkward0", "Table", "frompairs"]
    columns = {name: each["args"] for name, each in table["args"][0]["pairs"]}
    assert {name: args[1:] for name, args in columns.items()} == {
        "x": [{"dtype": "<i4"}, {"json": 2}],
        "y": [{"dtype": ["<f8", [2]]}, {"json": 2}],
    }
    assert np.frombuffer(store[made["prefix"] + columns["x"][0]["read"]], "<i4").tolist() == [1, 4]
    assert np.frombuffer(store[made["prefix"] + columns["y"][0]["read"]], "<f8").tolist() == [2, 3, 5, 6]
    assert nczarr.diff(dataset, tmp_path / "s.zarr") == []


def test_content_of_zeros_is_there() -> None:
    store = keys("row v(n) ; data: v = {0, 0}, {}, {0} ;")
    assert store["v/content/0"] == bytes(12)


def test_shards_have_no_document(tmp_path: Any) -> None:
    dataset = nczarr.from_cdl(TYPES + "row v(n) ; data: v = {1}, {2}, {3} ; }")
    nczarr.write(dataset, tmp_path / "s.zarr", format="nczarr3", shards="auto", chunks={"/v": (1,)})
    assert not list((tmp_path / "s.zarr").rglob(".awkward0"))


def test_it_is_not_read_back(tmp_path: Any) -> None:
    dataset = nczarr.from_cdl(TYPES + CASES["lists"][0] + " }")
    nczarr.write(dataset, tmp_path / "s.zarr")
    (tmp_path / "s.zarr" / "v" / ".awkward0" / "schema.json").write_text("nothing")
    assert nczarr.diff(dataset, nczarr.open(tmp_path / "s.zarr")) == []


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr", "nczarr3"])
def test_consolidated_metadata_have_documents_of_nodes_alone(form: str) -> None:
    """zarr-python opens no store whose consolidated metadata have another document."""
    dataset = nczarr.from_cdl(TYPES + "row v(n) ; pts p(n) ; int i(n) ; data: v = {1, 2}, {}, {3} ; }")
    store = dataset.to_keys(form, consolidated=True, tables=True, allow_loss=["all"])
    assert "v/.awkward0/schema.json" in store
    if form.endswith("3"):
        found = json.loads(store["zarr.json"])["consolidated_metadata"]["metadata"]
        nodes = {key.removesuffix("/zarr.json") for key in store if key.endswith("/zarr.json")}
    else:
        found = json.loads(store[".zmetadata"])["metadata"]
        nodes = {key for key in store if key.rpartition("/")[2] in (".zarray", ".zattrs", ".zgroup")}
    assert set(found) == nodes
