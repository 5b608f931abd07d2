"""What we write is read by awkward0 itself, in one process of an interpreter that has it (NCZARR_AWKWARD0)."""

from __future__ import annotations

import base64
import json
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nczarr
from nczarr.plugins.awkward0.columns import nodes as kinds
from nczarr.plugins.awkward0.columns.awkward2 import of_awkward, to_awkward
from nczarr.plugins.awkward0.columns.nodes import Column, Flat, ListNode, TableNode
from nczarr.plugins.awkward0.write.serialize import put, save, serialize
from tests.support.columns import columns, items, mark
from tests.support.peers.asked_awkward0 import asked

pytestmark = pytest.mark.peer


def written(obj: Any, **options: Any) -> dict[str, Any]:
    """What the reader is asked about an array that we write."""
    storage: dict[str, bytes] = {}
    serialize(obj, storage, **options)
    name = (options.get("name") or "") + (options.get("schemasuffix") or "")
    return {"name": name, "storage": {key: base64.b64encode(data).decode() for key, data in storage.items()}}


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::nczarr.plugins.awkward0.write.serialize.LostPartsWarning")
@pytest.mark.parametrize("compression", [None, True, "default", lzma.compress])
def test_columns_of_all_kinds(awkward0: str, compression: Any) -> None:
    made: list[Column] = []

    @settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
    @given(columns())
    def collect(column: Column) -> None:
        made.append(column)

    collect()
    answers = asked(awkward0, (written(each, compression=compression) for each in made))
    unlisted = 0
    for column, answer in zip(made, answers, strict=True):
        if answer.get("read"):  # awkward0 makes the array, and fails at some of its own slices of it
            unlisted += 1
            continue
        assert json.dumps(answer) == json.dumps({"value": items(column)}), column
    assert unlisted <= len(made) // 100


FLAT = Flat(np.arange(4.0))
BYTES = Flat(np.frombuffer(b"abcd", "u1"))
INDEX = np.array([0, 2, 1])
ONE_OF_EACH: dict[str, Column] = {
    "Flat": FLAT,
    "rows": Flat(np.zeros((3, 2), "<i4")),
    "structures": Flat(np.zeros(3, [("x", "<i4"), ("y", "<f8", (2,))])),
    "Lists": ListNode(np.array([0, 2, 2, 4]), FLAT),
    "Lists in Lists": ListNode(np.array([0, 2, 2, 3]), ListNode(np.array([0, 2, 2, 4]), FLAT)),
    "Spans": kinds.Spans(np.array([2, 0]), np.array([3, 2]), FLAT),
    "Texts": kinds.TextNode(ListNode(np.array([0, 1, 4]), BYTES)),
    "bytes": kinds.TextNode(kinds.Spans(np.array([2, 0]), np.array([3, 2]), BYTES), None),
    "Table": TableNode(("x", "y", "z"), (FLAT, FLAT, Flat(np.arange(4))), 4),
    "Masked": kinds.Masked(np.array([True, False, True, False]), FLAT),
    "BitMasked": kinds.BitMasked(np.array([5], "u1"), FLAT),
    "optional": kinds.Indexed(np.array([0, -1, 3]), FLAT, optional=True),
    "Indexed": kinds.Indexed(INDEX, FLAT),
    "Sparse": kinds.Sparse(9, INDEX[:2], Flat(np.arange(2.0)), 5.0),
    "Union": kinds.Union(np.array([0, 1, 0]), np.array([0, 0, 1]), (FLAT, BYTES)),
    "Union with index": kinds.Union(np.array([0, 1, 0]), np.array([1, 0, 0]), (FLAT, BYTES)),
    "Chunks": kinds.ArrayPieces((FLAT, Flat(np.arange(2.0)))),
}
CLASSES = "Jagged String Masked BitMasked IndexedMasked Indexed Sparse Union Chunked".split()
PARAMETERS = "content contents counts starts stops mask index tags chunk".split()
CONTEXTS = [*(f"{name}Array.*" for name in CLASSES), *(f"*.{name}" for name in PARAMETERS), "Table.*", "", "*"]


def plain(expression: Any, found: dict[int, Any]) -> Any:
    """A document without what may differ: ids of constants, references to them, and how types are spelled."""
    if isinstance(expression, list):
        return [plain(each, found) for each in expression]
    if not isinstance(expression, dict):
        return expression
    if "json" in expression:
        found[expression.get("id", -1)] = expression["json"]
        return {"json": expression["json"]}
    if "ref" in expression and expression["ref"] in found:
        return {"json": found[expression["ref"]]}
    if "dtype" in expression:
        return {"dtype": str(np.dtype(_tuples(expression["dtype"])).newbyteorder("="))}
    return {name: plain(each, found) for name, each in expression.items()}


def _tuples(described: Any) -> Any:
    if not isinstance(described, list):
        return described
    row = len(described) == 2 and isinstance(described[1], list) and all(isinstance(each, int) for each in described[1])
    if row or isinstance(described[0], str):
        return tuple(tuple(each) if row and each is described[1] else _tuples(each) for each in described)
    return [_tuples(each) for each in described]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_documents_and_compressed_contexts_are_those_of_awkward0(awkward0: str, name: str) -> None:
    """awkward0 reads what we write, and writes it again: the same forms, ids, names of blobs and compressed bytes."""
    column = ONE_OF_EACH[name]
    questions = [written(column) | {"contexts": pattern} for pattern in CONTEXTS]
    for pattern, answer in zip(CONTEXTS, asked(awkward0, questions), strict=True):
        theirs = {key: base64.b64decode(data) for key, data in answer["value"].items()}
        ours: dict[str, bytes] = {}
        serialize(column, ours, compression=[{"contexts": pattern, "pair": zlib.compress}])
        documents = [json.loads(each.pop("")) for each in (ours, theirs)]
        assert plain(documents[0]["schema"], {}) == plain(documents[1]["schema"], {}), pattern
        assert inflated(ours, documents[0]) == inflated(theirs, documents[1]), pattern


def test_an_array_that_encloses_itself(awkward0: str) -> None:
    around: list[Column] = []
    inside = kinds.Union(np.array([0, 1]), np.array([1, 0]), (kinds.BackReference(0, lambda: around[0]), FLAT))
    around.append(ListNode(np.array([0, 2, 2]), inside))
    assert asked(awkward0, [written(around[0])]) == [{"value": [[[], mark(0.0)], []]}]


def test_archives(awkward0: str, tmp_path: Path) -> None:
    save(tmp_path / "one", ONE_OF_EACH["Lists"])
    columns = {f"{n:02}": column for n, column in enumerate(ONE_OF_EACH.values())}
    save(tmp_path / "many", columns, compression=True)
    save(tmp_path / "many", FLAT, "later")
    one, many = asked(awkward0, [{"file": str(tmp_path / f"{name}.awkd")} for name in ("one", "many")])
    assert one == {"value": items(ONE_OF_EACH["Lists"])}
    wanted = (columns | {"later": FLAT}).items()
    assert many == {"value": {"record": [[name, items(each)] for name, each in wanted]}}


def test_groups_of_hdf5(awkward0: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    path = tmp_path / "x.h5"
    with peer("h5py").File(path, "w") as file:
        for name, column in ONE_OF_EACH.items():
            put(file, name, column, compression=True)
    answers = asked(awkward0, [{"hdf5": str(path), "name": name} for name in ONE_OF_EACH])
    if "No module named 'h5py'" in answers[0].get("error", ""):
        pytest.skip("peer h5py is not installed for the interpreter that has awkward0")
    assert answers == [{"value": items(column)} for column in ONE_OF_EACH.values()]


@pytest.mark.parametrize("value", [[1, [2.5, None], {"a": "ü"}], "text", 7, None])
def test_json(awkward0: str, value: Any) -> None:
    (answer,) = asked(awkward0, [written(value)])
    assert json.dumps(answer["value"]) == json.dumps(mark(value))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::nczarr.plugins.awkward0.write.serialize.LostPartsWarning")
def test_slices_of_arrays_of_awkward(awkward0: str, peer: Callable[[str], ModuleType]) -> None:
    peer("awkward")
    made: list[Any] = []

    @settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
    @given(columns(), st.integers(0, 6), st.sampled_from([1, 2, -1]), st.lists(st.integers(0, 5), max_size=4))
    def collect(column: Column, start: int, step: int, places: list[int]) -> None:
        array = to_awkward(column)
        made.append(array[[place for place in places if place < len(array)]] if places else array[start:][::step])

    collect()
    answers = asked(awkward0, map(written, made))
    for array, answer in zip(made, answers, strict=True):
        assert answer.get("read") or json.dumps(answer) == json.dumps({"value": items(of_awkward(array))}), array.layout
    assert sum("error" in answer for answer in answers) <= len(made) // 100


@pytest.mark.filterwarnings("ignore::nczarr.plugins.awkward0.write.serialize.LostPartsWarning")
def test_arrays_of_awkward(awkward0: str, peer: Callable[[str], ModuleType]) -> None:
    ak = peer("awkward")
    made = [
        ak.Array([{"x": 1, "y": [1.5, None]}, {"x": None, "y": []}]),
        ak.Array([1, "a", [2.5], None, True]),
        ak.Array([[["å"], []], [], [["b", "c"]]])[1:],
        ak.Array([{"t": {"a": [1]}}, {"t": {"a": []}}])[[1, 0, 0]],
        ak.Array(np.array(["2020-01-01", "NaT"], "M8[D]")),
        ak.to_regular(ak.Array([[1, 2], [3, 4]])),
        ak.Array([[], [[]]]),
    ]
    answers = asked(awkward0, map(written, made))
    assert answers == [{"value": items(of_awkward(array))} for array in made]


VIEWS = {"table-view-slice", "table-view-index", "jagged-table"}
"""Vectors whose tables are views, which columns are not: the same values in another form."""

COMPRESSED: dict[str, Any] = {
    "compress-default": "default",
    "compress-contexts": [{"contexts": "*.counts", "pair": (zlib.compress, ("zlib", "decompress"))}],
    "compress-true": True,
}


def inflated(blobs: dict[str, bytes], document: Any) -> dict[str, bytes]:
    """The blobs that a document names, inflated: other releases of zlib make other bytes."""
    found = blobs.copy()
    text = json.dumps(document)
    for key in blobs:
        if f'["zlib", "decompress"], "args": [{{"read": "{key}"}}]' in text:
            found[key] = zlib.decompress(blobs[key])
    return found


def test_vectors_are_written_as_awkward0_wrote_them(awkward0: str, shared: Path) -> None:
    folder = shared / "data" / "awkward0"
    questions: list[Any] = []
    for vector in json.loads((folder / "index.json").read_text())["vectors"]:
        described = json.loads((folder / vector["file"]).read_text())
        if vector["kind"] != "valid" or vector["id"].startswith("doc-"):
            continue
        storage = {key: base64.b64decode(blob["base64"]) for key, blob in described["blobs"].items()}
        key = described["schema_key"]
        column = nczarr.awkward0.columns(storage | {key: json.dumps(described["schema"])}, key)
        options = {name: described["options"].get(name) for name in ("name", "delimiter", "suffix", "schemasuffix")}
        ours: dict[str, bytes] = {}
        made = serialize(column, ours, compression=COMPRESSED.get(vector["id"]), **options)
        ours.pop(key)
        theirs = storage | {key: json.dumps(described["schema"]).encode()}
        for each in (theirs, ours | {key: json.dumps(made).encode()}):
            blobs = {name: base64.b64encode(data).decode() for name, data in each.items()}
            questions.append({"name": key, "storage": blobs})
        if vector["id"] not in VIEWS:
            assert inflated(ours, made) == inflated(storage, described["schema"]), vector["id"]
            assert plain(made["schema"], {}) == plain(described["schema"]["schema"], {}), vector["id"]
    answers = asked(awkward0, questions)
    assert len(answers) > 60
    assert all("value" in each for each in answers)
    assert answers[::2] == answers[1::2]
