"""Whatever the documents of a store are: rules about readers find things, and never raise."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from nczarr.diagnostics.report import Report
from nczarr.plugins.readers import peer as peers
from nczarr.stores.memory import MemoryStore
from tests.support.peers.faults_zarr_python import ZARR_3
from tests.support.peers.faulty import NCZARR, PURE

ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.5, 2**70, 10**400, float("nan"), float("inf")),
    *("", "x", "/x", "/", "NaN", "é", "\ud800", "a/b", "<i4", "|O", "days since x", "|S" + "9" * 5000),
    *("days since " + "9" * 5000, "days since 2000-02-30", "9" * 5000),
    *([], [1], ["x"], [None], [[1]], [1, "a"], [{}], [["a", "<i2"]], [2**70, 1.5]),
    *({}, {"a": 1}, {"id": 5}, {"id": ["zlib"]}, {"name": None}, {"name": []}, {"size": "3"}, {"types": 5}),
    *({"types": {"a": []}}, {"configuration": None}, {"name": "regular", "configuration": {"chunk_shape": "x"}}),
]
NAMES = (
    "_FillValue units calendar scale_factor coordinates dtype _NCProperties _ARRAY_DIMENSIONS _nczarr_array "
    "_nczarr_group _nczarr_attr _nczarr_superblock _NCZARR_ARRAY consolidated_metadata dimension_separator "
    "dimension_names storage_transformers"
).split()


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a document with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, item in list(items):
        found += [(value, key), *places(item)]
    return found


def mutated(base: dict[str, Any], source: random.Random) -> dict[str, bytes]:
    store = copy.deepcopy({key: value for key, value in base.items() if not isinstance(value, bytes)})
    for _ in range(source.randint(1, 4)):
        key = source.choice(sorted(store))
        inside = places(store[key])
        if not inside or source.random() < 0.05:
            store[key] = source.choice(ODD)
            continue
        home, name = source.choice(inside)
        match source.randint(0, 3):
            case 0:
                del home[name]
            case 1 if isinstance(home, dict):
                home[source.choice(NAMES)] = copy.deepcopy(source.choice(ODD))
            case _:
                home[name] = copy.deepcopy(source.choice(ODD))
    made = {key: json.dumps(value).encode() for key, value in store.items()}
    if source.random() < 0.2:
        key = source.choice(sorted(made))
        made[key] = made[key][: source.randint(0, len(made[key]))]
    if source.random() < 0.2:
        made[".zmetadata"] = json.dumps({"metadata": source.choice([store, *ODD])}).encode()
    return made | {key: value for key, value in base.items() if isinstance(value, bytes)}


@pytest.mark.slow
@pytest.mark.parametrize("base", [NCZARR, PURE, ZARR_3], ids=["nczarr", "zarr2", "zarr3"])
def test_mutated_documents(base: dict[str, Any]) -> None:
    source = random.Random(7)
    for _ in range(400):
        store = mutated(base, source)
        for peer in peers.peers():
            peer.check(MemoryStore(store), Report())


def test_a_deep_store_is_looked_at_to_a_bound() -> None:
    deep = {f"{'g/' * depth}.zgroup": b'{"zarr_format": 2}' for depth in range(300)}
    for peer in peers.peers():
        peer.check(MemoryStore(deep), Report())
