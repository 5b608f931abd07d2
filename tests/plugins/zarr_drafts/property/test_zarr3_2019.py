"""Generated datasets through hierarchies of the draft of 2019, in stores with and without lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nczarr import zarr3_2019
from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import Report
from nczarr.plugins.zarr_drafts import keys, wire
from nczarr.plugins.zarr_drafts.keys import problem
from nczarr.plugins.zarr_drafts.keyvalue import is_key
from nczarr.semantics import check
from nczarr.semantics.checked import Unchecked
from tests.support.draft_2019 import Required, WithAll, WithList
from tests.support.proof import share
from tests.support.stores import other_values

strategies = pytest.importorskip("nczarr.testing.strategies")
relaxed = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))

STORES = st.sampled_from([Required, WithList, WithAll])
OPTIONS = st.fixed_dictionaries(
    {
        "codecs": st.sampled_from([{}, {"": "gzip:1"}, {"": "shuffle+zlib:1"}, {"": "zstd:1+crc32c"}]),
        "order": st.sampled_from([None, "C", "F"]),
    }
)


def assert_sound(content: dict[str, bytes]) -> None:
    """Every key is one of the draft, every document one that it allows, and no two siblings are alike."""
    nodes = zarr3_2019.Hierarchy(WithList(content)).discover()
    for key, data in content.items():
        assert is_key(key)
        node = keys.node_of(key)
        if node is not None:
            assert [fault for fault in wire.faults(json.loads(data), node.kind) if fault.weight != "note"] == []
    for names in nodes.below().values():
        assert [problem(name) for name in names] == [None] * len(names)
        assert len({name.lower() for name in names}) == len(names)
    assert all(len(nodes.kinds(path)) == 1 for path in nodes.documents)


@pytest.mark.slow
@given(strategies.datasets_with_data(), STORES, OPTIONS)
@settings(relaxed, max_examples=share(500))
def test_a_dataset_comes_back(drawn: Any, kind: type[Required], options: dict[str, Any]) -> None:
    dataset, parts = drawn
    checked = check(Unchecked(dataset, parts=parts), Report())
    assert checked is not None
    store = kind({})
    zarr3_2019.write(DatasetHandle(checked), store, **options)
    seen = zarr3_2019.read(store, allow_loss=())
    assert [each.code for each in seen.diagnostics if each.severity != "note"] in ([], ["reserved-attribute"])
    assert list(other_values(checked, seen.checked)) == []
    if not options["codecs"]:
        assert seen.dataset == checked.dataset
    assert_sound(store.content)
