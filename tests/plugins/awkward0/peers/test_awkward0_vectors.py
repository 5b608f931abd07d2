"""Real outputs of awkward0, and what is refused of hostile documents: every vector of the shared data.

The small documents of the tests are read by awkward0 as well, where an interpreter with it is named.
"""

from __future__ import annotations

import base64
import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.awkward0.columns.nodes import Column
from nczarr.plugins.awkward0.wire import dtypes
from nczarr.plugins.awkward0.wire.limits import UnreadableDocumentError, allows, patterns
from tests.conftest import shared_folder
from tests.support import columns as marked
from tests.support.peers import SCRIPTS
from tests.support.peers.asked_awkward0 import asked
from tests.support.ragged import CASES

SHARED = shared_folder()
FOLDER = SHARED / "data/awkward0" if SHARED is not None else Path()
INDEX = json.loads((FOLDER / "index.json").read_text())["vectors"] if SHARED is not None else []
VECTORS = {each["id"]: json.loads((FOLDER / each["file"]).read_text()) for each in INDEX}
STORED = {name: vector for name, vector in VECTORS.items() if "schema" in vector}
needs_vectors = pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")

OTHERWISE = {
    "elements of no shape": "awkward0 cannot read elements without bytes",
    "util": "awkward0 maps no modules below `awkward`",
    "lzma in zlib": "backports.lzma is there for Python 2 alone",
    "starts and stops": "awkward0 compares starts with all stops",
    "texts by starts": "awkward0 hands an argument to decoders that not all have",
    "indexed, masked": "awkward0 looks at indices that mask",
    "sparse lists": "awkward0 gives a list of no lists as the default",
    "sparse structures": "awkward0 makes a default without fields",
    "objects": "functions outside of the whitelist are refused by awkward0, and kept by name here",
}
"""Small documents that awkward0 does not read as they are meant, and why."""


def wanted(vector: dict[str, Any]) -> Any:
    """The content that a vector is read with; KeyError if it is to be refused."""
    if "require" in vector:
        return vector["require"]["content"]
    return vector["content_without_generator"] if "content_without_generator" in vector else vector["content"]


READ = [name for name, vector in STORED.items() if "error" not in vector.get("require", vector)]
REFUSED = [name for name in STORED if name not in READ]


def storage(vector: dict[str, Any]) -> dict[str, bytes]:
    blobs = {name: base64.b64decode(blob["base64"]) for name, blob in vector["blobs"].items()}
    return {**blobs, vector.get("schema_key", ""): json.dumps(vector["schema"]).encode()}


def plain(value: Any) -> Any:
    """A value in the notation of the vectors."""
    match value:
        case bytes():
            return {"base64": base64.b64encode(value).decode()}
        case np.datetime64():
            return {"int64": int(value.astype("i8")), "unit": np.datetime_data(value.dtype)[0]}
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case list() | tuple():
            return [plain(each) for each in value]
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case _ if isinstance(value, Column):
            return plain(nczarr.awkward0.items(value))
        case _:
            return value


@needs_vectors
@pytest.mark.parametrize("name", READ)
def test_columns(name: str) -> None:
    vector = VECTORS[name]
    found = nczarr.awkward0.columns(storage(vector), vector.get("schema_key", ""))
    assert json.dumps(plain(found)) == json.dumps(wanted(vector))


@needs_vectors
@pytest.mark.parametrize("name", READ)
def test_arrays_of_awkward(name: str, peer: Callable[[str], ModuleType]) -> None:
    ak = peer("awkward")
    vector = VECTORS[name]

    def lists(value: Any) -> Any:
        if isinstance(value, ak.Array):
            return list(ak.to_numpy(value)) if "datetime64" in str(value.type) else value.to_list()
        return type(value)(map(lists, value)) if isinstance(value, list | tuple) else value

    found = nczarr.awkward0.deserialize(storage(vector), vector.get("schema_key", ""))
    assert json.dumps(plain(lists(found))) == json.dumps(wanted(vector))


@needs_vectors
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    vector = VECTORS[name]
    with pytest.raises(CompileError) as error:
        nczarr.awkward0.columns(storage(vector), vector.get("schema_key", ""))
    (found,) = error.value.diagnostics
    assert found.primary.key == vector.get("schema_key", "")
    assert found.primary.pointer == "" or found.primary.pointer.startswith("/schema")  # type: ignore[union-attr]


@needs_vectors
def test_archives(peer: Callable[[str], ModuleType]) -> None:
    peer("awkward")
    files = VECTORS["containers"]["files"]
    for name in ("single.awkd", "multi.awkd"):
        found = nczarr.awkward0.load(FOLDER / name)
        lists = {key: found[key].to_list() for key in found} if name.startswith("multi") else found.to_list()
        assert lists == files[name]["content"]


@needs_vectors
def test_groups(peer: Callable[[str], ModuleType]) -> None:
    peer("awkward")
    with peer("h5py").File(FOLDER / "arrays.h5") as file:
        found = nczarr.awkward0.hdf5(file)
        assert {name: each.to_list() for name, each in found.items()} == VECTORS["containers"]["files"]["arrays.h5"][
            "content"
        ]


@needs_vectors
def test_dtypes() -> None:
    for case in VECTORS["dtype-conversions"]["cases"]:
        if "error" in case:
            with pytest.raises(UnreadableDocumentError):
                dtypes.of_json(case["json"])
        else:
            found = dtypes.of_json(case["json"])
            assert (repr(found), found.itemsize, list(found.shape)) == (case["descr"], case["itemsize"], case["shape"])


@needs_vectors
def test_whitelists_take_nothing_that_awkward0_refuses() -> None:
    taken = []
    for case in VECTORS["whitelist-matching"]["cases"]:
        found = allows(patterns(case["whitelist"]), tuple(case["spec"]))
        assert case["match"] or not found
        taken.append(found)
    assert taken == [True, False, False, True, True, False, True, False, False]


@pytest.mark.parametrize("name", CASES)
def test_small_documents_are_what_awkward0_makes_of_them(name: str, answers: dict[str, Any]) -> None:
    found = nczarr.awkward0.columns(CASES[name][0])
    if name == "a tree":
        assert [each["record"][0][1] for each in answers[name]["value"]] == [1, 2, 3]
    elif name in OTHERWISE:
        assert answers[name] != {"value": marked.items(found)}
    else:
        assert answers[name] == {"value": json.loads(json.dumps(marked.items(found)))}


@pytest.fixture(scope="module")
def answers(awkward0: str) -> dict[str, Any]:
    """What awkward0 makes of the small documents."""
    questions = [
        {"name": "", "storage": {key: base64.b64encode(data).decode() for key, data in storage.items()}}
        for storage, _ in CASES.values()
    ]
    return dict(zip(CASES, asked(awkward0, questions), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_awkward0_persists_is_read(awkward0: str, seed: int) -> None:
    """Some hundred arrays of all kinds, with the values that awkward0 has of them."""
    command = [awkward0, str(SCRIPTS / "make_awkward0.py"), str(seed), "300" if seed == 1 else "3000"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in made.stdout.splitlines():
        asked = json.loads(line)
        storage = {key: base64.b64decode(data) for key, data in asked["storage"].items()}
        found = nczarr.awkward0.columns(storage, asked["name"])
        items = marked.items(found) if isinstance(found, Column) else found
        assert json.dumps(items) == json.dumps(asked["value"]), storage[asked["name"]]
        assert isinstance(found, Column) or found == []
        nczarr.awkward0.deserialize(storage, asked["name"])
